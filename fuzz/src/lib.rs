//! The targets that need a history. They live with its tests, which run the seeds.

#[path = "../../crates/history/tests/fuzz_seeds/targets/mod.rs"]
mod targets;

pub fn pack(bytes: &[u8]) {
    targets::pack(bytes);
}

pub fn bundle(bytes: &[u8]) {
    targets::bundle(bytes);
}

pub fn objects(bytes: &[u8]) {
    targets::objects(bytes);
}
