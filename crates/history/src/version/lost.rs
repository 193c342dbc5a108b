//! Versions that cannot be read, and those of which the user knows.

use std::collections::{BTreeMap, BTreeSet};

use crate::error::Result;
use crate::file::FileName;
use crate::store::Store;
use crate::store::files::Files as _;
use crate::version::commit::StoredVersion;

/// Versions of one file that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostVersions {
    pub lineage: String,
    pub file: FileName,
    pub numbers: BTreeSet<u64>,
}

/// The numbers of versions, by lineage.
pub type Accepted = BTreeMap<String, BTreeSet<u64>>;

/// Collects versions that could not be read, by lineage.
#[derive(Debug, Default)]
pub(crate) struct LostNotes(BTreeMap<String, LostVersions>);

impl LostNotes {
    /// Notes these versions of the file that `stored` is a version of.
    pub(crate) fn add(&mut self, stored: &StoredVersion, numbers: impl Iterator<Item = u64>) {
        let version = &stored.version;
        let mut numbers = numbers.peekable();
        if numbers.peek().is_none() {
            return;
        }
        let new = || LostVersions {
            lineage: version.lineage.clone(),
            file: version.file.clone(),
            numbers: BTreeSet::new(),
        };
        let known = self.0.entry(version.lineage.clone()).or_insert_with(new);
        known.numbers.extend(numbers);
    }

    pub(crate) fn all(&self) -> Vec<LostVersions> {
        self.0.values().cloned().collect()
    }
}

impl LostVersions {
    /// Leaves out what was accepted. `None` if that is all.
    pub(crate) fn without(mut self, accepted: &Accepted) -> Option<Self> {
        if let Some(accepted) = accepted.get(&self.lineage) {
            self.numbers.retain(|number| !accepted.contains(number));
        }
        (!self.numbers.is_empty()).then_some(self)
    }
}

/// The versions that the user has accepted as lost.
pub(crate) fn accepted(store: &Store<'_>) -> Result<Accepted> {
    let text = store.disk.read_if_exists(&store.layout().accepted())?.unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let mut accepted = Accepted::new();
    for line in text.lines() {
        if let Some((lineage, number)) = line.split_once(' ')
            && let Ok(number) = number.parse()
        {
            accepted.entry(lineage.to_owned()).or_default().insert(number);
        }
    }
    Ok(accepted)
}

/// Replaces the list. Requires the lock.
pub(crate) fn write_accepted(store: &Store<'_>, accepted: &Accepted) -> Result<()> {
    let lines = accepted.iter().flat_map(|(lineage, numbers)| {
        numbers.iter().map(move |number| format!("{lineage} {number}\n"))
    });
    let text: String = lines.collect();
    match text.is_empty() {
        true => store.disk.remove_if_exists(&store.layout().accepted()),
        false => store.disk.replace(&store.layout().accepted(), &[text.as_bytes()]),
    }
}
