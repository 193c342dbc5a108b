//! All versions of all files, the newest first.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::time::SystemTime;

use crate::error::HistoryError;
use crate::history::History;
use crate::lineage::Lineage;
use crate::version::Kept;

/// Everything that was recorded, the newest first by [`crate::version::Version::came`]; not what
/// SillyTavern's own backups add to it.
///
/// The versions of one file come in the order in which they were recorded, whatever a clock said.
pub struct Everything<'h, 'd> {
    history: &'h History<'d>,
    next: BinaryHeap<Next<'h>>,
}

/// A version of everything.
pub struct Told<'h> {
    pub lineage: &'h Lineage,
    pub kept: Kept,
    pub came: SystemTime,
}

/// The newest version of a file that was not told yet.
struct Next<'h> {
    /// No later than that of the version after it.
    key: SystemTime,
    told: Told<'h>,
    before: Option<Result<Kept, HistoryError>>,
}

impl<'h> Next<'h> {
    fn new(
        history: &History<'_>,
        lineage: &'h Lineage,
        kept: Kept,
        latest: Option<SystemTime>,
    ) -> Self {
        let before = kept.parent.map(|parent| Kept::read(history.store(), parent));
        let is_own = |before: &Kept| before.version.lineage == kept.version.lineage;
        let before = before.filter(|before| before.as_ref().map_or(true, is_own));
        let known = before.as_ref().and_then(|before| before.as_ref().ok());
        let came = kept.version.came(known.map(|before| &before.version));
        let key = latest.map_or(came, |latest| latest.min(came));
        Self { key, told: Told { lineage, kept, came }, before }
    }
}

impl<'h> Iterator for Everything<'h, '_> {
    type Item = Result<Told<'h>, HistoryError>;

    fn next(&mut self) -> Option<Self::Item> {
        let Next { key, told, before } = self.next.pop()?;
        match before {
            Some(Ok(before)) => {
                self.next.push(Next::new(self.history, told.lineage, before, Some(key)));
            }
            Some(Err(error)) => return Some(Err(error)),
            None => {}
        }
        Some(Ok(told))
    }
}

impl Ord for Next<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        let key = |next: &Self| (next.key, next.told.kept.version.order, next.told.kept.id);
        key(self).cmp(&key(other))
    }
}

impl PartialOrd for Next<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Next<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Next<'_> {}

impl<'d> History<'d> {
    /// Everything of the files that `is_meant`. Those of others are not read.
    pub fn everything(&self, is_meant: impl Fn(&Lineage) -> bool) -> Everything<'_, 'd> {
        let seen = self.lineages().iter().filter(|lineage| !lineage.is_imported());
        let newest = seen.filter(|lineage| is_meant(lineage));
        let next = newest.map(|lineage| Next::new(self, lineage, lineage.tip.clone(), None));
        Everything { history: self, next: next.collect() }
    }
}
