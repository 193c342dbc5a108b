//! Versions that cannot be read, and those of which the user knows.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::RangeInclusive;

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

impl fmt::Display for LostVersions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let versions = versions_in_words(&ranges(self.numbers.iter().copied()));
        write!(f, "{versions} of {} cannot be read", self.file.label())
    }
}

/// Groups ascending numbers into ranges.
pub(crate) fn ranges(numbers: impl IntoIterator<Item = u64>) -> Vec<RangeInclusive<u64>> {
    let mut ranges: Vec<RangeInclusive<u64>> = Vec::new();
    for number in numbers {
        match ranges.last_mut() {
            Some(last) if *last.end() + 1 == number => *last = *last.start()..=number,
            _ => ranges.push(number..=number),
        }
    }
    ranges
}

/// `version 3`, `versions 1, 4 to 7`
pub(crate) fn versions_in_words(ranges: &[RangeInclusive<u64>]) -> String {
    let words = ranges.iter().map(|range| match (range.start(), range.end()) {
        (start, end) if start == end => start.to_string(),
        (start, end) => format!("{start} to {end}"),
    });
    let words: Vec<String> = words.collect();
    let is_one = matches!(ranges, [range] if range.start() == range.end());
    format!("{} {}", if is_one { "version" } else { "versions" }, words.join(", "))
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
    if text.is_empty() {
        return store.disk.remove_if_exists(&store.layout().accepted());
    }
    store.disk.replace(&store.layout().accepted(), &[text.as_bytes()])
}
