//! Names of chats and books.

use forklore_core::sillytavern::names::{self, NamedFile};
use wasm_bindgen::JsError;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::ask::Ask;

/// A free name for the book that belongs to a chat.
#[wasm_bindgen]
pub fn name_for_book(ask: &[u8]) -> Result<String, JsError> {
    let ask = Ask::read(ask)?;
    Ok(names::for_book(&ask.required("chat")?, &ask.names("books")))
}

/// A name for a new chat: `wanted`, made valid for a file and numbered if it is taken.
#[wasm_bindgen]
pub fn name_for_chat(ask: &[u8]) -> Result<String, JsError> {
    let ask = Ask::read(ask)?;
    let taken = ask.names("taken");
    let wanted = ask.text("wanted").unwrap_or_default();
    let wanted = names::stem(&wanted, NamedFile::Chat).unwrap_or_default();
    let numbered = |number: usize| match number {
        1 => wanted.trim().to_owned(),
        number => format!("{} ({number})", wanted.trim()),
    };
    let free =
        (1..1000).map(numbered).find(|name| names::check(name, NamedFile::Chat, &taken).is_ok());
    Ok(free.unwrap_or_else(|| {
        names::for_child(&ask.text("parent").unwrap_or_default(), ask.kind(), &taken)
    }))
}

/// A key that is equal for all spellings of a book's name.
#[wasm_bindgen]
pub fn book_key(name: &str) -> String {
    names::book_key(name)
}

/// Whether an entry with this title is ST-Auto-Recap's bookkeeping rather than lore.
#[wasm_bindgen]
pub fn is_internal(title: &str) -> bool {
    forklore_core::recap::is_internal(title)
}

/// The stem of the file in which SillyTavern stores a chat of this name.
#[wasm_bindgen]
pub fn chat_stem(name: &str) -> Option<String> {
    names::stem(name, NamedFile::Chat)
}
