//! The objects reachable from commits: as a set, and packed so that old versions are deltas against
//! newer ones.

use std::collections::VecDeque;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::error::{HistoryError, Result};
use crate::git::object::{Id, Kind, TreeMode, tree_lines};
use crate::git::pack::{Packer, PlacedObject};
use crate::store::Store;
use crate::version::commit::StoredVersion;

/// The objects reachable from commits, as far as they exist.
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
                let stored = StoredVersion::read(store, id)?;
                reachable.tree(store, stored.tree)?;
                next = stored.parent;
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
                TreeMode::Tree => self.tree(store, line.id)?,
                TreeMode::Blob => {
                    self.all.insert(line.id);
                    self.blobs.insert(line.id);
                }
            }
        }
        Ok(())
    }
}

/// Packs everything reachable from commits, in this order: each object after the newer one that
/// replaced it.
pub(crate) struct Gathering<'s, 'd> {
    store: &'s Store<'d>,
    pub(crate) seen: FxHashSet<Id>,
    pub(crate) packer: Packer,
    /// The newest object at each path of the lineage that is being packed.
    newest: FxHashMap<Vec<u8>, (PlacedObject, Kind, Vec<u8>)>,
    /// The last few pieces that were packed, by their kind: messages resemble messages, if only in
    /// the fields around their text.
    neighbours: FxHashMap<u8, VecDeque<(PlacedObject, Vec<u8>)>>,
    buffer: Vec<u8>,
}

/// How many neighbours are tried as delta bases.
const NEIGHBOURS: usize = 4;
/// Only small pieces use neighbours as delta bases, and only in short chains, because reading a
/// file reads all of its pieces.
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

    /// Excludes everything reachable from these commits.
    pub(crate) fn exclude(&mut self, tips: &[Id]) -> Result<()> {
        self.seen.extend(Reachable::from(self.store, tips.iter().copied())?.all);
        Ok(())
    }

    /// Adds everything reachable from these commits.
    pub(crate) fn add(&mut self, tips: &[Id]) -> Result<()> {
        for tip in tips {
            self.newest.clear();
            let mut next = Some(*tip);
            while let Some(id) = next {
                // Objects that are lost for good should not prevent packing the rest.
                if self.seen.contains(&id) || !self.store.has(&id) {
                    break;
                }
                self.object(id, b"commit")?;
                let stored = StoredVersion::read(self.store, id)?;
                self.tree(stored.tree, &mut Vec::new())?;
                next = stored.parent;
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
                TreeMode::Tree => self.tree(line.id, path)?,
                TreeMode::Blob => self.object(line.id, path)?,
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
        // A piece resembles the one that replaced it the most.
        let near = near.filter(|_| base.is_none() && self.buffer.len() <= NEIGHBOURS_BYTES);
        let near = near.into_iter().flatten().map(|(placed, data)| (*placed, data.as_slice()));
        let base = base.map(|(placed, _, data)| (*placed, data.as_slice()));
        let bases: Vec<_> = base.into_iter().chain(near).collect();
        let placed = self.packer.add_shortest(id, kind, &self.buffer, &bases);
        if let Some(family) = family
            && placed.chain() < NEIGHBOURS_CHAIN
            && self.buffer.len() <= NEIGHBOURS_BYTES
        {
            let near = self.neighbours.entry(family).or_default();
            near.truncate(NEIGHBOURS - 1);
            near.push_front((placed, self.buffer.clone()));
        }
        self.newest.insert(path.to_owned(), (placed, kind, self.buffer.clone()));
        Ok(())
    }
}
