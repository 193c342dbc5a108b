//! The journal of an open chat: which record each message must carry.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::carried::{CarriedRecord, Slot, is_same};
use super::placement::{InsertedUids, Placement, Places, reassigned, set_gaps};
use crate::journal::record::{Limits, Record};
use crate::journal::state::RecordedState;
use crate::journal::testimony::StatePart;
use crate::journal::writer::Writer;
use crate::sillytavern::book::Book;
use forklore_json::Json;

/// Follows a chat that is open in a page. The page reports what happened, and writes the records
/// that are returned into its messages before it reports anything else.
///
/// A message is identified by a number that never changes, whatever happens to its content. 0
/// stands for something in the chat that cannot carry a record.
#[derive(Debug)]
pub struct ChatJournal {
    writer: Writer,
    uids: InsertedUids,
    /// `None` if nothing is known of the chat.
    known: Option<Known>,
    observed: Option<ObservedBook>,
    /// The book that each digest in this page's records belongs to. A digest does not contain the
    /// name of its book: it is the one bound when the digest first appears.
    books: Vec<(String, Option<String>)>,
}

/// The messages at the last call, and the record of each.
#[derive(Debug, Default)]
struct Known {
    messages: Vec<u32>,
    records: Vec<Slot>,
}

/// The book that the writer observed last.
#[derive(Debug)]
struct ObservedBook {
    name: Option<String>,
    has_text: bool,
    is_own: bool,
    is_assumed: bool,
}

/// The messages of the open chat.
#[derive(Debug, Default)]
pub struct OpenChat {
    /// Their numbers; `None` if they are the same as at the last call.
    pub messages: Option<Vec<u32>>,
    /// The places whose message carries something other than the record that was returned for it
    /// last, and what it carries. All records, for a message that was not there at the last call.
    pub carried: Vec<(usize, Option<CarriedRecord>)>,
}

/// The state of the chat, as the page sees it now.
#[derive(Debug)]
pub struct Observation {
    /// The name of the bound book.
    pub book_name: Option<String>,
    pub book: ObservedText,
    /// The text is the page's own copy. Otherwise the page has none, and it is the file's.
    pub is_own: bool,
    /// The text is not in the book's file yet.
    pub is_unsaved: bool,
    /// A change of the book was reported since the last call.
    pub is_touched: bool,
    /// The metadata, or at least the part that is recorded; `None` if unchanged since the last
    /// call.
    pub metadata: Option<Json>,
    pub limits: Limits,
}

/// The text of the bound book.
#[derive(Debug)]
pub enum ObservedText {
    /// Unchanged since the last call.
    Unchanged,
    /// Not available. Nothing new is recorded until it is back, because the journal may be needed
    /// to restore it.
    Missing,
    /// The book exists, but was not read since the last message arrived.
    Assumed,
    Read(Vec<u8>),
}

/// The file of a book was read after messages arrived.
#[derive(Debug)]
pub struct FileCheck<'a> {
    pub book_name: &'a str,
    pub text: &'a [u8],
    /// The text is something that the page has read or written.
    pub is_pages: bool,
    /// The uids of the records whose messages had arrived before the read began. Others can be
    /// refuted, but not confirmed.
    pub arrived: &'a [String],
}

/// The places whose message must carry something else now, and what: a record, or none.
pub type Changes = Vec<(usize, Option<Arc<CarriedRecord>>)>;

impl ChatJournal {
    /// `random` distinguishes the uids of this page's records from those of other pages.
    pub fn new(random: &str) -> Self {
        Self {
            writer: Writer::new(Limits::default(), random),
            uids: InsertedUids::new(random),
            known: None,
            observed: None,
            books: Vec::new(),
        }
    }

    /// Brings the records up to date. What changed since the last call belongs to the last message.
    ///
    /// If the chat is not known, only the last message gets a new record; others without one stay
    /// without.
    pub fn sync(&mut self, chat: OpenChat, now: Observation) -> Changes {
        let (messages, carried) = self.resolve(chat);
        let chat = Places { messages: &messages, records: &carried };
        let placement = self.known.as_ref().and_then(|known| {
            let before = Places { messages: &known.messages, records: &known.records };
            reassigned(before, chat, &mut self.uids)
        });
        let records = match placement {
            Some(placement) => self.proceed(messages.len(), now, placement),
            None => self.begin(carried.clone(), now),
        };
        self.place(messages, &carried, records)
    }

    /// Whether this message was in the chat at the last call.
    pub fn knows(&self, message: u32) -> bool {
        self.known.as_ref().is_some_and(|known| known.messages.contains(&message))
    }

    /// Reports that messages were appended right after the last call, in the state observed then.
    pub fn arrived(&mut self, chat: OpenChat) -> Changes {
        let (messages, carried) = self.resolve(chat);
        let mut records = self.known.take().unwrap_or_default().records;
        if let Some(observed) = &self.observed
            && let Some(name) = observed.name.clone()
            && !observed.is_own
            && (observed.has_text || observed.is_assumed)
        {
            // The page has not read the book yet. The next file check tells what the file holds.
            self.assume(name);
        }
        while records.len() < messages.len() {
            records.push(self.writer.arrive().as_ref().map(carried_record));
        }
        self.place(messages, &carried, records)
    }

    /// The uids of the records whose messages arrived in this page while this book was bound, and
    /// whose book file was not checked since. What an earlier page saw but could not save is lost.
    pub fn unchecked(&self, book_name: &str) -> Vec<String> {
        let records = self.known.iter().flat_map(|known| &known.records).flatten();
        let unchecked = records.filter(|record| self.is_unchecked(record, book_name));
        unchecked.filter_map(|record| Some(record.uid()?.to_owned())).collect()
    }

    fn is_unchecked(&self, record: &CarriedRecord, book_name: &str) -> bool {
        let digest = record.unchecked_book().filter(|_| record.is_of_page(self.uids.random()));
        digest.and_then(|digest| self.book_of(digest)?.as_deref()) == Some(book_name)
    }

    /// Reports what the book's file held after messages arrived. It confirms what is recorded about
    /// their arrival, or refutes it, or neither.
    pub fn file_checked(&mut self, check: &FileCheck<'_>) -> Changes {
        let Some(Known { messages, records: carried }) = self.known.take() else {
            return Changes::new();
        };
        let mut digest = None;
        let mut records = carried.clone();
        for slot in &mut records {
            if let Some(record) = slot.as_ref().filter(|r| self.is_unchecked(r, check.book_name))
                && let Some(is_confirmed) = check.verdict(record, &mut digest)
            {
                *slot = Some(Arc::new(record.with_file_check(is_confirmed)));
            }
        }
        if let (Some(Some(last)), Some(before)) = (records.last(), carried.last())
            && !is_same(&Some(Arc::clone(last)), before)
            && let Some(last) = last.record()
        {
            self.writer.amend(&last);
        }
        self.place(messages, &carried, records)
    }

    /// Forgets the chat. The next call starts from the records that its messages carry then.
    pub fn forget(&mut self) {
        self.known = None;
    }

    /// The messages, and what each of them carries.
    fn resolve(&self, chat: OpenChat) -> (Vec<u32>, Vec<Slot>) {
        let nothing = Known::default();
        let known = self.known.as_ref().unwrap_or(&nothing);
        let messages = chat.messages.unwrap_or_else(|| known.messages.clone());
        let both = messages.iter().zip(&known.messages);
        let same = both.take_while(|(one, other)| one == other).count();
        let others = known.messages.iter().enumerate().skip(same);
        let elsewhere: FxHashMap<u32, usize> = others.map(|(place, m)| (*m, place)).collect();
        let mut carried = known.records[..same].to_vec();
        carried.extend(messages[same..].iter().map(|message| {
            let place = elsewhere.get(message)?;
            known.records.get(*place)?.clone()
        }));
        for (place, record) in chat.carried {
            if let Some(slot) = carried.get_mut(place) {
                *slot = record.map(Arc::new);
            }
        }
        for (slot, _) in carried.iter_mut().zip(&messages).filter(|(_, message)| **message == 0) {
            *slot = None;
        }
        (messages, carried)
    }

    fn begin(&mut self, mut records: Vec<Slot>, now: Observation) -> Vec<Slot> {
        self.writer.set_limits(now.limits);
        let json: Vec<Json> =
            records.iter().map(|slot| slot.as_ref().map_or(Json::Null, |r| r.json())).collect();
        for place in self.writer.open(Record::all_from_json(&json)) {
            if let Some(slot) = records.get_mut(place) {
                *slot = slot.as_ref().map(|record| Arc::new(record.moved()));
            }
        }
        self.observe(now);
        self.update_last(&mut records);
        records
    }

    fn proceed(&mut self, count: usize, now: Observation, placement: Placement) -> Vec<Slot> {
        let Placement { mut records, retreats, inherited, is_amended, is_unsure } = placement;
        let record = |slot: Slot| slot.and_then(|record| record.record());
        retreats.into_iter().for_each(|earlier| self.writer.retreat(record(earlier)));
        if let Some(gone) = record(inherited) {
            self.writer.inherit(gone);
        }
        if is_amended && let Some(last) = records.last().cloned().and_then(record) {
            self.writer.amend(&last);
        }
        if is_unsure {
            self.writer.doubt();
        }
        let found = count.saturating_sub(records.len());
        if found > 0 {
            // Their arrival was not observed. Any change since the last observation belongs to the
            // last of them.
            self.update_last(&mut records);
            if is_unsure && let Some(Some(last)) = records.last_mut() {
                // The state while this message was the last one was not observed.
                *last = Arc::new(last.moved());
            }
            self.writer.grow(found, now.is_touched || is_unsure);
            records.resize(count, None);
        }
        self.observe(now);
        self.update_last(&mut records);
        records
    }

    /// Passes on to the writer what has changed, which is usually nothing.
    fn observe(&mut self, now: Observation) {
        let name = now.book_name.filter(|name| !name.is_empty());
        let is_own = now.is_own || name.is_none();
        let before = self.observed.as_ref().filter(|observed| observed.name == name);
        let is_news = match (&now.book, before) {
            (_, None) | (ObservedText::Read(_), _) => true,
            (ObservedText::Missing, Some(before)) => before.has_text || before.is_assumed,
            (ObservedText::Unchanged | ObservedText::Assumed, Some(before)) => before.is_assumed,
        };
        match (now.book, name) {
            (ObservedText::Assumed, Some(name)) => self.assume(name),
            (book, name) if is_news => self.observe_book(name, book),
            _ => {}
        }
        if let Some(observed) = &mut self.observed {
            observed.is_own = is_own;
        }
        self.writer.observe_unsaved(now.is_unsaved);
        if let Some(metadata) = &now.metadata {
            self.writer.observe_metadata(metadata);
        }
    }

    fn observe_book(&mut self, name: Option<String>, book: ObservedText) {
        let text = match book {
            ObservedText::Read(text) => Some(text),
            _ => None,
        };
        let has_text = text.is_some();
        // A book that cannot be read counts as missing.
        let _ = self.writer.observe_book(name.as_deref(), text);
        self.observed = Some(ObservedBook { name, has_text, is_own: true, is_assumed: false });
    }

    fn assume(&mut self, name: String) {
        self.writer.assume_book(&name);
        let is_own = self.observed.as_ref().is_none_or(|observed| observed.is_own);
        self.observed =
            Some(ObservedBook { name: Some(name), has_text: false, is_own, is_assumed: true });
    }

    fn update_last(&mut self, records: &mut [Slot]) {
        if let Some(last) = records.last_mut()
            && let Some(record) = self.writer.record()
        {
            *last = Some(carried_record(&record));
        }
    }

    /// Remembers the records of the messages. Returns those that differ from what is carried.
    fn place(&mut self, messages: Vec<u32>, carried: &[Slot], mut records: Vec<Slot>) -> Changes {
        records.resize(messages.len(), None);
        set_gaps(&mut records);
        let places = records.iter().zip(carried).zip(&messages).enumerate();
        let changes: Changes = places
            .filter(|(_, ((record, carried), message))| **message != 0 && !is_same(record, carried))
            .map(|(place, ((record, _), _))| (place, record.clone()))
            .collect();
        for record in changes.iter().filter_map(|(_, record)| record.as_deref()) {
            self.remember_book(record);
        }
        self.known = Some(Known { messages, records });
        changes
    }

    fn remember_book(&mut self, record: &CarriedRecord) {
        if let Some(digest) = record.arrival_book()
            && self.book_of(digest).is_none()
            && record.is_of_page(self.uids.random())
        {
            let name = self.observed.as_ref().and_then(|observed| observed.name.clone());
            self.books.push((digest.to_owned(), name));
        }
    }

    fn book_of(&self, digest: &str) -> Option<&Option<String>> {
        self.books.iter().find(|(known, _)| known == digest).map(|(_, name)| name)
    }
}

impl FileCheck<'_> {
    /// Whether the file confirms or refutes what is recorded about a message's arrival; `None` if
    /// that cannot be told. `digest` is that of the file, once it is needed.
    fn verdict(&self, record: &CarriedRecord, digest: &mut Option<Option<String>>) -> Option<bool> {
        let is_good = if record.is_arrival_assumed() {
            let digest = digest.get_or_insert_with(|| book_digest(self.book_name, self.text));
            digest.as_deref() == record.arrival_book()
        } else {
            self.is_pages
        };
        // What another device wrote was in the file already, or came in the meantime, for every
        // message that this page has seen since. So any read can refute.
        let uid = record.uid().unwrap_or_default();
        let may_confirm = self.arrived.iter().any(|arrived| arrived == uid);
        (!is_good || may_confirm).then_some(is_good)
    }
}

/// The digest by which records identify a book of this name and text, if it can be read.
fn book_digest(name: &str, text: &[u8]) -> Option<String> {
    let state = RecordedState::of_book(name, &Book::read(text).ok()?)?;
    Some(state.digest(StatePart::Book))
}

fn carried_record(record: &Record) -> Arc<CarriedRecord> {
    Arc::new(CarriedRecord::of_record(record))
}
