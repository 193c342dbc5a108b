//! Which line of a chat became which.

use std::ops::Range;

use rustc_hash::FxHashMap;
use similar::{Algorithm, DiffTag, capture_diff_slices};

use super::message::ChatLine;

/// The lines that differ, read, and which of them are the same messages.
pub(super) struct Aligned<'a> {
    pub(super) before: Vec<ChatLine<'a>>,
    pub(super) after: Vec<ChatLine<'a>>,
    /// Runs of lines that were, and what stands there now; whether they are the same messages.
    pub(super) runs: Vec<(bool, Range<usize>, Range<usize>)>,
    /// How many messages that were are none of those that are.
    pub(super) gone: usize,
    /// How many of them still are.
    pub(super) kept: usize,
    /// Whether all of them are there and no others, in another order.
    pub(super) is_reordered: bool,
}

impl<'a> Aligned<'a> {
    pub(super) fn of(before: &[&'a [u8]], after: &[&'a [u8]]) -> Self {
        let read = |lines: &[&'a [u8]]| lines.iter().map(|line| ChatLine::read(line)).collect();
        let (was, is): (Vec<ChatLine<'a>>, Vec<ChatLine<'a>>) = (read(before), read(after));
        let mut names = Names::default();
        let old: Vec<usize> =
            was.iter().zip(before).map(|(line, raw)| names.give(line, raw)).collect();
        let new: Vec<usize> =
            is.iter().zip(after).map(|(line, raw)| names.find(line, raw)).collect();

        let mut balance = vec![0_isize; names.given];
        old.iter().for_each(|name| balance[*name] += 1);
        new.iter().for_each(|name| balance[*name] -= 1);
        let messages = was.iter().zip(&old).filter(|(line, _)| line.message().is_some());
        let mut left = balance.clone();
        let gone = messages
            .clone()
            .filter(|(_, name)| {
                left[**name] -= 1;
                left[**name] >= 0
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

/// A number for each message, the same for the same message.
///
/// A message is known by its author and the date of its first swipe, which stay through edits and
/// swipes; where that was lost, by its first text, which stays when someone is renamed. Dates can be
/// as coarse as minutes, so a number may be given twice: order settles the rest.
#[derive(Default)]
struct Names<'a> {
    given: usize,
    by_date: FxHashMap<(Vec<u8>, &'a [u8]), usize>,
    by_text: FxHashMap<Vec<u8>, usize>,
    by_bytes: FxHashMap<&'a [u8], usize>,
}

impl<'a> Names<'a> {
    fn fresh(&mut self) -> usize {
        self.given += 1;
        self.given - 1
    }

    fn give(&mut self, line: &ChatLine<'a>, raw: &'a [u8]) -> usize {
        let Some(message) = line.message() else { return self.of_bytes(raw) };
        let date = dated(line);
        let known = match &date {
            Some(date) => self.by_date.get(date),
            None => self.by_text.get(message.opening.as_ref()),
        };
        let name = known.copied().unwrap_or_else(|| self.fresh());
        if let Some(date) = date {
            self.by_date.insert(date, name);
        }
        if !message.opening.is_empty() {
            self.by_text.entry(message.opening.to_vec()).or_insert(name);
        }
        name
    }

    fn find(&mut self, line: &ChatLine<'a>, raw: &'a [u8]) -> usize {
        let Some(message) = line.message() else { return self.of_bytes(raw) };
        let by_date = dated(line).and_then(|date| self.by_date.get(&date).copied());
        by_date
            .or_else(|| self.by_text.get(message.opening.as_ref()).copied())
            .unwrap_or_else(|| self.fresh())
    }

    fn of_bytes(&mut self, raw: &'a [u8]) -> usize {
        if let Some(name) = self.by_bytes.get(raw) {
            return *name;
        }
        let name = self.fresh();
        self.by_bytes.insert(raw, name);
        name
    }
}

fn dated<'a>(line: &ChatLine<'a>) -> Option<(Vec<u8>, &'a [u8])> {
    let message = line.message()?;
    let author = message.author.map_or(&[][..], |author| author.bytes());
    Some((author.to_vec(), message.began?))
}
