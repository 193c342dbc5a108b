//! What SillyTavern clones: the extension and nothing else.
//!
//! SillyTavern installs an extension by cloning a branch. The sources, tests and documents of everything would come along.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

/// From the root of the repository.
const PARTS: [&str; 4] = ["manifest.json", "LICENSE", "README.md", "extension"];
/// What only developers need.
const LEFT_OUT: [&str; 2] = ["extension/tests", "extension/bench"];
/// In bytes.
const MOST: u64 = 2_000_000;

pub(crate) fn run(folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    fs::create_dir_all(folder)?;
    let mut bytes = 0;
    for part in PARTS {
        copy(Path::new(part), folder, &mut bytes)?;
    }
    println!("{}: {} KB of at most {}", folder.display(), bytes / 1000, MOST / 1000);
    ensure!(bytes <= MOST, "the extension has grown too large");
    Ok(())
}

fn copy(from: &Path, folder: &Path, bytes: &mut u64) -> Result<()> {
    if LEFT_OUT.iter().any(|out| from == Path::new(out)) {
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
