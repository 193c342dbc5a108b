//! What the system says about files, as it says it.
//!
//! SillyTavern puts a new file in the place of the old one at every save. So a file that is opened as
//! soon as it is there keeps its content, however soon the next one takes its place; reading it can
//! wait.
//!
//! What is opened may be a later save than the one that was told, if the next one came before it was
//! opened. Whether that was so shows in what is told next, and a [`Event::Fence`] shows that nothing
//! more was to be told.
//!
//! Linux alone says so much. Elsewhere only the names of files are taken from what is told; and on
//! Windows an open file cannot be replaced, so a save would fail while we have it open. There a file is
//! read when nothing has happened for a while, as a look would find it.

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

/// Files that wait to be read are open, and a process may have only so many.
pub(super) const WAITING: usize = 400;

/// Whether the system tells which save it speaks of, in order.
pub const ARE_EXACT: bool = cfg!(target_os = "linux");

/// Something happened.
pub enum Event {
    /// Something happened to a file, where no more is known.
    Touched { user: usize, name: FileName },
    /// A file was saved, and this is what was saved.
    Saved(CaughtFile),
    /// A file may be gone.
    Gone { user: usize, name: FileName },
    /// A file is being written in its place.
    Writing { user: usize, name: FileName },
    /// Everything that happened before this fence was raised has been told.
    Fence(u64),
    /// A folder came or went: whatever is below it has to be looked at.
    Look { user: usize },
    /// A file was saved that could not be opened.
    Missed { user: usize },
    /// Nobody knows what happened.
    LookAtAll,
    /// A user's folder may have come or gone.
    Users,
    /// The end.
    Stop,
}

pub struct CaughtFile {
    pub user: usize,
    pub name: FileName,
    pub file: File,
    pub stat: SaveStamp,
    pub when: Instant,
    /// It was written where it is, and may be written again while it is read.
    pub is_in_place: bool,
}

/// What tells one save of a file from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SaveStamp {
    pub written: SystemTime,
    pub len: u64,
    /// Device and inode; zeros where there are none.
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

/// Sends what happens below the folders of users.
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
    /// A folder of our own, for fences.
    fences: Option<PathBuf>,
}

/// Fences have one of so many names.
const FENCES: u64 = 64;

/// The folders of a user in which files have a history, and whether there are folders in them.
const FOLDERS: [(&str, RecursiveMode); 5] = [
    ("chats", RecursiveMode::Recursive),
    ("group chats", RecursiveMode::NonRecursive),
    ("worlds", RecursiveMode::NonRecursive),
    ("characters", RecursiveMode::NonRecursive),
    ("groups", RecursiveMode::NonRecursive),
];

impl Events {
    /// `overflow` is set when something could not be sent.
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
            Ok(event) if event.need_rescan() => translator.send(Event::LookAtAll),
            Ok(event) if are_exact => translator.take(&event),
            Ok(event) => translator.touch(&event),
            Err(_) => translator.send(Event::LookAtAll),
        };
        let watcher = notify::RecommendedWatcher::new(handler, config)?;
        Ok(Self { watcher, homes, fences: 0, are_exact })
    }

    /// Watches the folder of a user. Again after one of its folders came.
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

    fn homes(&self) -> MutexGuard<'_, Homes> {
        self.homes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Raises a fence in a folder of our own, and says its number: it is told after everything that
    /// has happened. Only where one queue holds all that happens, in order.
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
            // It may come back, with another watch.
            self.homes().fences = None;
        }
        raised.ok().map(|_| number)
    }

    /// Watches for users that come and go.
    pub(super) fn add_root(&mut self, root: &Path) -> notify::Result<()> {
        self.watcher.watch(root, RecursiveMode::NonRecursive)
    }
}

/// Whether the system tells of what happens in a folder that can be written to.
pub fn reach(folder: &Path) -> bool {
    let (sender, told) = std::sync::mpsc::channel();
    let heard = move |event: notify::Result<notify::Event>| {
        let _ = sender.send(event.is_ok());
    };
    let watcher = notify::RecommendedWatcher::new(heard, notify::Config::default());
    let Ok(mut watcher) = watcher else { return false };
    let name = folder.join(format!("forklore-doctor-{}", std::process::id()));
    let is_told = watcher.watch(folder, RecursiveMode::NonRecursive).is_ok()
        && fs::write(&name, b"Forklore looks whether it is told of this.").is_ok()
        && told.recv_timeout(Duration::from_secs(3)) == Ok(true);
    let _ = fs::remove_file(&name);
    is_told
}

struct Translator {
    homes: Arc<Mutex<Homes>>,
    sender: SyncSender<Event>,
    overflow: Arc<AtomicBool>,
    /// What is being written, if that was told last.
    writing: Option<PathBuf>,
}

enum FileChange {
    /// Another file took its place.
    Saved,
    /// It was written where it is, and closed.
    Written,
    Writing,
    Linked,
    Gone,
    Folder,
}

impl Translator {
    fn take(&mut self, event: &notify::Event) {
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
            self.tell(&what, path);
        }
    }

    /// Systems that say less than Linux does.
    fn touch(&self, event: &notify::Event) {
        let is_new = match event.kind {
            EventKind::Access(_) | EventKind::Modify(ModifyKind::Metadata(_)) => return,
            // Windows says this of a folder whenever something happens in it.
            EventKind::Modify(ModifyKind::Any | ModifyKind::Data(_)) => false,
            _ => true,
        };
        for path in &event.paths {
            match self.whose(path) {
                Whose::User(user, name) if name.kind().is_some() => {
                    self.send(Event::Touched { user, name });
                }
                Whose::User(user, name) if is_new && may_be_a_folder(&name) => {
                    self.send(Event::Look { user });
                }
                Whose::Nobody if is_new => self.send(Event::Users),
                Whose::User(..) | Whose::Fence(_) | Whose::Nobody => {}
            }
        }
    }

    fn tell(&mut self, what: &FileChange, path: &Path) {
        let before = self.writing.take();
        let (user, name) = match self.whose(path) {
            Whose::User(user, name) => (user, name),
            Whose::Fence(number) if matches!(what, FileChange::Written) => {
                return self.send(Event::Fence(number));
            }
            Whose::Nobody if !matches!(what, FileChange::Writing) => {
                return self.send(Event::Users);
            }
            Whose::Fence(_) | Whose::Nobody => return,
        };
        let is_ours = name.kind().is_some();
        match what {
            // A folder that was renamed is told as a file is.
            FileChange::Saved | FileChange::Written | FileChange::Gone
                if may_be_a_folder(&name) =>
            {
                self.send(Event::Look { user })
            }
            FileChange::Folder => self.send(Event::Look { user }),
            FileChange::Saved if is_ours => self.catch(user, name, path, false),
            FileChange::Written if is_ours => self.catch(user, name, path, true),
            // Most files that are created are written next, and told then. A second name of a
            // file that is there is not.
            FileChange::Linked if is_ours && has_two_names(path) => {
                self.catch(user, name, path, true);
            }
            FileChange::Gone if is_ours => self.send(Event::Gone { user, name }),
            FileChange::Writing if is_ours => {
                // Told once for many parts.
                if before.as_deref() != Some(path) {
                    self.send(Event::Writing { user, name });
                }
                self.writing = Some(path.to_owned());
            }
            _ => {}
        }
    }

    fn catch(&self, user: usize, name: FileName, path: &Path, is_in_place: bool) {
        match opened(path) {
            Ok((file, stat)) => {
                let when = Instant::now();
                self.send(Event::Saved(CaughtFile { user, name, file, stat, when, is_in_place }));
            }
            // Also where it is gone again.
            Err(_) => self.send(Event::Missed { user }),
        }
    }

    /// Whose file it is, and what it is called below that user's folder.
    fn whose(&self, path: &Path) -> Whose {
        let homes = self.homes.lock().unwrap_or_else(PoisonError::into_inner);
        let fence = homes.fences.as_ref().and_then(|fences| path.strip_prefix(fences).ok());
        if let Some(fence) = fence {
            let number = fence.to_str().and_then(|number| number.parse().ok());
            return Whose::Fence(number.unwrap_or(u64::MAX));
        }
        let user = path.ancestors().find_map(|home| {
            let user = *homes.users.get(home)?;
            Some(Whose::User(user, FileName::of_path(path.strip_prefix(home).ok()?)))
        });
        user.unwrap_or(Whose::Nobody)
    }

    fn send(&self, event: Event) {
        match self.sender.try_send(event) {
            Ok(()) | Err(TrySendError::Disconnected(_)) => {}
            Err(TrySendError::Full(mut event @ (Event::Saved(_) | Event::Fence(_)))) => {
                // Waiting holds up the system's own queue, which is longer than ours. All that is
                // lost by it is the first of two saves of the same file meanwhile.
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

/// What a path leads to.
enum Whose {
    User(usize, FileName),
    Fence(u64),
    Nobody,
}

/// The folder of a character, or one of those that characters and books are in.
fn may_be_a_folder(name: &FileName) -> bool {
    let text = name.as_str();
    let is_top = FOLDERS.iter().any(|(folder, _)| *folder == text);
    let is_character = text
        .strip_prefix("chats/")
        .is_some_and(|rest| !rest.contains('/') && !rest.contains(".jsonl"));
    is_top || is_character
}

fn opened(path: &Path) -> io::Result<(File, SaveStamp)> {
    let file = open_file(path)?;
    let meta = file.metadata()?;
    if !meta.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    Ok((file, SaveStamp::of(&meta)?))
}

/// Without following a link, and without waiting for whoever writes to a pipe.
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
