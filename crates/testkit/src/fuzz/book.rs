use forklore_core::journal::RecordedState;
use forklore_core::sillytavern::book::{Book, digest_of, lore_digest_of};
use forklore_json::{Json, JsonKind, Raw};

const BOM: &[u8] = b"\xEF\xBB\xBF";

/// A lorebook.
pub fn book(bytes: &[u8]) {
    let text = bytes.strip_prefix(BOM).unwrap_or(bytes);
    let plain = Raw::document(text);
    let Ok(book) = Book::read(bytes) else {
        let has_entries = |root: Raw<'_>| {
            root.get("entries").is_some_and(|entries| entries.kind() == JsonKind::Object)
        };
        assert!(!plain.is_ok_and(has_entries), "a book is not read");
        return;
    };
    let root = plain.expect("a book is JSON");
    assert_eq!(root.range(), book.root().range());
    assert_eq!(book.has_byte_order_mark(), text.len() < bytes.len());
    entries(root, &book);
    let beside = Book::read_like(bytes, &book).expect("it can be read beside itself");
    assert_eq!(shown(&book), shown(&beside));
    beside_another(bytes, &book);
    marks(text, &book);
    states(&book);
}

type Shown = (Vec<u8>, std::ops::Range<usize>, Option<String>, String, String);

fn shown(book: &Book<'_>) -> Vec<Shown> {
    let show = |entry: forklore_core::sillytavern::book::Entry<'_>| {
        let (key, value) = (entry.key().as_bytes().to_vec(), entry.value().range());
        let (comment, content) = (entry.comment().into_owned(), entry.content().into_owned());
        (key, value, entry.uid(), comment, content)
    };
    book.entries().map(show).collect()
}

/// The entries are those that JavaScript sees, duplicates included.
fn entries(root: Raw<'_>, book: &Book<'_>) {
    let plain = root.get("entries").expect("a book has entries");
    assert_eq!(plain.members().count(), book.entries().count());
    for (member, entry) in plain.members().zip(book.entries()) {
        assert_eq!(member.key.text(), Some(entry.key()));
        assert_eq!(member.value.range(), entry.value().range());
        let comment = member.value.get("comment").and_then(|comment| comment.text());
        assert_eq!(comment.unwrap_or_default(), entry.comment());
        let uid = member.value.get("uid");
        let uid = uid.and_then(|uid| {
            let number = || uid.integer().map(|number| number.to_string());
            uid.text().map(|text| text.into_owned()).or_else(number)
        });
        assert_eq!(uid, entry.uid());
    }
}

/// Reading beside another book is only a shortcut, whatever the other one is.
fn beside_another(bytes: &[u8], book: &Book<'_>) {
    let middle = bytes.len() / 2;
    for other in [&bytes[..middle], &[&bytes[..middle], b"0", &bytes[middle..]].concat()] {
        let (plain, beside) = (Book::read(other), Book::read_like(other, book));
        match (plain, beside) {
            (Ok(plain), Ok(beside)) => assert_eq!(shown(&plain), shown(&beside)),
            (plain, beside) => assert_eq!(plain.is_ok(), beside.is_ok()),
        }
    }
}

/// Our mark comes and goes without changing what the book says.
fn marks(text: &[u8], book: &Book<'_>) {
    if book.mark().is_none() {
        assert_eq!(book.with_mark(None), text, "there was no mark to take away");
    }
    let mark = Json::object([("made", Json::Bool(true))]);
    let marked = book.with_mark(Some(&mark));
    let marked = Book::read(&marked).expect("a marked book is a book");
    assert!(marked.mark().is_some_and(|found| found.json().is_ok_and(|found| found == mark)));
    let without = marked.with_mark(None);
    let without = Book::read(&without).expect("a book without its mark is a book");
    assert!(without.mark().is_none());
    let entries = |book: &Book<'_>| -> Vec<Vec<u8>> {
        book.entries().map(|entry| entry.value().bytes().to_vec()).collect()
    };
    assert_eq!(entries(book), entries(&marked));
    assert_eq!(entries(book), entries(&without));
    // An empty `extensions`, or something else in its place, does not come back.
    let extensions = book.root().get("extensions");
    let is_kept = extensions.is_none_or(|extensions| {
        extensions.kind() == JsonKind::Object && extensions.members().next().is_some()
    });
    if is_kept {
        assert_eq!(book.digest(), marked.digest());
    }
}

fn states(book: &Book<'_>) {
    let value = book.root().json();
    let read = RecordedState::of_book("a book", book);
    let Ok(value) = value else { return };
    assert_eq!(book.digest(), digest_of(&value));
    assert_eq!(lore_digest_of(&value), lore_digest_of(&value));
    let read = read.expect("it is not too deep");
    let built = RecordedState::of(&Json::Null, Some(("a book", &value)));
    assert_eq!(read.id(), built.id());
    let text = |state: &RecordedState| state.to_json().get("book").map(Json::stringify);
    assert_eq!(text(&read), text(&built));
}
