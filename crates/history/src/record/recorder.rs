//! Adds versions to a history.

use std::time::SystemTime;

use rustc_hash::FxHashSet;
use xxhash_rust::xxh3::xxh3_64;

use crate::error::{IfReadable as _, Result};
use crate::file::{FileKind, FileName};
use crate::git::object::{self, Id};
use crate::query::losses::{Loss, dismissal};
use crate::store::{Store, Writing};
use crate::version::commit::{Origin, StoredVersion, Version};
use crate::version::history::{History, Memory};
use crate::version::lineage::{Lineage, Lineages, lineage_of, slug};
use crate::version::summary::{Summary, describe};
use crate::version::tracked::{ComparedFile, Tracked, compare};

/// The right to add versions, held until it is dropped.
pub struct Recorder<'h, 'd> {
    writing: Writing<'h, 'd>,
    memory: &'h mut Memory,
    now: SystemTime,
}

impl<'d> History<'d> {
    /// Waits for the right to add versions.
    pub fn record(&mut self) -> Result<Recorder<'_, 'd>> {
        let now = self.store().clock.now();
        let (writing, memory) = self.write()?;
        Ok(Recorder { writing, memory, now })
    }
}

/// How a file's content was observed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Observed {
    /// As it was saved.
    AsItHappened,
    /// As it was saved, but earlier versions may have been missed.
    AfterAGap,
    /// Some time after it was saved.
    Later,
}

/// A version that is older than those already recorded.
#[derive(Clone, Copy, Debug)]
pub struct OldFile<'a> {
    pub name: &'a FileName,
    pub reference: &'a str,
    pub bytes: &'a [u8],
    pub written: SystemTime,
}

/// A version that was added.
#[derive(Clone, Debug)]
pub struct Recorded {
    pub reference: String,
    pub stored: StoredVersion,
    /// The version that was pinned because this one looks like a loss.
    pub pinned: Option<u64>,
}

/// A version to be added, without its content.
struct NewVersion<'a> {
    name: &'a FileName,
    kind: FileKind,
    bytes: u64,
    written: SystemTime,
    why: Origin,
}

impl<'a> NewVersion<'a> {
    fn new(
        name: &'a FileName,
        kind: FileKind,
        bytes: &[u8],
        written: SystemTime,
        why: Origin,
    ) -> Self {
        Self { name, kind, bytes: bytes.len() as u64, written, why }
    }
}

impl<'d> Recorder<'_, 'd> {
    pub fn store(&self) -> &Store<'d> {
        self.writing.store()
    }

    pub fn lineages(&self) -> &Lineages {
        &self.memory.lineages
    }

    /// When recording started.
    pub fn now(&self) -> SystemTime {
        self.now
    }

    /// Makes this part of a recording that started earlier.
    #[must_use]
    pub fn as_of(mut self, began: SystemTime) -> Self {
        self.now = began.min(self.now);
        self
    }

    /// How many bytes have accumulated since the last [`Recorder::persist`].
    pub fn size(&self) -> usize {
        self.writing.size()
    }

    /// Adds the current content of a file, if it is new. `exists` says whether a file exists, which
    /// distinguishes a renamed file from a copied one.
    pub fn file(
        &mut self,
        name: &FileName,
        bytes: &[u8],
        written: SystemTime,
        seen: Observed,
        exists: &dyn Fn(&FileName) -> bool,
    ) -> Result<Option<Recorded>> {
        let Some(kind) = name.kind() else { return Ok(None) };
        let why = match seen {
            Observed::AsItHappened => Origin::Saved,
            Observed::AfterAGap => Origin::Late,
            Observed::Later => Origin::Found,
        };
        let change = NewVersion::new(name, kind, bytes, written, why);
        if let Some(lineage) = self.memory.lineages.live(name).cloned() {
            return self.add_next(&lineage, change, bytes);
        }
        let compared = self.compare(kind, &Tracked::default(), bytes)?;
        let machine = self.memory.machine.clone();
        let own = self.memory.lineages.own(&machine);
        let alike = own.filter(|other| other.kind == kind && other.tip.tree == compared.tree);
        let alike: Vec<Lineage> = alike.cloned().collect();
        let gone = alike.iter().find(|other| other.file() != name && !exists(other.file()));
        if let Some(before) = gone.filter(|_| !bytes.is_empty()) {
            // The same file under a new name.
            let why = Origin::Renamed { from: before.file().clone() };
            let words = format!("renamed from {}", before.file().label());
            let summary = Summary { words, collapse: None, count: before.tip.version.count };
            let change = NewVersion { why, ..change };
            return self
                .add(&before.reference, Some(before), change, summary, compared.tree)
                .map(Some);
        }
        if let Some(lineage) = self.memory.lineages.deleted(&machine, name).cloned() {
            return self.add_next(&lineage, change, bytes);
        }
        let mut summary = describe(&self.writing, kind, None, &compared)?;
        let mut change = change;
        let copied = alike.iter().find(|other| !other.is_deleted() && !bytes.is_empty());
        if let Some(other) = copied {
            change.why = Origin::Copied { from: other.file().clone() };
            summary.words = format!("started as a copy of {}", other.file().label());
        }
        let reference = self.new_reference(kind, name);
        let recorded = self.add(&reference, copied, change, summary, compared.tree)?;
        self.memory.remember(&reference, recorded.stored.id, compared.now);
        Ok(Some(recorded))
    }

    fn compare<'b>(
        &mut self,
        kind: FileKind,
        before: &Tracked,
        bytes: &'b [u8],
    ) -> Result<ComparedFile<'b>> {
        compare(&mut self.writing, self.memory.seed, kind, before, bytes)
    }

    /// An unused ref for a file of this machine.
    pub(crate) fn new_reference(&self, kind: FileKind, name: &FileName) -> String {
        let Memory { machine, lineages, .. } = &*self.memory;
        let slug = slug(&name.label());
        let references = (0_u64..).map(|salt| {
            let number = xxh3_64(format!("{}\n{salt}", name.as_str()).as_bytes());
            format!("refs/heads/{machine}/{}/{slug}-{:08x}", kind.folder(), number as u32)
        });
        let is_free = |reference: &String| {
            lineages.get(reference).is_none() && !self.store().refs().contains_key(reference)
        };
        references.into_iter().find(is_free).unwrap_or_default()
    }

    /// Adds a version to a lineage, if it differs from the newest one.
    fn add_next(
        &mut self,
        lineage: &Lineage,
        change: NewVersion<'_>,
        bytes: &[u8],
    ) -> Result<Option<Recorded>> {
        let before = match self.memory.tracked.remove(&lineage.reference) {
            Some((tip, tracked)) if tip == lineage.tip.id => Some(tracked),
            _ => self.read_tracked(lineage.tip.tree).if_readable()?,
        };
        let compared =
            self.compare(lineage.kind, before.as_ref().unwrap_or(&Tracked::default()), bytes)?;
        if compared.tree == lineage.tip.tree && !lineage.is_deleted() {
            self.memory.remember(&lineage.reference, lineage.tip.id, compared.now);
            return Ok(None);
        }
        let mut summary = self.describe_next(lineage.kind, before.as_ref(), &compared)?;
        if let Origin::Restored { version } = change.why {
            // Going back to fewer messages was intended.
            summary.collapse = None;
            summary.words = match lineage.is_deleted() {
                true => format!("brought back as it was in version {version}"),
                false => format!("back to version {version}: {}", summary.words),
            };
        } else if lineage.is_deleted() {
            summary.words = format!("back again: {}", summary.words);
        }
        let recorded =
            self.add(&lineage.reference, Some(lineage), change, summary, compared.tree)?;
        self.memory.remember(&lineage.reference, recorded.stored.id, compared.now);
        Ok(Some(recorded))
    }

    /// Describes a version that follows another one, as far as that one can be read.
    fn describe_next(
        &self,
        kind: FileKind,
        before: Option<&Tracked>,
        compared: &ComparedFile<'_>,
    ) -> Result<Summary> {
        if let Some(before) = before
            && let Some(summary) =
                describe(&self.writing, kind, Some(before), compared).if_readable()?
        {
            return Ok(summary);
        }
        let summary = describe(&self.writing, kind, None, compared)?;
        let words = "changed; how is not known, because the version before it cannot be read";
        Ok(Summary { words: words.to_owned(), ..summary })
    }

    /// Adds a restored file. `from` is the version that was restored, of this file or of another.
    pub fn restored(
        &mut self,
        name: &FileName,
        bytes: &[u8],
        written: SystemTime,
        from: &StoredVersion,
    ) -> Result<Option<Recorded>> {
        let Some(kind) = name.kind() else { return Ok(None) };
        let machine = self.memory.machine.clone();
        let why = Origin::Restored { version: from.version.number };
        let change = NewVersion::new(name, kind, bytes, written, why);
        let lineages = &self.memory.lineages;
        if let Some(lineage) = lineages.live(name).or_else(|| lineages.deleted(&machine, name)) {
            return self.add_next(&lineage.clone(), change, bytes);
        }
        let compared = self.compare(kind, &Tracked::default(), bytes)?;
        let mut summary = describe(&self.writing, kind, None, &compared)?;
        let (number, file) = (from.version.number, from.version.file.label());
        let from_machine = from.version.lineage.split('/').next().unwrap_or_default();
        let is_own = from_machine == machine;
        let whose = if is_own { String::new() } else { format!("{from_machine}:") };
        summary.words = format!("started as version {number} of {whose}{file}");
        let reference = self.new_reference(kind, name);
        let before =
            Lineage { reference: String::new(), machine, kind, tip: from.clone(), is_cut: false };
        // What a machine sends consists of its own versions only.
        let before = is_own.then_some(&before);
        self.add(&reference, before, change, summary, compared.tree).map(Some)
    }

    /// Marks a loss as settled, so that it is not reported again.
    pub fn dismiss(&mut self, loss: &Loss) {
        self.writing.set_ref(&loss.dismissal(), loss.lost.id);
    }

    /// Marks a deletion as intended.
    pub fn dismiss_gone(&mut self, lineage: &Lineage) {
        let tip = &lineage.tip;
        self.writing.set_ref(&dismissal(&lineage.reference, tip.version.number), tip.id);
    }

    /// Reads a version's pieces. Objects that are not persisted yet have to be persisted first.
    fn read_tracked(&mut self, tree: Id) -> Result<Tracked> {
        if !self.writing.store().has(&tree) {
            self.persist()?;
        }
        Tracked::read(self.writing.store(), tree)
    }

    /// Adds an old version that was not observed at the time. It goes into a lineage of its own, so
    /// that nothing already recorded changes. `known` contains the trees that need not be added;
    /// this one is inserted.
    pub fn add_old(
        &mut self,
        old: &OldFile<'_>,
        known: &mut FxHashSet<Id>,
    ) -> Result<Option<Recorded>> {
        let OldFile { name, reference, bytes, written } = *old;
        let Some(kind) = name.kind() else { return Ok(None) };
        let parent = self.memory.lineages.get(reference).cloned();
        let before = match &parent {
            Some(lineage) => self.read_tracked(lineage.tip.tree).if_readable()?.unwrap_or_default(),
            None => Tracked::default(),
        };
        let compared = self.compare(kind, &before, bytes)?;
        if !known.insert(compared.tree) {
            return Ok(None);
        }
        let summary = match &parent {
            Some(_) => self.describe_next(kind, Some(&before), &compared)?,
            None => describe(&self.writing, kind, None, &compared)?,
        };
        // What happened to an old chat long ago should not raise an alarm.
        let summary =
            Summary { words: format!("backup: {}", summary.words), collapse: None, ..summary };
        let change = NewVersion::new(name, kind, bytes, written, Origin::Imported);
        self.add(reference, parent.as_ref(), change, summary, compared.tree).map(Some)
    }

    /// Records that a file is gone.
    pub fn deleted(&mut self, name: &FileName) -> Result<Option<Recorded>> {
        let Some(lineage) = self.memory.lineages.live(name).cloned() else { return Ok(None) };
        let Version { count, bytes, .. } = lineage.tip.version;
        let words = format!("{} deleted", lineage.kind.word());
        let summary = Summary { words, collapse: None, count };
        let (kind, written) = (lineage.kind, self.now);
        let change = NewVersion { name, kind, bytes, written, why: Origin::Deleted };
        self.add(&lineage.reference, Some(&lineage), change, summary, lineage.tip.tree).map(Some)
    }

    fn add(
        &mut self,
        reference: &str,
        before: Option<&Lineage>,
        change: NewVersion<'_>,
        summary: Summary,
        tree: Id,
    ) -> Result<Recorded> {
        let own = before.filter(|before| before.reference == reference);
        // The number of what is lost is not given again.
        let last = |before: &Lineage| before.tip.version.number + u64::from(before.is_cut);
        let number = own.map_or(0, last);
        self.memory.order += 1;
        let version = Version {
            file: change.name.clone(),
            lineage: lineage_of(reference).to_owned(),
            number: number + 1,
            order: self.memory.order,
            why: change.why,
            words: summary.words,
            written: change.written,
            recorded: self.now,
            count: summary.count,
            bytes: change.bytes,
            collapse: summary.collapse,
        };
        let parent = before.map(|before| before.tip.id);
        let text = version.commit(&tree, parent.as_ref());
        let id = self.writing.put(object::Kind::Commit, text, parent)?;
        self.writing.set_ref(reference, id);
        let mut pinned = None;
        if let (Some(_), Some(before)) = (&version.collapse, before) {
            let good = &before.tip;
            let lineage = lineage_of(reference);
            self.writing.set_ref(&format!("refs/pins/{lineage}/{}", good.version.number), good.id);
            pinned = Some(good.version.number);
        }
        let stored = StoredVersion { id, tree, parent, version };
        let lineage = Lineage {
            reference: reference.to_owned(),
            machine: self.memory.machine.clone(),
            kind: change.kind,
            tip: stored.clone(),
            is_cut: false,
        };
        let machine = self.memory.machine.clone();
        self.memory.lineages.insert(lineage, &machine);
        Ok(Recorded { reference: reference.to_owned(), stored, pinned })
    }

    /// Returns once everything added so far survives a power cut.
    pub fn persist(&mut self) -> Result<()> {
        let persisted = self.writing.persist();
        if persisted.is_err() {
            // The cache no longer matches the store.
            self.memory.invalidate();
        }
        persisted
    }

    /// Makes everything readable by any git.
    pub fn flush(&mut self) -> Result<()> {
        let flushed = self.writing.flush();
        if flushed.is_err() {
            self.memory.invalidate();
        }
        flushed
    }
}
