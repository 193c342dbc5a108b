//! Finds keys and uids that are not in use.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::HashSet;

use rustc_hash::FxHashSet;

use super::entries::ThreeBooks;
use crate::sillytavern::book::Book;
use forklore_json::{JsText, Json, Object};

/// Assigns numbers to entries whose own is taken.
pub(super) struct FreeUids<'t, 'b, 'a> {
    books: &'t ThreeBooks<'b, 'a>,
    /// Collected when the first entry is added.
    names: OnceCell<UsedNames<'a>>,
    /// Keys and uids assigned so far.
    assigned: HashSet<JsText>,
    next: i64,
}

/// Keys and uids in use.
struct UsedNames<'a> {
    ours: FxHashSet<Cow<'a, [u8]>>,
    /// Those of all three books.
    all: FxHashSet<Cow<'a, [u8]>>,
}

impl<'t, 'b, 'a> FreeUids<'t, 'b, 'a> {
    pub(super) fn of(books: &'t ThreeBooks<'b, 'a>) -> Self {
        Self { books, names: OnceCell::new(), assigned: HashSet::new(), next: 0 }
    }

    /// The key for an entry of theirs in our book, and the entry with a matching uid.
    pub(super) fn place(&mut self, key: &JsText, entry: Json) -> (JsText, Json) {
        let uid = entry.get("uid").and_then(uid_of);
        if !self.is_taken(key) && !uid.as_ref().is_some_and(|uid| self.is_taken(uid)) {
            self.assigned.insert(key.clone());
            self.assigned.extend(uid);
            return (key.clone(), entry);
        }
        let number = self.next_free();
        let key = JsText::from(number.to_string());
        self.assigned.insert(key.clone());
        (key, renumbered(entry, number))
    }

    fn is_taken(&self, name: &JsText) -> bool {
        self.names().ours.contains(name.as_bytes()) || self.assigned.contains(name)
    }

    /// The next number that none of the three books uses. With a number that had belonged to
    /// another entry, the next merge would mistake this entry for that one.
    fn next_free(&mut self) -> i64 {
        loop {
            let number = self.next;
            self.next += 1;
            let name = JsText::from(number.to_string());
            if !self.names().all.contains(name.as_bytes()) && !self.assigned.contains(&name) {
                return number;
            }
        }
    }

    fn names(&self) -> &UsedNames<'a> {
        self.names.get_or_init(|| {
            let ours = FxHashSet::from_iter(names(self.books.our_book));
            let all = self.books.all.into_iter().flatten().flat_map(names).collect();
            UsedNames { ours, all }
        })
    }
}

fn names<'a>(book: &Book<'a>) -> impl Iterator<Item = Cow<'a, [u8]>> {
    book.entries()
        .flat_map(|entry| {
            // Almost every uid equals its entry's key.
            let odd = (!entry.is_keyed_by_uid()).then(|| entry.uid()).flatten();
            [Some(entry.key_bytes()), odd.map(|uid| Cow::Owned(uid.into_bytes()))]
        })
        .flatten()
}

pub(super) fn uid_of(uid: &Json) -> Option<JsText> {
    match uid {
        Json::Text(text) => Some(text.clone()),
        number => number.as_i64().map(|number| number.to_string().into()),
    }
}

/// The numbers that none of the books uses as a key or uid, from the lowest.
pub(crate) fn free_numbers<'a, const N: usize>(
    books: [&Book<'a>; N],
) -> impl Iterator<Item = i64> + use<'a, N> {
    let used: FxHashSet<Cow<'a, [u8]>> = books.into_iter().flat_map(names).collect();
    (0..).filter(move |number: &i64| !used.contains(number.to_string().as_bytes()))
}

/// An entry with another number, in fields of the same types.
pub(crate) fn renumbered(mut entry: Json, number: i64) -> Json {
    let number_in = |field| entry.get(field).and_then(uid_of);
    let index_is_uid = number_in("displayIndex") == number_in("uid");
    if let Some(object) = entry.as_object_mut() {
        renumber(object, "uid", number);
        if index_is_uid && object.contains("displayIndex") {
            renumber(object, "displayIndex", number);
        }
    }
    entry
}

/// Keeps the type of the field: a number or a text.
fn renumber(entry: &mut Object, field: &str, number: i64) {
    let is_text = matches!(entry.get(field), Some(Json::Text(_)));
    let value = if is_text { Json::from(number.to_string()) } else { Json::from(number) };
    entry.insert(field, value);
}
