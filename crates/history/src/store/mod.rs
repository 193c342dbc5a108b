//! The repository: objects and refs, written so that what was said to be kept is kept.
//!
//! A recording is appended to the journal, with one sync. When enough has gathered, it is put into
//! a pack, the refs follow, and the journal begins anew; in this order, so that after a crash at any
//! point everything is in the packs, in the journal, or in both.

pub(crate) mod files;
pub mod journal;
pub mod layout;
pub mod packs;
pub mod place;
mod writing;

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use forklore_tavern::disk::clock::Clock;
use forklore_tavern::disk::lock::UserLock;
use forklore_tavern::disk::{Disk, Stat};
use rustc_hash::FxHashMap;

use crate::error::{Doing, HistoryError, Result};
use crate::git::object::{Id, Kind, Object};
use crate::git::pack::{Packed, Packer};
use crate::git::packs::{PackError, Packs};
use crate::git::refs::{self, Refs};
use crate::store::files::Files as _;
use journal::Recording;
use layout::Layout;

pub use writing::Writing;

/// How long to wait for another of us.
const PATIENCE: Duration = Duration::from_secs(60);

/// How often something is read that others change while it is read.
const MOST_READS: usize = 50;
const BETWEEN_READS: Duration = Duration::from_millis(20);

/// What the names of packs begin with that are being written or removed.
pub(crate) const TEMP: &str = "tmp_forklore_";
/// And end so: git takes any name with the ending of an index for one.
pub(crate) const NEW: &str = ".new";

/// zlib's level for packs: git's own.
const LEVEL: u32 = 6;

/// A repository, as it was when it was opened or last written to.
pub struct Store<'d> {
    pub(crate) disk: &'d dyn Disk,
    pub(crate) clock: &'d dyn Clock,
    pub(crate) layout: Layout,
    pub(crate) packs: Packs,
    unreadable: Vec<PackError>,
    refs: Refs,
    /// Refs that somebody else's git wrote into files of their own, as they were read.
    loose: Vec<(PathBuf, Id)>,
    pending: Pending,
    journal: Gathered,
    /// Counts how often everything was read.
    loads: u64,
}

/// What is in the journal and not in a pack.
#[derive(Default)]
struct Pending {
    objects: Vec<Object>,
    at: FxHashMap<Id, usize>,
}

#[derive(Default)]
struct Gathered {
    generation: u64,
    end: u64,
    recordings: usize,
    /// As we left it. Another process makes another one of it.
    look: Option<Stat>,
    is_damaged: bool,
}

impl<'d> Store<'d> {
    /// Opens a repository, or makes it.
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

    /// Opens a repository that is there.
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
            journal: Gathered::default(),
            loads: 0,
        }
    }

    /// Reads something that nobody may change meanwhile: under the lock or, where there can be none
    /// because nothing can be written, again until nobody did.
    pub(crate) fn steadily<T>(
        &mut self,
        read: &mut dyn FnMut(&mut Self) -> Result<T>,
    ) -> Result<T> {
        match self.lock() {
            Ok(_lock) => return read(self),
            Err(HistoryError::Lock(error)) if error.is_for_want_of_writing() => {}
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

    /// What every recording, and every change to the packs, changes.
    fn stamp(&self) -> Result<(Option<Stat>, Vec<PathBuf>)> {
        Ok((self.disk.seen(&self.layout.journal())?, self.indexes()?))
    }

    /// Reads everything anew. To be called under the lock, or within [`Store::steadily`].
    pub(crate) fn load(&mut self) -> Result<()> {
        self.loads += 1;
        self.reopen()?;
        (self.refs, self.loose) = self.read_refs()?;
        self.pending = Pending::default();

        let path = self.layout.journal();
        let look = self.disk.seen(&path)?;
        let bytes = match look {
            Some(_) => self.disk.read(&path).doing("read", &path)?,
            None => Vec::new(),
        };
        let Some(read) = journal::read(&bytes) else {
            // Cut off while it was being made, or never made.
            self.journal = Gathered { is_damaged: !bytes.is_empty(), ..Gathered::default() };
            return Ok(());
        };
        self.journal = Gathered {
            generation: read.generation,
            end: read.end,
            recordings: read.recordings.len(),
            look,
            is_damaged: read.is_damaged,
        };
        for recording in read.recordings {
            self.take_in(recording);
        }
        Ok(())
    }

    fn read_refs(&self) -> Result<(Refs, Vec<(PathBuf, Id)>)> {
        let packed = self.disk.read_if_there(&self.layout.packed_refs())?;
        let mut refs = refs::read(&packed.unwrap_or_default());
        // Somebody else's git writes each ref into a file of its own.
        let mut loose = Vec::new();
        let mut folders = vec![("refs".to_owned(), self.layout.refs())];
        while let Some((name, folder)) = folders.pop() {
            for file in self.disk.list(&folder).doing("list", &folder)? {
                let Some(file) = file.to_str() else { continue };
                let (name, path) = (format!("{name}/{file}"), folder.join(file));
                match self.disk.seen(&path)?.map(|look| look.kind) {
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

    fn take_in(&mut self, recording: Recording) {
        for object in recording.objects {
            if !self.pending.at.contains_key(&object.id) && !self.packs.has(&object.id) {
                self.pending.at.insert(object.id, self.pending.objects.len());
                self.pending.objects.push(object);
            }
        }
        self.refs.extend(recording.refs);
    }

    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Changes when something was read that others may have written.
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

    /// How many recordings are in the journal only.
    pub fn gathered(&self) -> usize {
        self.journal.recordings
    }

    /// How much room the packs and the journal take.
    pub fn bytes(&self) -> u64 {
        packs::sizes(self) + self.journal.end
    }

    pub fn has(&self, id: &Id) -> bool {
        self.pending.at.contains_key(id) || self.packs.has(id)
    }

    /// Replaces the content of `out` by the object.
    pub fn read_into(&self, id: &Id, out: &mut Vec<u8>) -> Result<Kind> {
        if let Some(at) = self.pending.at.get(id) {
            let object = &self.pending.objects[*at];
            out.clear();
            out.extend_from_slice(&object.data);
            return Ok(object.kind);
        }
        self.packs.read(id, out)?.ok_or(HistoryError::Missing(*id))
    }

    /// What an object is and how long; `None` where there is no such object.
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

    /// Waits for the right to write, and takes in what others wrote meanwhile.
    pub fn write(&mut self) -> Result<Writing<'_, 'd>> {
        let lock = self.lock()?;
        if !self.is_as_we_left_it()? {
            self.load()?;
        }
        if self.journal.look.is_none() || self.journal.is_damaged {
            self.settle()?;
        }
        Ok(Writing::new(self, lock))
    }

    /// Keeps others from writing until it is dropped.
    pub(crate) fn lock(&self) -> Result<UserLock> {
        let sleep = |time| self.clock.sleep(time);
        Ok(UserLock::acquire(self.disk, &self.layout.lock(), PATIENCE, &sleep)?)
    }

    /// Whether nobody else wrote since we did. A journal that took the place of ours can look the same,
    /// where clocks are coarse and the numbers of files are used again.
    fn is_as_we_left_it(&self) -> Result<bool> {
        let path = self.layout.journal();
        let look = self.disk.seen(&path)?;
        if look.is_none() || look != self.journal.look {
            return Ok(false);
        }
        let start = self.disk.read_start(&path, journal::MARK[0]).doing("read", &path)?;
        Ok(journal::may_be(&start.bytes, self.journal.generation))
    }

    /// Whether another process wrote since we last looked.
    pub fn is_behind(&self) -> Result<bool> {
        Ok(self.disk.seen(&self.layout.journal())? != self.journal.look)
    }

    /// Takes in what others wrote.
    pub fn refresh(&mut self) -> Result<()> {
        self.steadily(&mut |store| store.load())
    }

    /// Makes a sound journal where there is none. A damaged one is put aside, not thrown away.
    fn settle(&mut self) -> Result<()> {
        let path = self.layout.journal();
        if self.journal.is_damaged {
            let aside = self.layout.ours().join(format!("journal-damaged-{}", self.clock.slug()));
            let bytes = self.disk.read(&path).doing("read", &path)?;
            self.disk.write(&aside, &[&bytes])?;
        }
        self.clear_temps()?;
        self.flush()
    }

    /// Removes what one of us left who died: a pack that was not finished, or was being removed. Either
    /// way its index has a temporary name.
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
                self.remove_or_leave(&pack)?;
                if self.disk.is_there(&pack)? {
                    continue;
                }
            }
            self.remove_or_leave(&folder.join(temp))?;
        }
        Ok(())
    }

    /// Puts what has gathered into a pack, and begins a new journal.
    fn flush(&mut self) -> Result<()> {
        if !self.pending.objects.is_empty() {
            let mut packer = Packer::new(LEVEL);
            packer.add_all(&self.pending.objects);
            self.keep_pack(packer.finish_pack()?)?;
        }
        self.write_refs()?;
        self.begin_journal()?;
        self.pending = Pending::default();
        packs::roll_up(self)
    }

    /// Windows removes and replaces no file that is open.
    pub(crate) fn close_packs(&mut self) {
        self.packs = Packs::open(&[]).0;
    }

    /// Removes a file that is not needed any more. Where another program still has it open, the next one
    /// of us does it.
    pub(crate) fn remove_or_leave(&self, path: &Path) -> Result<()> {
        match self.disk.remove(path) {
            Err(error) if cfg!(windows) && error.kind() == io::ErrorKind::PermissionDenied => {
                Ok(())
            }
            removed => removed.doing("remove", path),
        }
    }

    /// Opens the packs that are there now.
    pub(crate) fn reopen(&mut self) -> Result<()> {
        (self.packs, self.unreadable) = Packs::open(&self.indexes()?);
        Ok(())
    }

    fn indexes(&self) -> Result<Vec<PathBuf>> {
        let folder = self.layout.packs();
        let names = self.disk.list(&folder).doing("list", &folder)?;
        let names = names.iter().map(|name| name.to_string_lossy());
        // One of us who died may have left a pack whole, but under another name: it goes again.
        let indexes = names.filter(|name| name.starts_with("pack-") && name.ends_with(".idx"));
        Ok(indexes.map(|name| folder.join(&*name)).collect())
    }

    pub(crate) fn write_refs(&mut self) -> Result<()> {
        self.disk.replace(&self.layout.packed_refs(), &[&refs::write(&self.refs)])?;
        // A ref in a file of its own goes before the others, also when it is older.
        for (path, id) in std::mem::take(&mut self.loose) {
            let text = self.disk.read(&path).unwrap_or_default();
            if refs::read_loose(&text) == Some(id) {
                self.disk.remove(&path).doing("remove", &path)?;
                // If it came back, it would take what is newer along.
                self.disk.make_sure_of(path.parent().unwrap_or(&path))?;
            }
        }
        Ok(())
    }

    fn begin_journal(&mut self) -> Result<()> {
        let path = self.layout.journal();
        let generation = self.journal.generation.wrapping_add(1);
        let empty = journal::empty(generation);
        self.disk.replace(&path, &[&empty])?;
        self.journal = Gathered {
            generation,
            end: empty.len() as u64,
            recordings: 0,
            look: self.disk.seen(&path)?,
            is_damaged: false,
        };
        Ok(())
    }

    /// Writes a pack and makes sure of it; its index comes last, so that nobody sees half of it.
    pub(crate) fn keep_pack(&mut self, packed: Packed) -> Result<PathBuf> {
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
            // One by one: an index must not outlive a power cut that its pack does not.
            self.disk.make_sure_of(&folder)?;
        }
        self.packs.add(&index)?;
        Ok(index)
    }
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
        writing.keep().unwrap();
        id
    }

    #[test]
    fn a_journal_of_others_that_looks_like_ours_is_told_from_it() {
        let folder = tempfile::tempdir().unwrap();
        let repository = folder.path().join("user.git");
        let mut ours = open(&repository);
        drop(ours.write().unwrap());
        let path = ours.layout().journal();
        let look = RealDisk.stat(&path).unwrap().unwrap();

        // The file of ours, as if the disk had used it again for the journal of another.
        let same = folder.path().join("same");
        fs::hard_link(&path, &same).unwrap();
        let mut others = open(&repository);
        let theirs = keep(&mut others, b"theirs");
        others.write().unwrap().flush().unwrap();
        fs::write(&same, fs::read(&path).unwrap()).unwrap();
        fs::rename(&same, &path).unwrap();
        fs::File::options().write(true).open(&path).unwrap().set_modified(look.modified).unwrap();
        assert_eq!(RealDisk.stat(&path).unwrap(), Some(look));

        let kept = keep(&mut ours, b"ours");
        let then = open(&repository);
        assert!(then.has(&kept) && then.has(&theirs));
    }
}
