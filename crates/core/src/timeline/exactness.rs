//! How exactly a moment is known, and from which source.

use std::fmt;

use forklore_json::{Json, Object};

/// How exactly a moment is known. Ordered from best to worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Exactness {
    /// The state of the requested message itself.
    Exact,
    /// Observed while this message was the last one. It is the requested message or an earlier one,
    /// and the state contains nothing newer.
    Snapshot(usize),
    /// At the end of a scene: the book as the scene's recap left it, which was finished at this
    /// later message.
    Settled(usize),
    /// Today's state, not that of the moment.
    Live,
}

/// The source of a moment, or of a part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// The current files.
    Files,
    /// The current files, which are proved to be unchanged since then.
    Unchanged,
    Journal,
    /// The versions that `forklore record` and `forklore watch` store.
    History,
    /// ST-Auto-Recap's copy of the book in a scene break, which has most fields.
    RecapSnapshot,
    /// A book that the user chose.
    Chosen,
}

/// How exactly one part of a moment is known, and from which source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Knowledge {
    pub exactness: Exactness,
    pub source: Source,
}

impl Knowledge {
    pub const EXACT_FROM_FILES: Self = Self { exactness: Exactness::Exact, source: Source::Files };
    pub const LIVE: Self = Self { exactness: Exactness::Live, source: Source::Files };

    pub fn to_json(self) -> Json {
        let mut json = Object::new();
        self.write_to(&mut json);
        json.into()
    }

    /// Like [`to_json`](Self::to_json), for a request for message `m`: also notes whether the state
    /// was observed while `m` was the last message.
    pub fn to_json_at(self, m: usize) -> Json {
        let mut json = Object::new();
        self.write_to(&mut json);
        if self.exactness == Exactness::Snapshot(m) {
            json.insert("here", true);
        }
        json.into()
    }

    pub(crate) fn write_to(self, object: &mut Object) {
        object.insert("exactness", self.exactness.word());
        match self.exactness {
            Exactness::Snapshot(message) => object.insert("as_of", message),
            Exactness::Settled(message) => object.insert("settled_at", message),
            Exactness::Exact | Exactness::Live => {}
        }
        object.insert("source", self.source.word());
    }

    pub(crate) fn read_from(json: &Json) -> Option<Self> {
        let exactness = match json.get("exactness")?.as_str()?.as_ref() {
            "exact" => Exactness::Exact,
            "snapshot" => Exactness::Snapshot(json.get("as_of")?.as_usize()?),
            "settled" => Exactness::Settled(json.get("settled_at")?.as_usize()?),
            _ => Exactness::Live,
        };
        let word = json.get("source")?.as_str()?;
        let sources = [
            Source::Files,
            Source::Unchanged,
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
            Self::Settled(_) => "settled",
            Self::Live => "live",
        }
    }
}

impl Exactness {
    /// The message of a snapshot.
    pub fn as_of(self) -> Option<usize> {
        match self {
            Self::Snapshot(message) => Some(message),
            Self::Exact | Self::Settled(_) | Self::Live => None,
        }
    }

    /// A short description of how exactly message `m` is known.
    pub fn words(self, m: usize) -> String {
        match self {
            Self::Snapshot(k) if k == m => "as last seen at this message".to_owned(),
            other => other.to_string(),
        }
    }
}

impl fmt::Display for Exactness {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exact => formatter.write_str("exact"),
            Self::Snapshot(message) => write!(formatter, "as of message {message}"),
            Self::Settled(message) => {
                write!(formatter, "as the recap of this scene left it, at message {message}")
            }
            Self::Live => formatter.write_str("as it is today"),
        }
    }
}

impl Source {
    pub fn word(self) -> &'static str {
        match self {
            Self::Files => "files",
            Self::Unchanged => "unchanged",
            Self::Journal => "journal",
            Self::History => "history",
            Self::RecapSnapshot => "recap",
            Self::Chosen => "chosen",
        }
    }
}

/// The least exactness that is acceptable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Allow {
    Exact,
    /// Observed while the requested message was the last one.
    Message,
    #[default]
    Snapshot,
    Live,
}

impl Allow {
    /// Whether this exactness is acceptable for message `m`.
    pub fn admits(self, exactness: Exactness, m: usize) -> bool {
        match (exactness, self) {
            (Exactness::Exact, _) | (_, Self::Live) => true,
            (Exactness::Snapshot(k), Self::Message) => k == m,
            (Exactness::Settled(_), Self::Message) => true,
            (Exactness::Snapshot(_) | Exactness::Settled(_), Self::Snapshot) => true,
            (Exactness::Snapshot(_) | Exactness::Settled(_), Self::Exact) => false,
            (Exactness::Live, Self::Exact | Self::Message | Self::Snapshot) => false,
        }
    }
}
