//! Keeps the record of the open chat's last message up to date.

use forklore_core::journal::{
    Folded, Limits, RECORDED_METADATA, Record, RecordedState, Records, StatePart, Writer, inserted,
    is_foreign_key, merged,
};
use forklore_core::recap::running;
use forklore_core::sillytavern::book::Book;
use forklore_core::sillytavern::chat::{Chat, ChatKind};
use forklore_json::{Json, Raw};
use wasm_bindgen::JsError;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::ask::{chat_file, json};

/// The journal of one open chat. Records are passed as JSON text.
#[wasm_bindgen]
pub struct Journal(Writer);

#[wasm_bindgen]
impl Journal {
    /// `largest_book` is in bytes: of a larger book only a digest is recorded. `random` makes the
    /// records of this page distinguishable from those of other pages.
    #[wasm_bindgen(constructor)]
    pub fn new(largest_book: f64, random: &str) -> Self {
        // The cast saturates, and NaN becomes 0.
        Self(Writer::new(Limits { largest_book: largest_book as usize }, random))
    }

    /// Starts with a chat: an array of each message's record, or `null` where it has none. Returns
    /// the indices of the messages whose record was made for another place.
    pub fn open(&mut self, records: &[u8]) -> Result<Vec<usize>, JsError> {
        let records = json(records)?;
        let records = records.as_array().ok_or_else(|| JsError::new("the records are no list"))?;
        Ok(self.0.open(Record::all_from_json(records)))
    }

    /// Observes the book that the chat is bound to, if any. Returns whether it can be recorded: a
    /// book without text, or with unreadable text, counts as missing.
    pub fn observe_book(&mut self, name: Option<String>, text: Option<Vec<u8>>) -> bool {
        let is_missing = name.is_some() && text.is_none();
        self.0.observe_book(name.as_deref(), text).is_ok() && !is_missing
    }

    /// The book of this name exists, but has not been read since the last message arrived.
    pub fn assume_book(&mut self, name: &str) {
        self.0.assume_book(name);
    }

    /// Whether the book observed last has not been saved yet.
    pub fn observe_unsaved(&mut self, is_unsaved: bool) {
        self.0.observe_unsaved(is_unsaved);
    }

    /// Observes the chat's metadata, or only the keys for which `is_recorded` is true.
    pub fn observe_metadata(&mut self, metadata: &[u8]) -> Result<(), JsError> {
        let metadata = Raw::document(metadata).map_err(|error| JsError::new(&error.to_string()))?;
        self.0.observe_metadata(&metadata.json_without_deep_members());
        Ok(())
    }

    /// The record that the last message must carry now; nothing if it already carries that one.
    pub fn record(&mut self) -> Option<Vec<u8>> {
        self.0.record().map(text_of)
    }

    /// A message arrives at this instant, in the state observed last. Returns its record, if it
    /// gets one. Call `record` first, for the message before it.
    pub fn arrive(&mut self) -> Option<Vec<u8>> {
        self.0.arrive().map(text_of)
    }

    /// New messages were found at the end whose arrival was not observed. Observe afterwards.
    pub fn grow(&mut self, count: usize, was_touched: bool) {
        self.0.grow(count, was_touched);
    }

    /// It is unknown how the last message got to its place and what has changed since. Observe
    /// afterwards.
    pub fn doubt(&mut self) {
        self.0.doubt();
    }

    /// Replaces what is recorded about the arrival of the last message by what `last`, its record,
    /// says.
    pub fn amend(&mut self, last: &[u8]) -> Result<(), JsError> {
        if let Some(last) = Record::from_json(&json(last)?) {
            self.0.amend(&last);
        }
        Ok(())
    }

    /// The last message was deleted. `earlier` is the record of the message before it, or `null`.
    pub fn retreat(&mut self, earlier: &[u8]) -> Result<(), JsError> {
        self.0.retreat(Record::from_json(&json(earlier)?));
        Ok(())
    }

    /// All messages with a record before the last one were deleted. `gone` is their record.
    pub fn inherit(&mut self, gone: &[u8]) -> Result<(), JsError> {
        if let Some(gone) = Record::from_json(&json(gone)?) {
            self.0.inherit(gone);
        }
        Ok(())
    }
}

/// Joins two neighbouring records; nothing if one does not follow the other.
#[wasm_bindgen]
pub fn join_records(earlier: &[u8], later: &[u8]) -> Result<Option<Vec<u8>>, JsError> {
    let (earlier, later) = (Record::from_json(&json(earlier)?), Record::from_json(&json(later)?));
    Ok(earlier.zip(later).and_then(|(earlier, later)| merged(&earlier, &later)).map(text_of))
}

/// For a message inserted between two others: an array of its record and the later message's new
/// record; nothing if the arrival of the later one was not observed. `random` makes the new
/// record's uid.
#[wasm_bindgen]
pub fn insert_record(
    earlier: &[u8],
    later: &[u8],
    random: &str,
) -> Result<Option<Vec<u8>>, JsError> {
    let (earlier, later) = (Record::from_json(&json(earlier)?), Record::from_json(&json(later)?));
    let both = earlier.zip(later).and_then(|(earlier, later)| inserted(&earlier, &later, random));
    Ok(both
        .map(|(between, later)| Json::Array(vec![between.to_json(), later.to_json()]).stringify()))
}

/// The digest by which records identify a book of this name and text, if it can be read.
#[wasm_bindgen]
pub fn book_digest(name: &str, text: &[u8]) -> Option<String> {
    let state = RecordedState::of_book(name, &Book::read(text).ok()?)?;
    Some(state.digest(StatePart::Book))
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

fn text_of(record: Record) -> Vec<u8> {
    record.to_json().stringify()
}
