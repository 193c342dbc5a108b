#![no_main]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| forklore_fuzz::bundle(bytes));
