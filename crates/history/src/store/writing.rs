//! Writing to a repository under its lock.

use forklore_tavern::disk::lock::UserLock;
use rustc_hash::FxHashMap;

use super::Store;
use crate::error::{Doing, Result};
use crate::git::object::{Id, Kind, Object, id_of};
use crate::git::refs::Refs;
use crate::store::files::Files as _;
use crate::store::journal::{self, Recording};

/// How much may accumulate in the journal, which has to be read whenever a history is opened.
const JOURNAL_BYTES: u64 = 1 << 20;
const JOURNAL_RECORDINGS: usize = 64;

/// A recording larger than this is written to a pack of its own.
const OWN_PACK: usize = 4 << 20;

/// Exclusive write access, held until it is dropped.
pub struct Writing<'s, 'd> {
    store: &'s mut Store<'d>,
    batch: Recording,
    size: usize,
    at: FxHashMap<Id, usize>,
    _lock: UserLock,
}

impl<'s, 'd> Writing<'s, 'd> {
    pub(super) fn new(store: &'s mut Store<'d>, lock: UserLock) -> Self {
        let (batch, at) = (Recording::default(), FxHashMap::default());
        Self { store, batch, size: 0, at, _lock: lock }
    }

    pub fn store(&self) -> &Store<'d> {
        self.store
    }

    pub(crate) fn store_mut(&mut self) -> &mut Store<'d> {
        self.store
    }

    /// Adds an object unless it already exists and can be read; borrowed data is copied only if it
    /// is added. `before` is the object that it replaces.
    pub fn put(
        &mut self,
        kind: Kind,
        data: impl AsRef<[u8]> + Into<Vec<u8>>,
        before: Option<Id>,
    ) -> Result<Id> {
        let id = id_of(kind, data.as_ref())?;
        if !self.holds(&id) {
            let data = data.into();
            self.size += data.len();
            self.at.insert(id, self.batch.objects.len());
            self.batch.objects.push(Object { id, kind, data, before });
        }
        Ok(id)
    }

    /// Whether the object is here and can be read.
    pub(crate) fn holds(&self, id: &Id) -> bool {
        self.at.contains_key(id) || self.store.holds(id)
    }

    pub fn has(&self, id: &Id) -> bool {
        self.at.contains_key(id) || self.store.has(id)
    }

    pub fn read(&self, id: &Id, kind: Kind) -> Result<Vec<u8>> {
        match self.at.get(id) {
            Some(at) => Ok(self.batch.objects[*at].data.clone()),
            None => self.store.read(id, kind),
        }
    }

    /// Points a ref to a commit.
    pub fn set_ref(&mut self, name: &str, id: Id) {
        self.batch.refs.push((name.to_owned(), id));
    }

    /// Adds refs that were missing. After this, none is.
    pub(crate) fn restore_refs(&mut self, missing: Refs) -> Result<()> {
        self.store.refs.extend(missing);
        self.store.has_damaged_refs = false;
        self.store.loads += 1;
        self.store.flush()
    }

    /// How many bytes have accumulated since the last [`Writing::persist`].
    pub fn size(&self) -> usize {
        self.size
    }

    /// Returns once everything added since the last call survives a power cut.
    pub fn persist(&mut self) -> Result<()> {
        if self.batch.objects.is_empty() && self.batch.refs.is_empty() {
            return Ok(());
        }
        let batch = std::mem::take(&mut self.batch);
        self.at.clear();
        if std::mem::take(&mut self.size) > OWN_PACK {
            self.store.apply_recording(batch);
            return self.store.flush();
        }
        let path = self.store.layout.journal();
        let entry = journal::entry(self.store.journal.generation, &batch);
        let end = self.store.journal.end;
        let appended = self.store.disk.append(&path, end, &[&entry]);
        if appended.is_err() {
            // The state of the file is unknown, so it has to be read again.
            self.store.journal.stat = None;
        }
        appended.doing("write to", &path)?;
        self.store.journal.end = end + entry.len() as u64;
        self.store.journal.recordings += 1;
        self.store.journal.stat = self.store.disk.stat_of(&path)?;
        self.store.apply_recording(batch);
        let journal = &self.store.journal;
        if journal.end > JOURNAL_BYTES || journal.recordings >= JOURNAL_RECORDINGS {
            self.store.flush()?;
        }
        Ok(())
    }

    /// Replaces all refs at once, and makes everything they lead to readable by any git.
    pub(crate) fn set_refs(&mut self, refs: Refs) -> Result<()> {
        self.flush()?;
        self.store.refs = refs;
        self.store.has_damaged_refs = false;
        self.store.write_refs()?;
        self.store.begin_journal()
    }

    /// Makes everything recorded so far readable by any git.
    pub fn flush(&mut self) -> Result<()> {
        self.persist()?;
        if self.store.journal.recordings > 0 {
            self.store.flush()?;
        }
        Ok(())
    }
}
