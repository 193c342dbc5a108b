//! Which record belongs to which message after messages were deleted, inserted, moved or replaced.
//!
//! Records belong to places in the chat, not to messages: each says what changed while its place
//! was the last one. After an edit, the records are reassigned so that each still follows the one
//! before it.
//!
//! - The record of a deleted message is merged into the one before it or, at the start of the chat,
//!   into the next one.
//! - An inserted message changed nothing, and arrived together with the next one.
//! - The order of the messages does not matter: where two were swapped, the records stay.
//! - Where the order of several edits cannot be reconstructed, the records keep their content but
//!   claim nothing about the state in which their messages arrived.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::carried::{CarriedRecord, Slot, between, joined};

/// The messages of a chat as numbers that identify them, and the record of each.
#[derive(Clone, Copy)]
pub(super) struct Places<'a> {
    pub(super) messages: &'a [u32],
    pub(super) records: &'a [Slot],
}

impl Places<'_> {
    fn len(&self) -> usize {
        self.messages.len()
    }

    fn record(&self, place: usize) -> Slot {
        self.records.get(place).cloned().flatten()
    }

    fn uid(&self, place: usize) -> Option<&str> {
        self.records.get(place)?.as_ref()?.uid()
    }

    /// The first place of each message.
    fn first_places(&self) -> FxHashMap<u32, usize> {
        self.messages.iter().enumerate().rev().map(|(place, message)| (*message, place)).collect()
    }

    fn last_record(&self) -> Slot {
        self.record(self.len().wrapping_sub(1))
    }
}

/// Makes the uids of inserted messages.
#[derive(Debug)]
pub(super) struct InsertedUids {
    random: String,
    count: u64,
}

impl InsertedUids {
    pub(super) fn new(random: &str) -> Self {
        Self { random: random.to_owned(), count: 0 }
    }

    pub(super) fn random(&self) -> &str {
        &self.random
    }

    fn next(&mut self) -> String {
        self.count += 1;
        format!("{}.{}", self.random, self.count)
    }
}

/// The records in their new places, and what the writer must know about the last one.
#[derive(Debug, Default)]
pub(super) struct Placement {
    /// Messages appended at the end are not among them.
    pub(super) records: Vec<Slot>,
    /// For each message deleted from the end, the record of the one before it.
    pub(super) retreats: Vec<Slot>,
    /// What is left of the records deleted from the start.
    pub(super) inherited: Slot,
    /// The last record now says something different about its message's arrival.
    pub(super) is_amended: bool,
    /// It is unknown how the last message got to its place.
    pub(super) is_unsure: bool,
}

/// Reassigns the records of `before`, the chat as it was, to the places of `chat`, whose messages
/// carry `chat.records`. `None` if this is a different chat.
pub(super) fn reassigned(
    before: Places<'_>,
    chat: Places<'_>,
    uids: &mut InsertedUids,
) -> Option<Placement> {
    if before.messages.is_empty() {
        return None;
    }
    if chat.messages.starts_with(before.messages) {
        return Some(Placement { records: before.records.to_vec(), ..Placement::default() });
    }
    let remaining = Remaining::of(before, chat);
    if remaining.now.is_empty() {
        return None;
    }
    let placement = Reassignment::new(before, chat, uids).run(&remaining);
    let is_ambiguous = remaining.is_ambiguous(before, chat);
    Some(if is_ambiguous { placement.without_claims(before, chat) } else { placement })
}

/// The places of the messages that are still there, in order: now, and before. A message counts as
/// the same if it has the same number, or is a copy of a deleted one that carries its record.
struct Remaining {
    now: Vec<usize>,
    before: Vec<usize>,
}

impl Remaining {
    fn of(before: Places<'_>, chat: Places<'_>) -> Self {
        let mut gone = before.first_places();
        let mut is_there: Vec<bool> =
            chat.messages.iter().map(|message| gone.remove(message).is_some()).collect();
        let mut originals: FxHashMap<&str, usize> = FxHashMap::default();
        for (place, message) in before.messages.iter().enumerate() {
            if let Some(uid) = before.uid(place).filter(|_| gone.contains_key(message)) {
                originals.insert(uid, place);
            }
        }
        for (place, is_there) in is_there.iter_mut().enumerate().filter(|(_, is)| !**is) {
            let original = chat.uid(place).and_then(|uid| originals.remove(uid));
            *is_there =
                original.is_some_and(|place| gone.remove(&before.messages[place]).is_some());
        }
        let places = |is_kept: &dyn Fn(usize) -> bool, count| {
            (0..count).filter(|place| is_kept(*place)).collect()
        };
        Self {
            now: places(&|place| is_there[place], chat.len()),
            before: places(&|place| !gone.contains_key(&before.messages[place]), before.len()),
        }
    }

    fn pairs(&self) -> impl Iterator<Item = (usize, usize)> {
        self.now.iter().copied().zip(self.before.iter().copied())
    }

    /// Whether messages were deleted, inserted or moved, and more than one of these since the last
    /// call: the order cannot be reconstructed. A message that was appended and then moved looks
    /// like an inserted one.
    fn is_ambiguous(&self, before: Places<'_>, chat: Places<'_>) -> bool {
        let has_gone = self.now.len() < before.len();
        let has_come = self.now.len() < chat.len();
        let is_replaced_in_place = chat.len() == before.len()
            && chat.messages.last() == before.messages.last()
            && self.pairs().all(|(place, was)| place == was);
        let is_elsewhere = |(place, was): (usize, usize)| {
            chat.messages[place] != before.messages[was] && chat.uid(place) != before.uid(was)
        };
        (has_gone && has_come && !is_replaced_in_place)
            || ((has_gone || has_come) && self.pairs().any(is_elsewhere))
    }
}

impl Placement {
    /// From the first message on that has moved, the records keep their content but claim nothing
    /// about arrivals.
    fn without_claims(mut self, before: Places<'_>, chat: Places<'_>) -> Self {
        let stays = |(one, other): &(&u32, &u32)| one == other;
        let first = chat.messages.iter().zip(before.messages).take_while(stays).count();
        for (place, slot) in self.records.iter_mut().enumerate().skip(first) {
            if let Some(record) = slot {
                let claimless = record.without_arrival();
                let is_last = place + 1 == chat.len();
                *slot = Some(Arc::new(if is_last { claimless } else { claimless.moved() }));
            }
        }
        Self { is_unsure: true, ..self }
    }
}

/// Walks through both chats at once.
struct Reassignment<'a> {
    before: Places<'a>,
    chat: Places<'a>,
    uids: &'a mut InsertedUids,
    /// The first place of each message before.
    places: FxHashMap<u32, usize>,
    /// The next place to look at, in `before` and in `chat`.
    from: usize,
    to: usize,
    records: Vec<Slot>,
    /// The merged records of messages deleted at the very start.
    held: Slot,
    is_amended: bool,
}

impl<'a> Reassignment<'a> {
    fn new(before: Places<'a>, chat: Places<'a>, uids: &'a mut InsertedUids) -> Self {
        let places = before.first_places();
        let records = Vec::with_capacity(chat.len());
        let (from, to, held, is_amended) = (0, 0, None, false);
        Self { before, chat, uids, places, from, to, records, held, is_amended }
    }

    fn run(mut self, remaining: &Remaining) -> Placement {
        for (place, was) in remaining.pairs() {
            let inserted = place - self.to;
            let is_replaced = self.from < was && inserted > 0;
            if is_replaced {
                self.replace(was, inserted);
            }
            (self.from..was).for_each(|gone| self.delete(gone));
            self.keep(was, if is_replaced { 0 } else { inserted });
            self.withdraw_claims(place, was);
            (self.from, self.to) = (was + 1, place + 1);
        }
        self.finish()
    }

    /// The end of the chat. Only a copy takes its original's place there; any other message is new.
    fn finish(mut self) -> Placement {
        while self.from < self.before.len() && self.is_copy(self.to, self.from) {
            self.keep(self.from, 0);
            (self.from, self.to) = (self.from + 1, self.to + 1);
        }
        let mut retreats = Vec::new();
        if self.from < self.before.len() {
            let shortened = self.from..self.before.len() - 1;
            retreats.extend(shortened.rev().map(|place| self.before.record(place)));
            if self.to < self.chat.len() {
                self.replace_by(self.chat.len() - self.to, self.before.last_record());
                self.is_amended = true;
            } else {
                retreats.push(self.records.last().cloned().flatten());
            }
        }
        let Self { records, held: inherited, is_amended, .. } = self;
        Placement { records, retreats, inherited, is_amended, is_unsure: false }
    }

    /// The message at `place` before is still there, and `inserted` messages were put before it.
    /// The writer takes care of the last message's record.
    fn keep(&mut self, place: usize, inserted: usize) {
        let is_last = place + 1 == self.before.len();
        let mut record = self.before.record(place);
        for _ in 0..inserted {
            let inserted = match (self.records.last(), &record) {
                (Some(Some(earlier)), Some(later)) => between(earlier, later, &self.uids.next()),
                _ => None,
            };
            self.is_amended |= is_last && inserted.is_some();
            let (between, later) = inserted.map_or((None, record), |(b, l)| (Some(b), Some(l)));
            self.records.push(between);
            record = later;
        }
        let record = if is_last { record } else { self.following(record) };
        self.records.push(record);
    }

    /// The record, after those that were deleted before it at the start.
    fn following(&mut self, record: Slot) -> Slot {
        let record = record?;
        let held = self.held.take();
        Some(held.and_then(|held| joined(&held, &record)).unwrap_or(record))
    }

    /// The message at `place` before was deleted.
    fn delete(&mut self, place: usize) {
        let record = self.before.record(place);
        let Some(record) = self.following(record) else { return };
        match self.records.last_mut() {
            Some(slot) => {
                *slot = match slot.take().filter(|earlier| earlier.has_id()) {
                    Some(earlier) => joined(&earlier, &record).or(Some(earlier)),
                    None => Some(record),
                };
            }
            None => self.held = Some(record),
        }
    }

    /// Messages up to `end` were deleted where `count` others were inserted, in an unknown order.
    fn replace(&mut self, end: usize, count: usize) {
        let gone = (self.from..end).filter_map(|place| self.before.record(place));
        let gone = gone.reduce(|earlier, later| joined(&earlier, &later).unwrap_or(later));
        self.replace_by(count, gone);
        self.from = end;
    }

    /// The last inserted message gets the last deleted one's record, without a claim about the
    /// state at its arrival.
    fn replace_by(&mut self, count: usize, gone: Slot) {
        self.records.extend((1..count).map(|_| None));
        self.records.push(gone.map(|gone| Arc::new(gone.without_arrival())));
    }

    /// Another message may be where the one with this record was. If it is a copy whose original
    /// was deleted, or had no record, then the record was made before that message arrived, and
    /// says nothing about it.
    fn withdraw_claims(&mut self, place: usize, was: usize) {
        let message = self.chat.messages[place];
        if message == self.before.messages[was] {
            return;
        }
        let old_place = self.places.get(&message);
        if old_place.is_some_and(|old| self.before.record(*old).is_some()) {
            return;
        }
        let Some(Some(record)) = self.records.last_mut() else { return };
        if record.uid().is_some() {
            let claimless = record.without_arrival();
            *record = Arc::new(if old_place.is_some() { claimless.moved() } else { claimless });
            self.is_amended |= was + 1 == self.before.len();
        }
    }

    /// Whether the message now at `place` carries the very record that was at `was`.
    fn is_copy(&self, place: usize, was: usize) -> bool {
        let copied = self.chat.record(place).zip(self.before.record(was));
        copied.is_some_and(|(copy, original)| copy.text() == original.text())
    }
}

/// Sets the gap of records that were followed all along: the number of messages without a record
/// directly before them.
pub(super) fn set_gaps(records: &mut [Slot]) {
    let mut gap = 0;
    for slot in records {
        let Some(record) = slot else {
            gap += 1;
            continue;
        };
        if let Some(counted) = CarriedRecord::with_gap(record, gap) {
            *slot = Some(Arc::new(counted));
        }
        gap = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forklore_json::{Json, Raw};

    fn slot(text: &str) -> Slot {
        CarriedRecord::read(Raw::document(text.as_bytes()).unwrap()).map(Arc::new)
    }

    /// A record that says nothing but who it is, and in which state its message arrived.
    fn record(letter: char) -> Slot {
        let number = u32::from(letter) - u32::from('A') + 1;
        slot(&format!(
            r#"{{"v":2,"id":"{letter}.{letter}","uid":"{number}-x","came":{{"after":"{}-x"}},"whole":{{"book":null,"metadata":{{}}}}}}"#,
            number - 1
        ))
    }

    fn records(letters: &str) -> Vec<Slot> {
        letters.chars().map(|letter| (letter != '.').then(|| record(letter)).flatten()).collect()
    }

    /// Each record's letter; small if it claims nothing about an arrival, `!` if it was moved.
    fn letters(records: &[Slot]) -> String {
        let letter = |slot: &Slot| {
            let Some(json) = slot.as_ref().map(|record| record.json()) else { return ".".into() };
            let letter = json.get("id").unwrap().as_str().unwrap()[..1].to_owned();
            let letter = if json.get("came").is_some() { letter } else { letter.to_lowercase() };
            if json.get("gap").is_some() { letter + "!" } else { letter }
        };
        records.iter().map(letter).collect()
    }

    fn placed_with(before: &str, chat: &str, carried: Vec<Slot>) -> Option<Placement> {
        let numbers = |text: &str| text.chars().map(u32::from).collect::<Vec<_>>();
        let messages = before.to_lowercase();
        let messages: String = messages
            .chars()
            .zip('a'..)
            .map(|(c, place)| if c == '.' { place } else { c })
            .collect();
        let before = Places { messages: &numbers(&messages), records: &records(before) };
        let chat = Places { messages: &numbers(chat), records: &carried };
        reassigned(before, chat, &mut InsertedUids::new("x"))
    }

    /// The records of `before`, whose messages are the same letters but small, in `chat`.
    fn placed(before: &str, chat: &str) -> Option<Placement> {
        let upper = |letter: char| letter.to_ascii_uppercase();
        let carried = chat.chars().map(|c| if before.contains(upper(c)) { upper(c) } else { '.' });
        placed_with(before, chat, records(&carried.collect::<String>()))
    }

    #[track_caller]
    fn assert_placed(before: &str, chat: &str, expected: &str) {
        let placement = placed(before, chat).unwrap();
        assert_eq!(letters(&placement.records), expected, "{before} to {chat}");
    }

    #[test]
    fn records_stay_in_their_places_when_messages_are_moved_or_appended() {
        assert_placed("ABC", "abc", "ABC");
        assert_placed("ABC", "abcde", "ABC");
        assert_placed("ABC", "cab", "ABC");
        assert_placed("A.C", "abcd", "A.C");
    }

    #[test]
    fn a_deleted_messages_record_goes_to_the_one_before_or_to_the_next() {
        assert_placed("ABCD", "abd", "ACD");
        assert_placed("ABCD", "ad", "CD");
        assert_placed("A.CD", "abd", "ACD");
        assert_placed("ABCD", "bcd", "BCD");
        let placement = placed("AB", "b").unwrap();
        assert_eq!(letters(&[placement.inherited]), "A");
    }

    #[test]
    fn the_writer_goes_back_over_what_was_deleted_from_the_end() {
        let placement = placed("ABCD", "ab").unwrap();
        assert_eq!(letters(&placement.records), "AB");
        assert_eq!(letters(&placement.retreats), "CB");
        assert!(!placement.is_amended && !placement.is_unsure);
    }

    #[test]
    fn a_message_that_was_replaced_claims_nothing() {
        assert_placed("ABC", "axc", "AbC");
        let placement = placed("ABC", "abx").unwrap();
        assert_eq!(letters(&placement.records), "ABc");
        assert!(placement.is_amended && placement.is_unsure);
    }

    #[test]
    fn where_several_things_happened_at_once_nothing_is_claimed() {
        assert_placed("ABCDE", "axcbe", "A.b!d!e");
        assert_placed("ABCD", "adcx", "Bc!d!");
        assert_placed("ABCD", "abxd", "ABcD");
    }

    #[test]
    fn a_message_without_a_record_does_not_get_the_claim_of_another() {
        assert_placed("AB.D", "acbd", "Ab!.D");
    }

    #[test]
    fn a_copy_with_the_record_of_a_deleted_message_takes_its_place() {
        let placement = placed_with("ABC", "axc", records("ABC")).unwrap();
        assert_eq!(letters(&placement.records), "AbC");
        assert!(!placement.is_unsure);
        // At the end, where a message is new otherwise, it has to be the same record.
        let placement = placed_with("ABC", "axy", records("ABC")).unwrap();
        assert_eq!(letters(&placement.records), "Abc");
        assert!(placement.retreats.is_empty());
    }

    #[test]
    fn a_chat_without_any_of_its_messages_is_a_different_one() {
        assert!(placed("ABC", "x").is_none());
        assert!(placed("", "x").is_none());
        assert!(placed("ABC", "").is_none());
    }

    #[test]
    fn an_inserted_message_arrived_together_with_the_next() {
        let first = r#"{"v":2,"id":"b.m","uid":"1-x","whole":{"book":null,"metadata":{}}}"#;
        let second =
            r#"{"v":2,"id":"b.m","uid":"2-x","came":{"after":"1-x","book":"none","metadata":"m"}}"#;
        let before = [slot(first), slot(second)];
        let before = Places { messages: &[1, 2], records: &before };
        let carried = [before.records[0].clone(), None, before.records[1].clone()];
        let chat = Places { messages: &[1, 3, 2], records: &carried };
        let placement = reassigned(before, chat, &mut InsertedUids::new("x")).unwrap();
        let json = |place: usize| placement.records[place].as_ref().unwrap().json();
        assert_eq!(json(1).get("uid"), Some(&Json::from("1-x.1")));
        assert_eq!(json(1).at(&["came", "after"]), Some(&Json::from("1-x")));
        assert_eq!(json(2).at(&["came", "after"]), Some(&Json::from("1-x.1")));
        assert!(placement.is_amended, "it was the last");
    }

    #[test]
    fn gaps_are_counted_where_records_were_followed() {
        let mut slots = [None, None, record('C'), None, record('E'), record('F')];
        slots[4] = slots[4].as_ref().map(|record| Arc::new(record.moved()));
        set_gaps(&mut slots);
        let gap = |slot: &Slot| slot.as_ref()?.json().get("gap")?.as_i64();
        assert_eq!(slots.each_ref().map(gap), [None, None, Some(2), None, Some(-1), None]);
        slots[1] = record('B');
        set_gaps(&mut slots);
        assert_eq!(slots.each_ref().map(gap), [None, Some(1), None, None, Some(-1), None]);
    }
}
