//! What is reachable from refs, and what of that is lost.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::report::{Damage, FilePart};
use super::scan::Examined;
use crate::file::FileName;
use crate::git::object::{Id, Kind, TreeMode, tree_lines};
use crate::git::refs::Refs;
use crate::version::commit::StoredVersion;
use crate::version::lineage::{lineage_of, numbered};
use crate::version::lost::ranges;

/// Everything reachable from refs.
#[derive(Default)]
pub(in crate::upkeep) struct Reachability {
    /// Reachable versions.
    pub(in crate::upkeep) seen: FxHashSet<Id>,
    /// Versions that cannot be rebuilt.
    pub(in crate::upkeep) damaged: FxHashSet<Id>,
    /// Objects that are referenced but do not exist.
    pub(in crate::upkeep) missing: FxHashSet<Id>,
    /// Lineages whose older versions are unreachable, and the version at which they are cut off.
    pub(in crate::upkeep) cuts: Vec<(String, u64)>,
    /// By lineage and part: the file, and the versions that lack the part.
    lost: BTreeMap<(String, FilePart), (FileName, BTreeSet<u64>)>,
    /// The paths that are lost below each tree.
    trees: FxHashMap<Id, Rc<Vec<LostPath>>>,
}

/// Names of trees and of the piece: `m/00/02/12`.
type LostPath = Vec<Vec<u8>>;

/// No tree that Forklore writes is deeper.
const DEEPEST: usize = 8;

impl Reachability {
    /// Walks everything once.
    pub(in crate::upkeep) fn new(examined: &Examined, refs: &Refs) -> Self {
        let mut reached = Self::default();
        let mut dead = Vec::new();
        for (name, id) in refs {
            if examined.commits.contains_key(id) {
                reached.chain(examined, *id);
            } else {
                reached.missing.insert(*id);
                dead.push(name.as_str());
            }
        }
        reached.add_cuts(examined, &dead);
        reached
    }

    fn chain(&mut self, examined: &Examined, tip: Id) {
        let mut next = Some(tip);
        while let Some(stored) = next.and_then(|id| examined.commits.get(&id)) {
            if !self.seen.insert(stored.id) {
                break;
            }
            for path in self.tree(examined, stored.tree, 0).iter() {
                self.mark_damaged(stored, FilePart::at(path));
            }
            next = stored.parent;
            if let Some(lost) = next.filter(|parent| !examined.commits.contains_key(parent)) {
                self.missing.insert(lost);
                self.cuts.push((stored.version.lineage.clone(), stored.version.number));
            }
        }
    }

    fn tree(&mut self, examined: &Examined, id: Id, depth: usize) -> Rc<Vec<LostPath>> {
        if let Some(known) = self.trees.get(&id) {
            return Rc::clone(known);
        }
        let mut lost = Vec::new();
        let tree = examined.content(&id).filter(|(kind, _)| *kind == Kind::Tree);
        let Some((_, tree)) = tree.filter(|_| depth < DEEPEST) else {
            self.missing.insert(id);
            return self.remember(id, vec![LostPath::new()]);
        };
        for line in tree_lines(&tree) {
            let Some(line) = line else {
                lost.push(LostPath::new());
                break;
            };
            match line.mode {
                TreeMode::Blob if examined.sound.contains_key(&line.id) => {}
                TreeMode::Blob => {
                    self.missing.insert(line.id);
                    lost.push(vec![line.name.to_vec()]);
                }
                TreeMode::Tree => {
                    let below = self.tree(examined, line.id, depth + 1);
                    lost.extend(
                        below.iter().map(|path| [&[line.name.to_vec()], &path[..]].concat()),
                    );
                }
            }
        }
        self.remember(id, lost)
    }

    fn remember(&mut self, tree: Id, lost: Vec<LostPath>) -> Rc<Vec<LostPath>> {
        Rc::clone(self.trees.entry(tree).or_insert(Rc::new(lost)))
    }

    /// Marks a version that cannot be rebuilt.
    pub(in crate::upkeep) fn mark_damaged(&mut self, stored: &StoredVersion, piece: FilePart) {
        self.damaged.insert(stored.id);
        let key = (stored.version.lineage.clone(), piece);
        let lost = self.lost.entry(key);
        let (_, numbers) = lost.or_insert_with(|| (stored.version.file.clone(), BTreeSet::new()));
        numbers.insert(stored.version.number);
    }

    /// Adds the versions between a cut and the newest one before it, and those of which only a ref
    /// is left.
    fn add_cuts(&mut self, examined: &Examined, dead: &[&str]) {
        let mut known: BTreeMap<&str, BTreeMap<u64, &FileName>> = BTreeMap::new();
        for stored in examined.commits.values() {
            let numbers = known.entry(&stored.version.lineage).or_default();
            numbers.insert(stored.version.number, &stored.version.file);
        }
        let cuts = self.cuts.iter().map(|(lineage, before)| {
            let older = known.get(lineage.as_str()).and_then(|own| own.range(..before).next_back());
            let from = older.map_or(1, |(number, _)| number + 1);
            (lineage.as_str(), from.min(before - 1).max(1), (before - 1).max(1))
        });
        let dead = dead.iter().filter_map(|name| match numbered(name) {
            Some((lineage, number)) => {
                let is_known = known.get(lineage).is_some_and(|own| own.contains_key(&number));
                (!is_known).then_some((lineage, number, number))
            }
            // If any version of the lineage is left, it is the ref that is lost.
            None => {
                let lineage = lineage_of(name);
                (!known.contains_key(lineage)).then_some((lineage, 1, 1))
            }
        });
        for (lineage, from, to) in cuts.chain(dead) {
            let own = known.get(lineage).and_then(BTreeMap::last_key_value);
            let file = own.map_or_else(|| FileName::of_text(lineage), |(_, file)| (*file).clone());
            let lost = self.lost.entry((lineage.to_owned(), FilePart::Version));
            lost.or_insert_with(|| (file, BTreeSet::new())).1.extend(from..=to);
        }
    }

    pub(in crate::upkeep) fn damage(self) -> Vec<Damage> {
        let damage = self.lost.into_iter().map(|((lineage, piece), (file, numbers))| Damage {
            lineage,
            file,
            piece,
            versions: ranges(numbers),
        });
        damage.collect()
    }
}
