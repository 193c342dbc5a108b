//! The history of one user: every version of every file, to be added to and to be read.

use std::path::PathBuf;
use std::time::SystemTime;

use forklore_tavern::chance::Chance;
use forklore_tavern::disk::Disk;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::error::{Doing, HistoryError};
use crate::file::{Kind, Name};
use crate::git::object::{self, Id};
use crate::layout::{Layout, replace};
use crate::lineage::{Lineage, Lineages, lineage_of, slug};
use crate::losing::Loss;
use crate::store::{Store, Writing};
use crate::story::{Told, tell};
use crate::tracked::{Tracked, compare};
use crate::version::{Kept, Version, Why};

pub struct History<'d> {
    store: Store<'d>,
    known: Known,
}

/// What is remembered of the store.
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

/// The right to add versions, held until it is dropped.
pub struct Recorder<'h, 'd> {
    writing: Writing<'h, 'd>,
    known: &'h mut Known,
    now: SystemTime,
}

/// How a file came to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// When it was saved.
    AsItHappened,
    /// Later.
    Later,
}

/// A version that is older than what is known.
#[derive(Clone, Copy, Debug)]
pub struct OldFile<'a> {
    pub name: &'a Name,
    pub reference: &'a str,
    pub bytes: &'a [u8],
    pub written: SystemTime,
}

/// A version that was added.
#[derive(Clone, Debug)]
pub struct Recorded {
    pub reference: String,
    pub kept: Kept,
    /// The version that is pinned because this one looks like a loss.
    pub pinned: Option<u64>,
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
    ) -> Result<Self, HistoryError> {
        let mut store = Store::open(disk, chance, repository)?;
        let machine = machine(&mut store, host)?;
        Ok(Self::of(store, machine))
    }

    /// Opens a history that is there, to be read.
    pub fn open_existing(
        disk: &'d dyn Disk,
        chance: &'d dyn Chance,
        repository: impl Into<PathBuf>,
    ) -> Result<Self, HistoryError> {
        let store = Store::open_existing(disk, chance, repository)?;
        let machine = read_machine(&store)?.unwrap_or_default();
        Ok(Self::of(store, machine))
    }

    fn of(store: Store<'d>, machine: String) -> Self {
        let seed = xxhash_rust::xxh3::xxh3_64(store.chance.slug().as_bytes());
        let known = Known {
            machine,
            lineages: Lineages::default(),
            tracked: FxHashMap::default(),
            order: 0,
            loads: None,
            seed,
        };
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
    pub fn refresh(&mut self) -> Result<(), HistoryError> {
        if self.store.is_behind()? || self.known.loads.is_none() {
            self.store.refresh()?;
            self.known.refresh(&self.store);
        }
        Ok(())
    }

    /// Waits for the right to add versions.
    pub fn record(&mut self) -> Result<Recorder<'_, 'd>, HistoryError> {
        let now = self.store.chance.now();
        let writing = self.store.write()?;
        if self.known.loads != Some(writing.store().loads()) {
            self.known.refresh(writing.store());
        }
        Ok(Recorder { writing, known: &mut self.known, now })
    }

    /// A version's file, byte for byte.
    pub fn content(&self, version: &Kept) -> Result<Vec<u8>, HistoryError> {
        Tracked::read(&self.store, version.tree)?.rebuild(&self.store)
    }

    /// A version and all before it, the newest first.
    pub fn versions(&self, tip: &Kept) -> impl Iterator<Item = Result<Kept, HistoryError>> {
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
}

impl History<'_> {
    /// What a repair found of a file from before a version whose predecessor is lost.
    fn rescued(&self, version: &Version) -> Option<Kept> {
        let folder = format!("refs/rescued/{}/", version.lineage);
        let below = self.store.refs().range(folder.clone()..);
        let found = below.map_while(|(name, id)| Some((name.strip_prefix(&folder)?, id)));
        let numbered = found.filter_map(|(number, id)| Some((number.parse::<u64>().ok()?, id)));
        let newest = numbered.filter(|(number, _)| *number < version.number).max()?;
        Kept::read(&self.store, *newest.1).ok()
    }

    /// Takes in what became of the file that says which machine this is.
    pub(crate) fn reread_machine(&mut self) -> Result<(), HistoryError> {
        if let Some(machine) = read_machine(&self.store)? {
            self.known.machine = machine;
        }
        self.known.forget();
        self.refresh()
    }
}

fn machine_path(layout: &Layout) -> PathBuf {
    layout.ours().join("machine")
}

fn read_machine(store: &Store<'_>) -> Result<Option<String>, HistoryError> {
    let path = machine_path(store.layout());
    match store.disk.look(&path).doing("look at", &path)? {
        Some(_) => {
            let bytes = store.disk.read(&path).doing("read", &path)?;
            Ok(Some(slug(&String::from_utf8_lossy(&bytes))))
        }
        None => Ok(None),
    }
}

/// The name of this machine in this history. Two machines never have the same one, so that what they
/// recorded apart can be put side by side.
fn machine(store: &mut Store<'_>, host: &str) -> Result<String, HistoryError> {
    if let Some(machine) = read_machine(store)? {
        return Ok(machine);
    }
    let path = machine_path(store.layout());
    let (disk, chance) = (store.disk, store.chance);
    let writing = store.write()?;
    if let Some(machine) = read_machine(writing.store())? {
        return Ok(machine);
    }
    let own: String = chance.slug().chars().filter(char::is_ascii_alphanumeric).take(6).collect();
    let host: String = slug(host).chars().take(20).collect();
    let machine = slug(&format!("{host}-{own}"));
    replace(disk, &path, &[machine.as_bytes(), b"\n"])?;
    Ok(machine)
}

impl Known {
    fn refresh(&mut self, store: &Store<'_>) {
        self.lineages.refresh(store, &self.machine);
        let own = self.lineages.recorded_by(&self.machine);
        self.order = own.map(|lineage| lineage.tip.version.order).max().unwrap_or(0);
        self.loads = Some(store.loads());
    }

    fn remember(&mut self, reference: &str, version: Id, tracked: Tracked) {
        let all: usize = self.tracked.values().map(|(_, tracked)| tracked.weight()).sum();
        if all + tracked.weight() > MOST_PIECES {
            self.tracked.clear();
        }
        self.tracked.insert(reference.to_owned(), (version, tracked));
    }
}

impl<'d> Recorder<'_, 'd> {
    pub fn store(&self) -> &Store<'d> {
        self.writing.store()
    }

    pub fn lineages(&self) -> &Lineages {
        &self.known.lineages
    }

    pub fn machine(&self) -> &str {
        &self.known.machine
    }

    /// When this began.
    pub fn now(&self) -> SystemTime {
        self.now
    }

    /// Bytes that have gathered since the last [`Recorder::keep`].
    pub fn size(&self) -> usize {
        self.writing.size()
    }

    /// Adds what a file holds now, if that is new. `exists` says whether a file is there, which tells
    /// a file that was renamed from one that was copied.
    pub fn file(
        &mut self,
        name: &Name,
        bytes: &[u8],
        written: SystemTime,
        seen: Seen,
        exists: &dyn Fn(&Name) -> bool,
    ) -> Result<Option<Recorded>, HistoryError> {
        let Some(kind) = name.kind() else { return Ok(None) };
        let why = match seen {
            Seen::AsItHappened => Why::Saved,
            Seen::Later => Why::Found,
        };
        if let Some(lineage) = self.known.lineages.live(name).cloned() {
            return self.next(&lineage, name, bytes, written, why);
        }
        let compared =
            compare(&mut self.writing, self.known.seed, kind, &Tracked::default(), bytes)?;
        let machine = self.known.machine.clone();
        let alike: Vec<Lineage> =
            self.known.lineages.with_tree(&machine, kind, &compared.tree).cloned().collect();
        let gone = alike.iter().find(|other| other.file() != name && !exists(other.file()));
        if let Some(before) = gone.filter(|_| !bytes.is_empty()) {
            // Under a new name, the same file.
            let why = Why::Renamed { from: before.file().clone() };
            let words = format!("renamed, was {}", before.file().label());
            let told = Told { words, collapse: None, count: before.tip.version.count };
            let change = Change { name, kind, bytes: bytes.len(), written, why, told };
            return self
                .add(&before.reference.clone(), Some(before), change, compared.tree)
                .map(Some);
        }
        if let Some(lineage) = self.known.lineages.deleted(&machine, name).cloned() {
            return self.next(&lineage, name, bytes, written, why);
        }
        let told = tell(&self.writing, kind, None, &compared)?;
        let reference =
            self.known.lineages.new_reference(self.writing.store(), &machine, kind, name);
        let (tree, tracked) = (compared.tree, compared.now);
        let copied = alike.iter().find(|other| !other.is_deleted() && !bytes.is_empty());
        let recorded = match copied {
            Some(other) => {
                let why = Why::Copied { from: other.file().clone() };
                let words = format!("began as a copy of {}", other.file().label());
                let told = Told { words, ..told };
                let change = Change { name, kind, bytes: bytes.len(), written, why, told };
                self.add(&reference, Some(other), change, tree)?
            }
            None => {
                let change = Change { name, kind, bytes: bytes.len(), written, why, told };
                self.add(&reference, None, change, tree)?
            }
        };
        self.known.remember(&reference, recorded.kept.id, tracked);
        Ok(Some(recorded))
    }

    /// Adds a version to a lineage, if it differs from the newest one.
    fn next(
        &mut self,
        lineage: &Lineage,
        name: &Name,
        bytes: &[u8],
        written: SystemTime,
        why: Why,
    ) -> Result<Option<Recorded>, HistoryError> {
        let before = match self.known.tracked.remove(&lineage.reference) {
            Some((tip, tracked)) if tip == lineage.tip.id => tracked,
            _ => self.read_tracked(lineage.tip.tree)?,
        };
        let kind = lineage.kind;
        let compared = compare(&mut self.writing, self.known.seed, kind, &before, bytes)?;
        if compared.tree == lineage.tip.tree && !lineage.is_deleted() {
            self.known.remember(&lineage.reference, lineage.tip.id, compared.now);
            return Ok(None);
        }
        let mut told = tell(&self.writing, kind, Some(&before), &compared)?;
        if let Why::Restored { version } = why {
            // Going back to fewer messages is a wish.
            told.collapse = None;
            told.words = match lineage.is_deleted() {
                true => format!("brought back as it was in version {version}"),
                false => format!("back to version {version}: {}", told.words),
            };
        } else if lineage.is_deleted() {
            told.words = format!("there again: {}", told.words);
        }
        let (tree, tracked) = (compared.tree, compared.now);
        let change = Change { name, kind, bytes: bytes.len(), written, why, told };
        let recorded = self.add(&lineage.reference, Some(lineage), change, tree)?;
        self.known.remember(&lineage.reference, recorded.kept.id, tracked);
        Ok(Some(recorded))
    }

    /// Adds what was brought back. `from` is the version that it was, of this file or of another.
    pub fn restored(
        &mut self,
        name: &Name,
        bytes: &[u8],
        written: SystemTime,
        from: &Kept,
    ) -> Result<Option<Recorded>, HistoryError> {
        let Some(kind) = name.kind() else { return Ok(None) };
        let machine = self.known.machine.clone();
        let why = Why::Restored { version: from.version.number };
        let lineages = &self.known.lineages;
        if let Some(lineage) = lineages.live(name).or_else(|| lineages.deleted(&machine, name)) {
            return self.next(&lineage.clone(), name, bytes, written, why);
        }
        let compared =
            compare(&mut self.writing, self.known.seed, kind, &Tracked::default(), bytes)?;
        let told = tell(&self.writing, kind, None, &compared)?;
        let from_file = from.version.file.label();
        let words = format!("began as version {} of {from_file}", from.version.number);
        let told = Told { words, ..told };
        let reference =
            self.known.lineages.new_reference(self.writing.store(), &machine, kind, name);
        let change = Change { name, kind, bytes: bytes.len(), written, why, told };
        let before = Lineage { reference: String::new(), machine, kind, tip: from.clone() };
        self.add(&reference, Some(&before), change, compared.tree).map(Some)
    }

    /// Says of a loss that it is settled: nobody need hear of it again.
    pub fn dismiss(&mut self, loss: &Loss) {
        self.writing.point(&loss.dismissal(), loss.lost.id);
    }

    /// What is not kept yet cannot be read back in pieces.
    fn read_tracked(&mut self, tree: Id) -> Result<Tracked, HistoryError> {
        if !self.writing.store().has(&tree) {
            self.keep()?;
        }
        Tracked::read(self.writing.store(), tree)
    }

    /// Adds a version that was once there and that nobody saw: nothing of what is known changes, so it
    /// goes into a lineage of its own. `known` are the versions that need not be added, and this one
    /// becomes one of them.
    pub fn old_file(
        &mut self,
        old: &OldFile<'_>,
        known: &mut FxHashSet<Id>,
    ) -> Result<Option<Recorded>, HistoryError> {
        let OldFile { name, reference, bytes, written } = *old;
        let Some(kind) = name.kind() else { return Ok(None) };
        let parent = self.known.lineages.get(reference).cloned();
        let before = match &parent {
            Some(lineage) => self.read_tracked(lineage.tip.tree)?,
            None => Tracked::default(),
        };
        let compared = compare(&mut self.writing, self.known.seed, kind, &before, bytes)?;
        let tree = compared.tree;
        if !known.insert(tree) {
            return Ok(None);
        }
        let told = tell(&self.writing, kind, parent.as_ref().map(|_| &before), &compared)?;
        // How a chat that is gone went up and down is no alarm any more.
        let told = Told { words: format!("a backup: {}", told.words), collapse: None, ..told };
        let change = Change { name, kind, bytes: bytes.len(), written, why: Why::Imported, told };
        self.add(reference, parent.as_ref(), change, tree).map(Some)
    }

    /// Adds that a file is gone.
    pub fn deleted(&mut self, name: &Name) -> Result<Option<Recorded>, HistoryError> {
        let Some(lineage) = self.known.lineages.live(name).cloned() else { return Ok(None) };
        let told = Told {
            words: format!("{} deleted", lineage.kind.word()),
            collapse: None,
            count: lineage.tip.version.count,
        };
        let change = Change {
            name,
            kind: lineage.kind,
            bytes: lineage.tip.version.bytes as usize,
            written: self.now,
            why: Why::Deleted,
            told,
        };
        self.add(&lineage.reference, Some(&lineage), change, lineage.tip.tree).map(Some)
    }

    fn add(
        &mut self,
        reference: &str,
        before: Option<&Lineage>,
        change: Change<'_>,
        tree: Id,
    ) -> Result<Recorded, HistoryError> {
        let own = before.filter(|before| before.reference == reference);
        let number = own.map_or(0, |before| before.tip.version.number) + 1;
        self.known.order += 1;
        let version = Version {
            file: change.name.clone(),
            lineage: lineage_of(reference).to_owned(),
            number,
            order: self.known.order,
            why: change.why,
            words: change.told.words,
            written: change.written,
            recorded: self.now,
            count: change.told.count,
            bytes: change.bytes as u64,
            collapse: change.told.collapse,
        };
        let parent = before.map(|before| before.tip.id);
        let text = version.commit(&tree, parent.as_ref());
        let id = self.writing.put(object::Kind::Commit, text, parent)?;
        self.writing.point(reference, id);
        let mut pinned = None;
        if let (Some(_), Some(before)) = (&version.collapse, before) {
            let good = &before.tip;
            let lineage = lineage_of(reference);
            self.writing.point(&format!("refs/pins/{lineage}/{}", good.version.number), good.id);
            pinned = Some(good.version.number);
        }
        let kept = Kept { id, tree, parent, version };
        let lineage = Lineage {
            reference: reference.to_owned(),
            machine: self.known.machine.clone(),
            kind: change.kind,
            tip: kept.clone(),
        };
        let machine = self.known.machine.clone();
        self.known.lineages.insert(lineage, &machine);
        Ok(Recorded { reference: reference.to_owned(), kept, pinned })
    }

    /// Returns when everything added so far outlives a power cut.
    pub fn keep(&mut self) -> Result<(), HistoryError> {
        let kept = self.writing.keep();
        if kept.is_err() {
            // What is remembered is not what is there.
            self.known.forget();
        }
        kept
    }

    /// Puts everything where any git can read it.
    pub fn flush(&mut self) -> Result<(), HistoryError> {
        let flushed = self.writing.flush();
        if flushed.is_err() {
            self.known.forget();
        }
        flushed
    }
}

impl Known {
    fn forget(&mut self) {
        self.loads = None;
        self.tracked.clear();
    }
}

struct Change<'a> {
    name: &'a Name,
    kind: Kind,
    bytes: usize,
    written: SystemTime,
    why: Why,
    told: Told,
}
