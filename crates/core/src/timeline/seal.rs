//! The seal: what a child looked like when it was made, stored in its metadata.
//!
//! It contains counts and digests, not copies, because the header is read and written on every
//! save.

use crate::digest::Digest;
use crate::journal::{RecordedState, StatePart};
use crate::sillytavern::chat::Chat;
use crate::sillytavern::names::ForkKind;
use crate::timeline::exactness::Knowledge;
use forklore_json::{Json, Object};

/// The key of the seal in the chat's metadata.
pub const KEY: &str = "forklore";

const MAIN_CHAT: &str = "main_chat";
const INTEGRITY: &str = "integrity";

const FORMAT: i64 = 2;

#[derive(Clone, Debug, PartialEq)]
pub struct Seal {
    pub kind: ForkKind,
    /// The child's own slug, because a copy of the metadata takes the seal along; missing in older
    /// seals.
    pub integrity: Option<String>,
    pub parent: String,
    pub parent_integrity: Option<String>,
    /// The fork point, which was the child's last message at the time.
    pub message: usize,
    pub made: String,
    pub book: Option<SealedBook>,
    /// How it is known that there was no book; missing in older seals, and if the book was left out.
    pub no_book: Option<Knowledge>,
    /// The book that the child should have and has not.
    pub left_out: Option<LeftOut>,
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

/// The parent's book, if the child was made without a copy of it.
#[derive(Clone, Debug, PartialEq)]
pub struct LeftOut {
    pub name: String,
    /// Something went wrong; otherwise it was decided.
    pub failed: bool,
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
        if let Some(integrity) = &self.integrity {
            json.insert("integrity", integrity.as_str());
        }
        let parent = Json::object([
            ("chat", Json::from(self.parent.as_str())),
            ("integrity", Json::from(self.parent_integrity.clone())),
            ("message", Json::from(self.message)),
        ]);
        json.insert("parent", parent);
        json.insert("made", self.made.as_str());
        json.insert("book", self.book.as_ref().map(SealedBook::to_json));
        if let Some(part) = self.no_book {
            json.insert("no_book", part.to_json());
        }
        if let Some(LeftOut { name, failed }) = &self.left_out {
            json.insert("left_out", name.as_str());
            json.insert("failed", *failed);
        }
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

    /// The chat's own seal.
    pub fn of(chat: &Chat<'_>) -> Option<Self> {
        let metadata = chat.metadata()?;
        // The rest can be megabytes long.
        let known = [KEY, MAIN_CHAT, INTEGRITY].into_iter();
        let known = known.filter_map(|key| Some((key, metadata.get(key)?.json().ok()?)));
        Self::of_chat(&Json::object(known), Some(chat.len()))
    }

    /// The seal in a chat's metadata, if it is the chat's own. A child that is made without Forklore
    /// inherits its parent's, which says nothing about the child. `messages`: how many the chat has,
    /// if that is known.
    pub fn of_chat(metadata: &Json, messages: Option<usize>) -> Option<Self> {
        let seal = Self::read(metadata)?;
        let text =
            |key: &str| metadata.get(key).and_then(Json::as_str).filter(|text| !text.is_empty());
        // A group chat that was made of a solo chat names no parent.
        let is_of_parent = text(MAIN_CHAT).is_none_or(|parent| parent == seal.parent);
        let is_of_chat = match (&seal.integrity, text(INTEGRITY)) {
            (Some(sealed), Some(own)) => *sealed == own,
            _ => messages.is_none_or(|messages| seal.message < messages),
        };
        (is_of_parent && is_of_chat).then_some(seal)
    }

    /// Reads the seal from a chat's metadata; `None` if there is none that can be understood.
    fn read(metadata: &Json) -> Option<Self> {
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
            integrity: text(&["integrity"]),
            parent: text(&["parent", "chat"])?,
            parent_integrity: text(&["parent", "integrity"]),
            message: seal.at(&["parent", "message"])?.as_usize()?,
            made: text(&["made"]).unwrap_or_default(),
            book: seal.get("book").and_then(SealedBook::read),
            no_book: seal.get("no_book").and_then(Knowledge::read_from),
            left_out: text(&["left_out"]).map(|name| LeftOut {
                name,
                failed: seal.get("failed").is_some_and(Json::is_truthy),
            }),
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
    fn a_seal_counts_only_for_its_own_chat() {
        let seal = |integrity: &str| {
            let text =
                format!(r#"{{"kind":"branch",{integrity}"parent":{{"chat":"Main","message":7}}}}"#);
            Json::parse(text.as_bytes()).unwrap()
        };
        let counts = |seal: &Json, main_chat: &str, integrity: &str, messages: Option<usize>| {
            let metadata = Json::object([
                (KEY, seal.clone()),
                (MAIN_CHAT, main_chat.into()),
                (INTEGRITY, integrity.into()),
            ]);
            Seal::of_chat(&metadata, messages).is_some()
        };
        let older = seal("");
        assert!(counts(&older, "Main", "a", Some(8)));
        assert!(counts(&older, "Main", "a", None), "only the header is known");
        assert!(!counts(&older, "Child", "a", Some(8)), "its parent's seal");
        assert!(!counts(&older, "Main", "a", Some(4)), "it never had that message");
        assert!(counts(&older, "", "a", Some(8)), "a chat that became a group's");
        let own = seal(r#""integrity":"a","#);
        assert!(counts(&own, "Main", "a", Some(4)), "its messages were deleted");
        assert!(!counts(&own, "Main", "b", Some(8)), "a copy of the child");
        assert!(!counts(&own, "Child", "a", None), "an older SillyTavern copies the slug, too");
        assert!(counts(&own, "Main", "", Some(8)) && !counts(&own, "Main", "", Some(4)));
    }

    #[test]
    fn a_seal_reads_back_as_it_was_written() {
        let part = Knowledge { exactness: Exactness::Snapshot(3), source: Source::Journal };
        let digest = Digest::of(b"x");
        let seal = Seal {
            kind: ForkKind::Checkpoint,
            integrity: Some("own".into()),
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
            no_book: Some(part),
            left_out: Some(LeftOut { name: "A".into(), failed: true }),
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
