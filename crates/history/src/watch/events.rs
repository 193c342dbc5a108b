//! Translates the system's file notifications.
//!
//! SillyTavern replaces the file at every save. A file that is opened as soon as it appears
//! therefore keeps its content, however soon the next one replaces it, and can be read later.
//!
//! The opened file may belong to a later save than the event, if that save happened before the file
//! was opened. The following events show whether it did, and a [`Event::Fence`] shows that no more
//! of them are coming.
//!
//! Only Linux reports this much. Elsewhere only the names of the files are used; and on Windows an
//! open file cannot be replaced, so a save would fail while we have it open. On those systems,
//! files are read once nothing has happened for a while, as in a scan.

use std::fs::{self, File, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use notify::event::{AccessKind, AccessMode, CreateKind, ModifyKind, RemoveKind, RenameMode};
use notify::{EventKind, RecursiveMode, Watcher as _};

use rustc_hash::FxHashMap;

use crate::file::FileName;

/// How many events may be queued. Each can hold an open file, and a process may have only so many.
pub(super) const WAITING: usize = 400;

/// Whether the system reports every save, in order.
pub const ARE_EXACT: bool = cfg!(target_os = "linux");

/// Something happened.
pub enum Event {
    /// Something happened to a file; no details are known.
    Touched { user: usize, name: FileName },
    /// A file was saved, and opened at once.
    Saved(CaughtFile),
    /// A file may be gone.
    Gone { user: usize, name: FileName },
    /// A file is being written in place.
    Writing { user: usize, name: FileName },
    /// Everything that happened before this fence was raised has been reported.
    Fence(u64),
    /// A folder appeared or disappeared, so the user's files have to be scanned.
    Rescan { user: usize },
    /// A file was saved that could not be opened.
    Missed { user: usize },
    /// Events were lost, so everything has to be scanned.
    RescanAll,
    /// A user's folder may have appeared or disappeared.
    Users,
    /// The watch should stop.
    Stop,
}

pub struct CaughtFile {
    pub user: usize,
    pub name: FileName,
    pub file: File,
    pub stat: SaveStamp,
    pub when: Instant,
    /// It was written in place, and may be written again while it is read.
    pub is_in_place: bool,
}

/// Distinguishes the saves of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SaveStamp {
    pub written: SystemTime,
    pub len: u64,
    /// Device and inode; zeros on systems without them.
    file: (u64, u64),
}

impl SaveStamp {
    #[cfg(unix)]
    pub(super) fn of(meta: &Metadata) -> io::Result<Self> {
        use std::os::unix::fs::MetadataExt;
        let file = (meta.dev(), meta.ino());
        Ok(Self { written: meta.modified()?, len: meta.len(), file })
    }

    #[cfg(not(unix))]
    pub(super) fn of(meta: &Metadata) -> io::Result<Self> {
        Ok(Self { written: meta.modified()?, len: meta.len(), file: (0, 0) })
    }
}

/// Sends events for the users' folders.
pub(super) struct Events {
    watcher: notify::RecommendedWatcher,
    homes: Arc<Mutex<Homes>>,
    fences: u64,
    are_exact: bool,
}

#[derive(Default)]
struct Homes {
    /// The users' folders.
    users: FxHashMap<PathBuf, usize>,
    /// Forklore's own folder for fences.
    fences: Option<PathBuf>,
}

/// How many different names fences have.
const FENCES: u64 = 64;

/// The folders of a user whose files have a history, and whether they have subfolders.
const FOLDERS: [(&str, RecursiveMode); 5] = [
    ("chats", RecursiveMode::Recursive),
    ("group chats", RecursiveMode::NonRecursive),
    ("worlds", RecursiveMode::NonRecursive),
    ("characters", RecursiveMode::NonRecursive),
    ("groups", RecursiveMode::NonRecursive),
];

impl Events {
    /// `overflow` is set if an event could not be sent.
    pub(super) fn new(
        sender: SyncSender<Event>,
        overflow: Arc<AtomicBool>,
        are_exact: bool,
    ) -> notify::Result<Self> {
        let homes: Arc<Mutex<Homes>> = Arc::default();
        let mut translator =
            Translator { homes: Arc::clone(&homes), sender, overflow, writing: None };
        let config = notify::Config::default().with_follow_symlinks(false);
        let handler = move |event: notify::Result<notify::Event>| match event {
            Ok(event) if event.need_rescan() => translator.send(Event::RescanAll),
            Ok(event) if are_exact => translator.translate(&event),
            Ok(event) => translator.translate_coarse(&event),
            Err(_) => translator.send(Event::RescanAll),
        };
        let watcher = notify::RecommendedWatcher::new(handler, config)?;
        Ok(Self { watcher, homes, fences: 0, are_exact })
    }

    /// Watches a user's folder. To be called again after one of its subfolders was created.
    pub(super) fn add(&mut self, user: usize, home: &Path) -> notify::Result<()> {
        self.homes().users.insert(home.to_owned(), user);
        self.watcher.watch(home, RecursiveMode::NonRecursive)?;
        for (folder, mode) in FOLDERS {
            let path = home.join(folder);
            if path.is_dir() {
                self.watcher.watch(&path, mode)?;
            }
        }
        Ok(())
    }

    /// Watches a user's folder that was gone: what was watched before no longer exists, or has
    /// another name.
    pub(super) fn add_again(&mut self, user: usize, home: &Path) -> notify::Result<()> {
        let below = FOLDERS.iter().map(|(folder, _)| home.join(folder));
        for path in below.chain([home.to_owned()]) {
            let _ = self.watcher.unwatch(&path);
        }
        self.add(user, home)
    }

    fn homes(&self) -> MutexGuard<'_, Homes> {
        self.homes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Raises a fence in Forklore's own folder, and returns its number: its event arrives after
    /// those of everything that has happened. This works only if the system reports everything in
    /// order, in one queue.
    pub(super) fn raise_fence(&mut self, folder: &Path) -> Option<u64> {
        if !self.are_exact {
            return None;
        }
        if self.homes().fences.is_none() {
            fs::create_dir_all(folder).ok()?;
            self.watcher.watch(folder, RecursiveMode::NonRecursive).ok()?;
            self.homes().fences = Some(folder.to_owned());
        }
        let folder = self.homes().fences.clone()?;
        self.fences += 1;
        let number = self.fences % FENCES;
        let raised = File::create(folder.join(number.to_string()));
        if raised.is_err() {
            // The folder may be created again, with a new watch.
            self.homes().fences = None;
        }
        raised.ok().map(|_| number)
    }

    /// Watches for users that appear and disappear.
    pub(super) fn add_root(&mut self, root: &Path) -> notify::Result<()> {
        self.watcher.watch(root, RecursiveMode::NonRecursive)
    }
}

/// Whether the system reports changes in a folder; `None` if nothing can be changed in it to see.
pub fn receives_events(folder: &Path) -> Option<bool> {
    let (sender, received) = std::sync::mpsc::channel();
    let handler = move |event: notify::Result<notify::Event>| {
        let _ = sender.send(event.is_ok());
    };
    let watcher = notify::RecommendedWatcher::new(handler, notify::Config::default());
    let Ok(mut watcher) = watcher else { return Some(false) };
    let name = folder.join(format!("forklore-doctor-{}", std::process::id()));
    let is_watched = watcher.watch(folder, RecursiveMode::NonRecursive).is_ok();
    let is_written = fs::write(&name, b"Forklore checks whether it is notified of this.").is_ok();
    let is_reported =
        is_watched && is_written && received.recv_timeout(Duration::from_secs(3)) == Ok(true);
    let _ = fs::remove_file(&name);
    is_written.then_some(is_reported)
}

struct Translator {
    homes: Arc<Mutex<Homes>>,
    sender: SyncSender<Event>,
    overflow: Arc<AtomicBool>,
    /// The file being written, if the last event was about it.
    writing: Option<PathBuf>,
}

enum FileChange {
    /// Another file replaced it.
    Saved,
    /// It was written in place and closed.
    Written,
    Writing,
    Linked,
    Gone,
    Folder,
}

impl Translator {
    fn translate(&mut self, event: &notify::Event) {
        let what = match event.kind {
            EventKind::Modify(ModifyKind::Name(RenameMode::To)) => FileChange::Saved,
            EventKind::Access(AccessKind::Close(AccessMode::Write)) => FileChange::Written,
            EventKind::Modify(ModifyKind::Data(_)) => FileChange::Writing,
            EventKind::Create(CreateKind::File) => FileChange::Linked,
            EventKind::Modify(ModifyKind::Name(RenameMode::From))
            | EventKind::Remove(RemoveKind::File) => FileChange::Gone,
            EventKind::Create(CreateKind::Folder) | EventKind::Remove(RemoveKind::Folder) => {
                FileChange::Folder
            }
            EventKind::Modify(ModifyKind::Name(RenameMode::Any)) => FileChange::Folder,
            _ => return,
        };
        for path in &event.paths {
            self.send_change(&what, path);
        }
    }

    /// Handles events of systems that report less than Linux.
    fn translate_coarse(&self, event: &notify::Event) {
        let is_new = match event.kind {
            EventKind::Access(_) | EventKind::Modify(ModifyKind::Metadata(_)) => return,
            // Windows reports this for a folder whenever something in it changes.
            EventKind::Modify(ModifyKind::Any | ModifyKind::Data(_)) => false,
            _ => true,
        };
        for path in &event.paths {
            match self.owner_of(path) {
                Owner::User(user, name) if name.kind().is_some() => {
                    self.send(Event::Touched { user, name });
                }
                Owner::User(user, name)
                    if is_new && (name.as_str().is_empty() || may_be_a_folder(&name)) =>
                {
                    self.send(Event::Rescan { user });
                }
                Owner::Unknown if is_new => self.send(Event::Users),
                Owner::User(..) | Owner::Fence(_) | Owner::Unknown => {}
            }
        }
    }

    fn send_change(&mut self, what: &FileChange, path: &Path) {
        let before = self.writing.take();
        let (user, name) = match self.owner_of(path) {
            Owner::User(user, name) => (user, name),
            Owner::Fence(number) if matches!(what, FileChange::Written) => {
                return self.send(Event::Fence(number));
            }
            Owner::Unknown if !matches!(what, FileChange::Writing) => {
                return self.send(Event::Users);
            }
            Owner::Fence(_) | Owner::Unknown => return,
        };
        let is_ours = name.kind().is_some();
        if name.as_str().is_empty() {
            // The user's folder itself.
            return self.send(Event::Rescan { user });
        }
        match what {
            // A renamed folder is reported like a file.
            FileChange::Saved | FileChange::Written | FileChange::Gone
                if may_be_a_folder(&name) =>
            {
                self.send(Event::Rescan { user })
            }
            FileChange::Folder => self.send(Event::Rescan { user }),
            FileChange::Saved if is_ours => self.open_and_send(user, name, path, false),
            FileChange::Written if is_ours => self.open_and_send(user, name, path, true),
            // Most created files are written next, and reported then. A hard link to an existing
            // file is not.
            FileChange::Linked if is_ours && has_two_names(path) => {
                self.open_and_send(user, name, path, true);
            }
            FileChange::Gone if is_ours => self.send(Event::Gone { user, name }),
            FileChange::Writing if is_ours => {
                // Reported once for a series of writes.
                if before.as_deref() != Some(path) {
                    self.send(Event::Writing { user, name });
                }
                self.writing = Some(path.to_owned());
            }
            _ => {}
        }
    }

    fn open_and_send(&self, user: usize, name: FileName, path: &Path, is_in_place: bool) {
        match open_with_stamp(path) {
            Ok((file, stat)) => {
                let when = Instant::now();
                self.send(Event::Saved(CaughtFile { user, name, file, stat, when, is_in_place }));
            }
            // Including when it is gone again.
            Err(_) => self.send(Event::Missed { user }),
        }
    }

    /// The user that a file belongs to, and its name relative to the user's folder.
    fn owner_of(&self, path: &Path) -> Owner {
        let homes = self.homes.lock().unwrap_or_else(PoisonError::into_inner);
        let fence = homes.fences.as_ref().and_then(|fences| path.strip_prefix(fences).ok());
        if let Some(fence) = fence {
            let number = fence.to_str().and_then(|number| number.parse().ok());
            return Owner::Fence(number.unwrap_or(u64::MAX));
        }
        let user = path.ancestors().find_map(|home| {
            let user = *homes.users.get(home)?;
            Some(Owner::User(user, FileName::of_path(path.strip_prefix(home).ok()?)))
        });
        user.unwrap_or(Owner::Unknown)
    }

    fn send(&self, event: Event) {
        match self.sender.try_send(event) {
            Ok(()) | Err(TrySendError::Disconnected(_)) => {}
            Err(TrySendError::Full(mut event @ (Event::Saved(_) | Event::Fence(_)))) => {
                // Waiting delays the system's own queue, which is longer than ours. The only thing
                // lost is the first of two saves of the same file in the meantime.
                let until = Instant::now() + Duration::from_secs(5);
                while Instant::now() < until {
                    std::thread::sleep(Duration::from_millis(2));
                    match self.sender.try_send(event) {
                        Err(TrySendError::Full(back)) => event = back,
                        _ => return,
                    }
                }
                self.overflow.store(true, Ordering::Relaxed);
            }
            Err(TrySendError::Full(_)) => self.overflow.store(true, Ordering::Relaxed),
        }
    }
}

/// What a path belongs to.
enum Owner {
    User(usize, FileName),
    Fence(u64),
    Unknown,
}

/// The folder of a character, or one of the folders that contain files with a history.
fn may_be_a_folder(name: &FileName) -> bool {
    let text = name.as_str();
    let is_top = FOLDERS.iter().any(|(folder, _)| *folder == text);
    let is_character = text
        .strip_prefix("chats/")
        .is_some_and(|rest| !rest.contains('/') && !rest.contains(".jsonl"));
    is_top || is_character
}

fn open_with_stamp(path: &Path) -> io::Result<(File, SaveStamp)> {
    let file = open_file(path)?;
    let meta = file.metadata()?;
    if !meta.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    Ok((file, SaveStamp::of(&meta)?))
}

/// Without following a link, and without waiting for the writer of a pipe.
#[cfg(unix)]
fn open_file(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    File::options().read(true).custom_flags(flags.bits() as i32).open(path)
}

#[cfg(not(unix))]
fn open_file(path: &Path) -> io::Result<File> {
    File::open(path)
}

#[cfg(unix)]
fn has_two_names(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    path.symlink_metadata().is_ok_and(|meta| meta.nlink() > 1)
}

#[cfg(not(unix))]
fn has_two_names(_: &Path) -> bool {
    false
}
