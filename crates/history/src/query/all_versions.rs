//! All versions of all files, newest first.

use std::collections::BTreeMap;
use std::time::SystemTime;

use crate::git::object::Id;
use crate::version::commit::StoredVersion;
use crate::version::history::History;
use crate::version::lineage::Lineage;

/// All recorded versions, newest first by [`crate::version::commit::Version::effective_time`],
/// without imported backups.
///
/// The versions of one file come in the order in which they were recorded, whatever the clock said.
pub struct AllVersions<'h, 'd> {
    history: &'h History<'d>,
    /// The newest version of each file that was not returned yet, and its predecessor.
    next: BTreeMap<Key<'h>, (AnyVersion<'h>, Option<StoredVersion>)>,
}

/// A version of any file.
pub struct AnyVersion<'h> {
    pub lineage: &'h Lineage,
    pub stored: StoredVersion,
    pub time: SystemTime,
}

/// The time of a version, but no later than its successor's; then its order, id and ref.
type Key<'h> = (SystemTime, u64, Id, &'h str);

impl<'h> AllVersions<'h, '_> {
    fn add(&mut self, lineage: &'h Lineage, stored: StoredVersion, latest: Option<SystemTime>) {
        let is_own = |before: &StoredVersion| before.version.lineage == stored.version.lineage;
        let before = self.history.before(&stored).filter(is_own);
        let time = stored.version.effective_time(before.as_ref().map(|before| &before.version));
        let when = latest.map_or(time, |latest| latest.min(time));
        let key = (when, stored.version.order, stored.id, lineage.reference.as_str());
        self.next.insert(key, (AnyVersion { lineage, stored, time }, before));
    }
}

impl<'h> Iterator for AllVersions<'h, '_> {
    type Item = AnyVersion<'h>;

    fn next(&mut self) -> Option<Self::Item> {
        let ((when, ..), (found, before)) = self.next.pop_last()?;
        if let Some(before) = before {
            self.add(found.lineage, before, Some(when));
        }
        Some(found)
    }
}

impl<'d> History<'d> {
    /// All versions of the files for which `is_included` is true. Other files are not read.
    pub fn all_versions(&self, is_included: impl Fn(&Lineage) -> bool) -> AllVersions<'_, 'd> {
        let seen = self.lineages().iter().filter(|lineage| !lineage.is_imported());
        let newest = seen.filter(|lineage| is_included(lineage));
        let mut all = AllVersions { history: self, next: BTreeMap::new() };
        newest.for_each(|lineage| all.add(lineage, lineage.tip.clone(), None));
        all
    }
}
