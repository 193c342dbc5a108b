//! Where the parts of a repository lie, and how an empty one is made.

use std::path::{Path, PathBuf};

use forklore_tavern::disk::Disk;

use crate::error::{Doing, HistoryError};

/// A repository that any git can read, with a folder of our own in it.
#[derive(Clone, Debug)]
pub struct Layout {
    pub repository: PathBuf,
}

const HEAD: &[u8] = b"ref: refs/heads/main\n";

/// Git is asked to keep its hands off: it would throw away what no ref leads to, and fetch into
/// single files that it does not make sure of.
const CONFIG: &[u8] = b"[core]
\trepositoryformatversion = 0
\tfilemode = true
\tbare = true
\tfsync = all
\tfsyncMethod = fsync
[gc]
\tauto = 0
[maintenance]
\tauto = false
[transfer]
\tunpackLimit = 1
[fetch]
\tunpackLimit = 1
";

impl Layout {
    pub fn new(repository: impl Into<PathBuf>) -> Self {
        Self { repository: repository.into() }
    }

    pub fn packs(&self) -> PathBuf {
        self.repository.join("objects/pack")
    }

    pub fn packed_refs(&self) -> PathBuf {
        self.repository.join("packed-refs")
    }

    pub fn refs(&self) -> PathBuf {
        self.repository.join("refs")
    }

    pub fn ours(&self) -> PathBuf {
        self.repository.join("forklore")
    }

    pub fn journal(&self) -> PathBuf {
        self.ours().join("journal")
    }

    pub fn lock(&self) -> PathBuf {
        self.ours().join("lock")
    }

    fn head(&self) -> PathBuf {
        self.repository.join("HEAD")
    }

    /// Whether there is a repository. `HEAD` is made last.
    pub fn exists(&self, disk: &dyn Disk) -> Result<bool, HistoryError> {
        Ok(disk.look(&self.head()).doing("look at", &self.head())?.is_some())
    }

    /// Makes what is missing. To be called under the lock.
    pub fn make(&self, disk: &dyn Disk) -> Result<(), HistoryError> {
        for folder in [self.packs(), self.refs(), self.ours()] {
            disk.make_dirs(&folder).doing("make", &folder)?;
        }
        let config = self.repository.join("config");
        for (path, content) in [(config, CONFIG), (self.head(), HEAD)] {
            if disk.look(&path).doing("look at", &path)?.is_none() {
                replace(disk, &path, &[content])?;
            }
        }
        Ok(())
    }
}

/// Puts a new file in the place of what is there, so that a crash leaves the one or the other.
pub fn replace(disk: &dyn Disk, path: &Path, parts: &[&[u8]]) -> Result<(), HistoryError> {
    let mut temp = path.as_os_str().to_owned();
    temp.push(".new");
    let temp = PathBuf::from(temp);
    // Left by one of us who died: we hold the lock.
    if disk.look(&temp).doing("look at", &temp)?.is_some() {
        disk.remove(&temp).doing("remove", &temp)?;
    }
    disk.write_new(&temp, None, parts).doing("write", &temp)?;
    disk.rename(&temp, path).doing("replace", path)?;
    let folder = path.parent().unwrap_or(path);
    disk.sync_dir(folder).doing("make sure of", folder)
}
