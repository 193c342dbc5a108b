//! What happened in a book.

use std::borrow::Cow;

use rustc_hash::FxHashMap;

use super::collapse::{self, BookTally, Collapse};
use super::plain::{self, entries};
use super::{BookWindow, EntryChange, Happened, Kind, Parts};
use crate::defaults::is_same_entry;
use crate::json::{Json, Kind as JsonKind, Raw};

/// The first version of a book that was seen.
pub fn first_book(number: usize) -> Happened {
    let words = match number {
        0 => "first seen, no entries yet".to_owned(),
        number => format!("first seen, {}", entries(number)),
    };
    Happened { words, kind: Kind::Begun, collapse: None }
}

/// What happened in a book between two versions.
pub fn in_book(window: &BookWindow<'_>) -> Happened {
    let (before, after) = (window.entries_before, window.entries_after);
    let of = |words: String, collapse| Happened { words, kind: Kind::Lore, collapse };
    match (window.readable_before, window.readable_after) {
        (true, true) => {}
        (true, false) => {
            let words = format!("no longer readable, {} before", entries(before));
            return of(words, Some(Collapse::Unreadable));
        }
        (false, true) => return of(format!("readable again, {}", entries(after)), None),
        (false, false) => return of("changed, but still not readable".into(), None),
    }
    let seen = Seen::of(window);
    let gone = seen.gone.max(before.saturating_sub(after));
    let collapse = collapse::in_book(&BookTally { before, after, gone });
    match collapse {
        Some(Collapse::Emptied) => of(format!("nothing left of {}", entries(before)), collapse),
        Some(Collapse::Replaced) => {
            of(format!("{gone} of {} gone, others in their place", entries(before)), collapse)
        }
        _ => seen.parts(window.rest_changed).into_happened(collapse),
    }
}

/// What happened to an entry, in the order in which it is told.
const WHATS: [What; 8] = [
    What::Removed,
    What::Replaced,
    What::Renamed,
    What::Changed,
    What::Off,
    What::On,
    What::Moved,
    What::New,
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Removed,
    /// Another one under its number.
    Replaced,
    Renamed,
    Changed,
    Off,
    On,
    /// The same one under another number.
    Moved,
    New,
}

struct Seen<'a> {
    changes: Vec<(What, EntryChange<'a>)>,
    gone: usize,
}

/// Whether an entry differs only in what SillyTavern's editor fills in.
fn is_same(change: &EntryChange<'_>) -> bool {
    let value = |text: Option<&[u8]>| Json::parse(text?).ok();
    match (value(change.before), value(change.after)) {
        (Some(before), Some(after)) => is_same_entry(&before, &after),
        _ => false,
    }
}

impl<'a> Seen<'a> {
    fn of(window: &BookWindow<'a>) -> Self {
        // Entries that stand where none did, by what they say.
        let mut new: FxHashMap<Vec<u8>, usize> = FxHashMap::default();
        for change in window.changed.iter().filter(|change| change.before.is_none()) {
            if let Some(entry) = Entry::of(change.after) {
                *new.entry(entry.said()).or_default() += 1;
            }
        }
        let mut moved = new.clone();
        moved.values_mut().for_each(|count| *count = 0);
        let mut changes = Vec::with_capacity(window.changed.len());
        for change in window.changed.iter().filter(|change| change.before.is_some()) {
            if is_same(change) {
                continue;
            }
            let (before, after) = (Entry::of(change.before), Entry::of(change.after));
            let what = match (before, after) {
                (Some(before), Some(after)) => before.became(&after),
                (Some(before), None) if change.after.is_none() => {
                    let said = before.said();
                    match new.get_mut(&said).filter(|left| **left > 0) {
                        Some(left) => {
                            *left -= 1;
                            *moved.entry(said).or_default() += 1;
                            What::Moved
                        }
                        None => What::Removed,
                    }
                }
                _ if change.after.is_none() => What::Removed,
                _ => What::Changed,
            };
            changes.push((what, *change));
        }
        let is_gone = |what: &What| matches!(what, What::Removed | What::Replaced);
        let gone = changes.iter().filter(|(what, _)| is_gone(what)).count();
        for change in window.changed.iter().filter(|change| change.before.is_none()) {
            let said = Entry::of(change.after).map(|entry| entry.said());
            match said.and_then(|said| moved.get_mut(&said)).filter(|left| **left > 0) {
                // Told already, under its old number.
                Some(left) => *left -= 1,
                None if change.after.is_some() => changes.push((What::New, *change)),
                None => {}
            }
        }
        Self { changes, gone }
    }

    fn parts(&self, rest_changed: bool) -> Parts {
        let mut parts = Parts::default();
        for what in WHATS {
            let mut of_it = self.changes.iter().filter(|(is, _)| *is == what);
            let Some((_, first)) = of_it.next() else { continue };
            match 1 + of_it.count() {
                1 => parts.add(Kind::Lore, one(what, first)),
                number => parts.add(Kind::Lore, format!("{} {}", entries(number), verb(what))),
            }
        }
        if parts.is_empty() && rest_changed {
            parts.add(Kind::Settings, "book settings changed");
        }
        parts
    }
}

fn one(what: What, change: &EntryChange<'_>) -> String {
    let name = |value: Option<&[u8]>| Entry::of(value).and_then(|entry| entry.name());
    let (was, is) = (name(change.before), name(change.after));
    match (what, &was, &is) {
        (What::Renamed, Some(was), Some(is)) => return format!("entry '{was}' renamed '{is}'"),
        (What::Replaced, Some(was), Some(is)) => {
            return format!("entry '{is}' in place of '{was}'");
        }
        _ => {}
    }
    match is.or(was) {
        Some(name) => format!("entry '{name}' {}", verb(what)),
        None => format!("entry {} {}", change.number, verb(what)),
    }
}

fn verb(what: What) -> &'static str {
    match what {
        What::Removed => "removed",
        What::Replaced => "replaced",
        What::Renamed => "renamed",
        What::Changed => "changed",
        What::Off => "switched off",
        What::On => "switched on",
        What::Moved => "moved",
        What::New => "new",
    }
}

/// What people know of an entry.
struct Entry<'a> {
    comment: Option<Raw<'a>>,
    keys: Option<Raw<'a>>,
    content: Option<Raw<'a>>,
    is_off: bool,
}

impl<'a> Entry<'a> {
    fn of(value: Option<&'a [u8]>) -> Option<Self> {
        let value = Raw::document(value?).ok()?;
        let mut entry = Self { comment: None, keys: None, content: None, is_off: false };
        for member in value.members() {
            match member.key.text_bytes().as_ref() {
                b"comment" => entry.comment = Some(member.value),
                b"key" => entry.keys = Some(member.value),
                b"content" => entry.content = Some(member.value),
                b"disable" => entry.is_off = member.value.is_truthy(),
                _ => {}
            }
        }
        Some(entry)
    }

    fn name(&self) -> Option<String> {
        let first_key = || self.keys.and_then(|keys| keys.elements().next());
        plain::name(self.comment).or_else(|| plain::name(first_key()))
    }

    /// Title and text as one, to recognise it by.
    fn said(&self) -> Vec<u8> {
        [text(self.comment).as_ref(), b"\0", text(self.content).as_ref()].concat()
    }

    fn became(&self, now: &Self) -> What {
        let is_as_named = text(self.comment) == text(now.comment);
        let says_the_same = text(self.content) == text(now.content);
        let written = |keys: Option<Raw<'a>>| keys.map(|keys| keys.bytes());
        match (is_as_named, says_the_same) {
            (false, false) if written(self.keys) != written(now.keys) => What::Replaced,
            (false, true) => What::Renamed,
            (true, true) if !self.is_off && now.is_off => What::Off,
            (true, true) if self.is_off && !now.is_off => What::On,
            _ => What::Changed,
        }
    }
}

fn text(value: Option<Raw<'_>>) -> Cow<'_, [u8]> {
    match value.filter(|value| value.kind() == JsonKind::Text) {
        Some(value) => value.text_bytes(),
        None => Cow::Borrowed(b""),
    }
}
