//! Invented stories, of which everything is known.
//!
//! A [`Story`] is a chat with its lorebook, told message by message the way SillyTavern, the recap
//! extension and Forklore's journal would have written it, messages deleted and books changed on
//! the way. Beside the files it keeps the truth: what the book and the metadata were at each
//! message. Whatever claims to know a moment can be held against it.

mod lore;
mod recap;
mod teller;
mod files;

use forklore_core::journal::{Record, RecordedState};
use forklore_core::timeline::family::Home;
use forklore_json::{Json, Object};

pub use lore::{REGISTRY, is_registry};
pub use recap::{KEPT_BY_RECAP, lossy_entry};

/// The user that stories belong to.
pub const USER: &str = "default-user";

#[derive(Clone, Debug)]
pub struct Story {
    pub home: Home,
    /// The chat's name, which is its file's stem.
    pub chat: String,
    pub messages: Vec<Message>,
    /// The whole `chat_metadata`, as it is at the end.
    pub metadata: Object,
    /// Every book by name, as it is at the end.
    pub books: Vec<(String, Object)>,
    /// The book that the chat is bound to at the end.
    pub bound: Option<String>,
    /// The bound book's file was lost.
    pub book_is_lost: bool,
    /// The book's queue has operations that still have to run.
    pub has_work: bool,
    /// Every message carries a record, and none was ever lost.
    pub journal_is_whole: bool,
    /// A branch that SillyTavern made: messages 0 to this one, the same book.
    pub sharing_branch: Option<usize>,
    pub looks: Looks,
}

/// How the files look that hold the story.
#[derive(Clone, Copy, Debug, Default)]
pub struct Looks {
    pub windows_line_ends: bool,
    pub final_newline: bool,
    /// A line that nobody can read stands before this message.
    pub garbage_before: Option<usize>,
    pub legacy_header: bool,
    /// Members with odd spelling at the start of some lines, and of the book.
    pub odd_members: bool,
    pub tight_book: bool,
}

#[derive(Clone, Debug)]
pub struct Message {
    pub(crate) id: u64,
    pub(crate) value: Object,
    pub record: Option<Record>,
    /// The state the record was made of.
    pub(crate) recorded: Option<RecordedState>,
    /// What the state at this message was: until the next one came. Where later ones were deleted
    /// there can be several right answers; the last is the latest.
    pub truths: Vec<RecordedState>,
    pub scene: Option<Scene>,
}

/// A scene that ended at a message.
#[derive(Clone, Debug, Default)]
pub struct Scene {
    /// The state when the recap extension had finished its work for the scene; `None` if it
    /// never did.
    pub settled: Option<RecordedState>,
    /// States from the message until then.
    pub on_the_way: Vec<RecordedState>,
    /// The recap was made again later, and its newer version shows a later book.
    pub made_again: bool,
}

impl Story {
    /// Tells a story of at most `longest` messages.
    pub fn told(rng: &mut fastrand::Rng, longest: usize) -> Self {
        teller::Teller::new(rng).tell(longest)
    }

    /// The state at the end.
    pub fn now(&self) -> &RecordedState {
        self.messages.last().and_then(|last| last.truths.last()).expect("a story has messages")
    }

    /// Whether `state` was the state at message `m`.
    pub fn was_at(&self, m: usize, state: &RecordedState) -> bool {
        self.messages[m].truths.contains(state)
    }

    /// The books that the chat was bound to at message `m`, as they were.
    pub fn books_at(&self, m: usize) -> Vec<Option<Object>> {
        let states = self.messages[m].truths.iter();
        states.map(|state| state.book.as_ref().map(|book| book.content())).collect()
    }

    pub fn book(&self, name: &str) -> Option<&Object> {
        self.books.iter().find(|(other, _)| other == name).map(|(_, book)| book)
    }

    /// Whether something that nobody can read stands between a message and the next.
    pub fn is_torn_after(&self, m: usize) -> bool {
        self.looks.garbage_before == Some(m + 1)
    }

    pub fn is_last(&self, m: usize) -> bool {
        m + 1 == self.messages.len()
    }
}

pub(crate) fn text(value: &str) -> Json {
    Json::from(value)
}
