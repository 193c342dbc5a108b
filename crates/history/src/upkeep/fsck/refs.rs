//! Refs that are not there, or do not lead where they should.

use rustc_hash::{FxHashMap, FxHashSet};

use super::reach::Reachability;
use super::report::LostRef;
use super::scan::Examined;
use crate::git::object::Id;
use crate::git::refs::Refs;
use crate::version::commit::StoredVersion;
use crate::version::lineage::{lineage_in, numbered};

impl Reachability {
    /// Refs that commits tell of and that are not there, or lead elsewhere. `refs` are those by which
    /// this was reached; what is being purged is not missed.
    pub(in crate::upkeep) fn lost_refs(
        &self,
        examined: &Examined,
        refs: &Refs,
        machine: &str,
    ) -> Vec<LostRef> {
        // Beyond what any ref leads to.
        let mut beyond: FxHashMap<&str, u64> = FxHashMap::default();
        let mut versions: FxHashMap<(&str, u64), &StoredVersion> = FxHashMap::default();
        for kept in examined.commits.values() {
            let lineage = kept.version.lineage.as_str();
            if !self.seen.contains(&kept.id) {
                let order = beyond.entry(lineage).or_default();
                *order = kept.version.order.max(*order);
            }
            // Thinning leaves older forms of a version, until it is done.
            let known = versions.entry((lineage, kept.version.number)).or_insert(kept);
            if self.seen.contains(&kept.id) {
                *known = kept;
            }
        }
        let mut all: Vec<(String, &StoredVersion)> = Vec::new();
        for (lineage, kept) in examined.newest() {
            let reference = format!("refs/heads/{lineage}");
            let tip = refs.get(&reference).and_then(|id| examined.commits.get(id));
            let leads = tip.is_some_and(|tip| {
                let beyond = beyond.get(lineage).copied().unwrap_or_default();
                tip.version.lineage == lineage && tip.version.order >= beyond
            });
            if !leads {
                all.push((reference, kept));
            }
        }
        for ((lineage, _), kept) in &versions {
            let parent = kept
                .parent
                .filter(|_| kept.version.collapse.is_some() && self.seen.contains(&kept.id));
            // What others pinned is theirs to know.
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
            let leads = found.is_some_and(|kept| is_called(kept, lineage, number));
            if let Some(kept) = versions.get(&(lineage, number)).filter(|_| !leads) {
                all.push((name.clone(), kept));
            }
        }
        all.retain(|(name, _)| !examined.purged.iter().any(|purged| purged == lineage_in(name)));
        all.sort_by(|a, b| a.0.cmp(&b.0));
        let lost = all.into_iter().map(|(reference, kept)| LostRef {
            reference,
            file: kept.version.file.clone(),
            tip: kept.id,
        });
        let mut lost: Vec<LostRef> = lost.collect();
        lost.dedup();
        lost
    }
}

fn is_called(kept: &StoredVersion, lineage: &str, number: u64) -> bool {
    kept.version.lineage == lineage && kept.version.number == number
}

/// Refs whose name nothing that was recorded knows, though they lead to something that was.
pub(in crate::upkeep) fn misspelt(examined: &Examined, refs: &Refs) -> Vec<String> {
    let lineages: FxHashSet<&str> =
        examined.commits.values().map(|kept| kept.version.lineage.as_str()).collect();
    let is_misspelt = |name: &str, id: &Id| {
        let Some(kept) = examined.commits.get(id) else { return false };
        match numbered(name) {
            Some((lineage, number)) => {
                !lineages.contains(lineage) && !is_called(kept, lineage, number)
            }
            None => match name.strip_prefix("refs/heads/") {
                Some(lineage) => !lineages.contains(lineage),
                None => !name.split('/').nth(1).is_some_and(is_place),
            },
        }
    };
    refs.iter().filter(|(name, id)| is_misspelt(name, id)).map(|(name, _)| name.clone()).collect()
}

/// Where refs are: ours, and those that people's gits make.
fn is_place(folder: &str) -> bool {
    let ours = ["heads", "pins", "dismissed", "rescued", "old"];
    let others = ["remotes", "tags", "notes", "replace", "original"];
    ours.contains(&folder) || others.contains(&folder)
}
