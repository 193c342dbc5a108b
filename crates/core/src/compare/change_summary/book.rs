//! Summarises the changes to a book.

use std::borrow::Cow;

use rustc_hash::FxHashMap;

use super::collapse::{self, BookTally, Collapse};
use super::plain::{self, entries};
use super::{BookWindow, ChangeKind, ChangeSummary, EntryChange, Parts};
use crate::sillytavern::defaults::is_same_entry;
use forklore_json::{Json, JsonKind, Raw};

/// Summarises the first version of a book seen, with `number` entries.
pub fn first_book(number: usize) -> ChangeSummary {
    let words = match number {
        0 => "first seen, no entries yet".to_owned(),
        number => format!("first seen, {}", entries(number)),
    };
    ChangeSummary { words, kind: ChangeKind::Begun, collapse: None }
}

/// Summarises the changes between two versions of a book.
pub fn in_book(window: &BookWindow<'_>) -> ChangeSummary {
    let (before, after) = (window.entries_before, window.entries_after);
    let of = |words: String, collapse| ChangeSummary { words, kind: ChangeKind::Lore, collapse };
    match (window.readable_before, window.readable_after) {
        (true, true) => {}
        (true, false) => {
            let words = format!("no longer readable, {} before", entries(before));
            return of(words, Some(Collapse::Unreadable));
        }
        (false, true) => return of(format!("readable again, {}", entries(after)), None),
        (false, false) => return of("changed, but still not readable".into(), None),
    }
    let seen = ReadBook::of(window);
    let gone = seen.gone.max(before.saturating_sub(after));
    let collapse = collapse::in_book(&BookTally { before, after, gone });
    match collapse {
        Some(Collapse::Emptied) => of(format!("nothing left of {}", entries(before)), collapse),
        Some(Collapse::Replaced) => {
            of(format!("{gone} of {} gone, others in their place", entries(before)), collapse)
        }
        _ => seen.parts(window.rest_changed).into_summary(collapse),
    }
}

/// The events in the order in which a summary lists them.
const EVENTS: [EntryEvent; 8] = [
    EntryEvent::Removed,
    EntryEvent::Replaced,
    EntryEvent::Renamed,
    EntryEvent::Changed,
    EntryEvent::Off,
    EntryEvent::On,
    EntryEvent::Moved,
    EntryEvent::New,
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EntryEvent {
    Removed,
    /// A different entry now has its number.
    Replaced,
    Renamed,
    Changed,
    Off,
    On,
    /// The same entry under a different number.
    Moved,
    New,
}

struct ReadBook<'a> {
    changes: Vec<(EntryEvent, EntryChange<'a>)>,
    gone: usize,
}

/// Whether an entry differs only in defaults that SillyTavern's editor fills in.
fn is_same(change: &EntryChange<'_>) -> bool {
    let value = |text: Option<&[u8]>| Json::parse(text?).ok();
    match (value(change.before), value(change.after)) {
        (Some(before), Some(after)) => is_same_entry(&before, &after),
        _ => false,
    }
}

impl<'a> ReadBook<'a> {
    fn of(window: &BookWindow<'a>) -> Self {
        // Counts entries under new numbers, by title and text.
        let mut new: FxHashMap<Vec<u8>, usize> = FxHashMap::default();
        for change in window.changed.iter().filter(|change| change.before.is_none()) {
            if let Some(entry) = EntryFacts::of(change.after) {
                *new.entry(entry.identity()).or_default() += 1;
            }
        }
        let mut moved = new.clone();
        moved.values_mut().for_each(|count| *count = 0);
        let mut changes = Vec::with_capacity(window.changed.len());
        for change in window.changed.iter().filter(|change| change.before.is_some()) {
            if is_same(change) {
                continue;
            }
            let (before, after) = (EntryFacts::of(change.before), EntryFacts::of(change.after));
            let event = match (before, after) {
                (Some(before), Some(after)) => before.change_to(&after),
                (Some(before), None) if change.after.is_none() => {
                    let identity = before.identity();
                    match new.get_mut(&identity).filter(|left| **left > 0) {
                        Some(left) => {
                            *left -= 1;
                            *moved.entry(identity).or_default() += 1;
                            EntryEvent::Moved
                        }
                        None => EntryEvent::Removed,
                    }
                }
                _ if change.after.is_none() => EntryEvent::Removed,
                _ => EntryEvent::Changed,
            };
            changes.push((event, *change));
        }
        let is_gone =
            |event: &EntryEvent| matches!(event, EntryEvent::Removed | EntryEvent::Replaced);
        let gone = changes.iter().filter(|(event, _)| is_gone(event)).count();
        for change in window.changed.iter().filter(|change| change.before.is_none()) {
            let identity = EntryFacts::of(change.after).map(|entry| entry.identity());
            match identity.and_then(|identity| moved.get_mut(&identity)).filter(|left| **left > 0) {
                // Already reported as moved, under its old number.
                Some(left) => *left -= 1,
                None if change.after.is_some() => changes.push((EntryEvent::New, *change)),
                None => {}
            }
        }
        Self { changes, gone }
    }

    fn parts(&self, rest_changed: bool) -> Parts {
        let mut parts = Parts::default();
        for event in EVENTS {
            let mut matching = self.changes.iter().filter(|(is, _)| *is == event);
            let Some((_, first)) = matching.next() else { continue };
            match 1 + matching.count() {
                1 => parts.add(ChangeKind::Lore, describe_one(event, first)),
                number => {
                    parts.add(ChangeKind::Lore, format!("{} {}", entries(number), verb(event)))
                }
            }
        }
        if parts.is_empty() && rest_changed {
            parts.add(ChangeKind::Settings, "book settings changed");
        }
        parts
    }
}

fn describe_one(event: EntryEvent, change: &EntryChange<'_>) -> String {
    let name = |value: Option<&[u8]>| EntryFacts::of(value).and_then(|entry| entry.name());
    let (was, is) = (name(change.before), name(change.after));
    match (event, &was, &is) {
        (EntryEvent::Renamed, Some(was), Some(is)) => {
            return format!("entry '{was}' renamed to '{is}'");
        }
        (EntryEvent::Replaced, Some(was), Some(is)) => {
            return format!("entry '{was}' replaced by '{is}'");
        }
        _ => {}
    }
    match is.or(was) {
        Some(name) => format!("entry '{name}' {}", verb(event)),
        None => format!("entry {} {}", change.number, verb(event)),
    }
}

fn verb(event: EntryEvent) -> &'static str {
    match event {
        EntryEvent::Removed => "removed",
        EntryEvent::Replaced => "replaced",
        EntryEvent::Renamed => "renamed",
        EntryEvent::Changed => "changed",
        EntryEvent::Off => "switched off",
        EntryEvent::On => "switched on",
        EntryEvent::Moved => "moved",
        EntryEvent::New => "added",
    }
}

/// The fields by which people recognise an entry.
struct EntryFacts<'a> {
    comment: Option<Raw<'a>>,
    keys: Option<Raw<'a>>,
    content: Option<Raw<'a>>,
    is_off: bool,
}

impl<'a> EntryFacts<'a> {
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

    /// Title and text in one key.
    fn identity(&self) -> Vec<u8> {
        [text(self.comment).as_ref(), b"\0", text(self.content).as_ref()].concat()
    }

    fn change_to(&self, now: &Self) -> EntryEvent {
        let same_title = text(self.comment) == text(now.comment);
        let same_content = text(self.content) == text(now.content);
        let written = |keys: Option<Raw<'a>>| keys.map(|keys| keys.bytes());
        match (same_title, same_content) {
            (false, false) if written(self.keys) != written(now.keys) => EntryEvent::Replaced,
            (false, true) => EntryEvent::Renamed,
            (true, true) if !self.is_off && now.is_off => EntryEvent::Off,
            (true, true) if self.is_off && !now.is_off => EntryEvent::On,
            _ => EntryEvent::Changed,
        }
    }
}

fn text(value: Option<Raw<'_>>) -> Cow<'_, [u8]> {
    match value.filter(|value| value.kind() == JsonKind::Text) {
        Some(value) => value.text_bytes(),
        None => Cow::Borrowed(b""),
    }
}
