//! A copy of a book for one chat: the content at a moment with Forklore's mark, ready to be
//! written.

use crate::digest::Digest;
use crate::memory_books::{self, BookCopies};
use crate::recap::queue::{self, PendingWork};
use crate::sillytavern::book::{self, Book, Entry};
use crate::timeline::mark::Mark;
use crate::timeline::moment::BookContent;
use forklore_json::{Edit, Edits, Indent, Json, Object};

/// A book to be written.
#[derive(Clone, Debug)]
pub struct NewBook {
    pub name: String,
    pub bytes: Vec<u8>,
    pub entries: usize,
    pub digest: Digest,
    /// The digest of the meaning of its entries.
    pub lore: Digest,
    /// Whether pending operations were removed from its queue.
    pub drained: bool,
    /// Whether the content already had an `extensions` field.
    had_extensions: bool,
    /// The parsed entries.
    pub(crate) values: Object,
}

impl NewBook {
    /// Removes Forklore's mark, for a book that belongs to the user.
    pub(crate) fn unmark(&mut self) {
        if let Ok(book) = Book::read(&self.bytes) {
            let mut bytes = book.with_mark(None);
            // Remove an `extensions` field that was only added to hold the mark.
            if let Ok(book) = Book::read(&bytes)
                && let Some(extensions) = book.root().get("extensions")
                && extensions.members().next().is_none()
                && !self.had_extensions
            {
                let mut edits = Edits::of(book.root());
                edits.change(book.root(), 0, &[("extensions", Edit::Remove)]);
                bytes = edits.apply();
            }
            self.bytes = bytes;
        }
    }
}

/// Makes the book `name` from `content`. With `drain`, pending operations are left out. They are
/// always left out of content from the journal or a snapshot, because nothing would run operations
/// of a past state.
pub fn new_book(name: &str, content: &BookContent<'_>, drain: bool, mark: &Mark) -> NewBook {
    book_among(&BookCopies::default(), name, content, drain, mark)
}

/// The same for a child that gets these copies.
pub(crate) fn book_among(
    copies: &BookCopies,
    name: &str,
    content: &BookContent<'_>,
    drain: bool,
    mark: &Mark,
) -> NewBook {
    let names = Names { book: name, copies, mark };
    match content {
        BookContent::Bytes(book) => from_bytes(names, book, drain),
        BookContent::Journal(value) => from_value(names, Json::Object(value.clone())),
        BookContent::Rebuilt(rebuilt) => from_value(names, rebuilt.book.clone()),
    }
}

/// What a copy and its memories are called, and what they were called before.
#[derive(Clone, Copy)]
struct Names<'a> {
    book: &'a str,
    copies: &'a BookCopies,
    mark: &'a Mark,
}

impl Names<'_> {
    /// The chat of a memory.
    fn chat(&self, name: &str) -> Option<&str> {
        (self.mark.from_chat.as_deref() == Some(name)).then_some(&self.mark.chat)
    }

    /// The book that a memory was created in.
    fn first_book(&self, name: &str) -> Option<&str> {
        let is_this = self.mark.from_book.as_deref() == Some(name);
        if is_this { Some(self.book) } else { self.copies.first_book(name) }
    }

    /// The new value of a memory's field.
    fn renamed(&self, field: &str, name: &str) -> Option<&str> {
        if field == memory_books::CHAT_ID { self.chat(name) } else { self.first_book(name) }
    }
}

const NAMES_IN_MEMORIES: [&str; 2] = [memory_books::CHAT_ID, memory_books::FIRST_BOOK];

/// The parsed book.
pub fn book_value(content: &BookContent<'_>) -> Json {
    match content {
        BookContent::Bytes(book) => book.root().json().unwrap_or(Json::Null),
        BookContent::Journal(value) => Json::Object(value.clone()),
        BookContent::Rebuilt(rebuilt) => rebuilt.book.clone(),
    }
}

/// A copy of today's book, without Memory Books' memories of messages after `last`, if it is given.
pub(crate) fn memories_until(
    last: Option<usize>,
    copies: &BookCopies,
    name: &str,
    book: &Book<'_>,
    mark: &Mark,
) -> NewBook {
    let is_later = |entry: &Entry<'_>| {
        let entry = entry.value().json();
        last.is_some_and(|last| entry.is_ok_and(|entry| memory_books::is_later(&entry, last)))
    };
    let later: Vec<String> =
        book.entries().filter(is_later).map(|entry| entry.key().into_owned()).collect();
    let removals: Vec<(&str, Edit)> =
        later.iter().map(|key| (key.as_str(), Edit::Remove)).collect();
    let mut edits = Edits::of(book.root());
    if let Some(entries) = book.root().get("entries") {
        edits.change(entries, 1, &removals);
    }
    let bytes = edits.apply();
    let names = Names { book: name, copies, mark };
    from_bytes(names, Book::read(&bytes).as_ref().unwrap_or(book), false)
}

/// A book without entries.
pub fn empty_book(name: &str, mark: &Mark) -> NewBook {
    let names = Names { book: name, copies: &BookCopies::default(), mark };
    from_value(names, Json::object([("entries", Object::new().into())]))
}

fn from_bytes(names: Names<'_>, book: &Book<'_>, drain: bool) -> NewBook {
    let mut edits = Edits::of(book.root());
    for entry in book.entries() {
        for field in NAMES_IN_MEMORIES {
            if let Some(old) = entry.value().get(field)
                && let Some(new) =
                    old.text().and_then(|name| names.renamed(field, &name).map(Json::from))
            {
                edits.replace(old, &new);
            }
        }
    }
    let mut drained = false;
    if drain {
        for entry in book.entries().filter(|entry| entry.comment() == queue::COMMENT) {
            let content = entry.content();
            if let Some(old) = entry.value().get("content").filter(|_| has_work(&content)) {
                edits.replace(old, &Json::from(queue::emptied(&content)));
                drained = true;
            }
        }
    }
    let bytes = (!edits.is_empty()).then(|| edits.apply());
    // Splicing a valid document gives a valid one. If it ever did not, the original would be used.
    let spliced = bytes.as_deref().and_then(|bytes| Book::read(bytes).ok());
    let book = spliced.as_ref().unwrap_or(book);
    let value = book.root().json();
    // A book nested too deep to parse, which SillyTavern never writes, still has a digest.
    let digest = value.as_ref().map_or_else(|_| book.digest(), book::digest_of);
    let lore = value.as_ref().map_or(digest, book::lore_digest_of);
    let value = value.unwrap_or(Json::Null);
    NewBook {
        name: names.book.to_owned(),
        bytes: book.with_mark(Some(&names.mark.to_json())),
        entries: book.entries().count(),
        digest,
        lore,
        drained,
        had_extensions: value.get("extensions").is_some(),
        values: entries_of(value),
    }
}

fn from_value(names: Names<'_>, mut value: Json) -> NewBook {
    let mut drained = false;
    if let Some(entries) = value.as_object_mut().and_then(|book| book.get_mut("entries"))
        && let Some(entries) = entries.as_object_mut()
    {
        let is_busy = |entry: &Json| {
            let content = entry.get("content").and_then(Json::as_str).unwrap_or_default();
            queue::is_queue(entry) && has_work(&content)
        };
        let busy: Vec<_> = entries.iter().filter(|(_, entry)| is_busy(entry)).collect();
        let emptied: Vec<_> =
            busy.iter().map(|(key, entry)| ((*key).clone(), queue::emptied_entry(entry))).collect();
        drained = !emptied.is_empty();
        for (key, entry) in emptied {
            entries.insert(key, entry);
        }
        for entry in entries.values_mut().filter_map(Json::as_object_mut) {
            for field in NAMES_IN_MEMORIES {
                let name = entry.get(field).and_then(Json::as_str);
                if let Some(new) = name.and_then(|name| names.renamed(field, &name).map(Json::from))
                {
                    entry.insert(field, new);
                }
            }
        }
    }
    let (digest, lore) = (book::digest_of(&value), book::lore_digest_of(&value));
    let had_extensions = value.get("extensions").is_some();
    if let Some(book) = value.as_object_mut() {
        let mut extensions = match book.get("extensions") {
            Some(Json::Object(extensions)) => extensions.clone(),
            _ => Object::new(),
        };
        extensions.insert(book::NAMESPACE, names.mark.to_json());
        book.insert("extensions", extensions);
    }
    let bytes = value.stringify_with(Indent::BOOK);
    let values = entries_of(value);
    NewBook {
        name: names.book.to_owned(),
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
    let mut work = PendingWork::default();
    work.add_queue(content);
    work.is_pending()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sillytavern::book::NAMESPACE;

    fn mark() -> Mark {
        Mark {
            chat: "Child".into(),
            integrity: None,
            from_book: None,
            from_chat: None,
            message: None,
            made: String::new(),
            part: None,
        }
    }

    /// A book with this queue, and with an ordinary entry of the same content.
    fn with_queue(queue: &str) -> Json {
        let entry = |comment: &str| {
            Json::object([("comment", Json::from(comment)), ("content", Json::from(queue))])
        };
        let entries = Json::object([("0", entry(queue::COMMENT)), ("1", entry("A letter"))]);
        let extensions = Json::object([("other", Json::from(7_usize))]);
        Json::object([("entries", entries), ("extensions", extensions)])
    }

    fn content<'a>(book: &'a Json, uid: &str) -> Option<std::borrow::Cow<'a, str>> {
        book.at(&["entries", uid, "content"])?.as_str()
    }

    /// Makes the book from its bytes, with `drain`, and from its value.
    fn both_ways(book: &Json) -> [NewBook; 2] {
        let bytes = book.stringify();
        let read = Book::read(&bytes).unwrap();
        let drained = new_book("Lore", &BookContent::Bytes(read), true, &mark());
        let value = book.as_object().unwrap().clone();
        [drained, new_book("Lore", &BookContent::Journal(value), false, &mark())]
    }

    #[test]
    fn what_was_still_to_run_is_left_out_of_the_queue_and_of_nothing_else() {
        let busy = r#"{"queue":[{"id":"a","status":"pending"}],"version":1}"#;
        for new in both_ways(&with_queue(busy)) {
            let made = Json::parse(&new.bytes).unwrap();
            assert!(new.drained);
            assert!(!has_work(&content(&made, "0").unwrap()));
            assert_eq!(content(&made, "1").unwrap(), busy);
        }
    }

    #[test]
    fn a_queue_with_nothing_to_run_stays_as_it_is() {
        let done = r#"{"queue":[{"id":"a","status":"completed"}],"version":1}"#;
        for new in both_ways(&with_queue(done)) {
            let made = Json::parse(&new.bytes).unwrap();
            assert!(!new.drained);
            assert_eq!(content(&made, "0").unwrap(), done);
        }
    }

    #[test]
    fn a_book_keeps_what_others_keep_in_it_beside_the_mark() {
        for mut new in both_ways(&with_queue("{}")) {
            let made = Json::parse(&new.bytes).unwrap();
            assert_eq!(made.at(&["extensions", "other"]), Some(&Json::from(7_usize)));
            assert_eq!(made.at(&["extensions", NAMESPACE]), Some(&mark().to_json()));
            assert_eq!((new.entries, new.values.len()), (2, 2));
            new.unmark();
            let mine = Json::parse(&new.bytes).unwrap();
            assert_eq!(mine, with_queue("{}"));
        }
    }

    #[test]
    fn extensions_that_were_made_for_the_mark_go_with_it() {
        for (book, left) in
            [(r#"{"entries":{}}"#, false), (r#"{"entries":{},"extensions":{}}"#, true)]
        {
            for mut new in both_ways(&Json::parse(book.as_bytes()).unwrap()) {
                new.unmark();
                let mine = Json::parse(&new.bytes).unwrap();
                assert_eq!(mine.get("extensions").is_some(), left, "{book}");
            }
        }
    }

    #[test]
    fn a_book_is_the_same_as_a_value_wherever_it_comes_from() {
        let value = with_queue("{}");
        let bytes = value.stringify();
        let read = Book::read(&bytes).unwrap();
        assert_eq!(book_value(&BookContent::Bytes(read)), value);
        assert_eq!(book_value(&BookContent::Journal(value.as_object().unwrap().clone())), value);
    }
}
