//! Invented chats about which everything is known.
//!
//! A [`Story`] is a chat with its lorebook, generated message by message the way SillyTavern, the
//! recap extension and Forklore's journal would have written it, including deleted messages and
//! changed books. Alongside the files it holds the truth: the state of the book and the metadata at
//! each message. Tests compare every claim about a moment with it.

mod lore;
mod recap;
mod teller;
mod files;

use forklore_core::journal::{Record, RecordedState};
use forklore_core::timeline::family::Home;
use forklore_json::{Json, Object};

pub use lore::{REGISTRY, is_registry};
pub use recap::{RECAP_SNAPSHOT_FIELDS, lossy_entry};

/// The user that stories belong to.
pub const USER: &str = "default-user";

#[derive(Clone, Debug)]
pub struct Story {
    pub home: Home,
    /// The chat's name, which is its file's stem.
    pub chat: String,
    pub messages: Vec<Message>,
    /// The whole `chat_metadata` at the end.
    pub metadata: Object,
    /// Every book by name, at the end.
    pub books: Vec<(String, Object)>,
    /// The book that the chat is bound to at the end.
    pub bound: Option<String>,
    /// Whether the bound book's file was lost.
    pub book_is_lost: bool,
    /// Whether the book's queue has pending operations.
    pub has_work: bool,
    /// Whether every message has a record and none was ever lost.
    pub journal_is_whole: bool,
    /// The last message of a branch that SillyTavern made, which shares the book.
    pub sharing_branch: Option<usize>,
    pub formatting: Formatting,
}

/// The formatting of the story's files.
#[derive(Clone, Copy, Debug, Default)]
pub struct Formatting {
    pub windows_line_ends: bool,
    pub final_newline: bool,
    /// The message that follows an unreadable line.
    pub garbage_before: Option<usize>,
    pub legacy_header: bool,
    /// Oddly spelled members at the start of some lines, and of the book.
    pub odd_members: bool,
    pub tight_book: bool,
}

#[derive(Clone, Debug)]
pub struct Message {
    pub(crate) id: u64,
    pub(crate) value: Object,
    pub record: Option<Record>,
    /// The state that the record was made from.
    pub(crate) recorded: Option<RecordedState>,
    /// The state at this message, until the next one arrived. If later messages were deleted, there
    /// may be several correct answers; the last is the latest.
    pub truths: Vec<RecordedState>,
    pub scene: Option<Scene>,
}

/// A scene that ended at a message.
#[derive(Clone, Debug, Default)]
pub struct Scene {
    /// The state when the recap extension had finished its work for the scene; `None` if it never
    /// did.
    pub settled: Option<RecordedState>,
    /// The states from the message until then.
    pub on_the_way: Vec<RecordedState>,
    /// Whether the recap was made again later, so that its newer version shows a later book.
    pub regenerated: bool,
}

impl Story {
    /// Generates a story of at most `longest` messages.
    pub fn generate(rng: &mut fastrand::Rng, longest: usize) -> Self {
        teller::Teller::new(rng).generate(longest)
    }

    /// The state at the end.
    pub fn now(&self) -> &RecordedState {
        self.messages.last().and_then(|last| last.truths.last()).expect("a story has messages")
    }

    /// Whether `state` was the state at message `m`.
    pub fn was_at(&self, m: usize, state: &RecordedState) -> bool {
        self.messages[m].truths.contains(state)
    }

    /// The contents of the books that the chat was bound to at message `m`.
    pub fn books_at(&self, m: usize) -> Vec<Option<Object>> {
        let states = self.messages[m].truths.iter();
        states.map(|state| state.book.as_ref().map(|book| book.content())).collect()
    }

    pub fn book(&self, name: &str) -> Option<&Object> {
        self.books.iter().find(|(other, _)| other == name).map(|(_, book)| book)
    }

    /// Whether there is an unreadable line between a message and the next.
    pub fn is_torn_after(&self, m: usize) -> bool {
        self.formatting.garbage_before == Some(m + 1)
    }

    pub fn is_last(&self, m: usize) -> bool {
        m + 1 == self.messages.len()
    }
}

pub(crate) fn text(value: &str) -> Json {
    Json::from(value)
}
