//! Timelines as the page displays them, and the records of its index.

use std::collections::HashMap;

use forklore_core::plan::cleanup::{self, BookFate};
use forklore_core::plan::overview::{
    Head, HeaderState, KnownBook, Overview, ShownFamily, ShownTimeline, overview,
};
use forklore_core::plan::verify::{ChatFacts, ExpectedDigests, recap_findings};
use forklore_core::sillytavern::book::NAMESPACE;
use forklore_core::sillytavern::names::book_key;
use forklore_core::timeline::family::{self, Home, Timeline};
use forklore_core::timeline::mark::Mark;
use forklore_core::timeline::references::Reference;
use forklore_core::timeline::seal::Seal;
use forklore_json::{Json, Object};
use wasm_bindgen::JsError;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::boundary::answer::Answer;
use crate::boundary::ask::{self, Ask};
use crate::boundary::diagnostics;
use crate::cleanup as references;
use crate::verify::read_books;

/// The timelines called `names`, from their `records` in an index (`null` if there is none), as they
/// are displayed. `known` lists the books that exist; `books` are those of them that were read, as
/// for `verify`.
#[wasm_bindgen]
pub fn timelines(ask: &[u8], books: &[u8]) -> Result<Answer, JsError> {
    let keys = ["group", "character", "open", "names", "records", "known"];
    let ask = Ask::read(ask, &keys)?;
    let home = ask.home()?;
    let mut indexed = Vec::new();
    for (name, record) in ask.names("names")?.into_iter().zip(ask.list("records")?) {
        let record = Some(record).filter(|record| **record != Json::Null);
        indexed.push(Indexed::read(home.clone(), name, record)?);
    }
    let mut expected = ExpectedDigests::default();
    for one in &indexed {
        expected.add(&one.timeline, one.head.chat.messages);
    }
    let mut known: HashMap<String, KnownBook> = HashMap::new();
    for book in ask.parts("known", &["name", "entries"])? {
        let cached = book.optional_number("entries")?;
        known.insert(book_key(&book.text("name")?), KnownBook { cached, facts: None });
    }
    for (key, facts) in read_books(books, &expected)? {
        known.entry(key).or_default().facts = Some(facts);
    }
    let (mut timelines, mut heads, mut given) = (Vec::new(), Vec::new(), Vec::new());
    for Indexed { timeline, head, record } in indexed {
        timelines.push(timeline);
        heads.push(head);
        given.push(record);
    }
    let open = ask.text("open")?;
    let Overview { timelines: shown, families } = overview(&timelines, &heads, &known, &open);
    let shown = shown.iter().enumerate().map(|(at, shown)| {
        let of = timelines.get(at).zip(heads.get(at));
        timeline_json(shown, of, given.get(at).copied().flatten(), &open)
    });
    Ok(Answer::of(&Json::object([
        ("timelines", Json::Array(shown.collect())),
        ("families", Json::Array(families.iter().map(family_json).collect())),
    ])))
}

struct Indexed<'a> {
    timeline: Timeline,
    head: Head,
    record: Option<&'a Json>,
}

impl<'a> Indexed<'a> {
    fn read(home: Home, name: String, record: Option<&'a Json>) -> Result<Self, JsError> {
        let Some(given) = record else {
            let chat = ChatFacts::indexed(0, Json::Null);
            let head = Head { header: HeaderState::NotRead, chat, date: None, recaps: Vec::new() };
            return Ok(Self {
                timeline: Timeline::of(home, name, &Json::Null, None),
                head,
                record,
            });
        };
        let given = Ask::data(given);
        let metadata = given.member("metadata")?;
        let messages = given.count("messages")?;
        let head = Head {
            header: match metadata {
                Json::Null => HeaderState::Unreadable,
                _ => HeaderState::Read,
            },
            chat: ChatFacts::indexed(messages, metadata.clone()),
            date: given.member("date")?.as_f64(),
            recaps: given.list("own")?.to_vec(),
        };
        Ok(Self { timeline: Timeline::of(home, name, metadata, Some(messages)), head, record })
    }
}

fn timeline_json(
    shown: &ShownTimeline,
    of: Option<(&Timeline, &Head)>,
    record: Option<&Json>,
    open: &str,
) -> Json {
    let seal = of.and_then(|(timeline, _)| timeline.seal.as_ref());
    let book = of.and_then(|(timeline, _)| timeline.book.as_deref());
    let sealed = seal.and_then(|seal| Some((seal.message, seal.book.as_ref()?)));
    let part = sealed.filter(|_| book.is_some());
    let mut json = Object::new();
    json.insert("id", shown.id.as_str());
    json.insert("name", shown.name.as_str());
    json.insert("parent", shown.parent.clone());
    json.insert("family", shown.family.as_str());
    json.insert("kind", shown.kind);
    json.insert("message", shown.fork_point);
    json.insert("messages", of.map_or(0, |(_, head)| head.chat.messages));
    json.insert("preview", given(record, "preview").unwrap_or_else(|| "".into()));
    json.insert("date", given(record, "date"));
    json.insert("made", seal.map(|seal| seal.made.as_str()).filter(|made| !made.is_empty()));
    json.insert("book", book);
    json.insert("entries", shown.entries);
    json.insert("part", part.map(|(message, book)| book.part.to_json_at(message)));
    json.insert("findings", findings_json(shown, of.map(|(_, head)| head)));
    json.insert("isOpen", shown.id == open);
    json.insert("isRead", of.is_none_or(|(_, head)| head.header != HeaderState::NotRead));
    json.into()
}

fn given(record: Option<&Json>, key: &str) -> Option<Json> {
    record.and_then(|record| record.get(key)).cloned()
}

fn findings_json(shown: &ShownTimeline, head: Option<&Head>) -> Json {
    let mut findings: Vec<Json> = shown.findings.iter().map(diagnostics::finding).collect();
    match head {
        Some(head) if head.header == HeaderState::Read => findings.extend_from_slice(&head.recaps),
        Some(head) if head.header == HeaderState::Unreadable => findings.push(Json::object([
            ("code", Json::from("header-unreadable")),
            ("values", Object::new().into()),
            ("problem", true.into()),
        ])),
        _ => {}
    }
    Json::Array(findings)
}

fn family_json(family: &ShownFamily) -> Json {
    Json::object([
        ("id", Json::from(family.id.as_str())),
        ("name", family.name.as_str().into()),
        ("count", family.count.into()),
        ("problems", family.problems.into()),
        ("date", Json::Number(family.date)),
        ("hasOpen", family.has_open.into()),
    ])
}

/// What an index keeps of each of `heads`: the part of its metadata that describes the timeline,
/// and the findings about the rest.
#[wasm_bindgen]
pub fn index_records(heads: &[u8]) -> Result<Answer, JsError> {
    let heads = ask::json(heads)?;
    let records = heads.as_array().unwrap_or_default().iter().map(|head| {
        let head = Ask::of(head, &["name", "metadata", "messages"])?;
        let metadata = head.member("metadata")?;
        let home = Home::Character(String::new());
        let messages = head.count("messages")?;
        let timeline = Timeline::of(home, head.text("name")?, metadata, Some(messages));
        let facts = ChatFacts::loaded(messages, metadata.clone());
        let own = diagnostics::list(&recap_findings(&facts, &timeline), diagnostics::finding);
        let kept = metadata.as_object().map(|_| family::header(metadata));
        Ok(Json::object([("metadata", Json::from(kept)), ("own", own)]))
    });
    Ok(Answer::of(&Json::Array(records.collect::<Result<_, JsError>>()?)))
}

/// What becomes of the book of the timeline called `name` when it is deleted.
#[wasm_bindgen]
pub fn book_fate(ask: &[u8]) -> Result<Answer, JsError> {
    let ask = Ask::read(ask, &["name", "records", "books", "references", "cleanUp"])?;
    let name = ask.text("name")?;
    let timelines = ask.siblings("records")?;
    let mut listed: Vec<(String, bool)> = Vec::new();
    for book in ask.parts("books", &["name", "extensions"])? {
        let mark = book.member("extensions")?.get(NAMESPACE);
        listed.push((book.text("name")?, mark.and_then(Mark::of).is_some()));
    }
    let selected = ask.list("references")?.iter().map(references::reference);
    let selected: Vec<Reference> = selected.collect::<Result<_, JsError>>()?;
    let clean_up = ask.flag("cleanUp")?;
    let deleted = timelines.iter().find(|timeline| timeline.name == name);
    let fate = deleted.map_or(BookFate::None, |deleted| {
        cleanup::fate(deleted, &timelines, &listed, &selected, clean_up)
    });
    let (fate, why, by) = match fate {
        BookFate::None => ("none", None, Vec::new()),
        BookFate::Trash => ("trash", None, Vec::new()),
        BookFate::Used(by) => ("kept", Some("used"), by),
        BookFate::Selected => ("kept", Some("selected"), Vec::new()),
        BookFate::NotOurs => ("kept", Some("not-ours"), Vec::new()),
        BookFate::Off => ("kept", Some("off"), Vec::new()),
    };
    Ok(Answer::of(&Json::object([
        ("fate", Json::from(fate)),
        ("book", deleted.and_then(|deleted| deleted.book.clone()).into()),
        ("why", why.into()),
        ("by", by.into()),
    ])))
}

/// Where a chat with this many messages was forked from, according to its seal; `null` if it was not
/// forked by Forklore.
#[wasm_bindgen]
pub fn origin(metadata: &[u8], messages: usize) -> Result<Answer, JsError> {
    let origin = Seal::of_chat(&ask::json(metadata)?, Some(messages)).map(|seal| {
        let recap = seal.running_recap.as_ref();
        Json::object([
            ("kind", Json::from(seal.kind.word())),
            ("parent", seal.parent.into()),
            ("message", seal.message.into()),
            ("made", seal.made.into()),
            ("leftOut", seal.left_out.map(|left_out| left_out.name).into()),
            ("recap", recap.and_then(|recap| recap.version).into()),
            ("scenes", recap.and_then(|recap| recap.scenes).into()),
            ("combined", seal.combined_recap.map(|combined| combined.messages).into()),
        ])
    });
    Ok(Answer::of(&Json::from(origin)))
}
