//! Refs that are not there, or do not lead where they should.

use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::examining::Examined;
use crate::file::Name;
use crate::git::object::Id;
use crate::git::refs::Refs;
use crate::lineage::lineage_of;
use crate::version::Kept;

/// A ref that is not there, or does not lead where it should.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostRef {
    pub reference: String,
    pub file: Name,
    /// Where it should lead.
    pub tip: Id,
}

/// The lineage and the number in the name of a ref to one version, such as a pin.
pub(crate) fn numbered(name: &str) -> Option<(&str, u64)> {
    let name = name.strip_prefix("refs/")?;
    let (_, name) = name.split_once('/').filter(|(what, _)| NUMBERED.contains(what))?;
    let (lineage, number) = name.rsplit_once('/')?;
    Some((lineage, number.parse().ok()?))
}

/// Refs to single versions.
const NUMBERED: [&str; 3] = ["pins", "dismissed", "rescued"];

/// Where refs are: ours, and those that people's gits make.
const PLACES: [&str; 10] = [
    "heads",
    "pins",
    "dismissed",
    "rescued",
    "old",
    "remotes",
    "tags",
    "notes",
    "replace",
    "original",
];

/// Refs that commits tell of and that are not there, or lead elsewhere. `seen` are the versions that
/// can be reached; what is being purged is not missed.
pub(crate) fn lost_refs(
    examined: &Examined,
    refs: &Refs,
    seen: &FxHashSet<Id>,
    machine: &str,
    purged: &[String],
) -> Vec<LostRef> {
    let mut newest: BTreeMap<&str, &Kept> = BTreeMap::new();
    // Beyond what any ref leads to.
    let mut beyond: FxHashMap<&str, u64> = FxHashMap::default();
    let mut versions: FxHashMap<(&str, u64), &Kept> = FxHashMap::default();
    for kept in examined.commits.values() {
        let lineage = kept.version.lineage.as_str();
        let known = newest.entry(lineage).or_insert(kept);
        if kept.version.order > known.version.order {
            *known = kept;
        }
        if !seen.contains(&kept.id) {
            let order = beyond.entry(lineage).or_default();
            *order = kept.version.order.max(*order);
        }
        // Thinning leaves older forms of a version, until it is done.
        let known = versions.entry((lineage, kept.version.number)).or_insert(kept);
        if seen.contains(&kept.id) {
            *known = kept;
        }
    }
    let lost = |reference: String, kept: &Kept| LostRef {
        reference,
        file: kept.version.file.clone(),
        tip: kept.id,
    };
    let mut all = Vec::new();
    for (lineage, kept) in &newest {
        let reference = format!("refs/heads/{lineage}");
        let tip = refs.get(&reference).and_then(|id| examined.commits.get(id));
        let leads = tip.is_some_and(|tip| {
            let beyond = beyond.get(lineage).copied().unwrap_or_default();
            tip.version.lineage == **lineage && tip.version.order >= beyond
        });
        if !leads {
            all.push(lost(reference, kept));
        }
    }
    for (lineage, number) in versions.keys() {
        let kept = versions[&(*lineage, *number)];
        let parent =
            kept.parent.filter(|_| kept.version.collapse.is_some() && seen.contains(&kept.id));
        // What others pinned is theirs to know.
        let parent = parent.filter(|_| lineage.split('/').next() == Some(machine));
        let Some(good) = parent.and_then(|parent| examined.commits.get(&parent)) else { continue };
        let reference = format!("refs/pins/{lineage}/{}", good.version.number);
        if refs.get(&reference).is_none_or(|id| !examined.commits.contains_key(id)) {
            all.push(lost(reference, good));
        }
    }
    for (name, id) in refs {
        let Some((lineage, number)) = numbered(name) else { continue };
        let leads = examined.commits.get(id).is_some_and(|kept| is_called(kept, lineage, number));
        if let Some(kept) = versions.get(&(lineage, number)).filter(|_| !leads) {
            all.push(lost(name.clone(), kept));
        }
    }
    all.retain(|lost| {
        let lineage = numbered(&lost.reference).map_or(lineage_of(&lost.reference), |(l, _)| l);
        !purged.iter().any(|purged| purged == lineage)
    });
    all.sort_by(|a, b| a.reference.cmp(&b.reference));
    all.dedup();
    all
}

fn is_called(kept: &Kept, lineage: &str, number: u64) -> bool {
    kept.version.lineage == lineage && kept.version.number == number
}

/// Refs whose name nothing that was recorded knows, though they lead to something that was.
pub(crate) fn misspelt(examined: &Examined, refs: &Refs) -> Vec<String> {
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
                None => !name.split('/').nth(1).is_some_and(|place| PLACES.contains(&place)),
            },
        }
    };
    refs.iter().filter(|(name, id)| is_misspelt(name, id)).map(|(name, _)| name.clone()).collect()
}
