//! The journal of the open chat.

use forklore_core::journal::{
    CarriedRecord, Changes, ChatJournal, FileCheck, Folded, Limits, Observation, ObservedText,
    OpenChat, RECORDED_METADATA, Records, StatePart, is_foreign_key,
};
use forklore_core::recap::running;
use forklore_core::sillytavern::chat::{Chat, ChatKind};
use forklore_json::{Json, Raw};
use wasm_bindgen::JsError;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::boundary::ask::{Ask, chat_file, json};

/// The journal of one open chat.
///
/// The chat is passed as the numbers that identify its messages, or nothing if they are the same as
/// at the last call. `carried` is a JSON array of `[place, field]` for the messages that carry
/// something else than the journal gave them. The answers have the same form: what the messages at
/// these places must carry now; nothing if everything stays.
#[wasm_bindgen]
pub struct Journal(ChatJournal);

#[wasm_bindgen]
impl Journal {
    /// `random` makes the records of this page distinguishable from those of other pages.
    #[wasm_bindgen(constructor)]
    pub fn new(random: &str) -> Self {
        Self(ChatJournal::new(random))
    }

    /// Brings the records up to date. `book` is the text of the bound book if it was read;
    /// `metadata` is JSON text with the keys for which `is_recorded` is true, if it has changed.
    /// `largest_book` is in bytes: of a larger book only a digest is recorded.
    pub fn sync(
        &mut self,
        chat: Option<Vec<u32>>,
        carried: &[u8],
        ask: &[u8],
        book: Option<Vec<u8>>,
        metadata: Option<Vec<u8>>,
        largest_book: f64,
    ) -> Result<Option<Vec<u8>>, JsError> {
        let ask = Ask::read(ask, &["bookName", "book", "isOwn", "isUnsaved", "isTouched"])?;
        let now = Observation {
            book_name: ask.optional_text("bookName")?,
            book: match (&*ask.text("book")?, book) {
                ("unchanged", _) => ObservedText::Unchanged,
                ("assumed", _) => ObservedText::Assumed,
                ("read", Some(text)) => ObservedText::Read(text),
                ("missing", _) => ObservedText::Missing,
                _ => return Err(JsError::new("the page left out the book")),
            },
            is_own: ask.flag("isOwn")?,
            is_unsaved: ask.flag("isUnsaved")?,
            is_touched: ask.flag("isTouched")?,
            metadata: match metadata {
                Some(text) => Some(document(&text)?.json_without_deep_members()),
                None => None,
            },
            // The cast saturates, and NaN becomes 0.
            limits: Limits { largest_book: largest_book as usize },
        };
        let chat = open_chat(chat, carried)?;
        Ok(text_of(&self.0.sync(chat, now)))
    }

    /// Whether this message was in the chat at the last call.
    pub fn knows(&self, message: u32) -> bool {
        self.0.knows(message)
    }

    /// Messages were appended right after the last call.
    pub fn arrived(
        &mut self,
        chat: Option<Vec<u32>>,
        carried: &[u8],
    ) -> Result<Option<Vec<u8>>, JsError> {
        Ok(text_of(&self.0.arrived(open_chat(chat, carried)?)))
    }

    /// A JSON array of the uids of records whose book file was not checked yet; nothing if there
    /// are none.
    pub fn unchecked(&self, book_name: &str) -> Option<Vec<u8>> {
        let uids = self.0.unchecked(book_name);
        (!uids.is_empty()).then(|| Json::from(uids).stringify())
    }

    /// The book's file was read. `arrived` is the answer of `unchecked` from before the read began.
    pub fn file_checked(
        &mut self,
        book_name: &str,
        text: &[u8],
        is_pages: bool,
        arrived: Option<Vec<u8>>,
    ) -> Result<Option<Vec<u8>>, JsError> {
        let arrived = arrived.map_or(Ok(Json::Null), |uids| json(&uids))?;
        let arrived = arrived.as_array().unwrap_or_default().iter();
        let arrived: Vec<String> = arrived.filter_map(|uid| Some(uid.as_str()?.into())).collect();
        let check = FileCheck { book_name, text, is_pages, arrived: &arrived };
        Ok(text_of(&self.0.file_checked(&check)))
    }

    /// Forgets the chat. The next call starts from the records that its messages carry then.
    pub fn forget(&mut self) {
        self.0.forget();
    }
}

fn open_chat(messages: Option<Vec<u32>>, carried: &[u8]) -> Result<OpenChat, JsError> {
    let field = |carried: Raw<'_>| {
        let mut parts = carried.elements();
        let place = usize::try_from(parts.next()?.integer()?).ok()?;
        Some((place, CarriedRecord::read(parts.next()?)))
    };
    let carried = document(carried)?.elements().filter_map(field).collect();
    Ok(OpenChat { messages, carried })
}

fn document(text: &[u8]) -> Result<Raw<'_>, JsError> {
    Raw::document(text).map_err(|error| JsError::new(&error.to_string()))
}

/// The records as they are, since building values of them would take long.
fn text_of(changes: &Changes) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    for (place, record) in changes {
        text.push(if text.is_empty() { b'[' } else { b',' });
        text.push(b'[');
        text.extend(Json::from(*place).stringify());
        text.push(b',');
        text.extend_from_slice(record.as_ref().map_or(b"null", |record| record.text()));
        text.push(b']');
    }
    text.push(b']');
    (!changes.is_empty()).then_some(text)
}

/// The newest state in the journal at or before a message, the message that it belongs to, and for
/// each part whether it is exact. `chat` is an array of the chat's header and messages.
#[wasm_bindgen]
pub fn recorded_state(chat: &[u8], message: usize) -> Result<Option<Vec<u8>>, JsError> {
    let file = chat_file(chat)?;
    let records = Records::of(&Chat::read(&file, ChatKind::Solo));
    let Some(Folded { message: at, state }) = records.newest(message) else { return Ok(None) };
    let arrival = records.testimony(message).filter(|_| at == message);
    let is_exact = |part| {
        let proved = arrival.and_then(|arrival| arrival.proved(part));
        Json::from(proved == Some(state.digest(part).as_str()))
    };
    let exact = [("book", is_exact(StatePart::Book)), ("metadata", is_exact(StatePart::Metadata))];
    let answer =
        [("message", at.into()), ("state", state.to_json()), ("exact", Json::object(exact))];
    Ok(Some(Json::object(answer).stringify()))
}

/// Whether the journal records this key of a chat's metadata.
#[wasm_bindgen]
pub fn is_recorded(key: &str) -> bool {
    key == running::KEY || RECORDED_METADATA.contains(&key) || is_foreign_key(key)
}
