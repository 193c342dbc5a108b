//! Writes the contents of the branch that SillyTavern clones: the extension and nothing else.
//!
//! SillyTavern installs an extension by cloning a branch. The main branch would bring along all
//! sources, tests and documents.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

/// Files and folders to publish, relative to the root of the repository.
const PARTS: [&str; 4] = ["manifest.json", "LICENSE", "README.md", "extension"];
/// What only developers need.
const EXCLUDED: [&str; 3] = ["extension/tests", "extension/bench", "extension/tsconfig.json"];
/// The maximum size in bytes.
const MAX_BYTES: u64 = 2_000_000;

pub(crate) fn run(folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    fs::create_dir_all(folder)?;
    let mut bytes = 0;
    for part in PARTS {
        copy(Path::new(part), folder, &mut bytes)?;
    }
    println!("{}: {} KB of at most {}", folder.display(), bytes / 1000, MAX_BYTES / 1000);
    ensure!(bytes <= MAX_BYTES, "the extension has grown too large");
    Ok(())
}

fn copy(from: &Path, folder: &Path, bytes: &mut u64) -> Result<()> {
    if EXCLUDED.iter().any(|excluded| from == Path::new(excluded)) {
        return Ok(());
    }
    let to: PathBuf = folder.join(from);
    if from.is_dir() {
        fs::create_dir_all(&to)?;
        for entry in fs::read_dir(from)? {
            copy(&entry?.path(), folder, bytes)?;
        }
    } else {
        *bytes += fs::copy(from, &to).with_context(|| from.display().to_string())?;
    }
    Ok(())
}
