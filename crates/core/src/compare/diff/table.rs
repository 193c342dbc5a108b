//! A book's entries by their keys, as places in its text.

use indexmap::IndexMap;
use rustc_hash::FxBuildHasher;

use super::common;
use crate::recap;
use crate::sillytavern::book::{Book, Entry};
use crate::sillytavern::defaults::is_same_entry;
use forklore_json::{JsText, Json, Raw};

/// Books of ten thousand entries are compared while someone waits, and most entries are the same
/// on both sides: text is looked at first, and a value is built only for what differs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table<'a> {
    entries: IndexMap<JsText, Entry<'a>, FxBuildHasher>,
}

/// A book's lore, and ST-Auto-Recap's bookkeeping. The two are never one entry, though a key may be
/// one's in one timeline and the other's in another.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tables<'a> {
    pub(crate) lore: Table<'a>,
    pub(crate) internal: Table<'a>,
}

impl<'a> Tables<'a> {
    fn of(entries: Vec<Entry<'a>>) -> Self {
        let mut tables = Self::default();
        tables.lore.entries.reserve(entries.len());
        // Of duplicate keys JavaScript sees the last, in the place of the first: so does this map.
        tables.lore.entries.extend(entries.into_iter().map(|entry| (entry.js_key(), entry)));
        let is_internal =
            |entry: &Entry<'_>| entry.may_be_internal() && recap::is_internal(&entry.comment());
        let lore = &mut tables.lore.entries;
        if lore.values().any(is_internal) {
            let internal = lore.iter().filter(|(_, entry)| is_internal(entry));
            let internal = internal.map(|(key, entry)| (key.clone(), *entry)).collect();
            tables.internal = Table { entries: internal };
            lore.retain(|_, entry| !is_internal(entry));
        }
        tables
    }

    /// The bookkeeping of this title.
    pub(crate) fn titled(&self, name: &str) -> Option<(&JsText, Entry<'a>)> {
        self.internal.iter().find(|(_, entry)| entry.comment() == name)
    }
}

impl<'a> Table<'a> {
    pub(crate) fn get(&self, key: &JsText) -> Option<Entry<'a>> {
        self.entries.get(key).copied()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(crate) fn contains(&self, key: &JsText) -> bool {
        self.entries.contains_key(key)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&JsText, Entry<'a>)> {
        self.entries.iter().map(|(key, entry)| (key, *entry))
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = &JsText> {
        self.entries.keys()
    }
}

/// The entries of three books that are not the same in all of them. Where the base is not known it
/// is `None`, and two are compared.
pub(crate) fn differing<'a>(
    base: Option<Option<&Book<'a>>>,
    left: Option<&Book<'a>>,
    right: Option<&Book<'a>>,
) -> (Option<Tables<'a>>, Tables<'a>, Tables<'a>) {
    let list = |book: Option<&Book<'a>>| book.map_or(Vec::new(), |book| book.entries().collect());
    let mut lists = [list(left), list(right), base.map_or_else(|| list(left), list)];
    common::leave_out(&mut lists);
    let [left, right, began] = lists.map(Tables::of);
    (base.map(|_| began), left, right)
}

/// Whether two entries are the same lore.
fn same(one: Raw<'_>, other: Raw<'_>) -> bool {
    is_written_alike(one, other)
        || matches!((one.json(), other.json()), (Ok(one), Ok(other)) if is_same_entry(&one, &other))
}

pub(super) fn is_written_alike(one: Raw<'_>, other: Raw<'_>) -> bool {
    let (text, expected) = (one.bytes(), other.bytes());
    text.len() == expected.len() && forklore_json::scan::holds(text, 0, expected)
}

pub(crate) fn same_or_none(one: Option<Entry<'_>>, other: Option<Entry<'_>>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => same(one.value(), other.value()),
        (None, None) => true,
        _ => false,
    }
}

/// The entry's value; one that is too deep to build, which nothing of SillyTavern's is, is empty.
pub(crate) fn value(entry: Entry<'_>) -> Json {
    entry.value().json().unwrap_or(Json::Null)
}
