//! Operations of a program on a folder.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

/// A file, folder or symbolic link, independent of its current name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Inode(pub(super) usize);

impl Inode {
    /// The traced folder.
    pub const ROOT: Self = Self(0);
}

/// A name in a folder.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    pub dir: Inode,
    pub name: OsString,
}

/// One operation, in the order in which the calls returned.
///
/// For a sync, `covers` is the number of operations that had returned when it was requested: there
/// is no guarantee for anything that another thread wrote in the meantime.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Op {
    Create {
        at: Place,
        inode: Inode,
    },
    /// `O_TMPFILE`.
    CreateNameless {
        inode: Inode,
    },
    Symlink {
        at: Place,
        inode: Inode,
        target: PathBuf,
    },
    Mkdir {
        at: Place,
        inode: Inode,
    },
    Write {
        inode: Inode,
        offset: usize,
        bytes: Arc<[u8]>,
    },
    Truncate {
        inode: Inode,
        len: usize,
    },
    Link {
        inode: Inode,
        at: Place,
    },
    Rename {
        from: Place,
        to: Place,
    },
    Exchange {
        a: Place,
        b: Place,
    },
    Unlink {
        at: Place,
    },
    Rmdir {
        at: Place,
    },
    SyncFile {
        inode: Inode,
        covers: usize,
    },
    SyncDir {
        dir: Inode,
        covers: usize,
    },
    SyncAll {
        covers: usize,
    },
    /// Output on standard output.
    Print {
        bytes: Vec<u8>,
    },
}

impl Op {
    /// For a sync, how many earlier operations it covers.
    pub fn covers(&self) -> Option<usize> {
        match self {
            Self::SyncFile { covers, .. }
            | Self::SyncDir { covers, .. }
            | Self::SyncAll { covers } => Some(*covers),
            _ => None,
        }
    }
}
