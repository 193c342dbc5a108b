//! All file system access of this crate.
//!
//! It goes through one trait, so that a test can record the calls, fail any of them, or let another
//! program write between two of them. Nothing outside this module uses `std::fs`.

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

/// The file system operations that a SillyTavern data folder needs.
pub trait Disk: Send + Sync {
    /// Returns the whole file. Fails if it is not a regular file.
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.read_into(path, &mut bytes)?;
        Ok(bytes)
    }

    /// Replaces the content of `buffer` with the whole file, reusing its allocation.
    fn read_into(&self, path: &Path, buffer: &mut Vec<u8>) -> io::Result<()>;

    /// Passes the whole file to `see` in chunks, without holding it in memory. Fails if it is not a
    /// regular file.
    fn visit(&self, path: &Path, see: &mut dyn FnMut(&[u8])) -> io::Result<()> {
        see(&self.read(path)?);
        Ok(())
    }

    /// Whether the file consists of exactly `parts`, in order.
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

    /// Reads only as far as the first `until` byte: a 100 MB chat has a header of a few hundred
    /// bytes.
    fn read_start(&self, path: &Path, until: u8) -> io::Result<FileStart>;

    /// Stats `path` without following links; `None` if nothing is there.
    fn stat(&self, path: &Path) -> io::Result<Option<Stat>>;

    /// Returns the sorted names in a folder, or none if the folder does not exist.
    fn list(&self, folder: &Path) -> io::Result<Vec<OsString>>;

    /// Returns the path with every link resolved.
    fn real_path(&self, path: &Path) -> io::Result<PathBuf>;

    /// Creates a folder and its missing parents, accessible only to the owner, and syncs them to
    /// disk.
    fn make_dirs(&self, folder: &Path) -> io::Result<()>;

    /// Creates a file that must not exist yet, writes all of `parts` and syncs it to disk.
    ///
    /// The file gets the permissions of `like` and, where the process is allowed to set it, its
    /// owner: SillyTavern may run as a different user and must be able to read the file. Without
    /// `like`, only the owner can read it.
    fn write_new(&self, path: &Path, like: Option<&Path>, parts: &[&[u8]]) -> io::Result<()>;

    /// Writes `parts` to an existing file at offset `at`, truncating anything after that offset
    /// first, and syncs the data to disk.
    fn append(&self, path: &Path, at: u64, parts: &[&[u8]]) -> io::Result<()>;

    /// Syncs a folder, so that the names in it survive a power cut.
    fn sync_dir(&self, folder: &Path) -> io::Result<()>;

    /// Renames without replacing: fails with `AlreadyExists` if the target exists.
    fn publish(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Swaps two files atomically; `Unsupported` where the system cannot.
    fn exchange(&self, a: &Path, b: &Path) -> io::Result<()>;

    /// Renames, replacing the target.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    fn remove(&self, path: &Path) -> io::Result<()>;

    /// Opens a lock file, creating it accessible only to the owner if needed.
    fn open_lock(&self, path: &Path) -> io::Result<File>;
}

/// The metadata of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stat {
    pub kind: FileType,
    pub len: u64,
    pub modified: SystemTime,
    /// Distinguishes two files in the same folder even when their bytes are equal. Zero where the
    /// system has no such number.
    pub inode: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileType {
    File,
    Dir,
    Link,
    Other,
}

/// The start of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileStart {
    /// Up to and including the first match of the wanted byte; the whole file if there is none.
    pub bytes: Vec<u8>,
    /// Length of the whole file when it was opened.
    pub len: u64,
    pub modified: SystemTime,
}

/// The folder that contains `path`; `.` for a bare name.
pub(crate) fn parent_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent.as_os_str().is_empty() => Path::new("."),
        Some(parent) => parent,
        None => path,
    }
}
