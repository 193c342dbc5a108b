//! Verifies timelines, and finds those that share a book.

use std::collections::HashMap;

use forklore_core::plan::verify::{
    BookFacts, BoundFacts, ChatFacts, ExpectedDigests, VerifyContext, verify as check,
};
use forklore_core::sillytavern::book::{Book, BookError};
use forklore_core::sillytavern::names::book_key;
use forklore_core::timeline::book_users::{BookSplit, BookUsers};
use forklore_core::timeline::family::{self, Timeline};
use forklore_json::{Json, Object, Raw};
use wasm_bindgen::JsError;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::boundary::answer::Answer;
use crate::boundary::ask::Ask;
use crate::boundary::diagnostics;

/// Verifies all given timelines. `books` is an object of the books they name, by name; a book that
/// could not be read is `null`.
#[wasm_bindgen]
pub fn verify(ask: &[u8], books: &[u8]) -> Result<Answer, JsError> {
    let ask = Ask::read(ask, &["timelines"])?;
    let mut expected = ExpectedDigests::default();
    let asked = ask.parts("timelines", &[&TIMELINE[..], &["messages"]].concat())?;
    let timelines = timelines_of(&asked)?;
    let mut chats = Vec::new();
    for (timeline, asked) in timelines.iter().zip(&asked) {
        let messages = asked.count("messages")?;
        expected.add(timeline, messages);
        chats.push(ChatFacts::loaded(messages, asked.member("metadata")?.clone()));
    }
    let nodes = family::families(&timelines);
    let users = BookUsers::of(&timelines, &nodes);
    let books = read_books(books, &expected)?;
    let found = chats.iter().enumerate().map(|(at, chat)| {
        let bound = BoundFacts::of(&timelines[at], &books);
        let findings = check(chat, &bound, &VerifyContext::of(&users, at, true));
        let mut json = Object::new();
        json.insert("name", timelines[at].name.as_str());
        json.insert("findings", diagnostics::list(&findings, diagnostics::finding));
        if let BoundFacts::There { facts, .. } = bound {
            json.insert("entries", facts.entries);
        }
        Json::Object(json)
    });
    Ok(Answer::of(&Json::Array(found.collect())))
}

/// Who keeps the book of the first of `timelines`, and who is split off, as numbers: everyone else
/// in its family who shares it, or only the first.
#[wasm_bindgen]
pub fn split_off(ask: &[u8]) -> Result<Answer, JsError> {
    let ask = Ask::read(ask, &["timelines", "family"])?;
    let timelines = timelines_of(&ask.parts("timelines", &TIMELINE)?)?;
    let family = ask.flag("family")?;
    let nodes = family::families(&timelines);
    let BookSplit { keeper, split } = match timelines.is_empty() {
        true => BookSplit { keeper: None, split: Vec::new() },
        false => BookUsers::of(&timelines, &nodes).split(0, family),
    };
    Ok(Answer::of(&Json::object([
        ("keeper", keeper.map(|keeper| timelines[keeper].name.as_str()).into()),
        ("split", Json::Array(split.into_iter().map(Json::from).collect())),
    ])))
}

/// What [`timelines_of`] reads.
pub(crate) const TIMELINE: [&str; 4] = ["name", "group", "character", "metadata"];

pub(crate) fn timelines_of(asked: &[Ask<'_>]) -> Result<Vec<Timeline>, JsError> {
    let of = |asked: &Ask<'_>| {
        Ok(Timeline::of(asked.home()?, asked.text("name")?, asked.member("metadata")?, None))
    };
    asked.iter().map(of).collect()
}

type Books = HashMap<String, Result<BookFacts, BookError>>;

pub(crate) fn read_books(books: &[u8], expected: &ExpectedDigests) -> Result<Books, JsError> {
    let books = Raw::document(books).map_err(|error| JsError::new(&error.to_string()))?;
    let read = books.members().map(|member| {
        let name = member.key.text().unwrap_or_default();
        let key = book_key(&name);
        let facts = Book::read(member.value.bytes());
        let facts = facts.map(|book| BookFacts::of(&book, expected.of(&key)));
        (key, facts)
    });
    Ok(read.collect())
}
