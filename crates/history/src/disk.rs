//! The file system, with errors that say what was being done.

use std::path::{Path, PathBuf};

use forklore_tavern::disk::{Disk, Look};

use crate::error::{Doing, HistoryError};

pub(crate) trait Files {
    fn seen(&self, path: &Path) -> Result<Option<Look>, HistoryError>;

    /// The whole file; `None` where there is none.
    fn read_if_there(&self, path: &Path) -> Result<Option<Vec<u8>>, HistoryError>;

    /// Everything in a folder, sorted; nothing where there is no such folder.
    fn paths_in(&self, folder: &Path) -> Result<Vec<PathBuf>, HistoryError>;

    fn remove_if_there(&self, path: &Path) -> Result<(), HistoryError>;

    /// Writes a file that is not there yet.
    fn write(&self, path: &Path, parts: &[&[u8]]) -> Result<(), HistoryError>;

    /// Puts a new file in the place of what is there, so that a crash leaves the one or the other.
    fn replace(&self, path: &Path, parts: &[&[u8]]) -> Result<(), HistoryError>;

    /// Returns when what became of the names in a folder outlives a power cut.
    fn make_sure_of(&self, folder: &Path) -> Result<(), HistoryError>;

    fn is_there(&self, path: &Path) -> Result<bool, HistoryError> {
        Ok(self.seen(path)?.is_some())
    }
}

impl Files for dyn Disk + '_ {
    fn seen(&self, path: &Path) -> Result<Option<Look>, HistoryError> {
        self.look(path).doing("look at", path)
    }

    fn read_if_there(&self, path: &Path) -> Result<Option<Vec<u8>>, HistoryError> {
        match self.seen(path)? {
            Some(_) => self.read(path).doing("read", path).map(Some),
            None => Ok(None),
        }
    }

    fn paths_in(&self, folder: &Path) -> Result<Vec<PathBuf>, HistoryError> {
        let names = self.list(folder).doing("list", folder)?;
        Ok(names.into_iter().map(|name| folder.join(name)).collect())
    }

    fn remove_if_there(&self, path: &Path) -> Result<(), HistoryError> {
        match self.seen(path)? {
            Some(_) => self.remove(path).doing("remove", path),
            None => Ok(()),
        }
    }

    fn write(&self, path: &Path, parts: &[&[u8]]) -> Result<(), HistoryError> {
        self.write_new(path, None, parts).doing("write", path)
    }

    fn replace(&self, path: &Path, parts: &[&[u8]]) -> Result<(), HistoryError> {
        let mut temp = path.as_os_str().to_owned();
        temp.push(".new");
        let temp = PathBuf::from(temp);
        // Left by one of us who died: we hold the lock.
        self.remove_if_there(&temp)?;
        self.write(&temp, parts)?;
        self.rename(&temp, path).doing("replace", path)?;
        self.make_sure_of(path.parent().unwrap_or(path))
    }

    fn make_sure_of(&self, folder: &Path) -> Result<(), HistoryError> {
        self.sync_dir(folder).doing("make sure of", folder)
    }
}
