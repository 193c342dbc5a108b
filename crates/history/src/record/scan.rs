//! Looks through a user's folder and records what changed since the last time.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use forklore_json::Raw;
use forklore_tavern::disk::clock::Clock;
use forklore_tavern::disk::{self, Disk, Stat};
use forklore_tavern::folder::layout::UserFolders;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::error::{HistoryError, Result};
use crate::file::{FileKind, FileName};
use crate::git::object::Id;
use crate::record::recorder::Observed;
use crate::record::recorder::Recorded;
use crate::store::files::Files as _;
use crate::version::history::History;

/// A file that has a history.
#[derive(Clone, Debug)]
pub struct ScannedFile {
    pub name: FileName,
    pub path: PathBuf,
    pub look: Stat,
}

/// A file or folder that could not be looked at.
#[derive(Debug)]
pub struct UnreadFile {
    pub path: PathBuf,
    pub why: String,
}

/// What a scan did.
#[derive(Debug, Default)]
pub struct Scan {
    pub files: usize,
    pub recorded: Vec<Recorded>,
    pub unread: Vec<UnreadFile>,
}

/// What files looked like when they were recorded: what looks the same is not read again.
#[derive(Debug, Default)]
pub struct SeenFiles {
    files: FxHashMap<FileName, (Stat, Id)>,
}

/// So much is gathered before it is kept.
const GATHERED: usize = 32 << 20;

/// Disks tell times apart by up to this much: a file written again within it may look the same.
const GRAIN: Duration = Duration::from_secs(2);

/// How often a file is read that changes while it is read.
const READS: usize = 20;

/// A file that was written so short a time ago may not be finished.
const FRESH: Duration = Duration::from_millis(100);

/// Lists what has a history. Lorebooks come before the chats that they are bound to: a version of a
/// chat that was there before a scan began was saved before the scan read its book.
pub fn files(disk: &dyn Disk, folders: &UserFolders) -> (Vec<ScannedFile>, Vec<UnreadFile>) {
    let mut listing = Listing { disk, folders, found: Vec::new(), unread: Vec::new() };
    for folder in ["worlds", "chats", "group chats", "characters", "groups"] {
        listing.folder(Path::new(folder), folder == "chats");
    }
    listing.file(Path::new("settings.json"));
    (listing.found, listing.unread)
}

/// The folder of the user.
pub fn home(folders: &UserFolders) -> PathBuf {
    folders.data_root.root().join(&folders.handle)
}

struct Listing<'a> {
    disk: &'a dyn Disk,
    folders: &'a UserFolders,
    found: Vec<ScannedFile>,
    unread: Vec<UnreadFile>,
}

impl Listing<'_> {
    fn folder(&mut self, folder: &Path, has_folders: bool) {
        let path = home(self.folders).join(folder);
        let real = match self.folders.data_root.check_no_link(self.disk, &path) {
            Ok(real) => real,
            Err(error) => return self.unread.push(UnreadFile { path, why: error.to_string() }),
        };
        match self.disk.list(&real) {
            Ok(names) => {
                for name in names {
                    let below = folder.join(&name);
                    if FileName::of_path(&below).kind().is_some() {
                        self.file(&below);
                    } else if has_folders && self.is_folder(&below) {
                        self.folder(&below, false);
                    }
                }
            }
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => {}
            Err(error) => self.unread.push(UnreadFile { path, why: error.to_string() }),
        }
    }

    fn is_folder(&self, below: &Path) -> bool {
        let path = home(self.folders).join(below);
        let is_folder =
            |look: Stat| matches!(look.kind, disk::FileType::Dir | disk::FileType::Link);
        self.disk.stat(&path).is_ok_and(|look| look.is_some_and(is_folder))
    }

    fn file(&mut self, below: &Path) {
        let path = home(self.folders).join(below);
        match look_inside(self.disk, self.folders, &path) {
            Ok(Some((path, look))) => {
                self.found.push(ScannedFile { name: FileName::of_path(below), path, look });
            }
            Ok(None) => {}
            Err(why) => self.unread.push(UnreadFile { path, why }),
        }
    }
}

/// What lies there, links followed as long as they stay below the data root.
pub(crate) fn look_inside(
    disk: &dyn Disk,
    folders: &UserFolders,
    path: &Path,
) -> Result<Option<(PathBuf, Stat)>, String> {
    let real = folders.data_root.check_no_link(disk, path).map_err(|error| error.to_string())?;
    let look = disk.stat(&real).map_err(|error| error.to_string())?;
    Ok(look.filter(|look| look.kind == disk::FileType::File).map(|look| (real, look)))
}

/// Reads a file as it was at one instant.
pub fn read_still(disk: &dyn Disk, path: &Path) -> io::Result<(Vec<u8>, Stat)> {
    let gone = || io::Error::from(io::ErrorKind::NotFound);
    let mut look = disk.stat(path)?.ok_or_else(gone)?;
    for _ in 0..READS {
        let bytes = disk.read(path)?;
        let after = disk.stat(path)?.ok_or_else(gone)?;
        if after == look && bytes.len() as u64 == look.len {
            return Ok((bytes, look));
        }
        look = after;
    }
    Err(io::Error::other("it is being written faster than it can be read"))
}

/// The same, and waits a moment if the file was written just now and is not whole: whoever writes it in
/// its place may not be done. What another file took the place of meanwhile was complete.
fn read_settled(
    disk: &dyn Disk,
    clock: &dyn Clock,
    file: &ScannedFile,
) -> io::Result<(Vec<u8>, Stat)> {
    let path = &file.path;
    for _ in 0..READS {
        let (bytes, look) = read_still(disk, path)?;
        if is_whole(&file.name, &bytes) {
            return Ok((bytes, look));
        }
        let age = clock.now().duration_since(look.modified).unwrap_or(FRESH);
        let Some(rest) = FRESH.checked_sub(age).filter(|rest| !rest.is_zero()) else {
            return Ok((bytes, look));
        };
        clock.sleep(rest);
        let is_settled =
            disk.stat(path)?.is_none_or(|after| after == look || after.inode != look.inode);
        if is_settled {
            return Ok((bytes, look));
        }
    }
    Err(io::Error::other("it is being written faster than it can be read"))
}

/// Whether a file does not end in the middle of something.
fn is_whole(name: &FileName, bytes: &[u8]) -> bool {
    let last = match name.kind() {
        Some(FileKind::Chat) => bytes.rsplit(|byte| *byte == b'\n').next().unwrap_or_default(),
        Some(FileKind::Card) | None => return false,
        Some(FileKind::Book | FileKind::Group | FileKind::Settings) => bytes,
    };
    Raw::document(last).is_ok()
}

/// Records what changed since the last time. `tick` hears how many bytes of how many have been looked at.
pub fn scan(
    history: &mut History<'_>,
    disk: &dyn Disk,
    folders: &UserFolders,
    remembered: &mut SeenFiles,
    tick: &dyn Fn(u64, u64),
) -> Result<Scan> {
    let place = home(folders);
    if !disk.is_there(&place)? {
        // A disk that is not there is no reason to call everything deleted.
        return Err(HistoryError::Io {
            doing: "find",
            path: place,
            source: io::ErrorKind::NotFound.into(),
        });
    }
    let (found, unread) = files(disk, folders);
    let live = history.lineages().live_names().cloned().collect();
    let names: FxHashSet<&FileName> = found.iter().map(|found| &found.name).collect();
    let mut looking = Looking {
        disk,
        place,
        exists: &|name| names.contains(name),
        began: history.store().clock.now(),
        scan: Scan { files: found.len(), recorded: Vec::new(), unread },
    };
    looking.record(history, &found, remembered, tick)?;
    looking.record_deleted(history, live)?;
    Ok(looking.scan)
}

/// The same for some files. Whatever else has changed has to be known not to have, and none of them to
/// be in the middle of being saved.
pub(crate) fn scan_some(
    history: &mut History<'_>,
    disk: &dyn Disk,
    folders: &UserFolders,
    remembered: &mut SeenFiles,
    names: &BTreeSet<FileName>,
) -> Result<Scan> {
    let mut listing = Listing { disk, folders, found: Vec::new(), unread: Vec::new() };
    let (books, others): (Vec<&FileName>, Vec<&FileName>) =
        names.iter().partition(|name| name.kind() == Some(FileKind::Book));
    books.into_iter().chain(others).for_each(|name| listing.file(&name.to_path()));
    let Listing { found, unread, .. } = listing;
    let is_live = |name: &&FileName| history.lineages().live(name).is_some();
    let live = names.iter().filter(is_live).cloned().collect();
    let place = home(folders);
    let mut looking = Looking {
        disk,
        place: place.clone(),
        exists: &|name| !matches!(disk.stat(&place.join(name.to_path())), Ok(None)),
        began: history.store().clock.now(),
        scan: Scan { files: found.len(), recorded: Vec::new(), unread },
    };
    looking.record(history, &found, remembered, &|_, _| {})?;
    looking.record_deleted(history, live)?;
    Ok(looking.scan)
}

struct Looking<'a> {
    disk: &'a dyn Disk,
    place: PathBuf,
    exists: &'a dyn Fn(&FileName) -> bool,
    began: SystemTime,
    scan: Scan,
}

impl Looking<'_> {
    fn record(
        &mut self,
        history: &mut History<'_>,
        found: &[ScannedFile],
        remembered: &mut SeenFiles,
        tick: &dyn Fn(u64, u64),
    ) -> Result<()> {
        let of: u64 = found.iter().map(|file| file.look.len).sum();
        let (mut at, mut done) = (0, 0);
        let clock = history.store().clock;
        while at < found.len() {
            let mut recorder = history.record()?.as_of(self.began);
            while at < found.len() && recorder.size() < GATHERED {
                let file = &found[at];
                at += 1;
                tick(done, of);
                done += file.look.len;
                let live = recorder.lineages().live(&file.name);
                if live.is_some_and(|live| remembered.is_known(file, live.tip.id)) {
                    continue;
                }
                let (bytes, look) = match read_settled(self.disk, clock, file) {
                    Ok(read) => read,
                    Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                    Err(error) => {
                        let why = error.to_string();
                        self.scan.unread.push(UnreadFile { path: file.path.clone(), why });
                        continue;
                    }
                };
                let written = look.modified;
                let recorded =
                    recorder.file(&file.name, &bytes, written, Observed::Later, self.exists)?;
                if let Some(live) = recorder.lineages().live(&file.name) {
                    let tip = live.tip.id;
                    remembered.remember(&file.name, look, tip, recorder.now());
                }
                self.scan.recorded.extend(recorded);
            }
            recorder.keep()?;
        }
        Ok(())
    }

    fn record_deleted(&mut self, history: &mut History<'_>, mut gone: Vec<FileName>) -> Result<()> {
        // What cannot be looked at is not known to be gone.
        gone.retain(|name| {
            let path = self.place.join(name.to_path());
            !(self.exists)(name) && matches!(self.disk.stat(&path), Ok(None))
        });
        if gone.is_empty() {
            return Ok(());
        }
        gone.sort();
        // It went before or after whatever else this look has found.
        let mut recorder = history.record()?.as_of(self.began);
        for name in gone {
            self.scan.recorded.extend(recorder.deleted(&name)?);
        }
        recorder.keep()
    }
}

impl SeenFiles {
    fn is_known(&self, file: &ScannedFile, tip: Id) -> bool {
        self.files.get(&file.name).is_some_and(|(look, known)| *look == file.look && *known == tip)
    }

    pub(crate) fn remember(&mut self, name: &FileName, look: Stat, tip: Id, now: SystemTime) {
        // It may be written again and look the same.
        if now.duration_since(look.modified).is_ok_and(|age| age > GRAIN) && look.inode != 0 {
            self.files.insert(name.clone(), (look, tip));
        } else {
            self.files.remove(name);
        }
    }

    /// Reads what was remembered in another run. Whatever is wrong with it, it only means more to
    /// read.
    pub fn load(history: &History<'_>) -> Self {
        let path = history.store().layout().ours().join("remembered");
        let text = history.store().disk.read(&path).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        Self { files: text.lines().filter_map(read_line).collect() }
    }

    pub fn save(&self, history: &mut History<'_>) -> Result<()> {
        let mut lines: Vec<String> = self.files.iter().map(write_line).collect();
        lines.sort();
        let disk = history.store().disk;
        let path = history.store().layout().ours().join("remembered");
        let _writing = history.store_mut().write()?;
        disk.replace(&path, &[lines.join("\n").as_bytes()])
    }
}

fn write_line((name, (look, tip)): (&FileName, &(Stat, Id))) -> String {
    let modified = look.modified.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    format!("{tip} {} {modified} {} {}", look.len, look.inode, name.as_str())
}

fn read_line(line: &str) -> Option<(FileName, (Stat, Id))> {
    let mut parts = line.splitn(5, ' ');
    let tip = Id::from_hex(parts.next()?.as_bytes()).ok()?;
    let len = parts.next()?.parse().ok()?;
    let nanos: u64 = parts.next()?.parse().ok()?;
    let inode = parts.next()?.parse().ok()?;
    let modified = UNIX_EPOCH.checked_add(Duration::from_nanos(nanos))?;
    let look = Stat { kind: disk::FileType::File, len, modified, inode };
    Some((FileName::of_text(parts.next()?), (look, tip)))
}
