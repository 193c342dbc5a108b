//! Finds books made by Forklore that nothing refers to.

use forklore_core::plan::cleanup::{OurBook, cleanup as plan};
use forklore_core::timeline::books_named::BooksNamed;
use forklore_core::timeline::family::Home;
use forklore_core::timeline::references::{Reference, ReferencePlace, References};
use forklore_json::Json;
use wasm_bindgen::JsError;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::answer::Answer;
use crate::ask::Ask;
use crate::diagnostics;

#[wasm_bindgen]
pub fn cleanup(ask: &[u8]) -> Result<Answer, JsError> {
    let ask = Ask::read(ask)?;
    let ours = ask.list("ours").iter().map(|book| OurBook {
        name: text(book, "name"),
        bytes: book.get("bytes").and_then(Json::as_usize).unwrap_or_default() as u64,
        made_for: text(book, "madeFor"),
    });
    let references = References {
        found: ask.list("references").iter().map(reference).collect(),
        unread: ask.names("unread"),
    };
    let plan = plan(ours.collect(), &references, ask.flag("despiteBackups"));
    let remove = plan.remove.iter().map(book);
    let keep = plan.keep.iter().map(|(ours, why)| {
        let mut json = book(ours);
        if let Some(object) = json.as_object_mut() {
            object.insert("reason", diagnostics::to_json(why));
        }
        json
    });
    Ok(Answer::of(&Json::object([
        ("remove", Json::Array(remove.collect())),
        ("keep", Json::Array(keep.collect())),
        ("unread", plan.unread.into()),
    ])))
}

/// The books that a chat names in its metadata, in its messages, passed as an array, and in the
/// queue of its book. `isComplete` is false if the messages may name more and were not passed;
/// `own` are the books that belong to the chat.
#[wasm_bindgen]
pub fn books_named(
    metadata: &[u8],
    messages: Option<Vec<u8>>,
    book: Option<Vec<u8>>,
) -> Result<Answer, JsError> {
    let metadata = crate::ask::json(metadata)?;
    let file = messages.as_deref().map(crate::ask::chat_file).transpose()?;
    let mut named = BooksNamed::in_metadata(&metadata);
    if let Some(file) = &file {
        named.add_messages(file.split(|&byte| byte == b'\n'));
        named.add_queue(book.as_deref());
    }
    let places = [("chat", &named.bound), ("memories", &named.memories), ("recap", &named.recap)];
    let references = places.into_iter().flat_map(|(place, names)| {
        names.iter().map(move |name| {
            Json::object([("book", Json::from(name.as_str())), ("place", place.into())])
        })
    });
    Ok(Answer::of(&Json::object([
        ("references", Json::Array(references.collect())),
        ("own", named.own().into()),
        ("isComplete", (file.is_some() || !named.has_recaps).into()),
    ])))
}

fn text(json: &Json, key: &str) -> String {
    json.get(key).and_then(Json::as_str).unwrap_or_default().into_owned()
}

fn book(book: &OurBook) -> Json {
    Json::object([
        ("name", book.name.as_str().into()),
        ("bytes", (book.bytes as usize).into()),
        ("madeFor", book.made_for.as_str().into()),
    ])
}

pub(crate) fn reference(json: &Json) -> Reference {
    Reference::new(&text(json, "book"), place(json))
}

pub(crate) fn place(json: &Json) -> ReferencePlace {
    let name = text(json, "name");
    let home = || Home::Character(text(json, "owner"));
    match text(json, "place").as_str() {
        "backup" => ReferencePlace::Backup(name),
        "global" => ReferencePlace::Global,
        "character" => ReferencePlace::CharacterLore(name),
        "persona" => ReferencePlace::Persona(name),
        "card" => ReferencePlace::Card(name),
        "recap" => ReferencePlace::Recap { home: home(), name },
        "memories" => ReferencePlace::Memories { home: home(), name },
        "queue" => ReferencePlace::Queue { book: name },
        _ => ReferencePlace::Chat { home: home(), name },
    }
}
