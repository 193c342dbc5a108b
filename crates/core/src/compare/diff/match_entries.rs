//! Matches equal entries that were added on both sides under different keys.

use std::collections::HashMap;

use super::table::{Table, same_or_none, value};
use crate::sillytavern::book::Entry;
use crate::sillytavern::defaults::plain_entry;
use forklore_json::JsText;

/// An entry's number and its place in the list. They do not affect what the entry says.
pub(crate) const INCIDENTAL: [&str; 2] = ["uid", "displayIndex"];

/// Maps keys of `right` to the keys of `left` that hold the same entry under a different key. Among
/// equal entries, `wanted` ones are matched first.
///
/// This recognises an entry that an earlier merge brought over under a free uid, so that merging
/// twice changes nothing.
pub(crate) fn match_entries(
    base: Option<&Table<'_>>,
    left: &Table<'_>,
    right: &Table<'_>,
    wanted: impl Fn(&JsText) -> bool,
) -> HashMap<JsText, JsText> {
    let mut unmatched: HashMap<Vec<u8>, Vec<&JsText>> = HashMap::new();
    for (key, entry) in added(base, left, right) {
        unmatched.entry(lore_key(entry)).or_default().push(key);
    }
    for keys in unmatched.values_mut() {
        keys.reverse();
    }
    let first = added(base, right, left).filter(|(key, _)| wanted(key));
    let others = added(base, right, left).filter(|(key, _)| !wanted(key));
    let found = first.chain(others).filter_map(|(key, entry)| {
        let other = unmatched.get_mut(&lore_key(entry))?.pop()?;
        Some((key.clone(), other.clone()))
    });
    found.collect()
}

/// Entries of `one` that are not in the base and have no equal entry in `other` under the same key.
fn added<'t, 'a>(
    base: Option<&'t Table<'_>>,
    one: &'t Table<'a>,
    other: &'t Table<'_>,
) -> impl Iterator<Item = (&'t JsText, Entry<'a>)> {
    one.iter().filter(move |(key, entry)| match base {
        Some(base) => !base.contains(key) && !same_or_none(Some(*entry), other.get(key)),
        // Without a base, the same key means the same entry.
        None => !other.contains(key),
    })
}

/// Identifies what an entry says, regardless of its number.
pub(crate) fn lore_key(entry: Entry<'_>) -> Vec<u8> {
    let mut value = plain_entry(&value(entry));
    if let Some(object) = value.as_object_mut() {
        for field in INCIDENTAL {
            object.remove(field);
        }
    }
    value.stringify()
}
