//! How well a moment is known, and from where.

use std::fmt;

use crate::json::{Json, Object};

/// How a moment is known. Ordered from the best to the least.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Exactness {
    /// The state at this very message.
    Exact,
    /// Proved for this earlier message; nothing newer is mixed in.
    Snapshot(usize),
    /// Today's state: not of that time.
    Live,
}

/// What a moment, or a part of it, was taken from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// The files as they are now.
    Files,
    Journal,
    /// The versions that `forklore record` and `forklore watch` keep beside the data.
    History,
    /// ST-Auto-Recap's copy of the book in a scene break, which keeps most fields.
    RecapSnapshot,
    /// A book that someone chose.
    Chosen,
}

/// One part of a moment: how it is known, and from what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    pub exactness: Exactness,
    pub source: Source,
}

impl Part {
    pub const EXACT_FROM_FILES: Self = Self { exactness: Exactness::Exact, source: Source::Files };
    pub const LIVE: Self = Self { exactness: Exactness::Live, source: Source::Files };

    pub fn to_json(self) -> Json {
        let mut json = Object::new();
        self.write_to(&mut json);
        json.into()
    }

    pub(crate) fn write_to(self, object: &mut Object) {
        object.insert("exactness", self.exactness.word());
        if let Exactness::Snapshot(message) = self.exactness {
            object.insert("as_of", message);
        }
        object.insert("source", self.source.word());
    }

    pub(crate) fn read_from(json: &Json) -> Option<Self> {
        let exactness = match json.get("exactness")?.as_str()?.as_ref() {
            "exact" => Exactness::Exact,
            "snapshot" => Exactness::Snapshot(json.get("as_of")?.as_usize()?),
            _ => Exactness::Live,
        };
        let word = json.get("source")?.as_str()?;
        let sources = [
            Source::Files,
            Source::Journal,
            Source::History,
            Source::RecapSnapshot,
            Source::Chosen,
        ];
        let source = sources.into_iter().find(|source| source.word() == word)?;
        Some(Self { exactness, source })
    }
}

impl Exactness {
    pub fn word(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Snapshot(_) => "snapshot",
            Self::Live => "live",
        }
    }
}

impl fmt::Display for Exactness {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exact => formatter.write_str("exact"),
            Self::Snapshot(message) => write!(formatter, "as of message {message}"),
            Self::Live => formatter.write_str("as it is today"),
        }
    }
}

impl Source {
    pub fn word(self) -> &'static str {
        match self {
            Self::Files => "files",
            Self::Journal => "journal",
            Self::History => "history",
            Self::RecapSnapshot => "recap",
            Self::Chosen => "chosen",
        }
    }
}

/// The least that is good enough.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Allow {
    Exact,
    #[default]
    Snapshot,
    Live,
}

impl Allow {
    pub fn admits(self, exactness: Exactness) -> bool {
        match exactness {
            Exactness::Exact => true,
            Exactness::Snapshot(_) => self != Self::Exact,
            Exactness::Live => self == Self::Live,
        }
    }
}
