//! Refs that are missing or point to the wrong commit.

use rustc_hash::{FxHashMap, FxHashSet};

use super::reach::Reachability;
use super::report::LostRef;
use super::scan::Examined;
use crate::git::object::Id;
use crate::git::refs::Refs;
use crate::version::commit::StoredVersion;
use crate::version::lineage::{lineage_in, numbered};

impl Reachability {
    /// Refs that should exist according to the commits, but are missing or point elsewhere. `refs`
    /// are those from which `self` was built; lineages that are being purged are ignored.
    pub(in crate::upkeep) fn lost_refs(
        &self,
        examined: &Examined,
        refs: &Refs,
        machine: &str,
    ) -> Vec<LostRef> {
        // The highest order of a version in each lineage that no ref leads to.
        let mut beyond: FxHashMap<&str, u64> = FxHashMap::default();
        let mut versions: FxHashMap<(&str, u64), &StoredVersion> = FxHashMap::default();
        for stored in examined.commits.values() {
            let lineage = stored.version.lineage.as_str();
            if !self.seen.contains(&stored.id) {
                let order = beyond.entry(lineage).or_default();
                *order = stored.version.order.max(*order);
            }
            // An unfinished purge leaves older forms of a version behind.
            let known = versions.entry((lineage, stored.version.number)).or_insert(stored);
            if self.seen.contains(&stored.id) {
                *known = stored;
            }
        }
        let mut all: Vec<(String, &StoredVersion)> = Vec::new();
        for (lineage, stored) in examined.newest() {
            let reference = format!("refs/heads/{lineage}");
            let tip = refs.get(&reference).and_then(|id| examined.commits.get(id));
            let leads = tip.is_some_and(|tip| {
                let beyond = beyond.get(lineage).copied().unwrap_or_default();
                tip.version.lineage == lineage && tip.version.order >= beyond
            });
            if !leads {
                all.push((reference, stored));
            }
        }
        for ((lineage, _), stored) in &versions {
            let parent = stored
                .parent
                .filter(|_| stored.version.collapse.is_some() && self.seen.contains(&stored.id));
            // Pins of other machines are not ours to restore.
            let parent = parent.filter(|_| lineage.split('/').next() == Some(machine));
            let Some(good) = parent.and_then(|parent| examined.commits.get(&parent)) else {
                continue;
            };
            let reference = format!("refs/pins/{lineage}/{}", good.version.number);
            if refs.get(&reference).is_none_or(|id| !examined.commits.contains_key(id)) {
                all.push((reference, good));
            }
        }
        for (name, id) in refs {
            let Some((lineage, number)) = numbered(name) else { continue };
            let found = examined.commits.get(id);
            let leads = found.is_some_and(|stored| is_version(stored, lineage, number));
            if let Some(stored) = versions.get(&(lineage, number)).filter(|_| !leads) {
                all.push((name.clone(), stored));
            }
        }
        all.retain(|(name, _)| !examined.purged.iter().any(|purged| purged == lineage_in(name)));
        all.sort_by(|a, b| a.0.cmp(&b.0));
        let lost = all.into_iter().map(|(reference, stored)| LostRef {
            reference,
            file: stored.version.file.clone(),
            tip: stored.id,
        });
        let mut lost: Vec<LostRef> = lost.collect();
        lost.dedup();
        lost
    }
}

fn is_version(stored: &StoredVersion, lineage: &str, number: u64) -> bool {
    stored.version.lineage == lineage && stored.version.number == number
}

/// Refs with a name that occurs in no commit, although they point to a recorded version.
pub(in crate::upkeep) fn misspelt(examined: &Examined, refs: &Refs) -> Vec<String> {
    let lineages: FxHashSet<&str> =
        examined.commits.values().map(|stored| stored.version.lineage.as_str()).collect();
    let is_misspelt = |name: &str, id: &Id| {
        let Some(stored) = examined.commits.get(id) else { return false };
        match numbered(name) {
            Some((lineage, number)) => {
                !lineages.contains(lineage) && !is_version(stored, lineage, number)
            }
            None => match name.strip_prefix("refs/heads/") {
                Some(lineage) => !lineages.contains(lineage),
                None => !name.split('/').nth(1).is_some_and(is_ref_folder),
            },
        }
    };
    refs.iter().filter(|(name, id)| is_misspelt(name, id)).map(|(name, _)| name.clone()).collect()
}

/// Folders that refs may be in: ours, and those that git uses.
fn is_ref_folder(folder: &str) -> bool {
    let ours = ["heads", "pins", "dismissed", "rescued", "old"];
    let others = ["remotes", "tags", "notes", "replace", "original"];
    ours.contains(&folder) || others.contains(&folder)
}
