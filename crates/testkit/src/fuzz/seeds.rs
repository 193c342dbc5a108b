//! The seeds: small files in `fuzz/corpus`, in a folder for each target.

use std::fs;
use std::path::Path;

/// Runs a target over all its seeds, and says which one failed. A target without seeds is an error.
pub fn run(target: &str, check: impl Fn(&[u8]) + std::panic::RefUnwindSafe) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let entries = fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("no seeds for {target} in {}: {error}", folder.display()));
    let mut seeds: Vec<_> = entries.map(|entry| entry.expect("a seed").path()).collect();
    seeds.sort();
    assert!(!seeds.is_empty(), "no seeds for {target} in {}", folder.display());
    for seed in seeds {
        let bytes = fs::read(&seed).expect("a seed can be read");
        if let Err(panic) = std::panic::catch_unwind(|| check(&bytes)) {
            let name = seed.file_name().unwrap_or_default().display();
            // The message of the panic itself is above this one.
            std::panic::resume_unwind(Box::new(format!(
                "{target} failed on the seed {name}: {}",
                message(&*panic)
            )));
        }
    }
}

fn message(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic without a message")
}
