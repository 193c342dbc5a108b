//! Every touch of the file system that this crate makes.
//!
//! One trait, so that a test can record the calls, break any one of them, or
//! let somebody else write in between. Nothing else here uses `std::fs`.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use forklore_core::digest::{Algorithm, Digest};

pub use real::RealDisk;
pub use system::is_android;

pub mod clock;
pub mod data_root;
pub mod describe;
pub mod lock;
pub mod parallel;
mod real;
mod system;
pub mod volume;
pub mod write;

/// The file system, as far as a SillyTavern data folder needs one.
pub trait Disk: Send + Sync {
    /// Returns the whole file. Refuses what is not a regular file.
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.read_into(path, &mut bytes)?;
        Ok(bytes)
    }

    /// Replaces the content of `buffer` by the whole file, keeping its memory.
    fn read_into(&self, path: &Path, buffer: &mut Vec<u8>) -> io::Result<()>;

    /// Shows the whole file, piece by piece, without holding it. Refuses what is not a regular
    /// file.
    fn visit(&self, path: &Path, see: &mut dyn FnMut(&[u8])) -> io::Result<()> {
        see(&self.read(path)?);
        Ok(())
    }

    /// Tells whether the file holds all of `parts`, one after the other, and nothing else.
    fn matches(&self, path: &Path, parts: &[&[u8]]) -> io::Result<bool> {
        let mut expected = parts.iter().copied().filter(|part| !part.is_empty());
        let mut part: &[u8] = &[];
        let mut is_same = true;
        self.visit(path, &mut |mut piece| {
            while is_same && !piece.is_empty() {
                if part.is_empty() {
                    part = expected.next().unwrap_or_default();
                }
                let length = part.len().min(piece.len());
                is_same = length > 0 && part[..length] == piece[..length];
                (part, piece) = (&part[length..], &piece[length..]);
            }
        })?;
        Ok(is_same && part.is_empty() && expected.next().is_none())
    }

    /// The digest of the whole file.
    fn digest(&self, path: &Path, algorithm: Algorithm) -> io::Result<Digest> {
        let mut hasher = algorithm.hasher();
        self.visit(path, &mut |piece| hasher.update(piece))?;
        Ok(hasher.finish())
    }

    /// Reads no further than it must to have the first `until`: a chat of
    /// 100 MB has a header of a few hundred bytes.
    fn read_start(&self, path: &Path, until: u8) -> io::Result<FileStart>;

    /// Says what is at `path`, links not followed; `None` when nothing is.
    fn stat(&self, path: &Path) -> io::Result<Option<Stat>>;

    /// Returns the names in a folder, sorted; none when the folder is absent.
    fn list(&self, folder: &Path) -> io::Result<Vec<OsString>>;

    /// Returns the path with every link in it followed.
    fn real_path(&self, path: &Path) -> io::Result<PathBuf>;

    /// Makes a folder and its missing parents, for the owner's eyes only, and
    /// makes sure that they outlive a power cut.
    fn make_dirs(&self, folder: &Path) -> io::Result<()>;

    /// Creates a file that must not exist yet, writes all of `parts` and makes
    /// sure that they outlive a power cut.
    ///
    /// The file gets the permissions and, where we may, the owner of `like`:
    /// SillyTavern can run as somebody else and must be able to read it.
    /// Without `like` only the owner can.
    fn write_new(&self, path: &Path, like: Option<&Path>, parts: &[&[u8]]) -> io::Result<()>;

    /// Writes all of `parts` into a file that is there, from the offset `at` on, where the file then
    /// ends, and makes sure that they outlive a power cut.
    fn append(&self, path: &Path, at: u64, parts: &[&[u8]]) -> io::Result<()>;

    /// Makes sure that the names in a folder outlive a power cut.
    fn sync_dir(&self, folder: &Path) -> io::Result<()>;

    /// Renames, and refuses with `AlreadyExists` to replace anything.
    fn publish(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Swaps two files in one step; `Unsupported` where the system cannot.
    fn exchange(&self, a: &Path, b: &Path) -> io::Result<()>;

    /// Renames, replacing what is there.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Removes a file.
    fn remove(&self, path: &Path) -> io::Result<()>;

    /// Opens, or creates for the owner's eyes only, a file to put a lock on.
    fn open_lock(&self, path: &Path) -> io::Result<File>;
}

/// What is at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stat {
    pub kind: FileType,
    pub len: u64,
    pub modified: SystemTime,
    /// Tells two files of the same folder apart even when their bytes are
    /// equal. Zero where the system has no such number.
    pub inode: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileType {
    File,
    Dir,
    Link,
    Other,
}

/// The beginning of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileStart {
    /// Up to and including the byte looked for; the whole file without one.
    pub bytes: Vec<u8>,
    /// Of the whole file, when it was opened.
    pub len: u64,
    pub modified: SystemTime,
}

/// The folder that a name is in, also for a bare name.
pub(crate) fn parent_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent.as_os_str().is_empty() => Path::new("."),
        Some(parent) => parent,
        None => path,
    }
}
