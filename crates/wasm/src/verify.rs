//! Verifies timelines, and finds those that share a book.

use std::collections::HashMap;

use forklore_core::plan::verify::{
    BookFacts, BoundFacts, ChatFacts, ExpectedDigests, VerifyContext, verify as check,
};
use forklore_core::sillytavern::book::{Book, BookError};
use forklore_core::sillytavern::names::book_key;
use forklore_core::timeline::family::{self, Node, Timeline};
use forklore_json::{Json, Object, Raw};
use wasm_bindgen::JsError;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::answer::Answer;
use crate::ask::{Ask, home_of};
use crate::diagnostics;

/// Verifies all given timelines. `books` is an object of the books they name, by name; a book that
/// could not be read is `null`.
#[wasm_bindgen]
pub fn verify(ask: &[u8], books: &[u8]) -> Result<Answer, JsError> {
    let ask = Ask::read(ask)?;
    let inputs: Vec<TimelineInput> =
        ask.list("timelines").iter().map(TimelineInput::read).collect();
    let timelines: Vec<Timeline> = inputs.iter().map(|input| input.timeline.clone()).collect();
    let nodes = family::families(&timelines);
    let shared = family::shared_books(&timelines, &nodes);
    let mut users: HashMap<String, Vec<usize>> = HashMap::new();
    for (at, timeline) in timelines.iter().enumerate() {
        if let Some(book) = &timeline.book {
            users.entry(book_key(book)).or_default().push(at);
        }
    }
    let mut expected = ExpectedDigests::default();
    for input in &inputs {
        expected.add(&input.timeline, input.messages);
    }
    let books = read_books(books, &expected)?;
    let found = inputs.into_iter().enumerate().map(|(at, input)| {
        let key = timelines[at].book.as_deref().map(book_key);
        let using = key.as_ref().and_then(|key| users.get(key)).map_or(&[][..], Vec::as_slice);
        let name = |other: &usize| timelines[*other].name.clone();
        let is_family = |other: &&usize| nodes[**other].family == nodes[at].family;
        let context = VerifyContext {
            timeline: &timelines[at],
            node: &nodes[at],
            sharing: using.iter().filter(|o| **o != at).filter(is_family).map(name).collect(),
            elsewhere: using.iter().filter(|o| !is_family(o)).map(name).collect(),
            is_listed: input.is_listed,
        };
        let bound = bound_facts(&timelines[at], &books);
        let facts = ChatFacts::loaded(input.messages, input.metadata);
        let findings = check(&facts, &bound, &context);
        let mut json = Object::new();
        json.insert("name", timelines[at].name.as_str());
        json.insert("findings", diagnostics::list(&findings, diagnostics::finding));
        json.insert("parent", nodes[at].parent().map(|parent| timelines[parent].name.clone()));
        json.insert("kind", nodes[at].kind.word());
        json.insert("family", nodes[at].family);
        json.insert("forkPoint", nodes[at].fork_point);
        json.insert("keeps", key.is_some_and(|key| is_keeper(at, &nodes, &key, &shared)));
        if let BoundFacts::There { facts, .. } = bound {
            json.insert("entries", facts.entries);
        }
        Json::Object(json)
    });
    Ok(Answer::of(&Json::Array(found.collect())))
}

/// Whether this timeline is the one to keep a shared book.
fn is_keeper(
    at: usize,
    nodes: &[Node],
    key: &str,
    shared: &std::collections::BTreeMap<(usize, String), Vec<usize>>,
) -> bool {
    let sharing = shared.get(&(nodes[at].family, key.to_owned()));
    sharing.is_some_and(|sharing| family::keeper(nodes, sharing) == Some(at))
}

struct TimelineInput {
    timeline: Timeline,
    messages: usize,
    metadata: Json,
    is_listed: bool,
}

impl TimelineInput {
    fn read(json: &Json) -> Self {
        let text =
            |key: &str| json.get(key).and_then(Json::as_str).unwrap_or_default().into_owned();
        let metadata = json.get("metadata").cloned().unwrap_or(Json::Null);
        Self {
            timeline: Timeline::of(home_of(json), text("name"), &metadata),
            messages: json.get("messages").and_then(Json::as_usize).unwrap_or_default(),
            metadata,
            is_listed: !json.get("unlisted").is_some_and(Json::is_truthy),
        }
    }
}

type Books = HashMap<String, Result<BookFacts, BookError>>;

fn read_books(books: &[u8], expected: &ExpectedDigests) -> Result<Books, JsError> {
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

fn bound_facts<'a>(timeline: &'a Timeline, books: &'a Books) -> BoundFacts<'a> {
    let Some(name) = timeline.book.as_deref() else { return BoundFacts::None };
    match books.get(&book_key(name)) {
        None => BoundFacts::Missing(name),
        Some(Err(error)) => BoundFacts::Unreadable { name, error },
        Some(Ok(facts)) => BoundFacts::There { name, facts },
    }
}
