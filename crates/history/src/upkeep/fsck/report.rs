//! What is wrong with a history, in human terms.

use std::fmt;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use crate::file::FileName;
use crate::git::object::Id;
use crate::version::lost::{Accepted, ranges, versions_in_words};
use crate::version::split::Numbering;

/// The result of a check.
#[derive(Debug, Default)]
pub struct Verified {
    pub packs: usize,
    pub bytes: u64,
    pub objects: usize,
    /// Files, each counted once whatever names it had.
    pub files: usize,
    pub versions: usize,
    /// Versions that can be rebuilt byte for byte.
    pub sound_versions: usize,
    /// Problems with the repository's own files.
    pub faults: Vec<Fault>,
    pub damage: Vec<Damage>,
    /// Versions that are damaged as well, and that the user has accepted as lost.
    pub accepted: usize,
    /// Refs that are missing or point to the wrong commit.
    pub lost_refs: Vec<LostRef>,
    /// Refs whose name was never recorded.
    pub misspelt: Vec<String>,
    /// Files that changed since they were recorded. This is not damage.
    pub unrecorded: Vec<FileName>,
    /// Damaged files that were moved aside earlier.
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

/// A problem with a file of the repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    pub path: PathBuf,
    pub what: FaultKind,
}

impl Fault {
    pub(in crate::upkeep) fn new(path: &Path, what: FaultKind) -> Self {
        Self { path: path.to_owned(), what }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FaultKind {
    #[error("cannot be read ({0})")]
    Unreadable(String),
    #[error("is missing")]
    Gone,
    #[error("its pack is missing")]
    NoPack,
    #[error("its index is missing")]
    NoIndex,
    #[error("is not a pack")]
    NotAPack,
    #[error("differs from what was written")]
    Changed,
    #[error("{} in it cannot be read", objects(*.0))]
    Objects(usize),
    /// In the middle of the journal.
    #[error("some of what was recorded last cannot be read")]
    Recordings,
    /// Caused by a power cut, or by damage.
    #[error("ends in {0} bytes of an incomplete recording")]
    Unfinished(u64),
    #[error("a purge was not completed")]
    UnfinishedPurge,
}

fn objects(count: usize) -> String {
    if count == 1 { "one object".to_owned() } else { format!("{count} objects") }
}

/// A ref that is missing or points to the wrong commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostRef {
    pub reference: String,
    pub file: FileName,
    /// The commit that it should point to.
    pub tip: Id,
}

/// A part that some versions of a file lack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    pub lineage: String,
    pub file: FileName,
    pub piece: FilePart,
    pub versions: Vec<RangeInclusive<u64>>,
}

impl Damage {
    fn numbers(&self) -> impl Iterator<Item = u64> + '_ {
        self.versions.iter().cloned().flatten()
    }

    /// Leaves out what was accepted. `None` if that is all.
    pub(in crate::upkeep) fn without(mut self, accepted: &Accepted) -> Option<Self> {
        if let Some(accepted) = accepted.get(&self.lineage) {
            let numbers: Vec<u64> = self.numbers().filter(|it| !accepted.contains(it)).collect();
            self.versions = ranges(numbers);
        }
        (!self.versions.is_empty()).then_some(self)
    }

    /// Adds the versions to those that are accepted.
    pub(in crate::upkeep) fn accept(&self, accepted: &mut Accepted) {
        accepted.entry(self.lineage.clone()).or_default().extend(self.numbers());
    }

    /// Whether no version of the file can be reached, so that only the name of its ref is known.
    pub fn is_all_unreached(&self) -> bool {
        self.piece == FilePart::Version && self.file.as_str() == self.lineage
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_all_unreached() {
            return write!(f, "all of {}", self.lineage);
        }
        let versions = versions_in_words(&self.versions);
        write!(f, "{} of {} in {versions}", self.piece, self.file.label())
    }
}

/// A part of a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FilePart {
    /// The version itself, whose commit is lost.
    Version,
    All,
    Head,
    /// The pieces from one number to another.
    Numbered(Numbering, u32, u32),
    Tail,
}

impl FilePart {
    /// The part at a path in a version's tree.
    pub(in crate::upkeep) fn at(path: &[Vec<u8>]) -> Self {
        let Some((first, rest)) = path.split_first() else { return Self::All };
        let Some(numbering) = Numbering::of_folder(first) else {
            return if first == b"a" { Self::Head } else { Self::Tail };
        };
        let digits = rest.iter().map(|name| {
            let text = std::str::from_utf8(name).unwrap_or_default();
            text.parse::<u32>().unwrap_or_default()
        });
        let width = 100_u32.pow(3_usize.saturating_sub(rest.len()) as u32);
        let from = digits.take(3).fold(0, |sum, part| sum * 100 + part.min(99)) * width;
        Self::Numbered(numbering, from, from + width - 1)
    }
}

impl fmt::Display for FilePart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (numbering, from, to) = match self {
            Self::Version => return f.write_str("what was recorded"),
            Self::All => return f.write_str("all of it"),
            Self::Head => return f.write_str("the beginning"),
            Self::Tail => return f.write_str("the end"),
            Self::Numbered(numbering, from, to) => (numbering, from, to),
        };
        let (one, many) = match numbering {
            Numbering::Messages => ("message", "messages"),
            Numbering::Entries => ("the entry with key", "the entries with keys"),
            Numbering::Places => ("part", "parts"),
        };
        if from == to { write!(f, "{one} {from}") } else { write!(f, "{many} {from} to {to}") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_has_a_name_in_human_terms() {
        let named = |path: &str| {
            let path: Vec<Vec<u8>> =
                path.split('/').filter(|p| !p.is_empty()).map(|p| p.as_bytes().to_vec()).collect();
            FilePart::at(&path).to_string()
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
            file: FileName::of_text("chats/Anna/Story.jsonl"),
            piece: FilePart::Numbered(Numbering::Messages, 212, 212),
            versions: ranges([40, 41, 42, 60]),
        };
        assert_eq!(damage.to_string(), "message 212 of Anna/Story in versions 40 to 42, 60");
        let damage = Damage { versions: ranges([3]), ..damage };
        assert_eq!(damage.to_string(), "message 212 of Anna/Story in version 3");
    }
}
