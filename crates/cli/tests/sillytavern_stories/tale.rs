//! A chat in the making: SillyTavern saves it, and each message notes what its book was.

use forklore_core::journal::{Record, RecordedState};
use forklore_json::Json;
use forklore_testkit::scene;
use serde_json::{Value, json};

use super::stage::Stage;

/// A chat with a book and, if so begun, a journal in its messages.
pub(crate) struct Tale<'a> {
    stage: &'a Stage<'a>,
    pub(crate) chat: String,
    pub(crate) book: String,
    pub(crate) metadata: Value,
    messages: Vec<String>,
    journal: Option<Journal>,
    /// The book at each message, as SillyTavern gave it then.
    pub(crate) books: Vec<String>,
}

#[derive(Default)]
struct Journal {
    before: Option<(Record, RecordedState)>,
    count: u64,
}

impl<'a> Tale<'a> {
    /// A chat whose messages keep no record.
    pub(crate) fn unrecorded(stage: &'a Stage<'a>, book: &str) -> Self {
        let (chat, name) = (stage.chat(), stage.book());
        stage.api().edit_book(&name, book).ok();
        let metadata = json!({ "integrity": format!("slug of {chat}"), "world_info": name });
        let (messages, books) = (Vec::new(), Vec::new());
        Self { stage, chat, book: name, metadata, messages, journal: None, books }
    }

    /// A chat whose every message records what its book and variables were.
    pub(crate) fn recorded(stage: &'a Stage<'a>, book: &str) -> Self {
        Self { journal: Some(Journal::default()), ..Self::unrecorded(stage, book) }
    }

    /// Has SillyTavern write the book.
    pub(crate) fn write(&self, book: &str) {
        self.stage.api().edit_book(&self.book, book).ok();
    }

    pub(crate) fn say(&mut self, message: &Value) {
        let book = self.stage.lore(&self.book);
        let mut text = message.to_string();
        if let Some(journal) = &mut self.journal {
            let record = journal.record(&self.metadata, &self.book, &book);
            text.truncate(text.len() - 1);
            text += &format!(r#","forklore":{record}}}"#);
        }
        self.messages.push(text);
        self.books.push(book);
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        let header = json!({
            "chat_metadata": self.metadata, "user_name": "unused", "character_name": "unused"
        });
        std::iter::once(header.to_string()).chain(self.messages.iter().cloned()).collect()
    }

    /// Has SillyTavern save the chat.
    #[track_caller]
    pub(crate) fn save(&self) {
        self.stage.save(&self.chat, &self.lines()).ok();
    }

    /// The last message's number.
    pub(crate) fn last(&self) -> usize {
        self.messages.len() - 1
    }
}

impl Journal {
    fn record(&mut self, metadata: &Value, name: &str, book: &str) -> String {
        let metadata = Json::parse(metadata.to_string().as_bytes()).unwrap();
        let book = Json::parse(book.as_bytes()).unwrap();
        let state = RecordedState::of(&metadata, Some((name, &book)));
        let record = scene::watched(self.count, self.before.as_ref(), &state);
        let text = String::from_utf8(record.to_json().stringify()).unwrap();
        self.before = Some((record, state));
        self.count += 1;
        text
    }
}
