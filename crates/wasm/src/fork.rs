//! Forks: checks whether one is possible, and rewrites the request that saves the child.

use forklore_core::finding::Remark;
use forklore_core::journal::rewrite::{self, Rewrite};
use forklore_core::memory_books::{ManualBook, MemoryBooksState};
use forklore_core::plan::fork::{self, ForkPlan, ForkRequest, Readiness, Refusal};
use forklore_core::sillytavern::chat::Chat;
use forklore_core::sillytavern::names;
use forklore_core::sillytavern::save_request::{self, SaveRequest};
use forklore_core::timeline::moment::BoundChat;
use forklore_core::timeline::moment::{BookThen, Moment};
use forklore_json::{Edit, Json, Object, Raw};
use wasm_bindgen::JsError;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::answer::Answer;
use crate::ask::{Ask, chat_file};
use crate::cleanup::place;
use crate::diagnostics;

/// Rewrites the request with which the page saves a child, so that the child gets its own book.
///
/// `later` is an array of the parent's messages after the child's last one. `memories` is the
/// separate book of Memory Books' manual mode.
#[wasm_bindgen]
pub fn fork(
    ask: &[u8],
    body: &[u8],
    later: &[u8],
    book: Option<Vec<u8>>,
    memories: Option<Vec<u8>>,
) -> Result<Answer, JsError> {
    let ask = Ask::read(ask)?;
    let request = SaveRequest::read(body).map_err(|error| JsError::new(&error.to_string()))?;
    let child = request.file();
    let Some(message) = Chat::read(&child, ask.chat_kind()).len().checked_sub(1) else {
        return Err(JsError::new("the new chat has no messages"));
    };
    let file = with_parent_integrity(&with_later(child, later)?, &ask);
    let chat = Chat::read(&file, ask.chat_kind());
    let bound = ask.bound(book.as_deref());
    let parent_name = ask.required("parent")?;
    let parent = BoundChat { name: &parent_name, chat: &chat, bound: &bound, past: None };
    let child = ask.required("child")?;
    let books = ask.names("books");
    let manual = memories.zip(ask.text("memoryBook")).map(|(bytes, name)| ManualBook {
        name,
        bytes,
        copy: names::for_memories(&child, &books),
    });
    let selected = ask.list("selected").iter().map(place).map(Remark::AlsoSelected);
    let fork_request = ForkRequest {
        kind: ask.kind(),
        message,
        book: names::for_book(&child, &books),
        child,
        integrity: ask.required("integrity")?,
        now: ask.now(),
        policy: ask.policy(),
        memory_books: ask.flag("hasMemoryBooks").then_some(MemoryBooksState { manual }),
        remarks: selected.collect(),
    };
    match fork::plan(parent, &fork_request) {
        Ok(plan) => {
            let file = plan.file.to_vec();
            // A chat converted to a group chat leaves its family: SillyTavern drops the link, too.
            let file = if ask.flag("unlinked") { without_parent(&file, &ask) } else { file };
            let body = request.with(&file);
            let answer = Answer::of(&plan_json(&plan)).with_body(body);
            let answer = answer.with_memories(plan.memories.map(|book| book.bytes));
            Ok(answer.with_book(plan.book.map(|book| book.bytes)))
        }
        Err(refusal) => Ok(Answer::of(&refusal_json(&refusal))),
    }
}

fn with_later(mut child: Vec<u8>, later: &[u8]) -> Result<Vec<u8>, JsError> {
    let later = Raw::document(later).map_err(|error| JsError::new(&error.to_string()))?;
    let lines = save_request::lines(later);
    if !lines.is_empty() {
        child.push(b'\n');
        child.extend_from_slice(&lines);
    }
    Ok(child)
}

/// Puts the parent's integrity slug back into the header, where the page already put the child's.
fn with_parent_integrity(file: &[u8], ask: &Ask) -> Vec<u8> {
    let change = ask.text("parentIntegrity").map_or(Edit::Remove, |it| Edit::Set(it.into()));
    with_header(file, ask, ("integrity", change))
}

fn without_parent(file: &[u8], ask: &Ask) -> Vec<u8> {
    with_header(file, ask, ("main_chat", Edit::Remove))
}

fn with_header(file: &[u8], ask: &Ask, change: (&str, Edit)) -> Vec<u8> {
    let chat = Chat::read(file, ask.chat_kind());
    if chat.metadata().is_none() {
        return file.to_vec();
    }
    let header = Some(rewrite::header(&chat, &[change]));
    Rewrite { header, ..Rewrite::default() }.of(&chat, None).to_vec()
}

fn plan_json(plan: &ForkPlan<'_>) -> Json {
    let mut report = Object::new();
    report.insert("made", true);
    report.insert("kind", plan.kind.word());
    report.insert("parent", plan.parent.as_str());
    report.insert("child", plan.child.as_str());
    report.insert("message", plan.message);
    let book = plan.book.as_ref().map(|book| {
        Json::object([("name", book.name.as_str().into()), ("entries", book.entries.into())])
    });
    report.insert("book", book);
    report.insert("memories", plan.memories.as_ref().map(|book| book.name.as_str()));
    let part = plan.seal.book.as_ref().map(|sealed| sealed.part.to_json_at(plan.message));
    report.insert("part", part);
    report.insert("metadata", plan.seal.metadata.to_json_at(plan.message));
    let recap = plan.seal.running_recap.as_ref().map(|recap| {
        Json::object([("version", recap.version.into()), ("scenes", recap.scenes.into())])
    });
    report.insert("recap", recap);
    report.insert("combined", plan.seal.combined_recap.as_ref().map(|recap| recap.messages));
    report.insert("remarks", diagnostics::list(&plan.remarks, diagnostics::to_json));
    report.into()
}

fn refusal_json(refusal: &Refusal) -> Json {
    Json::object([
        ("made", Json::Bool(false)),
        ("obstacles", diagnostics::list(&refusal.obstacles, diagnostics::to_json)),
        ("remarks", diagnostics::list(&refusal.remarks, diagnostics::to_json)),
    ])
}

/// Checks whether the chat can be forked at this message, and how exact the fork would be.
#[wasm_bindgen]
pub fn check(ask: &[u8], chat: &[u8], book: Option<Vec<u8>>) -> Result<Answer, JsError> {
    let ask = Ask::read(ask)?;
    let file = chat_file(chat)?;
    let chat = Chat::read(&file, ask.chat_kind());
    let bound = ask.bound(book.as_deref());
    let name = ask.text("parent").unwrap_or_default();
    let parent = BoundChat { name: &name, chat: &chat, bound: &bound, past: None };
    let message = ask.number("message").unwrap_or_else(|| chat.len().saturating_sub(1));
    Ok(Answer::of(&readiness_json(&fork::check(parent, message, ask.policy()))))
}

fn readiness_json(readiness: &Readiness<'_>) -> Json {
    let part = |of: fn(&Moment<'_>) -> Option<Json>| readiness.moment.as_ref().and_then(of);
    let book = part(|moment| match &moment.book {
        BookThen::Known { part, .. } => Some(part.to_json_at(moment.message)),
        BookThen::None(_) | BookThen::Unknown => None,
    });
    Json::object([
        ("obstacles", diagnostics::list(&readiness.obstacles, diagnostics::to_json)),
        ("remarks", diagnostics::list(&readiness.remarks, diagnostics::to_json)),
        ("book", book.into()),
        ("metadata", part(|moment| Some(moment.metadata.part.to_json_at(moment.message))).into()),
        ("busy", Json::Bool(readiness.work.is_pending())),
        ("operations", readiness.work.operations().into()),
    ])
}
