//! Names of chats and books.

use forklore_core::plan::rename::{self, NamePlace};
use forklore_core::sillytavern::chat::{Chat, ChatKind};
use forklore_core::sillytavern::names::{self, NamedFile};
use forklore_json::Json;
use wasm_bindgen::JsError;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::boundary::answer::Answer;
use crate::boundary::ask::{Ask, chat_file};

#[cfg(target_arch = "wasm32")]
#[wasm_bindgen(raw_module = "../folding.js")]
extern "C" {
    fn folded(name: &str) -> String;
}

#[cfg(target_arch = "wasm32")]
#[wasm_bindgen(start)]
fn start() {
    forklore_core::sillytavern::folding::use_page(folded);
}

/// A free name for the book that belongs to a chat.
#[wasm_bindgen]
pub fn name_for_book(ask: &[u8]) -> Result<String, JsError> {
    let ask = Ask::read(ask, &["chat", "books"])?;
    Ok(names::for_book(&ask.text("chat")?, &ask.names("books")?))
}

/// A name for a new chat: `wanted`, made valid for a file and numbered if it is taken.
#[wasm_bindgen]
pub fn name_for_chat(ask: &[u8]) -> Result<String, JsError> {
    let ask = Ask::read(ask, &["wanted", "taken", "parent", "kind"])?;
    let (wanted, taken) = (ask.text("wanted")?, ask.names("taken")?);
    let (parent, kind) = (ask.text("parent")?, ask.fork_kind()?);
    let wanted = names::stem(&wanted, NamedFile::Chat).unwrap_or_default();
    let numbered = |number: usize| match number {
        1 => wanted.trim().to_owned(),
        number => format!("{} ({number})", wanted.trim()),
    };
    let free =
        (1..1000).map(numbered).find(|name| names::check(name, NamedFile::Chat, &taken).is_ok());
    Ok(free.unwrap_or_else(|| names::for_child(&parent, kind, &taken)))
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

/// The places in a chat that name the chat `name`, as paths from `{metadata, messages}` on.
#[wasm_bindgen]
pub fn places_naming(name: &str, chat: &[u8]) -> Result<Answer, JsError> {
    let file = chat_file(chat)?;
    let places = rename::places_naming(&Chat::read(&file, ChatKind::Solo), name);
    let path = |NamePlace { message, path }: &NamePlace| {
        let start = match message {
            None => vec![Json::from("metadata")],
            Some(index) => vec![Json::from("messages"), Json::from(*index)],
        };
        Json::Array(start.into_iter().chain(path.iter().map(|key| Json::from(*key))).collect())
    };
    Ok(Answer::of(&Json::Array(places.iter().map(path).collect())))
}

/// The names of those of the chats `others` that may name a renamed chat.
#[wasm_bindgen]
pub fn chats_naming(ask: &[u8]) -> Result<Answer, JsError> {
    let ask = Ask::read(ask, &["from", "metadata", "others"])?;
    let others = ask.siblings("others")?;
    let names = rename::chats_naming(&ask.text("from")?, ask.member("metadata")?, &others);
    Ok(Answer::of(&Json::Array(names.into_iter().map(Json::from).collect())))
}

/// Whether two texts are the same book under two names.
#[wasm_bindgen]
pub fn is_same_lore(one: &[u8], other: &[u8]) -> bool {
    rename::is_same_lore(one, other)
}
