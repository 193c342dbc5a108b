//! The lore at a message, to be shown.

use forklore_core::compare::diff::{LoreSide, compare};
use forklore_core::plan::book_copy::book_value;
use forklore_core::recap;
use forklore_core::sillytavern::book::Book;
use forklore_core::sillytavern::chat::Chat;
use forklore_core::timeline::moment::{BookThen, moment};
use forklore_json::{Json, Object};
use wasm_bindgen::JsError;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::boundary::answer::Answer;
use crate::boundary::ask::{Ask, MOMENT, chat_file};

/// The entries at a message, and how they changed since.
#[wasm_bindgen]
pub fn lore(ask: &[u8], chat: &[u8], book: Option<Vec<u8>>) -> Result<Answer, JsError> {
    let ask = Ask::read(ask, &MOMENT)?;
    let file = chat_file(chat)?;
    let chat = Chat::read(&file, ask.chat_kind()?);
    let bound = ask.bound(book.as_deref())?;
    let message = ask.message_of(&chat)?;
    let found = moment(&chat, &bound, None, message, ask.moment_options()?);
    let mut answer = Object::new();
    answer.insert("message", message);
    match &found.book {
        BookThen::Known { part, name, content } => {
            let then = book_value(content);
            answer.insert("known", true);
            answer.insert("part", part.to_json_at(message));
            answer.insert("book", name.as_str());
            let entries = then.get("entries").and_then(Json::as_object);
            let entries = entries.into_iter().flat_map(Object::iter);
            answer
                .insert("entries", entries.map(|(_, entry)| entry_json(entry)).collect::<Vec<_>>());
            answer.insert("changes", changes(&then.stringify(), bound.book()));
        }
        BookThen::None(part) => {
            answer.insert("known", true);
            answer.insert("part", part.to_json_at(message));
            answer.insert("book", Json::Null);
            answer.insert("entries", Vec::<Json>::new());
            answer.insert("changes", Vec::<Json>::new());
        }
        BookThen::Unknown => answer.insert("known", false),
    }
    Ok(Answer::of(&answer.into()))
}

/// How the entries changed since then.
fn changes(then: &[u8], now: Option<&Book<'_>>) -> Vec<Json> {
    let then = Book::read(then).ok();
    let side = |book| LoreSide { book, metadata: None };
    let then = side(then.as_ref());
    let compared = compare(Some(then), then, side(now), true);
    let shown = compared.entries.iter().map(|entry| {
        let mut json = entry_json(entry.entry().unwrap_or(&Json::Null));
        if let Some(object) = json.as_object_mut() {
            object.insert("what", entry.right.did.word());
            let fields = entry.fields.iter().map(|field| Json::Text(field.name.clone()));
            object.insert("fields", fields.collect::<Vec<_>>());
            let before = entry.left.entry.as_ref().and_then(|before| before.get("content"));
            object.insert("before", before.cloned());
        }
        json
    });
    shown.collect()
}

fn entry_json(entry: &Json) -> Json {
    let text = |key: &str| entry.get(key).and_then(Json::as_str).unwrap_or_default();
    let title = text("comment");
    // Books can come from any source, so an entry may have no list of keys.
    let keys = entry.get("key").and_then(Json::as_array).unwrap_or_default();
    Json::object([
        ("uid", entry.get("uid").cloned().into()),
        ("title", Json::from(title.as_ref())),
        ("content", entry.get("content").cloned().into()),
        ("keys", keys.to_vec().into()),
        ("disabled", Json::Bool(entry.get("disable").is_some_and(Json::is_truthy))),
        ("internal", Json::Bool(recap::is_internal(&title))),
    ])
}
