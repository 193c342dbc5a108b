//! The lore at a message, for people to read.

use forklore_core::changes::{What, changes};
use forklore_core::chat::Chat;
use forklore_core::clone::book_value;
use forklore_core::json::{Json, Object};
use forklore_core::moment::{BookThen, moment};
use forklore_core::recap;
use wasm_bindgen::JsError;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::answer::Answer;
use crate::ask::{Ask, chat_file};

/// The entries as they were at a message, and what became of them since.
#[wasm_bindgen]
pub fn lore(ask: &[u8], chat: &[u8], book: Option<Vec<u8>>) -> Result<Answer, JsError> {
    let ask = Ask::read(ask)?;
    let file = chat_file(chat)?;
    let chat = Chat::read(&file, ask.place());
    let bound = ask.bound(book.as_deref());
    let message = ask.number("message").unwrap_or_else(|| chat.len().saturating_sub(1));
    let today = bound.book().and_then(|book| book.root().json().ok()).unwrap_or(Json::Null);
    let found = moment(&chat, &bound, message, ask.flag("fill"));
    let mut answer = Object::new();
    answer.insert("message", message);
    match &found.book {
        BookThen::Known { part, name, content } => {
            let then = entries_of(&book_value(content));
            let now = entries_of(&today);
            answer.insert("known", true);
            answer.insert("part", part.to_json());
            answer.insert("book", name.as_str());
            answer
                .insert("entries", then.iter().map(|(_, entry)| shown(entry)).collect::<Vec<_>>());
            let changes = changes(&then, &now).into_iter().map(|change| {
                let entry = now.get_text(&change.key).or_else(|| then.get_text(&change.key));
                let mut json = shown(entry.unwrap_or(&Json::Null));
                let (what, fields) = match change.what {
                    What::Added => ("added", Vec::new()),
                    What::Removed => ("removed", Vec::new()),
                    What::Changed(fields) => ("changed", fields),
                };
                if let Some(object) = json.as_object_mut() {
                    object.insert("what", what);
                    object.insert("fields", fields);
                    let before = then.get_text(&change.key).and_then(|entry| entry.get("content"));
                    object.insert("before", before.cloned());
                }
                json
            });
            answer.insert("changes", changes.collect::<Vec<_>>());
        }
        BookThen::None(part) => {
            answer.insert("known", true);
            answer.insert("part", part.to_json());
            answer.insert("book", Json::Null);
            answer.insert("entries", Vec::<Json>::new());
            answer.insert("changes", Vec::<Json>::new());
        }
        BookThen::Unknown => answer.insert("known", false),
    }
    Ok(Answer::of(&answer.into()))
}

fn entries_of(book: &Json) -> Object {
    book.get("entries").and_then(Json::as_object).cloned().unwrap_or_default()
}

fn shown(entry: &Json) -> Json {
    let text = |key: &str| entry.get(key).and_then(Json::as_str).unwrap_or_default();
    let title = text("comment");
    Json::object([
        ("uid", entry.get("uid").cloned().into()),
        ("title", Json::from(title.as_ref())),
        ("content", entry.get("content").cloned().into()),
        ("keys", entry.get("key").cloned().into()),
        ("disabled", Json::Bool(entry.get("disable").is_some_and(Json::is_truthy))),
        ("internal", Json::Bool(recap::is_internal(&title))),
    ])
}
