//! Validates what refs lead to before it is trusted.

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

/// Where to find the objects of the offered refs.
pub(super) struct ObjectSource<'s, 'd> {
    pub(super) store: &'s Store<'d>,
    pub(super) extra: &'s dyn ExtraObjects,
}

/// What a ref leads to.
pub(super) struct FoundTip {
    pub(super) versions: usize,
    pub(super) objects: Vec<Id>,
}

/// Validates what refs lead to.
pub(super) struct IncomingCheck<'s, 'd> {
    source: &'s ObjectSource<'s, 'd>,
    /// Versions known to be complete.
    sound: FxHashSet<Id>,
    /// The total size of the pieces below a tree, by its id and height, so that a tree shared by
    /// several versions is validated once.
    trees: FxHashMap<(Id, u8), u64>,
    /// The objects of the current ref that are not in the store.
    new: Vec<Id>,
}

/// Why a check stops early.
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

/// No program could read a longer chat or lorebook.
const LONGEST: u64 = 512 << 20;

/// The number of tree levels above a piece, always the same.
const TREES: u8 = 3;

impl<'s, 'd> IncomingCheck<'s, 'd> {
    pub(super) fn new(source: &'s ObjectSource<'s, 'd>) -> Self {
        let (sound, trees) = (FxHashSet::default(), FxHashMap::default());
        let mut check = Self { source, sound, trees, new: Vec::new() };
        for tip in source.store.refs().values() {
            let mut next = Some(*tip);
            while let Some(id) = next.filter(|id| !check.sound.contains(id)) {
                // Reporting damage in our own store is the job of `forklore history verify`.
                let Ok(stored) = StoredVersion::read(source.store, id) else { break };
                check.sound.insert(id);
                next = stored.parent;
            }
        }
        check
    }

    /// Validates a ref, and returns what is new about it.
    pub(super) fn tip(&mut self, tip: Id, reference: &RefName<'_>) -> Result<FoundTip, CheckStop> {
        self.new.clear();
        // Trees that were validated along with a refused ref have to be validated again.
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
        let stored = self.version(tip)?;
        let is_right = match reference.number {
            None => stored.version.lineage == reference.lineage,
            Some(number) => stored.version.number == number,
        };
        if !is_right || stored.version.file.kind() != Some(reference.kind) {
            return Err(Unsound::OtherFile.into());
        }
        let mut versions = Vec::new();
        let mut next = Some(stored);
        while let Some(stored) = next.filter(|stored| !self.sound.contains(&stored.id)) {
            // A repair creates refs with these names, even if no offered ref leads to them.
            let name = format!("refs/heads/{}", stored.version.lineage);
            if RefName::parse(&name).is_none_or(|name| name.machine != reference.machine) {
                return Err(Unsound::OtherFile.into());
            }
            if !is_below_home(&stored.version.file) {
                return Err(Unsound::Name.into());
            }
            if self.file(stored.tree)? != stored.version.bytes || stored.version.bytes > LONGEST {
                return Err(Unsound::Size.into());
            }
            versions.push(stored.id);
            next = stored.parent.map(|parent| self.version(parent)).transpose()?;
        }
        for id in &versions {
            self.add_if_new(*id);
        }
        let objects = std::mem::take(&mut self.new);
        let found = FoundTip { versions: versions.len(), objects };
        self.sound.extend(versions);
        Ok(found)
    }

    fn add_if_new(&mut self, id: Id) {
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
        let stored = StoredVersion::parse(id, &text).filter(|stored| {
            let agrees = parents == usize::from(stored.parent.is_some());
            kind == Kind::Commit && is_plain && agrees
        });
        Ok(stored.ok_or(Unsound::NotAVersion)?)
    }

    /// The size of a version's file.
    fn file(&mut self, id: Id) -> Result<u64, CheckStop> {
        let parts = TreeParts::of(&self.tree(id)?).ok_or(Unsound::Shape)?;
        self.add_if_new(id);
        let mut len = 0_u64;
        for edge in [parts.head, parts.tail].into_iter().flatten() {
            len = len.saturating_add(self.piece(edge)?);
        }
        let body = parts.body.map(|(_, body)| self.below(body, TREES)).transpose()?;
        Ok(len.saturating_add(body.unwrap_or(0)))
    }

    /// The size of the pieces below a tree of numbered pieces.
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
        self.add_if_new(id);
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
                self.add_if_new(id);
                Ok(len)
            }
            _ => Err(Unsound::Shape.into()),
        }
    }

    /// Whether `ancestor` is `tip` or one of its ancestors.
    pub(super) fn leads_to(&self, tip: Id, ancestor: Id) -> Result<bool> {
        let mut next = Some(tip);
        while let Some(id) = next {
            if id == ancestor {
                return Ok(true);
            }
            next = match self.version(id) {
                Ok(stored) => stored.parent,
                Err(CheckStop::Unsound(_)) => None,
                Err(CheckStop::Failed(error)) => return Err(error),
            };
        }
        Ok(false)
    }
}

/// Whether the file is inside its user's folder, however its name is written.
fn is_below_home(name: &FileName) -> bool {
    let path = name.to_path();
    let parts = path.components().filter(|part| matches!(part, Component::Normal(_))).count();
    parts == path.components().count() && parts == name.as_str().split('/').count()
}

impl ObjectSource<'_, '_> {
    fn header(&self, id: &Id) -> Result<Option<(Kind, u64)>> {
        match self.extra.header(id)? {
            Some(header) => Ok(Some(header)),
            None => self.store.header(id),
        }
    }

    fn read(&self, id: &Id) -> Result<Option<(Kind, Vec<u8>)>> {
        if let Some(object) = self.extra.read(id)? {
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
