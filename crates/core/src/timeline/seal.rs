//! The seal: what a child looked like when it was made, stored in its metadata.
//!
//! It contains counts and digests, not copies, because the header is read and written on every
//! save.

use crate::digest::Digest;
use crate::journal::{RecordedState, StatePart};
use crate::sillytavern::names::ForkKind;
use crate::timeline::exactness::Knowledge;
use forklore_json::{Json, Object};

/// The key of the seal in the chat's metadata.
pub const KEY: &str = "forklore";

const FORMAT: i64 = 2;

#[derive(Clone, Debug, PartialEq)]
pub struct Seal {
    pub kind: ForkKind,
    pub parent: String,
    pub parent_integrity: Option<String>,
    /// The fork point, which was the child's last message at the time.
    pub message: usize,
    pub made: String,
    pub book: Option<SealedBook>,
    pub metadata: Knowledge,
    /// The journal's digests of the child's state when it was made. Needed because the record on
    /// the child's last message is the parent's, and refers to the parent's book. Missing in format
    /// 1.
    pub state: Option<SealedState>,
    pub running_recap: Option<SealedRecap>,
    pub combined_recap: Option<SealedCombined>,
    pub warnings: Vec<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct SealedBook {
    pub name: String,
    pub from: String,
    pub entries: usize,
    pub digest: Digest,
    /// The digest of what its entries mean; missing in older seals.
    pub lore: Option<Digest>,
    pub part: Knowledge,
}

#[derive(Clone, Debug, PartialEq)]
pub struct SealedState {
    book: String,
    metadata: String,
}

#[derive(Clone, Debug, PartialEq)]
pub struct SealedRecap {
    /// `None` if no version was left.
    pub version: Option<i64>,
    /// The number of versions.
    pub count: usize,
    /// The number of scenes they were about; missing in older seals.
    pub scenes: Option<usize>,
    pub digest: Option<Digest>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct SealedCombined {
    pub messages: usize,
    pub digest: Digest,
}

impl Seal {
    pub fn to_json(&self) -> Json {
        let mut json = Object::new();
        json.insert("format", FORMAT);
        json.insert("kind", self.kind.word());
        let parent = Json::object([
            ("chat", Json::from(self.parent.as_str())),
            ("integrity", Json::from(self.parent_integrity.clone())),
            ("message", Json::from(self.message)),
        ]);
        json.insert("parent", parent);
        json.insert("made", self.made.as_str());
        json.insert("book", self.book.as_ref().map(SealedBook::to_json));
        json.insert("metadata", self.metadata.to_json());
        if let Some(SealedState { book, metadata }) = &self.state {
            let state =
                [("book", Json::from(book.as_str())), ("metadata", metadata.as_str().into())];
            json.insert("state", Json::object(state));
        }
        if let Some(recap) = &self.running_recap {
            let recap = Json::object([
                ("version", Json::from(recap.version)),
                ("count", Json::from(recap.count)),
                ("scenes", Json::from(recap.scenes)),
                ("digest", Json::from(recap.digest.map(|digest| digest.to_string()))),
            ]);
            json.insert("running_recap", recap);
        }
        if let Some(recap) = &self.combined_recap {
            let recap = Json::object([
                ("messages", Json::from(recap.messages)),
                ("digest", Json::from(recap.digest.to_string())),
            ]);
            json.insert("combined_recap", recap);
        }
        json.insert("warnings", self.warnings.clone());
        json.into()
    }

    /// The digest of a part of the state when the child was made.
    pub(crate) fn state(&self, part: StatePart) -> Option<&str> {
        let state = self.state.as_ref()?;
        Some(match part {
            StatePart::Book => &state.book,
            StatePart::Metadata => &state.metadata,
        })
    }

    /// Reads the seal from a chat's metadata; `None` if there is none that can be understood.
    pub fn read(metadata: &Json) -> Option<Self> {
        let seal = metadata.get(KEY)?;
        let text = |path: &[&str]| Some(seal.at(path)?.as_str()?.into_owned());
        let kind = match text(&["kind"])?.as_str() {
            "checkpoint" => ForkKind::Checkpoint,
            "branch" => ForkKind::Branch,
            _ => return None,
        };
        let warnings = seal.get("warnings").and_then(Json::as_array).unwrap_or_default();
        Some(Self {
            kind,
            parent: text(&["parent", "chat"])?,
            parent_integrity: text(&["parent", "integrity"]),
            message: seal.at(&["parent", "message"])?.as_usize()?,
            made: text(&["made"]).unwrap_or_default(),
            book: seal.get("book").and_then(SealedBook::read),
            metadata: seal
                .get("metadata")
                .and_then(Knowledge::read_from)
                .unwrap_or(Knowledge::LIVE),
            state: text(&["state", "book"])
                .zip(text(&["state", "metadata"]))
                .map(|(book, metadata)| SealedState { book, metadata }),
            running_recap: seal.get("running_recap").map(|recap| SealedRecap {
                version: recap.get("version").and_then(Json::as_i64),
                count: recap.get("count").and_then(Json::as_usize).unwrap_or(0),
                scenes: recap.get("scenes").and_then(Json::as_usize),
                digest: digest_in(recap),
            }),
            combined_recap: seal.get("combined_recap").and_then(|recap| {
                Some(SealedCombined {
                    messages: recap.get("messages")?.as_usize()?,
                    digest: digest_in(recap)?,
                })
            }),
            warnings: warnings.iter().filter_map(|w| Some(w.as_str()?.into_owned())).collect(),
        })
    }
}

impl SealedState {
    pub fn of(state: &RecordedState) -> Self {
        Self { book: state.digest(StatePart::Book), metadata: state.digest(StatePart::Metadata) }
    }
}

impl SealedBook {
    fn to_json(&self) -> Json {
        let mut json = Object::new();
        json.insert("name", self.name.as_str());
        json.insert("from", self.from.as_str());
        json.insert("entries", self.entries);
        json.insert("digest", self.digest.to_string());
        if let Some(lore) = self.lore {
            json.insert("lore", lore.to_string());
        }
        self.part.write_to(&mut json);
        json.into()
    }

    fn read(json: &Json) -> Option<Self> {
        Some(Self {
            name: json.get("name")?.as_str()?.into_owned(),
            from: json.get("from").and_then(Json::as_str).unwrap_or_default().into_owned(),
            entries: json.get("entries")?.as_usize()?,
            digest: digest_in(json)?,
            lore: json.get("lore").and_then(Json::as_str).and_then(|lore| Digest::parse(&lore)),
            part: Knowledge::read_from(json)?,
        })
    }
}

fn digest_in(json: &Json) -> Option<Digest> {
    Digest::parse(&json.get("digest")?.as_str()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::exactness::{Exactness, Source};

    #[test]
    fn a_seal_reads_back_as_it_was_written() {
        let part = Knowledge { exactness: Exactness::Snapshot(3), source: Source::Journal };
        let digest = Digest::of(b"x");
        let seal = Seal {
            kind: ForkKind::Checkpoint,
            parent: "Story: one".into(),
            parent_integrity: None,
            message: 50,
            made: "2026-11-15T00:00:00.000Z".into(),
            book: Some(SealedBook {
                name: "B".into(),
                from: "A".into(),
                entries: 0,
                digest,
                lore: Some(Digest::of(b"y")),
                part,
            }),
            metadata: Knowledge::LIVE,
            state: Some(SealedState { book: "b".into(), metadata: "m".into() }),
            running_recap: Some(SealedRecap {
                version: Some(0),
                count: 1,
                scenes: Some(1),
                digest: Some(digest),
            }),
            combined_recap: Some(SealedCombined { messages: 4, digest }),
            warnings: vec!["w".into()],
        };
        assert_eq!(seal.state(StatePart::Book), Some("b"));
        assert_eq!(seal.state(StatePart::Metadata), Some("m"));
        let metadata = Json::object([(KEY, seal.to_json())]);
        assert_eq!(Seal::read(&metadata), Some(seal));
    }

    #[test]
    fn what_it_holds_of_a_state_are_the_journals_digests() {
        let metadata = Json::object([("variables", Json::object([("hp", Json::from(1_i64))]))]);
        let state = RecordedState::of(&metadata, None);
        let SealedState { book, metadata } = SealedState::of(&state);
        assert_eq!(book, state.digest(StatePart::Book));
        assert_eq!(metadata, state.digest(StatePart::Metadata));
        assert_ne!(book, metadata);
    }
}
