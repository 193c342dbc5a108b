//! Reads every byte of a repository and determines what is intact.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::report::{Fault, FaultKind};
use crate::error::Result;
use crate::git::object::{HASH, Id, Kind, id_of};
use crate::git::raw::{Bytes, Content, RawIndex, RawPack};
use crate::git::refs::{self, Refs};
use crate::store::Store;
use crate::store::files::Files as _;
use crate::store::journal;
use crate::store::layout::Layout;
use crate::version::commit::StoredVersion;
use crate::version::machine;

/// The state of everything on disk.
pub(crate) struct Examined {
    pub(crate) packs: Vec<ExaminedPack>,
    /// Every object that can be read and whose content matches its id.
    pub(crate) sound: FxHashMap<Id, Location>,
    /// Objects that are in an index and cannot be read.
    pub(in crate::upkeep) broken: FxHashSet<Id>,
    pub(in crate::upkeep) commits: FxHashMap<Id, StoredVersion>,
    /// As they were when the files were opened.
    pub(in crate::upkeep) refs: Refs,
    /// Targets of packed refs for which the journal has a newer value.
    superseded: Vec<Id>,
    /// Lineages whose purge was started but not finished.
    pub(in crate::upkeep) purged: Vec<String>,
    pub(in crate::upkeep) faults: Vec<Fault>,
    pub(in crate::upkeep) layout: Layout,
}

/// A pack and its index, damaged or not.
pub(crate) struct ExaminedPack {
    /// The path of the pack, even if only its index exists.
    pub(crate) path: PathBuf,
    pub(crate) raw: RawPack,
    pub(in crate::upkeep) index: RawIndex,
    has_pack: bool,
    pub(in crate::upkeep) has_index: bool,
    pub(crate) is_sound: bool,
}

/// Where the content of an object is.
pub(crate) enum Location {
    Pack { pack: usize, offset: u64 },
    Journal(Content),
}

/// Called with the number of steps done and the total.
pub type ProgressFn<'a> = dyn Fn(usize, usize) + 'a;

/// A pack that was opened but not read yet.
pub(in crate::upkeep) struct OpenedPack {
    path: PathBuf,
    pack: Option<Bytes>,
    index: Option<Vec<u8>>,
}

/// Opens all packs in a folder.
pub(in crate::upkeep) fn open_packs(
    store: &Store<'_>,
    folder: &Path,
    faults: &mut Vec<Fault>,
) -> Result<Vec<OpenedPack>> {
    let is_pack = |path: &PathBuf| {
        let is_temp = path.file_name().is_some_and(|it| it.to_string_lossy().starts_with("tmp_"));
        !is_temp && path.extension().is_some_and(|end| end == "pack" || end == "idx")
    };
    let files = store.disk.paths_in(folder)?.into_iter().filter(is_pack);
    let mut paths: Vec<PathBuf> = files.map(|path| path.with_extension("pack")).collect();
    paths.sort();
    paths.dedup();
    let mut read = |path: &Path| match store.disk.stat(path) {
        Ok(None) => None,
        _ => Some(store.disk.read(path).unwrap_or_else(|error| {
            faults.push(Fault::new(path, FaultKind::Unreadable(error.to_string())));
            Vec::new()
        })),
    };
    let opened = paths.into_iter().map(|path| {
        let index = read(&path.with_extension("idx"));
        // A mapped pack need not fit into memory. But Windows cannot remove or replace a mapped
        // file.
        let mapped = gix_pack::data::File::at(&path, HASH).ok().filter(|_| !cfg!(windows));
        let pack = mapped.map(Bytes::Mapped).or_else(|| read(&path).map(Bytes::Read));
        OpenedPack { path, pack, index }
    });
    Ok(opened.collect())
}

impl ExaminedPack {
    pub(in crate::upkeep) fn new(OpenedPack { path, pack, index }: OpenedPack) -> Self {
        let (has_pack, has_index) = (pack.is_some(), index.is_some());
        let index = index.as_deref().map(RawIndex::read).unwrap_or_default();
        let raw = RawPack::new(pack.unwrap_or(Bytes::Read(Vec::new())), &index);
        Self { path, raw, index, has_pack, has_index, is_sound: false }
    }

    /// Problems with the two files. Whether a missing index matters is not known yet.
    fn faults(&self) -> Vec<Fault> {
        let index = self.path.with_extension("idx");
        if !self.has_pack {
            return vec![Fault::new(&index, FaultKind::NoPack)];
        }
        if !self.has_index {
            return Vec::new();
        }
        let (count, checksum) = (self.raw.count(), self.raw.checksum());
        let mut faults = Vec::new();
        if count.is_none() {
            faults.push(Fault::new(&self.path, FaultKind::NotAPack));
        } else if checksum.is_none() {
            faults.push(Fault::new(&self.path, FaultKind::Changed));
        }
        let fits = count.is_none_or(|count| count as usize == self.index.places.len());
        let belongs = checksum.is_none() || fits && self.index.pack == checksum;
        if !self.index.is_sound || !belongs {
            faults.push(Fault::new(&index, FaultKind::Changed));
        }
        faults
    }
}

impl Examined {
    /// Reads everything except the packs.
    pub(in crate::upkeep) fn open(store: &Store<'_>) -> Result<Self> {
        let mut examined = Self {
            packs: Vec::new(),
            sound: FxHashMap::default(),
            broken: FxHashSet::default(),
            commits: FxHashMap::default(),
            refs: store.refs().clone(),
            superseded: Vec::new(),
            purged: Vec::new(),
            faults: Vec::new(),
            layout: store.layout().clone(),
        };
        let layout = store.layout();
        if let Some(text) = store.disk.read_if_exists(&layout.packed_refs())? {
            let packed = refs::read(&text);
            if refs::write(&packed) != text {
                examined.fault(&layout.packed_refs(), FaultKind::Changed);
            }
            // A wrong packed ref that the journal overrides would go unnoticed elsewhere.
            let superseded = packed.iter().filter(|(name, id)| store.refs().get(*name) != Some(id));
            examined.superseded = superseded.map(|(_, id)| *id).collect();
        }
        examined.read_journal(store)?;
        for (path, is_right) in layout.check(store.disk)? {
            if !is_right {
                examined.fault(&path, FaultKind::Changed);
            }
        }
        if let Some(purged) = layout.unfinished_purge(store.disk)? {
            examined.purged = purged;
            examined.fault(&layout.purge(), FaultKind::UnfinishedPurge);
        }
        if let Some(path) = machine::damaged(store)? {
            examined.fault(&path, FaultKind::Changed);
        }
        Ok(examined)
    }

    fn read_journal(&mut self, store: &Store<'_>) -> Result<()> {
        let path = store.layout().journal();
        let Some(bytes) = store.disk.read_if_exists(&path)? else {
            // It is created with the repository and never removed.
            if !store.refs().is_empty() {
                self.fault(&path, FaultKind::Gone);
            }
            return Ok(());
        };
        let Some(journal) = journal::read(&bytes) else {
            self.fault(&path, FaultKind::Recordings);
            return Ok(());
        };
        let left = bytes.len() as u64 - journal.end;
        if journal.is_damaged {
            self.fault(&path, FaultKind::Recordings);
        } else if left > 0 {
            self.fault(&path, FaultKind::Unfinished(left));
        }
        for object in journal.recordings.into_iter().flat_map(|found| found.objects) {
            if id_of(object.kind, &object.data).is_ok_and(|id| id == object.id) {
                let content = (object.kind, Rc::new(object.data));
                self.register(object.id, &content, Location::Journal(content.clone()));
            }
        }
        Ok(())
    }

    pub(in crate::upkeep) fn read_packs(&mut self, opened: Vec<OpenedPack>, tick: &ProgressFn<'_>) {
        let packs: Vec<ExaminedPack> = opened.into_iter().map(ExaminedPack::new).collect();
        let total = packs.iter().map(|pack| pack.index.places.len()).sum();
        let mut done = 0;
        for (at, mut pack) in packs.into_iter().enumerate() {
            let mut faults = pack.faults();
            let mut lost = 0;
            let mut places = pack.index.places.clone();
            places.sort_by_key(|place| place.offset);
            for place in &places {
                done += 1;
                tick(done, total);
                let found = pack.raw.named(place.offset, &|_| None);
                match found.filter(|(id, _)| *id == place.id) {
                    Some((id, content)) => {
                        self.register(
                            id,
                            &content,
                            Location::Pack { pack: at, offset: place.offset },
                        );
                    }
                    None => {
                        lost += 1;
                        self.broken.insert(place.id);
                    }
                }
            }
            if lost > 0 && pack.has_pack {
                faults.push(Fault::new(&pack.path, FaultKind::Objects(lost)));
            }
            pack.is_sound = faults.is_empty() && pack.has_index;
            self.faults.append(&mut faults);
            self.packs.push(pack);
        }
        if self.superseded.iter().any(|id| !self.sound.contains_key(id)) {
            self.fault(&self.layout.packed_refs(), FaultKind::Changed);
        }
        self.broken.retain(|id| !self.sound.contains_key(id));
    }

    /// Registers an object whose content matches its id.
    fn register(&mut self, id: Id, (kind, data): &Content, place: Location) {
        if *kind == Kind::Commit {
            self.commits.extend(StoredVersion::parse(id, data).map(|stored| (id, stored)));
        }
        self.sound.entry(id).or_insert(place);
    }

    pub(in crate::upkeep) fn fault(&mut self, path: &Path, what: FaultKind) {
        self.faults.push(Fault::new(path, what));
    }

    /// The content of an intact object.
    pub(in crate::upkeep) fn content(&self, id: &Id) -> Option<Content> {
        match self.sound.get(id)? {
            Location::Pack { pack, offset } => {
                self.packs.get(*pack)?.raw.object(*offset, &|_| None)
            }
            Location::Journal(content) => Some(content.clone()),
        }
    }

    /// Whether the object is stored in an undamaged file.
    pub(in crate::upkeep) fn is_safe(&self, id: &Id) -> bool {
        match self.sound.get(id) {
            Some(Location::Pack { pack, .. }) => self.packs[*pack].is_sound,
            Some(Location::Journal(_)) => true,
            None => false,
        }
    }

    /// The newest version of each lineage.
    pub(in crate::upkeep) fn newest(&self) -> BTreeMap<&str, &StoredVersion> {
        let mut newest: BTreeMap<&str, &StoredVersion> = BTreeMap::new();
        for stored in self.commits.values() {
            let known = newest.entry(&stored.version.lineage).or_insert(stored);
            if stored.version.order > known.version.order {
                *known = stored;
            }
        }
        newest
    }
}

/// Files that were moved aside because they were damaged.
pub(crate) fn set_aside(store: &Store<'_>) -> Result<Vec<PathBuf>> {
    let mut files = store.disk.paths_in(&store.layout().own_folder())?;
    files.retain(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("journal-damaged-")
    });
    files.extend(store.disk.paths_in(&store.layout().damaged())?);
    Ok(files)
}
