//! Finds books made by Forklore that nothing refers to.

use forklore_core::plan::cleanup::{OurBook, cleanup as plan};
use forklore_core::timeline::books_named::BooksNamed;
use forklore_core::timeline::family::Home;
use forklore_core::timeline::references::{Reference, ReferencePlace, References};
use forklore_json::Json;
use wasm_bindgen::JsError;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::boundary::answer::Answer;
use crate::boundary::ask::{Ask, unknown};
use crate::boundary::diagnostics;

#[wasm_bindgen]
pub fn cleanup(ask: &[u8]) -> Result<Answer, JsError> {
    let ask = Ask::read(ask, &["ours", "references", "unread"])?;
    let mut ours = Vec::new();
    for book in ask.parts("ours", &["name", "bytes", "madeFor"])? {
        let (name, made_for) = (book.text("name")?, book.text("madeFor")?);
        ours.push(OurBook { name, bytes: book.number("bytes")? as u64, made_for });
    }
    let found = ask.list("references")?.iter().map(reference);
    let found = found.collect::<Result<_, JsError>>()?;
    let references = References { found, unread: ask.names("unread")? };
    // Removed books go to the trash, so a chat that the user restores from a backup can still get
    // its book back.
    let plan = plan(ours, &references, true);
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
    let metadata = crate::boundary::ask::json(metadata)?;
    let file = messages.as_deref().map(crate::boundary::ask::chat_file).transpose()?;
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

fn book(book: &OurBook) -> Json {
    Json::object([
        ("name", book.name.as_str().into()),
        ("bytes", (book.bytes as usize).into()),
        ("madeFor", book.made_for.as_str().into()),
    ])
}

/// What refers to a book.
pub(crate) fn reference(json: &Json) -> Result<Reference, JsError> {
    Ok(Reference::new(&Ask::data(json).text("book")?, place(json)?))
}

/// Where a book is named: `{book, place, name}`, with the chat's `owner` if it is a chat.
pub(crate) fn place(json: &Json) -> Result<ReferencePlace, JsError> {
    let is_in_chat = json.get("owner").is_some();
    let keys = ["book", "place", "name", "owner"];
    let ask = Ask::of(json, if is_in_chat { &keys } else { &keys[..3] })?;
    let name = ask.text("name")?;
    let home = || Ok::<_, JsError>(Home::Character(ask.text("owner")?));
    Ok(match (ask.text("place")?.as_str(), is_in_chat) {
        ("global", false) => ReferencePlace::Global,
        ("character", false) => ReferencePlace::CharacterLore(name),
        ("persona", false) => ReferencePlace::Persona(name),
        ("card", false) => ReferencePlace::Card(name),
        ("chat", true) => ReferencePlace::Chat { home: home()?, name },
        ("recap", true) => ReferencePlace::Recap { home: home()?, name },
        ("memories", true) => ReferencePlace::Memories { home: home()?, name },
        _ => return Err(unknown("place")),
    })
}
