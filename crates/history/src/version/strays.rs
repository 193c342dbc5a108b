//! Versions that are there although nothing leads to them, because something in between is damaged.
//!
//! They are found by looking at every object, so this is done only where a chain is broken.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use crate::git::object::{Id, Kind};
use crate::git::refs::Refs;
use crate::store::Store;
use crate::version::commit::StoredVersion;

/// All versions of all files that can be read.
#[derive(Debug, Default)]
pub(crate) struct Strays {
    /// By lineage and number.
    versions: FxHashMap<String, BTreeMap<u64, StoredVersion>>,
}

impl Strays {
    pub(crate) fn find(store: &Store<'_>) -> Self {
        // Lineages that are being purged are not brought back.
        let purged = store.layout().unfinished_purge(store.disk).ok().flatten().unwrap_or_default();
        let mut strays = Self::default();
        for id in store.ids() {
            if !matches!(store.header(&id), Ok(Some((Kind::Commit, _)))) {
                continue;
            }
            let Ok(stored) = StoredVersion::read(store, id) else { continue };
            if !purged.contains(&stored.version.lineage) {
                strays.add(stored);
            }
        }
        strays
    }

    /// The refs that the versions call for and that are not there.
    pub(crate) fn missing_refs(&self, refs: &Refs) -> Refs {
        let heads =
            self.lineages().map(|(lineage, newest)| (format!("refs/heads/{lineage}"), newest.id));
        let mut missing: Refs = heads.chain(self.pinned()).collect();
        missing.retain(|name, _| !refs.contains_key(name));
        missing
    }

    fn add(&mut self, stored: StoredVersion) {
        let versions = self.versions.entry(stored.version.lineage.clone()).or_default();
        let known = versions.entry(stored.version.number).or_insert_with(|| stored.clone());
        // Where a number was given twice, the later one counts.
        if stored.version.order > known.version.order {
            *known = stored;
        }
    }

    /// The newest version of a lineage, as far as it can be read.
    pub(crate) fn newest(&self, lineage: &str) -> Option<&StoredVersion> {
        self.versions.get(lineage)?.values().next_back()
    }

    /// The newest one before this number.
    pub(crate) fn newest_before(&self, lineage: &str, number: u64) -> Option<&StoredVersion> {
        Some(self.versions.get(lineage)?.range(..number).next_back()?.1)
    }

    /// The lineages, each with its newest version.
    pub(crate) fn lineages(&self) -> impl Iterator<Item = (&str, &StoredVersion)> {
        let newest = self.versions.iter();
        newest.filter_map(|(name, versions)| Some((&**name, versions.values().next_back()?)))
    }

    /// The versions before those that look like a loss: they are to be pinned.
    fn pinned(&self) -> impl Iterator<Item = (String, Id)> + '_ {
        let all = self.versions.values().flat_map(|versions| versions.values());
        all.filter(|lost| lost.version.collapse.is_some()).filter_map(|lost| {
            let version = &lost.version;
            let good = self.newest_before(&version.lineage, version.number)?;
            let is_it = lost.parent == Some(good.id);
            let name = format!("refs/pins/{}/{}", version.lineage, good.version.number);
            is_it.then_some((name, good.id))
        })
    }
}
