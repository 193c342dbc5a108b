//! The history of one user: every version of every file, to be added to and to be read.

mod recorder;

use std::path::PathBuf;

use forklore_tavern::chance::Chance;
use forklore_tavern::disk::Disk;
use rustc_hash::FxHashMap;

use crate::disk::Files as _;
use crate::error::Result;
use crate::git::object::Id;
use crate::lineage::{Lineages, slug};
use crate::store::Store;
use crate::tracked::Tracked;
use crate::version::{Kept, Version};

pub use recorder::{OldFile, Recorded, Recorder, Seen};

pub struct History<'d> {
    store: Store<'d>,
    known: Known,
}

/// What is remembered of the store.
#[derive(Default)]
struct Known {
    machine: String,
    lineages: Lineages,
    /// The newest versions in pieces, of the files that change.
    tracked: FxHashMap<String, (Id, Tracked)>,
    order: u64,
    /// As of this reading of the store; `None` when it must be read again.
    loads: Option<u64>,
    seed: u64,
}

/// Pieces that are remembered at most, of all files: about forty bytes each.
const MOST_PIECES: usize = 500_000;

impl<'d> History<'d> {
    /// Opens the history in a repository, or makes it. `host` is what people call this machine.
    pub fn open(
        disk: &'d dyn Disk,
        chance: &'d dyn Chance,
        repository: impl Into<PathBuf>,
        host: &str,
    ) -> Result<Self> {
        let mut store = Store::open(disk, chance, repository)?;
        let machine = machine(&mut store, host)?;
        Ok(Self::of(store, machine))
    }

    /// Opens a history that is there, to be read.
    pub fn open_existing(
        disk: &'d dyn Disk,
        chance: &'d dyn Chance,
        repository: impl Into<PathBuf>,
    ) -> Result<Self> {
        let store = Store::open_existing(disk, chance, repository)?;
        let machine = read_machine(&store)?.unwrap_or_default();
        Ok(Self::of(store, machine))
    }

    fn of(store: Store<'d>, machine: String) -> Self {
        let seed = xxhash_rust::xxh3::xxh3_64(store.chance.slug().as_bytes());
        let known = Known { machine, seed, ..Known::default() };
        let mut history = Self { store, known };
        history.known.refresh(&history.store);
        history
    }

    pub fn store(&self) -> &Store<'d> {
        &self.store
    }

    pub fn store_mut(&mut self) -> &mut Store<'d> {
        self.known.loads = None;
        &mut self.store
    }

    pub fn lineages(&self) -> &Lineages {
        &self.known.lineages
    }

    pub fn machine(&self) -> &str {
        &self.known.machine
    }

    /// Takes in what others wrote.
    pub fn refresh(&mut self) -> Result<()> {
        if self.store.is_behind()? || self.known.loads.is_none() {
            self.store.refresh()?;
            self.known.refresh(&self.store);
        }
        Ok(())
    }

    /// Waits for the right to add versions.
    pub fn record(&mut self) -> Result<Recorder<'_, 'd>> {
        let now = self.store.chance.now();
        let writing = self.store.write()?;
        if self.known.loads != Some(writing.store().loads()) {
            self.known.refresh(writing.store());
        }
        Ok(Recorder { writing, known: &mut self.known, now })
    }

    /// A version's file, byte for byte.
    pub fn content(&self, version: &Kept) -> Result<Vec<u8>> {
        Tracked::read(&self.store, version.tree)?.rebuild(&self.store, version.version.bytes)
    }

    /// A version and all before it, the newest first.
    pub fn versions(&self, tip: &Kept) -> impl Iterator<Item = Result<Kept>> {
        let mut next = Some(Ok(tip.clone()));
        std::iter::from_fn(move || {
            let this = next.take()?;
            if let Ok(Kept { parent: Some(parent), version, .. }) = &this {
                let before = Kept::read(&self.store, *parent);
                next = Some(before.or_else(|error| self.rescued(version).ok_or(error)));
            }
            Some(this)
        })
    }

    /// The refs to single versions of a lineage that are in a folder: numbers and commits.
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

    /// What a repair found of a file from before a version whose predecessor is lost.
    fn rescued(&self, version: &Version) -> Option<Kept> {
        let rescued = self.numbered_below("rescued", &version.lineage);
        let (_, newest) = rescued.filter(|(number, _)| *number < version.number).max()?;
        Kept::read(&self.store, newest).ok()
    }

    /// Takes in what became of the file that says which machine this is.
    pub(crate) fn reread_machine(&mut self) -> Result<()> {
        if let Some(machine) = read_machine(&self.store)? {
            self.known.machine = machine;
        }
        self.known.forget();
        self.refresh()
    }
}

fn read_machine(store: &Store<'_>) -> Result<Option<String>> {
    let bytes = store.disk.read_if_there(&store.layout().machine())?;
    Ok(bytes.map(|bytes| slug(&String::from_utf8_lossy(&bytes))))
}

/// The name of this machine in this history. Two machines never have the same one, so that what they
/// recorded apart can be put side by side.
fn machine(store: &mut Store<'_>, host: &str) -> Result<String> {
    if let Some(machine) = read_machine(store)? {
        return Ok(machine);
    }
    let path = store.layout().machine();
    let (disk, chance) = (store.disk, store.chance);
    let writing = store.write()?;
    if let Some(machine) = read_machine(writing.store())? {
        return Ok(machine);
    }
    let own: String = chance.slug().chars().filter(char::is_ascii_alphanumeric).take(6).collect();
    let host: String = slug(host).chars().take(20).collect();
    let machine = slug(&format!("{host}-{own}"));
    disk.replace(&path, &[machine.as_bytes(), b"\n"])?;
    Ok(machine)
}

impl Known {
    fn refresh(&mut self, store: &Store<'_>) {
        self.lineages.refresh(store, &self.machine);
        let own = self.lineages.recorded_by(&self.machine);
        self.order = own.map(|lineage| lineage.tip.version.order).max().unwrap_or(0);
        self.loads = Some(store.loads());
    }

    fn forget(&mut self) {
        self.loads = None;
        self.tracked.clear();
    }

    fn remember(&mut self, reference: &str, version: Id, tracked: Tracked) {
        let all: usize = self.tracked.values().map(|(_, tracked)| tracked.weight()).sum();
        if all + tracked.weight() > MOST_PIECES {
            self.tracked.clear();
        }
        self.tracked.insert(reference.to_owned(), (version, tracked));
    }
}
