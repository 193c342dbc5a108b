//! A disk that fails where a test wants it to: at a chosen call, in a chosen way.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use forklore_tavern::disk::{Disk, FileStart, RealDisk, Stat};

use unsynced::Unsynced;

mod unsynced;

/// What goes wrong, and at which call. Calls are counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Nothing: the calls are only counted.
    None,
    /// The process dies. From this call on nothing reaches the disk, so nothing tidies up either.
    /// If the call was writing a file, this much of it had been written.
    Kill { at: usize, written: Written },
    /// This call fails, and the ones after it do not. A file being written is left half there, as
    /// a full disk leaves it.
    Error { at: usize, errno: Errno },
    /// The disk is full from this call on. Names can still be changed.
    Full { at: usize },
    /// Nothing can be written, from the first call on: a disk that failed, or another user's.
    ReadOnly,
}

/// How much of a file had been written when the process died.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    /// The file had not been made yet.
    NoFile,
    Nothing,
    Half,
    AllButOneByte,
    /// Everything; only the answer did not arrive.
    All,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Errno {
    NoSpace,
    Io,
    ReadOnly,
}

type Others<'a> = dyn Fn(usize, &Call) + Send + Sync + 'a;

/// The real disk, with one [`Fault`], and others who may do something just before any call.
pub struct FaultyDisk<'a> {
    fault: Fault,
    others: Box<Others<'a>>,
    calls: Mutex<Vec<Call>>,
    unsynced: Mutex<Unsynced>,
}

/// One call, by its name and the first path it was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    pub name: &'static str,
    pub path: PathBuf,
}

enum Way {
    Clear,
    Half(io::Error),
    Torn(Written),
}

impl<'a> FaultyDisk<'a> {
    pub fn new(fault: Fault) -> Self {
        let others = Box::new(|_: usize, _: &Call| ());
        Self { fault, others, calls: Mutex::default(), unsynced: Mutex::default() }
    }

    /// A disk without faults that others use too: what they do is told the number of the call
    /// that it comes before.
    pub fn beside(others: impl Fn(usize, &Call) + Send + Sync + 'a) -> Self {
        Self { others: Box::new(others), ..Self::new(Fault::None) }
    }

    /// All calls so far, in order.
    pub fn calls(&self) -> Vec<Call> {
        locked(&self.calls).clone()
    }

    /// Takes from the disk every change of a name that no later [`Disk::sync_dir`] made sure of.
    /// The content of files is safe, because [`Disk::write_new`] makes sure of it itself.
    ///
    /// A file that was moved from one folder to another while only one of the two was made sure
    /// of is under both names then, or under none.
    pub fn cut_power(&self) {
        locked(&self.unsynced).undo();
    }

    /// Counts a call and says how it goes.
    fn way(&self, name: &'static str, path: &Path) -> io::Result<Way> {
        let mut calls = locked(&self.calls);
        let number = calls.len();
        let call = Call { name, path: path.to_owned() };
        calls.push(call.clone());
        drop(calls);
        (self.others)(number, &call);
        match self.fault {
            Fault::Kill { at, written } if number == at && writes(name) => Ok(Way::Torn(written)),
            Fault::Kill { at, .. } if number >= at => Err(dead()),
            Fault::Error { at, errno } if number == at => match name {
                _ if writes(name) => Ok(Way::Half(errno.error())),
                _ => Err(errno.error()),
            },
            Fault::Full { at } if number >= at => match name {
                _ if writes(name) => Ok(Way::Half(Errno::NoSpace.error())),
                _ => Ok(Way::Clear),
            },
            Fault::ReadOnly if changes(name, path) => Err(Errno::ReadOnly.error()),
            _ => Ok(Way::Clear),
        }
    }

    fn is_full(&self) -> bool {
        matches!(self.fault, Fault::Full { at } if locked(&self.calls).len() > at)
    }
}

impl Written {
    /// Of so many bytes; `None` where there is not even a file.
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

/// Whether a disk that cannot be written refuses this. A folder that is there need not be made.
fn changes(call: &str, path: &Path) -> bool {
    match call {
        "read" | "read_start" | "look" | "list" | "real_path" => false,
        "make_dirs" => !path.is_dir(),
        _ => true,
    }
}

fn dead() -> io::Error {
    io::Error::other("the process was killed")
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a dying or full disk leaves.
fn write_start(path: &Path, parts: &[&[u8]], length: usize) {
    // A failure to leave it is one more way of leaving less.
    if !path.exists() {
        let _ = fs::write(path, &parts.concat()[..length]);
    }
}

impl Disk for FaultyDisk<'_> {
    fn read_into(&self, path: &Path, buffer: &mut Vec<u8>) -> io::Result<()> {
        self.way("read", path)?;
        RealDisk.read_into(path, buffer)
    }

    fn visit(&self, path: &Path, see: &mut dyn FnMut(&[u8])) -> io::Result<()> {
        self.way("read", path)?;
        RealDisk.visit(path, see)
    }

    fn read_start(&self, path: &Path, until: u8) -> io::Result<FileStart> {
        self.way("read_start", path)?;
        RealDisk.read_start(path, until)
    }

    fn stat(&self, path: &Path) -> io::Result<Option<Stat>> {
        self.way("look", path)?;
        RealDisk.stat(path)
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<OsString>> {
        self.way("list", folder)?;
        RealDisk.list(folder)
    }

    fn real_path(&self, path: &Path) -> io::Result<PathBuf> {
        self.way("real_path", path)?;
        RealDisk.real_path(path)
    }

    fn make_dirs(&self, folder: &Path) -> io::Result<()> {
        self.way("make_dirs", folder)?;
        if self.is_full() && !folder.is_dir() {
            return Err(Errno::NoSpace.error());
        }
        RealDisk.make_dirs(folder)
    }

    fn write_new(&self, path: &Path, like: Option<&Path>, parts: &[&[u8]]) -> io::Result<()> {
        let length: usize = parts.iter().map(|part| part.len()).sum();
        match self.way("write_new", path)? {
            Way::Clear => {
                RealDisk.write_new(path, like, parts)?;
                locked(&self.unsynced).created(path);
                Ok(())
            }
            Way::Half(_) if path.exists() => Err(io::ErrorKind::AlreadyExists.into()),
            Way::Half(error) => {
                write_start(path, parts, length / 2);
                locked(&self.unsynced).created(path);
                Err(error)
            }
            Way::Torn(written) => {
                let Some(length) = written.of(length) else { return Err(dead()) };
                write_start(path, parts, length);
                locked(&self.unsynced).created(path);
                Err(dead())
            }
        }
    }

    fn append(&self, path: &Path, at: u64, parts: &[&[u8]]) -> io::Result<()> {
        let length: usize = parts.iter().map(|part| part.len()).sum();
        let (length, error) = match self.way("append", path)? {
            Way::Clear => return RealDisk.append(path, at, parts),
            Way::Half(error) => (length / 2, error),
            Way::Torn(written) => (written.of(length).unwrap_or(0), dead()),
        };
        // A failure to leave it is one more way of leaving less.
        let _ = RealDisk.append(path, at, &[&parts.concat()[..length]]);
        Err(error)
    }

    fn sync_dir(&self, folder: &Path) -> io::Result<()> {
        self.way("sync_dir", folder)?;
        RealDisk.sync_dir(folder)?;
        locked(&self.unsynced).synced(folder);
        Ok(())
    }

    fn publish(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.way("publish", from)?;
        RealDisk.publish(from, to)?;
        locked(&self.unsynced).moved(from, to);
        Ok(())
    }

    fn exchange(&self, a: &Path, b: &Path) -> io::Result<()> {
        self.way("exchange", a)?;
        RealDisk.exchange(a, b)?;
        locked(&self.unsynced).swapped(a, b);
        Ok(())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.way("rename", from)?;
        locked(&self.unsynced).will_be_gone(to)?;
        RealDisk.rename(from, to)?;
        locked(&self.unsynced).moved(from, to);
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.way("remove", path)?;
        locked(&self.unsynced).will_be_gone(path)?;
        RealDisk.remove(path)
    }

    fn open_lock(&self, path: &Path) -> io::Result<File> {
        self.way("open_lock", path)?;
        RealDisk.open_lock(path)
    }
}
