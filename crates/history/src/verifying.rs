//! Reads everything, rebuilds every newest version byte for byte, and names damage down to the
//! message.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
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
use crate::split::Numbering;
use crate::version::{Kept, Why};

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

/// Something that some versions of a file lack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    pub lineage: String,
    pub file: Name,
    pub piece: Piece,
    pub versions: Vec<RangeInclusive<u64>>,
}

/// A part of a file, in human terms.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Piece {
    /// The version itself is not known any more.
    Version,
    All,
    Head,
    Message(u32),
    Messages(u32, u32),
    Entry(u32),
    Entries(u32, u32),
    Place(u32),
    Places(u32, u32),
    Tail,
}

/// A ref that is not there, or does not lead where it should.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostRef {
    pub reference: String,
    pub file: Name,
    /// Where it should lead.
    pub tip: Id,
}

impl Verified {
    pub fn is_sound(&self) -> bool {
        self.faults.is_empty()
            && self.damage.is_empty()
            && self.lost_refs.is_empty()
            && self.misspelt.is_empty()
    }
}

impl std::fmt::Display for Piece {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Version => f.write_str("what was recorded"),
            Self::All => f.write_str("all of it"),
            Self::Head => f.write_str("the beginning"),
            Self::Message(number) => write!(f, "message {number}"),
            Self::Messages(from, to) => write!(f, "messages {from} to {to}"),
            Self::Entry(key) => write!(f, "the entry with key {key}"),
            Self::Entries(from, to) => write!(f, "the entries with keys {from} to {to}"),
            Self::Place(number) => write!(f, "part {number}"),
            Self::Places(from, to) => write!(f, "parts {from} to {to}"),
            Self::Tail => f.write_str("the end"),
        }
    }
}

impl Damage {
    /// Whether no version of the file can be reached, so that its ref stands for its name.
    pub fn is_all_unreached(&self) -> bool {
        self.piece == Piece::Version && self.file.as_str() == self.lineage
    }
}

impl std::fmt::Display for Damage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.is_all_unreached() {
            return write!(f, "everything of {}", self.lineage);
        }
        let versions: Vec<String> = self.versions.iter().map(range_words).collect();
        let is_one = matches!(&self.versions[..], [range] if range.start() == range.end());
        let word = if is_one { "version" } else { "versions" };
        write!(f, "{} of {} in {word} {}", self.piece, self.file.label(), versions.join(", "))
    }
}

fn range_words(range: &RangeInclusive<u64>) -> String {
    match (range.start(), range.end()) {
        (start, end) if start == end => start.to_string(),
        (start, end) => format!("{start} to {end}"),
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

fn ranges(numbers: &[u64]) -> Vec<RangeInclusive<u64>> {
    let mut ranges: Vec<RangeInclusive<u64>> = Vec::new();
    for number in numbers {
        match ranges.last_mut() {
            Some(last) if *last.end() + 1 == *number => *last = *last.start()..=*number,
            _ => ranges.push(*number..=*number),
        }
    }
    ranges
}

/// What lies at a path of a version's tree.
fn piece(path: &[Vec<u8>]) -> Piece {
    let Some((first, rest)) = path.split_first() else { return Piece::All };
    let Some(numbering) = Numbering::of_folder(first) else {
        return if first == b"a" { Piece::Head } else { Piece::Tail };
    };
    let digits = rest.iter().map(|name| {
        let text = std::str::from_utf8(name).unwrap_or_default();
        text.parse::<u32>().unwrap_or_default()
    });
    let missing = 3_usize.saturating_sub(rest.len()) as u32;
    let width = 100_u32.pow(missing);
    let from = digits.take(3).fold(0, |sum, part| sum * 100 + part.min(99)) * width;
    let to = from + width - 1;
    match (numbering, missing) {
        (Numbering::Messages, 0) => Piece::Message(from),
        (Numbering::Messages, _) => Piece::Messages(from, to),
        (Numbering::Entries, 0) => Piece::Entry(from),
        (Numbering::Entries, _) => Piece::Entries(from, to),
        (Numbering::Places, 0) => Piece::Place(from),
        (Numbering::Places, _) => Piece::Places(from, to),
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_has_a_name_in_human_terms() {
        let named = |path: &str| {
            let path: Vec<Vec<u8>> =
                path.split('/').filter(|p| !p.is_empty()).map(|p| p.as_bytes().to_vec()).collect();
            piece(&path).to_string()
        };
        for (path, expected) in [
            ("", "all of it"),
            ("a", "the beginning"),
            ("z", "the end"),
            ("m/00/02/12", "message 212"),
            ("m/00/02", "messages 200 to 299"),
            ("m", "messages 0 to 999999"),
            ("e/00/00/12", "the entry with key 12"),
            ("p/00/00/03", "part 3"),
        ] {
            assert_eq!(named(path), expected);
        }
    }

    #[test]
    fn damage_reads_like_a_sentence() {
        let damage = Damage {
            lineage: String::new(),
            file: Name::of_text("chats/Anna/Story.jsonl"),
            piece: Piece::Message(212),
            versions: ranges(&[40, 41, 42, 60]),
        };
        assert_eq!(damage.to_string(), "message 212 of Anna/Story in versions 40 to 42, 60");
        let damage = Damage { versions: ranges(&[3]), ..damage };
        assert_eq!(damage.to_string(), "message 212 of Anna/Story in version 3");
    }
}
