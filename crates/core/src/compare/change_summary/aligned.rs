//! Matches the lines of two versions of a chat.

use std::ops::Range;

use rustc_hash::FxHashMap;
use similar::{Algorithm, DiffTag, capture_diff_slices};

use super::message::ChatLine;

/// The parsed lines that differ, and which of them are the same messages.
pub(super) struct Aligned<'a> {
    pub(super) before: Vec<ChatLine<'a>>,
    pub(super) after: Vec<ChatLine<'a>>,
    /// Ranges of old lines and the new lines in their place, with whether they are the same
    /// messages.
    pub(super) runs: Vec<(bool, Range<usize>, Range<usize>)>,
    /// The number of old messages that no longer exist.
    pub(super) gone: usize,
    /// The number of old messages that still exist.
    pub(super) kept: usize,
    /// Whether the messages are the same ones in a different order.
    pub(super) is_reordered: bool,
}

impl<'a> Aligned<'a> {
    pub(super) fn of(before: &[&'a [u8]], after: &[&'a [u8]]) -> Self {
        let read = |lines: &[&'a [u8]]| lines.iter().map(|line| ChatLine::read(line)).collect();
        let (was, is): (Vec<ChatLine<'a>>, Vec<ChatLine<'a>>) = (read(before), read(after));
        let mut ids = MessageIds::default();
        let old: Vec<usize> =
            was.iter().zip(before).map(|(line, raw)| ids.assign(line, raw)).collect();
        let new: Vec<usize> = is.iter().zip(after).map(|(line, raw)| ids.find(line, raw)).collect();

        let mut balance = vec![0_isize; ids.count];
        old.iter().for_each(|id| balance[*id] += 1);
        new.iter().for_each(|id| balance[*id] -= 1);
        let messages = was.iter().zip(&old).filter(|(line, _)| line.message().is_some());
        let mut left = balance.clone();
        let gone = messages
            .clone()
            .filter(|(_, id)| {
                left[**id] -= 1;
                left[**id] >= 0
            })
            .count();
        let runs = capture_diff_slices(Algorithm::Myers, &old, &new);
        Self {
            gone,
            kept: messages.count() - gone,
            is_reordered: old != new && balance.iter().all(|more| *more == 0),
            runs: runs
                .into_iter()
                .map(|run| {
                    let (tag, was, is) = run.as_tag_tuple();
                    (tag == DiffTag::Equal, was, is)
                })
                .collect(),
            before: was,
            after: is,
        }
    }
}

/// Assigns each message a number that identifies it in both versions.
///
/// A message is identified by its author and the date of its first swipe, which edits and swipes do
/// not change. If that fails, it is identified by its first text, which survives a renamed author.
/// Dates can be as coarse as minutes, so two messages may share a number: the order of the lines
/// tells them apart.
#[derive(Default)]
struct MessageIds<'a> {
    count: usize,
    by_date: FxHashMap<(Vec<u8>, &'a [u8]), usize>,
    by_text: FxHashMap<Vec<u8>, usize>,
    by_bytes: FxHashMap<&'a [u8], usize>,
}

impl<'a> MessageIds<'a> {
    fn next_id(&mut self) -> usize {
        self.count += 1;
        self.count - 1
    }

    fn assign(&mut self, line: &ChatLine<'a>, raw: &'a [u8]) -> usize {
        let Some(message) = line.message() else { return self.id_of_bytes(raw) };
        let date = author_and_date(line);
        let known = match &date {
            Some(date) => self.by_date.get(date),
            None => self.by_text.get(message.opening.as_ref()),
        };
        let id = known.copied().unwrap_or_else(|| self.next_id());
        if let Some(date) = date {
            self.by_date.insert(date, id);
        }
        if !message.opening.is_empty() {
            self.by_text.entry(message.opening.to_vec()).or_insert(id);
        }
        id
    }

    fn find(&mut self, line: &ChatLine<'a>, raw: &'a [u8]) -> usize {
        let Some(message) = line.message() else { return self.id_of_bytes(raw) };
        let by_date = author_and_date(line).and_then(|date| self.by_date.get(&date).copied());
        by_date
            .or_else(|| self.by_text.get(message.opening.as_ref()).copied())
            .unwrap_or_else(|| self.next_id())
    }

    fn id_of_bytes(&mut self, raw: &'a [u8]) -> usize {
        if let Some(id) = self.by_bytes.get(raw) {
            return *id;
        }
        let id = self.next_id();
        self.by_bytes.insert(raw, id);
        id
    }
}

fn author_and_date<'a>(line: &ChatLine<'a>) -> Option<(Vec<u8>, &'a [u8])> {
    let message = line.message()?;
    let author = message.author.map_or(&[][..], |author| author.bytes());
    Some((author.to_vec(), message.first_sent?))
}
