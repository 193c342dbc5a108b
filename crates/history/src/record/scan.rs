//! Scans a user's folder and records what changed since the last scan.

use std::collections::BTreeSet;
use std::hash::{Hash as _, Hasher as _};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use forklore_json::Raw;
use forklore_tavern::disk::clock::Clock;
use forklore_tavern::disk::{self, Disk, Stat};
use forklore_tavern::folder::layout::UserFolders;
use rustc_hash::{FxHashMap, FxHashSet, FxHasher};

use crate::error::{HistoryError, Result};
use crate::file::{FileKind, FileName};
use crate::git::object::Id;
use crate::record::recorder::Observed;
use crate::record::recorder::Recorded;
use crate::store::files::Files as _;
use crate::version::commit::milliseconds;
use crate::version::history::History;

/// A file that has a history.
#[derive(Clone, Debug)]
pub struct ScannedFile {
    pub name: FileName,
    pub path: PathBuf,
    pub stat: Stat,
}

/// A file or folder that could not be read.
#[derive(Debug)]
pub struct UnreadFile {
    pub path: PathBuf,
    pub why: String,
}

/// What a scan found and recorded.
#[derive(Debug, Default)]
pub struct Scan {
    pub files: usize,
    pub recorded: Vec<Recorded>,
    pub unread: Vec<UnreadFile>,
    /// Differs if any file's size or time differs. Zero if not all files were looked at.
    pub stamp: u64,
}

/// The stat of each file when it was recorded. Files with an unchanged stat are not read again.
#[derive(Debug, Default)]
pub struct SeenFiles {
    files: FxHashMap<FileName, (Stat, Id)>,
}

/// How much accumulates before it is persisted.
const BATCH_BYTES: usize = 32 << 20;

/// The coarsest time resolution of file systems: a file written again within this time may have the
/// same stat.
const GRAIN: Duration = Duration::from_secs(2);

/// How often to retry reading a file that changes while it is read.
const READS: usize = 20;

/// A file written more recently than this may not be finished.
const FRESH: Duration = Duration::from_millis(100);

/// Lists the files that have a history. Lorebooks come before the chats that they are bound to: a
/// version of a chat that existed before the scan began was saved before the scan read its
/// lorebook.
pub fn files(disk: &dyn Disk, folders: &UserFolders) -> (Vec<ScannedFile>, Vec<UnreadFile>) {
    let mut listing = Listing { disk, folders, found: Vec::new(), unread: Vec::new() };
    for folder in ["worlds", "chats", "group chats", "characters", "groups"] {
        listing.folder(Path::new(folder), folder == "chats");
    }
    listing.file(Path::new("settings.json"));
    (listing.found, listing.unread)
}

/// Differs if the size or time of any file differs.
pub(crate) fn stamp(files: &[ScannedFile]) -> u64 {
    let mut hasher = FxHasher::default();
    for ScannedFile { name, stat, .. } in files {
        (name.as_str(), stat.len, stat.modified).hash(&mut hasher);
    }
    hasher.finish()
}

/// The user's folder.
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
        let real = match self.folders.data_root.resolve(self.disk, &path) {
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
            |stat: Stat| matches!(stat.kind, disk::FileType::Dir | disk::FileType::Link);
        self.disk.stat(&path).is_ok_and(|stat| stat.is_some_and(is_folder))
    }

    fn file(&mut self, below: &Path) {
        let path = home(self.folders).join(below);
        match stat_inside(self.disk, self.folders, &path) {
            Ok(Some((path, stat))) => {
                self.found.push(ScannedFile { name: FileName::of_path(below), path, stat });
            }
            Ok(None) => {}
            Err(why) => self.unread.push(UnreadFile { path, why }),
        }
    }
}

/// The real path and stat of a file. Symbolic links are followed only within the data root.
pub(crate) fn stat_inside(
    disk: &dyn Disk,
    folders: &UserFolders,
    path: &Path,
) -> Result<Option<(PathBuf, Stat)>, String> {
    let real = folders.data_root.resolve(disk, path).map_err(|error| error.to_string())?;
    let stat = disk.stat(&real).map_err(|error| error.to_string())?;
    Ok(stat.filter(|stat| stat.kind == disk::FileType::File).map(|stat| (real, stat)))
}

/// Reads a file as it was at one instant.
pub fn read_stable(disk: &dyn Disk, path: &Path) -> io::Result<(Vec<u8>, Stat)> {
    let gone = || io::Error::from(io::ErrorKind::NotFound);
    let mut stat = disk.stat(path)?.ok_or_else(gone)?;
    for _ in 0..READS {
        let bytes = disk.read(path)?;
        let after = disk.stat(path)?.ok_or_else(gone)?;
        if after == stat && bytes.len() as u64 == stat.len {
            return Ok((bytes, stat));
        }
        stat = after;
    }
    Err(io::Error::other("it is being written faster than it can be read"))
}

/// The same, but if the file was written just now and looks incomplete, waits a moment: it may
/// still be being written in place. If another file has replaced it by then, the content that was
/// read was complete.
fn read_complete(
    disk: &dyn Disk,
    clock: &dyn Clock,
    file: &ScannedFile,
) -> io::Result<(Vec<u8>, Stat)> {
    let path = &file.path;
    for _ in 0..READS {
        let (bytes, stat) = read_stable(disk, path)?;
        if is_whole(&file.name, &bytes) {
            return Ok((bytes, stat));
        }
        let age = clock.now().duration_since(stat.modified).unwrap_or(FRESH);
        let Some(rest) = FRESH.checked_sub(age).filter(|rest| !rest.is_zero()) else {
            return Ok((bytes, stat));
        };
        clock.sleep(rest);
        let is_settled =
            disk.stat(path)?.is_none_or(|after| after == stat || after.inode != stat.inode);
        if is_settled {
            return Ok((bytes, stat));
        }
    }
    Err(io::Error::other("it is being written faster than it can be read"))
}

/// Whether a file does not end in the middle of a JSON value.
fn is_whole(name: &FileName, bytes: &[u8]) -> bool {
    let last = match name.kind() {
        Some(FileKind::Chat) => bytes.rsplit(|byte| *byte == b'\n').next().unwrap_or_default(),
        Some(FileKind::Card) | None => return false,
        Some(FileKind::Book | FileKind::Group | FileKind::Settings) => bytes,
    };
    Raw::document(last).is_ok()
}

/// Records what changed since the last scan. `tick` is called with the bytes done and the total.
pub fn scan(
    history: &mut History<'_>,
    disk: &dyn Disk,
    folders: &UserFolders,
    remembered: &mut SeenFiles,
    tick: &dyn Fn(u64, u64),
) -> Result<Scan> {
    let place = home(folders);
    if !disk.exists(&place)? {
        // If the folder is missing, perhaps its disk is not mounted; nothing counts as deleted
        // then.
        return Err(HistoryError::Io {
            doing: "find",
            path: place,
            source: io::ErrorKind::NotFound.into(),
        });
    }
    let (found, unread) = files(disk, folders);
    let live = history.lineages().live_names().cloned().collect();
    let names: FxHashSet<&FileName> = found.iter().map(|found| &found.name).collect();
    let mut scanner = Scanner {
        disk,
        place,
        exists: &|name| names.contains(name),
        began: history.store().clock.now(),
        scan: Scan { files: found.len(), unread, stamp: stamp(&found), ..Scan::default() },
    };
    scanner.record(history, &found, remembered, tick)?;
    scanner.record_deleted(history, live)?;
    Ok(scanner.scan)
}

/// The same for some files. The caller has to know that no other file has changed, and that none of
/// these is being saved.
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
    let mut scanner = Scanner {
        disk,
        place: place.clone(),
        exists: &|name| !matches!(disk.stat(&place.join(name.to_path())), Ok(None)),
        began: history.store().clock.now(),
        scan: Scan { files: found.len(), unread, ..Scan::default() },
    };
    scanner.record(history, &found, remembered, &|_, _| {})?;
    scanner.record_deleted(history, live)?;
    Ok(scanner.scan)
}

/// Files that were written before `before` and are not recorded as they are now.
pub fn unrecorded(
    history: &History<'_>,
    disk: &dyn Disk,
    folders: &UserFolders,
    before: SystemTime,
) -> Vec<ScannedFile> {
    let remembered = SeenFiles::load(history);
    let (mut found, _) = files(disk, folders);
    found.retain(|file| file.stat.modified < before && !is_recorded(history, &remembered, file));
    found
}

fn is_recorded(history: &History<'_>, remembered: &SeenFiles, file: &ScannedFile) -> bool {
    let Some(live) = history.lineages().live(&file.name) else { return false };
    let version = &live.tip.version;
    if remembered.is_known(file, live.tip.id) {
        return true;
    }
    let is_same_size = version.bytes == file.stat.len;
    let is_same_time = milliseconds(version.written) == milliseconds(file.stat.modified);
    // It may only have another time.
    is_same_size
        && (is_same_time
            || read_stable(history.store().disk, &file.path).is_ok_and(|(bytes, _)| {
                history.content(&live.tip).is_ok_and(|recorded| recorded == bytes)
            }))
}

struct Scanner<'a> {
    disk: &'a dyn Disk,
    place: PathBuf,
    exists: &'a dyn Fn(&FileName) -> bool,
    began: SystemTime,
    scan: Scan,
}

impl Scanner<'_> {
    fn record(
        &mut self,
        history: &mut History<'_>,
        found: &[ScannedFile],
        remembered: &mut SeenFiles,
        tick: &dyn Fn(u64, u64),
    ) -> Result<()> {
        let of: u64 = found.iter().map(|file| file.stat.len).sum();
        let (mut at, mut done) = (0, 0);
        let clock = history.store().clock;
        while at < found.len() {
            let mut recorder = history.record()?.as_of(self.began);
            while at < found.len() && recorder.size() < BATCH_BYTES {
                let file = &found[at];
                at += 1;
                tick(done, of);
                done += file.stat.len;
                let live = recorder.lineages().live(&file.name);
                if live.is_some_and(|live| remembered.is_known(file, live.tip.id)) {
                    continue;
                }
                let (bytes, stat) = match read_complete(self.disk, clock, file) {
                    Ok(read) => read,
                    Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                    Err(error) => {
                        let why = error.to_string();
                        self.scan.unread.push(UnreadFile { path: file.path.clone(), why });
                        continue;
                    }
                };
                let written = stat.modified;
                let recorded =
                    recorder.file(&file.name, &bytes, written, Observed::Later, self.exists)?;
                if let Some(live) = recorder.lineages().live(&file.name) {
                    let tip = live.tip.id;
                    remembered.remember(&file.name, stat, tip, recorder.now());
                }
                self.scan.recorded.extend(recorded);
            }
            recorder.persist()?;
        }
        Ok(())
    }

    fn record_deleted(&mut self, history: &mut History<'_>, mut gone: Vec<FileName>) -> Result<()> {
        // A file whose stat fails is not known to be gone.
        gone.retain(|name| {
            let path = self.place.join(name.to_path());
            !(self.exists)(name) && matches!(self.disk.stat(&path), Ok(None))
        });
        if gone.is_empty() {
            return Ok(());
        }
        gone.sort();
        // It may have disappeared before or after the other changes that this scan found.
        let mut recorder = history.record()?.as_of(self.began);
        for name in gone {
            self.scan.recorded.extend(recorder.deleted(&name)?);
        }
        recorder.persist()
    }
}

impl SeenFiles {
    fn is_known(&self, file: &ScannedFile, tip: Id) -> bool {
        self.files.get(&file.name).is_some_and(|(stat, known)| *stat == file.stat && *known == tip)
    }

    pub(crate) fn remember(&mut self, name: &FileName, stat: Stat, tip: Id, now: SystemTime) {
        // It may be written again without its stat changing.
        if now.duration_since(stat.modified).is_ok_and(|age| age > GRAIN) && stat.inode != 0 {
            self.files.insert(name.clone(), (stat, tip));
        } else {
            self.files.remove(name);
        }
    }

    /// Loads the stats saved by an earlier run. If they are damaged, more files are read, nothing
    /// worse.
    pub fn load(history: &History<'_>) -> Self {
        let path = history.store().layout().own_folder().join("remembered");
        let text = history.store().disk.read(&path).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        Self { files: text.lines().filter_map(read_line).collect() }
    }

    pub fn save(&self, history: &mut History<'_>) -> Result<()> {
        let mut lines: Vec<String> = self.files.iter().map(write_line).collect();
        lines.sort();
        let disk = history.store().disk;
        let path = history.store().layout().own_folder().join("remembered");
        let _writing = history.store_mut().write()?;
        disk.replace(&path, &[lines.join("\n").as_bytes()])
    }
}

fn write_line((name, (stat, tip)): (&FileName, &(Stat, Id))) -> String {
    let modified = stat.modified.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    format!("{tip} {} {modified} {} {}", stat.len, stat.inode, name.as_str())
}

fn read_line(line: &str) -> Option<(FileName, (Stat, Id))> {
    let mut parts = line.splitn(5, ' ');
    let tip = Id::from_hex(parts.next()?.as_bytes()).ok()?;
    let len = parts.next()?.parse().ok()?;
    let nanos: u64 = parts.next()?.parse().ok()?;
    let inode = parts.next()?.parse().ok()?;
    let modified = UNIX_EPOCH.checked_add(Duration::from_nanos(nanos))?;
    let stat = Stat { kind: disk::FileType::File, len, modified, inode };
    Some((FileName::of_text(parts.next()?), (stat, tip)))
}
