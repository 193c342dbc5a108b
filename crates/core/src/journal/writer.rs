//! Keeps the journal record of a chat's last message up to date.

use super::fold::Records;
use super::reader::Reader;
use super::record::{Limits, Record, merged, record};
use super::state::{BookState, RecordedState, recorded};
use super::testimony::{Arrival, RecordId, StatePart};
use crate::sillytavern::book::BookError;
use forklore_json::{Json, Object};

/// Observes the book and the metadata, and produces the record of the last message.
///
/// Records belong to positions in the chat. The caller reports when a message arrives
/// ([`arrive`](Self::arrive)), is found at the end ([`grow`](Self::grow)) or is deleted
/// ([`retreat`](Self::retreat), [`inherit`](Self::inherit)), and asks for the
/// [`record`](Self::record) after each change.
#[derive(Debug, Default)]
pub struct Writer {
    limits: Limits,
    /// The random part of the uids that this writer makes.
    random: String,
    /// The number of the newest arrival.
    newest: u64,
    reader: Reader,
    /// The outer `None`: not observed yet, or unavailable. The inner `None`: no book is bound.
    book: Option<Option<BookState>>,
    /// `book` was not observed, only assumed.
    is_book_assumed: bool,
    /// `book` has not been saved to its file.
    is_book_unsaved: bool,
    metadata: Option<Object>,
    /// The state that the next change is computed against, and its id: the state after the second
    /// to last message, or after `initial`.
    base: Option<(String, RecordedState)>,
    /// The last message's record when updating it began. It leads to `base`. Later changes are
    /// merged into it, so that the state before it need not be known.
    initial: Option<Record>,
    /// The last message's record as it is now, and the state it leads to.
    current: Option<(Record, RecordedState)>,
    /// The last message's uid, and the testimony about its arrival.
    uid: Option<RecordId>,
    arrival: Option<Arrival>,
    /// The book in its record has not been observed since it arrived.
    is_assumed: bool,
    /// The book in its record was not saved to the file.
    is_unsaved: bool,
    /// Its record was moved there.
    is_moved: bool,
    /// The state observed last before the message, if its arrival itself was not observed. A part
    /// that is the same at the next observation was the same when the message arrived.
    seen_before: Option<SeenBefore>,
    /// Whether `current` was returned by [`record`](Self::record).
    is_emitted: bool,
    /// The last message has a record that does not fit the chain, and must be rewritten.
    is_stray: bool,
}

#[derive(Debug)]
struct SeenBefore {
    uid: RecordId,
    state: RecordedState,
}

impl Writer {
    /// `random` distinguishes the uids of this page's records from those of others.
    pub fn new(limits: Limits, random: &str) -> Self {
        Self { limits, random: random.to_owned(), ..Self::default() }
    }

    /// Limits what is recorded from now on.
    pub fn set_limits(&mut self, limits: Limits) {
        self.limits = limits;
    }

    /// Starts with a chat whose messages have these records. Adds no testimony, and preserves what
    /// is there. Returns the messages whose records were moved; the caller must remember them,
    /// because this may no longer be detectable once other messages are deleted.
    pub fn open(&mut self, records: impl IntoIterator<Item = Option<Record>>) -> Vec<usize> {
        let records: Records = records.into_iter().collect();
        let moved: Vec<usize> = records.moved().collect();
        self.load(&records);
        self.is_moved |= moved.last().is_some_and(|last| last + 1 == records.len());
        moved
    }

    fn load(&mut self, records: &Records) {
        self.newest = self.newest.max(records.newest_arrival());
        (self.initial, self.current, self.base) = (None, None, None);
        (self.uid, self.arrival, self.seen_before) = (None, None, None);
        (self.is_emitted, self.is_stray) = (true, false);
        (self.is_assumed, self.is_unsaved, self.is_moved) = (false, false, false);
        let Some(last) = records.len().checked_sub(1) else { return };
        let tip = |message: Option<usize>| records.tip(message?);
        self.base = tip(last.checked_sub(1));
        let Some(record) = records.get(last) else { return };
        (self.uid, self.arrival) = (record.uid.clone(), record.arrival.clone());
        (self.is_assumed, self.is_unsaved) = (record.assumed, record.unsaved);
        self.is_moved = record.gap < 0;
        match tip(Some(last)).filter(|(id, _)| *id == record.id) {
            Some((id, state)) => {
                self.current = Some((record.clone(), state.clone()));
                self.base = Some((id, state));
                self.initial = Some(record.clone());
            }
            None => self.is_stray = true,
        }
    }

    /// Reports the book that the chat is bound to. A name without a text means that the book is
    /// unavailable. Until it is back nothing new is recorded, because the recorded lore may be
    /// needed to recreate it.
    pub fn observe_book(
        &mut self,
        name: Option<&str>,
        text: Option<Vec<u8>>,
    ) -> Result<(), BookError> {
        (self.book, self.is_book_assumed, self.is_book_unsaved) = (None, false, false);
        match (name, text) {
            (None, _) => self.book = Some(None),
            (Some(_), None) => {}
            (Some(name), Some(text)) => {
                let lore = self.reader.read(text)?;
                self.book = Some(Some(BookState { name: name.to_owned(), lore }));
            }
        }
        Ok(())
    }

    /// Reports that the book of this name exists, but has not been read since the last message
    /// arrived. Until it is read, it is assumed to be what was recorded last, if that was saved.
    pub fn assume_book(&mut self, name: &str) {
        let recorded = self.current.as_ref().and_then(|(_, state)| state.book.as_ref());
        let is_known = self.uid.is_some() && !self.is_unsaved;
        let recorded = recorded.filter(|book| book.name == name && is_known);
        self.book = recorded.map(|book| Some(book.clone()));
        (self.is_book_assumed, self.is_book_unsaved) = (self.book.is_some(), false);
    }

    /// Reports whether the book observed last still has to be saved.
    pub fn observe_unsaved(&mut self, is_unsaved: bool) {
        self.is_book_unsaved = is_unsaved;
    }

    /// Reports the chat's metadata, or at least the part that is recorded.
    pub fn observe_metadata(&mut self, metadata: &Json) {
        self.metadata = Some(recorded(metadata));
    }

    /// The record that the last message must have now; `None` if it already has it.
    pub fn record(&mut self) -> Option<Record> {
        if let (Some(book), Some(metadata)) = (&self.book, &self.metadata) {
            let now = RecordedState { book: book.clone(), metadata: metadata.clone() };
            self.testify_unchanged(&now);
            self.update_to(now);
            if (self.is_assumed || self.is_moved) && !self.is_book_assumed {
                (self.is_assumed, self.is_moved, self.is_emitted) = (false, false, false);
            }
            self.is_emitted &= self.is_unsaved == self.is_book_unsaved;
            self.is_unsaved = self.is_book_unsaved;
        }
        if self.is_emitted {
            return None;
        }
        self.is_emitted = true;
        let (record, _) = self.current.as_ref()?;
        let record = record.clone();
        if self.uid.is_none() {
            self.uid = Some(self.next_uid());
        }
        let (uid, arrival, gap) =
            (self.uid.clone(), self.arrival.clone(), -i64::from(self.is_moved));
        let (assumed, unsaved) = (self.is_assumed, self.is_unsaved);
        Some(Record { uid, arrival, assumed, unsaved, gap, ..record })
    }

    fn next_uid(&mut self) -> RecordId {
        self.newest += 1;
        RecordId::new(self.newest, &self.random)
    }

    fn testify_unchanged(&mut self, now: &RecordedState) {
        let Some(SeenBefore { uid, state }) = self.seen_before.take() else { return };
        let arrival = self.arrival.get_or_insert(Arrival {
            after: uid,
            book: None,
            metadata: None,
            assumed: self.is_book_assumed,
            file: None,
        });
        let stayed = |part| {
            let digest = state.digest(part);
            (digest == now.digest(part)).then_some(digest)
        };
        arrival.book = arrival.book.take().or_else(|| stayed(StatePart::Book));
        arrival.metadata = arrival.metadata.take().or_else(|| stayed(StatePart::Metadata));
        self.is_emitted = false;
    }

    fn update_to(&mut self, now: RecordedState) {
        let id = now.id();
        let is_current = |(record, state): &(Record, RecordedState)| {
            record.id == id && state.knows_others() == now.knows_others()
        };
        if self.current.as_ref().is_some_and(is_current) {
            return;
        }
        let base = self.base.as_ref().map(|(id, state)| (id.as_str(), state));
        let step = record(base, &now, self.limits);
        let joined = match &self.initial {
            Some(initial) if !step.is_whole() => merged(initial, &step),
            _ => None,
        };
        let record = match (joined, &self.initial) {
            (Some(joined), _) => joined,
            (None, None) => step,
            (None, Some(_)) => record(None, &now, self.limits),
        };
        if record.is_only_whole() {
            // Pack it only once: later changes to the last message are added as a delta.
            self.initial = Some(record.clone());
            self.base = Some((id, now.clone()));
        }
        self.current = Some((record, now));
        (self.is_emitted, self.is_stray) = (false, false);
    }

    /// Reports that a message is arriving right now, in the state observed last. Returns its
    /// record. Ask for the [`record`](Self::record) of the message before first.
    pub fn arrive(&mut self) -> Option<Record> {
        let before = self.uid.clone();
        self.advance();
        if let (Some(after), Some(metadata)) = (before, &self.metadata) {
            let bound = self.book.clone();
            let now = RecordedState { book: bound.clone().flatten(), metadata: metadata.clone() };
            self.arrival = Some(Arrival {
                after,
                book: bound.map(|_| now.digest(StatePart::Book)),
                metadata: Some(now.digest(StatePart::Metadata)),
                assumed: self.is_book_assumed,
                file: None,
            });
        }
        self.record()
    }

    /// Reports that `count` messages were found at the end whose arrival was not observed. What is
    /// observed next may have changed before or after them. So the message before keeps the state
    /// observed while it was the last, those in between get no record, and all changes go to the
    /// last one.
    ///
    /// `was_touched`: a change was reported since the last observation, so a part that looks the
    /// same now may have been changed and changed back.
    pub fn grow(&mut self, count: usize, was_touched: bool) {
        let before = self.uid.clone();
        let seen = self.current.as_ref().map(|(_, state)| state.clone());
        self.advance();
        let is_sure = count == 1 && !was_touched;
        self.seen_before =
            before.zip(seen).filter(|_| is_sure).map(|(uid, state)| SeenBefore { uid, state });
    }

    /// Moves on to a new last message.
    fn advance(&mut self) {
        if let Some((record, state)) = self.current.take() {
            self.base = (!record.is_digest()).then_some((record.id, state));
        } else if self.is_stray {
            self.base = None;
        }
        (self.initial, self.uid, self.arrival, self.seen_before) = (None, None, None, None);
        (self.is_emitted, self.is_stray) = (false, false);
        (self.is_assumed, self.is_unsaved, self.is_moved) = (self.is_book_assumed, false, false);
    }

    /// Reports that the last message was deleted. `earlier` is the record of the message before it,
    /// which is now the last; the deleted message's record is merged into it.
    pub fn retreat(&mut self, earlier: Option<Record>) {
        (self.is_emitted, self.is_stray) = (false, false);
        self.seen_before = None;
        self.arrival = None;
        if let Some(earlier) = earlier {
            self.is_assumed = self.current.as_ref().map_or(earlier.assumed, |_| self.is_assumed);
            self.is_unsaved = self.current.as_ref().map_or(earlier.unsaved, |_| self.is_unsaved);
            self.is_moved = self.current.as_ref().map_or(earlier.gap < 0, |_| self.is_moved);
            self.uid = self.uid.take().or_else(|| earlier.uid.clone());
            self.arrival = earlier.arrival_for(self.uid.as_ref());
            self.prepend(earlier);
        }
    }

    /// Reports that all messages with a record before the last one were deleted. `gone` is their
    /// merged record, which is merged into the record of the last message.
    pub fn inherit(&mut self, gone: Record) {
        (self.arrival, self.seen_before) = (None, None);
        if self.is_stray {
            // The state it leads to is unknown, and `gone` does not help.
            self.base = None;
        } else {
            self.is_emitted = false;
            // If nothing was observed since it arrived, `gone` is all that is known.
            self.is_moved |= self.current.is_none();
            self.prepend(gone);
        }
    }

    /// Updates the testimony about the last message's arrival: the book's file was read, or a
    /// message was inserted before it.
    pub fn amend(&mut self, last: &Record) {
        if self.uid == last.uid {
            self.arrival.clone_from(&last.arrival);
            (self.is_assumed, self.is_moved) = (last.assumed, last.gap < 0);
        }
    }

    /// Reports that it is unknown how the last message came to be there. Until the next
    /// observation, its state is unknown as well.
    pub fn doubt(&mut self) {
        (self.arrival, self.seen_before) = (None, None);
        (self.is_moved, self.is_emitted) = (true, false);
    }

    fn prepend(&mut self, earlier: Record) {
        let leads_here = self.base.as_ref().is_some_and(|(id, _)| *id == earlier.id);
        self.current = match (self.current.take(), &self.base) {
            (Some((current, state)), _) => merged(&earlier, &current).map(|record| (record, state)),
            (None, Some((_, state))) if leads_here => Some((earlier.clone(), state.clone())),
            (None, _) => None,
        };
        self.initial = match self.initial.take() {
            Some(initial) => merged(&earlier, &initial),
            None => leads_here.then_some(earlier),
        };
        if self.initial.is_none() {
            self.base = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A chat as a page would keep it, and the true state at each message.
    struct Page {
        writer: Writer,
        records: Vec<Option<Record>>,
        truths: Vec<RecordedState>,
        book: String,
        gold: i64,
    }

    impl Page {
        fn new(limits: Limits) -> Self {
            let book = r#"{"entries":{"0":{"uid":0,"content":"a","key":["k"]}}}"#.to_owned();
            let (records, truths) = (Vec::new(), Vec::new());
            let mut page =
                Self { writer: Writer::new(limits, "r"), records, truths, book, gold: 0 };
            page.writer.open([None]);
            page.records.push(None);
            page.truths.push(RecordedState::default());
            page.saved();
            page
        }

        fn metadata(&self) -> Json {
            Json::object([
                ("variables", Json::object([("gold", self.gold.into()), ("name", "x".into())])),
                ("integrity", "not recorded".into()),
            ])
        }

        fn now(&self) -> RecordedState {
            let book = Json::parse(self.book.as_bytes()).unwrap();
            RecordedState::of(&self.metadata(), Some(("B", &book)))
        }

        fn saved(&mut self) {
            self.writer.observe_book(Some("B"), Some(self.book.clone().into_bytes())).unwrap();
            self.writer.observe_metadata(&self.metadata());
            if let Some(record) = self.writer.record() {
                *self.records.last_mut().unwrap() = Some(record);
            }
            *self.truths.last_mut().unwrap() = self.now();
        }

        fn message_comes(&mut self) {
            self.saved();
            let record = self.writer.arrive();
            self.records.push(record);
            self.truths.push(self.now());
        }

        fn last_goes(&mut self) {
            self.records.pop();
            self.truths.pop();
            self.writer.retreat(self.records.last().unwrap().clone());
            self.saved();
        }

        fn first_goes(&mut self) {
            self.truths.remove(0);
            let gone = self.records.remove(0).unwrap();
            match &mut self.records[..] {
                [_] => self.writer.inherit(gone),
                [next, ..] => *next = merged(&gone, next.as_ref().unwrap()),
                [] => unreachable!("there is a last one"),
            }
            self.saved();
        }

        fn lore_changes(&mut self, content: &str) {
            self.book = format!(
                r#"{{"entries":{{"0":{{"uid":0,"content":"{content}","key":["k"]}},"7":{{"uid":7}}}}}}"#
            );
            self.saved();
        }

        fn variable_changes(&mut self) {
            self.gold += 1;
            self.saved();
        }

        fn is_reopened(&mut self) {
            let records: Vec<Option<Record>> = self
                .records
                .iter()
                .map(|record| {
                    let text = record.as_ref()?.to_json().stringify();
                    Record::from_json(&Json::parse(&text).unwrap())
                })
                .collect();
            self.writer = Writer::new(self.writer.limits, "s");
            self.writer.open(records.clone());
            self.records = records;
            self.saved();
        }

        /// Checks that every recorded state is true, and that each message except the last is
        /// proved by the next.
        #[track_caller]
        fn is_true(&self) {
            self.states_are_true();
            let records: Records = self.records.iter().cloned().collect();
            for (index, truth) in self.truths[..self.truths.len() - 1].iter().enumerate() {
                let arrival = records.testimony(index).expect("the next one was seen to arrive");
                assert_eq!(arrival.book, Some(truth.digest(StatePart::Book)), "at message {index}");
                let metadata = Some(truth.digest(StatePart::Metadata));
                assert_eq!(arrival.metadata, metadata, "at message {index}");
            }
        }

        #[track_caller]
        fn states_are_true(&self) {
            let records: Records = self.records.iter().cloned().collect();
            for (index, truth) in self.truths.iter().enumerate() {
                let (_, state) = records.tip(index).expect("the chain is unbroken");
                assert_eq!(state, *truth, "at message {index}");
            }
        }
    }

    #[test]
    fn each_message_keeps_the_state_that_it_was_the_last_of() {
        let mut page = Page::new(Limits::default());
        page.lore_changes("b");
        page.message_comes();
        page.variable_changes();
        page.message_comes();
        page.message_comes();
        page.lore_changes("c");
        page.variable_changes();
        page.is_true();
        page.is_reopened();
        page.is_true();
        page.variable_changes();
        page.message_comes();
        page.is_true();
    }

    #[test]
    fn when_the_last_goes_the_one_before_says_what_both_said() {
        let mut page = Page::new(Limits::default());
        for content in ["b", "c", "d", "e"] {
            page.message_comes();
            page.lore_changes(content);
            page.variable_changes();
        }
        page.last_goes();
        page.is_true();
        page.variable_changes();
        page.last_goes();
        page.is_true();
        page.is_reopened();
        page.last_goes();
        page.is_true();
        page.message_comes();
        page.lore_changes("f");
        page.is_true();
        page.last_goes();
        page.last_goes();
        page.is_true();
    }

    #[test]
    fn when_the_first_goes_the_next_says_what_both_said() {
        let mut page = Page::new(Limits::default());
        for content in ["b", "c"] {
            page.message_comes();
            page.lore_changes(content);
        }
        page.first_goes();
        page.is_true();
        page.first_goes();
        page.is_true();
        page.variable_changes();
        page.message_comes();
        page.is_true();
    }

    #[test]
    fn the_same_record_is_told_once() {
        let mut page = Page::new(Limits::default());
        assert_eq!(page.writer.record(), None);
        page.writer.observe_metadata(&page.metadata());
        assert_eq!(page.writer.record(), None);
        page.is_reopened();
        assert_eq!(page.writer.record(), None);
    }

    #[test]
    fn a_whole_is_packed_once_while_it_is_the_last() {
        let mut page = Page::new(Limits::default());
        page.lore_changes("b");
        page.variable_changes();
        let json = page.records[0].as_ref().unwrap().to_json();
        assert!(json.get("whole").is_some() && json.get("delta").is_some());
        assert!(json.get("after").is_none());
        page.is_true();
    }

    #[test]
    fn after_a_digest_comes_a_whole_as_soon_as_it_may() {
        let mut page = Page::new(Limits { largest_book: 300 });
        page.message_comes();
        page.lore_changes(&"long ".repeat(100));
        assert!(page.records[1].as_ref().unwrap().is_digest());
        page.message_comes();
        assert!(page.records[2].as_ref().unwrap().is_digest());
        page.message_comes();
        page.lore_changes("short");
        assert!(page.records[3].as_ref().unwrap().is_only_whole());
        // If the book became short again before the next message arrived, the digest is dropped.
        page.message_comes();
        page.lore_changes(&"long ".repeat(100));
        page.lore_changes("shorter");
        let last = page.records[4].as_ref().unwrap();
        assert!(!last.is_digest() && !last.is_only_whole());
    }

    #[test]
    fn a_book_that_cannot_be_had_is_not_recorded_as_none() {
        let mut page = Page::new(Limits::default());
        page.message_comes();
        page.lore_changes("b");
        page.writer.observe_book(Some("B"), None).unwrap();
        assert_eq!(page.writer.record(), None);
        assert_eq!(page.writer.arrive(), None);
        page.records.push(None);
        page.truths.push(page.now());
        assert!(page.writer.observe_book(Some("B"), Some(b"{".to_vec())).is_err());
        assert_eq!(page.writer.record(), None);
        page.lore_changes("c");
        page.states_are_true();
        // The state of the book at the message's arrival is unknown.
        let arrival = page.records[2].as_ref().unwrap().arrival.clone().unwrap();
        assert_eq!((arrival.book, arrival.metadata.is_some()), (None, true));
    }

    #[test]
    fn a_book_that_nobody_looked_at_is_assumed_until_somebody_does() {
        let mut page = Page::new(Limits::default());
        for _ in 0..2 {
            page.writer.assume_book("B");
            page.records.push(page.writer.arrive());
            page.truths.push(page.now());
        }
        let seen: Records = page.records.iter().cloned().collect();
        assert_eq!(seen.newest_with_book(2).unwrap().message, 0);
        assert_eq!(seen.newest(2).unwrap().message, 2, "the metadata was seen");
        let arrival = seen.get(2).unwrap().arrival.clone().unwrap();
        assert!(
            arrival.assumed && arrival.book.is_some() && arrival.proved(StatePart::Book).is_none()
        );
        page.lore_changes("b");
        let last = page.records[2].as_ref().unwrap();
        assert!(!last.assumed && last.arrival.as_ref().unwrap().assumed);
        let seen: Records = page.records.iter().cloned().collect();
        assert_eq!(seen.newest_with_book(2).unwrap().message, 2);
        assert_eq!(seen.newest_with_book(1).unwrap().message, 0);
    }

    #[test]
    fn an_edit_that_is_not_saved_is_not_what_another_page_takes_the_book_for() {
        let mut page = Page::new(Limits::default());
        let another_assumes = |page: &Page| {
            let text = page.records[0].as_ref().unwrap().to_json().stringify();
            let mut other = Writer::new(Limits::default(), "s");
            other.open([Record::from_json(&Json::parse(&text).unwrap())]);
            other.assume_book("B");
            other.observe_metadata(&page.metadata());
            other.arrive().is_some()
        };
        assert!(another_assumes(&page));
        page.writer.observe_unsaved(true);
        page.records[0] = page.writer.record();
        assert!(page.records[0].as_ref().unwrap().unsaved);
        assert!(!another_assumes(&page));
        page.writer.observe_unsaved(false);
        page.records[0] = page.writer.record();
        assert!(another_assumes(&page));
    }

    #[test]
    fn what_went_is_no_claim_about_a_message_that_nobody_saw() {
        let mut page = Page::new(Limits::default());
        page.writer.observe_book(Some("B"), None).unwrap();
        page.records.push(page.writer.arrive());
        let gone = page.records.remove(0).unwrap();
        page.writer.inherit(gone);
        page.records[0] = page.writer.record();
        let all: Records = page.records.iter().cloned().collect();
        assert!(all.get(0).is_some(), "the lore is not lost");
        assert_eq!(all.newest(0), None);
        page.truths.truncate(1);
        page.saved();
        page.states_are_true();
    }

    #[test]
    fn nothing_follows_on_a_record_that_was_left_behind() {
        let mut page = Page::new(Limits::default());
        page.message_comes();
        page.lore_changes("b");
        page.records[1] =
            Some(Record { id: "0000000000000000".into(), ..page.records[1].clone().unwrap() });
        page.writer.open(page.records.clone());
        page.writer.observe_book(Some("B"), None).unwrap();
        page.records.push(page.writer.arrive());
        page.truths.push(RecordedState::default());
        page.lore_changes("c");
        assert!(page.records[2].as_ref().unwrap().is_whole());
    }

    #[test]
    fn a_chain_that_is_broken_is_begun_anew() {
        let mut page = Page::new(Limits::default());
        for content in ["b", "c", "d"] {
            page.message_comes();
            page.lore_changes(content);
        }
        page.records[1] = None;
        page.is_reopened();
        page.lore_changes("e");
        assert!(page.records[3].as_ref().unwrap().is_whole());
        // A single record that does not fit is no reason to start over.
        page.message_comes();
        page.lore_changes("f");
        page.records[4] = page.records[2].clone();
        page.is_reopened();
        assert!(!page.records[4].as_ref().unwrap().is_whole());
    }

    #[test]
    fn a_message_that_nobody_saw_arriving_testifies_to_what_stayed() {
        let mut page = Page::new(Limits::default());
        page.lore_changes("b");
        let then = page.now();
        // A message is added, a variable is changed, and only then is the state observed.
        page.writer.grow(1, false);
        page.records.push(None);
        page.truths.push(page.now());
        page.variable_changes();
        let arrival = page.records[1].as_ref().unwrap().arrival.clone().unwrap();
        assert_eq!(arrival.book, Some(then.digest(StatePart::Book)));
        assert_eq!(arrival.metadata, None);
        assert_eq!(page.records[0].as_ref().unwrap().id, then.id(), "the older one stays as seen");
    }

    #[test]
    fn of_several_that_nobody_saw_only_the_last_says_anything() {
        let mut page = Page::new(Limits::default());
        page.writer.grow(2, false);
        page.records.extend([None, None]);
        page.truths.extend([page.now(), page.now()]);
        page.variable_changes();
        assert_eq!(page.records[1], None);
        assert_eq!(page.records[2].as_ref().unwrap().arrival, None);
    }

    #[test]
    fn opening_a_chat_of_format_1_brings_its_last_record_up_to_date_and_testifies_to_nothing() {
        let records = [
            r#"{"v":1,"id":"9f5365b124bc5da8","whole":{"book":null,"metadata":{}}}"#,
            r#"{"v":1,"id":"9f5365b124bc5da8"}"#,
        ]
        .map(|text| Record::from_json(&Json::parse(text.as_bytes()).unwrap()));
        assert!(RecordedState::default().has_id(&records[0].as_ref().unwrap().id));
        let mut writer = Writer::new(Limits::default(), "r");
        writer.open(records.clone());
        writer.observe_book(None, None).unwrap();
        writer.observe_metadata(&Json::Null);
        let last = writer.record().unwrap();
        assert_eq!((last.arrival.clone(), last.id.clone()), (None, RecordedState::default().id()));
        let all: Records = [records[0].clone(), Some(last)].into_iter().collect();
        assert_eq!(all.newest(1).unwrap().message, 1);
    }
}
