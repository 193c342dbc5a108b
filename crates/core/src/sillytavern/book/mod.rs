//! A lorebook file and its entries.

mod reader;

use std::borrow::Cow;
use std::sync::Arc;

use crate::digest::Digest;
use crate::sillytavern::defaults::plain_book;
use forklore_json::{Edit, Edits, JsText, Json, JsonKind, Member, Object, Raw, SyntaxError};

const BOM: &[u8] = b"\xEF\xBB\xBF";

/// The key in `extensions` that holds the [mark](crate::timeline::mark) of a book made by Forklore.
pub const NAMESPACE: &str = "forklore";

/// Why a file cannot be used as a lorebook.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BookError {
    #[error("it is not JSON: {0}")]
    Syntax(#[from] SyntaxError),
    #[error("it has no list of entries")]
    NoEntries,
}

/// A lorebook. Preserves every byte of its file.
#[derive(Clone, Debug)]
pub struct Book<'a> {
    root: Raw<'a>,
    fields: Arc<[Member<'a>]>,
    entries_raw: Raw<'a>,
    entries: Arc<[Entry<'a>]>,
    has_byte_order_mark: bool,
}

/// One entry of a lorebook.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    key: Raw<'a>,
    value: Raw<'a>,
    uid: Option<Raw<'a>>,
    comment: Option<Raw<'a>>,
}

impl<'a> Book<'a> {
    pub fn read(bytes: &'a [u8]) -> Result<Self, BookError> {
        Self::read_beside(bytes, &[])
    }

    /// Reads a book that is mostly the same as `other`. This is faster, because entries that are
    /// byte-identical need not be validated again.
    pub fn read_like(bytes: &'a [u8], other: &Book<'_>) -> Result<Self, BookError> {
        Self::read_beside(bytes, &other.entries)
    }

    fn read_beside(bytes: &'a [u8], known: &[Entry<'_>]) -> Result<Self, BookError> {
        let (text, has_byte_order_mark) = match bytes.strip_prefix(BOM) {
            Some(rest) => (rest, true),
            None => (bytes, false),
        };
        let found = reader::read(text, known)?;
        let entries_raw = found.entries_raw.ok_or(BookError::NoEntries)?;
        Ok(Self {
            root: found.root,
            fields: found.fields.into(),
            entries_raw,
            entries: found.entries.into(),
            has_byte_order_mark,
        })
    }

    pub fn root(&self) -> Raw<'a> {
        self.root
    }

    /// SillyTavern fails to load a book that starts with a byte-order mark.
    pub fn has_byte_order_mark(&self) -> bool {
        self.has_byte_order_mark
    }

    pub(crate) fn entries_raw(&self) -> Raw<'a> {
        self.entries_raw
    }

    /// The book's top-level members, including `entries`.
    pub(crate) fn fields(&self) -> &[Member<'a>] {
        &self.fields
    }

    /// All entries in file order, including those with duplicate keys.
    pub fn entries(&self) -> impl Iterator<Item = Entry<'a>> + '_ {
        self.entries.iter().copied()
    }

    /// Whether `text` occurs anywhere in the raw bytes of the entries, including their keys.
    pub(crate) fn mentions(&self, text: &str) -> bool {
        memchr::memmem::find(self.entries_raw.bytes(), text.as_bytes()).is_some()
    }

    /// The digest of the book's lore, which excludes Forklore's mark and the byte-order mark.
    pub fn digest(&self) -> Digest {
        Digest::of(&self.digest_input())
    }

    /// The bytes that the book's digest is computed from.
    ///
    /// This is the value as SillyTavern would write it, so that reordering and reformatting by
    /// SillyTavern do not count as changes to the lore.
    pub fn digest_input(&self) -> Cow<'a, [u8]> {
        match self.root.json() {
            Ok(value) => Cow::Owned(digest_input(&value)),
            // Nested too deeply to build, which SillyTavern never writes: use the entries' bytes.
            Err(_) => Cow::Borrowed(self.entries_raw.bytes()),
        }
    }

    /// The book with its mark, `extensions.forklore`, set to `mark` or removed.
    pub fn with_mark(&self, mark: Option<&Json>) -> Vec<u8> {
        let mut edits = Edits::of(self.root);
        let change = mark.map_or(Edit::Remove, |mark| Edit::Set(mark.clone()));
        match self.extensions().filter(|value| value.kind() == JsonKind::Object) {
            Some(extensions) => edits.change(extensions, 1, &[(NAMESPACE, change)]),
            None => {
                if let Some(mark) = mark {
                    let extensions = Json::object([(NAMESPACE, mark.clone())]);
                    edits.change(self.root, 0, &[("extensions", Edit::Set(extensions))]);
                }
            }
        }
        edits.apply()
    }

    pub fn mark(&self) -> Option<Raw<'a>> {
        self.extensions()?.get(NAMESPACE)
    }

    fn extensions(&self) -> Option<Raw<'a>> {
        let named = self.fields.iter().rfind(|field| field.key.is_text("extensions"));
        named.map(|field| field.value)
    }
}

/// The digest of a book's value, without Forklore's mark.
pub fn digest_of(book: &Json) -> Digest {
    Digest::of(&digest_input(book))
}

/// The bytes that the digest of a book's value is computed from.
pub(crate) fn digest_input(book: &Json) -> Vec<u8> {
    if book.at(&["extensions", NAMESPACE]).is_none() {
        return book.stringify();
    }
    let mut book = book.clone();
    if let Some(object) = book.as_object_mut() {
        unmark(object);
    }
    book.stringify()
}

/// The digest of what a book's entries mean. It ignores the defaults that SillyTavern's editor
/// fills in when it shows an entry.
pub fn lore_digest_of(book: &Json) -> Digest {
    digest_of(&plain_book(book))
}

/// Removes Forklore's mark from a book's value. Also removes `extensions` if nothing else is left
/// in it, because it may have been created only for the mark.
pub(crate) fn unmark(book: &mut Object) {
    if let Some(extensions) = book.get_mut("extensions").and_then(Json::as_object_mut)
        && extensions.remove(NAMESPACE).is_some()
        && extensions.is_empty()
    {
        book.remove("extensions");
    }
}

impl<'a> Entry<'a> {
    pub fn key(&self) -> Cow<'a, str> {
        self.key.text().unwrap_or_default()
    }

    /// The exact key.
    pub(crate) fn js_key(&self) -> JsText {
        self.key.js_text().unwrap_or_default()
    }

    /// The key as a number, if it is written as SillyTavern writes numbers.
    pub(crate) fn number(&self) -> Option<u64> {
        let key = self.key.bytes();
        let digits = &key[1..key.len() - 1];
        if digits.is_empty() || digits.len() > 15 || (digits[0] == b'0' && digits.len() > 1) {
            return None;
        }
        digits.iter().try_fold(0_u64, |number, digit| {
            digit.is_ascii_digit().then(|| number * 10 + u64::from(digit - b'0'))
        })
    }

    /// The key as the bytes of a [`JsText`].
    pub(crate) fn key_bytes(&self) -> Cow<'a, [u8]> {
        self.key.text_bytes()
    }

    /// Whether its title may begin like those of ST-Auto-Recap's internal entries. A cheap check
    /// that does not decode the title.
    pub(crate) fn may_be_internal(&self) -> bool {
        let written = self.comment.map(|comment| comment.bytes());
        written.is_some_and(|text| matches!(text.get(1), Some(b'_' | b'\\')))
    }

    /// Whether its uid is written exactly like its key, as SillyTavern does.
    pub(crate) fn is_keyed_by_uid(&self) -> bool {
        let key = self.key.bytes();
        self.uid.is_some_and(|uid| uid.bytes() == &key[1..key.len() - 1] || uid.bytes() == key)
    }

    pub(crate) fn member(&self) -> Member<'a> {
        Member { key: self.key, value: self.value }
    }

    pub fn value(&self) -> Raw<'a> {
        self.value
    }

    pub fn uid(&self) -> Option<String> {
        uid_text(self.uid?)
    }

    pub fn comment(&self) -> Cow<'a, str> {
        self.comment.and_then(|value| value.text()).unwrap_or_default()
    }

    pub fn content(&self) -> Cow<'a, str> {
        self.value.get("content").and_then(|value| value.text()).unwrap_or_default()
    }
}

/// A uid as text. SillyTavern mixes numbers and strings of digits.
pub(crate) fn uid_text(uid: Raw<'_>) -> Option<String> {
    uid.text().map(Cow::into_owned).or_else(|| uid.integer().map(|number| number.to_string()))
}

crate::diagnostics!(BookError {
    Self::Syntax(_) => ("not-json"),
    Self::NoEntries => ("no-entries"),
});

#[cfg(test)]
mod tests {
    use super::*;

    const BOOK: &str = "{\n    \"entries\": {\n        \"0\": {\n            \"uid\": 0\n        }\n    },\n    \"name\": \"\\u0041\"\n}";

    #[test]
    fn the_mark_is_the_only_thing_that_changes() {
        let book = Book::read(BOOK.as_bytes()).unwrap();
        let marked = book.with_mark(Some(&Json::object([("made", Json::Bool(true))])));
        let expected = BOOK.replace(
            "\\u0041\"\n}",
            "\\u0041\",\n    \"extensions\": {\n        \"forklore\": {\n            \"made\": true\n        }\n    }\n}",
        );
        assert_eq!(String::from_utf8(marked.clone()).unwrap(), expected);
        let marked = Book::read(&marked).unwrap();
        assert!(marked.mark().is_some());
        assert_eq!(marked.digest(), book.digest());
    }

    #[test]
    fn extensions_of_others_stay() {
        let book = Book::read(br#"{"extensions":{"x":1,"forklore":{}},"entries":{}}"#).unwrap();
        assert_eq!(book.with_mark(None), br#"{"extensions":{"x":1},"entries":{}}"#);
    }

    #[test]
    fn a_book_read_beside_another_is_the_book() {
        let one = r#"{"entries":{"0":{"uid":0,"comment":"a"},"5":{"uid":5,"comment":"b"},"6":{}}}"#;
        let other = r#"{"entries":{"0":{"uid":0,"comment":"a"}, "x":1,"5":{"uid":5,"comment":"c"},"6":{} }}"#;
        let known = Book::read(one.as_bytes()).unwrap();
        let (fast, plain) = (
            Book::read_like(other.as_bytes(), &known).unwrap(),
            Book::read(other.as_bytes()).unwrap(),
        );
        let shown = |book: &Book<'_>| -> Vec<_> {
            book.entries()
                .map(|e| {
                    (e.key().into_owned(), e.value().range(), e.uid(), e.comment().into_owned())
                })
                .collect()
        };
        assert_eq!(shown(&fast), shown(&plain));
        let torn = br#"{"entries":{"0":{"uid":0,"comment":"a"}x"#;
        assert!(matches!(Book::read_like(torn, &known), Err(BookError::Syntax(_))));
    }

    #[test]
    fn of_duplicate_and_escaped_names_the_last_counts() {
        let text = br#"{"entries":{"0":{"comment":"a","c\u006fmment":"b","uid":1,"uid":"2"}}}"#;
        let book = Book::read(text).unwrap();
        let entry = book.entries().next().unwrap();
        assert_eq!((entry.comment().as_ref(), entry.uid().as_deref()), ("b", Some("2")));
    }

    #[test]
    fn what_is_no_book_is_said() {
        assert_eq!(Book::read(b"{}").unwrap_err(), BookError::NoEntries);
        assert_eq!(Book::read(b"{\"entries\":[]}").unwrap_err(), BookError::NoEntries);
        assert!(matches!(Book::read(b"{").unwrap_err(), BookError::Syntax(_)));
        assert!(Book::read(b"\xEF\xBB\xBF{\"entries\":{}}").unwrap().has_byte_order_mark());
    }
}
