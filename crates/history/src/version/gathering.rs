//! What commits lead to: as a set, and packed so that old versions are deltas against newer ones.

use std::collections::VecDeque;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::error::{HistoryError, Result};
use crate::git::object::{Id, Kind, TreeMode, tree_lines};
use crate::git::pack::{Packer, PlacedObject};
use crate::store::Store;
use crate::version::commit::StoredVersion;

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
                let kept = StoredVersion::read(store, id)?;
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

/// All objects that the refs lead to, in the order in which they are to be packed: each after the one
/// that took its place.
pub(crate) struct Gathering<'s, 'd> {
    store: &'s Store<'d>,
    pub(crate) seen: FxHashSet<Id>,
    pub(crate) packer: Packer,
    /// What lies at each path of the lineage that is being packed, in its newest version.
    newest: FxHashMap<Vec<u8>, (PlacedObject, Kind, Vec<u8>)>,
    /// The last few pieces that were packed, by what they are pieces of: messages resemble messages,
    /// if only in what is not their text.
    neighbours: FxHashMap<u8, VecDeque<(PlacedObject, Vec<u8>)>>,
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
                let kept = StoredVersion::read(self.store, id)?;
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
