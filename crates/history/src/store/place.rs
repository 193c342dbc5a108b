//! Where histories are stored: beside the data root, not inside it, because SillyTavern includes
//! the whole user folder in its exports, and deleting the data would delete the history with it.

use std::path::{Path, PathBuf};

use forklore_tavern::disk::Disk;
use forklore_tavern::disk::data_root::is_name;

use crate::error::{Doing, Result};
use crate::store::files::Files as _;
use crate::store::layout::Layout;

const IGNORE: &[u8] = b"# Histories of Forklore: not part of what lies around them.\n*\n";

/// The folder of all histories: `data-history` beside `data`, unless the user chose another.
pub fn folder(root: &Path, chosen: Option<&Path>) -> PathBuf {
    if let Some(chosen) = chosen {
        return chosen.to_owned();
    }
    let mut name = root.file_name().unwrap_or("data".as_ref()).to_owned();
    name.push("-history");
    root.parent().unwrap_or(root).join(name)
}

/// The repository of one user.
pub fn repository(folder: &Path, handle: &str) -> PathBuf {
    folder.join(format!("{handle}.git"))
}

/// The users that have a repository in the folder.
pub fn handles(disk: &dyn Disk, folder: &Path) -> Vec<String> {
    let names = disk.list(folder).unwrap_or_default();
    let handles = names.iter().filter_map(|name| name.to_str()?.strip_suffix(".git"));
    let handles = handles.filter(|handle| is_name(handle) && !handle.starts_with('.'));
    let is_there = |handle: &&str| {
        Layout::new(repository(folder, handle)).exists(disk).is_ok_and(|is_there| is_there)
    };
    handles.filter(is_there).map(str::to_owned).collect()
}

/// Locked by the process that watches one user's files.
pub fn watching(folder: &Path, handle: &str) -> PathBuf {
    folder.join(format!("{handle}.watching"))
}

/// Creates the folder. SillyTavern is often a git checkout itself, and `git clean` there leaves
/// ignored files alone.
pub fn make(disk: &dyn Disk, folder: &Path) -> Result<()> {
    disk.make_dirs(folder).doing("make", folder)?;
    let ignore = folder.join(".gitignore");
    match disk.exists(&ignore)? {
        true => Ok(()),
        false => disk.replace(&ignore, &[IGNORE]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beside_the_data_and_never_inside() {
        let place = folder(Path::new("/srv/SillyTavern/data"), None);
        assert_eq!(place, Path::new("/srv/SillyTavern/data-history"));
        let repository = repository(&place, "default-user");
        assert_eq!(repository, Path::new("/srv/SillyTavern/data-history/default-user.git"));
        assert_eq!(folder(Path::new("/data"), None), Path::new("/data-history"));
        assert_eq!(folder(Path::new("/data"), Some(Path::new("/x"))), Path::new("/x"));
    }
}
