//! Collisions of entry numbers: SillyTavern gives a new entry the lowest free one, so two pages use
//! the same one.

use std::borrow::Cow;

use rustc_hash::FxHashMap;

use crate::plan::merge::{free_numbers, renumbered};
use crate::recap;
use crate::sillytavern::book::{Book, BookError, Entry};
use forklore_json::{Edit, Edits, JsText, Member, Raw};

/// Entries that have another number on the server than in a page's copy, by their key in the copy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Moves(Vec<(JsText, i64)>);

impl Moves {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = (&JsText, i64)> {
        self.0.iter().map(|(key, number)| (key, *number))
    }

    /// The moves of entries that this book has.
    pub fn within(&self, text: &[u8]) -> Self {
        if self.is_empty() {
            return Self::default();
        }
        let Ok(book) = Book::read(text) else { return Self::default() };
        let entries = by_key(&book);
        Self(self.0.iter().filter(|(key, _)| entries.contains_key(key)).cloned().collect())
    }

    /// The number on the server of an entry in the copy.
    fn get(&self, key: &JsText) -> Option<JsText> {
        let (_, number) = self.iter().find(|(moved, _)| *moved == key)?;
        Some(number.to_string().into())
    }

    fn insert(&mut self, key: JsText, number: i64) {
        match self.0.iter_mut().find(|(moved, _)| *moved == key) {
            Some((_, old)) => *old = number,
            None => self.0.push((key, number)),
        }
    }

    /// A copy's text with the numbers that its entries have on the server.
    pub fn apply<'a>(&self, text: &'a [u8]) -> Result<Cow<'a, [u8]>, BookError> {
        if self.is_empty() {
            return Ok(Cow::Borrowed(text));
        }
        let book = Book::read(text)?;
        let entries = by_key(&book);
        let mut changes: Vec<(JsText, Edit)> = Vec::new();
        for (key, number) in self.iter() {
            if let Some(Ok(value)) = entries.get(key).map(|entry| entry.value().json()) {
                let edit = Edit::Set(renumbered(value, number));
                changes.push((number.to_string().into(), edit));
            }
        }
        for (key, _) in self.iter().filter(|(key, _)| entries.contains_key(*key)) {
            if changes.iter().all(|(changed, _)| changed != key) {
                changes.push((key.clone(), Edit::Remove));
            }
        }
        if changes.is_empty() {
            return Ok(Cow::Borrowed(text));
        }
        let members: Vec<Member<'_>> = book.entries().map(|entry| entry.member()).collect();
        let mut edits = Edits::of(book.root());
        edits.change_members(book.entries_raw(), 1, &members, &changes);
        Ok(Cow::Owned(edits.apply()))
    }

    /// These moves, and one for every entry of ours whose number on the server belongs to another
    /// entry. An entry that the server has keeps its number, because the page that added it knows
    /// it by that number.
    ///
    /// `copy` is our book as the page has it, `before` and `ours` have the server's numbers.
    pub(super) fn with_collisions(
        &self,
        copy: &Book<'_>,
        [before, ours, theirs]: [&Book<'_>; 3],
    ) -> Self {
        let [known, mine, other] = [before, ours, theirs].map(by_key);
        let moved_to: Vec<JsText> =
            self.iter().map(|(_, number)| number.to_string().into()).collect();
        let is_free = |number: &i64| self.iter().all(|(_, moved_to)| moved_to != *number);
        let mut free = free_numbers([copy, before, ours, theirs]).filter(is_free);
        let mut result = self.clone();
        for key in copy.entries().map(|entry| entry.js_key()) {
            let number = self.get(&key);
            // The page has added it under a number that another of its entries has on the server.
            let is_in_use = number.is_none() && moved_to.contains(&key);
            let there = number.as_ref().unwrap_or(&key);
            let is_taken = !known.contains_key(there)
                && other.get(there).zip(mine.get(there)).is_some_and(|(other, mine)| {
                    !is_same(Some(other.value()), Some(mine.value()))
                        // ST-Auto-Recap finds its internal entries by their titles.
                        && ![other, mine].iter().any(|entry| recap::is_internal(&entry.comment()))
                });
            if (is_in_use || is_taken)
                && let Some(number) = free.next()
            {
                result.insert(key, number);
            }
        }
        result
    }
}

impl<K: Into<JsText>> FromIterator<(K, i64)> for Moves {
    fn from_iter<I: IntoIterator<Item = (K, i64)>>(moves: I) -> Self {
        Self(moves.into_iter().map(|(key, number)| (key.into(), number)).collect())
    }
}

/// Updates the entries that one of our saves added to their current content. Entries that were on
/// the server at a later save are not missing, and an entry edited since must not look like a
/// second one with the same number.
///
/// `later` holds the server's books before the later saves, `now` is its book now.
pub fn refresh_own_additions<'a>(
    before: &[u8],
    written: &'a [u8],
    later: &[&[u8]],
    now: &[u8],
) -> Result<Cow<'a, [u8]>, BookError> {
    let (before, now) = (Book::read(before)?, Book::read(now)?);
    let book = Book::read_like(written, &now)?;
    let later: Vec<Book<'_>> =
        later.iter().map(|text| Book::read_like(text, &now)).collect::<Result<_, _>>()?;
    let (known, there) = (by_key(&before), by_key(&now));
    let seen: Vec<_> = later.iter().map(by_key).collect();
    let refresh = |(key, ours): (JsText, Entry<'_>)| {
        let current = there.get(&key).filter(|_| !known.contains_key(&key))?;
        let is_seen = seen.iter().any(|entries| entries.contains_key(&key));
        let is_old = !is_same(Some(current.value()), Some(ours.value()));
        ((is_seen || is_alike(*current, ours)) && is_old)
            .then(|| Some((key, Edit::Set(current.value().json().ok()?))))?
    };
    let changes: Vec<(JsText, Edit)> = by_key(&book).into_iter().filter_map(refresh).collect();
    if changes.is_empty() {
        return Ok(Cow::Borrowed(written));
    }
    let mut edits = Edits::of(book.root());
    edits.change(book.entries_raw(), 1, &changes);
    Ok(Cow::Owned(edits.apply()))
}

/// Whether two entries with one number are the same one, edited.
fn is_alike(one: Entry<'_>, other: Entry<'_>) -> bool {
    ["comment", "content"].iter().any(|field| {
        let [one, other] = [one, other].map(|entry| entry.value().get(field));
        one.is_some_and(|one| one.is_truthy()) && is_same(one, other)
    })
}

/// The entries that JavaScript sees: the last of several with one key.
pub(super) fn by_key<'a>(book: &Book<'a>) -> FxHashMap<JsText, Entry<'a>> {
    book.entries().map(|entry| (entry.js_key(), entry)).collect()
}

/// Whether two values are written alike by JavaScript.
pub(super) fn is_same(one: Option<Raw<'_>>, other: Option<Raw<'_>>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => {
            one.bytes() == other.bytes()
                || matches!((one.json(), other.json()), (Ok(one), Ok(other)) if one == other)
        }
        (one, other) => one.is_none() && other.is_none(),
    }
}
