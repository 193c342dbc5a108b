//! What a program does to a folder.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

/// A file, folder or symbolic link, whatever it is called at the moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Inode(pub(super) usize);

impl Inode {
    /// The folder that is watched.
    pub const ROOT: Self = Self(0);
}

/// Where a name stands.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    pub dir: Inode,
    pub name: OsString,
}

/// One step, in the order in which the calls returned.
///
/// `covers` of a sync is the number of operations that had returned when it was asked for: what
/// another thread wrote meanwhile is not promised.
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
    /// On standard output.
    Coded {
        bytes: Vec<u8>,
    },
}

impl Op {
    /// How many earlier operations this one makes sure of, if it does.
    pub fn covers(&self) -> Option<usize> {
        match self {
            Self::SyncFile { covers, .. }
            | Self::SyncDir { covers, .. }
            | Self::SyncAll { covers } => Some(*covers),
            _ => None,
        }
    }
}
