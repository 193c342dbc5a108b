//! The history of one user: every version of every file, for reading and writing.

use std::cell::{OnceCell, RefCell};
use std::path::PathBuf;

use forklore_tavern::disk::Disk;
use forklore_tavern::disk::clock::Clock;
use rustc_hash::FxHashMap;

use crate::error::{HistoryError, Result};
use crate::git::object::Id;
use crate::store::{Store, Writing};
use crate::version::commit::{Origin, StoredVersion, Version};
use crate::version::lineage::Lineages;
use crate::version::lost::{self, LostNotes, LostVersions};
use crate::version::machine::{self, MachineName};
use crate::version::strays::Strays;
use crate::version::tracked::Tracked;

pub struct History<'d> {
    store: Store<'d>,
    memory: Memory,
    /// Versions that could not be read when they were wanted.
    lost: RefCell<LostNotes>,
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
    /// Found when they are needed.
    strays: OnceCell<Strays>,
}

/// More than can have been recorded after the newest version that can be read.
const LOST_ORDERS: u64 = 1_000_000;

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
        let machine = machine::ensure(&mut store, host)?;
        Ok(Self::of(store, machine))
    }

    /// Opens an existing history for reading.
    pub fn open_existing(
        disk: &'d dyn Disk,
        clock: &'d dyn Clock,
        repository: impl Into<PathBuf>,
    ) -> Result<Self> {
        let store = Store::open_existing(disk, clock, repository)?;
        let machine = machine_for_reading(&store)?;
        Ok(Self::of(store, machine))
    }

    fn of(store: Store<'d>, machine: String) -> Self {
        let seed = xxhash_rust::xxh3::xxh3_64(store.clock.slug().as_bytes());
        let memory = Memory { machine, seed, ..Memory::default() };
        let mut history = Self { store, memory, lost: RefCell::default() };
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
        let mut writing = self.store.write()?;
        if writing.store().has_damaged_refs() {
            let strays = Strays::find(writing.store());
            let missing = strays.missing_refs(writing.store().refs());
            writing.restore_refs(missing)?;
        }
        if self.memory.loads != Some(writing.store().loads()) {
            self.memory.refresh(writing.store());
        }
        Ok((writing, &mut self.memory))
    }

    /// The file's content in a version, byte for byte.
    pub fn content(&self, version: &StoredVersion) -> Result<Vec<u8>> {
        let tracked = Tracked::read(&self.store, version.tree);
        let content =
            tracked.and_then(|tracked| tracked.rebuild(&self.store, version.version.bytes));
        if content.as_ref().is_err_and(HistoryError::is_damage) {
            self.lost.borrow_mut().add(version, [version.version.number].into_iter());
        }
        content
    }

    /// A version and all versions before it, newest first. Those that cannot be read are left out,
    /// and are among the [`History::lost`] from then on.
    pub fn versions(&self, tip: &StoredVersion) -> impl Iterator<Item = StoredVersion> {
        std::iter::successors(Some(tip.clone()), |this| self.before(this))
    }

    /// The version before this one.
    pub fn before(&self, this: &StoredVersion) -> Option<StoredVersion> {
        let parent = this.parent?;
        let StoredVersion { version, .. } = this;
        if let Ok(before) = StoredVersion::read(&self.store, parent) {
            return Some(before);
        }
        let strays = || self.memory.strays.get_or_init(|| Strays::find(&self.store));
        let older = || strays().newest_before(&version.lineage, version.number);
        let before = self.rescued(version).or_else(|| older().cloned());
        let first = before.as_ref().map_or(1, |before| before.version.number + 1);
        self.lost.borrow_mut().add(this, first..version.number);
        before
    }

    /// The versions that could not be read so far, although they were wanted, without those that
    /// the user has accepted as lost.
    pub fn lost(&self) -> Vec<LostVersions> {
        let accepted = lost::accepted(&self.store).unwrap_or_default();
        let lost = self.lost.borrow().all().into_iter();
        lost.filter_map(|lost| lost.without(&accepted)).collect()
    }

    /// Whether a version was wanted so far and could not be read.
    pub(crate) fn is_lost(&self, lineage: &str, number: u64) -> bool {
        let lost = self.lost.borrow().all();
        lost.iter().any(|lost| lost.lineage == lineage && lost.numbers.contains(&number))
    }

    /// The newest version in which the file existed, from `tip` on, with its content. If that one
    /// cannot be read, the newest one before it that can; [`History::lost`] has the others.
    pub fn last_there(&self, tip: &StoredVersion) -> Result<(StoredVersion, Vec<u8>)> {
        let mut damaged = None;
        for stored in self.versions(tip) {
            // A deletion has the content of the version before it, which may be lost.
            let is_same = |before: &StoredVersion| before.tree == stored.tree;
            if stored.version.why == Origin::Deleted
                && self.before(&stored).is_some_and(|it| is_same(&it))
            {
                continue;
            }
            match self.content(&stored) {
                Ok(bytes) => return Ok((stored, bytes)),
                Err(error) if error.is_damage() => damaged = damaged.or(Some(error)),
                Err(error) => return Err(error),
            }
        }
        Err(damaged.unwrap_or(HistoryError::Missing(tip.id)))
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

    /// Gives this machine a name: one of those under which something was recorded, or a new one if
    /// none is given. Returns it, or `None` if nothing was recorded under the name.
    pub fn name_machine(
        disk: &'d dyn Disk,
        clock: &'d dyn Clock,
        repository: impl Into<PathBuf>,
        host: &str,
        name: Option<&str>,
    ) -> Result<Option<String>> {
        let store = Store::open(disk, clock, repository)?;
        let name = match name {
            Some(name) if !machine::recorded(&store).contains(name) => return Ok(None),
            Some(name) => name.to_owned(),
            None => machine::new_name(&store, host),
        };
        let _lock = store.lock()?;
        machine::write(&store, &name)?;
        Ok(Some(name))
    }

    /// Reads the machine's name again after its file changed.
    pub(crate) fn reread_machine(&mut self) -> Result<()> {
        self.memory.machine = machine_for_reading(&self.store)?;
        self.memory.invalidate();
        self.refresh()
    }
}

/// The name whose versions count as this machine's when they are read.
fn machine_for_reading(store: &Store<'_>) -> Result<String> {
    Ok(match machine::read(store)? {
        MachineName::Known(name) => name,
        MachineName::New => String::new(),
        // There is no doubt whose these are if there is only one.
        MachineName::Unclear(machines) if machines.len() == 1 => {
            machines.into_iter().next().unwrap_or_default()
        }
        MachineName::Unclear(_) => String::new(),
    })
}

impl Memory {
    fn refresh(&mut self, store: &Store<'_>) {
        self.strays = OnceCell::new();
        self.lineages.refresh(store, &self.machine, &self.strays);
        let own = || self.lineages.recorded_by(&self.machine);
        let newest = own().map(|lineage| lineage.tip.version.order).max().unwrap_or(0);
        // What is lost may have had higher ones.
        let lost = if own().any(|lineage| lineage.is_cut) { LOST_ORDERS } else { 0 };
        self.order = newest + lost;
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
