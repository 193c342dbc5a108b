//! The record of the open chat's last message, kept up to date.

use forklore_core::journal::{
    Folded, Limits, RECORDED_METADATA, Record, RecordedState, Records, StatePart, Writer, inserted,
    is_of_another, merged,
};
use forklore_core::recap::running;
use forklore_core::sillytavern::book::Book;
use forklore_core::sillytavern::chat::{Chat, ChatKind};
use forklore_json::{Json, Raw};
use wasm_bindgen::JsError;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::ask::{chat_file, json};

/// One open chat's journal. Records go in and come out as JSON text.
#[wasm_bindgen]
pub struct Journal(Writer);

#[wasm_bindgen]
impl Journal {
    /// `largest_book` in bytes: of a larger one only a digest is kept. `random` tells the records
    /// of this page from those of others.
    #[wasm_bindgen(constructor)]
    pub fn new(largest_book: f64, random: &str) -> Self {
        // A cast that saturates: what is no number at all is no room at all.
        Self(Writer::new(Limits { largest_book: largest_book as usize }, random))
    }

    /// Begins with a chat: an array with each message's record, or `null` where it has none. Gives
    /// back the places whose record is not where it was made.
    pub fn open(&mut self, records: &[u8]) -> Result<Vec<usize>, JsError> {
        let records = json(records)?;
        let records = records.as_array().ok_or_else(|| JsError::new("the records are no list"))?;
        Ok(self.0.open(Record::all_from_json(records)))
    }

    /// The book the chat is bound to, if any. Gives back whether it can be recorded: one that has
    /// no text, or no readable one, is missing.
    pub fn observe_book(&mut self, name: Option<String>, text: Option<Vec<u8>>) -> bool {
        let is_missing = name.is_some() && text.is_none();
        self.0.observe_book(name.as_deref(), text).is_ok() && !is_missing
    }

    /// The book of this name is there, and nobody has looked at it since the last message arrived.
    pub fn assume_book(&mut self, name: &str) {
        self.0.assume_book(name);
    }

    /// Whether the book that was observed last is still to be saved.
    pub fn observe_unsaved(&mut self, is_unsaved: bool) {
        self.0.observe_unsaved(is_unsaved);
    }

    /// The chat's metadata, or the part of it that `is_recorded` says.
    pub fn observe_metadata(&mut self, metadata: &[u8]) -> Result<(), JsError> {
        let metadata = Raw::document(metadata).map_err(|error| JsError::new(&error.to_string()))?;
        self.0.observe_metadata(&metadata.json_but_for_the_deep());
        Ok(())
    }

    /// What the last message must carry now; nothing where it carries that already.
    pub fn record(&mut self) -> Option<Vec<u8>> {
        self.0.record().map(text_of)
    }

    /// A message arrives at this instant, in the state observed last. Gives its record, if it gets
    /// one. Ask for the record of the one before first.
    pub fn arrive(&mut self) -> Option<Vec<u8>> {
        self.0.arrive().map(text_of)
    }

    /// Messages were found at the end that nobody saw arrive. Observe afterwards.
    pub fn grow(&mut self, count: usize, was_touched: bool) {
        self.0.grow(count, was_touched);
    }

    /// Nobody knows how the last message came to be where it is, nor what holds since. Observe
    /// afterwards.
    pub fn doubt(&mut self) {
        self.0.doubt();
    }

    /// What is testified of the last message's arrival is what `last`, its record, says now.
    pub fn amend(&mut self, last: &[u8]) -> Result<(), JsError> {
        if let Some(last) = Record::from_json(&json(last)?) {
            self.0.amend(&last);
        }
        Ok(())
    }

    /// The last message was deleted. `earlier` is what the one before it carries, or `null`.
    pub fn retreat(&mut self, earlier: &[u8]) -> Result<(), JsError> {
        self.0.retreat(Record::from_json(&json(earlier)?));
        Ok(())
    }

    /// All messages before the last one that had a record were deleted; `gone` is theirs.
    pub fn inherit(&mut self, gone: &[u8]) -> Result<(), JsError> {
        if let Some(gone) = Record::from_json(&json(gone)?) {
            self.0.inherit(gone);
        }
        Ok(())
    }
}

/// Two neighbouring records as one; nothing where they do not follow each other.
#[wasm_bindgen]
pub fn join_records(earlier: &[u8], later: &[u8]) -> Result<Option<Vec<u8>>, JsError> {
    let (earlier, later) = (Record::from_json(&json(earlier)?), Record::from_json(&json(later)?));
    Ok(earlier.zip(later).and_then(|(earlier, later)| merged(&earlier, &later)).map(text_of))
}

/// The records of a message put between two others and of the later one, as an array; nothing where
/// nobody saw the later one arrive. `random` makes the new one's uid.
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

/// The digest under which records know a book of this name and text, if it can be read.
#[wasm_bindgen]
pub fn book_digest(name: &str, text: &[u8]) -> Option<String> {
    let state = RecordedState::of_book(name, &Book::read(text).ok()?)?;
    Some(state.digest(StatePart::Book))
}

/// The newest state that the journal holds at or before a message, the message it is of, and
/// whether it is exact, part by part. `chat` is an array of the chat's header and messages.
#[wasm_bindgen]
pub fn recorded_state(chat: &[u8], message: usize) -> Result<Option<Vec<u8>>, JsError> {
    let file = chat_file(chat)?;
    let records = Records::of(&Chat::read(&file, ChatKind::Solo));
    let Some(Folded { message: at, state }) = records.newest(message) else { return Ok(None) };
    let came = records.testimony(message).filter(|_| at == message);
    let is_exact = |part| {
        let proved = came.and_then(|came| came.proved(part));
        Json::from(proved == Some(state.digest(part).as_str()))
    };
    let exact = [("book", is_exact(StatePart::Book)), ("metadata", is_exact(StatePart::Metadata))];
    let answer =
        [("message", at.into()), ("state", state.to_json()), ("exact", Json::object(exact))];
    Ok(Some(Json::object(answer).stringify()))
}

/// Whether this key of a chat's metadata belongs to a moment of the story.
#[wasm_bindgen]
pub fn is_recorded(key: &str) -> bool {
    key == running::KEY || RECORDED_METADATA.contains(&key) || is_of_another(key)
}

fn text_of(record: Record) -> Vec<u8> {
    record.to_json().stringify()
}
