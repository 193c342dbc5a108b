//! Compares two moments, and finds the merge base of two timelines.

use forklore_core::compare::diff::{self, DiffTag, Difference, EntryDifference, LoreSide};
use forklore_core::digest::Digest;
use forklore_core::plan::book_copy::book_value;
use forklore_core::sillytavern::book::Book;
use forklore_core::sillytavern::chat::Chat;
use forklore_core::sillytavern::save_request;
use forklore_core::timeline::family;
use forklore_core::timeline::merge_base::{SealedBase, find_merge_base};
use forklore_core::timeline::moment::BoundChat;
use forklore_core::timeline::moment::{BookThen, BoundBook, memory_then, moment};
use forklore_json::{Json, Raw};
use wasm_bindgen::JsError;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::boundary::answer::Answer;
use crate::boundary::ask::{Ask, MOMENT, chat_file};
use crate::verify::{TIMELINE, timelines_of};

/// Compares two books and the metadata of their chats against their merge base.
#[wasm_bindgen]
pub fn compare(
    ask: &[u8],
    base: Option<Vec<u8>>,
    left: Option<Vec<u8>>,
    right: Option<Vec<u8>>,
) -> Result<Answer, JsError> {
    let keys = ["baseKnown", "baseMetadata", "leftMetadata", "rightMetadata"];
    let ask = Ask::read(ask, &keys)?;
    let base = base.as_deref().map(read_book).transpose()?;
    let left = left.as_deref().map(|text| read_like(text, base.as_ref())).transpose()?;
    let right = right.as_deref().map(|text| read_like(text, left.as_ref())).transpose()?;
    let base = LoreSide { book: base.as_ref(), metadata: ask.optional("baseMetadata")? };
    let compared = diff::compare(
        ask.flag("baseKnown")?.then_some(base),
        LoreSide { book: left.as_ref(), metadata: ask.optional("leftMetadata")? },
        LoreSide { book: right.as_ref(), metadata: ask.optional("rightMetadata")? },
        false,
    );
    let list = |differences: &[Difference]| {
        differences.iter().map(Difference::to_json).collect::<Vec<_>>()
    };
    Ok(Answer::of(&Json::object([
        (
            "entries",
            compared.entries.iter().map(EntryDifference::to_json).collect::<Vec<_>>().into(),
        ),
        ("book", list(&compared.book).into()),
        ("recap", list(&compared.recap).into()),
        ("variables", list(&compared.variables).into()),
        ("other", list(&compared.other).into()),
    ])))
}

pub(crate) fn read_book(text: &[u8]) -> Result<Book<'_>, JsError> {
    Book::read(text).map_err(|error| JsError::new(&error.to_string()))
}

/// Reads a book that is mostly equal to one that was already read.
pub(crate) fn read_like<'a>(text: &'a [u8], other: Option<&Book<'_>>) -> Result<Book<'a>, JsError> {
    let Some(other) = other else { return read_book(text) };
    Book::read_like(text, other).map_err(|error| JsError::new(&error.to_string()))
}

/// Compares two texts word by word.
#[wasm_bindgen]
pub fn words(before: &str, after: &str) -> Answer {
    Answer::of(&words_json(before, after))
}

pub(crate) fn words_json(before: &str, after: &str) -> Json {
    let pieces = diff::words(before, after).into_iter().map(|piece| {
        let is = match piece.is {
            DiffTag::Same => "same",
            DiffTag::Removed => "removed",
            DiffTag::Added => "added",
        };
        Json::object([("is", is.into()), ("text", piece.text.into())])
    });
    Json::Array(pieces.collect())
}

/// Finds the fork point of two timelines.
#[wasm_bindgen]
pub fn fork_point(ask: &[u8]) -> Result<Answer, JsError> {
    let ask = Ask::read(ask, &["timelines", "left", "right"])?;
    let timelines = timelines_of(&ask.parts("timelines", &TIMELINE)?)?;
    let nodes = family::families(&timelines);
    let at = |key: &str| -> Result<Option<usize>, JsError> {
        let name = ask.text(key)?;
        Ok(timelines.iter().position(|timeline| timeline.name == name))
    };
    let parting = match (at("left")?, at("right")?) {
        (Some(left), Some(right)) => family::fork_point(&nodes, left, right),
        _ => None,
    };
    let shown = parting.map(|parting| {
        let seal = parting.cut.and_then(|cut| timelines[cut].seal.as_ref());
        let digest = seal.and_then(|seal| Some(seal.book.as_ref()?.digest.to_string()));
        Json::object([
            ("chat", parting.ancestor.map(|at| timelines[at].name.clone()).into()),
            ("message", parting.message.into()),
            ("isSealed", seal.is_some().into()),
            ("digest", digest.into()),
        ])
    });
    Ok(Answer::of(&shown.into()))
}

/// Finds the merge base at a message from the records of the timelines that had it in common.
/// `chats` and `books` are arrays in the order of `witnesses`; the first two are the timelines to
/// compare.
#[wasm_bindgen]
pub fn merge_base(ask: &[u8], chats: &[u8], books: &[u8]) -> Result<Answer, JsError> {
    let ask = Ask::read(ask, &["group", "message", "digest", "isSealed", "witnesses"])?;
    let array = |text| Raw::document(text).map_err(|error| JsError::new(&error.to_string()));
    let files: Vec<Vec<u8>> = array(chats)?.elements().map(save_request::lines).collect();
    let books: Vec<Raw<'_>> = array(books)?.elements().collect();
    let place = ask.chat_kind()?;
    let chats: Vec<Chat<'_>> = files.iter().map(|file| Chat::read(file, place)).collect();
    let mut names: Vec<(String, BoundBook<'_>)> = Vec::new();
    for (witness, book) in ask.parts("witnesses", &["name", "bookName"])?.iter().zip(&books) {
        let bytes = book.is_truthy().then(|| book.bytes());
        names.push((witness.text("name")?, witness.bound(bytes)?));
    }
    let witnesses: Vec<BoundChat<'_>> = names
        .iter()
        .zip(&chats)
        .map(|((name, bound), chat)| BoundChat { name, chat, bound, past: None })
        .collect();
    let message = ask.optional_number("message")?.or_else(|| match &chats[..] {
        [left, right, ..] => family::common_prefix(left, right),
        _ => None,
    });
    let is_sealed = ask.flag("isSealed")?;
    let sealed = match ask.optional_text("digest")?.as_deref().and_then(Digest::parse) {
        Some(digest) => SealedBase::Book(digest),
        None if is_sealed => SealedBase::NoBook,
        None => SealedBase::Unknown,
    };
    let found = message.and_then(|message| find_merge_base(&witnesses, message, sealed));
    Ok(match found {
        Some(found) => Answer::of(&Json::object([
            ("known", true.into()),
            ("how", found.evidence.word().into()),
            ("message", found.message.into()),
            ("parting", message.into()),
            ("metadata", found.metadata.into()),
        ]))
        .with_book(found.book.map(|book| book.stringify())),
        None => {
            Answer::of(&Json::object([("known", Json::Bool(false)), ("parting", message.into())]))
        }
    })
}

/// The whole book and the chat's metadata at a message.
#[wasm_bindgen]
pub fn moment_book(ask: &[u8], chat: &[u8], book: Option<Vec<u8>>) -> Result<Answer, JsError> {
    let ask = Ask::read(ask, &MOMENT)?;
    let file = chat_file(chat)?;
    let chat = Chat::read(&file, ask.chat_kind()?);
    let bound = ask.bound(book.as_deref())?;
    let message = ask.message_of(&chat)?;
    let found = moment(&chat, &bound, None, message, ask.moment_options()?);
    let metadata = memory_then(&chat, message, found.metadata.values.as_ref());
    let shown = |known: bool, part: Option<Json>, name: Option<&str>| {
        Answer::of(&Json::object([
            ("known", Json::Bool(known)),
            ("part", part.into()),
            ("book", name.map(str::to_owned).into()),
            ("metadata", metadata.clone()),
            ("metadataPart", found.metadata.claim().to_json_at(message)),
        ]))
    };
    Ok(match &found.book {
        BookThen::Unknown => shown(false, None, None),
        BookThen::None(part) => shown(true, Some(part.to_json_at(message)), None),
        BookThen::Known { part, name, content } => {
            shown(true, Some(part.to_json_at(message)), Some(name))
                .with_book(Some(book_value(content).stringify()))
        }
    })
}
