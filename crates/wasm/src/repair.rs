//! Plans for repair, split and restore, which the page carries out on the open chat.

use forklore_core::pieces::Pieces;
use forklore_core::plan::repair::{self, BookPlan, RepairSource};
use forklore_core::sillytavern::book::Book;
use forklore_core::sillytavern::chat::Chat;
use forklore_core::timeline::family::common_prefix;
use forklore_core::timeline::moment::BoundChat;
use forklore_json::{Json, Object};
use wasm_bindgen::JsError;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::boundary::answer::Answer;
use crate::boundary::ask::{Ask, chat_file, not_of_its_type};
use crate::boundary::diagnostics;

/// Plans a repair, a split or a restore. `other` is the book to copy or, for a split, the parent's
/// chat if there is one.
#[wasm_bindgen]
pub fn plan_repair(
    ask: &[u8],
    chat: &[u8],
    book: Option<Vec<u8>>,
    other: Option<Vec<u8>>,
) -> Result<Answer, JsError> {
    let keys = ["how", "chat", "group", "bookName", "freeName", "now", "message", "copied"];
    let ask = Ask::read(ask, &keys)?;
    let file = chat_file(chat)?;
    let kind = ask.chat_kind()?;
    let chat = Chat::read(&file, kind);
    let bound = ask.bound(book.as_deref())?;
    let name = ask.text("chat")?;
    let subject = BoundChat { name: &name, chat: &chat, bound: &bound, past: None };
    let (free_name, now) = (ask.text("freeName")?, ask.now()?);
    let plan = match ask.text("how")?.as_str() {
        "split" => {
            let parent = other.as_deref().map(chat_file).transpose()?;
            let parent = parent.as_deref().map(|file| Chat::read(file, kind));
            let fork_point = parent.and_then(|parent| common_prefix(&chat, &parent));
            repair::split(subject, &free_name, fork_point, &now)
        }
        "follow" => repair::follow(subject, &free_name),
        "restore" => repair::restore(subject, ask.number("message")?, false, &now),
        source => {
            let source = source_of(source, &ask, other.as_deref())?;
            repair::repair(subject, &source, &free_name, &now)
        }
    };
    Ok(match plan {
        Ok(plan) => {
            let value = plan_json(&plan, &chat);
            Answer::of(&value).with_book(plan.book.map(|book| book.bytes))
        }
        Err(error) => Answer::of(&Json::object([
            ("possible", Json::Bool(false)),
            ("reason", diagnostics::to_json(&error)),
        ])),
    })
}

fn source_of<'a>(
    source: &str,
    ask: &Ask<'_>,
    other: Option<&'a [u8]>,
) -> Result<RepairSource<'a>, JsError> {
    Ok(match source {
        "journal" => RepairSource::Journal,
        "recap" => RepairSource::Recap,
        "empty" => RepairSource::Empty,
        "detach" => RepairSource::Detach,
        "copy" => {
            let bytes = other.ok_or_else(|| not_of_its_type("book"))?;
            let book = Book::read(bytes).map_err(|error| JsError::new(&error.to_string()))?;
            RepairSource::Copy { name: ask.text("copied")?, book }
        }
        other => return Err(JsError::new(&format!("there is no source {other:?}"))),
    })
}

fn plan_json(plan: &BookPlan<'_>, chat: &Chat<'_>) -> Json {
    let mut value = Object::new();
    value.insert("possible", true);
    let book = plan.book.as_ref().map(|book| {
        Json::object([("name", book.name.as_str().into()), ("entries", book.entries.into())])
    });
    value.insert("book", book);
    value.insert("replaces", plan.replaces);
    value.insert("part", plan.part.map(|part| part.to_json()));
    value.insert("remarks", diagnostics::list(&plan.remarks, diagnostics::to_json));
    let changed = plan.chat.as_ref().map(Pieces::to_vec);
    let changed = changed.as_deref().map(|file| Chat::read(file, chat.kind()));
    let metadata = changed.as_ref().and_then(|changed| changed.metadata()?.json().ok());
    value.insert("metadata", metadata);
    value.insert(
        "messages",
        changed.map(|changed| changed_messages(chat, &changed)).unwrap_or_default(),
    );
    value.into()
}

/// The messages that changed, by number.
fn changed_messages(before: &Chat<'_>, after: &Chat<'_>) -> Object {
    let changed = (0..after.len()).filter(|&index| before.line(index) != after.line(index));
    let value = |index: usize| after.message(index)?.json().ok();
    changed.filter_map(|index| Some((index.to_string(), value(index)?))).collect()
}
