//! The guard against pages that edit the same book. The page carries out what it decides.

use forklore_core::guard::{Action, EntryNews, Event, Guard, News, Overwritten};
use forklore_core::plan::merge::Conflict;
use forklore_json::Json;
use wasm_bindgen::JsError;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::boundary::answer::Answer;
use crate::boundary::ask::{Ask, unknown};
use crate::compare::words_json;
use crate::merge::settlements;

#[wasm_bindgen]
#[derive(Default)]
pub struct PageGuard(Guard);

#[wasm_bindgen]
impl PageGuard {
    #[wasm_bindgen(constructor)]
    pub fn new() -> Self {
        Self::default()
    }

    pub fn remember(&mut self, name: &str, text: &[u8]) {
        self.0.remember(name, text);
    }

    pub fn forget(&mut self, name: &str) {
        self.0.forget(name);
    }

    pub fn was_read_twice(&self, name: &str) -> bool {
        self.0.was_read_twice(name)
    }

    pub fn cached(&mut self, name: &str, copy: u32, text: Option<Vec<u8>>) {
        self.0.cached(name, copy, text.as_deref());
    }

    pub fn may_be_edited(&self, original: u32) -> bool {
        self.0.may_be_edited(original)
    }

    pub fn copied(&mut self, original: u32, copy: u32, text: Option<Vec<u8>>) {
        self.0.copied(original, copy, text.as_deref());
    }

    pub fn replaced(&mut self, name: &str, copy: u32, text: &[u8]) {
        self.0.replaced(name, copy, text);
    }

    pub fn is_based_on(&self, name: &str, copy: u32, text: &[u8]) -> bool {
        self.0.is_based_on(name, copy, text)
    }

    pub fn release(&mut self, copy: u32) {
        self.0.release(copy);
    }

    /// Begins a save. Returns the number of the job.
    pub fn begin(&mut self, name: &str, copy: Option<u32>, text: &[u8]) -> u32 {
        self.0.begin(name, copy, text)
    }

    pub fn wrote(&mut self, name: &str, text: &[u8]) {
        self.0.wrote(name, text);
    }

    pub fn take_news(&mut self) -> Answer {
        Answer::of(&self.0.take_news().iter().map(news_json).collect::<Vec<_>>().into())
    }

    /// What to do after this event. The answer's book is the text to send or write, if any.
    pub fn next(
        &mut self,
        job: u32,
        event: &[u8],
        text: Option<Vec<u8>>,
    ) -> Result<Answer, JsError> {
        let event = event_of(Ask::read_variant(event)?, text)?;
        let actions = self.0.next(job, event).map_err(|error| JsError::new(&error.to_string()))?;
        let written = actions.iter().find_map(|action| match action {
            Action::Write(text) | Action::Send(Some(text)) => Some(text.to_vec()),
            _ => None,
        });
        let actions: Vec<Json> = actions.iter().map(action_json).collect();
        Ok(Answer::of(&actions.into()).with_book(written))
    }
}

fn event_of(ask: Ask<'_>, text: Option<Vec<u8>>) -> Result<Event, JsError> {
    let name = ask.text("is")?;
    let more: Option<&str> = match name.as_str() {
        "listed" => Some("exists"),
        "answered" => Some("settle"),
        "sent" => Some("ok"),
        _ => None,
    };
    let ask = ask.exactly(&[Some("is"), more].into_iter().flatten().collect::<Vec<_>>())?;
    Ok(match name.as_str() {
        "turn" => Event::Turn,
        "read" => Event::Read(text.ok_or_else(|| JsError::new("the page left out the book"))?),
        "listed" => Event::Listed(ask.flag("exists")?),
        "kept" => Event::Kept,
        "answered" => Event::Answered(ask.optional("settle")?.map(settlements)),
        "sent" => Event::Sent(ask.flag("ok")?),
        "failed" => Event::Failed,
        "off" => Event::SwitchedOff,
        _ => return Err(unknown("event")),
    })
}

fn action_json(action: &Action) -> Json {
    let (name, about) = match action {
        Action::Read => ("read", Json::Null),
        Action::List => ("list", Json::Null),
        Action::Keep(overwritten) => ("keep", overwritten_json(overwritten)),
        Action::Ask(conflicts) => {
            ("ask", conflicts.iter().map(conflict_json).collect::<Vec<_>>().into())
        }
        Action::Send(_) => ("send", Json::Null),
        Action::Write(_) => ("write", Json::Null),
        Action::Report => ("report", Json::Null),
        Action::Recheck(job) => ("recheck", u64::from(*job).into()),
        Action::UpdatePage { is_decided } => ("update", (*is_decided).into()),
    };
    Json::object([("do", name.into()), ("about", about)])
}

fn overwritten_json(overwritten: &Overwritten) -> Json {
    let versions = overwritten.versions.iter().map(|version| {
        let text = String::from_utf8_lossy(&version.text).into_owned();
        Json::object([("isMine", version.is_ours.into()), ("text", text.into())])
    });
    Json::object([
        ("versions", versions.collect::<Vec<_>>().into()),
        ("isLate", overwritten.is_late.into()),
    ])
}

/// A conflict with the word diff of its two texts, from theirs to ours; `null` if they are not
/// texts.
fn conflict_json(conflict: &Conflict) -> Json {
    let text = |side: &Option<Json>| Some(side.as_ref()?.as_str()?.into_owned());
    let words = text(&conflict.theirs).zip(text(&conflict.ours));
    let mut json = conflict.to_json();
    if let Some(object) = json.as_object_mut() {
        object.insert("words", words.map(|(theirs, ours)| words_json(&theirs, &ours)));
    }
    json
}

fn news_json(news: &News) -> Json {
    let entry = |entry: &EntryNews| {
        Json::object([("title", entry.title.as_str().into()), ("what", entry.what.into())])
    };
    Json::object([
        ("book", news.book.as_str().into()),
        ("isGone", news.is_gone.into()),
        ("entries", news.entries.iter().map(entry).collect::<Vec<_>>().into()),
    ])
}
