//! A book as the journal stores it: entry by entry, so that states share unchanged entries, and
//! nothing is hashed or serialised twice.

use std::sync::{Arc, OnceLock};

use indexmap::IndexMap;

use crate::digest::{Digest, Hasher, Sha256Hasher};
use crate::sillytavern::book::unmark;
use forklore_json::{JsText, Json, JsonKind, Object, Raw, SyntaxError, array_index, sorted};

/// The whole book, except for Forklore's mark.
#[derive(Clone, Debug, Default)]
pub struct Lore {
    /// The book's own fields. If `entries` is an object, it is an empty placeholder here, which
    /// preserves its position.
    fields: Object,
    entries: Entries,
    measure: OnceLock<Measure>,
}

/// A book's entries in JavaScript's order.
#[derive(Clone, Debug, Default)]
pub struct Entries(IndexMap<JsText, Arc<LoreEntry>>);

#[derive(Debug)]
pub(super) struct LoreEntry {
    value: Json,
    measure: OnceLock<Measure>,
}

/// The cached digest and size of a serialised text.
#[derive(Clone, Copy, Debug)]
struct Measure {
    digest: Digest,
    size: usize,
}

impl Lore {
    pub fn of(book: &Object) -> Self {
        let mut lore = Self::default();
        for (key, value) in book.iter() {
            match value {
                Json::Object(entries) if *key == *"entries" => {
                    lore.fields.insert("entries", Object::new());
                    lore.entries = entries
                        .iter()
                        .map(|(key, entry)| (key.clone(), Arc::new(LoreEntry::of(entry.clone()))))
                        .collect();
                }
                other => lore.fields.insert(key.clone(), other.clone()),
            }
        }
        unmark(&mut lore.fields);
        lore
    }

    /// Reads a book's text. `known` may return an entry that has already been built.
    pub(super) fn read(
        book: Raw<'_>,
        mut known: impl FnMut(&JsText, Raw<'_>) -> Option<Arc<LoreEntry>>,
    ) -> Result<Self, SyntaxError> {
        let mut lore = Self::default();
        let mut entries = None;
        for member in book.members() {
            let Some(key) = member.key.js_text() else { continue };
            if key == *"entries" {
                entries = Some(member.value);
                lore.fields.insert(key, Object::new());
            } else {
                lore.fields.insert(key, member.value.json()?);
            }
        }
        match entries {
            Some(entries) if entries.kind() == JsonKind::Object => {
                lore.entries = entries
                    .members()
                    .filter_map(|member| Some((member.key.js_text()?, member.value)))
                    .map(|(key, value)| {
                        let entry = match known(&key, value) {
                            Some(entry) => entry,
                            None => Arc::new(LoreEntry::of(value.json()?)),
                        };
                        Ok((key, entry))
                    })
                    .collect::<Result<_, _>>()?;
            }
            Some(other) => lore.fields.insert("entries", other.json()?),
            None => {}
        }
        unmark(&mut lore.fields);
        Ok(lore)
    }

    /// The same book with other entries.
    pub(super) fn with_entries(&self, entries: Entries) -> Self {
        Self { fields: self.fields.clone(), entries, measure: OnceLock::new() }
    }

    /// The book as one value.
    pub fn content(&self) -> Object {
        let mut content = self.fields.clone();
        if self.entries().is_some() {
            let entries: Object =
                self.entries.iter().map(|(key, entry)| (key.clone(), entry.clone())).collect();
            content.insert("entries", entries);
        }
        content
    }

    /// The entries, if the book's `entries` is an object.
    pub fn entries(&self) -> Option<&Entries> {
        self.fields.get("entries")?.as_object().map(|_| &self.entries)
    }

    /// All fields, with an empty object in place of the entries.
    pub fn fields(&self) -> &Object {
        &self.fields
    }

    /// Changes both parts. `None` if there are no entries, or if the change fails or removes them.
    pub(super) fn change(
        &mut self,
        change: impl FnOnce(&mut Object, &mut Entries) -> Option<()>,
    ) -> Option<()> {
        self.entries()?;
        self.measure = OnceLock::new();
        change(&mut self.fields, &mut self.entries)?;
        self.fields.get("entries")?.as_object().is_some_and(Object::is_empty).then_some(())
    }

    pub(super) fn digest(&self) -> Digest {
        self.measure().digest
    }

    /// The digest that records of format 1 were made with.
    pub(super) fn digest_of_format_1(&self) -> Digest {
        let mut hasher = Sha256Hasher::default();
        hasher.update(&Json::Object(self.fields.clone()).stringify());
        for (key, entry) in &self.entries.0 {
            let mut of_entry = Sha256Hasher::default();
            of_entry.update(&entry.value.stringify());
            hasher.update(&Json::Text(key.clone()).stringify());
            hasher.update(of_entry.finish().as_bytes());
        }
        hasher.finish()
    }

    /// The book's size in bytes when written on one line.
    pub(super) fn size(&self) -> usize {
        self.measure().size
    }

    fn measure(&self) -> &Measure {
        self.measure.get_or_init(|| {
            let mut hasher = Hasher::default();
            let fields = Json::Object(self.fields.clone()).stringify();
            hasher.update(&fields);
            let mut size = fields.len();
            for (key, entry) in &self.entries.0 {
                let key = Json::Text(key.clone()).stringify();
                let Measure { digest, size: entry } = entry.measure();
                hasher.update(&key);
                hasher.update(digest.as_bytes());
                size += key.len() + ":,".len() + entry;
            }
            Measure { digest: hasher.finish(), size }
        })
    }
}

/// Order matters, as it does in a file.
impl PartialEq for Lore {
    fn eq(&self, other: &Self) -> bool {
        self.fields == other.fields
            && self.entries.len() == other.entries.len()
            && self.entries.0.iter().eq(&other.entries.0)
    }
}

impl Entries {
    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = (&JsText, &Json)> {
        self.0.iter().map(|(key, entry)| (key, &entry.value))
    }

    pub fn get(&self, key: &JsText) -> Option<&Json> {
        Some(&self.0.get(key)?.value)
    }

    pub(super) fn shared(&self, key: &JsText) -> Option<&Arc<LoreEntry>> {
        self.0.get(key)
    }

    /// The entries that are missing or different in `before`.
    pub(super) fn new_since<'a>(
        &'a self,
        before: &'a Self,
    ) -> impl Iterator<Item = (&'a JsText, &'a Json)> {
        let is_new = |(key, entry): &(&JsText, &Arc<LoreEntry>)| before.shared(key) != Some(*entry);
        self.0.iter().filter(is_new).map(|(key, entry)| (key, &entry.value))
    }

    pub(super) fn remove(&mut self, keys: &[JsText]) {
        for key in keys {
            self.0.shift_remove(key);
        }
    }

    /// Sets entries. An existing entry keeps its position.
    pub(super) fn set<'a>(&mut self, entries: impl IntoIterator<Item = (&'a JsText, Json)>) {
        for (key, value) in entries {
            self.0.insert(key.clone(), Arc::new(LoreEntry::of(value)));
        }
        self.arrange();
    }

    /// Moves keys that are array indexes to the front, in ascending order.
    fn arrange(&mut self) {
        let rank = |key: &JsText| array_index(key).unwrap_or(u32::MAX);
        if !self.0.keys().map(rank).is_sorted() {
            let ranks = self.0.keys().enumerate().map(|(place, key)| (rank(key), place));
            let order = sorted(ranks.collect()).into_iter();
            let entries = order.filter_map(|(_, place)| self.0.get_index(place));
            self.0 = entries.map(|(key, entry)| (key.clone(), Arc::clone(entry))).collect();
        }
    }
}

impl FromIterator<(JsText, Arc<LoreEntry>)> for Entries {
    fn from_iter<I: IntoIterator<Item = (JsText, Arc<LoreEntry>)>>(entries: I) -> Self {
        let mut entries = Self(entries.into_iter().collect());
        entries.arrange();
        entries
    }
}

impl LoreEntry {
    pub(super) fn of(value: Json) -> Self {
        Self { value, measure: OnceLock::new() }
    }

    fn measure(&self) -> &Measure {
        self.measure.get_or_init(|| {
            let text = self.value.stringify();
            Measure { digest: Digest::of(&text), size: text.len() }
        })
    }
}

impl PartialEq for LoreEntry {
    fn eq(&self, other: &Self) -> bool {
        match (self.measure.get(), other.measure.get()) {
            _ if std::ptr::eq(self, other) => true,
            (Some(one), Some(other)) => one.digest == other.digest,
            _ => self.value == other.value,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Lore {
        Lore::read(Raw::document(text.as_bytes()).unwrap(), |_, _| None).unwrap()
    }

    fn of(text: &str) -> Lore {
        Lore::of(Json::parse(text.as_bytes()).unwrap().as_object().unwrap())
    }

    #[test]
    fn text_and_value_give_the_same_book() {
        for text in [
            r#"{"entries":{"10":{},"b":{"x":1},"2":{},"a":{}},"name":"n"}"#,
            r#"{"a":1,"entries":{"2":1,"2":{"x":2}},"a":2,"extensions":{"forklore":{}}}"#,
            r#"{"entries":{"0":{}},"entries":{"1":{}}}"#,
            r#"{"entries":{"0":{}},"entries":[]}"#,
            r#"{"entries":null}"#,
            r"{}",
        ] {
            let (read, of) = (read(text), of(text));
            assert_eq!(read, of, "{text}");
            assert_eq!(read.digest(), of.digest(), "{text}");
        }
    }

    #[test]
    fn it_gives_back_the_book_it_was_made_of() {
        let text = r#"{"2":0,"name":"n","entries":{"2":{"x":1},"10":{},"b":{},"a":{}},"z":[]}"#;
        assert_eq!(Json::Object(read(text).content()).stringify(), text.as_bytes());
    }

    #[test]
    fn digests_tell_books_apart() {
        let texts = [
            r#"{"entries":{}}"#,
            r#"{"entries":null}"#,
            r#"{"entries":{"a":{}}}"#,
            r#"{"entries":{"a":{},"b":{}}}"#,
            r#"{"entries":{"b":{},"a":{}}}"#,
            r#"{"entries":{"a":{}},"x":1}"#,
            r#"{"x":1,"entries":{"a":{}}}"#,
        ];
        let digests: std::collections::HashSet<_> =
            texts.iter().map(|text| read(text).digest()).collect();
        assert_eq!(digests.len(), texts.len());
    }
}
