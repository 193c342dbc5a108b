//! Keeps a repository small: few packs, and in them each object told by its successor.

use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};

use gix_pack::Bundle;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::disk::Files as _;
use crate::error::{Doing, HistoryError, Result};
use crate::git::index::Place;
use crate::git::object::{Id, Kind, Mode, tree_lines};
use crate::git::pack::{Laid, Packer};
use crate::git::raw::{RawIndex, sound_end};
use crate::history::History;
use crate::store::{NEW, Store, TEMP};
use crate::version::Kept;

/// Beyond so many packs, small ones are put together.
const MANY_PACKS: usize = 16;
/// A pack of this size is left alone when small ones are put together.
const LARGE: usize = 256 << 20;
/// What a pack begins and ends with.
const PACK_HEADER: usize = 12;
const PACK_TRAILER: usize = 20;

/// What packing did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packing {
    pub bytes_before: u64,
    pub bytes_after: u64,
    pub objects: usize,
}

/// Puts everything that a ref leads to into one pack. What no ref leads to any more is left out.
pub fn pack(history: &mut History<'_>) -> Result<Packing> {
    let store = history.store_mut();
    let mut writing = store.write()?;
    writing.flush()?;
    writing.repack()
}

pub(crate) fn sizes(store: &Store<'_>) -> u64 {
    store.packs().bundles().iter().map(|bundle| bundle.pack.data_len() as u64).sum()
}

/// The packs that are whole: from the others, a repair may still get something.
pub(crate) fn whole(store: &Store<'_>) -> Vec<PathBuf> {
    let whole = store.packs().bundles().iter().filter(|bundle| is_whole(store, bundle));
    whole.map(|bundle| bundle.pack.path().to_owned()).collect()
}

/// Removes what lies beside packs and is none: packs without an index, of which one of us who died
/// left all elsewhere, and what somebody's git made of packs that are gone.
pub(crate) fn remove_leftovers(store: &Store<'_>) -> Result<()> {
    let folder = store.layout().packs();
    let open: FxHashSet<PathBuf> =
        store.packs().bundles().iter().map(|bundle| bundle.pack.path().to_owned()).collect();
    for path in store.disk.paths_in(&folder)? {
        if !open.contains(&path.with_extension("pack")) {
            store.disk.remove(&path).doing("remove", &path)?;
        }
    }
    store.disk.make_sure_of(&folder)
}

/// Removes lists that were made of the versions as they were: they are made anew.
pub(crate) fn forget_lists(store: &Store<'_>) -> Result<()> {
    for path in store.disk.paths_in(&store.layout().ours().join("catalogs"))? {
        store.disk.remove(&path).doing("remove", &path)?;
    }
    Ok(())
}

/// Puts small packs together when there are many: as they are, one after the other.
pub(crate) fn roll_up(store: &mut Store<'_>) -> Result<()> {
    let bundles = store.packs().bundles();
    if bundles.len() < MANY_PACKS {
        return Ok(());
    }
    let mut order: Vec<&Bundle> = bundles.iter().collect();
    order.retain(|bundle| bundle.pack.data_len() <= LARGE && is_whole(store, bundle));
    order.sort_by_key(|bundle| bundle.pack.data_len());
    // Each pack that is no larger than twice what is smaller than it: so every byte is copied only
    // as often as the logarithm of the whole says.
    let mut sum = 0;
    let mut taken = Vec::new();
    for (place, bundle) in order.into_iter().enumerate() {
        let size = bundle.pack.data_len();
        if size > LARGE || place >= MANY_PACKS / 2 && size > sum * 2 {
            break;
        }
        sum += size;
        taken.push(bundle);
    }
    if taken.len() < 2 {
        return Ok(());
    }
    let mut packer = Packer::new(6);
    let mut there: FxHashSet<Id> = FxHashSet::default();
    let mut buffer = Vec::new();
    let mut old = Vec::new();
    for bundle in taken {
        let places = bundle.index.iter().map(|entry| Place {
            id: entry.oid,
            offset: entry.pack_offset,
            crc32: entry.crc32.unwrap_or_default(),
        });
        let places: Vec<Place> = places.collect();
        if places.iter().any(|place| there.contains(&place.id)) {
            // Two of us wrote the same object; a pack has each only once.
            for place in &places {
                if there.insert(place.id)
                    && let Some(kind) = store.packs().read(&place.id, &mut buffer)?
                {
                    packer.add(place.id, kind, &buffer);
                }
            }
        } else {
            there.extend(places.iter().map(|place| place.id));
            let end = bundle.pack.data_len() - PACK_TRAILER;
            let body = bundle.pack.entry_slice(PACK_HEADER as u64..end as u64).unwrap_or_default();
            packer.add_raw(places.into_iter(), body);
        }
        old.push(bundle.pack.path().to_owned());
    }
    let kept = store.keep_pack(packer.finish_pack()?)?;
    remove_packs(store, &old, &kept)
}

/// Refuses to leave out a file that has versions and no ref: then it is the ref that is lost. What is
/// being purged is meant to go.
pub(crate) fn check_left_out(store: &Store<'_>, gathering: &Gathering<'_, '_>) -> Result<()> {
    let purged = store.layout().unfinished_purge(store.disk)?.unwrap_or_default();
    let mut data = Vec::new();
    for entry in store.packs().bundles().iter().flat_map(|bundle| bundle.index.iter()) {
        let id = entry.oid;
        if gathering.seen.contains(&id)
            || !matches!(store.read_into(&id, &mut data), Ok(Kind::Commit))
        {
            continue;
        }
        let Some(kept) = Kept::parse(id, &data) else { continue };
        let lineage = kept.version.lineage;
        if !store.refs().contains_key(&format!("refs/heads/{lineage}"))
            && !purged.contains(&lineage)
        {
            return Err(HistoryError::LostRef(lineage));
        }
    }
    Ok(())
}

/// Whether a pack and its index are as they were written. What is damaged stays where it is.
fn is_whole(store: &Store<'_>, bundle: &Bundle) -> bool {
    let path = bundle.pack.path();
    let read = |path: &Path| store.disk.read(path).unwrap_or_default();
    let index = RawIndex::read(&read(&path.with_extension("idx")));
    let checksum = sound_end(&read(path));
    index.is_sound && checksum.is_some() && index.pack == checksum
}

/// Removes packs whose objects are elsewhere by now. Their indexes go first, under a name by which the
/// next of us knows what they are, so that there never is one without its pack.
pub(crate) fn remove_packs(store: &mut Store<'_>, old: &[PathBuf], kept: &Path) -> Result<()> {
    let folder = store.layout().packs();
    let old: Vec<&PathBuf> = old.iter().filter(|pack| pack.with_extension("idx") != kept).collect();
    store.close_packs();
    let mut temps = Vec::new();
    for index in old.iter().map(|pack| pack.with_extension("idx")) {
        if store.disk.is_there(&index)? {
            let name = index.file_name().unwrap_or_default().to_string_lossy();
            let temp = folder.join(format!("{TEMP}{}{NEW}", name.trim_start_matches("pack-")));
            match store.disk.rename(&index, &temp) {
                // Another program has it open. The pack stays with it.
                Err(error) if cfg!(windows) && error.kind() == io::ErrorKind::PermissionDenied => {
                    continue;
                }
                renamed => renamed.doing("rename", &index)?,
            }
            temps.push(temp);
        }
    }
    store.disk.make_sure_of(&folder)?;
    for path in old.into_iter().chain(&temps) {
        let has_index = store.disk.look(&path.with_extension("idx")).is_ok_and(|idx| idx.is_some());
        if !has_index && store.disk.is_there(path)? {
            store.remove_or_leave(path)?;
        }
    }
    store.disk.make_sure_of(&folder)?;
    store.reopen()
}

/// What commits lead to, as far as it is there.
#[derive(Default)]
pub(crate) struct Reachable {
    pub(crate) all: FxHashSet<Id>,
    pub(crate) blobs: FxHashSet<Id>,
}

impl Reachable {
    pub(crate) fn from(store: &Store<'_>, tips: impl Iterator<Item = Id>) -> Result<Self> {
        let mut reachable = Self::default();
        for tip in tips {
            let mut next = Some(tip);
            while let Some(id) = next.filter(|id| store.has(id) && reachable.all.insert(*id)) {
                let kept = Kept::read(store, id)?;
                reachable.tree(store, kept.tree)?;
                next = kept.parent;
            }
        }
        Ok(reachable)
    }

    fn tree(&mut self, store: &Store<'_>, id: Id) -> Result<()> {
        if !store.has(&id) || !self.all.insert(id) {
            return Ok(());
        }
        for line in tree_lines(&store.read(&id, Kind::Tree)?) {
            let line = line.ok_or(HistoryError::Misshapen { id, expected: "a tree" })?;
            match line.mode {
                Mode::Tree => self.tree(store, line.id)?,
                Mode::Blob => {
                    self.all.insert(line.id);
                    self.blobs.insert(line.id);
                }
            }
        }
        Ok(())
    }
}

/// All objects that the refs lead to, in the order in which they are to be packed: each after the one
/// that took its place.
pub(crate) struct Gathering<'s, 'd> {
    store: &'s Store<'d>,
    seen: FxHashSet<Id>,
    pub(crate) packer: Packer,
    /// What lies at each path of the lineage that is being packed, in its newest version.
    newest: FxHashMap<Vec<u8>, (Laid, Kind, Vec<u8>)>,
    /// The last few pieces that were packed, by what they are pieces of: messages resemble messages,
    /// if only in what is not their text.
    neighbours: FxHashMap<u8, VecDeque<(Laid, Vec<u8>)>>,
    buffer: Vec<u8>,
}

/// How many neighbours a piece is compared with.
const NEIGHBOURS: usize = 4;
/// Pieces lean on their neighbours in short chains only, and only short ones do: reading a file reads
/// all its pieces.
const NEIGHBOURS_CHAIN: usize = 4;
const NEIGHBOURS_BYTES: usize = 64 << 10;

impl<'s, 'd> Gathering<'s, 'd> {
    pub(crate) fn new(store: &'s Store<'d>, level: u32) -> Self {
        Self {
            store,
            seen: FxHashSet::default(),
            packer: Packer::new(level),
            newest: FxHashMap::default(),
            neighbours: FxHashMap::default(),
            buffer: Vec::new(),
        }
    }

    /// Passes over what these commits lead to.
    pub(crate) fn leave_out(&mut self, tips: &[Id]) -> Result<()> {
        self.seen.extend(Reachable::from(self.store, tips.iter().copied())?.all);
        Ok(())
    }

    /// Adds what these commits lead to.
    pub(crate) fn add(&mut self, tips: &[Id]) -> Result<()> {
        for tip in tips {
            self.newest.clear();
            let mut next = Some(*tip);
            while let Some(id) = next {
                // What is lost for good is no reason to keep the rest in pieces.
                if self.seen.contains(&id) || !self.store.has(&id) {
                    break;
                }
                self.object(id, b"commit")?;
                let kept = Kept::read(self.store, id)?;
                self.tree(kept.tree, &mut Vec::new())?;
                next = kept.parent;
            }
        }
        Ok(())
    }

    fn tree(&mut self, id: Id, path: &mut Vec<u8>) -> Result<()> {
        if self.seen.contains(&id) || !self.store.has(&id) {
            return Ok(());
        }
        self.object(id, path)?;
        let tree = self.store.read(&id, Kind::Tree)?;
        for line in tree_lines(&tree) {
            let line = line.ok_or(HistoryError::Misshapen { id, expected: "a tree" })?;
            let length = path.len();
            path.push(b'/');
            path.extend_from_slice(line.name);
            match line.mode {
                Mode::Tree => self.tree(line.id, path)?,
                Mode::Blob => self.object(line.id, path)?,
            }
            path.truncate(length);
        }
        Ok(())
    }

    fn object(&mut self, id: Id, path: &[u8]) -> Result<()> {
        if !self.store.has(&id) || !self.seen.insert(id) {
            return Ok(());
        }
        let kind = self.store.read_into(&id, &mut self.buffer)?;
        let base = self.newest.get(path).filter(|(_, base, _)| *base == kind);
        // `/m/00/17`: messages with messages, entries with entries, heads with heads.
        let family = path.get(1).copied().filter(|_| kind == Kind::Blob);
        let near = family.and_then(|family| self.neighbours.get(&family));
        // A piece that took another's place resembles that one most.
        let near = near.filter(|_| base.is_none() && self.buffer.len() <= NEIGHBOURS_BYTES);
        let near = near.into_iter().flatten().map(|(laid, data)| (*laid, data.as_slice()));
        let base = base.map(|(laid, _, data)| (*laid, data.as_slice()));
        let bases: Vec<_> = base.into_iter().chain(near).collect();
        let laid = self.packer.add_shortest(id, kind, &self.buffer, &bases);
        if let Some(family) = family
            && laid.chain() < NEIGHBOURS_CHAIN
            && self.buffer.len() <= NEIGHBOURS_BYTES
        {
            let near = self.neighbours.entry(family).or_default();
            near.truncate(NEIGHBOURS - 1);
            near.push_front((laid, self.buffer.clone()));
        }
        self.newest.insert(path.to_owned(), (laid, kind, self.buffer.clone()));
        Ok(())
    }
}
