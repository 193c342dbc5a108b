//! A chat under construction: SillyTavern saves it, and each message can record the state of its
//! book.

use forklore_core::journal::{Record, RecordedState};
use forklore_json::Json;
use forklore_testkit::scene;
use serde_json::{Value, json};

use super::stage::Stage;

/// A chat with a book and, optionally, a journal in its messages.
pub(crate) struct Tale<'a> {
    stage: &'a Stage<'a>,
    pub(crate) chat: String,
    pub(crate) book: String,
    pub(crate) metadata: Value,
    messages: Vec<String>,
    journal: Option<Journal>,
    /// The book at each message, as SillyTavern returned it at that point.
    pub(crate) books: Vec<String>,
}

#[derive(Default)]
struct Journal {
    before: Option<(Record, RecordedState)>,
    count: u64,
}

impl<'a> Tale<'a> {
    /// A chat whose messages record nothing.
    pub(crate) fn unrecorded(stage: &'a Stage<'a>, book: &str) -> Self {
        let (chat, name) = (stage.chat(), stage.book());
        stage.api().edit_book(&name, book).ok();
        let metadata = json!({ "integrity": format!("slug of {chat}"), "world_info": name });
        let (messages, books) = (Vec::new(), Vec::new());
        Self { stage, chat, book: name, metadata, messages, journal: None, books }
    }

    /// A chat in which every message records the book and the variables.
    pub(crate) fn recorded(stage: &'a Stage<'a>, book: &str) -> Self {
        Self { journal: Some(Journal::default()), ..Self::unrecorded(stage, book) }
    }

    /// Writes the book through SillyTavern.
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

    /// Saves the chat through SillyTavern.
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
