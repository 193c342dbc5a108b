//! What a record testifies about the arrival of its message: the record of the message before, and
//! the state at that instant. `timeline/claim.rs` describes what follows from it.

use std::fmt;

use forklore_json::{Json, Object};

/// Identifies a record: the number of its message's arrival, and a random part, so that two pages
/// that continue from the same file do not create the same id.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RecordId {
    pub(super) number: u64,
    random: String,
}

impl RecordId {
    pub fn new(number: u64, random: &str) -> Self {
        Self { number, random: random.to_owned() }
    }

    pub fn parse(text: &str) -> Option<Self> {
        let (number, random) = text.split_once('-')?;
        let is_plain = number.len() <= 15 && number.bytes().all(|byte| byte.is_ascii_digit());
        Some(Self { number: number.parse().ok().filter(|_| is_plain)?, random: random.to_owned() })
    }

    /// The prefix that all uids of one page share.
    pub(super) fn page(&self) -> &str {
        self.random.split('.').next().unwrap_or_default()
    }

    pub(super) fn of(json: &Json, key: &str) -> Option<Self> {
        Self::parse(&json.get(key)?.as_str()?)
    }
}

impl fmt::Display for RecordId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}-{}", self.number, self.random)
    }
}

/// The two parts of a state, which are proved independently.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StatePart {
    Book,
    Metadata,
}

/// The digest of the book part if no book is bound.
pub(super) const NO_BOOK: &str = "none";

/// The testimony about a message's arrival. Made only at that instant, never afterwards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// The record of the message directly before.
    pub after: RecordId,
    /// The digest of each part at that instant; `None` if unknown.
    pub book: Option<String>,
    pub metadata: Option<String>,
    /// The page had no copy of the book, so `book` is what was recorded last.
    pub assumed: bool,
    /// Whether the book's file, read afterwards, was what the page had last read or written; `None`
    /// until it has been read.
    pub file: Option<bool>,
}

impl Arrival {
    /// The proved digest of a part.
    pub fn proved(&self, part: StatePart) -> Option<&str> {
        match part {
            StatePart::Metadata => self.metadata.as_deref(),
            StatePart::Book => {
                self.book.as_deref().filter(|book| *book == NO_BOOK || self.file == Some(true))
            }
        }
    }

    pub(super) fn to_json(&self) -> Json {
        let mut json = Object::new();
        json.insert("after", self.after.to_string());
        for (key, digest) in [("book", &self.book), ("metadata", &self.metadata)] {
            if let Some(digest) = digest {
                json.insert(key, digest.as_str());
            }
        }
        if self.assumed {
            json.insert("assumed", true);
        }
        if let Some(file) = self.file {
            json.insert("file", file);
        }
        json.into()
    }

    pub(super) fn from_json(json: &Json) -> Option<Self> {
        let is_ours = |key: &str| matches!(key, "after" | "book" | "metadata" | "assumed" | "file");
        if !json.members().all(|(key, _)| is_ours(&key)) {
            return None;
        }
        let digest = |key: &str| Some(json.get(key)?.as_str()?.into_owned());
        Some(Self {
            after: RecordId::of(json, "after")?,
            book: digest("book"),
            metadata: digest("metadata"),
            assumed: json.get("assumed").is_some(),
            file: match json.get("file") {
                Some(Json::Bool(file)) => Some(*file),
                _ => None,
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uid_reads_back_and_nothing_else_does() {
        let uid = RecordId::new(12, "a8-x");
        assert_eq!(RecordId::parse(&uid.to_string()), Some(uid));
        for odd in ["", "12", "-x", "+1-x", "1e3-x", "99999999999999999999-x"] {
            assert_eq!(RecordId::parse(odd), None, "{odd}");
        }
    }

    #[test]
    fn a_book_is_proved_only_when_its_file_was_looked_at() {
        let mut arrival = Arrival {
            after: RecordId::new(1, "x"),
            book: Some("b".into()),
            metadata: None,
            assumed: false,
            file: None,
        };
        assert_eq!(arrival.proved(StatePart::Book), None);
        arrival.file = Some(false);
        assert_eq!(arrival.proved(StatePart::Book), None);
        arrival.file = Some(true);
        assert_eq!(arrival.proved(StatePart::Book), Some("b"));
        assert_eq!(Arrival::from_json(&arrival.to_json()), Some(arrival.clone()));
        arrival = Arrival { book: Some(NO_BOOK.into()), file: None, ..arrival };
        assert_eq!(arrival.proved(StatePart::Book), Some(NO_BOOK));
    }
}
