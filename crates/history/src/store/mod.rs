//! The repository: objects and refs, stored so that they survive crashes and power cuts.
//!
//! A recording is appended to the journal with one sync. Once enough has accumulated, it is written
//! to a pack, then the refs are written, then a new journal is started. In this order, a crash at
//! any point leaves everything in the packs, in the journal, or in both.

pub(crate) mod files;
pub mod journal;
pub mod layout;
pub mod packs;
pub mod place;
mod writing;

use std::cell::Cell;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use forklore_tavern::disk::clock::Clock;
use forklore_tavern::disk::lock::UserLock;
use forklore_tavern::disk::{Disk, Stat};
use rustc_hash::FxHashMap;
use xxhash_rust::xxh3::xxh3_64;

use crate::error::{Doing, HistoryError, Result};
use crate::git::object::{Id, Kind, Object};
use crate::git::pack::{Packed, Packer};
use crate::git::packs::{PackError, Packs};
use crate::git::refs::{self, Refs};
use crate::store::files::Files as _;
use journal::Recording;
use layout::Layout;

pub use writing::Writing;

/// How long to wait for another process to release the lock.
const PATIENCE: Duration = Duration::from_secs(60);

/// How often to retry a read during which the files changed.
const MOST_READS: usize = 50;
const BETWEEN_READS: Duration = Duration::from_millis(20);

/// The prefix of pack files that are being written or removed.
pub(crate) const TEMP: &str = "tmp_forklore_";
/// Their suffix: git treats every file that ends in `.idx` as an index.
pub(crate) const NEW: &str = ".new";

/// zlib's compression level for packs, the same as git's.
const LEVEL: u32 = 6;

/// A repository as of the last time it was opened, refreshed or written to.
pub struct Store<'d> {
    pub(crate) disk: &'d dyn Disk,
    pub(crate) clock: &'d dyn Clock,
    pub(crate) layout: Layout,
    pub(crate) packs: Packs,
    unreadable: Vec<PackError>,
    refs: Refs,
    /// Loose refs that another git wrote, as they were when read.
    loose: Vec<(PathBuf, Id)>,
    pending: Pending,
    journal: JournalState,
    /// Some refs may be missing.
    has_damaged_refs: bool,
    /// The file that may have lost them was copied, and may be written again.
    are_refs_aside: bool,
    /// An object was wanted and could not be read.
    met_damage: Cell<bool>,
    /// How often everything was read.
    loads: u64,
}

/// Objects that are in the journal and not in a pack.
#[derive(Default)]
struct Pending {
    objects: Vec<Object>,
    at: FxHashMap<Id, usize>,
}

#[derive(Default)]
struct JournalState {
    generation: u64,
    end: u64,
    recordings: usize,
    /// The stat of the journal as we left it. If another process writes, it changes.
    stat: Option<Stat>,
    is_damaged: bool,
}

impl<'d> Store<'d> {
    /// Opens a repository, or creates it.
    pub fn open(
        disk: &'d dyn Disk,
        clock: &'d dyn Clock,
        repository: impl Into<PathBuf>,
    ) -> Result<Self> {
        let mut store = Self::unread(disk, clock, Layout::new(repository));
        let _lock = store.lock()?;
        store.layout.make(disk)?;
        store.load()?;
        Ok(store)
    }

    /// Opens an existing repository.
    pub fn open_existing(
        disk: &'d dyn Disk,
        clock: &'d dyn Clock,
        repository: impl Into<PathBuf>,
    ) -> Result<Self> {
        let mut store = Self::unread(disk, clock, Layout::new(repository));
        if !store.layout.exists(disk)? {
            return Err(HistoryError::NoHistory(store.layout.repository));
        }
        store.refresh()?;
        Ok(store)
    }

    fn unread(disk: &'d dyn Disk, clock: &'d dyn Clock, layout: Layout) -> Self {
        Self {
            disk,
            clock,
            layout,
            packs: Packs::open(&[]).0,
            unreadable: Vec::new(),
            refs: Refs::new(),
            loose: Vec::new(),
            pending: Pending::default(),
            journal: JournalState::default(),
            has_damaged_refs: false,
            are_refs_aside: false,
            met_damage: Cell::new(false),
            loads: 0,
        }
    }

    /// Runs a read during which no other process may write: under the lock or, on a read-only disk
    /// where no lock can be taken, repeatedly until nothing changed in the meantime.
    pub(crate) fn read_consistently<T>(
        &mut self,
        read: &mut dyn FnMut(&mut Self) -> Result<T>,
    ) -> Result<T> {
        match self.lock() {
            Ok(_lock) => return read(self),
            Err(HistoryError::Lock(error)) if error.is_unlockable() => {}
            Err(error) => return Err(error),
        }
        for _ in 0..MOST_READS {
            let before = self.stamp()?;
            let found = read(self);
            if self.stamp()? == before {
                return found;
            }
            self.clock.sleep(BETWEEN_READS);
        }
        let source = io::Error::other("it is being written faster than it can be read");
        Err(HistoryError::Io { doing: "read", path: self.layout.journal(), source })
    }

    /// Changes with every recording and with every change to the packs.
    fn stamp(&self) -> Result<(Option<Stat>, Vec<PathBuf>)> {
        Ok((self.disk.stat_of(&self.layout.journal())?, self.indexes()?))
    }

    /// Reads everything again. Requires the lock, or [`Store::read_consistently`] around it.
    pub(crate) fn load(&mut self) -> Result<()> {
        self.loads += 1;
        self.reopen()?;
        (self.refs, self.loose) = self.read_refs()?;
        self.has_damaged_refs = self.examine_refs()?;
        self.pending = Pending::default();
        self.are_refs_aside = false;

        let path = self.layout.journal();
        let stat = self.disk.stat_of(&path)?;
        let bytes = match stat {
            Some(_) => self.disk.read(&path).doing("read", &path)?,
            None => Vec::new(),
        };
        let Some(read) = journal::read(&bytes) else {
            // Truncated while it was being created, or never created.
            self.journal =
                JournalState { is_damaged: !bytes.is_empty(), ..JournalState::default() };
            journal::salvage(&bytes).into_iter().for_each(|it| self.apply_recording(it));
            return Ok(());
        };
        self.journal = JournalState {
            generation: read.generation,
            end: read.end,
            recordings: read.recordings.len(),
            stat,
            is_damaged: read.is_damaged,
        };
        // In a damaged one, any whole recording counts, whatever the file's beginning says.
        let recordings = if read.is_damaged { journal::salvage(&bytes) } else { read.recordings };
        recordings.into_iter().for_each(|recording| self.apply_recording(recording));
        Ok(())
    }

    /// Whether `packed-refs` may have lost something since it was written.
    fn examine_refs(&self) -> Result<bool> {
        let Some(text) = self.disk.read_if_exists(&self.layout.packed_refs())? else {
            return Ok(!self.packs.bundles().is_empty());
        };
        if refs::write(&refs::read(&text)) != text {
            return Ok(true);
        }
        // Histories of earlier versions have no hash.
        let hash = self.disk.read_if_exists(&self.layout.refs_hash())?;
        Ok(hash.is_some_and(|hash| hash != hash_of(&text).as_bytes()))
    }

    /// Keeps a copy of `packed-refs`, if it is damaged, before it is written again.
    fn put_refs_aside(&self) -> Result<()> {
        let path = self.layout.packed_refs();
        let text = self.disk.read_if_exists(&path)?.unwrap_or_default();
        let packed = refs::read(&text);
        // Another git may only have written it in its own way, and a crash only left an old hash.
        let is_harmed = refs::write(&packed) != text
            || packed != self.refs
            || packed.values().any(|id| !self.has(id));
        if is_harmed {
            let folder = self.layout.damaged();
            self.disk.make_dirs(&folder).doing("make", &folder)?;
            let aside = folder.join(format!("{}-packed-refs", self.clock.slug()));
            self.disk.write(&aside, &[&text])?;
        }
        Ok(())
    }

    fn read_refs(&self) -> Result<(Refs, Vec<(PathBuf, Id)>)> {
        let packed = self.disk.read_if_exists(&self.layout.packed_refs())?;
        let mut refs = refs::read(&packed.unwrap_or_default());
        // Another git writes loose refs.
        let mut loose = Vec::new();
        let mut folders = vec![("refs".to_owned(), self.layout.refs())];
        while let Some((name, folder)) = folders.pop() {
            for file in self.disk.list(&folder).doing("list", &folder)? {
                let Some(file) = file.to_str() else { continue };
                let (name, path) = (format!("{name}/{file}"), folder.join(file));
                match self.disk.stat_of(&path)?.map(|stat| stat.kind) {
                    Some(forklore_tavern::disk::FileType::Dir) => folders.push((name, path)),
                    Some(forklore_tavern::disk::FileType::File) => {
                        let text = self.disk.read(&path).doing("read", &path)?;
                        if let Some(id) = refs::read_loose(&text) {
                            refs.insert(name, id);
                            loose.push((path, id));
                        }
                    }
                    _ => {}
                }
            }
        }
        Ok((refs, loose))
    }

    fn apply_recording(&mut self, recording: Recording) {
        for object in recording.objects {
            if !self.pending.at.contains_key(&object.id) && !self.packs.is_whole(&object.id) {
                self.pending.at.insert(object.id, self.pending.objects.len());
                self.pending.objects.push(object);
            }
        }
        self.refs.extend(recording.refs);
    }

    /// Whether the object is here and can be read.
    pub(crate) fn holds(&self, id: &Id) -> bool {
        self.pending.at.contains_key(id) || self.packs.is_whole(id)
    }

    /// The ids of all objects.
    pub(crate) fn ids(&self) -> impl Iterator<Item = Id> + '_ {
        let packed = self.packs.bundles().iter().flat_map(|bundle| bundle.index.iter());
        let pending = self.pending.objects.iter().map(|object| object.id);
        packed.map(|entry| entry.oid).chain(pending)
    }

    /// Whether refs may be missing.
    pub(crate) fn has_damaged_refs(&self) -> bool {
        self.has_damaged_refs
    }

    pub fn disk(&self) -> &'d dyn Disk {
        self.disk
    }

    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Changes whenever the store was read again, possibly with data from other processes.
    pub fn loads(&self) -> u64 {
        self.loads
    }

    pub fn refs(&self) -> &Refs {
        &self.refs
    }

    pub fn packs(&self) -> &Packs {
        &self.packs
    }

    /// Packs that cannot be opened.
    pub fn unreadable(&self) -> &[PackError] {
        &self.unreadable
    }

    pub fn has_damaged_journal(&self) -> bool {
        self.journal.is_damaged
    }

    /// How many recordings are in the journal but not in a pack.
    pub fn journal_recordings(&self) -> usize {
        self.journal.recordings
    }

    /// The size of the packs and the journal.
    pub fn bytes(&self) -> u64 {
        packs::sizes(self) + self.journal.end
    }

    pub fn has(&self, id: &Id) -> bool {
        self.pending.at.contains_key(id) || self.packs.has(id)
    }

    /// Replaces the content of `out` with the object.
    pub fn read_into(&self, id: &Id, out: &mut Vec<u8>) -> Result<Kind> {
        if let Some(at) = self.pending.at.get(id) {
            let object = &self.pending.objects[*at];
            out.clear();
            out.extend_from_slice(&object.data);
            return Ok(object.kind);
        }
        let found = self.packs.read(id, out).map_err(HistoryError::from);
        let found = found.and_then(|found| found.ok_or(HistoryError::Missing(*id)));
        if found.is_err() {
            self.met_damage.set(true);
        }
        found
    }

    /// Whether something that was wanted so far could not be read.
    pub fn met_damage(&self) -> bool {
        self.met_damage.get()
    }

    /// The kind and size of an object; `None` if there is no such object.
    pub fn header(&self, id: &Id) -> Result<Option<(Kind, u64)>> {
        match self.pending.at.get(id) {
            Some(at) => {
                let object = &self.pending.objects[*at];
                Ok(Some((object.kind, object.data.len() as u64)))
            }
            None => Ok(self.packs.header(id)?),
        }
    }

    pub fn read(&self, id: &Id, kind: Kind) -> Result<Vec<u8>> {
        let mut data = Vec::new();
        let found = self.read_into(id, &mut data)?;
        let expected = match kind {
            Kind::Commit => "a commit",
            Kind::Tree => "a tree",
            Kind::Blob => "a blob",
            Kind::Tag => "a tag",
        };
        if found == kind { Ok(data) } else { Err(HistoryError::Misshapen { id: *id, expected }) }
    }

    /// Waits for the lock, and loads what other processes wrote in the meantime.
    pub fn write(&mut self) -> Result<Writing<'_, 'd>> {
        let lock = self.lock()?;
        if !self.is_unchanged()? {
            self.load()?;
        }
        if self.has_damaged_refs && !self.are_refs_aside {
            self.put_refs_aside()?;
            self.are_refs_aside = true;
        }
        if self.journal.stat.is_none() || self.journal.is_damaged {
            self.reset_journal()?;
        }
        Ok(Writing::new(self, lock))
    }

    /// Keeps other processes from writing until it is dropped.
    pub(crate) fn lock(&self) -> Result<UserLock> {
        let sleep = |time| self.clock.sleep(time);
        Ok(UserLock::acquire(self.disk, &self.layout.lock(), PATIENCE, &sleep)?)
    }

    /// Whether no other process has written since we did. The stat alone is not enough: a journal
    /// that replaced ours can have the same one if the clock is coarse and inode numbers are
    /// reused.
    fn is_unchanged(&self) -> Result<bool> {
        let path = self.layout.journal();
        let stat = self.disk.stat_of(&path)?;
        if stat.is_none() || stat != self.journal.stat {
            return Ok(false);
        }
        let start = self.disk.read_start(&path, journal::MARK[0]).doing("read", &path)?;
        Ok(journal::could_be_generation(&start.bytes, self.journal.generation))
    }

    /// Whether another process has written since our last read or write.
    pub fn is_behind(&self) -> Result<bool> {
        Ok(self.disk.stat_of(&self.layout.journal())? != self.journal.stat)
    }

    /// Loads what other processes wrote.
    pub fn refresh(&mut self) -> Result<()> {
        self.read_consistently(&mut |store| store.load())
    }

    /// Starts a valid journal if there is none. A damaged one is moved aside, not deleted.
    fn reset_journal(&mut self) -> Result<()> {
        let path = self.layout.journal();
        if self.journal.is_damaged {
            let aside =
                self.layout.own_folder().join(format!("journal-damaged-{}", self.clock.slug()));
            let bytes = self.disk.read(&path).doing("read", &path)?;
            self.disk.write(&aside, &[&bytes])?;
        }
        self.clear_temps()?;
        self.flush()
    }

    /// Removes what a crashed process left behind: a pack it was still writing or deleting. In both
    /// cases the index has a temporary name.
    fn clear_temps(&self) -> Result<()> {
        let folder = self.layout.packs();
        let names = self.disk.list(&folder).doing("list", &folder)?;
        let has = |name: &str| names.iter().any(|other| other == name);
        for temp in &names {
            let Some(name) = temp.to_str().and_then(|temp| temp.strip_prefix(TEMP)) else {
                continue;
            };
            let name = name.strip_suffix(NEW).unwrap_or(name);
            let pack = format!("pack-{}", name.replace(".idx", ".pack"));
            if name.ends_with(".idx") && has(&pack) && !has(&format!("pack-{name}")) {
                let pack = folder.join(pack);
                self.try_remove(&pack)?;
                if self.disk.exists(&pack)? {
                    continue;
                }
            }
            self.try_remove(&folder.join(temp))?;
        }
        Ok(())
    }

    /// Writes the journal's objects to a pack, and starts a new journal.
    fn flush(&mut self) -> Result<()> {
        if !self.pending.objects.is_empty() {
            let mut packer = Packer::new(LEVEL);
            packer.add_all(&self.pending.objects);
            self.write_pack(packer.finish_pack()?)?;
        }
        self.write_refs()?;
        self.begin_journal()?;
        self.pending = Pending::default();
        packs::roll_up(self)
    }

    /// Windows cannot remove or replace an open file.
    pub(crate) fn close_packs(&mut self) {
        self.packs = Packs::open(&[]).0;
    }

    /// Removes a file that is no longer needed. If another program has it open, a later process
    /// removes it.
    pub(crate) fn try_remove(&self, path: &Path) -> Result<()> {
        match self.disk.remove(path) {
            Err(error) if cfg!(windows) && error.kind() == io::ErrorKind::PermissionDenied => {
                Ok(())
            }
            removed => removed.doing("remove", path),
        }
    }

    /// Opens the current packs.
    pub(crate) fn reopen(&mut self) -> Result<()> {
        (self.packs, self.unreadable) = Packs::open(&self.indexes()?);
        Ok(())
    }

    fn indexes(&self) -> Result<Vec<PathBuf>> {
        let folder = self.layout.packs();
        let names = self.disk.list(&folder).doing("list", &folder)?;
        let names = names.iter().map(|name| name.to_string_lossy());
        // A crashed process may have left a complete pack under a temporary name. It is not read,
        // and removed later.
        let indexes = names.filter(|name| name.starts_with("pack-") && name.ends_with(".idx"));
        Ok(indexes.map(|name| folder.join(&*name)).collect())
    }

    pub(crate) fn write_refs(&mut self) -> Result<()> {
        let text = refs::write(&self.refs);
        self.disk.replace(&self.layout.packed_refs(), &[&text])?;
        // As long as refs may be missing, the hash of the file that lost them says so.
        if !self.has_damaged_refs {
            self.disk.replace(&self.layout.refs_hash(), &[hash_of(&text).as_bytes()])?;
        }
        // A loose ref takes precedence over `packed-refs`, even if it is older.
        for (path, id) in std::mem::take(&mut self.loose) {
            let text = self.disk.read(&path).unwrap_or_default();
            if refs::read_loose(&text) == Some(id) {
                self.disk.remove(&path).doing("remove", &path)?;
                // If a power cut brought it back, it would hide the newer ref.
                self.disk.sync_folder(path.parent().unwrap_or(&path))?;
            }
        }
        Ok(())
    }

    fn begin_journal(&mut self) -> Result<()> {
        let path = self.layout.journal();
        let generation = self.journal.generation.wrapping_add(1);
        let empty = journal::empty(generation);
        self.disk.replace(&path, &[&empty])?;
        self.journal = JournalState {
            generation,
            end: empty.len() as u64,
            recordings: 0,
            stat: self.disk.stat_of(&path)?,
            is_damaged: false,
        };
        Ok(())
    }

    /// Writes a pack and syncs it. The index comes last, so that no reader sees an incomplete pack.
    pub(crate) fn write_pack(&mut self, packed: Packed) -> Result<PathBuf> {
        let folder = self.layout.packs();
        let name = packed.name.to_hex().to_string();
        let index = folder.join(format!("pack-{name}.idx"));
        self.clear_temps()?;
        for (extension, bytes) in [("pack", &packed.pack), ("idx", &packed.index)] {
            let temp = folder.join(format!("{TEMP}{name}.{extension}{NEW}"));
            self.disk.write(&temp, &[bytes])?;
        }
        for extension in ["pack", "idx"] {
            let temp = folder.join(format!("{TEMP}{name}.{extension}{NEW}"));
            let path = folder.join(format!("pack-{name}.{extension}"));
            self.disk.rename(&temp, &path).doing("replace", &path)?;
            // One at a time: an index must not survive a power cut that its pack does not.
            self.disk.sync_folder(&folder)?;
        }
        self.packs.add(&index)?;
        Ok(index)
    }
}

fn hash_of(refs: &[u8]) -> String {
    format!("{:016x}\n", xxh3_64(refs))
}

#[cfg(test)]
mod tests {
    use super::*;
    use forklore_tavern::disk::RealDisk;
    use forklore_tavern::disk::clock::SystemClock;
    use std::fs;

    fn open(repository: &std::path::Path) -> Store<'static> {
        Store::open(&RealDisk, &SystemClock, repository).unwrap()
    }

    fn keep(store: &mut Store<'_>, text: &[u8]) -> Id {
        let mut writing = store.write().unwrap();
        let id = writing.put(Kind::Blob, text.to_vec(), None).unwrap();
        writing.persist().unwrap();
        id
    }

    #[test]
    fn a_journal_of_others_that_looks_like_ours_is_told_from_it() {
        let folder = tempfile::tempdir().unwrap();
        let repository = folder.path().join("user.git");
        let mut ours = open(&repository);
        drop(ours.write().unwrap());
        let path = ours.layout().journal();
        let stat = RealDisk.stat(&path).unwrap().unwrap();

        // Our file, as if the disk had reused its inode for the other process's journal.
        let same = folder.path().join("same");
        fs::hard_link(&path, &same).unwrap();
        let mut others = open(&repository);
        let theirs = keep(&mut others, b"theirs");
        others.write().unwrap().flush().unwrap();
        fs::write(&same, fs::read(&path).unwrap()).unwrap();
        fs::rename(&same, &path).unwrap();
        fs::File::options().write(true).open(&path).unwrap().set_modified(stat.modified).unwrap();
        assert_eq!(RealDisk.stat(&path).unwrap(), Some(stat));

        let kept = keep(&mut ours, b"ours");
        let then = open(&repository);
        assert!(then.has(&kept) && then.has(&theirs));
    }
}
