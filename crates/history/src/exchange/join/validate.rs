//! Looks through what refs lead to, before it is believed.

use std::path::Component;

use rustc_hash::{FxHashMap, FxHashSet};

use super::{ExtraObjects, RefName, Unsound};
use crate::error::{HistoryError, Result};
use crate::file::FileName;
use crate::git::object::{Id, Kind, TreeMode};
use crate::store::Store;
use crate::version::body::numbered;
use crate::version::commit::StoredVersion;
use crate::version::tracked::TreeParts;

/// Where the objects of what is offered are.
pub(super) struct ObjectSource<'s, 'd> {
    pub(super) store: &'s Store<'d>,
    pub(super) beside: &'s dyn ExtraObjects,
}

/// What a ref leads to.
pub(super) struct FoundTip {
    pub(super) versions: usize,
    pub(super) objects: Vec<Id>,
}

/// Looks through what refs lead to.
pub(super) struct IncomingCheck<'s, 'd> {
    source: &'s ObjectSource<'s, 'd>,
    /// Versions that are there with all that belongs to them.
    sound: FxHashSet<Id>,
    /// How long what is below a tree is, by how many trees there are from it to a piece. What is in the
    /// store need not be looked through again.
    trees: FxHashMap<(Id, u8), u64>,
    /// Of what is looked through now, what is not in the store.
    new: Vec<Id>,
}

/// Why a look through something ends early.
pub(super) enum CheckStop {
    Unsound(Unsound),
    Failed(HistoryError),
}

impl From<Unsound> for CheckStop {
    fn from(why: Unsound) -> Self {
        Self::Unsound(why)
    }
}

impl From<HistoryError> for CheckStop {
    fn from(error: HistoryError) -> Self {
        Self::Failed(error)
    }
}

/// No program could read a longer chat or book.
const LONGEST: u64 = 512 << 20;

/// There are always so many trees above a piece.
const TREES: u8 = 3;

impl<'s, 'd> IncomingCheck<'s, 'd> {
    pub(super) fn new(source: &'s ObjectSource<'s, 'd>) -> Self {
        let (sound, trees) = (FxHashSet::default(), FxHashMap::default());
        let mut sounding = Self { source, sound, trees, new: Vec::new() };
        for tip in source.store.refs().values() {
            let mut next = Some(*tip);
            while let Some(id) = next.filter(|id| !sounding.sound.contains(id)) {
                // What is damaged here is for `forklore history verify` to say.
                let Ok(kept) = StoredVersion::read(source.store, id) else { break };
                sounding.sound.insert(id);
                next = kept.parent;
            }
        }
        sounding
    }

    /// Says what is new about a ref.
    pub(super) fn tip(&mut self, tip: Id, reference: &RefName<'_>) -> Result<FoundTip, CheckStop> {
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

    fn chain(&mut self, tip: Id, reference: &RefName<'_>) -> Result<FoundTip, CheckStop> {
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
            // A repair makes refs of these names, also of those that nothing offered leads to.
            let name = format!("refs/heads/{}", kept.version.lineage);
            if RefName::parse(&name).is_none_or(|name| name.machine != reference.machine) {
                return Err(Unsound::OtherFile.into());
            }
            if !is_below_home(&kept.version.file) {
                return Err(Unsound::Name.into());
            }
            if self.file(kept.tree)? != kept.version.bytes || kept.version.bytes > LONGEST {
                return Err(Unsound::Size.into());
            }
            versions.push(kept.id);
            next = kept.parent.map(|parent| self.version(parent)).transpose()?;
        }
        for id in &versions {
            self.note(*id);
        }
        let objects = std::mem::take(&mut self.new);
        let found = FoundTip { versions: versions.len(), objects };
        self.sound.extend(versions);
        Ok(found)
    }

    fn note(&mut self, id: Id) {
        if !self.source.store.has(&id) {
            self.new.push(id);
        }
    }

    fn version(&self, id: Id) -> Result<StoredVersion, CheckStop> {
        let (kind, text) = self.source.read(&id)?.ok_or(Unsound::Missing)?;
        let is_plain = std::str::from_utf8(&text)
            .is_ok_and(|text| !text.chars().any(|c| c.is_control() && c != '\n'));
        let headers = text.split(|byte| *byte == b'\n').take_while(|line| !line.is_empty());
        let parents = headers.filter(|line| line.starts_with(b"parent ")).count();
        let kept = StoredVersion::parse(id, &text).filter(|kept| {
            let agrees = parents == usize::from(kept.parent.is_some());
            kind == Kind::Commit && is_plain && agrees
        });
        Ok(kept.ok_or(Unsound::NotAVersion)?)
    }

    /// How long the file of a tree is.
    fn file(&mut self, id: Id) -> Result<u64, CheckStop> {
        let parts = TreeParts::of(&self.tree(id)?).ok_or(Unsound::Shape)?;
        self.note(id);
        let mut len = 0_u64;
        for edge in [parts.head, parts.tail].into_iter().flatten() {
            len = len.saturating_add(self.piece(edge)?);
        }
        let body = parts.body.map(|(_, body)| self.below(body, TREES)).transpose()?;
        Ok(len.saturating_add(body.unwrap_or(0)))
    }

    /// How long the pieces below a tree of numbered ones are.
    fn below(&mut self, id: Id, trees: u8) -> Result<u64, CheckStop> {
        if trees == 0 {
            return self.piece(id);
        }
        if let Some(known) = self.trees.get(&(id, trees)) {
            return Ok(*known);
        }
        let mode = if trees == 1 { TreeMode::Blob } else { TreeMode::Tree };
        let lines = numbered(&self.tree(id)?, mode).ok_or(Unsound::Shape)?;
        let mut len = 0_u64;
        for (_, below) in lines {
            len = len.saturating_add(self.below(below, trees - 1)?);
        }
        self.trees.insert((id, trees), len);
        self.note(id);
        Ok(len)
    }

    fn tree(&self, id: Id) -> Result<Vec<u8>, CheckStop> {
        match self.source.read(&id)?.ok_or(Unsound::Missing)? {
            (Kind::Tree, tree) => Ok(tree),
            _ => Err(Unsound::Shape.into()),
        }
    }

    fn piece(&mut self, id: Id) -> Result<u64, CheckStop> {
        match self.source.header(&id)?.ok_or(Unsound::Missing)? {
            (Kind::Blob, len) => {
                self.note(id);
                Ok(len)
            }
            _ => Err(Unsound::Shape.into()),
        }
    }

    /// Whether `ancestor` is `tip` or came before it.
    pub(super) fn leads_to(&self, tip: Id, ancestor: Id) -> Result<bool> {
        let mut next = Some(tip);
        while let Some(id) = next {
            if id == ancestor {
                return Ok(true);
            }
            next = match self.version(id) {
                Ok(kept) => kept.parent,
                Err(CheckStop::Unsound(_)) => None,
                Err(CheckStop::Failed(error)) => return Err(error),
            };
        }
        Ok(false)
    }
}

/// Whether the file lies below its user's folder, however its name is written.
fn is_below_home(name: &FileName) -> bool {
    let path = name.to_path();
    let parts = path.components().filter(|part| matches!(part, Component::Normal(_))).count();
    parts == path.components().count() && parts == name.as_str().split('/').count()
}

impl ObjectSource<'_, '_> {
    fn header(&self, id: &Id) -> Result<Option<(Kind, u64)>> {
        match self.beside.header(id)? {
            Some(header) => Ok(Some(header)),
            None => self.store.header(id),
        }
    }

    fn read(&self, id: &Id) -> Result<Option<(Kind, Vec<u8>)>> {
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
            assert_eq!(is_below_home(&FileName::of_text(name)), expected, "{name}");
        }
    }
}
