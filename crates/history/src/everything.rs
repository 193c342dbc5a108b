//! All versions of all files, the newest first.

use std::collections::BTreeMap;
use std::time::SystemTime;

use crate::error::Result;
use crate::git::object::Id;
use crate::history::History;
use crate::lineage::Lineage;
use crate::version::Kept;

/// Everything that was recorded, the newest first by [`crate::version::Version::came`]; not what
/// SillyTavern's own backups add to it.
///
/// The versions of one file come in the order in which they were recorded, whatever a clock said.
pub struct Everything<'h, 'd> {
    history: &'h History<'d>,
    /// The newest version of each file that was not told yet, and the one before it.
    next: BTreeMap<Key<'h>, (Told<'h>, Option<Result<Kept>>)>,
}

/// A version of everything.
pub struct Told<'h> {
    pub lineage: &'h Lineage,
    pub kept: Kept,
    pub came: SystemTime,
}

/// When a version came, but no later than the version after it; then its order, and whose it is.
type Key<'h> = (SystemTime, u64, Id, &'h str);

impl<'h> Everything<'h, '_> {
    fn add(&mut self, lineage: &'h Lineage, kept: Kept, latest: Option<SystemTime>) {
        let before = kept.parent.map(|parent| Kept::read(self.history.store(), parent));
        let is_own = |before: &Kept| before.version.lineage == kept.version.lineage;
        let before = before.filter(|before| before.as_ref().map_or(true, is_own));
        let known = before.as_ref().and_then(|before| before.as_ref().ok());
        let came = kept.version.came(known.map(|before| &before.version));
        let when = latest.map_or(came, |latest| latest.min(came));
        let key = (when, kept.version.order, kept.id, lineage.reference.as_str());
        self.next.insert(key, (Told { lineage, kept, came }, before));
    }
}

impl<'h> Iterator for Everything<'h, '_> {
    type Item = Result<Told<'h>>;

    fn next(&mut self) -> Option<Self::Item> {
        let ((when, ..), (told, before)) = self.next.pop_last()?;
        match before {
            Some(Ok(before)) => self.add(told.lineage, before, Some(when)),
            Some(Err(error)) => return Some(Err(error)),
            None => {}
        }
        Some(Ok(told))
    }
}

impl<'d> History<'d> {
    /// Everything of the files that `is_meant`. Those of others are not read.
    pub fn everything(&self, is_meant: impl Fn(&Lineage) -> bool) -> Everything<'_, 'd> {
        let seen = self.lineages().iter().filter(|lineage| !lineage.is_imported());
        let newest = seen.filter(|lineage| is_meant(lineage));
        let mut everything = Everything { history: self, next: BTreeMap::new() };
        newest.for_each(|lineage| everything.add(lineage, lineage.tip.clone(), None));
        everything
    }
}
