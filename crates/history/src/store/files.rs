//! The file system, with errors that say what was being done.

use std::path::{Path, PathBuf};

use forklore_tavern::disk::{Disk, Stat};

use crate::error::{Doing, Result};

pub(crate) trait Files {
    fn seen(&self, path: &Path) -> Result<Option<Stat>>;

    /// The whole file; `None` where there is none.
    fn read_if_there(&self, path: &Path) -> Result<Option<Vec<u8>>>;

    /// Everything in a folder, sorted; nothing where there is no such folder.
    fn paths_in(&self, folder: &Path) -> Result<Vec<PathBuf>>;

    fn remove_if_there(&self, path: &Path) -> Result<()>;

    /// Writes a file that is not there yet.
    fn write(&self, path: &Path, parts: &[&[u8]]) -> Result<()>;

    /// Puts a new file in the place of what is there, so that a crash leaves the one or the other.
    fn replace(&self, path: &Path, parts: &[&[u8]]) -> Result<()>;

    /// Returns when what became of the names in a folder outlives a power cut.
    fn make_sure_of(&self, folder: &Path) -> Result<()>;

    fn is_there(&self, path: &Path) -> Result<bool> {
        Ok(self.seen(path)?.is_some())
    }
}

impl Files for dyn Disk + '_ {
    fn seen(&self, path: &Path) -> Result<Option<Stat>> {
        self.stat(path).doing("look at", path)
    }

    fn read_if_there(&self, path: &Path) -> Result<Option<Vec<u8>>> {
        match self.seen(path)? {
            Some(_) => self.read(path).doing("read", path).map(Some),
            None => Ok(None),
        }
    }

    fn paths_in(&self, folder: &Path) -> Result<Vec<PathBuf>> {
        let names = self.list(folder).doing("list", folder)?;
        Ok(names.into_iter().map(|name| folder.join(name)).collect())
    }

    fn remove_if_there(&self, path: &Path) -> Result<()> {
        match self.seen(path)? {
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
        // Left by one of us who died: we hold the lock.
        self.remove_if_there(&temp)?;
        self.write(&temp, parts)?;
        self.rename(&temp, path).doing("replace", path)?;
        self.make_sure_of(path.parent().unwrap_or(path))
    }

    fn make_sure_of(&self, folder: &Path) -> Result<()> {
        self.sync_dir(folder).doing("make sure of", folder)
    }
}
