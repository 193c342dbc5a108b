//! What the journal remembers.

use crate::book::{Book, unmark};
use crate::digest::Digest;
use crate::json::{Json, Object};

/// Keys of the chat's metadata that belong to a moment of the story. Identity (`integrity`,
/// `main_chat`), caches, and what other extensions keep are not among them.
pub const RECORDED_METADATA: [&str; 27] = [
    "variables",
    "timedWorldInfo",
    "note_prompt",
    "note_interval",
    "note_depth",
    "note_position",
    "note_role",
    "scenario",
    "mes_example",
    "system_prompt",
    "persona",
    "pick_reroll_seed",
    "custom_background",
    "chat_backgrounds",
    "script_injects",
    "attachments",
    "quickReply",
    "narrator_name",
    "cfg_guidance_scale",
    "cfg_negative_prompt",
    "cfg_positive_prompt",
    "cfg_prompt_combine",
    "cfg_groupchat_individual_chars",
    "cfg_prompt_insertion_depth",
    "cfg_prompt_separator",
    "cfg_negative_combine",
    "cfg_negative_insertion_depth",
];

/// The book and the metadata at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    pub book: Option<BookState>,
    pub metadata: Object,
}

#[derive(Clone, Debug, PartialEq)]
pub struct BookState {
    pub name: String,
    /// The whole book but for our own mark.
    pub content: Object,
}

impl State {
    /// The state of a chat whose metadata and bound book are these.
    pub fn of(metadata: &Json, book: Option<(&str, &Json)>) -> Self {
        let recorded = RECORDED_METADATA
            .iter()
            .filter_map(|key| Some((*key, metadata.get(key)?.clone())))
            .collect();
        let book = book.and_then(|(name, book)| {
            Some(BookState { name: name.to_owned(), content: unmarked(book.as_object()?) })
        });
        Self { book, metadata: recorded }
    }

    /// Tells two states apart; records name the state they follow by it.
    pub fn id(&self) -> String {
        Digest::of(&self.to_json().stringify()).short(16)
    }

    pub(super) fn to_json(&self) -> Json {
        let book = self.book.as_ref().map(|book| {
            Json::object([
                ("name", Json::from(book.name.as_str())),
                ("content", book.content.clone().into()),
            ])
        });
        Json::object([("book", book.into()), ("metadata", self.metadata.clone().into())])
    }

    pub(super) fn from_json(json: &Json) -> Option<Self> {
        let metadata = json.get("metadata")?.as_object()?.clone();
        let book = match json.get("book")? {
            Json::Null => None,
            book => Some(BookState {
                name: book.get("name")?.as_str()?.into_owned(),
                content: book.get("content")?.as_object()?.clone(),
            }),
        };
        Some(Self { book, metadata })
    }
}

impl BookState {
    pub fn entries(&self) -> Option<&Object> {
        self.content.get("entries")?.as_object()
    }

    pub fn of(name: &str, book: &Book<'_>) -> Option<Self> {
        let value = book.root().json().ok()?;
        Some(Self { name: name.to_owned(), content: unmarked(value.as_object()?) })
    }
}

fn unmarked(book: &Object) -> Object {
    let mut book = book.clone();
    unmark(&mut book);
    book
}
