//! Compares the lore at two moments and determines which side made each change.
//!
//! Two timelines are compared against their merge base. For two messages of one chat the earlier
//! message is the base, so every change is attributed to the later one.

mod common;
mod json;
mod match_entries;
mod memory;
mod table;
mod words;

use std::collections::HashSet;

use crate::sillytavern::book::{Book, Entry, NAMESPACE};
use crate::sillytavern::defaults::{EqualFields, follows_the_entries};
use forklore_json::{JsText, Json, Object};

pub(crate) use json::insert_sides;
pub(crate) use match_entries::{INCIDENTAL, lore_key, match_entries};
pub(crate) use table::{Table, Tables, differing, same_or_none, value};
pub use words::{DiffTag, TextSpan, words};

/// The lore at one moment. Without metadata, only the books are compared.
#[derive(Clone, Copy, Debug, Default)]
pub struct LoreSide<'s, 'a> {
    pub book: Option<&'s Book<'a>>,
    pub metadata: Option<&'s Json>,
}

/// What a side did to something since the merge base.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    Nothing,
    Added,
    Changed,
    Removed,
    /// The merge base is unknown.
    Unknown,
}

impl Action {
    pub fn word(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Added => "added",
            Self::Changed => "changed",
            Self::Removed => "removed",
            Self::Unknown => "unknown",
        }
    }
}

/// Which side changed a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangedBy {
    Left,
    Right,
    /// Both sides changed it, in different ways.
    Both,
    Unknown,
}

impl ChangedBy {
    pub fn word(self) -> &'static str {
        match self {
            Self::Left => "left",
            Self::Right => "right",
            Self::Both => "both",
            Self::Unknown => "unknown",
        }
    }

    pub fn swapped(self) -> Self {
        match self {
            Self::Left => Self::Right,
            Self::Right => Self::Left,
            other => other,
        }
    }
}

/// A named value that differs between the sides; `None` where it is missing.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    pub name: JsText,
    pub by: ChangedBy,
    pub base: Option<Json>,
    pub left: Option<Json>,
    pub right: Option<Json>,
}

impl Difference {
    /// Whether `side` changed the value, alone or as one of both.
    pub fn is_by(&self, side: ChangedBy) -> bool {
        self.by == side || self.by == ChangedBy::Both
    }
}

/// An entry that differs between the sides.
#[derive(Clone, Debug, PartialEq)]
pub struct EntryDifference {
    pub key: JsText,
    pub left: EntrySide,
    pub right: EntrySide,
    /// The fields that differ, if both sides have the entry.
    pub fields: Vec<Difference>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct EntrySide {
    pub did: Action,
    pub entry: Option<Json>,
}

impl EntryDifference {
    /// The entry to show: the right side's, or the left side's if the right has none.
    pub fn entry(&self) -> Option<&Json> {
        self.right.entry.as_ref().or(self.left.entry.as_ref())
    }

    pub fn title(&self) -> String {
        let title = self.entry().and_then(|entry| entry.get("comment")).and_then(Json::as_str);
        title.unwrap_or_default().into_owned()
    }
}

/// All differences between two sides.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LoreDiff {
    pub entries: Vec<EntryDifference>,
    /// The book's own fields.
    pub book: Vec<Difference>,
    pub recap: Vec<Difference>,
    pub variables: Vec<Difference>,
    /// Other data that SillyTavern stores with a chat: author's note, injects, running effects.
    pub other: Vec<Difference>,
}

impl LoreDiff {
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
            && [&self.book, &self.recap, &self.variables, &self.other].iter().all(|l| l.is_empty())
    }
}

/// Compares two sides. Without a `base`, changes cannot be attributed to a side. ST-Auto-Recap's
/// bookkeeping entries (registries, queue) are left out unless `internal` is set.
pub fn compare<'a>(
    base: Option<LoreSide<'_, 'a>>,
    left: LoreSide<'_, 'a>,
    right: LoreSide<'_, 'a>,
    internal: bool,
) -> LoreDiff {
    let metadata = |pick: fn(Option<&Json>, &Json, &Json) -> Vec<Difference>| {
        let (Some(left), Some(right)) = (left.metadata, right.metadata) else { return Vec::new() };
        pick(base.and_then(|base| base.metadata), left, right)
    };
    LoreDiff {
        entries: entries(base.map(|base| base.book), left.book, right.book, internal),
        book: book_fields(base.map(|base| base.book), left.book, right.book),
        recap: metadata(memory::recap),
        variables: metadata(memory::variables),
        other: metadata(memory::other),
    }
}

fn entries<'a>(
    base: Option<Option<&Book<'a>>>,
    left: Option<&Book<'a>>,
    right: Option<&Book<'a>>,
    internal: bool,
) -> Vec<EntryDifference> {
    let (base, left, right) = differing(base, left, right);
    let mut found = between(base.as_ref().map(|base| &base.lore), &left.lore, &right.lore);
    if internal {
        let base = base.as_ref().map(|base| &base.internal);
        found.extend(between(base, &left.internal, &right.internal));
    }
    found
}

fn between(base: Option<&Table<'_>>, left: &Table<'_>, right: &Table<'_>) -> Vec<EntryDifference> {
    let matches = match_entries(base, left, right, |_| true);
    let matched_left: HashSet<&JsText> = matches.values().collect();
    let mut found = Vec::new();
    // In the order of the right book; entries that only the left one has come last.
    let only_left = left.keys().filter(|key| !right.contains(key));
    for key in right.keys().chain(only_left) {
        let (l, r) = (left.get(key), right.get(key));
        if same_or_none(l, r) {
            continue;
        }
        let own_left = l.filter(|_| !matched_left.contains(key));
        let own_right = r.filter(|_| !matches.contains_key(key));
        match base.map(|base| base.get(key)) {
            // Added on one side, or two different entries added under one key.
            Some(None) => {
                let none = EntrySide { did: Action::Nothing, entry: None };
                let added = |entry| EntrySide { did: Action::Added, entry: Some(value(entry)) };
                let sides = [
                    own_right.map(|entry| (none.clone(), added(entry))),
                    own_left.map(|entry| (added(entry), none)),
                ];
                found.extend(sides.into_iter().flatten().map(|(left, right)| EntryDifference {
                    key: key.clone(),
                    left,
                    right,
                    fields: Vec::new(),
                }));
            }
            Some(Some(base)) => found.extend(differing_entry(key, Some(base), l, r)),
            None => found.extend(differing_entry(key, None, own_left, own_right)),
        }
    }
    found
}

/// Compares an entry that one or both sides have; `None` if nothing meaningful differs.
fn differing_entry(
    key: &JsText,
    base: Option<Entry<'_>>,
    left: Option<Entry<'_>>,
    right: Option<Entry<'_>>,
) -> Option<EntryDifference> {
    let mut fields = Vec::new();
    let actions = match (left, right) {
        (None, None) => return None,
        (Some(left), Some(right)) => {
            fields = entry_fields(base.map(value).as_ref(), &value(left), &value(right));
            // The same change on both sides is not a difference, so it counts for neither side.
            let action_of = |side: ChangedBy| match fields.iter().any(|field| field.is_by(side)) {
                true => Action::Changed,
                false => Action::Nothing,
            };
            (!fields.is_empty())
                .then(|| [action_of(ChangedBy::Left), action_of(ChangedBy::Right)])?
        }
        _ => [left, right].map(|now| match now {
            None => Action::Removed,
            Some(_) if same_or_none(now, base) => Action::Nothing,
            Some(_) => Action::Changed,
        }),
    };
    let [left_action, right_action] = if base.is_some() { actions } else { [Action::Unknown; 2] };
    Some(EntryDifference {
        key: key.clone(),
        left: EntrySide { did: left_action, entry: left.map(value) },
        right: EntrySide { did: right_action, entry: right.map(value) },
        fields,
    })
}

/// The fields whose meaning differs between two entries. Without a base, the changes cannot be
/// attributed to a side.
pub(crate) fn entry_fields(base: Option<&Json>, left: &Json, right: &Json) -> Vec<Difference> {
    let empty = Object::new();
    let (left, right) = (members_of(Some(left), &empty), members_of(Some(right), &empty));
    let base = base.map(|base| members_of(Some(base), &empty));
    let only_left = left.keys().filter(|name| right.get_text(name).is_none());
    let names = right.keys().chain(only_left);
    let differing = names.filter_map(|name| {
        let equal = EqualFields::in_entries(name, base, [left, right]);
        let by = match equal.with_base {
            _ if equal.sides => return None,
            None => ChangedBy::Unknown,
            Some([true, _]) => ChangedBy::Right,
            Some([_, true]) => ChangedBy::Left,
            Some(_) => ChangedBy::Both,
        };
        Some(Difference {
            name: name.clone(),
            by,
            base: base.and_then(|base| base.get_text(name)).cloned(),
            left: left.get_text(name).cloned(),
            right: right.get_text(name).cloned(),
        })
    });
    differing.collect()
}

/// The members of an object that differ. A `base` of `None` is unknown; a missing object counts as
/// empty.
pub(crate) fn members(
    base: Option<Option<&Json>>,
    left: Option<&Json>,
    right: Option<&Json>,
) -> Vec<Difference> {
    let empty = Object::new();
    let (left, right) = (members_of(left, &empty), members_of(right, &empty));
    let base = base.map(|base| members_of(base, &empty));
    let only_left = left.keys().filter(|key| right.get_text(key).is_none());
    let keys = right.keys().chain(only_left);
    let differing = keys.filter(|key| left.get_text(key) != right.get_text(key));
    differing
        .map(|key| {
            let base = base.as_ref().map(|base| base.get_text(key));
            difference(key.clone(), base, left.get_text(key), right.get_text(key))
        })
        .collect()
}

fn members_of<'v>(value: Option<&'v Json>, none: &'v Object) -> &'v Object {
    value.and_then(Json::as_object).unwrap_or(none)
}

pub(crate) fn difference(
    name: JsText,
    base: Option<Option<&Json>>,
    left: Option<&Json>,
    right: Option<&Json>,
) -> Difference {
    let by = match base {
        None => ChangedBy::Unknown,
        Some(base) if base == left => ChangedBy::Right,
        Some(base) if base == right => ChangedBy::Left,
        Some(_) => ChangedBy::Both,
    };
    Difference {
        name,
        by,
        base: base.flatten().cloned(),
        left: left.cloned(),
        right: right.cloned(),
    }
}

fn book_fields(
    base: Option<Option<&Book<'_>>>,
    left: Option<&Book<'_>>,
    right: Option<&Book<'_>>,
) -> Vec<Difference> {
    let (Some(left), Some(right)) = (left, right) else { return Vec::new() };
    let base = base.map(|base| base.map(own_fields).unwrap_or_default());
    let (left, right) = (own_fields(left), own_fields(right));
    let mut found =
        members(base.map(Json::Object).as_ref().map(Some), Some(&left.into()), Some(&right.into()));
    found.retain(|field| {
        !follows_the_entries(&field.name, field.left.as_ref(), field.right.as_ref())
    });
    found
}

/// A book's fields, except its entries and Forklore's mark.
pub(crate) fn own_fields(book: &Book<'_>) -> Object {
    let mut fields = Object::new();
    for member in book.fields() {
        let Some(name) = member.key.js_text().filter(|name| *name != *"entries") else { continue };
        let mut value = member.value.json().unwrap_or(Json::Null);
        if name == *"extensions"
            && let Some(extensions) = value.as_object_mut()
            && extensions.remove(NAMESPACE).is_some()
            && extensions.is_empty()
        {
            continue;
        }
        fields.insert(name, value);
    }
    fields
}

#[cfg(test)]
mod tests;
