//! The record of the open chat's last message, kept up to date.

use forklore_core::chat::{Chat, Place};
use forklore_core::journal::{Folded, Limits, RECORDED_METADATA, Record, Writer, fold, merged};
use forklore_core::json::Json;
use wasm_bindgen::JsError;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::ask::{chat_file, json};

/// One open chat's journal. Records go in and come out as JSON text.
#[wasm_bindgen]
pub struct Journal(Writer);

#[wasm_bindgen]
impl Journal {
    /// `largest_book` in bytes: of a larger one only a digest is kept.
    #[wasm_bindgen(constructor)]
    pub fn new(largest_book: f64) -> Self {
        // A cast that saturates: what is no number at all is no room at all.
        Self(Writer::new(Limits { largest_book: largest_book as usize }))
    }

    /// Begins with a chat: an array with each message's record, or `null` where it has none.
    pub fn open(&mut self, records: &[u8]) -> Result<(), JsError> {
        let records = json(records)?;
        let records = records.as_array().ok_or_else(|| JsError::new("the records are no list"))?;
        self.0.open(records.iter().map(Record::from_json));
        Ok(())
    }

    /// The book the chat is bound to, if any. Gives back whether it can be recorded: one that has
    /// no text, or no readable one, is missing.
    pub fn observe_book(&mut self, name: Option<String>, text: Option<Vec<u8>>) -> bool {
        let is_missing = name.is_some() && text.is_none();
        self.0.observe_book(name.as_deref(), text).is_ok() && !is_missing
    }

    /// The chat's metadata, or the part of it that `recorded_metadata_keys` names.
    pub fn observe_metadata(&mut self, metadata: &[u8]) -> Result<(), JsError> {
        self.0.observe_metadata(&json(metadata)?);
        Ok(())
    }

    /// What the last message must carry now; nothing where it carries that already.
    pub fn record(&mut self) -> Option<Vec<u8>> {
        self.0.record().map(text_of)
    }

    /// A message came. Gives its record, if it gets one.
    pub fn advance(&mut self) -> Option<Vec<u8>> {
        self.0.advance().map(text_of)
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

/// The newest state that the journal proves at or before a message, and the message it is of.
/// `chat` is an array of the chat's header and messages.
#[wasm_bindgen]
pub fn recorded_state(chat: &[u8], message: usize) -> Result<Option<Vec<u8>>, JsError> {
    let file = chat_file(chat)?;
    let folded = fold(&Chat::read(&file, Place::Solo), message);
    Ok(folded.map(|Folded { message, state }| {
        Json::object([("message", message.into()), ("state", state.to_json())]).stringify()
    }))
}

/// The keys of a chat's metadata that belong to a moment of the story.
#[wasm_bindgen]
pub fn recorded_metadata_keys() -> Vec<u8> {
    Json::from(RECORDED_METADATA.to_vec()).stringify()
}

fn text_of(record: Record) -> Vec<u8> {
    record.to_json().stringify()
}
