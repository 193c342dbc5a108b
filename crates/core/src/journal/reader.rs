//! Reads a book again and again.

use std::ops::Range;
use std::sync::Arc;

use indexmap::IndexMap;

use super::lore::{Lore, LoreEntry};
use crate::sillytavern::book::{Book, BookError};
use forklore_json::{JsText, Raw};

/// Looks only at what changed since the last time: a page saves the whole book for each edit, and
/// reading all of a large one takes longer than a save may.
#[derive(Debug, Default)]
pub(super) struct Reader(Option<Reading>);

#[derive(Debug)]
struct Reading {
    text: Vec<u8>,
    /// Where in the text each entry's value is, in its order.
    places: Places,
    lore: Arc<Lore>,
}

type Places = IndexMap<JsText, Range<usize>>;

impl Reader {
    pub(super) fn read(&mut self, mut text: Vec<u8>) -> Result<Arc<Lore>, BookError> {
        const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();
        if text.starts_with(BYTE_ORDER_MARK) {
            text.drain(..BYTE_ORDER_MARK.len());
        }
        let before = self.0.as_ref();
        let (places, lore) = match before.and_then(|before| before.changed_to(&text)) {
            Some(changed) => changed,
            None => Reading::of(&text, before)?,
        };
        self.0 = Some(Reading { text, places, lore: Arc::clone(&lore) });
        Ok(lore)
    }
}

impl Reading {
    fn of(text: &[u8], before: Option<&Self>) -> Result<(Places, Arc<Lore>), BookError> {
        let book = Book::read(text)?;
        let mut places = Places::new();
        let mut count = 0;
        let lore = Lore::read(book.root(), |key, value| {
            places.insert(key.clone(), value.range());
            count += 1;
            before?.entry_written(key, value.bytes())
        })?;
        if count != places.len() {
            // Two entries with the same key, of which the last counts: such a book is always read
            // in full.
            places.clear();
        }
        Ok((places, Arc::new(lore)))
    }

    /// What another text says, if it differs in a run of entries only.
    fn changed_to(&self, text: &[u8]) -> Option<(Places, Arc<Lore>)> {
        let start = common_start(&self.text, text);
        let rest = common_start_backwards(&self.text[start..], &text[start..]);
        let end = self.text.len() - rest;
        if start == end && text.len() == self.text.len() {
            return Some((self.places.clone(), Arc::clone(&self.lore)));
        }
        // From the last value that begins before the difference to the first that ends after it.
        let places = self.places.as_slice();
        let first = places.partition_point(|_, place| place.start <= start).checked_sub(1)?;
        let last = places.partition_point(|_, place| place.end < end);
        let (first_key, first_place) = self.places.get_index(first)?;
        let (_, last_place) = self.places.get_index(last)?;
        let after = self.text.len() - last_place.end;
        let run = text.get(first_place.start..text.len() - after)?;

        // Between a key that is the same and a rest that is the same: so the text is a book if
        // this is a run of members, and has these entries.
        let run_start = first_place.start;
        let opening = b"{\"\":";
        let members = [opening, run, b"}"].concat();
        let mut changed = Vec::new();
        for (at, member) in Raw::document(&members).ok()?.members().enumerate() {
            let key = if at == 0 { first_key.clone() } else { member.key.js_text()? };
            let place = member.value.range();
            let place =
                run_start + place.start - opening.len()..run_start + place.end - opening.len();
            let entry = match self.entry_written(&key, member.value.bytes()) {
                Some(entry) => entry,
                None => Arc::new(LoreEntry::of(member.value.json().ok()?)),
            };
            changed.push((key, place, entry));
        }

        let kept = |(key, place): (&JsText, &Range<usize>)| {
            Some((key.clone(), place.clone(), Arc::clone(self.lore.entries()?.shared(key)?)))
        };
        let moved = |(key, place, entry): (JsText, Range<usize>, Arc<LoreEntry>)| {
            let from_end = |at: usize| text.len() - (self.text.len() - at);
            (key, from_end(place.start)..from_end(place.end), entry)
        };
        let count = first + changed.len() + places.len() - (last + 1);
        let before = places[..first].iter().filter_map(kept);
        let behind = places[last + 1..].iter().filter_map(kept).map(moved);
        let mut new_places = Places::with_capacity(count);
        let entries = before
            .chain(changed)
            .chain(behind)
            .map(|(key, place, entry)| {
                new_places.insert(key.clone(), place);
                (key, entry)
            })
            .collect();
        // Fewer, if two have the same key now.
        (new_places.len() == count).then(|| (new_places, Arc::new(self.lore.with_entries(entries))))
    }

    /// The entry, if it was the same text before.
    fn entry_written(&self, key: &JsText, text: &[u8]) -> Option<Arc<LoreEntry>> {
        let place = self.places.get(key)?.clone();
        (self.text.get(place)? == text).then(|| self.lore.entries()?.shared(key).cloned()).flatten()
    }
}

/// Compared in blocks, which is several times faster than one by one.
const BLOCK: usize = 1024;

fn common_start(one: &[u8], other: &[u8]) -> usize {
    let blocks = one.chunks_exact(BLOCK).zip(other.chunks_exact(BLOCK));
    let same = blocks.take_while(|(one, other)| one == other).count() * BLOCK;
    let rest = one[same..].iter().zip(&other[same..]);
    same + rest.take_while(|(one, other)| one == other).count()
}

fn common_start_backwards(one: &[u8], other: &[u8]) -> usize {
    let blocks = one.rchunks_exact(BLOCK).zip(other.rchunks_exact(BLOCK));
    let same = blocks.take_while(|(one, other)| one == other).count() * BLOCK;
    let rest = one[..one.len() - same].iter().rev().zip(other[..other.len() - same].iter().rev());
    same + rest.take_while(|(one, other)| one == other).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads each text after the one before it, and by itself.
    #[track_caller]
    fn reads_the_same(texts: &[String]) {
        let mut reader = Reader::default();
        for (at, text) in texts.iter().enumerate() {
            let again = reader.read(text.clone().into_bytes());
            let alone = Reader::default().read(text.clone().into_bytes());
            assert_eq!(
                again,
                alone,
                "after {:?} read {text:?}",
                at.checked_sub(1).map(|at| &texts[at])
            );
        }
    }

    #[test]
    fn whatever_was_read_before_the_book_is_the_one_written() {
        let texts = [
            r#"{"entries":{}}"#,
            r#"{"entries":{"0":{"a":"x"}}}"#,
            r#"{"entries":{"0":{"a":"x"},"1":{"a":"x"}}}"#,
            r#"{"entries":{"0":{"a":"y"},"1":{"a":"x"}}}"#,
            r#"{"entries":{"1":{"a":"x"}}}"#,
            r#"{"entries":{"1":{"a":"x"}},"name":1}"#,
            r#"{"entries":{"1":{"a":"x"},"0":{"a":"y"},"b":{}},"name":1}"#,
            r#"{"entries":{"1":{"a":"x"},"c":{},"b":{}},"name":1}"#,
            r#"{"entries":{"1":{"a":"x"},"c":{},"b":{},"c":{"b":1}},"name":1}"#,
            r#"{"entries":{"1":1},"entries":{"0":{"a":"x"}}}"#,
            r#"{"entries":{"0":1},"entries":{"0":{"a":"x"}}}"#,
            r#"{ "entries" : { "0" : {"a":"x"} , "1" : {"a":"x"} } }"#,
            r#"{ "entries" : { "0" : {"a":"x"} , "1" : {"a":"x"} , } }"#,
            r#"{"entries":{"0":{"a":"x"}},"1":{"a":"x"}}"#,
            r#"{"entries":[]}"#,
            r#"{"entries":{"0":{"a":"x"}"#,
            "",
            "\u{feff}{\"entries\":{\"0\":{}}}",
        ]
        .map(str::to_owned);
        for one in &texts {
            for other in &texts {
                reads_the_same(&[one.clone(), other.clone()]);
            }
        }
        reads_the_same(&texts);
    }

    #[test]
    fn edits_anywhere_are_seen() {
        let mut rng = fastrand::Rng::with_seed(1);
        let keys = ["0", "1", "2", "10", "k", "l", "7"];
        let book = |rng: &mut fastrand::Rng| {
            let mut kept = keys.to_vec();
            kept.retain(|_| rng.u8(..6) > 0);
            let entries: Vec<String> = kept
                .iter()
                .map(|key| {
                    format!(r#""{key}":{{"content":"{}"}}"#, "ab".repeat(rng.usize(..3) * 400))
                })
                .collect();
            format!(r#"{{"entries":{{{}}},"name":"{}"}}"#, entries.join(","), rng.u8(..2))
        };
        for _ in 0..300 {
            let mut texts: Vec<String> = (0..8).map(|_| book(&mut rng)).collect();
            if rng.bool() {
                let broken = rng.usize(..texts.len());
                let at = rng.usize(..texts[broken].len());
                texts[broken].replace_range(at..=at, ["}", "\"", "{", ",", ""][rng.usize(..5)]);
            }
            reads_the_same(&texts);
        }
    }

    #[test]
    fn entries_that_stay_are_shared() {
        let mut reader = Reader::default();
        let book =
            |middle: &str| format!(r#"{{"entries":{{"a":{{}},"b":{{"x":"{middle}"}},"c":{{}}}}}}"#);
        let one = reader.read(book("1").into_bytes()).unwrap();
        let other = reader.read(book("2").into_bytes()).unwrap();
        let entry =
            |lore: &Lore, key: &str| lore.entries().unwrap().shared(&key.into()).unwrap().clone();
        for (key, is_shared) in [("a", true), ("b", false), ("c", true)] {
            assert_eq!(Arc::ptr_eq(&entry(&one, key), &entry(&other, key)), is_shared, "{key}");
        }
    }
}
