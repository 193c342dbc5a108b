//! The paths in a repository, and how an empty repository is made.

use std::path::{Path, PathBuf};

use forklore_tavern::disk::Disk;

use crate::error::{Doing, Result};
use crate::store::files::Files as _;

/// A repository that any git can read, with a folder for Forklore's own files.
#[derive(Clone, Debug)]
pub struct Layout {
    pub repository: PathBuf,
}

const HEAD: &[u8] = b"ref: refs/heads/main\n";

/// Keeps git from changing the repository: it would delete unreachable objects, and fetch into
/// loose files that it does not sync.
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

    pub fn own_folder(&self) -> PathBuf {
        self.repository.join("forklore")
    }

    pub fn journal(&self) -> PathBuf {
        self.own_folder().join("journal")
    }

    /// The file that names this machine.
    pub(crate) fn machine(&self) -> PathBuf {
        self.own_folder().join("machine")
    }

    /// The same once more, in case that file is damaged.
    pub(crate) fn machine_copy(&self) -> PathBuf {
        self.own_folder().join("machine-copy")
    }

    /// The hash of `packed-refs`, which shows whether some of it is missing.
    pub(crate) fn refs_hash(&self) -> PathBuf {
        self.own_folder().join("refs-hash")
    }

    pub fn lock(&self) -> PathBuf {
        self.own_folder().join("lock")
    }

    /// Where damaged files are moved. They are only ever removed at the user's request.
    pub fn damaged(&self) -> PathBuf {
        self.own_folder().join("damaged")
    }

    /// Lists the versions that the user has accepted as lost.
    pub(crate) fn accepted(&self) -> PathBuf {
        self.own_folder().join("accepted")
    }

    /// Lists what is being purged, until the purge is finished.
    pub fn purge(&self) -> PathBuf {
        self.own_folder().join("purging")
    }

    /// The lineages whose purge was started but not finished.
    pub fn unfinished_purge(&self, disk: &dyn Disk) -> Result<Option<Vec<String>>> {
        let text = disk.read_if_exists(&self.purge())?;
        let text = text.map(|text| String::from_utf8_lossy(&text).into_owned());
        Ok(text.map(|text| text.lines().map(str::to_owned).collect()))
    }

    /// The files that git needs and Forklore does not, and whether each still has the content we
    /// gave it. Users may add settings.
    pub(crate) fn check(&self, disk: &dyn Disk) -> Result<Vec<(PathBuf, bool)>> {
        let mut checked = Vec::new();
        for (path, expected) in [(self.head(), HEAD), (self.config(), CONFIG)] {
            let text = disk.read_if_exists(&path)?.unwrap_or_default();
            let mut lines = text.split(|byte| *byte == b'\n');
            let is_right =
                expected.split(|byte| *byte == b'\n').all(|line| lines.any(|it| it == line));
            checked.push((path, is_right));
        }
        Ok(checked)
    }

    /// The correct content of one of these files. The sections about remotes and branches in the
    /// old settings are preserved.
    pub(crate) fn repaired_content(&self, path: &Path, old: &[u8]) -> Vec<u8> {
        if path == self.head() {
            return HEAD.to_vec();
        }
        let mut text = CONFIG.to_vec();
        let mut is_remote = false;
        for line in old.split_inclusive(|byte| *byte == b'\n') {
            if line.starts_with(b"[") {
                is_remote = line.starts_with(b"[remote ") || line.starts_with(b"[branch ");
            }
            if is_remote {
                text.extend_from_slice(line);
            }
        }
        text
    }

    fn config(&self) -> PathBuf {
        self.repository.join("config")
    }

    fn head(&self) -> PathBuf {
        self.repository.join("HEAD")
    }

    /// Whether there is a repository, as far as it was created. `HEAD` is created last; the others
    /// show that it existed.
    pub fn exists(&self, disk: &dyn Disk) -> Result<bool> {
        for sign in [self.head(), self.journal(), self.packed_refs()] {
            if disk.exists(&sign)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Creates whatever is missing. Requires the lock.
    pub fn make(&self, disk: &dyn Disk) -> Result<()> {
        for folder in [self.packs(), self.refs(), self.own_folder()] {
            disk.make_dirs(&folder).doing("make", &folder)?;
        }
        if !disk.exists(&self.head())? {
            // A process that crashed may have created some of them without syncing.
            let packs = self.packs();
            let above = packs.ancestors().skip(1).take(3);
            for folder in above.filter(|folder| folder.parent().is_some()) {
                disk.sync_folder(folder)?;
            }
        }
        for (path, content) in [(self.config(), CONFIG), (self.head(), HEAD)] {
            if !disk.exists(&path)? {
                disk.replace(&path, &[content])?;
            }
        }
        Ok(())
    }
}
