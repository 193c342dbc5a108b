//! A lorebook file: its bytes, and the entries in them.

use std::borrow::Cow;

use crate::digest::Digest;
use crate::json::{Change, Edits, Json, Kind, Object, Raw, SyntaxError};

const BOM: &[u8] = b"\xEF\xBB\xBF";

/// The key under which a book of ours carries its [mark](crate::mark), below `extensions`.
pub const NAMESPACE: &str = "forklore";

/// Why SillyTavern, or we, cannot use a file as a book.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BookError {
    #[error("it is not JSON: {0}")]
    Syntax(#[from] SyntaxError),
    #[error("it has no list of entries")]
    NoEntries,
}

/// A lorebook, read without losing a byte.
#[derive(Clone, Debug)]
pub struct Book<'a> {
    root: Raw<'a>,
    entries: Raw<'a>,
    extensions: Option<Raw<'a>>,
    has_byte_order_mark: bool,
}

/// One entry, in the file's order.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    key: Raw<'a>,
    value: Raw<'a>,
}

impl<'a> Book<'a> {
    pub fn read(bytes: &'a [u8]) -> Result<Self, BookError> {
        let (text, has_byte_order_mark) = match bytes.strip_prefix(BOM) {
            Some(rest) => (rest, true),
            None => (bytes, false),
        };
        let root = Raw::document(text)?;
        // In one pass, because the entries are nearly all of the file.
        let (mut entries, mut extensions) = (None, None);
        for member in root.members() {
            match member.key.text().as_deref() {
                Some("entries") => entries = Some(member.value),
                Some("extensions") => extensions = Some(member.value),
                _ => {}
            }
        }
        let entries = entries.filter(|entries| entries.kind() == Kind::Object);
        let entries = entries.ok_or(BookError::NoEntries)?;
        Ok(Self { root, entries, extensions, has_byte_order_mark })
    }

    pub fn root(&self) -> Raw<'a> {
        self.root
    }

    /// SillyTavern answers with an error for a book that begins with a byte-order mark.
    pub fn has_byte_order_mark(&self) -> bool {
        self.has_byte_order_mark
    }

    /// Every entry, duplicates of a key included.
    pub fn entries(&self) -> impl Iterator<Item = Entry<'a>> + use<'a> {
        self.entries.members().map(|member| Entry { key: member.key, value: member.value })
    }

    /// Whether this text is anywhere among the entries, in their keys or as they are written.
    pub(crate) fn mentions(&self, text: &str) -> bool {
        memchr::memmem::find(self.entries.bytes(), text.as_bytes()).is_some()
    }

    /// What stands in the file for the lore: all but the mark of ours and the byte-order mark.
    ///
    /// Taken over the value as SillyTavern would write it, so that its reordering and reformatting
    /// of the file do not count as a change of the story's lore.
    pub fn digest(&self) -> Digest {
        match self.root.json() {
            Ok(value) => digest_of(&value),
            // Too deep to build, which nothing of SillyTavern's is: the entries' bytes will do.
            Err(_) => Digest::of(self.entries.bytes()),
        }
    }

    /// The book with `mark` set, or taken away, under `extensions.forklore`.
    pub fn with_mark(&self, mark: Option<&Json>) -> Vec<u8> {
        let mut edits = Edits::of(self.root);
        let change = mark.map_or(Change::Remove, |mark| Change::Set(mark.clone()));
        match self.extensions.filter(|value| value.kind() == Kind::Object) {
            Some(extensions) => edits.change(extensions, 1, &[(NAMESPACE, change)]),
            None => {
                if let Some(mark) = mark {
                    let extensions = Json::object([(NAMESPACE, mark.clone())]);
                    edits.change(self.root, 0, &[("extensions", Change::Set(extensions))]);
                }
            }
        }
        edits.apply()
    }

    pub fn mark(&self) -> Option<Raw<'a>> {
        self.extensions?.get(NAMESPACE)
    }
}

/// The digest of a book's value, our mark left out.
pub fn digest_of(book: &Json) -> Digest {
    if book.at(&["extensions", NAMESPACE]).is_none() {
        return Digest::of(&book.stringify());
    }
    let mut book = book.clone();
    if let Some(object) = book.as_object_mut() {
        unmark(object);
    }
    Digest::of(&book.stringify())
}

/// Takes our mark off a book's value, and `extensions` with it where it held nothing else: we may
/// have made it only for the mark.
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

    pub fn value(&self) -> Raw<'a> {
        self.value
    }

    pub fn uid(&self) -> Option<String> {
        uid_text(self.value.get("uid")?)
    }

    pub fn comment(&self) -> Cow<'a, str> {
        self.value.get("comment").and_then(|value| value.text()).unwrap_or_default()
    }

    pub fn content(&self) -> Cow<'a, str> {
        self.value.get("content").and_then(|value| value.text()).unwrap_or_default()
    }
}

/// A uid as text: SillyTavern mixes numbers and digit strings.
pub(crate) fn uid_text(uid: Raw<'_>) -> Option<String> {
    uid.text().map(Cow::into_owned).or_else(|| uid.integer().map(|number| number.to_string()))
}

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
    fn what_is_no_book_is_said() {
        assert_eq!(Book::read(b"{}").unwrap_err(), BookError::NoEntries);
        assert_eq!(Book::read(b"{\"entries\":[]}").unwrap_err(), BookError::NoEntries);
        assert!(matches!(Book::read(b"{").unwrap_err(), BookError::Syntax(_)));
        assert!(Book::read(b"\xEF\xBB\xBF{\"entries\":{}}").unwrap().has_byte_order_mark());
    }
}
