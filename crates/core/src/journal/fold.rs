//! A chat's records, and the states that they fold to.

use std::ops::ControlFlow;

use rustc_hash::FxHashMap;

use super::payload::Budget;
use super::record::{FIELD, Record, RecordChange};
use super::state::RecordedState;
use super::testimony::{Arrival, RecordId};
use crate::sillytavern::chat::Chat;
use forklore_json::JsonKind;

/// A state from the journal, observed while `message` was the last message.
#[derive(Clone, Debug, PartialEq)]
pub struct Folded {
    pub message: usize,
    pub state: RecordedState,
}

/// The records of a chat's messages, and which of them are still where they were made.
#[derive(Clone, Debug, Default)]
pub struct Records {
    records: Vec<Option<Record>>,
    is_in_order: Vec<bool>,
}

/// The newest state at or before message `m`.
pub fn fold(chat: &Chat<'_>, m: usize) -> Option<Folded> {
    Records::of(chat).newest(m)
}

impl Records {
    pub fn of(chat: &Chat<'_>) -> Self {
        let budget = Budget::default();
        let mut records = vec![None; chat.len()];
        for message in chat.messages_with(FIELD) {
            records[message] = record_at(chat, message, &budget);
        }
        records.into_iter().collect()
    }

    pub fn len(&self) -> usize {
        self.records.len()
    }

    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// The highest arrival number in any record.
    pub(super) fn newest_arrival(&self) -> u64 {
        let uids = self.records.iter().flatten().filter_map(|record| record.uid.as_ref());
        uids.map(|uid| uid.number).max().unwrap_or(0)
    }

    /// The messages whose record was moved or copied there.
    pub(super) fn moved(&self) -> impl Iterator<Item = usize> {
        self.is_in_order.iter().enumerate().filter(|(_, is)| !**is).map(|(message, _)| message)
    }

    pub fn get(&self, message: usize) -> Option<&Record> {
        self.records.get(message)?.as_ref()
    }

    /// The testimony of message `m + 1` about its arrival, if it arrived directly after `m`.
    pub fn testimony(&self, m: usize) -> Option<&Arrival> {
        let (before, next) = (self.get(m)?, self.get(m + 1)?);
        let arrival = next.arrival.as_ref()?;
        let is_in_order = self.is_in_order[m] && self.is_in_order[m + 1];
        (is_in_order && before.uid.as_ref() == Some(&arrival.after)).then_some(arrival)
    }

    /// The newest state at or before message `m` that a record in its place proves.
    pub fn newest(&self, m: usize) -> Option<Folded> {
        self.newest_of(m, |_| true)
    }

    /// Like [`newest`](Self::newest), but skips records whose book was only assumed.
    pub fn newest_with_book(&self, m: usize) -> Option<Folded> {
        self.newest_of(m, |record| !record.assumed)
    }

    fn newest_of(&self, m: usize, counts: impl Fn(&Record) -> bool) -> Option<Folded> {
        let counts = |message| self.is_in_order[message] && self.get(message).is_some_and(&counts);
        let mut end = m.min(self.records.len().checked_sub(1)?);
        loop {
            let start = self.whole_at_or_before(end)?;
            let mut cursor = Cursor::default();
            (start..=end).for_each(|index| cursor.step(index, self.get(index)));
            if let Some(folded) = cursor.known()
                && counts(folded.message)
                && folded.state.has_id(&cursor.id)
            {
                return Some(folded);
            }
            // The last record does not match its id, or was moved. Fall back to the last one that
            // is valid.
            let mut proved = None;
            self.walk(start, end, |message, state, id| {
                if counts(message) && state.has_id(id) {
                    proved = Some(Folded { message, state: state.clone() });
                }
                ControlFlow::Continue(())
            });
            if proved.is_some() {
                return proved;
            }
            end = start.checked_sub(1)?;
        }
    }

    /// Visits each recorded state together with the id in its record, from the newest whole record
    /// at or before `first` up to message `last`.
    pub fn walk(
        &self,
        first: usize,
        last: usize,
        mut see: impl FnMut(usize, &RecordedState, &str) -> ControlFlow<()>,
    ) {
        let Some(start) = self.whole_at_or_before(first.min(self.records.len().saturating_sub(1)))
        else {
            return;
        };
        let mut cursor = Cursor::default();
        for index in start..self.records.len().min(last.saturating_add(1)) {
            cursor.step(index, self.get(index));
            if let (Some(state), true) = (&cursor.state, cursor.message == index)
                && see(index, state, &cursor.id).is_break()
            {
                return;
            }
        }
    }

    /// The state that a record after message `m` can build on, and its id. `None` if that record
    /// has to contain the whole state.
    pub fn tip(&self, m: usize) -> Option<(String, RecordedState)> {
        let start = self.whole_at_or_before(m)?;
        let mut cursor = Cursor::default();
        (start..=m).for_each(|index| cursor.step(index, self.get(index)));
        cursor.tip()
    }

    /// The newest whole record at or before `m`. Searches backwards, so that older records need not
    /// be unpacked.
    fn whole_at_or_before(&self, m: usize) -> Option<usize> {
        let is_whole = |record: &Record| match &record.change {
            RecordChange::Whole { whole, .. } => whole.state().is_some(),
            RecordChange::Nothing | RecordChange::Delta { .. } | RecordChange::Digest => false,
        };
        (0..=m).rev().find(|index| self.get(*index).is_some_and(is_whole))
    }
}

/// Detects moved and copied records: arrivals are numbered, and each record counts the messages
/// without a record before it. An inserted message has the number of the message before it.
impl FromIterator<Option<Record>> for Records {
    fn from_iter<I: IntoIterator<Item = Option<Record>>>(records: I) -> Self {
        let records: Vec<Option<Record>> = records.into_iter().collect();
        let uids: Vec<Option<&RecordId>> =
            records.iter().map(|record| record.as_ref()?.uid.as_ref()).collect();
        let mut count: FxHashMap<&RecordId, usize> = FxHashMap::default();
        uids.iter().flatten().for_each(|uid| *count.entry(*uid).or_default() += 1);
        let mut highest = 0;
        let mut is_in_order: Vec<bool> = uids
            .iter()
            .map(|uid| {
                uid.is_none_or(|uid| {
                    let follows = uid.number >= highest && count[uid] == 1;
                    highest = highest.max(uid.number);
                    follows
                })
            })
            .collect();
        let mut lowest = u64::MAX;
        for (uid, is_in_order) in uids.iter().zip(&mut is_in_order).rev() {
            if let Some(uid) = uid {
                *is_in_order &= uid.number <= lowest;
                lowest = lowest.min(uid.number);
            }
        }
        let mut gap = 0;
        for (record, is_in_order) in records.iter().zip(&mut is_in_order) {
            *is_in_order &= record.as_ref().is_none_or(|r| r.uid.is_none() || r.gap == gap);
            gap = if record.is_some() { 0 } else { gap + 1 };
        }
        Self { is_in_order, records }
    }
}

/// The record a message carries.
fn record_at(chat: &Chat<'_>, message: usize, budget: &Budget) -> Option<Record> {
    let field = chat.message(message)?.get(FIELD)?;
    if field.kind() != JsonKind::Object {
        return None;
    }
    Record::read(&field.json().ok()?, budget)
}

#[derive(Clone, Default)]
struct Cursor {
    /// The last state reached by an unbroken chain. `id` and `message` are those of its record.
    state: Option<RecordedState>,
    id: String,
    message: usize,
    /// A record did not match the state before it, so nothing is known until the next whole record.
    broken: bool,
}

impl Cursor {
    fn step(&mut self, index: usize, record: Option<&Record>) {
        let Some(record) = record else { return };
        match &record.change {
            RecordChange::Whole { whole, delta } => {
                // A record that cannot be unpacked is skipped, as if the message had none.
                let Some(mut state) = whole.state().cloned() else { return };
                if delta.apply(&mut state).is_none() {
                    return;
                }
                self.state = Some(state);
                self.broken = false;
            }
            RecordChange::Delta { after, delta } if !self.broken && *after == self.id => {
                let applied = self.state.as_mut().and_then(|state| delta.apply(state));
                if applied.is_none() {
                    self.broken = true;
                    return;
                }
            }
            RecordChange::Nothing if !self.broken && record.id == self.id => {}
            RecordChange::Nothing | RecordChange::Delta { .. } | RecordChange::Digest => {
                self.broken = true;
                return;
            }
        }
        self.id.clone_from(&record.id);
        self.message = index;
    }

    fn known(&self) -> Option<Folded> {
        Some(Folded { message: self.message, state: self.state.clone()? })
    }

    /// The current state, if the chain is unbroken and the state matches its id.
    fn tip(&self) -> Option<(String, RecordedState)> {
        let state = self.state.as_ref().filter(|_| !self.broken)?;
        state.has_id(&self.id).then(|| (self.id.clone(), state.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::super::record::{Limits, merged, record};
    use super::*;
    use crate::sillytavern::chat::ChatKind;
    use forklore_json::Json;

    fn state(book: &str) -> RecordedState {
        let book = Json::parse(book.as_bytes()).unwrap();
        RecordedState::of(&Json::object([("variables", Json::Null)]), Some(("B", &book)))
    }

    /// A chat whose messages carry these records.
    fn chat(records: &[Option<Record>]) -> Vec<u8> {
        let mut text = br#"{"chat_metadata":{}}"#.to_vec();
        for record in records {
            let message = match record {
                Some(record) => Json::object([("mes", Json::from("x")), (FIELD, record.to_json())]),
                None => Json::object([("mes", "x".into())]),
            };
            text.push(b'\n');
            text.extend(message.stringify());
        }
        text
    }

    fn history(books: &[&str]) -> (Vec<RecordedState>, Vec<Record>) {
        let states: Vec<RecordedState> = books.iter().map(|book| state(book)).collect();
        let mut before: Option<(String, RecordedState)> = None;
        let records = states
            .iter()
            .map(|now| {
                let previous = before.as_ref().map(|(id, state)| (id.as_str(), state));
                let record = record(previous, now, Limits::default());
                before = Some((record.id.clone(), now.clone()));
                record
            })
            .collect();
        (states, records)
    }

    const BOOKS: [&str; 4] = [
        r#"{"entries":{"0":{"uid":0,"content":"a"}}}"#,
        r#"{"entries":{"0":{"uid":0,"content":"a"}}}"#,
        r#"{"entries":{"0":{"uid":0,"content":"b"},"1763632438061":{"uid":1}}}"#,
        r#"{"entries":{"1763632438061":{"uid":1}},"name":"n"}"#,
    ];

    #[test]
    fn the_fold_at_each_message_is_the_state_then() {
        let (states, records) = history(&BOOKS);
        let text = chat(&records.into_iter().map(Some).collect::<Vec<_>>());
        let chat = Chat::read(&text, ChatKind::Solo);
        for (message, state) in states.into_iter().enumerate() {
            assert_eq!(fold(&chat, message), Some(Folded { message, state }));
        }
    }

    #[test]
    fn a_book_under_another_name_is_not_written_again() {
        let (states, records) = history(&BOOKS[..1]);
        let mut renamed = states[0].clone();
        renamed.book.as_mut().unwrap().name = "The child's".to_owned();
        let second =
            record(Some((records[0].id.as_str(), &states[0])), &renamed, Limits::default());
        assert!(!second.is_whole());
        let joined = merged(&records[0], &second).unwrap();
        let text = chat(&[Some(records[0].clone()), Some(second)]);
        let folded = fold(&Chat::read(&text, ChatKind::Solo), 1).unwrap();
        assert_eq!(folded, Folded { message: 1, state: renamed.clone() });
        let text = chat(&[Some(joined)]);
        assert_eq!(fold(&Chat::read(&text, ChatKind::Solo), 0).unwrap().state, renamed);
    }

    #[test]
    fn a_message_without_a_record_is_not_claimed() {
        let (_, records) = history(&BOOKS);
        let text = chat(&[Some(records[0].clone()), None, None]);
        let chat = Chat::read(&text, ChatKind::Solo);
        assert_eq!(fold(&chat, 2).unwrap().message, 0);
    }

    #[test]
    fn a_record_that_was_moved_past_messages_without_one_claims_nothing() {
        let (_, records) = history(&BOOKS);
        let mut record = records[0].clone().with(RecordId::new(1, "x"), None);
        record.gap = 1;
        let at = |places: [Option<&Record>; 3]| {
            let records: Records = places.into_iter().map(|record| record.cloned()).collect();
            records.newest(2).map(|folded| folded.message)
        };
        assert_eq!(at([None, Some(&record), None]), Some(1));
        assert_eq!(at([Some(&record), None, None]), None);
        assert_eq!(at([None, None, Some(&record)]), None);
    }

    #[test]
    fn a_lost_record_breaks_the_chain_until_the_next_whole_one() {
        let (states, records) = history(&BOOKS);
        let whole = record(None, &states[3], Limits::default());
        let text = chat(&[
            Some(records[0].clone()),
            Some(records[3].clone()),
            Some(records[1].clone()),
            Some(whole),
        ]);
        let chat = Chat::read(&text, ChatKind::Solo);
        assert_eq!(fold(&chat, 1).unwrap().message, 0);
        assert_eq!(fold(&chat, 2).unwrap().message, 0);
        assert_eq!(fold(&chat, 3).unwrap().message, 3);
    }

    #[test]
    fn a_record_that_lies_is_not_believed() {
        let (_, mut records) = history(&BOOKS);
        records[2].id = "0000000000000000".into();
        let text = chat(&records.into_iter().map(Some).collect::<Vec<_>>());
        let chat = Chat::read(&text, ChatKind::Solo);
        assert_eq!(fold(&chat, 2).unwrap().message, 1);
    }

    #[test]
    fn two_records_joined_say_what_both_said() {
        let (states, records) = history(&BOOKS);
        let joined = merged(&merged(&records[1], &records[2]).unwrap(), &records[3]).unwrap();
        let text = chat(&[Some(records[0].clone()), Some(joined)]);
        let chat = Chat::read(&text, ChatKind::Solo);
        assert_eq!(fold(&chat, 1).unwrap().state, states[3]);
    }

    #[test]
    fn a_book_too_large_is_known_by_its_digest_only() {
        let (states, records) = history(&BOOKS);
        let before = Some((records[1].id.as_str(), &states[1]));
        let digest = record(before, &states[2], Limits { largest_book: 10 });
        let text = chat(&[Some(records[0].clone()), Some(digest)]);
        let chat = Chat::read(&text, ChatKind::Solo);
        assert_eq!(fold(&chat, 1).unwrap().message, 0);
    }
}
