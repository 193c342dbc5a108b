//! Where histories lie: beside the data root, not inside it, since SillyTavern packs a user's folder
//! when it exports it, and whoever deletes the data deletes what is inside.

use std::path::{Path, PathBuf};

use forklore_tavern::disk::Disk;

use crate::error::{Doing, Result};
use crate::store::files::Files as _;

const IGNORE: &[u8] = b"# Histories of Forklore: not part of what lies around them.\n*\n";

/// The folder of all histories: `data-history` beside `data`, unless somebody chose another.
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

/// Locked by whoever watches the files of one user.
pub fn watching(folder: &Path, handle: &str) -> PathBuf {
    folder.join(format!("{handle}.watching"))
}

/// Makes the folder. SillyTavern itself often lies in a git checkout: `git clean` there leaves alone
/// what is ignored.
pub fn make(disk: &dyn Disk, folder: &Path) -> Result<()> {
    disk.make_dirs(folder).doing("make", folder)?;
    let ignore = folder.join(".gitignore");
    match disk.is_there(&ignore)? {
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
