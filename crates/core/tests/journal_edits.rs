//! Laws of the journal of an open chat: whatever happens to its messages between two saves, the
//! records stay a chain, and none claims what was not observed.

use std::mem::take;

use forklore_core::journal::{
    CarriedRecord, Changes, ChatJournal, FileCheck, Folded, Limits, Observation, ObservedText,
    OpenChat, Record, RecordedState, Records, StatePart,
};
use forklore_json::{Json, Raw};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::RngSeed;

#[derive(Clone, Debug)]
struct Message {
    number: u32,
    /// The text of its record.
    carried: Option<Vec<u8>>,
    /// The times at which it may be said to have arrived. After a swap, a message also stands for
    /// the one whose place it took.
    arrivals: Vec<usize>,
    /// It was inserted since the last call: it arrives with the message that is after it then.
    is_inserted: bool,
}

/// A page with an open chat. The state is a different one at each time.
struct Page {
    journal: ChatJournal,
    chat: Vec<Message>,
    /// What the journal knows: the messages at the last call, and what they carried after it.
    known: Vec<(u32, Option<Vec<u8>>)>,
    newest: u32,
    time: usize,
}

const NAME: &str = "Lore";

fn book_at(time: usize) -> String {
    format!(r#"{{"entries":{{"0":{{"uid":0,"content":"{time}"}},"7":{{"uid":7}}}}}}"#)
}

fn metadata_at(time: usize) -> Json {
    let variables = Json::object([("time", Json::from(time)), ("mood", "calm".into())]);
    Json::object([("variables", variables)])
}

fn state_at(time: usize) -> RecordedState {
    let book = Json::parse(book_at(time).as_bytes()).expect("it is JSON");
    RecordedState::of(&metadata_at(time), Some((NAME, &book)))
}

impl Page {
    fn new() -> Self {
        let journal = ChatJournal::new("r");
        let mut page = Self { journal, chat: Vec::new(), known: Vec::new(), newest: 0, time: 0 };
        let first = page.message(None);
        page.chat.push(first);
        page.sync();
        page
    }

    fn message(&mut self, carried: Option<Vec<u8>>) -> Message {
        self.newest += 1;
        Message { number: self.newest, carried, arrivals: vec![self.time], is_inserted: false }
    }

    fn look(&self) -> OpenChat {
        let is_known = |place: usize, message: &Message| {
            let same = self.known.get(place).filter(|(number, _)| *number == message.number);
            let other = || self.known.iter().find(|(number, _)| *number == message.number);
            let given = same.or_else(other).and_then(|(_, given)| given.as_ref());
            given == message.carried.as_ref()
        };
        let others = self.chat.iter().enumerate().filter(|(place, m)| !is_known(*place, m));
        let read = |text: &Vec<u8>| CarriedRecord::read(Raw::document(text).expect("it is JSON"));
        OpenChat {
            messages: Some(self.chat.iter().map(|message| message.number).collect()),
            carried: others.map(|(place, m)| (place, m.carried.as_ref().and_then(read))).collect(),
        }
    }

    fn now(&self) -> Observation {
        Observation {
            book_name: Some(NAME.to_owned()),
            book: ObservedText::Read(book_at(self.time).into_bytes()),
            is_own: true,
            is_unsaved: false,
            is_touched: false,
            metadata: Some(metadata_at(self.time)),
            limits: Limits::default(),
        }
    }

    fn write(&mut self, changes: Changes) {
        for (place, record) in changes {
            self.chat[place].carried = record.map(|record| record.text().to_vec());
        }
        let known = self.chat.iter().map(|message| (message.number, message.carried.clone()));
        self.known = known.collect();
    }

    fn sync(&mut self) {
        let mut next = Vec::new();
        for message in self.chat.iter_mut().rev() {
            if take(&mut message.is_inserted) {
                message.arrivals.append(&mut next);
            }
            next.clone_from(&message.arrivals);
        }
        let changes = self.journal.sync(self.look(), self.now());
        self.write(changes);
    }

    /// A message arrives, and the page sees it.
    fn arrives(&mut self) {
        if !self.chat.last().is_some_and(|last| self.journal.knows(last.number)) {
            self.is_found();
            return;
        }
        self.sync();
        self.is_seen_arriving();
        let arrived = self.journal.unchecked(NAME);
        self.checks_file(true, &arrived);
    }

    /// A message arrives right after the last call.
    fn is_seen_arriving(&mut self) {
        self.is_found();
        let changes = self.journal.arrived(self.look());
        self.write(changes);
    }

    fn checks_file(&mut self, is_pages: bool, arrived: &[String]) {
        let text = book_at(self.time);
        let check = FileCheck { book_name: NAME, text: text.as_bytes(), is_pages, arrived };
        let changes = self.journal.file_checked(&check);
        for (place, record) in changes {
            let number = self.known[place].0;
            let text = record.map(|record| record.text().to_vec());
            self.known[place].1.clone_from(&text);
            // The page may hold other messages by now.
            for message in self.chat.iter_mut().filter(|message| message.number == number) {
                message.carried.clone_from(&text);
            }
        }
    }

    /// A message is appended, and the page does not see it.
    fn is_found(&mut self) {
        let message = self.message(None);
        self.chat.push(message);
    }

    fn is_reopened(&mut self) {
        self.journal = ChatJournal::new("s");
        for place in 0..self.chat.len() {
            self.newest += 1;
            self.chat[place].number = self.newest;
        }
        self.known.clear();
        self.sync();
    }

    fn happens(&mut self, edit: &Edit) {
        let count = self.chat.len();
        match edit {
            Edit::Arrives => self.arrives(),
            Edit::IsFound => self.is_found(),
            Edit::TimePasses => self.time += 1,
            Edit::IsSaved => self.sync(),
            Edit::FileIsOther => self.checks_file(false, &[]),
            _ if count == 0 => {}
            Edit::Deletes(at) => {
                self.chat.remove(at.index(count));
            }
            Edit::DeletesLast => {
                self.chat.pop();
            }
            Edit::Inserts(at, copied) => {
                let at = at.index(count);
                let carried = copied.and_then(|from| self.chat[from.index(count)].carried.clone());
                let message = self.message(carried);
                self.chat.insert(at, Message { is_inserted: true, ..message });
            }
            Edit::Swaps(one, other) => {
                let (one, other) = (one.index(count), other.index(count));
                let arrivals = [one, other].map(|place| self.chat[place].arrivals.clone()).concat();
                for place in [one, other] {
                    self.chat[place].arrivals.clone_from(&arrivals);
                }
                self.chat.swap(one, other);
            }
            Edit::IsReplaced(at) => self.chat[at.index(count)] = self.message(None),
            Edit::IsCopied(at) => {
                self.newest += 1;
                self.chat[at.index(count)].number = self.newest;
            }
            Edit::LosesRecord(at) => self.chat[at.index(count)].carried = None,
        }
    }

    /// Whether the book's file was what the page knew when the last message arrived.
    fn file(&self) -> Option<bool> {
        let records = self.records();
        records.get(self.chat.len() - 1)?.arrival.as_ref()?.file
    }

    fn records(&self) -> Records {
        let record = |text: &Vec<u8>| Record::from_json(&Json::parse(text).expect("it is JSON"));
        self.chat.iter().map(|message| message.carried.as_ref().and_then(record)).collect()
    }
}

/// Something that happens to the messages.
#[derive(Clone, Debug)]
enum Edit {
    Arrives,
    IsFound,
    TimePasses,
    IsSaved,
    FileIsOther,
    Deletes(Index),
    DeletesLast,
    Inserts(Index, Option<Index>),
    Swaps(Index, Index),
    IsReplaced(Index),
    IsCopied(Index),
    LosesRecord(Index),
}

impl Edit {
    fn makes_copy(&self) -> bool {
        matches!(self, Self::IsCopied(_) | Self::Inserts(_, Some(_)))
    }
}

fn edit() -> impl Strategy<Value = Edit> {
    let at = any::<Index>;
    prop_oneof![
        6 => Just(Edit::Arrives),
        1 => Just(Edit::IsFound),
        4 => Just(Edit::TimePasses),
        4 => Just(Edit::IsSaved),
        1 => Just(Edit::FileIsOther),
        2 => at().prop_map(Edit::Deletes),
        2 => Just(Edit::DeletesLast),
        2 => (at(), any::<Option<Index>>()).prop_map(|(at, copied)| Edit::Inserts(at, copied)),
        1 => (at(), at()).prop_map(|(one, other)| Edit::Swaps(one, other)),
        1 => at().prop_map(Edit::IsReplaced),
        1 => at().prop_map(Edit::IsCopied),
        1 => at().prop_map(Edit::LosesRecord),
    ]
}

/// No record claims a state in which its message did not arrive.
fn check_claims(page: &Page) -> Result<(), TestCaseError> {
    let records = page.records();
    for (place, pair) in page.chat.windows(2).enumerate() {
        let Some(arrival) = records.testimony(place) else { continue };
        let states: Vec<RecordedState> =
            pair[1].arrivals.iter().map(|time| state_at(*time)).collect();
        for part in [StatePart::Book, StatePart::Metadata] {
            let Some(proved) = arrival.proved(part) else { continue };
            let is_true = states.iter().any(|state| state.digest(part) == proved);
            prop_assert!(is_true, "{:?} at {}: {:?}", part, place, arrival);
        }
    }
    Ok(())
}

/// The states that the records fold to were observed, in this order, and the last one is today's.
fn check_chain(page: &Page) -> Result<(), TestCaseError> {
    let records = page.records();
    let mut newest = 0;
    for place in 0..page.chat.len() {
        let found = records.newest(place);
        if records.get(place).is_some_and(|record| record.gap >= 0) {
            prop_assert_eq!(found.as_ref().map(|found| found.message), Some(place));
        }
        if let Some(Folded { state, .. }) = found {
            let time = (0..=page.time).find(|time| state_at(*time) == state);
            prop_assert!(time >= Some(newest), "{:?} after {} at {}", time, newest, place);
            newest = time.unwrap_or(0);
        }
    }
    prop_assert_eq!(newest, page.time);
    Ok(())
}

#[test]
fn a_file_that_was_read_before_a_message_arrived_can_refute_but_not_confirm() {
    let mut page = Page::new();
    page.is_seen_arriving();
    page.checks_file(true, &[]);
    assert_eq!((page.file(), page.journal.unchecked(NAME).len()), (None, 1));
    page.checks_file(false, &[]);
    assert_eq!((page.file(), page.journal.unchecked(NAME).len()), (Some(false), 0));
    page.is_seen_arriving();
    let arrived = page.journal.unchecked(NAME);
    page.checks_file(true, &arrived);
    assert_eq!((page.file(), page.journal.unchecked(NAME).len()), (Some(true), 0));
    page.checks_file(false, &[]);
    assert_eq!(page.file(), Some(true), "what was proved stays proved");
}

#[test]
fn a_book_that_the_page_has_no_copy_of_is_what_the_file_holds() {
    for (later, is_same) in [(0, true), (1, false)] {
        let mut page = Page::new();
        let changes = page.journal.sync(page.look(), Observation { is_own: false, ..page.now() });
        page.write(changes);
        page.is_seen_arriving();
        let is_assumed = |page: &Page| page.records().get(1).is_some_and(|record| record.assumed);
        assert!(is_assumed(&page));
        // What the page has read before does not matter.
        page.time += later;
        let arrived = page.journal.unchecked(NAME);
        page.checks_file(!is_same, &arrived);
        assert_eq!((page.file(), is_assumed(&page)), (Some(is_same), !is_same));
    }
}

#[test]
fn only_messages_that_arrived_in_this_page_with_this_book_are_checked() {
    let mut page = Page::new();
    page.is_seen_arriving();
    assert_eq!(page.journal.unchecked("Other"), Vec::<String>::new());
    page.is_reopened();
    assert_eq!(page.journal.unchecked(NAME), Vec::<String>::new());
    page.is_seen_arriving();
    assert_eq!(page.journal.unchecked(NAME).len(), 1);
    page.checks_file(false, &[]);
    assert_eq!(page.file(), Some(false));
    page.chat.pop();
    assert_eq!(page.file(), None, "the page that saw it did not check");
}

#[test]
fn nothing_is_recorded_while_the_book_is_missing() {
    let mut page = Page::new();
    page.time += 1;
    let now = Observation { book: ObservedText::Missing, ..page.now() };
    assert_eq!(page.journal.sync(page.look(), now).len(), 0);
    page.sync();
    assert_eq!(page.records().newest(0).map(|found| found.state), Some(state_at(1)));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, rng_seed: RngSeed::Fixed(0x10ad_ed17), ..ProptestConfig::default() })]

    #[test]
    fn whatever_happens_to_the_messages_the_chain_holds(steps in vec(vec(edit(), 0..6), 1..10)) {
        let mut page = Page::new();
        let mut is_clear = true;
        for edits in steps {
            page.time += 1;
            // A copy whose original was deleted is taken for it, wherever it is.
            is_clear &= edits.len() == 1 || !edits.iter().any(Edit::makes_copy);
            let before: Vec<u32> = page.chat.iter().map(|message| message.number).collect();
            edits.iter().for_each(|edit| page.happens(edit));
            if !page.chat.iter().any(|message| before.contains(&message.number)) {
                // Copies of deleted messages would be a different chat, with gaps in its past.
                let message = page.message(None);
                page.chat = vec![message];
            }
            page.sync();
            if is_clear {
                check_claims(&page)?;
            }
        }
        check_chain(&page)?;
    }

    #[test]
    fn what_is_claimed_was_observed_also_after_the_chat_is_opened_again(
        steps in vec((edit(), prop::bool::weighted(0.1)), 1..40),
    ) {
        let mut page = Page::new();
        for (edit, is_reopened) in steps {
            page.happens(&edit);
            if page.chat.is_empty() {
                page.is_found();
            }
            page.sync();
            if is_reopened {
                page.is_reopened();
            }
            check_claims(&page)?;
        }
    }

    #[test]
    fn a_second_look_changes_nothing(steps in vec(edit(), 1..30)) {
        let mut page = Page::new();
        for edit in steps {
            page.happens(&edit);
            page.sync();
            prop_assert_eq!(page.journal.sync(page.look(), page.now()).len(), 0);
            let same = OpenChat::default();
            let now = Observation { book: ObservedText::Unchanged, metadata: None, ..page.now() };
            prop_assert_eq!(page.journal.sync(same, now).len(), 0);
        }
    }

    #[test]
    fn fields_of_any_shape_do_no_harm(
        steps in vec(edit(), 1..20),
        fields in vec((any::<Index>(), any::<Index>()), 1..6),
    ) {
        const ODD: [&str; 8] = [
            "5",
            r#""text""#,
            "[]",
            r#"{"came":{"book":"x"}}"#,
            r#"{"uid":7,"came":{"book":"x"}}"#,
            r#"{"v":2,"uid":{},"came":3,"gap":0.5}"#,
            r#"{"v":2,"id":"","uid":"1-r","came":{"after":[],"book":1}}"#,
            r#"{"v":3,"id":"a.b","uid":"1-r","came":{"after":"0-r","book":"x"},"new":1}"#,
        ];
        let mut page = Page::new();
        let mut fields = fields.iter();
        for edit in steps {
            page.happens(&edit);
            if let Some((at, which)) = fields.next().filter(|_| !page.chat.is_empty()) {
                let at = at.index(page.chat.len());
                page.chat[at] = page.message(Some(ODD[which.index(ODD.len())].into()));
            }
            page.sync();
            check_claims(&page)?;
        }
    }
}
