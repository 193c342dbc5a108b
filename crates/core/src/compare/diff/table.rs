//! A book's entries by key, as references into its text.

use indexmap::IndexMap;
use rustc_hash::FxBuildHasher;

use super::common;
use crate::recap;
use crate::sillytavern::book::{Book, Entry};
use crate::sillytavern::defaults::is_same_entry;
use forklore_json::{JsText, Json, Raw};

/// A book's entries by key, unparsed.
///
/// Books of ten thousand entries are compared while someone waits, and most entries are the same on
/// both sides. So texts are compared first, and only entries that differ are parsed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table<'a> {
    entries: IndexMap<JsText, Entry<'a>, FxBuildHasher>,
}

/// A book's lore, and ST-Auto-Recap's bookkeeping. A lore entry never matches a bookkeeping entry,
/// even if two timelines use the same key for one of each.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tables<'a> {
    pub(crate) lore: Table<'a>,
    pub(crate) internal: Table<'a>,
}

impl<'a> Tables<'a> {
    fn of(entries: Vec<Entry<'a>>) -> Self {
        let mut tables = Self::default();
        tables.lore.entries.reserve(entries.len());
        // Like JavaScript, this map keeps the last of duplicate keys, at the position of the first.
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

    /// The bookkeeping entry with this title.
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

/// The entries that are not the same in all three books. A `base` of `None` is unknown; then only
/// two books are compared.
pub(crate) fn differing<'a>(
    base: Option<Option<&Book<'a>>>,
    left: Option<&Book<'a>>,
    right: Option<&Book<'a>>,
) -> (Option<Tables<'a>>, Tables<'a>, Tables<'a>) {
    let list = |book: Option<&Book<'a>>| book.map_or(Vec::new(), |book| book.entries().collect());
    let mut lists = [list(left), list(right), base.map_or_else(|| list(left), list)];
    common::drop_unchanged(&mut lists);
    let [left, right, began] = lists.map(Tables::of);
    (base.map(|_| began), left, right)
}

/// Whether two entries are the same lore.
fn same(one: Raw<'_>, other: Raw<'_>) -> bool {
    has_same_bytes(one, other)
        || matches!((one.json(), other.json()), (Ok(one), Ok(other)) if is_same_entry(&one, &other))
}

pub(super) fn has_same_bytes(one: Raw<'_>, other: Raw<'_>) -> bool {
    let (text, expected) = (one.bytes(), other.bytes());
    text.len() == expected.len() && forklore_json::scan::matches_at(text, 0, expected)
}

pub(crate) fn same_or_none(one: Option<Entry<'_>>, other: Option<Entry<'_>>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => same(one.value(), other.value()),
        (None, None) => true,
        _ => false,
    }
}

/// The entry's parsed value; null if it is nested too deep, which no entry of SillyTavern's is.
pub(crate) fn value(entry: Entry<'_>) -> Json {
    entry.value().json().unwrap_or(Json::Null)
}
