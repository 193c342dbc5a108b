//! Reads the arguments that the page passes.

use std::borrow::Cow;

use forklore_core::plan::fork::Timestamp;
use forklore_core::plan::fork::child_save::OpenChat;
use forklore_core::plan::fork::decision::{Choice, Decision, ForkSettings, WhenBusy, WhenInexact};
use forklore_core::sillytavern::chat::{Chat, ChatKind};
use forklore_core::sillytavern::names::ForkKind;
use forklore_core::sillytavern::save_request;
use forklore_core::timeline::claim::TodaySource;
use forklore_core::timeline::family::{Home, Timeline};
use forklore_core::timeline::moment::{BoundBook, MomentOptions};
use forklore_json::{Json, Raw};
use wasm_bindgen::JsError;

/// Named values. A key that is unknown or left out is an error, and so is a value of another type:
/// a misspelt key must not become a default.
pub(crate) struct Ask<'a>(Cow<'a, Json>);

/// What `Ask::moment_options` and `Ask::bound` read.
pub(crate) const MOMENT: [&str; 4] = ["group", "isOpen", "bookName", "message"];

impl<'a> Ask<'a> {
    /// The arguments of a call.
    pub(crate) fn read(text: &[u8], keys: &[&str]) -> Result<Self, JsError> {
        Self(Cow::Owned(json(text)?)).exactly(keys)
    }

    /// Arguments whose keys depend on the value of one of them; see `exactly`.
    pub(crate) fn read_variant(text: &[u8]) -> Result<Self, JsError> {
        Ok(Self(Cow::Owned(json(text)?)))
    }

    pub(crate) fn of(json: &'a Json, keys: &[&str]) -> Result<Self, JsError> {
        Self::data(json).exactly(keys)
    }

    /// Something that was stored, and may have more keys.
    pub(crate) fn data(json: &'a Json) -> Self {
        Self(Cow::Borrowed(json))
    }

    pub(crate) fn exactly(self, keys: &[&str]) -> Result<Self, JsError> {
        for key in keys {
            self.member(key)?;
        }
        for given in self.0.as_object().into_iter().flat_map(|object| object.keys()) {
            if !keys.iter().any(|key| *given == **key) {
                return Err(unknown(&given.to_string_lossy()));
            }
        }
        Ok(self)
    }

    pub(crate) fn member(&self, key: &str) -> Result<&Json, JsError> {
        self.0.get(key).ok_or_else(|| wrong("the page left out ", key))
    }

    /// A value, unless it is null.
    pub(crate) fn optional(&self, key: &str) -> Result<Option<&Json>, JsError> {
        Ok(Some(self.member(key)?).filter(|value| **value != Json::Null))
    }

    pub(crate) fn text(&self, key: &str) -> Result<String, JsError> {
        self.typed(key, |value| Some(value.as_str()?.into_owned()))
    }

    pub(crate) fn optional_text(&self, key: &str) -> Result<Option<String>, JsError> {
        self.optional(key)?.map(|_| self.text(key)).transpose()
    }

    pub(crate) fn flag(&self, key: &str) -> Result<bool, JsError> {
        self.typed(key, Json::as_bool)
    }

    pub(crate) fn number(&self, key: &str) -> Result<usize, JsError> {
        self.typed(key, Json::as_usize)
    }

    /// How many of something there are in a file; 0 if that is not known.
    pub(crate) fn count(&self, key: &str) -> Result<usize, JsError> {
        Ok(self.member(key)?.as_usize().unwrap_or_default())
    }

    pub(crate) fn optional_number(&self, key: &str) -> Result<Option<usize>, JsError> {
        self.optional(key)?.map(|_| self.number(key)).transpose()
    }

    pub(crate) fn list(&self, key: &str) -> Result<&[Json], JsError> {
        self.member(key)?.as_array().ok_or_else(|| not_of_its_type(key))
    }

    pub(crate) fn names(&self, key: &str) -> Result<Vec<String>, JsError> {
        let text = |name: &Json| Some(name.as_str()?.into_owned());
        self.typed(key, |names| names.as_array()?.iter().map(text).collect())
    }

    /// Named values in a list.
    pub(crate) fn parts(&self, key: &str, keys: &[&str]) -> Result<Vec<Ask<'_>>, JsError> {
        self.list(key)?.iter().map(|part| Ask::of(part, keys)).collect()
    }

    /// A value that is one of these words.
    pub(crate) fn word<T>(&self, key: &str, of: impl Fn(&str) -> Option<T>) -> Result<T, JsError> {
        self.typed(key, |value| of(&value.as_str()?))
    }

    fn typed<T>(&self, key: &str, read: impl Fn(&Json) -> Option<T>) -> Result<T, JsError> {
        read(self.member(key)?).ok_or_else(|| not_of_its_type(key))
    }

    pub(crate) fn chat_kind(&self) -> Result<ChatKind, JsError> {
        Ok(if self.flag("group")? { ChatKind::Group } else { ChatKind::Solo })
    }

    /// The kind of chat that a request to the given path saves.
    pub(crate) fn save_kind(&self) -> Result<ChatKind, JsError> {
        Ok(save_request::kind_of_path(&self.text("path")?))
    }

    /// The open chat; `None` if none is open.
    pub(crate) fn open(&self) -> Result<Option<OpenChat>, JsError> {
        let Some(open) = self.optional("open")? else { return Ok(None) };
        let open = Ask::of(open, &["name", "group", "integrity", "book"])?;
        Ok(Some(OpenChat {
            name: open.text("name")?,
            kind: open.chat_kind()?,
            integrity: open.optional_text("integrity")?,
            book: open.optional_text("book")?,
        }))
    }

    pub(crate) fn fork_kind(&self) -> Result<ForkKind, JsError> {
        self.word("kind", |word| match word {
            "checkpoint" => Some(ForkKind::Checkpoint),
            "branch" => Some(ForkKind::Branch),
            _ => None,
        })
    }

    pub(crate) fn now(&self) -> Result<Timestamp, JsError> {
        Ok(Timestamp { iso: self.text("now")? })
    }

    /// The user's settings for forks.
    pub(crate) fn settings(&self) -> Result<ForkSettings, JsError> {
        let keys = ["whenInexact", "whenBusy", "requireScene"];
        let settings = Ask::of(self.member("settings")?, &keys)?;
        Ok(ForkSettings {
            when_inexact: settings.word("whenInexact", |word| match word {
                "nearest" => Some(WhenInexact::Nearest),
                "refuse" => Some(WhenInexact::Refuse),
                "ask" => Some(WhenInexact::Ask),
                _ => None,
            })?,
            when_busy: settings.word("whenBusy", |word| match word {
                "drain" => Some(WhenBusy::Drain),
                "without" => Some(WhenBusy::Without),
                "wait" => Some(WhenBusy::Wait),
                _ => None,
            })?,
            require_scene: settings.flag("requireScene")?,
        })
    }

    /// What was decided so far, with the user's answer to the last question, if there was one.
    pub(crate) fn decision(&self) -> Result<Decision, JsError> {
        let decision = Decision::of(&self.names("decision")?);
        let decision = decision.ok_or_else(|| not_of_its_type("decision"))?;
        let choice = self.optional_text("choice")?.map(|word| Choice::of(&word));
        Ok(choice.map_or(decision, |choice| decision.answered(choice)))
    }

    pub(crate) fn moment_options(&self) -> Result<MomentOptions, JsError> {
        Ok(MomentOptions { today: self.today()?, settled: true, ..MomentOptions::default() })
    }

    /// Where the chat comes from: the page, if the chat is open there, or else the files.
    pub(crate) fn today(&self) -> Result<TodaySource, JsError> {
        Ok(if self.flag("isOpen")? { TodaySource::Page } else { TodaySource::Files })
    }

    /// The message that is asked about: by default the last one.
    pub(crate) fn message_of(&self, chat: &Chat<'_>) -> Result<usize, JsError> {
        Ok(self.optional_number("message")?.unwrap_or_else(|| chat.len().saturating_sub(1)))
    }

    /// The book that the chat is bound to. A name without bytes means that the file is missing.
    pub(crate) fn bound<'b>(&self, book: Option<&'b [u8]>) -> Result<BoundBook<'b>, JsError> {
        let name = self.optional_text("bookName")?.filter(|name| !name.is_empty());
        Ok(BoundBook::read(name, book))
    }

    /// The group or the character that timelines belong to.
    pub(crate) fn home(&self) -> Result<Home, JsError> {
        let character = self.optional_text("character")?;
        Ok(match self.optional_text("group")?.filter(|group| !group.is_empty()) {
            Some(group) => Home::Group(Some(group)),
            None => Home::Character(character.unwrap_or_default()),
        })
    }

    /// Timelines of the same character or group, from their names and metadata.
    pub(crate) fn siblings(&self, key: &str) -> Result<Vec<Timeline>, JsError> {
        let sibling = |sibling: &Json| {
            let sibling = Ask::data(sibling);
            let home = Home::Character(String::new());
            Ok(Timeline::of(home, sibling.text("name")?, sibling.member("metadata")?, None))
        };
        self.list(key)?.iter().map(sibling).collect()
    }
}

pub(crate) fn not_of_its_type(key: &str) -> JsError {
    wrong("the page passed a wrong ", key)
}

pub(crate) fn unknown(key: &str) -> JsError {
    wrong("the page named an unknown ", key)
}

fn wrong(what: &str, key: &str) -> JsError {
    JsError::new(&[what, key].concat())
}

pub(crate) fn json(text: &[u8]) -> Result<Json, JsError> {
    Json::parse(text).map_err(|error| JsError::new(&error.to_string()))
}

/// The file of a chat that is passed as an array of its header and messages.
pub(crate) fn chat_file(array: &[u8]) -> Result<Vec<u8>, JsError> {
    let array = Raw::document(array).map_err(|error| JsError::new(&error.to_string()))?;
    Ok(save_request::lines(array))
}
