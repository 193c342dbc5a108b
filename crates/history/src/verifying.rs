//! Reads everything, rebuilds every newest version byte for byte, and names damage down to the
//! message.

mod damage;
mod references;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::error::HistoryError;
use crate::examining::{Examined, Fault, Tick, examine, set_aside_files};
use crate::file::Name;
use crate::git::object::{Id, Kind, Mode, tree_lines};
use crate::git::refs::Refs;
use crate::history::History;
use crate::lineage::lineage_of;
use crate::version::{Kept, Why};

pub use damage::{Damage, Piece};
use damage::{piece, ranges};
pub use references::LostRef;
pub(crate) use references::{lost_refs, misspelt, numbered};

/// What a history is like.
#[derive(Debug, Default)]
pub struct Verified {
    pub packs: usize,
    pub bytes: u64,
    pub objects: usize,
    /// Files, each with all its names.
    pub files: usize,
    pub versions: usize,
    /// Versions that can be rebuilt to the last byte.
    pub sound_versions: usize,
    /// What is wrong with the repository's own files.
    pub faults: Vec<Fault>,
    pub damage: Vec<Damage>,
    /// Refs that are not there, or do not lead where they should.
    pub lost_refs: Vec<LostRef>,
    /// Refs by a name that was never recorded.
    pub misspelt: Vec<String>,
    /// Files that changed since they were recorded. That is no damage.
    pub unrecorded: Vec<Name>,
    /// Damaged files that were put aside earlier.
    pub set_aside: Vec<PathBuf>,
}

impl Verified {
    pub fn is_sound(&self) -> bool {
        self.faults.is_empty()
            && self.damage.is_empty()
            && self.lost_refs.is_empty()
            && self.misspelt.is_empty()
    }
}

/// Reads everything. `live` gives the file of a name as it is on the disk now.
pub fn verify(
    history: &mut History<'_>,
    live: &dyn Fn(&Name) -> Option<Vec<u8>>,
    tick: &Tick<'_>,
) -> Result<Verified, HistoryError> {
    let machine = history.machine().to_owned();
    let examined = examine(history.store_mut(), &machine, tick)?;
    history.refresh()?;
    let mut walk = Walk::new(&examined);
    walk.refs(&examined.refs);
    let mut verified = Verified {
        packs: examined.packs.len(),
        bytes: examined.bytes,
        objects: examined.objects,
        files: history.lineages().iter().count(),
        versions: walk.versions,
        faults: examined.faults.clone(),
        lost_refs: lost_refs(&examined, &examined.refs, &walk.seen, &machine, &examined.purged),
        misspelt: misspelt(&examined, &examined.refs),
        set_aside: set_aside_files(history.store())?,
        ..Verified::default()
    };
    rebuild_tips(history, live, &mut walk, &mut verified.unrecorded);
    verified.sound_versions = walk.versions - walk.hurt.len();
    verified.damage = walk.damage();
    Ok(verified)
}

/// Rebuilds with what reads versions every day, which has to come to the same.
fn rebuild_tips(
    history: &History<'_>,
    live: &dyn Fn(&Name) -> Option<Vec<u8>>,
    walk: &mut Walk<'_>,
    unrecorded: &mut Vec<Name>,
) {
    for lineage in history.lineages().iter() {
        if walk.hurt.contains(&lineage.tip.id) {
            continue;
        }
        let version = &lineage.tip.version;
        match history.content(&lineage.tip) {
            Ok(content) if content.len() as u64 == version.bytes => {
                let is_live = lineage.machine == history.machine() && version.why != Why::Deleted;
                let now = is_live.then(|| live(lineage.file())).flatten();
                if now.is_some_and(|now| now != content) {
                    unrecorded.push(lineage.file().clone());
                }
            }
            _ => {
                walk.hurt.insert(lineage.tip.id);
                walk.add(&lineage.tip, Piece::All);
            }
        }
    }
}

/// Goes along everything that refs lead to, once.
pub(crate) struct Walk<'e> {
    examined: &'e Examined,
    /// Versions that can be reached.
    pub(crate) seen: FxHashSet<Id>,
    /// What is lost below each tree.
    trees: FxHashMap<Id, Rc<Vec<Lost>>>,
    pub(crate) versions: usize,
    /// Versions that cannot be rebuilt.
    hurt: FxHashSet<Id>,
    lost: BTreeMap<(String, Piece), (Name, Vec<u64>)>,
    /// What something refers to and nobody has.
    pub(crate) missing: FxHashSet<Id>,
    /// Lineages whose past is cut off, and before which version.
    pub(crate) cuts: Vec<(String, u64)>,
    /// Refs that lead nowhere.
    dead: Vec<String>,
}

struct Lost {
    /// Names of trees, and of the piece: `m/00/02/12`.
    path: Vec<Vec<u8>>,
}

/// No tree of ours is deeper.
const DEEPEST: usize = 8;

impl<'e> Walk<'e> {
    pub(crate) fn new(examined: &'e Examined) -> Self {
        Self {
            examined,
            seen: FxHashSet::default(),
            trees: FxHashMap::default(),
            versions: 0,
            hurt: FxHashSet::default(),
            lost: BTreeMap::new(),
            missing: FxHashSet::default(),
            cuts: Vec::new(),
            dead: Vec::new(),
        }
    }

    pub(crate) fn refs(&mut self, refs: &Refs) {
        for (name, id) in refs {
            if self.examined.commits.contains_key(id) {
                self.chain(*id);
            } else {
                self.missing.insert(*id);
                self.dead.push(name.clone());
            }
        }
        self.name_cuts();
    }

    fn chain(&mut self, tip: Id) {
        let examined = self.examined;
        let mut next = Some(tip);
        while let Some(kept) = next.and_then(|id| examined.commits.get(&id)) {
            if !self.seen.insert(kept.id) {
                break;
            }
            self.versions += 1;
            let lost = self.tree(kept.tree, 0);
            for lost in lost.iter() {
                self.hurt.insert(kept.id);
                self.add(kept, piece(&lost.path));
            }
            if let Some(parent) =
                kept.parent.filter(|parent| !examined.commits.contains_key(parent))
            {
                self.missing.insert(parent);
                self.cuts.push((kept.version.lineage.clone(), kept.version.number));
            }
            next = kept.parent;
        }
    }

    fn tree(&mut self, id: Id, depth: usize) -> Rc<Vec<Lost>> {
        if let Some(known) = self.trees.get(&id) {
            return Rc::clone(known);
        }
        let mut lost = Vec::new();
        match self.examined.read(&id, Kind::Tree).filter(|_| depth < DEEPEST) {
            None => {
                self.missing.insert(id);
                lost.push(Lost { path: Vec::new() });
            }
            Some(tree) => {
                for line in tree_lines(&tree) {
                    let Some(line) = line else {
                        lost.push(Lost { path: Vec::new() });
                        break;
                    };
                    match line.mode {
                        Mode::Blob if self.examined.sound.contains_key(&line.id) => {}
                        Mode::Blob => {
                            self.missing.insert(line.id);
                            lost.push(Lost { path: vec![line.name.to_vec()] });
                        }
                        Mode::Tree => {
                            let below = self.tree(line.id, depth + 1);
                            lost.extend(below.iter().map(|below| {
                                let name = std::iter::once(line.name.to_vec());
                                Lost { path: name.chain(below.path.iter().cloned()).collect() }
                            }));
                        }
                    }
                }
            }
        }
        let lost = Rc::new(lost);
        self.trees.insert(id, Rc::clone(&lost));
        lost
    }

    fn add(&mut self, kept: &Kept, piece: Piece) {
        let key = (kept.version.lineage.clone(), piece);
        let lost = self.lost.entry(key).or_insert_with(|| (kept.version.file.clone(), Vec::new()));
        lost.1.push(kept.version.number);
    }

    /// The versions between a cut and what is left before it, and those that only a ref knows of.
    fn name_cuts(&mut self) {
        let mut known: BTreeMap<&str, BTreeMap<u64, &Name>> = BTreeMap::new();
        for kept in self.examined.commits.values() {
            let numbers = known.entry(&kept.version.lineage).or_default();
            numbers.insert(kept.version.number, &kept.version.file);
        }
        let cuts = self.cuts.iter().map(|(lineage, before)| {
            let older = known.get(lineage.as_str()).and_then(|own| own.range(..before).next_back());
            let from = older.map_or(1, |(number, _)| number + 1);
            (lineage.as_str(), from.min(before - 1).max(1), (before - 1).max(1))
        });
        let dead = self.dead.iter().filter_map(|name| match numbered(name) {
            Some((lineage, number)) => {
                let is_known = known.get(lineage).is_some_and(|own| own.contains_key(&number));
                (!is_known).then_some((lineage, number, number))
            }
            // Where anything of it is left, its ref is what is lost.
            None => {
                let lineage = lineage_of(name);
                (!known.contains_key(lineage)).then_some((lineage, 1, 1))
            }
        });
        for (lineage, from, to) in cuts.chain(dead) {
            let own = known.get(lineage).and_then(BTreeMap::last_key_value);
            let file = own.map_or_else(|| Name::of_text(lineage), |(_, file)| (*file).clone());
            let key = (lineage.to_owned(), Piece::Version);
            let lost = self.lost.entry(key).or_insert_with(|| (file, Vec::new()));
            lost.1.extend(from..=to);
        }
    }

    fn damage(self) -> Vec<Damage> {
        let damage = self.lost.into_iter().map(|((lineage, piece), (file, mut numbers))| {
            numbers.sort_unstable();
            numbers.dedup();
            Damage { lineage, file, piece, versions: ranges(&numbers) }
        });
        damage.collect()
    }
}
