//! Reads the arguments that the page passes.

use forklore_core::plan::fork::Timestamp;
use forklore_core::plan::fork::child_save::OpenChat;
use forklore_core::plan::fork::decision::{Choice, Decision, ForkSettings, WhenBusy, WhenInexact};
use forklore_core::sillytavern::chat::ChatKind;
use forklore_core::sillytavern::names::ForkKind;
use forklore_core::sillytavern::save_request;
use forklore_core::timeline::claim::TodaySource;
use forklore_core::timeline::family::Home;
use forklore_core::timeline::moment::{BoundBook, MomentOptions};
use forklore_json::{Json, Raw};
use wasm_bindgen::JsError;

/// The named arguments of a call.
pub(crate) struct Ask(Json);

impl Ask {
    pub(crate) fn read(text: &[u8]) -> Result<Self, JsError> {
        Ok(Self(json(text)?))
    }

    pub(crate) fn of(json: Json) -> Self {
        Self(json)
    }

    pub(crate) fn text(&self, key: &str) -> Option<String> {
        Some(self.0.get(key)?.as_str()?.into_owned())
    }

    pub(crate) fn required(&self, key: &str) -> Result<String, JsError> {
        self.text(key).ok_or_else(|| left_out(key))
    }

    /// A value that must be present.
    pub(crate) fn member(&self, key: &str) -> Result<&Json, JsError> {
        member(&self.0, key)
    }

    /// A list that must be present.
    pub(crate) fn items(&self, key: &str) -> Result<&[Json], JsError> {
        self.member(key)?.as_array().ok_or_else(|| left_out(key))
    }

    pub(crate) fn flag(&self, key: &str) -> bool {
        self.0.get(key).is_some_and(Json::is_truthy)
    }

    pub(crate) fn required_flag(&self, key: &str) -> Result<bool, JsError> {
        let flag = self.0.get(key).and_then(Json::as_bool);
        flag.ok_or_else(|| left_out(key))
    }

    pub(crate) fn number(&self, key: &str) -> Option<usize> {
        self.0.get(key)?.as_usize()
    }

    /// A value that is present and not null.
    pub(crate) fn value(&self, key: &str) -> Option<&Json> {
        self.0.get(key).filter(|value| **value != Json::Null)
    }

    pub(crate) fn list(&self, key: &str) -> &[Json] {
        self.0.get(key).and_then(Json::as_array).unwrap_or_default()
    }

    pub(crate) fn names(&self, key: &str) -> Vec<String> {
        self.list(key).iter().filter_map(|name| Some(name.as_str()?.into_owned())).collect()
    }

    pub(crate) fn chat_kind(&self) -> ChatKind {
        if self.flag("group") { ChatKind::Group } else { ChatKind::Solo }
    }

    /// The kind of chat that a request to the given path saves.
    pub(crate) fn save_kind(&self) -> Result<ChatKind, JsError> {
        Ok(save_request::kind_of_path(&self.required("path")?))
    }

    /// The open chat; `None` if none is open.
    pub(crate) fn open(&self) -> Result<Option<OpenChat>, JsError> {
        let open = self.member("open")?;
        if *open == Json::Null {
            return Ok(None);
        }
        let open = Self(open.clone());
        Ok(Some(OpenChat {
            name: open.required("name")?,
            kind: open.chat_kind(),
            integrity: open.text("integrity"),
            book: open.text("book"),
        }))
    }

    pub(crate) fn kind(&self) -> ForkKind {
        match self.text("kind").as_deref() {
            Some("checkpoint") => ForkKind::Checkpoint,
            _ => ForkKind::Branch,
        }
    }

    pub(crate) fn now(&self) -> Timestamp {
        Timestamp { iso: self.text("now").unwrap_or_default() }
    }

    /// The user's settings for forks.
    pub(crate) fn settings(&self) -> Result<ForkSettings, JsError> {
        let settings = Self(self.member("settings")?.clone());
        Ok(ForkSettings {
            when_inexact: match settings.required("whenInexact")?.as_str() {
                "nearest" => WhenInexact::Nearest,
                "refuse" => WhenInexact::Refuse,
                _ => WhenInexact::Ask,
            },
            when_busy: match settings.required("whenBusy")?.as_str() {
                "drain" => WhenBusy::Drain,
                "without" => WhenBusy::Without,
                _ => WhenBusy::Wait,
            },
            require_scene: settings.member("requireScene")?.is_truthy(),
        })
    }

    /// What was decided so far, with the user's answer to the last question, if there was one.
    pub(crate) fn decision(&self) -> Result<Decision, JsError> {
        self.member("decision")?;
        let decision = Decision::of(&self.names("decision")).ok_or_else(|| left_out("decision"))?;
        let choice = self.member("choice")?.as_str().map(|word| Choice::of(&word));
        Ok(choice.map_or(decision, |choice| decision.answered(choice)))
    }

    pub(crate) fn moment_options(&self) -> MomentOptions {
        MomentOptions { fill: self.flag("fill"), today: self.today(), settled: true }
    }

    /// Where the chat comes from: the page, if the chat is open there, or else the files.
    pub(crate) fn today(&self) -> TodaySource {
        if self.flag("isOpen") { TodaySource::Page } else { TodaySource::Files }
    }

    /// The book that the chat is bound to. A name without bytes means that the file is missing.
    pub(crate) fn bound<'a>(&self, book: Option<&'a [u8]>) -> BoundBook<'a> {
        BoundBook::read(self.text("bookName").filter(|name| !name.is_empty()), book)
    }
}

/// A member that must be present.
pub(crate) fn member<'a>(json: &'a Json, key: &str) -> Result<&'a Json, JsError> {
    json.get(key).ok_or_else(|| left_out(key))
}

/// A text that must be present.
pub(crate) fn text_of(json: &Json, key: &str) -> Result<String, JsError> {
    let text = member(json, key)?.as_str();
    text.map(|text| text.into_owned()).ok_or_else(|| left_out(key))
}

fn left_out(key: &str) -> JsError {
    JsError::new(&["the page left out ", key].concat())
}

/// The group or the character that a timeline belongs to.
pub(crate) fn home_of(timeline: &Json) -> Home {
    let text = |key: &str| timeline.get(key).and_then(Json::as_str);
    match timeline.get("group").filter(|group| group.is_truthy()) {
        Some(_) => Home::Group(text("group").map(|id| id.into_owned())),
        None => Home::Character(text("character").unwrap_or_default().into_owned()),
    }
}

pub(crate) fn json(text: &[u8]) -> Result<Json, JsError> {
    Json::parse(text).map_err(|error| JsError::new(&error.to_string()))
}

/// The file of a chat that is passed as an array of its header and messages.
pub(crate) fn chat_file(array: &[u8]) -> Result<Vec<u8>, JsError> {
    let array = Raw::document(array).map_err(|error| JsError::new(&error.to_string()))?;
    Ok(save_request::lines(array))
}
