//! Reads every byte of a repository and says what of it is as it was written.

use std::path::{Path, PathBuf};

use rustc_hash::{FxHashMap, FxHashSet};

use crate::error::{Doing, HistoryError};
use crate::git::object::{Id, Kind, Object, id_of};
use crate::git::refs::{self, Refs};
use crate::git::salvage::{Bytes, Content, Elsewhere, RawIndex, RawPack};
use crate::journal;
use crate::layout::Layout;
use crate::store::Store;
use crate::verifying::Walk;
use crate::version::Kept;

/// What lies on the disk, examined.
#[derive(Default)]
pub struct Examined {
    pub packs: Vec<ExaminedPack>,
    /// What is in the journal only.
    pub journal: Vec<Object>,
    /// Every object that can be read under its name and is what its name says.
    pub sound: FxHashMap<Id, Where>,
    /// What an index names and nobody can read.
    pub broken: FxHashSet<Id>,
    pub commits: FxHashMap<Id, Kept>,
    /// As they were when the rest was opened.
    pub refs: Refs,
    /// Those that the journal says something else of.
    superseded: Refs,
    /// Lineages that somebody began to purge.
    pub purged: Vec<String>,
    pub faults: Vec<Fault>,
    pub bytes: u64,
    pub objects: usize,
}

pub struct ExaminedPack {
    /// Of the pack or, where there is none, of what would be it.
    pub path: PathBuf,
    pub raw: RawPack,
    pub index: RawIndex,
    pub is_sound: bool,
}

/// Where the content of an object is.
#[derive(Clone, Copy, Debug)]
pub enum Where {
    Pack { pack: u32, offset: u64 },
    Journal(usize),
}

/// Something wrong with a file of the repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    pub path: PathBuf,
    pub what: What,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    Unreadable(String),
    Gone,
    /// An index whose pack is gone.
    NoPack,
    /// A pack whose index is gone.
    NoIndex,
    NotAPack,
    /// It is not what was written.
    Changed,
    /// So many objects in it cannot be read.
    Objects(usize),
    /// Recordings in the middle of the journal cannot be read.
    Recordings,
    /// So many bytes at its end are no recording: a power cut leaves that, or damage.
    Unfinished(u64),
    /// The file that says which machine this is names one that recorded nothing.
    OtherMachine,
    /// Somebody began to purge, and did not get to the end.
    UnfinishedPurge,
}

impl std::fmt::Display for What {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unreadable(why) => write!(f, "cannot be read ({why})"),
            Self::Gone => f.write_str("is missing"),
            Self::NoPack => f.write_str("its pack is missing"),
            Self::NoIndex => f.write_str("its index is missing"),
            Self::NotAPack => f.write_str("is not a pack"),
            Self::Changed => f.write_str("is not as it was written"),
            Self::Objects(1) => f.write_str("one object in it cannot be read"),
            Self::Objects(count) => write!(f, "{count} objects in it cannot be read"),
            Self::Recordings => f.write_str("some of what was recorded last cannot be read"),
            Self::Unfinished(bytes) => {
                write!(f, "ends in {bytes} bytes of a recording that is not whole")
            }
            Self::OtherMachine => f.write_str("names a machine that recorded nothing"),
            Self::UnfinishedPurge => f.write_str("a purge did not get to its end"),
        }
    }
}

/// Says how much of how much is done.
pub type Tick<'a> = dyn Fn(usize, usize) + 'a;

/// Examines the repository. The files are opened under the lock and read afterwards, so that nobody
/// who records has to wait.
pub fn examine(
    store: &mut Store<'_>,
    machine: &str,
    tick: &Tick<'_>,
) -> Result<Examined, HistoryError> {
    let (mut examined, packs) = store.steadily(&mut |store| {
        let mut examined = Examined::default();
        store.reload()?;
        examined.small_files(store, machine)?;
        let packs = open_packs(store, &store.layout().packs(), &mut examined.faults)?;
        Ok((examined, packs))
    })?;
    examined.read_all(packs, &store.layout().packed_refs(), tick);
    Ok(examined)
}

/// The same, by one who holds the lock.
pub(crate) fn examine_locked(store: &Store<'_>, machine: &str) -> Result<Examined, HistoryError> {
    let mut examined = Examined::default();
    examined.small_files(store, machine)?;
    let packs = open_packs(store, &store.layout().packs(), &mut examined.faults)?;
    examined.read_all(packs, &store.layout().packed_refs(), &|_, _| {});
    Ok(examined)
}

struct Opened {
    path: PathBuf,
    pack: Option<Bytes>,
    index: Option<Vec<u8>>,
}

/// Opens all packs of a folder, in whatever state they are.
fn open_packs(
    store: &Store<'_>,
    folder: &Path,
    faults: &mut Vec<Fault>,
) -> Result<Vec<Opened>, HistoryError> {
    let names = store.disk.list(folder).doing("list", folder)?;
    let mut stems: Vec<PathBuf> = names
        .iter()
        .map(|name| folder.join(name))
        .filter(|path| path.extension().is_some_and(|end| end == "pack" || end == "idx"))
        .filter(|path| !is_temp(path))
        .map(|path| path.with_extension("pack"))
        .collect();
    stems.sort();
    stems.dedup();
    let mut opened = Vec::new();
    for path in stems {
        let mut read = |path: &Path| match store.disk.look(path) {
            Ok(None) => None,
            _ => match store.disk.read(path) {
                Ok(bytes) => Some(bytes),
                Err(error) => {
                    let what = What::Unreadable(error.to_string());
                    faults.push(Fault { path: path.to_owned(), what });
                    Some(Vec::new())
                }
            },
        };
        let index = read(&path.with_extension("idx"));
        // What can be mapped need not fit into memory; but Windows removes and replaces nothing that is.
        let mapped = gix_pack::data::File::at(&path, crate::git::object::HASH);
        let pack = match mapped.ok().filter(|_| !cfg!(windows)) {
            Some(file) => Some(Bytes::Mapped(file)),
            None => read(&path).map(Bytes::Read),
        };
        opened.push(Opened { path, pack, index });
    }
    Ok(opened)
}

fn is_temp(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("tmp_"))
}

impl Examined {
    /// A whole object.
    pub fn content(&self, id: &Id) -> Option<Content> {
        match *self.sound.get(id)? {
            Where::Pack { pack, offset } => {
                self.packs.get(pack as usize)?.raw.object(offset, &|_| None)
            }
            Where::Journal(at) => {
                let object = self.journal.get(at)?;
                Some((object.kind, object.data.as_slice().into()))
            }
        }
    }

    pub fn read(&self, id: &Id, kind: Kind) -> Option<std::rc::Rc<[u8]>> {
        self.content(id).filter(|(found, _)| *found == kind).map(|(_, data)| data)
    }

    fn fault(&mut self, path: &Path, what: What) {
        self.faults.push(Fault { path: path.to_owned(), what });
    }

    /// Everything but the packs.
    fn small_files(&mut self, store: &Store<'_>, machine: &str) -> Result<(), HistoryError> {
        self.refs = store.refs().clone();
        let layout = store.layout().clone();
        let read = |path: &Path| match store.disk.look(path).doing("look at", path)? {
            Some(_) => store.disk.read(path).doing("read", path).map(Some),
            None => Ok(None),
        };
        if let Some(text) = read(&layout.packed_refs())? {
            let packed = refs::read(&text);
            if refs::write(&packed) != text {
                self.fault(&layout.packed_refs(), What::Changed);
            }
            // Where the journal knows better, nobody else would notice.
            self.superseded =
                packed.into_iter().filter(|(name, id)| self.refs.get(name) != Some(id)).collect();
        }
        match read(&layout.journal())? {
            Some(bytes) => match journal::read(&bytes) {
                Some(journal) => {
                    let left = bytes.len() as u64 - journal.end;
                    if journal.is_damaged {
                        self.fault(&layout.journal(), What::Recordings);
                    } else if left > 0 {
                        self.fault(&layout.journal(), What::Unfinished(left));
                    }
                    let objects = journal.recordings.into_iter().flat_map(|found| found.objects);
                    self.journal = objects.collect();
                }
                None => self.fault(&layout.journal(), What::Recordings),
            },
            // Made with the repository, and never away.
            None if !store.refs().is_empty() => self.fault(&layout.journal(), What::Gone),
            None => {}
        }
        for (path, is_right) in layout.check(store.disk)? {
            if !is_right {
                self.fault(&path, What::Changed);
            }
        }
        if let Some(purged) = layout.unfinished_purge(store.disk)? {
            self.purged = purged;
            self.fault(&layout.purge(), What::UnfinishedPurge);
        }
        let prefix = format!("refs/heads/{machine}/");
        let mut heads = store.refs().keys().filter(|name| name.starts_with("refs/heads/"));
        let is_known = store.refs().keys().any(|name| name.starts_with(&prefix));
        if heads.next().is_some() && !is_known {
            self.fault(&layout.ours().join("machine"), What::OtherMachine);
        }
        Ok(())
    }

    fn read_all(&mut self, opened: Vec<Opened>, packed_refs: &Path, tick: &Tick<'_>) {
        for (at, object) in self.journal.iter().enumerate() {
            if id_of(object.kind, &object.data).is_ok_and(|id| id == object.id) {
                self.sound.insert(object.id, Where::Journal(at));
                if object.kind == Kind::Commit {
                    let kept = Kept::parse(object.id, &object.data);
                    self.commits.extend(kept.map(|kept| (object.id, kept)));
                }
            }
        }
        let packs: Vec<(PathBuf, bool, bool, RawPack, RawIndex)> = opened
            .into_iter()
            .map(|opened| {
                let index = opened.index.as_deref().map(RawIndex::read);
                let (has_pack, has_index) = (opened.pack.is_some(), index.is_some());
                let index = index.unwrap_or_default();
                let pack = opened.pack.unwrap_or(Bytes::Read(Vec::new()));
                (opened.path, has_pack, has_index, RawPack::new(pack, &index), index)
            })
            .collect();
        let total = packs.iter().map(|(.., index)| index.places.len()).sum();
        let mut done = 0;
        let mut orphans = Vec::new();
        for (path, has_pack, has_index, raw, index) in packs {
            self.bytes += raw.len() as u64;
            let at = self.packs.len();
            let faults = self.faults.len();
            match (has_pack, has_index) {
                (false, _) => self.fault(&path.with_extension("idx"), What::NoPack),
                (_, false) => orphans.push(at),
                _ if raw.count().is_none() => self.fault(&path, What::NotAPack),
                _ if raw.checksum().is_none() => self.fault(&path, What::Changed),
                _ => {}
            }
            let belongs = index.pack.is_some() && index.pack == raw.checksum();
            let fits = raw.count().is_none_or(|count| count as usize == index.places.len());
            let is_pack_sound = raw.checksum().is_some();
            if has_index && has_pack && (!index.is_sound || is_pack_sound && !(belongs && fits)) {
                self.fault(&path.with_extension("idx"), What::Changed);
            }
            let mut lost = 0;
            let mut places = index.places.clone();
            places.sort_by_key(|place| place.offset);
            for place in &places {
                done += 1;
                tick(done, total);
                let found = raw.object(place.offset, &|_| None);
                match found.filter(|(kind, data)| id_of(*kind, data).is_ok_and(|id| id == place.id))
                {
                    Some((kind, data)) => {
                        if kind == Kind::Commit {
                            let kept = Kept::parse(place.id, &data);
                            self.commits.extend(kept.map(|kept| (place.id, kept)));
                        }
                        let place_of = Where::Pack { pack: at as u32, offset: place.offset };
                        self.sound.entry(place.id).or_insert(place_of);
                    }
                    None => {
                        lost += 1;
                        self.broken.insert(place.id);
                    }
                }
            }
            if lost > 0 && has_pack {
                self.fault(&path, What::Objects(lost));
            }
            let is_sound = self.faults.len() == faults && has_index;
            self.packs.push(ExaminedPack { path, raw, index, is_sound });
        }
        for at in orphans {
            if self.is_leftover(at) {
                self.packs[at].is_sound = true;
            } else {
                let path = self.packs[at].path.clone();
                self.fault(&path, What::NoIndex);
            }
        }
        if self.superseded.values().any(|id| !self.sound.contains_key(id)) {
            self.fault(packed_refs, What::Changed);
        }
        self.broken.retain(|id| !self.sound.contains_key(id));
        self.objects = self.sound.len();
    }

    /// Whether a pack without an index was left by one of us who died while removing it: it is as it was
    /// written, and nothing in it is missed.
    fn is_leftover(&self, pack: usize) -> bool {
        let raw = &self.packs[pack].raw;
        let mut walk = Walk::new(self);
        walk.refs(&self.refs);
        let is_missed = |(id, (kind, data)): (Id, Content)| {
            let is_lost = |kept: Kept| {
                let lineage = kept.version.lineage;
                let has_ref = self.refs.contains_key(&format!("refs/heads/{lineage}"));
                !has_ref && !self.purged.contains(&lineage)
            };
            let kept = Some(&data).filter(|_| kind == Kind::Commit);
            walk.missing.contains(&id)
                || kept.and_then(|data| Kept::parse(id, data)).is_some_and(is_lost)
        };
        let mut found = raw.walk().0.into_iter().filter_map(|at| content_at(raw, at, &|_| None));
        raw.checksum().is_some() && !found.any(is_missed)
    }
}

/// The object that begins there, by its right name.
pub(crate) fn content_at(
    raw: &RawPack,
    offset: u64,
    elsewhere: &Elsewhere<'_>,
) -> Option<(Id, Content)> {
    let (kind, data) = raw.object(offset, elsewhere)?;
    Some((id_of(kind, &data).ok()?, (kind, data)))
}

/// Opens the packs that were set aside.
pub(crate) fn set_aside(
    store: &Store<'_>,
) -> Result<Vec<(PathBuf, RawPack, RawIndex)>, HistoryError> {
    let opened = open_packs(store, &store.layout().damaged(), &mut Vec::new())?;
    let raw = opened.into_iter().map(|opened| {
        let index = opened.index.as_deref().map(RawIndex::read).unwrap_or_default();
        let pack = opened.pack.unwrap_or(Bytes::Read(Vec::new()));
        (opened.path, RawPack::new(pack, &index), index)
    });
    Ok(raw.collect())
}

/// Files that were put aside because they were damaged.
pub fn set_aside_files(store: &Store<'_>) -> Result<Vec<PathBuf>, HistoryError> {
    let layout: &Layout = store.layout();
    let list = |folder: PathBuf| {
        let names = store.disk.list(&folder).doing("list", &folder)?;
        Ok::<_, HistoryError>(names.into_iter().map(move |name| folder.join(name)))
    };
    let journals = list(layout.ours())?.filter(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("journal-damaged-")
    });
    Ok(journals.chain(list(layout.damaged())?).collect())
}
