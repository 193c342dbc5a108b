//! Temporary folders, and snapshots of all files in one, to compare before and after.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// A folder that is deleted on drop. In memory if possible: tests that create thousands of them
/// should not wait for disk syncs.
pub fn temporary_folder() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    let folder = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
    folder.expect("a temporary folder can be made")
}

/// All files (with their bytes) and folders (`None`) below `root`, by relative path.
pub fn files(root: &Path) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(&folder).expect("a folder of the test can be listed");
        for entry in entries {
            let path = entry.expect("a folder of the test can be listed").path();
            let name = path.strip_prefix(root).expect("it was found there").to_owned();
            if path.is_dir() {
                found.insert(name, None);
                folders.push(path);
            } else {
                found.insert(name, Some(fs::read(&path).expect("a file of the test can be read")));
            }
        }
    }
    found
}

/// Same as [`files`], without Forklore's own files.
pub fn files_of_sillytavern(root: &Path) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
    let mut found = files(root);
    found.retain(|path, _| !path.starts_with("_forklore"));
    found
}
