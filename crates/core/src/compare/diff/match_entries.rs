//! Entries that were born on both sides and are one and the same.

use std::collections::HashMap;

use super::table::{Table, same_or_none, value};
use crate::sillytavern::book::Entry;
use crate::sillytavern::defaults::plain_entry;
use forklore_json::JsText;

/// What an entry is called by, and where it is shown: it may differ, and the lore is the same.
pub(crate) const INCIDENTAL: [&str; 2] = ["uid", "displayIndex"];

/// For keys of `right`, the keys of `left` under which the same entry stands, where the two differ.
/// Of several that are alike, those that are `wanted` are found first.
///
/// An entry that came over once under a free uid is found again by this, so that combining twice
/// changes nothing.
pub(crate) fn kin(
    base: Option<&Table<'_>>,
    left: &Table<'_>,
    right: &Table<'_>,
    wanted: impl Fn(&JsText) -> bool,
) -> HashMap<JsText, JsText> {
    let mut waiting: HashMap<Vec<u8>, Vec<&JsText>> = HashMap::new();
    for (key, entry) in born(base, left, right) {
        waiting.entry(lore_of(entry)).or_default().push(key);
    }
    for keys in waiting.values_mut() {
        keys.reverse();
    }
    let first = born(base, right, left).filter(|(key, _)| wanted(key));
    let others = born(base, right, left).filter(|(key, _)| !wanted(key));
    let found = first.chain(others).filter_map(|(key, entry)| {
        let other = waiting.get_mut(&lore_of(entry))?.pop()?;
        Some((key.clone(), other.clone()))
    });
    found.collect()
}

/// Entries of `one` that were not there at the beginning and have no equal under their own key.
fn born<'t, 'a>(
    base: Option<&'t Table<'_>>,
    one: &'t Table<'a>,
    other: &'t Table<'_>,
) -> impl Iterator<Item = (&'t JsText, Entry<'a>)> {
    one.iter().filter(move |(key, entry)| match base {
        Some(base) => !base.contains(key) && !same_or_none(Some(*entry), other.get(key)),
        // Where nobody knows the beginning, one key is one entry.
        None => !other.contains(key),
    })
}

/// What an entry says, under whatever number.
pub(crate) fn lore_of(entry: Entry<'_>) -> Vec<u8> {
    let mut value = plain_entry(&value(entry));
    if let Some(object) = value.as_object_mut() {
        for field in INCIDENTAL {
            object.remove(field);
        }
    }
    value.stringify()
}
