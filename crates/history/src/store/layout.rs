//! Where the parts of a repository lie, and how an empty one is made.

use std::path::{Path, PathBuf};

use forklore_tavern::disk::Disk;

use crate::error::{Doing, Result};
use crate::store::files::Files as _;

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

    /// Says which machine this is.
    pub(crate) fn machine(&self) -> PathBuf {
        self.ours().join("machine")
    }

    pub fn lock(&self) -> PathBuf {
        self.ours().join("lock")
    }

    /// Where damaged files are put. Nothing there is ever removed, but by who asks for it.
    pub fn damaged(&self) -> PathBuf {
        self.ours().join("damaged")
    }

    /// Says what is being purged, until it is.
    pub fn purge(&self) -> PathBuf {
        self.ours().join("purging")
    }

    /// The lineages that somebody began to purge.
    pub fn unfinished_purge(&self, disk: &dyn Disk) -> Result<Option<Vec<String>>> {
        let text = disk.read_if_there(&self.purge())?;
        let text = text.map(|text| String::from_utf8_lossy(&text).into_owned());
        Ok(text.map(|text| text.lines().map(str::to_owned).collect()))
    }

    /// The files that git needs and we do not, and whether each is what we made it. Others may add to
    /// the settings.
    pub(crate) fn check(&self, disk: &dyn Disk) -> Result<Vec<(PathBuf, bool)>> {
        let mut checked = Vec::new();
        for (path, expected) in [(self.head(), HEAD), (self.config(), CONFIG)] {
            let text = disk.read_if_there(&path)?.unwrap_or_default();
            let mut lines = text.split(|byte| *byte == b'\n');
            let is_right =
                expected.split(|byte| *byte == b'\n').all(|line| lines.any(|it| it == line));
            checked.push((path, is_right));
        }
        Ok(checked)
    }

    /// What one of these files should hold. Of the settings, what others added about other places is
    /// taken over.
    pub(crate) fn mended(&self, path: &Path, old: &[u8]) -> Vec<u8> {
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

    /// Whether there is a repository. `HEAD` is made last.
    pub fn exists(&self, disk: &dyn Disk) -> Result<bool> {
        disk.is_there(&self.head())
    }

    /// Makes what is missing. To be called under the lock.
    pub fn make(&self, disk: &dyn Disk) -> Result<()> {
        for folder in [self.packs(), self.refs(), self.ours()] {
            disk.make_dirs(&folder).doing("make", &folder)?;
        }
        if !self.exists(disk)? {
            // One of us who died may have made some of them without making sure.
            let packs = self.packs();
            let above = packs.ancestors().skip(1).take(3);
            for folder in above.filter(|folder| folder.parent().is_some()) {
                disk.make_sure_of(folder)?;
            }
        }
        for (path, content) in [(self.config(), CONFIG), (self.head(), HEAD)] {
            if !disk.is_there(&path)? {
                disk.replace(&path, &[content])?;
            }
        }
        Ok(())
    }
}
