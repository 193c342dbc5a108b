//! A book of one's own: the content of a moment, with our mark, ready to be written.

use crate::book::{self, Book};
use crate::digest::Digest;
use crate::json::{Change, Edits, Indent, Json, Object};
use crate::mark::Mark;
use crate::moment::Content;
use crate::recap::queue::{self, Work};

/// A book to be written.
#[derive(Clone, Debug)]
pub struct NewBook {
    pub name: String,
    pub bytes: Vec<u8>,
    pub entries: usize,
    pub digest: Digest,
    /// The digest of what its entries mean.
    pub lore: Digest,
    /// Whether operations that were still to run were taken out of its queue.
    pub drained: bool,
    /// Whether the content had an `extensions` of its own.
    had_extensions: bool,
    /// The entries as values, for what is keyed by them.
    pub(crate) values: Object,
}

impl NewBook {
    /// Takes our mark off: the book is its owner's.
    pub(crate) fn unmark(&mut self) {
        if let Ok(book) = Book::read(&self.bytes) {
            let mut bytes = book.with_mark(None);
            // `extensions` may have been made only to hold the mark.
            if let Ok(book) = Book::read(&bytes)
                && let Some(extensions) = book.root().get("extensions")
                && extensions.members().next().is_none()
                && !self.had_extensions
            {
                let mut edits = Edits::of(book.root());
                edits.change(book.root(), 0, &[("extensions", Change::Remove)]);
                bytes = edits.apply();
            }
            self.bytes = bytes;
        }
    }
}

/// Makes the book `name` from `content`. Operations still to run are left out where `drain` says
/// so, and always from a state of the past: nobody is left to run them.
pub fn new_book(name: &str, content: &Content<'_>, drain: bool, mark: &Mark) -> NewBook {
    match content {
        Content::Bytes(book) => from_bytes(name, book, drain, mark),
        Content::Journal(value) => from_value(name, Json::Object(value.clone()), mark),
        Content::Rebuilt(rebuilt) => from_value(name, rebuilt.book.clone(), mark),
    }
}

/// The book that `content` holds, as a value.
pub fn book_value(content: &Content<'_>) -> Json {
    match content {
        Content::Bytes(book) => book.root().json().unwrap_or(Json::Null),
        Content::Journal(value) => Json::Object(value.clone()),
        Content::Rebuilt(rebuilt) => rebuilt.book.clone(),
    }
}

/// A book without entries.
pub fn empty_book(name: &str, mark: &Mark) -> NewBook {
    from_value(name, Json::object([("entries", Object::new().into())]), mark)
}

fn from_bytes(name: &str, book: &Book<'_>, drain: bool, mark: &Mark) -> NewBook {
    let mut edits = Edits::of(book.root());
    if drain {
        for entry in book.entries().filter(|entry| entry.comment() == queue::COMMENT) {
            let content = entry.content();
            if let Some(old) = entry.value().get("content").filter(|_| has_work(&content)) {
                edits.replace(old, &Json::from(queue::emptied(&content)));
            }
        }
    }
    let drained = !edits.is_empty();
    let bytes = drained.then(|| edits.apply());
    // Splicing a valid document leaves a valid one; were it otherwise, the original is kept.
    let spliced = bytes.as_deref().and_then(|bytes| Book::read(bytes).ok());
    let book = spliced.as_ref().unwrap_or(book);
    let value = book.root().json();
    // Too deep to build, which nothing of SillyTavern's is, it has a digest all the same.
    let digest = value.as_ref().map_or_else(|_| book.digest(), book::digest_of);
    let lore = value.as_ref().map_or(digest, book::lore_digest_of);
    let value = value.unwrap_or(Json::Null);
    NewBook {
        name: name.to_owned(),
        bytes: book.with_mark(Some(&mark.to_json())),
        entries: book.entries().count(),
        digest,
        lore,
        drained,
        had_extensions: value.get("extensions").is_some(),
        values: entries_of(value),
    }
}

fn from_value(name: &str, mut value: Json, mark: &Mark) -> NewBook {
    let mut drained = false;
    if let Some(entries) = value.as_object_mut().and_then(|book| book.get_mut("entries"))
        && let Some(entries) = entries.as_object_mut()
    {
        let busy = entries.iter().find(|(_, entry)| {
            let content = entry.get("content").and_then(Json::as_str).unwrap_or_default();
            queue::is_queue(entry) && has_work(&content)
        });
        if let Some((key, emptied)) =
            busy.map(|(key, entry)| (key.clone(), queue::emptied_entry(entry)))
        {
            entries.insert(key, emptied);
            drained = true;
        }
    }
    let (digest, lore) = (book::digest_of(&value), book::lore_digest_of(&value));
    let had_extensions = value.get("extensions").is_some();
    if let Some(book) = value.as_object_mut() {
        let mut extensions = match book.get("extensions") {
            Some(Json::Object(extensions)) => extensions.clone(),
            _ => Object::new(),
        };
        extensions.insert(book::NAMESPACE, mark.to_json());
        book.insert("extensions", extensions);
    }
    let bytes = value.stringify_with(Indent::BOOK);
    let values = entries_of(value);
    NewBook {
        name: name.to_owned(),
        bytes,
        entries: values.len(),
        digest,
        lore,
        drained,
        had_extensions,
        values,
    }
}

fn entries_of(mut book: Json) -> Object {
    let entries = book.as_object_mut().and_then(|book| book.remove("entries"));
    match entries {
        Some(Json::Object(entries)) => entries,
        _ => Object::default(),
    }
}

fn has_work(content: &str) -> bool {
    let mut work = Work::default();
    work.add_queue(content);
    work.is_pending()
}
