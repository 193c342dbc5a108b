//! The moment: the book and the metadata at a message, and how exactly they are known.

use std::ops::ControlFlow;

use crate::journal::{
    Entries, OTHERS, RECORDED_METADATA, RecordedState, StatePart, is_foreign_key, others_today,
    unknown_keys,
};
use crate::recap::snapshot::{self, RebuiltBook};
use crate::recap::{combined, running};
use crate::sillytavern::book::{Book, BookError};
use crate::sillytavern::chat::Chat;
use crate::timeline::books_named::replaced_books;
use crate::timeline::claim::{Evidence, TodaySource};
use crate::timeline::exactness::{Exactness, Knowledge, Source};
use forklore_json::{JsText, Json, Object};

/// A chat and its bound book, as they are now.
#[derive(Clone, Copy, Debug)]
pub struct BoundChat<'a> {
    pub name: &'a str,
    pub chat: &'a Chat<'a>,
    pub bound: &'a BoundBook<'a>,
    /// What the history knows about the message, if there is a history.
    pub past: Option<&'a RecordedPast>,
}

/// The book that a chat is bound to, as it is on disk.
#[derive(Clone, Debug)]
pub enum BoundBook<'a> {
    /// The chat does not name a book.
    None,
    /// The chat names a book whose file does not exist.
    Missing {
        name: String,
    },
    Unreadable {
        name: String,
        error: BookError,
    },
    There {
        name: String,
        book: Book<'a>,
    },
}

impl<'a> BoundBook<'a> {
    /// The name in the chat's metadata.
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::None => None,
            Self::Missing { name } | Self::Unreadable { name, .. } | Self::There { name, .. } => {
                Some(name)
            }
        }
    }

    pub fn book(&self) -> Option<&Book<'a>> {
        match self {
            Self::There { book, .. } => Some(book),
            _ => None,
        }
    }

    /// Reads the book from the name in the chat and the bytes of its file.
    pub fn read(name: Option<String>, bytes: Option<&'a [u8]>) -> Self {
        match (name, bytes) {
            (None, _) => Self::None,
            (Some(name), None) => Self::Missing { name },
            (Some(name), Some(bytes)) => match Book::read(bytes) {
                Ok(book) => Self::There { name, book },
                Err(error) => Self::Unreadable { name, error },
            },
        }
    }
}

/// What the versions in a history know about a message.
#[derive(Clone, Debug, Default)]
pub struct RecordedPast {
    /// The chat's metadata.
    pub metadata: Option<AsOf<Json>>,
    /// The bound book; the inner `None` means that none was bound.
    pub book: Option<AsOf<Option<BookFile>>>,
    /// A book with the digest that the chat's own records prove.
    pub testified: Option<BookFile>,
}

/// The name and bytes of a book file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BookFile {
    pub name: String,
    pub bytes: Vec<u8>,
}

/// Something from the files at a time when `message` was the last one.
#[derive(Clone, Debug)]
pub struct AsOf<T> {
    pub message: usize,
    pub value: T,
}

/// The book at a moment.
#[derive(Clone, Debug)]
pub enum BookThen<'a> {
    /// No book was bound, or none is bound now and nothing indicates that one was.
    None(Knowledge),
    Known {
        part: Knowledge,
        name: String,
        content: BookContent<'a>,
    },
    /// A book was bound, but its content is unknown.
    Unknown,
}

/// The book's content: the bytes of a file, or a value built from a record or snapshot.
#[derive(Clone, Debug)]
pub enum BookContent<'a> {
    Bytes(Book<'a>),
    Journal(Object),
    Rebuilt(RebuiltBook),
}

/// The chat's metadata at a moment.
#[derive(Clone, Debug, PartialEq)]
pub struct MetadataThen {
    /// How the keys are known of which anything is: SillyTavern's own, and recorded ones.
    pub part: Knowledge,
    /// The recorded metadata, including what is known of the running recap; `None` to use today's.
    pub values: Option<Object>,
    /// Keys that have today's value, because the value at the moment is unknown.
    pub live_keys: Vec<String>,
    /// The same for keys of other extensions.
    pub live_other_keys: Vec<String>,
    /// Keys of other extensions that had values which were not recorded, and do not exist today.
    pub lost_other_keys: Vec<String>,
}

impl MetadataThen {
    /// How all of it is known.
    pub fn claim(&self) -> Knowledge {
        let is_whole = self.live_other_keys.is_empty() && self.lost_other_keys.is_empty();
        if is_whole { self.part } else { Knowledge::LIVE }
    }
}

#[derive(Clone, Debug)]
pub struct Moment<'a> {
    pub message: usize,
    pub book: BookThen<'a>,
    pub metadata: MetadataThen,
}

/// The chat's memory at message `m`, apart from its book: SillyTavern's own metadata and the recaps
/// of scenes that had ended. `values` is the metadata recorded then, if any.
pub fn memory_then(chat: &Chat<'_>, m: usize, values: Option<&Object>) -> Json {
    let metadata = chat.metadata().and_then(|metadata| metadata.json().ok()).unwrap_or(Json::Null);
    let mut then = match values {
        Some(values) => values.clone(),
        None => {
            let kept = RECORDED_METADATA.iter();
            kept.filter_map(|key| Some((*key, metadata.get(key)?.clone()))).collect()
        }
    };
    // The data of other extensions is not meant for people to read.
    let of_others: Vec<JsText> =
        then.keys().filter(|key| is_foreign_key(&key.to_string_lossy())).cloned().collect();
    for key in of_others.iter().chain([&JsText::from(OTHERS)]) {
        then.remove_text(key);
    }
    let known = then.remove(running::KEY);
    let today = metadata.get(running::KEY);
    if let Some(cut) = running::cut(today, known.as_ref(), m, "", |_| true) {
        then.insert(running::KEY, cut.recap);
    }
    if let Some(recap) = metadata.at(&combined::PATH).filter(|r| combined::is_of_the_past(r, m)) {
        let [outer, inner] = combined::PATH;
        then.insert(outer, Json::object([(inner, recap.clone())]));
    }
    then.into()
}

/// Options for working out a moment.
#[derive(Clone, Copy, Debug, Default)]
pub struct MomentOptions {
    /// Fills the fields that a recap snapshot does not store from today's entries.
    pub fill: bool,
    /// Where the chat and its book come from.
    pub today: TodaySource,
    /// The page's copy of the book is not what the file holds, so there are two states today.
    pub is_behind: bool,
    /// At the end of a scene, prefers the book as the scene's recap left it. The extension finishes
    /// this a little after the message.
    pub settled: bool,
}

/// Works out the moment at message `m` from the chat, its book, and what the history knows about
/// it.
pub fn moment<'a>(
    chat: &Chat<'_>,
    bound: &BoundBook<'a>,
    past: Option<&'a RecordedPast>,
    m: usize,
    options: MomentOptions,
) -> Moment<'a> {
    let query = Query { chat, bound, past, m, evidence: Evidence::of(chat, m), options };
    Moment { message: m, book: query.book(), metadata: query.metadata() }
}

struct Query<'c, 'a> {
    chat: &'c Chat<'c>,
    bound: &'c BoundBook<'a>,
    past: Option<&'a RecordedPast>,
    m: usize,
    evidence: Evidence,
    options: MomentOptions,
}

impl<'a> Query<'_, 'a> {
    fn book(&self) -> BookThen<'a> {
        let settled = self.options.settled.then(|| self.settled_book()).flatten();
        let best = || self.exact_book().or_else(|| self.book_as_of());
        // A chat whose book replaces others used those before it had its own. What was in them is
        // not recorded; its own book is the nearest.
        let is_known = |then: &BookThen<'_>| {
            !matches!((then, self.bound), (BookThen::None(_), BoundBook::There { .. }))
                || replaced_books(&self.chat.metadata_value()).is_empty()
        };
        settled.or_else(best).filter(is_known).unwrap_or_else(|| match self.bound {
            BoundBook::None => BookThen::None(Knowledge::LIVE),
            BoundBook::There { name, book } => BookThen::of_file(Knowledge::LIVE, name, book),
            BoundBook::Missing { .. } | BoundBook::Unreadable { .. } => BookThen::Unknown,
        })
    }

    /// Today's state, as far as it matters for `part`; `None` if it cannot be read.
    fn today(&self, part: StatePart) -> Option<RecordedState> {
        match (part, self.bound) {
            (StatePart::Book, BoundBook::There { name, book }) => {
                RecordedState::of_book(name, book)
            }
            (StatePart::Book, BoundBook::None) => Some(RecordedState::default()),
            (StatePart::Book, _) => None,
            (StatePart::Metadata, _) => Some(RecordedState::of(&self.chat.metadata_value(), None)),
        }
    }

    fn is_today(&self, part: StatePart) -> bool {
        self.evidence.is_today(part, self.options.today, || self.today(part))
    }

    fn exact_book(&self) -> Option<BookThen<'a>> {
        let is_there = matches!(self.bound, BoundBook::None | BoundBook::There { .. });
        if is_there && self.is_today(StatePart::Book) {
            return Some(match self.bound {
                BoundBook::There { name, book } => {
                    let known = if self.options.is_behind {
                        Knowledge { exactness: Exactness::Snapshot(self.m), source: Source::Files }
                    } else {
                        Knowledge::EXACT_FROM_FILES
                    };
                    BookThen::of_file(known, name, book)
                }
                _ => BookThen::None(Knowledge::EXACT_FROM_FILES),
            });
        }
        let exact = |source| Knowledge { exactness: Exactness::Exact, source };
        let proved = self.evidence.proved(StatePart::Book)?;
        if let Some(folded) = &self.evidence.folded
            && folded.state.digest(StatePart::Book) == proved
        {
            return Some(BookThen::of_state(exact(Source::Journal), &folded.state));
        }
        if let Some(BookFile { name, bytes }) = self.past.and_then(|past| past.testified.as_ref())
            && let Ok(book) = Book::read(bytes)
            && RecordedState::of_book(name, &book)
                .is_some_and(|s| s.digest(StatePart::Book) == proved)
        {
            return Some(BookThen::of_file(exact(Source::History), name, &book));
        }
        let is_today =
            || self.today(StatePart::Book)?.digest(StatePart::Book).eq(proved).then_some(());
        is_today()?;
        Some(match self.bound {
            BoundBook::There { name, book } => {
                BookThen::of_file(exact(Source::Unchanged), name, book)
            }
            _ => BookThen::None(exact(Source::Unchanged)),
        })
    }

    /// The newest state that any source knows. On a tie, the journal wins over the history.
    fn book_as_of(&self) -> Option<BookThen<'a>> {
        let journal = self.evidence.with_book().map(|folded| folded.message);
        let history = self.past.and_then(|past| past.book.as_ref());
        let history = history.filter(|past| past.message <= self.m);
        let history = history
            .filter(|past| past.value.as_ref().is_none_or(|file| Book::read(&file.bytes).is_ok()));
        let newest = journal.max(history.map(|past| past.message));
        let recap = if newest < Some(self.m) { snapshot::newest(self.chat, self.m) } else { None };
        let newest = newest.max(recap.as_ref().map(|recap| recap.message))?;
        let as_of = |source| Knowledge { exactness: Exactness::Snapshot(newest), source };
        if let Some(folded) = self.evidence.with_book().filter(|f| f.message == newest) {
            return Some(BookThen::of_state(as_of(Source::Journal), &folded.state));
        }
        if let Some(past) = history.filter(|past| past.message == newest) {
            return match &past.value {
                Some(BookFile { name, bytes }) => {
                    Some(BookThen::of_file(as_of(Source::History), name, &Book::read(bytes).ok()?))
                }
                None => Some(BookThen::None(as_of(Source::History))),
            };
        }
        let recap = recap?;
        let name = recap.book.clone().or_else(|| self.bound.name().map(str::to_owned));
        Some(BookThen::Known {
            part: as_of(Source::RecapSnapshot),
            name: name.unwrap_or_default(),
            content: BookContent::Rebuilt(recap.rebuild(self.bound.book(), self.options.fill)),
        })
    }

    fn metadata(&self) -> MetadataThen {
        let then = |exactness, source, values: Option<Object>| {
            let today = self.chat.metadata_value();
            let unknown = values.as_ref().map(|values| unknown_keys(values, &today));
            let (mut live_other_keys, lost_other_keys): (Vec<_>, Vec<_>) =
                unknown.into_iter().flatten().partition(|key| today.get(key).is_some());
            if values.is_some() {
                let deep = self.chat.deep_metadata().into_iter();
                live_other_keys.extend(deep.filter(|key| is_foreign_key(key)));
            }
            let part = Knowledge { exactness, source };
            let live_keys = Vec::new();
            MetadataThen { part, values, live_keys, live_other_keys, lost_other_keys }
        };
        if self.is_today(StatePart::Metadata) {
            return then(Exactness::Exact, Source::Files, None);
        }
        let folded = self.evidence.folded.as_ref();
        let past = self.past.and_then(|past| past.metadata.as_ref());
        let past = past.filter(|past| past.message <= self.m);
        if let Some(proved) = self.evidence.proved(StatePart::Metadata) {
            let shows = |state: &RecordedState| state.digest(StatePart::Metadata) == proved;
            if let Some(folded) = folded.filter(|folded| shows(&folded.state)) {
                let values = Some(folded.state.metadata.clone());
                return then(Exactness::Exact, Source::Journal, values);
            }
            let state = past.map(|past| RecordedState::of(&past.value, None));
            if let (Some(past), Some(_)) = (past, state.filter(shows)) {
                return then(Exactness::Exact, Source::History, Some(values_in(&past.value)));
            }
            if let Some(today) = self.today(StatePart::Metadata).filter(shows) {
                return then(Exactness::Exact, Source::Unchanged, Some(today.metadata));
            }
        }
        match (folded, past) {
            (Some(folded), past) if past.is_none_or(|past| past.message <= folded.message) => {
                let values = Some(folded.state.metadata.clone());
                then(Exactness::Snapshot(folded.message), Source::Journal, values)
            }
            (_, Some(past)) => {
                let values = Some(values_in(&past.value));
                then(Exactness::Snapshot(past.message), Source::History, values)
            }
            _ => {
                let live_keys = nondefault_keys(self.chat);
                let live_other_keys = others_today(&self.chat.metadata_value());
                MetadataThen {
                    part: Knowledge::LIVE,
                    values: None,
                    live_keys,
                    live_other_keys,
                    lost_other_keys: Vec::new(),
                }
            }
        }
    }

    /// The book as the recap left it, for a scene that ends at this message.
    ///
    /// ST-Auto-Recap finishes its work on a scene's lore a little after the scene's last message,
    /// and its own snapshot shows the result. This applies only to the book: variables and notes
    /// are those of the message.
    fn settled_book(&self) -> Option<BookThen<'a>> {
        let snapshot = snapshot::of_scene(self.chat, self.m)?;
        let at_message = self.evidence.folded.as_ref().filter(|f| f.message == self.m)?;
        let shows = |state: &RecordedState| {
            let entries = state.book.as_ref().and_then(|book| book.entries());
            entries.is_some_and(|all| snapshot.matches(all.iter().map(|(_, entry)| entry)))
        };
        if shows(&at_message.state) {
            return None;
        }
        let is_scene = |index: &usize| snapshot::of_scene(self.chat, *index).is_some();
        let next_scene = (self.m + 1..self.chat.len()).find(is_scene).unwrap_or(self.chat.len());
        let mut settled = None;
        let mut expected = self.m + 1;
        let mut unproved = Unproved::of(&at_message.state);
        self.evidence.records.walk(self.m, next_scene, |message, state, id| {
            if message <= self.m {
                return ControlFlow::Continue(());
            }
            // In a gap, what the snapshot does not store may have changed unnoticed. Once it has
            // changed, later states contain something newer than the scene.
            if message != expected || !unproved.is_unchanged_in(state) {
                return ControlFlow::Break(());
            }
            expected += 1;
            if shows(state) && state.has_id(id) {
                settled = Some(message);
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        });
        // Check that the record is in its place, as for any other message.
        let settled = settled.and_then(|message| {
            self.evidence.records.newest_with_book(message).filter(|f| f.message == message)
        })?;
        let part =
            Knowledge { exactness: Exactness::Settled(settled.message), source: Source::Journal };
        Some(BookThen::of_state(part, &settled.state))
    }
}

impl<'a> BookThen<'a> {
    fn of_file(part: Knowledge, name: &str, book: &Book<'a>) -> Self {
        Self::Known { part, name: name.to_owned(), content: BookContent::Bytes(book.clone()) }
    }

    fn of_state(part: Knowledge, state: &RecordedState) -> Self {
        match &state.book {
            None => Self::None(part),
            Some(book) => Self::Known {
                part,
                name: book.name.clone(),
                content: BookContent::Journal(book.content()),
            },
        }
    }
}

/// The parts of a book that a recap snapshot does not store, and so cannot prove.
struct Unproved {
    fields: Option<Object>,
    entries: Object,
}

impl Unproved {
    fn of(state: &RecordedState) -> Self {
        let mut unproved = Self { fields: fields_of(state), entries: Object::new() };
        unproved.is_unchanged_in(state);
        unproved
    }

    /// Whether everything seen before is unchanged. Remembers entries seen for the first time.
    fn is_unchanged_in(&mut self, state: &RecordedState) -> bool {
        if fields_of(state) != self.fields {
            return false;
        }
        let entries = state.book.as_ref().and_then(|book| book.entries());
        entries.into_iter().flat_map(Entries::iter).all(|(key, entry)| {
            let lost = snapshot::lost_fields(entry);
            match self.entries.get_text(key) {
                Some(before) => *before == lost,
                None => {
                    self.entries.insert(key.clone(), lost);
                    true
                }
            }
        })
    }
}

/// The values to restore from a version of a chat's metadata, with the whole running recap.
fn values_in(metadata: &Json) -> Object {
    let mut values = RecordedState::of(metadata, None).metadata;
    if let Some(recap) = metadata.get(running::KEY) {
        values.insert(running::KEY, recap.clone());
    }
    values
}

/// The book's fields other than its entries.
fn fields_of(state: &RecordedState) -> Option<Object> {
    Some(state.book.as_ref()?.fields())
}

/// Recorded keys whose value in the chat differs from SillyTavern's default.
fn nondefault_keys(chat: &Chat<'_>) -> Vec<String> {
    let Some(metadata) = chat.metadata() else { return Vec::new() };
    RECORDED_METADATA
        .iter()
        .filter(|key| {
            let value = metadata.get(key).and_then(|value| value.json().ok());
            value.is_some_and(|value| !is_default(key, &value))
        })
        .map(|key| (*key).to_owned())
        .collect()
}

fn is_default(key: &str, value: &Json) -> bool {
    match key {
        "note_prompt" => *value == Json::from(""),
        "note_interval" | "note_position" => *value == Json::Number(1.0),
        "note_depth" => *value == Json::Number(4.0),
        "note_role" => *value == Json::Number(0.0),
        "timedWorldInfo" => {
            value.members().all(|(_, kind)| kind.as_object().is_none_or(Object::is_empty))
        }
        _ => match value {
            Json::Object(object) => object.is_empty(),
            Json::Array(list) => list.is_empty(),
            _ => false,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::{FIELD, Limits, RecordId, record};
    use crate::sillytavern::chat::ChatKind;

    /// Makes a chat with one message for each state (content and scan depth, `None` if nothing was
    /// recorded). The first is a scene break whose snapshot has the content `new`. Returns the
    /// entry at the scene break.
    fn entry_at_the_scene_break(states: &[Option<(&str, i64)>]) -> Option<Json> {
        numbered_at_the_scene_break(states, &[])
    }

    /// The same, with these arrival numbers.
    fn numbered_at_the_scene_break(
        states: &[Option<(&str, i64)>],
        numbers: &[u64],
    ) -> Option<Json> {
        let entry = |content: &str, depth: i64| {
            format!(r#"{{"uid":7,"comment":"c","content":"{content}","scanDepth":{depth}}}"#)
        };
        let mut before: Option<(String, RecordedState)> = None;
        let mut text = br#"{"chat_metadata":{"world_info":"B"}}"#.to_vec();
        for (index, state) in states.iter().enumerate() {
            let mut message = Object::new();
            if index == 0 {
                let memory = r#"{"auto_recap_memory":{"scene_break":true,"scene_recap_metadata":{"1":{"timestamp":1,"chatLorebookName":"B","allEntries":[{"uid":7,"comment":"c","content":"new"}]}}}}"#;
                message.insert("extra", Json::parse(memory.as_bytes()).unwrap());
            }
            if let Some((content, depth)) = state {
                let book = format!(r#"{{"entries":{{"7":{}}}}}"#, entry(content, *depth));
                let book = Json::parse(book.as_bytes()).unwrap();
                let now = RecordedState::of(&Json::Null, Some(("B", &book)));
                let previous = before.as_ref().map(|(id, state)| (id.as_str(), state));
                let mut made = record(previous, &now, Limits::default());
                made.uid = numbers.get(index).map(|number| RecordId::new(*number, "page"));
                message.insert(FIELD, made.to_json());
                before = Some((made.id, now));
            }
            text.push(b'\n');
            text.extend(Json::Object(message).stringify());
        }
        let chat = Chat::read(&text, ChatKind::Solo);
        let options = MomentOptions { settled: true, ..MomentOptions::default() };
        let moment = moment(&chat, &BoundBook::Missing { name: "B".into() }, None, 0, options);
        let BookThen::Known { content: BookContent::Journal(book), .. } = moment.book else {
            return None;
        };
        Json::Object(book).at(&["entries", "7"]).cloned()
    }

    fn depth_at_the_scene_break(states: &[Option<(&str, i64)>]) -> Option<i64> {
        entry_at_the_scene_break(states)?.get("scanDepth")?.as_i64()
    }

    fn content_at_the_scene_break(states: &[Option<(&str, i64)>]) -> Option<String> {
        Some(entry_at_the_scene_break(states)?.get("content")?.as_str()?.into_owned())
    }

    #[test]
    fn what_an_extension_wrote_later_is_no_state_of_a_message_that_is_the_last_again() {
        let mut now = RecordedState::of(&Json::Null, None);
        let is_exact = |state: &RecordedState| {
            let record = record(None, state, Limits::default()).to_json();
            let message = Json::object([("mes", "x".into()), (FIELD, record)]).stringify();
            // The messages after it were deleted, but the header is newer than this message.
            let text = [&br#"{"chat_metadata":{"counter":5}}"#[..], &message].join(&b'\n');
            let chat = Chat::read(&text, ChatKind::Solo);
            let then = moment(&chat, &BoundBook::None, None, 0, MomentOptions::default()).metadata;
            then.part.exactness == Exactness::Exact
        };
        assert!(!is_exact(&now), "it was recorded that there was none");
        now.metadata.remove(OTHERS);
        assert!(!is_exact(&now), "an older version recorded nothing of it");
    }

    #[test]
    fn before_a_chat_had_its_own_copy_of_shared_lore_the_copy_is_the_nearest() {
        let none = RecordedState::of(&Json::Null, None);
        let first = record(None, &none, Limits::default()).to_json();
        let message = Json::object([("mes", "x".into()), (FIELD, first)]).stringify();
        let later = Json::object([("mes", "y".into())]).stringify();
        let book_at = |header: &str, m: usize| {
            let text = [header.as_bytes(), &message, &later].join(&b'\n');
            let chat = Chat::read(&text, ChatKind::Solo);
            let bound = BoundBook::read(Some("Copy".into()), Some(br#"{"entries":{}}"#));
            match moment(&chat, &bound, None, m, MomentOptions::default()).book {
                BookThen::Known { name, part, .. } => Some((name, part.exactness)),
                _ => None,
            }
        };
        let own = r#"{"chat_metadata":{"world_info":"Copy"}}"#;
        let instead = r#"{"chat_metadata":{"world_info":"Copy","forklore_instead":["Eldoria"]}}"#;
        assert_eq!(book_at(own, 0), None, "there was no lore then");
        assert_eq!(book_at(instead, 0), Some(("Copy".into(), Exactness::Live)));
        assert_eq!(book_at(instead, 1), Some(("Copy".into(), Exactness::Exact)));
    }

    #[test]
    fn at_a_scene_break_the_book_is_the_one_its_snapshot_shows() {
        let settled = [Some(("old", 1)), Some(("old", 1)), Some(("new", 1)), Some(("new", 4))];
        assert_eq!(content_at_the_scene_break(&settled), Some("new".into()));
    }

    #[test]
    fn a_record_that_is_not_in_its_place_settles_nothing() {
        let states = [Some(("old", 1)), Some(("new", 1)), Some(("new", 4))];
        let content = |numbers: &[u64]| {
            let entry = numbered_at_the_scene_break(&states, numbers);
            entry.and_then(|entry| Some(entry.get("content")?.as_str()?.into_owned()))
        };
        assert_eq!(content(&[1, 2, 3]), Some("new".into()));
        assert_eq!(content(&[1, 3, 3]), Some("old".into()), "a copy of the next one's");
        assert_eq!(content(&[1, 3, 2]), Some("old".into()), "changed places");
    }

    #[test]
    fn what_a_snapshot_does_not_keep_is_never_newer_than_the_scene() {
        let edited = [Some(("old", 1)), Some(("old", 2)), Some(("new", 2)), Some(("new", 4))];
        assert_eq!(depth_at_the_scene_break(&edited), Some(1));
        assert_eq!(content_at_the_scene_break(&edited), Some("old".into()));
    }

    #[test]
    fn an_entry_that_the_editor_has_completed_is_unchanged() {
        let state = |fields: &str| {
            let book = format!(r#"{{"entries":{{"7":{{"uid":7,"comment":"c"{fields}}}}}}}"#);
            let book = Json::parse(book.as_bytes()).unwrap();
            RecordedState::of(&Json::Null, Some(("B", &book)))
        };
        let mut unproved = Unproved::of(&state(""));
        let filter = r#""characterFilter":{"isExclude":false,"names":[],"tags":[]}"#;
        let completed = format!(r#","displayIndex":7,"scanDepth":null,"triggers":[],{filter}"#);
        assert!(unproved.is_unchanged_in(&state(&completed)));
        assert!(!unproved.is_unchanged_in(&state(r#","scanDepth":2"#)));
    }

    #[test]
    fn over_a_gap_in_the_journal_a_snapshot_proves_nothing() {
        let with_a_gap = [Some(("old", 1)), None, Some(("new", 9)), Some(("newer", 9))];
        assert_eq!(depth_at_the_scene_break(&with_a_gap), Some(1));
    }
}
