//! The history of one user: every version of every file, for reading and writing.

use std::path::PathBuf;

use forklore_tavern::disk::Disk;
use forklore_tavern::disk::clock::Clock;
use rustc_hash::FxHashMap;

use crate::error::Result;
use crate::git::object::Id;
use crate::store::files::Files as _;
use crate::store::{Store, Writing};
use crate::version::commit::{StoredVersion, Version};
use crate::version::lineage::{Lineages, slug};
use crate::version::tracked::Tracked;

pub struct History<'d> {
    store: Store<'d>,
    memory: Memory,
}

/// Cached state of the store.
#[derive(Default)]
pub(crate) struct Memory {
    pub(crate) machine: String,
    pub(crate) lineages: Lineages,
    /// The pieces of the newest versions of files that are changing.
    pub(crate) tracked: FxHashMap<String, (Id, Tracked)>,
    pub(crate) order: u64,
    /// The [`Store::loads`] that this reflects; `None` if it has to be read again.
    loads: Option<u64>,
    pub(crate) seed: u64,
}

/// How many pieces are cached at most, over all files: about forty bytes each.
const MOST_PIECES: usize = 500_000;

impl<'d> History<'d> {
    /// Opens the history in a repository, or creates it. `host` is the machine's host name.
    pub fn open(
        disk: &'d dyn Disk,
        clock: &'d dyn Clock,
        repository: impl Into<PathBuf>,
        host: &str,
    ) -> Result<Self> {
        let mut store = Store::open(disk, clock, repository)?;
        let machine = machine(&mut store, host)?;
        Ok(Self::of(store, machine))
    }

    /// Opens an existing history for reading.
    pub fn open_existing(
        disk: &'d dyn Disk,
        clock: &'d dyn Clock,
        repository: impl Into<PathBuf>,
    ) -> Result<Self> {
        let store = Store::open_existing(disk, clock, repository)?;
        let machine = read_machine(&store)?.unwrap_or_default();
        Ok(Self::of(store, machine))
    }

    fn of(store: Store<'d>, machine: String) -> Self {
        let seed = xxhash_rust::xxh3::xxh3_64(store.clock.slug().as_bytes());
        let memory = Memory { machine, seed, ..Memory::default() };
        let mut history = Self { store, memory };
        history.memory.refresh(&history.store);
        history
    }

    pub fn store(&self) -> &Store<'d> {
        &self.store
    }

    pub fn store_mut(&mut self) -> &mut Store<'d> {
        self.memory.loads = None;
        &mut self.store
    }

    pub fn lineages(&self) -> &Lineages {
        &self.memory.lineages
    }

    pub fn machine(&self) -> &str {
        &self.memory.machine
    }

    /// Loads what other processes wrote.
    pub fn refresh(&mut self) -> Result<()> {
        if self.store.is_behind()? || self.memory.loads.is_none() {
            self.store.refresh()?;
            self.memory.refresh(&self.store);
        }
        Ok(())
    }

    /// Write access, with an up-to-date cache.
    pub(crate) fn write(&mut self) -> Result<(Writing<'_, 'd>, &mut Memory)> {
        let writing = self.store.write()?;
        if self.memory.loads != Some(writing.store().loads()) {
            self.memory.refresh(writing.store());
        }
        Ok((writing, &mut self.memory))
    }

    /// The file's content in a version, byte for byte.
    pub fn content(&self, version: &StoredVersion) -> Result<Vec<u8>> {
        Tracked::read(&self.store, version.tree)?.rebuild(&self.store, version.version.bytes)
    }

    /// A version and all versions before it, newest first.
    pub fn versions(&self, tip: &StoredVersion) -> impl Iterator<Item = Result<StoredVersion>> {
        let mut next = Some(Ok(tip.clone()));
        std::iter::from_fn(move || {
            let this = next.take()?;
            if let Ok(StoredVersion { parent: Some(parent), version, .. }) = &this {
                let before = StoredVersion::read(&self.store, *parent);
                next = Some(before.or_else(|error| self.rescued(version).ok_or(error)));
            }
            Some(this)
        })
    }

    /// The refs in a folder that point to single versions of a lineage: numbers and commits.
    pub(crate) fn numbered_below<'a>(
        &'a self,
        folder: &str,
        lineage: &str,
    ) -> impl Iterator<Item = (u64, Id)> + use<'a, 'd> {
        let folder = format!("refs/{folder}/{lineage}/");
        let below = self.store.refs().range(folder.clone()..);
        let found = below.map_while(move |(name, id)| Some((name.strip_prefix(&folder)?, id)));
        found.filter_map(|(number, id)| Some((number.parse().ok()?, *id)))
    }

    /// A version that a repair recovered, to continue with when the predecessor of this version is
    /// lost.
    fn rescued(&self, version: &Version) -> Option<StoredVersion> {
        let rescued = self.numbered_below("rescued", &version.lineage);
        let (_, newest) = rescued.filter(|(number, _)| *number < version.number).max()?;
        StoredVersion::read(&self.store, newest).ok()
    }

    /// Reads the machine's name again after its file changed.
    pub(crate) fn reread_machine(&mut self) -> Result<()> {
        if let Some(machine) = read_machine(&self.store)? {
            self.memory.machine = machine;
        }
        self.memory.invalidate();
        self.refresh()
    }
}

fn read_machine(store: &Store<'_>) -> Result<Option<String>> {
    let bytes = store.disk.read_if_exists(&store.layout().machine())?;
    Ok(bytes.map(|bytes| slug(&String::from_utf8_lossy(&bytes))))
}

/// The name of this machine in this history. It is unique, so that what several machines recorded
/// can be stored side by side.
fn machine(store: &mut Store<'_>, host: &str) -> Result<String> {
    if let Some(machine) = read_machine(store)? {
        return Ok(machine);
    }
    let path = store.layout().machine();
    let (disk, clock) = (store.disk, store.clock);
    let writing = store.write()?;
    if let Some(machine) = read_machine(writing.store())? {
        return Ok(machine);
    }
    let own: String = clock.slug().chars().filter(char::is_ascii_alphanumeric).take(6).collect();
    let host: String = slug(host).chars().take(20).collect();
    let machine = slug(&format!("{host}-{own}"));
    disk.replace(&path, &[machine.as_bytes(), b"\n"])?;
    Ok(machine)
}

impl Memory {
    fn refresh(&mut self, store: &Store<'_>) {
        self.lineages.refresh(store, &self.machine);
        let own = self.lineages.recorded_by(&self.machine);
        self.order = own.map(|lineage| lineage.tip.version.order).max().unwrap_or(0);
        self.loads = Some(store.loads());
    }

    pub(crate) fn invalidate(&mut self) {
        self.loads = None;
        self.tracked.clear();
    }

    pub(crate) fn remember(&mut self, reference: &str, version: Id, tracked: Tracked) {
        let all: usize = self.tracked.values().map(|(_, tracked)| tracked.weight()).sum();
        if all + tracked.weight() > MOST_PIECES {
            self.tracked.clear();
        }
        self.tracked.insert(reference.to_owned(), (version, tracked));
    }
}
