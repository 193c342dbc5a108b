//! Takes in what other machines recorded.
//!
//! Each machine writes only below its own name, so what two of them recorded apart lies side by side
//! and never conflicts. What comes from outside is looked through before any ref points at it: it has
//! to be versions of files, all of them there, under names of ours; and nothing that comes from
//! outside changes what this machine recorded itself. Until then it lies outside the store: what no
//! ref leads to must not be taken one day for something that was lost.

use std::collections::BTreeMap;
use std::path::Component;

use rustc_hash::FxHashSet;

use crate::error::HistoryError;
use crate::file::{Kind as FileKind, Name};
use crate::git::object::{Id, Kind, Mode, tree_lines};
use crate::git::pack::{Packed, Packer};
use crate::git::refs::Refs;
use crate::store::{Store, Writing};
use crate::version::Kept;

/// What was taken in.
#[derive(Debug, Default)]
pub struct Joined {
    /// By machine.
    pub machines: BTreeMap<String, Came>,
    /// What is no history of a file, or lacks a part.
    pub refused: Vec<Refused>,
    /// Files of this machine whose past is another one there. They are left alone here.
    pub ours_differ: usize,
}

/// What came from one machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Came {
    pub files: usize,
    pub versions: usize,
    /// Files whose past is another one now. What it was is kept below `refs/old`.
    pub rewritten: usize,
}

/// A ref that was not taken in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    pub reference: String,
    pub why: Unsound,
}

/// Why something from outside is not a history of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unsound {
    #[error("the name is not one of ours")]
    Name,
    #[error("it is not a version of a file")]
    NotAVersion,
    #[error("it is a version of another file")]
    OtherFile,
    #[error("a part of it is missing")]
    Missing,
    #[error("a part of it has a shape that no file has")]
    Shape,
}

/// What is to be done to take something in.
pub(crate) struct Plan {
    points: Vec<(String, Id)>,
    /// What belongs to it and is not in the store.
    objects: FxHashSet<Id>,
    pub(crate) joined: Joined,
}

/// Objects that came and are not in the store.
pub(crate) trait Beside {
    fn has(&self, id: &Id) -> bool;
    fn read(&self, id: &Id) -> Result<Option<(Kind, Vec<u8>)>, HistoryError>;
    fn ids(&self) -> Vec<Id>;
    /// All of them, in the packs in which they came.
    fn packs(&self) -> Result<Vec<Packed>, HistoryError>;
}

/// Where the objects of what is offered are.
struct Source<'s, 'd> {
    store: &'s Store<'d>,
    beside: &'s dyn Beside,
}

/// The name of a ref of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reference<'a> {
    pub(crate) machine: &'a str,
    kind: FileKind,
    /// `<machine>/<kind>/<name>`
    lineage: &'a str,
    /// The version, where it is the name of a pin or of something dismissed.
    number: Option<u64>,
}

impl<'a> Reference<'a> {
    /// Reads the name of a ref that goes from machine to machine.
    pub(crate) fn parse(name: &'a str) -> Option<Self> {
        const LONGEST: usize = 120;
        let (folder, rest) = name.strip_prefix("refs/")?.split_once('/')?;
        let (lineage, number) = match folder {
            "heads" => (rest, None),
            "pins" | "dismissed" => {
                let (lineage, number) = rest.rsplit_once('/')?;
                let is_plain =
                    !number.starts_with('0') && number.bytes().all(|b| b.is_ascii_digit());
                (lineage, Some(number.parse().ok().filter(|_| is_plain)?))
            }
            _ => return None,
        };
        let mut parts = lineage.split('/');
        let (machine, kind, name) = (parts.next()?, parts.next()?, parts.next()?);
        let is_slug = |text: &str| {
            let is_plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
            !text.is_empty()
                && text.len() <= LONGEST
                && !text.starts_with('-')
                && text.bytes().all(is_plain)
        };
        let is_ours = parts.next().is_none() && is_slug(machine) && is_slug(name);
        let kind = FileKind::of_folder(kind)?;
        is_ours.then_some(Self { machine, kind, lineage, number })
    }
}

/// Finds out what of `offered` is sound and new. Changes nothing.
pub(crate) fn plan(
    store: &Store<'_>,
    beside: &dyn Beside,
    own: &str,
    offered: &Refs,
) -> Result<Plan, HistoryError> {
    let source = Source { store, beside };
    let (points, objects) = (Vec::new(), FxHashSet::default());
    let mut plan = Plan { points, objects, joined: Joined::default() };
    let mut sounding = Sounding::new(&source);
    // Pins belong to files, which come first: `dismissed` sorts before `heads`.
    let (heads, others): (Vec<_>, Vec<_>) =
        offered.iter().partition(|(name, _)| name.starts_with("refs/heads/"));
    let mut known: FxHashSet<&str> = store.refs().keys().map(String::as_str).collect();
    for (name, id) in heads.into_iter().chain(others) {
        let refuse = |why| Refused { reference: name.clone(), why };
        let Some(reference) = Reference::parse(name) else {
            plan.joined.refused.push(refuse(Unsound::Name));
            continue;
        };
        let before = store.refs().get(name);
        if reference.machine == own {
            // It may lag behind; anything else was not written by us.
            let lags = match before {
                Some(before) => sounding.leads_to(*before, *id)?,
                None => false,
            };
            plan.joined.ours_differ += usize::from(reference.number.is_none() && !lags);
            continue;
        }
        if before == Some(id) {
            continue;
        }
        let head = format!("refs/heads/{}", reference.lineage);
        if reference.number.is_some() && !known.contains(head.as_str()) {
            plan.joined.refused.push(refuse(Unsound::OtherFile));
            continue;
        }
        let found = match sounding.tip(*id, &reference) {
            Ok(found) => found,
            Err(Stop::Unsound(why)) => {
                plan.joined.refused.push(refuse(why));
                continue;
            }
            Err(Stop::Failed(error)) => return Err(error),
        };
        let mut is_rewritten = false;
        if let Some(before) = before {
            if reference.number.is_none() && sounding.leads_to(*before, *id)? {
                // We know more than they do.
                continue;
            }
            if !sounding.leads_to(*id, *before)? {
                is_rewritten = true;
                let short = before.to_hex_with_len(16);
                plan.points.push((format!("refs/old/{}/{short}", reference.lineage), *before));
            }
        }
        plan.points.push((name.clone(), *id));
        plan.objects.extend(found.objects);
        if reference.number.is_none() {
            known.insert(name);
            let came = plan.joined.machines.entry(reference.machine.to_owned()).or_default();
            came.files += 1;
            came.versions += found.versions;
            came.rewritten += usize::from(is_rewritten);
        }
    }
    plan.joined.refused.sort_by(|one, other| one.reference.cmp(&other.reference));
    Ok(plan)
}

/// Does what was planned: first the objects, then the refs.
pub(crate) fn carry_out(
    writing: &mut Writing<'_, '_>,
    beside: &dyn Beside,
    plan: &Plan,
) -> Result<(), HistoryError> {
    if !plan.objects.is_empty() {
        let is_wanted = |id: &Id| plan.objects.contains(id) || writing.store().has(id);
        if beside.ids().iter().all(is_wanted) {
            for packed in beside.packs()? {
                writing.keep_pack(packed)?;
            }
        } else {
            // Something came along that was refused.
            let mut packer = Packer::new(LEVEL);
            for id in &plan.objects {
                if let Some((kind, data)) = beside.read(id)? {
                    packer.add(*id, kind, &data);
                }
            }
            writing.keep_pack(packer.finish_pack()?)?;
        }
    }
    for (name, id) in &plan.points {
        writing.point(name, *id);
    }
    writing.flush()
}

const LEVEL: u32 = 6;

/// What a ref leads to.
struct Found {
    versions: usize,
    objects: Vec<Id>,
}

/// Looks through what refs lead to.
struct Sounding<'s, 'd> {
    source: &'s Source<'s, 'd>,
    /// Versions that are there with all that belongs to them.
    sound: FxHashSet<Id>,
    trees: FxHashSet<Id>,
    /// Of what is looked through now, what is not in the store.
    new: Vec<Id>,
}

/// Why a look through something ends early.
enum Stop {
    Unsound(Unsound),
    Failed(HistoryError),
}

impl From<Unsound> for Stop {
    fn from(why: Unsound) -> Self {
        Self::Unsound(why)
    }
}

impl From<HistoryError> for Stop {
    fn from(error: HistoryError) -> Self {
        Self::Failed(error)
    }
}

/// Deeper than a file's trees ever are.
const DEEPEST: usize = 8;

impl<'s, 'd> Sounding<'s, 'd> {
    fn new(source: &'s Source<'s, 'd>) -> Self {
        let (sound, trees) = (FxHashSet::default(), FxHashSet::default());
        let mut sounding = Self { source, sound, trees, new: Vec::new() };
        for tip in source.store.refs().values() {
            let mut next = Some(*tip);
            while let Some(id) = next.filter(|id| !sounding.sound.contains(id)) {
                // What is damaged here is for `forklore history verify` to say.
                let Ok(kept) = Kept::read(source.store, id) else { break };
                sounding.sound.insert(id);
                next = kept.parent;
            }
        }
        sounding
    }

    /// Says what is new about a ref.
    fn tip(&mut self, tip: Id, reference: &Reference<'_>) -> Result<Found, Stop> {
        self.new.clear();
        // What was looked through with something that was refused is looked through again.
        let trees = std::mem::take(&mut self.trees);
        let found = self.chain(tip, reference);
        if found.is_err() {
            self.trees = trees;
        } else {
            self.trees.extend(trees);
        }
        found
    }

    fn chain(&mut self, tip: Id, reference: &Reference<'_>) -> Result<Found, Stop> {
        let kept = self.version(tip)?;
        let is_right = match reference.number {
            None => kept.version.lineage == reference.lineage,
            Some(number) => kept.version.number == number,
        };
        if !is_right || kept.version.file.kind() != Some(reference.kind) {
            return Err(Unsound::OtherFile.into());
        }
        let mut versions = Vec::new();
        let mut next = Some(kept);
        while let Some(kept) = next.filter(|kept| !self.sound.contains(&kept.id)) {
            let lineage = kept.version.lineage.split_once('/');
            if lineage.is_none_or(|(machine, _)| machine != reference.machine) {
                return Err(Unsound::OtherFile.into());
            }
            if !is_below_home(&kept.version.file) {
                return Err(Unsound::Name.into());
            }
            self.tree(kept.tree, 0)?;
            versions.push(kept.id);
            next = kept.parent.map(|parent| self.version(parent)).transpose()?;
        }
        for id in &versions {
            self.note(*id);
        }
        let objects = std::mem::take(&mut self.new);
        let found = Found { versions: versions.len(), objects };
        self.sound.extend(versions);
        Ok(found)
    }

    fn note(&mut self, id: Id) {
        if !self.source.store.has(&id) {
            self.new.push(id);
        }
    }

    fn version(&self, id: Id) -> Result<Kept, Stop> {
        let (kind, text) = self.source.read(&id)?.ok_or(Unsound::Missing)?;
        let is_plain = std::str::from_utf8(&text)
            .is_ok_and(|text| !text.chars().any(|c| c.is_control() && c != '\n'));
        let headers = text.split(|byte| *byte == b'\n').take_while(|line| !line.is_empty());
        let parents = headers.filter(|line| line.starts_with(b"parent ")).count();
        let kept = Kept::parse(id, &text).filter(|kept| {
            let agrees = parents == usize::from(kept.parent.is_some());
            kind == Kind::Commit && is_plain && agrees
        });
        Ok(kept.ok_or(Unsound::NotAVersion)?)
    }

    fn tree(&mut self, id: Id, depth: usize) -> Result<(), Stop> {
        if self.trees.contains(&id) {
            return Ok(());
        }
        let (kind, tree) = self.source.read(&id)?.ok_or(Unsound::Missing)?;
        if kind != Kind::Tree || depth > DEEPEST {
            return Err(Unsound::Shape.into());
        }
        for line in tree_lines(&tree) {
            let line = line.ok_or(Unsound::Shape)?;
            match line.mode {
                Mode::Tree => self.tree(line.id, depth + 1)?,
                Mode::Blob if self.source.has(&line.id) => self.note(line.id),
                Mode::Blob => return Err(Unsound::Missing.into()),
            }
        }
        self.trees.insert(id);
        self.note(id);
        Ok(())
    }

    /// Whether `ancestor` is `tip` or came before it.
    fn leads_to(&self, tip: Id, ancestor: Id) -> Result<bool, HistoryError> {
        let mut next = Some(tip);
        while let Some(id) = next {
            if id == ancestor {
                return Ok(true);
            }
            next = match self.version(id) {
                Ok(kept) => kept.parent,
                Err(Stop::Unsound(_)) => None,
                Err(Stop::Failed(error)) => return Err(error),
            };
        }
        Ok(false)
    }
}

/// Whether the file lies below its user's folder, however its name is written.
fn is_below_home(name: &Name) -> bool {
    let path = name.to_path();
    let parts = path.components().filter(|part| matches!(part, Component::Normal(_))).count();
    parts == path.components().count() && parts == name.as_str().split('/').count()
}

impl Source<'_, '_> {
    fn has(&self, id: &Id) -> bool {
        self.store.has(id) || self.beside.has(id)
    }

    fn read(&self, id: &Id) -> Result<Option<(Kind, Vec<u8>)>, HistoryError> {
        if let Some(object) = self.beside.read(id)? {
            return Ok(Some(object));
        }
        let mut data = Vec::new();
        match self.store.read_into(id, &mut data) {
            Ok(kind) => Ok(Some((kind, data))),
            Err(HistoryError::Missing(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_file_lies_outside() {
        for (name, expected) in [
            ("chats/Anna/Story.jsonl", true),
            ("settings.json", true),
            ("worlds/50%25 off.json", true),
            ("chats/../Story.jsonl", false),
            ("chats/%2e%2e/Story.jsonl", false),
            ("chats/..%2f..%2fetc/Story.jsonl", false),
            ("chats/./Story.jsonl", false),
            ("chats//Story.jsonl", false),
            ("/worlds/x.json", false),
        ] {
            assert_eq!(is_below_home(&Name::of_text(name)), expected, "{name}");
        }
    }

    #[test]
    fn only_names_of_ours_come_in() {
        let parse = |name| Reference::parse(name).map(|it| (it.machine, it.lineage, it.number));
        assert_eq!(
            parse("refs/heads/pc-1a/chats/anna-01"),
            Some(("pc-1a", "pc-1a/chats/anna-01", None))
        );
        assert_eq!(
            parse("refs/pins/pc-1a/books/lore-01/17"),
            Some(("pc-1a", "pc-1a/books/lore-01", Some(17)))
        );
        for name in [
            "HEAD",
            "refs/heads/main",
            "refs/heads/pc/chats/a/b",
            "refs/heads/pc/stories/a",
            "refs/heads/../chats/a",
            "refs/heads/PC/chats/a",
            "refs/heads/-pc/chats/a",
            "refs/heads/pc/chats/a.lock",
            "refs/heads/pc/chats/",
            "refs/heads//chats/a",
            "refs/pins/pc/chats/a",
            "refs/pins/pc/chats/a/x",
            "refs/pins/pc/chats/a/007",
            "refs/pins/pc/chats/a/+7",
            "refs/old/pc/chats/a/7",
            "refs/tags/v1",
        ] {
            assert_eq!(parse(name), None, "{name}");
        }
    }
}
