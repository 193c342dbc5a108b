//! The mark in a book that Forklore made: for which chat, and from what.

use crate::timeline::exactness::Knowledge;
use forklore_json::{Json, Object, Raw};

const FORMAT: i64 = 1;

#[derive(Clone, Debug, PartialEq)]
pub struct Mark {
    /// The chat that the book was made for, and its integrity slug.
    pub chat: String,
    pub integrity: Option<String>,
    /// The book, chat and message that it was made from.
    pub from_book: Option<String>,
    pub from_chat: Option<String>,
    pub message: Option<usize>,
    pub made: String,
    pub part: Option<Knowledge>,
}

impl Mark {
    pub fn to_json(&self) -> Json {
        let mut json = Object::new();
        json.insert("format", FORMAT);
        json.insert("chat", self.chat.as_str());
        json.insert("integrity", self.integrity.clone());
        let from = Json::object([
            ("book", Json::from(self.from_book.clone())),
            ("chat", Json::from(self.from_chat.clone())),
            ("message", Json::from(self.message)),
        ]);
        json.insert("from", from);
        json.insert("made", self.made.as_str());
        if let Some(part) = self.part {
            part.write_to(&mut json);
        }
        json.into()
    }

    /// Reads a mark of this format or a later one: it matters most that Forklore made the book.
    pub fn read(mark: Raw<'_>) -> Option<Self> {
        Self::of(&mark.json().ok()?)
    }

    /// Like [`read`](Self::read), from a value.
    pub fn of(mark: &Json) -> Option<Self> {
        let text = |path: &[&str]| Some(mark.at(path)?.as_str()?.into_owned());
        mark.get("format")?;
        Some(Self {
            chat: text(&["chat"]).unwrap_or_default(),
            integrity: text(&["integrity"]),
            from_book: text(&["from", "book"]),
            from_chat: text(&["from", "chat"]),
            message: mark.at(&["from", "message"]).and_then(Json::as_usize),
            made: text(&["made"]).unwrap_or_default(),
            part: Knowledge::read_from(mark),
        })
    }
}
