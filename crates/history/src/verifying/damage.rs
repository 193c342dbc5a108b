//! What of which versions is damaged, in human terms.

use std::ops::RangeInclusive;

use crate::file::Name;
use crate::split::Numbering;

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

pub(super) fn ranges(numbers: &[u64]) -> Vec<RangeInclusive<u64>> {
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
pub(super) fn piece(path: &[Vec<u8>]) -> Piece {
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
