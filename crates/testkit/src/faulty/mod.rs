//! A disk that fails at a chosen call, in a chosen way.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use forklore_tavern::disk::{Disk, FileStart, RealDisk, Stat};

use unsynced::Unsynced;

mod unsynced;

/// The fault to inject and the call it happens at. Calls are counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// No fault: the calls are only counted.
    None,
    /// The process dies: from this call on nothing reaches the disk, so nothing is cleaned up
    /// either. If the call writes a file, `written` is how much of it was written.
    Kill { at: usize, written: Written },
    /// Only this call fails. A file being written is left half-written, as on a full disk.
    Error { at: usize, errno: Errno },
    /// The disk is full from this call on. Renames still work.
    Full { at: usize },
    /// Nothing can be written from the start: a failed disk, or one that belongs to another user.
    ReadOnly,
}

/// How much of a file was written when the process died.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    /// The file was not created yet.
    NoFile,
    Nothing,
    Half,
    AllButOneByte,
    /// Everything; only the result did not arrive.
    All,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Errno {
    NoSpace,
    Io,
    ReadOnly,
}

type Others<'a> = dyn Fn(usize, &Call) + Send + Sync + 'a;

/// The real disk with one [`Fault`], where other programs may act just before any call.
pub struct FaultyDisk<'a> {
    fault: Fault,
    others: Box<Others<'a>>,
    calls: Mutex<Vec<Call>>,
    unsynced: Mutex<Unsynced>,
}

/// One call: its name and first path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    pub name: &'static str,
    pub path: PathBuf,
}

enum CallOutcome {
    Clear,
    Half(io::Error),
    Torn(Written),
}

impl<'a> FaultyDisk<'a> {
    pub fn new(fault: Fault) -> Self {
        let others = Box::new(|_: usize, _: &Call| ());
        Self { fault, others, calls: Mutex::default(), unsynced: Mutex::default() }
    }

    /// A disk without faults that others use too. `others` is called before each call, with the
    /// index of the call.
    pub fn beside(others: impl Fn(usize, &Call) + Send + Sync + 'a) -> Self {
        Self { others: Box::new(others), ..Self::new(Fault::None) }
    }

    /// All calls so far, in order.
    pub fn calls(&self) -> Vec<Call> {
        locked(&self.calls).clone()
    }

    /// Reverts every name change that was not followed by a [`Disk::sync_dir`]. File contents are
    /// safe, because [`Disk::write_new`] syncs them itself.
    ///
    /// A file that was moved between two folders of which only one was synced ends up under both
    /// names, or under none.
    pub fn cut_power(&self) {
        locked(&self.unsynced).revert();
    }

    /// Counts a call and determines its outcome.
    fn outcome(&self, name: &'static str, path: &Path) -> io::Result<CallOutcome> {
        let mut calls = locked(&self.calls);
        let number = calls.len();
        let call = Call { name, path: path.to_owned() };
        calls.push(call.clone());
        drop(calls);
        (self.others)(number, &call);
        match self.fault {
            Fault::Kill { at, written } if number == at && writes(name) => {
                Ok(CallOutcome::Torn(written))
            }
            Fault::Kill { at, .. } if number >= at => Err(killed()),
            Fault::Error { at, errno } if number == at => match name {
                _ if writes(name) => Ok(CallOutcome::Half(errno.error())),
                _ => Err(errno.error()),
            },
            Fault::Full { at } if number >= at => match name {
                _ if writes(name) => Ok(CallOutcome::Half(Errno::NoSpace.error())),
                _ => Ok(CallOutcome::Clear),
            },
            Fault::ReadOnly if changes(name, path) => Err(Errno::ReadOnly.error()),
            _ => Ok(CallOutcome::Clear),
        }
    }

    fn is_full(&self) -> bool {
        matches!(self.fault, Fault::Full { at } if locked(&self.calls).len() > at)
    }
}

impl Written {
    /// The number of bytes written out of `length`; `None` if there is no file at all.
    fn of(self, length: usize) -> Option<usize> {
        match self {
            Self::NoFile => None,
            Self::Nothing => Some(0),
            Self::Half => Some(length / 2),
            Self::AllButOneByte => Some(length.saturating_sub(1)),
            Self::All => Some(length),
        }
    }
}

impl Errno {
    fn error(self) -> io::Error {
        io::Error::from_raw_os_error(match self {
            Self::NoSpace => 28,
            Self::Io => 5,
            Self::ReadOnly => 30,
        })
    }
}

fn writes(call: &str) -> bool {
    matches!(call, "write_new" | "append")
}

/// Whether a read-only disk refuses this call. An existing folder need not be created.
fn changes(call: &str, path: &Path) -> bool {
    match call {
        "read" | "read_start" | "look" | "list" | "real_path" => false,
        "make_dirs" => !path.is_dir(),
        _ => true,
    }
}

fn killed() -> io::Error {
    io::Error::other("the process was killed")
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Writes the partial file that a dying process or full disk leaves.
fn write_start(path: &Path, parts: &[&[u8]], length: usize) {
    // If this fails, even less is left, which is also realistic.
    if !path.exists() {
        let _ = fs::write(path, &parts.concat()[..length]);
    }
}

impl Disk for FaultyDisk<'_> {
    fn read_into(&self, path: &Path, buffer: &mut Vec<u8>) -> io::Result<()> {
        self.outcome("read", path)?;
        RealDisk.read_into(path, buffer)
    }

    fn visit(&self, path: &Path, see: &mut dyn FnMut(&[u8])) -> io::Result<()> {
        self.outcome("read", path)?;
        RealDisk.visit(path, see)
    }

    fn read_start(&self, path: &Path, until: u8) -> io::Result<FileStart> {
        self.outcome("read_start", path)?;
        RealDisk.read_start(path, until)
    }

    fn stat(&self, path: &Path) -> io::Result<Option<Stat>> {
        self.outcome("look", path)?;
        RealDisk.stat(path)
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<OsString>> {
        self.outcome("list", folder)?;
        RealDisk.list(folder)
    }

    fn real_path(&self, path: &Path) -> io::Result<PathBuf> {
        self.outcome("real_path", path)?;
        RealDisk.real_path(path)
    }

    fn make_dirs(&self, folder: &Path) -> io::Result<()> {
        self.outcome("make_dirs", folder)?;
        if self.is_full() && !folder.is_dir() {
            return Err(Errno::NoSpace.error());
        }
        RealDisk.make_dirs(folder)
    }

    fn write_new(&self, path: &Path, like: Option<&Path>, parts: &[&[u8]]) -> io::Result<()> {
        let length: usize = parts.iter().map(|part| part.len()).sum();
        match self.outcome("write_new", path)? {
            CallOutcome::Clear => {
                RealDisk.write_new(path, like, parts)?;
                locked(&self.unsynced).created(path);
                Ok(())
            }
            CallOutcome::Half(_) if path.exists() => Err(io::ErrorKind::AlreadyExists.into()),
            CallOutcome::Half(error) => {
                write_start(path, parts, length / 2);
                locked(&self.unsynced).created(path);
                Err(error)
            }
            CallOutcome::Torn(written) => {
                let Some(length) = written.of(length) else { return Err(killed()) };
                write_start(path, parts, length);
                locked(&self.unsynced).created(path);
                Err(killed())
            }
        }
    }

    fn append(&self, path: &Path, at: u64, parts: &[&[u8]]) -> io::Result<()> {
        let length: usize = parts.iter().map(|part| part.len()).sum();
        let (length, error) = match self.outcome("append", path)? {
            CallOutcome::Clear => return RealDisk.append(path, at, parts),
            CallOutcome::Half(error) => (length / 2, error),
            CallOutcome::Torn(written) => (written.of(length).unwrap_or(0), killed()),
        };
        // If this fails, even less is left, which is also realistic.
        let _ = RealDisk.append(path, at, &[&parts.concat()[..length]]);
        Err(error)
    }

    fn sync_dir(&self, folder: &Path) -> io::Result<()> {
        self.outcome("sync_dir", folder)?;
        RealDisk.sync_dir(folder)?;
        locked(&self.unsynced).mark_synced(folder);
        Ok(())
    }

    fn publish(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.outcome("publish", from)?;
        RealDisk.publish(from, to)?;
        locked(&self.unsynced).moved(from, to);
        Ok(())
    }

    fn exchange(&self, a: &Path, b: &Path) -> io::Result<()> {
        self.outcome("exchange", a)?;
        RealDisk.exchange(a, b)?;
        locked(&self.unsynced).swapped(a, b);
        Ok(())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.outcome("rename", from)?;
        locked(&self.unsynced).before_removal(to)?;
        RealDisk.rename(from, to)?;
        locked(&self.unsynced).moved(from, to);
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.outcome("remove", path)?;
        locked(&self.unsynced).before_removal(path)?;
        RealDisk.remove(path)
    }

    fn open_lock(&self, path: &Path) -> io::Result<File> {
        self.outcome("open_lock", path)?;
        RealDisk.open_lock(path)
    }
}
