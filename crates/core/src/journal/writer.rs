//! Keeps the record of a chat's last message up to date.

use super::fold::Records;
use super::reader::Reader;
use super::record::{Limits, Record, merged, record};
use super::state::{BookState, RecordedState, recorded};
use super::testimony::{Arrival, RecordId, StatePart};
use crate::sillytavern::book::BookError;
use forklore_json::{Json, Object};

/// Observes the book and the metadata, and says what the last message's record is.
///
/// Records belong to places in the chat. Whoever holds the messages says when one arrived
/// ([`arrive`](Self::arrive)), was found at the end ([`grow`](Self::grow)) or went
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
    /// Not there until it was observed, or while nobody knows it; inside, whether one is bound.
    book: Option<Option<BookState>>,
    /// `book` was not observed, but taken for granted.
    is_book_assumed: bool,
    /// `book` is not what its file holds.
    is_book_unsaved: bool,
    metadata: Option<Object>,
    /// The state that the chain of records has reached, and its id: after the message before the
    /// last, or after `begun`.
    reached: Option<(String, RecordedState)>,
    /// What the last message's record said when we began to bring it up to date. It leads to
    /// `reached`, and what changes from there is joined to it, so that nothing before need be known.
    begun: Option<Record>,
    /// What the last message's record says now, and the state it leads to.
    current: Option<(Record, RecordedState)>,
    /// The last message's uid, and what was seen when it arrived.
    uid: Option<RecordId>,
    came: Option<Arrival>,
    /// The book in its record was not observed since it arrived.
    is_assumed: bool,
    /// The book in its record was not what its file held.
    is_unsaved: bool,
    /// Its record is not where it was made.
    is_moved: bool,
    /// The state that was seen last before the message came, where nobody looked at that instant:
    /// a part that is the same at the next look was so when the message came.
    seen_before: Option<Before>,
    /// Whether `current` was given out.
    is_told: bool,
    /// The last message carries a record that leads nowhere, and has to be written anew.
    is_stray: bool,
}

#[derive(Debug)]
struct Before {
    uid: RecordId,
    state: RecordedState,
}

impl Writer {
    /// `random` makes the uids of this page's records its own.
    pub fn new(limits: Limits, random: &str) -> Self {
        Self { limits, random: random.to_owned(), ..Self::default() }
    }

    /// Begins with a chat whose messages carry these records, the last one included. Testifies to
    /// nothing, and keeps what was testified. Gives back whose records are not where they were made:
    /// that has to be kept, since it may not show any more when others are gone.
    pub fn open(&mut self, records: impl IntoIterator<Item = Option<Record>>) -> Vec<usize> {
        let records: Records = records.into_iter().collect();
        let moved: Vec<usize> = records.moved().collect();
        self.begin(&records);
        self.is_moved |= moved.last().is_some_and(|last| last + 1 == records.len());
        moved
    }

    fn begin(&mut self, records: &Records) {
        self.newest = self.newest.max(records.newest_arrival());
        (self.begun, self.current, self.reached) = (None, None, None);
        (self.uid, self.came, self.seen_before) = (None, None, None);
        (self.is_told, self.is_stray) = (true, false);
        (self.is_assumed, self.is_unsaved, self.is_moved) = (false, false, false);
        let Some(last) = records.len().checked_sub(1) else { return };
        let tip = |message: Option<usize>| records.tip(message?);
        self.reached = tip(last.checked_sub(1));
        let Some(record) = records.get(last) else { return };
        (self.uid, self.came) = (record.uid.clone(), record.came.clone());
        (self.is_assumed, self.is_unsaved) = (record.assumed, record.unsaved);
        self.is_moved = record.gap < 0;
        match tip(Some(last)).filter(|(id, _)| *id == record.id) {
            Some((id, state)) => {
                self.current = Some((record.clone(), state.clone()));
                self.reached = Some((id, state));
                self.begun = Some(record.clone());
            }
            None => self.is_stray = true,
        }
    }

    /// The book that the chat is bound to. A name without a text is a book that cannot be had
    /// just now: until it is back nothing new is recorded, because what the chat's lore was
    /// may be needed to make it again.
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

    /// The book of this name is there, and nobody has looked at it since the last message arrived.
    /// Until somebody does, it is taken for what was recorded last, if its file held that.
    pub fn assume_book(&mut self, name: &str) {
        let recorded = self.current.as_ref().and_then(|(_, state)| state.book.as_ref());
        let is_known = self.uid.is_some() && !self.is_unsaved;
        let recorded = recorded.filter(|book| book.name == name && is_known);
        self.book = recorded.map(|book| Some(book.clone()));
        (self.is_book_assumed, self.is_book_unsaved) = (self.book.is_some(), false);
    }

    /// Whether the book that was observed last is still to be saved.
    pub fn observe_unsaved(&mut self, is_unsaved: bool) {
        self.is_book_unsaved = is_unsaved;
    }

    /// The chat's metadata, or as much of it as is recorded.
    pub fn observe_metadata(&mut self, metadata: &Json) {
        self.metadata = Some(recorded(metadata));
    }

    /// What the last message must carry now; `None` where that is what it carries.
    pub fn record(&mut self) -> Option<Record> {
        if let (Some(book), Some(metadata)) = (&self.book, &self.metadata) {
            let now = RecordedState { book: book.clone(), metadata: metadata.clone() };
            self.testify_to_what_stayed(&now);
            self.bring_up_to(now);
            if (self.is_assumed || self.is_moved) && !self.is_book_assumed {
                (self.is_assumed, self.is_moved, self.is_told) = (false, false, false);
            }
            self.is_told &= self.is_unsaved == self.is_book_unsaved;
            self.is_unsaved = self.is_book_unsaved;
        }
        if self.is_told {
            return None;
        }
        self.is_told = true;
        let (record, _) = self.current.as_ref()?;
        let record = record.clone();
        if self.uid.is_none() {
            self.uid = Some(self.next_uid());
        }
        let (uid, came, gap) = (self.uid.clone(), self.came.clone(), -i64::from(self.is_moved));
        let (assumed, unsaved) = (self.is_assumed, self.is_unsaved);
        Some(Record { uid, came, assumed, unsaved, gap, ..record })
    }

    fn next_uid(&mut self) -> RecordId {
        self.newest += 1;
        RecordId::new(self.newest, &self.random)
    }

    fn testify_to_what_stayed(&mut self, now: &RecordedState) {
        let Some(Before { uid, state }) = self.seen_before.take() else { return };
        let came = self.came.get_or_insert(Arrival {
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
        came.book = came.book.take().or_else(|| stayed(StatePart::Book));
        came.metadata = came.metadata.take().or_else(|| stayed(StatePart::Metadata));
        self.is_told = false;
    }

    fn bring_up_to(&mut self, now: RecordedState) {
        let id = now.id();
        let is_current = |(record, state): &(Record, RecordedState)| {
            record.id == id && state.knows_others() == now.knows_others()
        };
        if self.current.as_ref().is_some_and(is_current) {
            return;
        }
        let reached = self.reached.as_ref().map(|(id, state)| (id.as_str(), state));
        let step = record(reached, &now, self.limits);
        let joined = match &self.begun {
            Some(begun) if !step.is_whole() => merged(begun, &step),
            _ => None,
        };
        let record = match (joined, &self.begun) {
            (Some(joined), _) => joined,
            (None, None) => step,
            (None, Some(_)) => record(None, &now, self.limits),
        };
        if record.is_only_whole() {
            // Packed once. What changes while this is the last message is put beside it.
            self.begun = Some(record.clone());
            self.reached = Some((id, now.clone()));
        }
        self.current = Some((record, now));
        (self.is_told, self.is_stray) = (false, false);
    }

    /// A message arrives at this very instant, and what was observed is what holds now. Gives its
    /// record. Ask for the [`record`](Self::record) of the one before first.
    pub fn arrive(&mut self) -> Option<Record> {
        let before = self.uid.clone();
        self.go_on();
        if let (Some(after), Some(metadata)) = (before, &self.metadata) {
            let bound = self.book.clone();
            let now = RecordedState { book: bound.clone().flatten(), metadata: metadata.clone() };
            self.came = Some(Arrival {
                after,
                book: bound.map(|_| now.digest(StatePart::Book)),
                metadata: Some(now.digest(StatePart::Metadata)),
                assumed: self.is_book_assumed,
                file: None,
            });
        }
        self.record()
    }

    /// This many messages were found at the end: nobody saw them arrive, and what is observed next
    /// may have changed before or after. So the message before keeps what was seen while it was
    /// the last, those in between get no record, and every difference goes to the last one.
    ///
    /// `was_touched`: somebody told of a change since anybody looked. What is the same now may have
    /// been changed and changed back.
    pub fn grow(&mut self, count: usize, was_touched: bool) {
        let before = self.uid.clone();
        let seen = self.current.as_ref().map(|(_, state)| state.clone());
        self.go_on();
        let is_sure = count == 1 && !was_touched;
        self.seen_before =
            before.zip(seen).filter(|_| is_sure).map(|(uid, state)| Before { uid, state });
    }

    /// The last message is now the one before.
    fn go_on(&mut self) {
        if let Some((record, state)) = self.current.take() {
            self.reached = (!record.is_digest()).then_some((record.id, state));
        } else if self.is_stray {
            self.reached = None;
        }
        (self.begun, self.uid, self.came, self.seen_before) = (None, None, None, None);
        (self.is_told, self.is_stray) = (false, false);
        (self.is_assumed, self.is_unsaved, self.is_moved) = (self.is_book_assumed, false, false);
    }

    /// The last message was deleted. `earlier` is what the one before it carries, which is the last
    /// again, and what the deleted one said is joined to that.
    pub fn retreat(&mut self, earlier: Option<Record>) {
        (self.is_told, self.is_stray) = (false, false);
        self.seen_before = None;
        self.came = None;
        if let Some(earlier) = earlier {
            self.is_assumed = self.current.as_ref().map_or(earlier.assumed, |_| self.is_assumed);
            self.is_unsaved = self.current.as_ref().map_or(earlier.unsaved, |_| self.is_unsaved);
            self.is_moved = self.current.as_ref().map_or(earlier.gap < 0, |_| self.is_moved);
            self.uid = self.uid.take().or_else(|| earlier.uid.clone());
            self.came = earlier.came_for(self.uid.as_ref());
            self.take_over(earlier);
        }
    }

    /// The only messages before the last one that had a record were deleted. `gone` is what they
    /// said, which the last one says from now on before what it said so far.
    pub fn inherit(&mut self, gone: Record) {
        (self.came, self.seen_before) = (None, None);
        if self.is_stray {
            // What it leads to is not known, and `gone` does not tell.
            self.reached = None;
        } else {
            self.is_told = false;
            // Where nothing was seen since it came, what went is all that is known.
            self.is_moved |= self.current.is_none();
            self.take_over(gone);
        }
    }

    /// What is said of the last message's arrival is said otherwise now: somebody looked at the
    /// book's file, or a message was put before it.
    pub fn amend(&mut self, last: &Record) {
        if self.uid == last.uid {
            self.came.clone_from(&last.came);
            (self.is_assumed, self.is_moved) = (last.assumed, last.gap < 0);
        }
    }

    /// Nobody knows how the last message came to be where it is, nor, until somebody looks, what holds
    /// since.
    pub fn doubt(&mut self) {
        (self.came, self.seen_before) = (None, None);
        (self.is_moved, self.is_told) = (true, false);
    }

    fn take_over(&mut self, earlier: Record) {
        let leads_here = self.reached.as_ref().is_some_and(|(id, _)| *id == earlier.id);
        self.current = match (self.current.take(), &self.reached) {
            (Some((current, state)), _) => merged(&earlier, &current).map(|record| (record, state)),
            (None, Some((_, state))) if leads_here => Some((earlier.clone(), state.clone())),
            (None, _) => None,
        };
        self.begun = match self.begun.take() {
            Some(begun) => merged(&earlier, &begun),
            None => leads_here.then_some(earlier),
        };
        if self.begun.is_none() {
            self.reached = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A chat as the page would keep it, and what was the case at each message.
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

        /// Every state is what was, and every message but the last is proved by the next.
        #[track_caller]
        fn is_true(&self) {
            self.states_are_true();
            let records: Records = self.records.iter().cloned().collect();
            for (index, truth) in self.truths[..self.truths.len() - 1].iter().enumerate() {
                let came = records.testimony(index).expect("the next one was seen to arrive");
                assert_eq!(came.book, Some(truth.digest(StatePart::Book)), "at message {index}");
                let metadata = Some(truth.digest(StatePart::Metadata));
                assert_eq!(came.metadata, metadata, "at message {index}");
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
        // Where it became short again before the next message came, the digest is forgotten.
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
        // What the book was when the message came, nobody can say.
        let came = page.records[2].as_ref().unwrap().came.clone().unwrap();
        assert_eq!((came.book, came.metadata.is_some()), (None, true));
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
        let came = seen.get(2).unwrap().came.clone().unwrap();
        assert!(came.assumed && came.book.is_some() && came.proved(StatePart::Book).is_none());
        page.lore_changes("b");
        let last = page.records[2].as_ref().unwrap();
        assert!(!last.assumed && last.came.as_ref().unwrap().assumed);
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
        // One that only does not follow on is no reason to.
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
        // The message is put there, a variable is changed, and only then somebody looks.
        page.writer.grow(1, false);
        page.records.push(None);
        page.truths.push(page.now());
        page.variable_changes();
        let came = page.records[1].as_ref().unwrap().came.clone().unwrap();
        assert_eq!(came.book, Some(then.digest(StatePart::Book)));
        assert_eq!(came.metadata, None);
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
        assert_eq!(page.records[2].as_ref().unwrap().came, None);
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
        assert_eq!((last.came.clone(), last.id.clone()), (None, RecordedState::default().id()));
        let all: Records = [records[0].clone(), Some(last)].into_iter().collect();
        assert_eq!(all.newest(1).unwrap().message, 1);
    }
}
