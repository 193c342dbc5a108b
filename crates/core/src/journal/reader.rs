//! Incremental reading of a book that is saved repeatedly.

use std::ops::Range;
use std::sync::Arc;

use indexmap::IndexMap;

use super::lore::{Lore, LoreEntry};
use crate::sillytavern::book::{Book, BookError};
use forklore_json::{JsText, Raw};

/// Parses only what changed since the last read: a page saves the whole book on every edit, and
/// parsing all of a large book would make saves too slow.
#[derive(Debug, Default)]
pub(super) struct Reader(Option<Reading>);

#[derive(Debug)]
struct Reading {
    text: Vec<u8>,
    /// The span of each entry's value, in text order.
    spans: Spans,
    lore: Arc<Lore>,
}

type Spans = IndexMap<JsText, Range<usize>>;

impl Reader {
    pub(super) fn read(&mut self, mut text: Vec<u8>) -> Result<Arc<Lore>, BookError> {
        const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();
        if text.starts_with(BYTE_ORDER_MARK) {
            text.drain(..BYTE_ORDER_MARK.len());
        }
        let before = self.0.as_ref();
        let (spans, lore) = match before.and_then(|before| before.changed_to(&text)) {
            Some(changed) => changed,
            None => Reading::of(&text, before)?,
        };
        self.0 = Some(Reading { text, spans, lore: Arc::clone(&lore) });
        Ok(lore)
    }
}

impl Reading {
    fn of(text: &[u8], before: Option<&Self>) -> Result<(Spans, Arc<Lore>), BookError> {
        let book = Book::read(text)?;
        let mut spans = Spans::new();
        let mut count = 0;
        let lore = Lore::read(book.root(), |key, value| {
            spans.insert(key.clone(), value.range());
            count += 1;
            before?.known_entry(key, value.bytes())
        })?;
        if count != spans.len() {
            // Some key occurs twice, and the last entry wins. Always read such a book in full.
            spans.clear();
        }
        Ok((spans, Arc::new(lore)))
    }

    /// Reads a text that differs only in a contiguous run of entries; `None` for any other.
    fn changed_to(&self, text: &[u8]) -> Option<(Spans, Arc<Lore>)> {
        let start = common_prefix_len(&self.text, text);
        let rest = common_suffix_len(&self.text[start..], &text[start..]);
        let end = self.text.len() - rest;
        if start == end && text.len() == self.text.len() {
            return Some((self.spans.clone(), Arc::clone(&self.lore)));
        }
        // The run spans from the last value that begins before the difference to the first one that
        // ends after it.
        let spans = self.spans.as_slice();
        let first = spans.partition_point(|_, span| span.start <= start).checked_sub(1)?;
        let last = spans.partition_point(|_, span| span.end < end);
        let (first_key, first_span) = self.spans.get_index(first)?;
        let (_, last_span) = self.spans.get_index(last)?;
        let after = self.text.len() - last_span.end;
        let run = text.get(first_span.start..text.len() - after)?;

        // The text before and after the run is unchanged. So if the run parses as members, the text
        // is a book, and these are its changed entries.
        let run_start = first_span.start;
        let opening = b"{\"\":";
        let members = [opening, run, b"}"].concat();
        let mut changed = Vec::new();
        for (at, member) in Raw::document(&members).ok()?.members().enumerate() {
            let key = if at == 0 { first_key.clone() } else { member.key.js_text()? };
            let span = member.value.range();
            let span = run_start + span.start - opening.len()..run_start + span.end - opening.len();
            let entry = match self.known_entry(&key, member.value.bytes()) {
                Some(entry) => entry,
                None => Arc::new(LoreEntry::of(member.value.json().ok()?)),
            };
            changed.push((key, span, entry));
        }

        let unchanged = |(key, span): (&JsText, &Range<usize>)| {
            Some((key.clone(), span.clone(), Arc::clone(self.lore.entries()?.shared(key)?)))
        };
        let shifted = |(key, span, entry): (JsText, Range<usize>, Arc<LoreEntry>)| {
            let from_end = |at: usize| text.len() - (self.text.len() - at);
            (key, from_end(span.start)..from_end(span.end), entry)
        };
        let count = first + changed.len() + spans.len() - (last + 1);
        let before = spans[..first].iter().filter_map(unchanged);
        let behind = spans[last + 1..].iter().filter_map(unchanged).map(shifted);
        let mut new_spans = Spans::with_capacity(count);
        let entries = before
            .chain(changed)
            .chain(behind)
            .map(|(key, span, entry)| {
                new_spans.insert(key.clone(), span);
                (key, entry)
            })
            .collect();
        // There are fewer if two entries now have the same key.
        (new_spans.len() == count).then(|| (new_spans, Arc::new(self.lore.with_entries(entries))))
    }

    /// The known entry with this key, if its text was the same.
    fn known_entry(&self, key: &JsText, text: &[u8]) -> Option<Arc<LoreEntry>> {
        let span = self.spans.get(key)?.clone();
        (self.text.get(span)? == text).then(|| self.lore.entries()?.shared(key).cloned()).flatten()
    }
}

/// Texts are compared in blocks, which is several times faster than byte by byte.
const BLOCK: usize = 1024;

fn common_prefix_len(one: &[u8], other: &[u8]) -> usize {
    let blocks = one.chunks_exact(BLOCK).zip(other.chunks_exact(BLOCK));
    let same = blocks.take_while(|(one, other)| one == other).count() * BLOCK;
    let rest = one[same..].iter().zip(&other[same..]);
    same + rest.take_while(|(one, other)| one == other).count()
}

fn common_suffix_len(one: &[u8], other: &[u8]) -> usize {
    let blocks = one.rchunks_exact(BLOCK).zip(other.rchunks_exact(BLOCK));
    let same = blocks.take_while(|(one, other)| one == other).count() * BLOCK;
    let rest = one[..one.len() - same].iter().rev().zip(other[..other.len() - same].iter().rev());
    same + rest.take_while(|(one, other)| one == other).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that reading each text after the previous one gives the same as reading it alone.
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
            let mut unchanged = keys.to_vec();
            unchanged.retain(|_| rng.u8(..6) > 0);
            let entries: Vec<String> = unchanged
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
