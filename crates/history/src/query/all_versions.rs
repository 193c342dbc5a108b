//! All versions of all files, the newest first.

use std::collections::BTreeMap;
use std::time::SystemTime;

use crate::error::Result;
use crate::git::object::Id;
use crate::version::commit::StoredVersion;
use crate::version::history::History;
use crate::version::lineage::Lineage;

/// Everything that was recorded, the newest first by [`crate::version::commit::Version::came`]; not what
/// SillyTavern's own backups add to it.
///
/// The versions of one file come in the order in which they were recorded, whatever a clock said.
pub struct AllVersions<'h, 'd> {
    history: &'h History<'d>,
    /// The newest version of each file that was not told yet, and the one before it.
    next: BTreeMap<Key<'h>, (AnyVersion<'h>, Option<Result<StoredVersion>>)>,
}

/// A version of everything.
pub struct AnyVersion<'h> {
    pub lineage: &'h Lineage,
    pub kept: StoredVersion,
    pub came: SystemTime,
}

/// When a version came, but no later than the version after it; then its order, and whose it is.
type Key<'h> = (SystemTime, u64, Id, &'h str);

impl<'h> AllVersions<'h, '_> {
    fn add(&mut self, lineage: &'h Lineage, kept: StoredVersion, latest: Option<SystemTime>) {
        let before = kept.parent.map(|parent| StoredVersion::read(self.history.store(), parent));
        let is_own = |before: &StoredVersion| before.version.lineage == kept.version.lineage;
        let before = before.filter(|before| before.as_ref().map_or(true, is_own));
        let known = before.as_ref().and_then(|before| before.as_ref().ok());
        let came = kept.version.came(known.map(|before| &before.version));
        let when = latest.map_or(came, |latest| latest.min(came));
        let key = (when, kept.version.order, kept.id, lineage.reference.as_str());
        self.next.insert(key, (AnyVersion { lineage, kept, came }, before));
    }
}

impl<'h> Iterator for AllVersions<'h, '_> {
    type Item = Result<AnyVersion<'h>>;

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
    pub fn everything(&self, is_meant: impl Fn(&Lineage) -> bool) -> AllVersions<'_, 'd> {
        let seen = self.lineages().iter().filter(|lineage| !lineage.is_imported());
        let newest = seen.filter(|lineage| is_meant(lineage));
        let mut everything = AllVersions { history: self, next: BTreeMap::new() };
        newest.for_each(|lineage| everything.add(lineage, lineage.tip.clone(), None));
        everything
    }
}
