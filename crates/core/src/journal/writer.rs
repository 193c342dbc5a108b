//! Keeps the record of a chat's last message up to date.

use super::fold::Cursor;
use super::reader::Reader;
use super::record::{Limits, Record, merged, record};
use super::state::{BookState, State, recorded};
use crate::book::BookError;
use crate::json::{Json, Object};

/// Observes the book and the metadata, and says what the last message's record is.
///
/// Records belong to places in the chat. Whoever holds the messages says when one came
/// ([`advance`](Self::advance)) or went ([`retreat`](Self::retreat), [`inherit`](Self::inherit)), and asks
/// for the [`record`](Self::record) after each change.
#[derive(Debug, Default)]
pub struct Writer {
    limits: Limits,
    reader: Reader,
    /// Not there until it was observed, or while nobody knows it; inside, whether one is bound.
    book: Option<Option<BookState>>,
    metadata: Option<Object>,
    /// The state that the chain of records has reached, and its id: after the message before the
    /// last, or after `begun`.
    reached: Option<(String, State)>,
    /// What the last message's record said when we began to bring it up to date. It leads to
    /// `reached`, and what changes from there is joined to it, so that nothing before need be known.
    begun: Option<Record>,
    /// What the last message's record says now, and the state it leads to.
    current: Option<(Record, State)>,
    /// Whether `current` was given out.
    is_told: bool,
    /// The last message carries a record that leads nowhere, and has to be written anew.
    is_stray: bool,
}

impl Writer {
    pub fn new(limits: Limits) -> Self {
        Self { limits, ..Self::default() }
    }

    /// Begins with a chat whose messages carry these records, the last one included.
    pub fn open(&mut self, records: impl IntoIterator<Item = Option<Record>>) {
        let mut cursor = Cursor::default();
        let mut records = records.into_iter().enumerate().peekable();
        let mut last = None;
        while let Some((index, record)) = records.next() {
            if records.peek().is_some() {
                cursor.step(index, record);
            } else {
                last = record.map(|record| (index, record));
            }
        }
        (self.begun, self.current) = (None, None);
        (self.is_told, self.is_stray) = (true, last.is_some());
        self.reached = cursor.tip();
        let Some((index, last)) = last else { return };
        cursor.step(index, Some(last.clone()));
        if let Some((id, state)) = cursor.tip().filter(|(id, _)| *id == last.id) {
            self.current = Some((last.clone(), state.clone()));
            self.reached = Some((id, state));
            self.begun = Some(last);
            self.is_stray = false;
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
        self.book = None;
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

    /// The chat's metadata, or as much of it as is recorded.
    pub fn observe_metadata(&mut self, metadata: &Json) {
        self.metadata = Some(recorded(metadata));
    }

    /// What the last message must carry now; `None` where that is what it carries.
    pub fn record(&mut self) -> Option<Record> {
        if let (Some(book), Some(metadata)) = (&self.book, &self.metadata) {
            let now = State { book: book.clone(), metadata: metadata.clone() };
            self.bring_up_to(now);
        }
        if self.is_told {
            return None;
        }
        self.is_told = true;
        self.current.as_ref().map(|(record, _)| record.clone())
    }

    fn bring_up_to(&mut self, now: State) {
        let id = now.id();
        if self.current.as_ref().is_some_and(|(current, _)| current.id == id) {
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

    /// A message came: the last one is now the one before. Gives the new one's record.
    pub fn advance(&mut self) -> Option<Record> {
        if let Some((record, state)) = self.current.take() {
            self.reached = (!record.is_digest()).then_some((record.id, state));
        } else if self.is_stray {
            self.reached = None;
        }
        self.begun = None;
        (self.is_told, self.is_stray) = (false, false);
        self.record()
    }

    /// The last message was deleted. `earlier` is what the one before it carries, which is the last
    /// again, and what the deleted one said is joined to that.
    pub fn retreat(&mut self, earlier: Option<Record>) {
        (self.is_told, self.is_stray) = (false, false);
        if let Some(earlier) = earlier {
            self.take_over(earlier);
        }
    }

    /// The only messages before the last one that had a record were deleted. `gone` is what they
    /// said, which the last one says from now on before what it said so far.
    pub fn inherit(&mut self, gone: Record) {
        if self.is_stray {
            // What it leads to is not known, and `gone` does not tell.
            self.reached = None;
        } else {
            self.is_told = false;
            self.take_over(gone);
        }
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
        truths: Vec<State>,
        book: String,
        gold: i64,
    }

    impl Page {
        fn new(limits: Limits) -> Self {
            let book = r#"{"entries":{"0":{"uid":0,"content":"a","key":["k"]}}}"#.to_owned();
            let (records, truths) = (Vec::new(), Vec::new());
            let mut page = Self { writer: Writer::new(limits), records, truths, book, gold: 0 };
            page.writer.open([None]);
            page.records.push(None);
            page.truths.push(State::default());
            page.saved();
            page
        }

        fn metadata(&self) -> Json {
            Json::object([
                ("variables", Json::object([("gold", self.gold.into()), ("name", "x".into())])),
                ("integrity", "not recorded".into()),
            ])
        }

        fn now(&self) -> State {
            let book = Json::parse(self.book.as_bytes()).unwrap();
            State::of(&self.metadata(), Some(("B", &book)))
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
            let record = self.writer.advance();
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
            self.writer = Writer::new(self.writer.limits);
            self.writer.open(records.clone());
            self.records = records;
            self.saved();
        }

        #[track_caller]
        fn is_true(&self) {
            let mut cursor = Cursor::default();
            for (index, record) in self.records.iter().enumerate() {
                cursor.step(index, record.clone());
                let (_, state) = cursor.tip().expect("the chain is unbroken");
                assert_eq!(state, self.truths[index], "at message {index}");
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
        assert_eq!(page.writer.advance(), None);
        page.records.push(None);
        page.truths.push(page.now());
        assert!(page.writer.observe_book(Some("B"), Some(b"{".to_vec())).is_err());
        assert_eq!(page.writer.record(), None);
        page.lore_changes("c");
        page.is_true();
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
        page.records.push(page.writer.advance());
        page.truths.push(State::default());
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
}
