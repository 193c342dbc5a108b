//! File system access with errors that say what was attempted.

use std::path::{Path, PathBuf};

use forklore_tavern::disk::{Disk, Stat};

use crate::error::{Doing, Result};

pub(crate) trait Files {
    fn stat_of(&self, path: &Path) -> Result<Option<Stat>>;

    /// The whole file; `None` if it does not exist.
    fn read_if_exists(&self, path: &Path) -> Result<Option<Vec<u8>>>;

    /// Everything in a folder, sorted; empty if the folder does not exist.
    fn paths_in(&self, folder: &Path) -> Result<Vec<PathBuf>>;

    fn remove_if_exists(&self, path: &Path) -> Result<()>;

    /// Writes a new file.
    fn write(&self, path: &Path, parts: &[&[u8]]) -> Result<()>;

    /// Replaces a file atomically: after a crash there is either the old or the new content.
    fn replace(&self, path: &Path, parts: &[&[u8]]) -> Result<()>;

    /// Syncs a folder: returns once changes to the names in it survive a power cut.
    fn sync_folder(&self, folder: &Path) -> Result<()>;

    fn exists(&self, path: &Path) -> Result<bool> {
        Ok(self.stat_of(path)?.is_some())
    }
}

impl Files for dyn Disk + '_ {
    fn stat_of(&self, path: &Path) -> Result<Option<Stat>> {
        self.stat(path).doing("examine", path)
    }

    fn read_if_exists(&self, path: &Path) -> Result<Option<Vec<u8>>> {
        match self.stat_of(path)? {
            Some(_) => self.read(path).doing("read", path).map(Some),
            None => Ok(None),
        }
    }

    fn paths_in(&self, folder: &Path) -> Result<Vec<PathBuf>> {
        let names = self.list(folder).doing("list", folder)?;
        Ok(names.into_iter().map(|name| folder.join(name)).collect())
    }

    fn remove_if_exists(&self, path: &Path) -> Result<()> {
        match self.stat_of(path)? {
            Some(_) => self.remove(path).doing("remove", path),
            None => Ok(()),
        }
    }

    fn write(&self, path: &Path, parts: &[&[u8]]) -> Result<()> {
        self.write_new(path, None, parts).doing("write", path)
    }

    fn replace(&self, path: &Path, parts: &[&[u8]]) -> Result<()> {
        let mut temp = path.as_os_str().to_owned();
        temp.push(".new");
        let temp = PathBuf::from(temp);
        // Left behind by a process that crashed. We hold the lock, so it is not in use.
        self.remove_if_exists(&temp)?;
        self.write(&temp, parts)?;
        self.rename(&temp, path).doing("replace", path)?;
        self.sync_folder(path.parent().unwrap_or(path))
    }

    fn sync_folder(&self, folder: &Path) -> Result<()> {
        self.sync_dir(folder).doing("sync", folder)
    }
}
