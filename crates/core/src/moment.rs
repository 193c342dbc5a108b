//! The moment: the book and the metadata as they were at a message, and how that is known.

use std::ops::ControlFlow;

use crate::book::{Book, BookError};
use crate::chat::Chat;
use crate::exactness::{Exactness, Part, Source};
use crate::journal::{self, Entries, Folded, RECORDED_METADATA, State};
use crate::json::{Json, Object};
use crate::recap::snapshot::{self, Rebuilt};
use crate::recap::{combined, running};

/// The book a chat is bound to, as it is on disk.
#[derive(Clone, Debug)]
pub enum BoundBook<'a> {
    /// The chat names none.
    None,
    /// The chat names one, and there is no such file.
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

    /// From the name a chat gives and the bytes found under it.
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

/// What versions of the files, kept somewhere else, say of a message.
#[derive(Clone, Debug)]
pub struct Past {
    /// The message that this is proved for: the one asked for, or one before it.
    pub message: usize,
    /// Whether nothing can have changed between what is told and the message after that one.
    pub is_exact: bool,
    /// The book's name and bytes.
    pub book: Option<(String, Vec<u8>)>,
    /// The chat's metadata.
    pub metadata: Json,
}

/// The book at a moment.
#[derive(Clone, Debug)]
pub enum BookThen<'a> {
    /// No book was bound, or none is and nothing says that one was.
    None(Part),
    Known {
        part: Part,
        name: String,
        content: Content<'a>,
    },
    /// There was one, and nothing says what was in it.
    Unknown,
}

/// The book's content: the bytes of a file, or a value built from a record.
#[derive(Clone, Debug)]
pub enum Content<'a> {
    Bytes(Book<'a>),
    Journal(Object),
    Rebuilt(Rebuilt),
}

/// SillyTavern's own metadata at a moment.
#[derive(Clone, Debug, PartialEq)]
pub struct MetadataThen {
    pub part: Part,
    /// Values of [`RECORDED_METADATA`] then; `None` when today's are all there is.
    pub values: Option<Object>,
    /// Keys that hold today's value because nothing tells the value of then.
    pub not_of_then: Vec<String>,
}

#[derive(Clone, Debug)]
pub struct Moment<'a> {
    pub message: usize,
    pub book: BookThen<'a>,
    pub metadata: MetadataThen,
}

/// What the chat remembered at message `m` beside its book: `values` are those recorded then, and
/// recaps are those of scenes that had ended.
pub fn memory_then(chat: &Chat<'_>, m: usize, values: Option<&Object>) -> Json {
    let metadata = chat.metadata().and_then(|metadata| metadata.json().ok()).unwrap_or(Json::Null);
    let mut then = match values {
        Some(values) => values.clone(),
        None => {
            let kept = RECORDED_METADATA.iter();
            kept.filter_map(|key| Some((*key, metadata.get(key)?.clone()))).collect()
        }
    };
    if let Some(recap) = metadata.get(running::KEY) {
        then.insert(running::KEY, running::cut(recap, m, "", |_| true).recap);
    }
    if let Some(recap) = metadata.at(&combined::PATH).filter(|r| combined::is_of_the_past(r, m)) {
        let [outer, inner] = combined::PATH;
        then.insert(outer, Json::object([(inner, recap.clone())]));
    }
    then.into()
}

/// Works out the moment at message `m` from the chat, its book and what a history says of it. `fill`
/// lets a recap snapshot take fields that it lost from today's entries.
pub fn moment<'a>(
    chat: &Chat<'_>,
    bound: &BoundBook<'a>,
    past: Option<&'a Past>,
    m: usize,
    fill: bool,
) -> Moment<'a> {
    let is_last = m + 1 == chat.len();
    let folded = recorded_state(chat, m);
    // The journal of the very message goes first, and then whichever knows the newer state.
    let past = past.filter(|past| {
        past.message <= m
            && folded.as_ref().is_none_or(|folded| {
                folded.message < m && (past.proves(m) || past.message >= folded.message)
            })
    });
    Moment {
        message: m,
        book: book_then(chat, bound, past, m, is_last, folded.as_ref(), fill),
        metadata: metadata_then(chat, past, m, is_last, folded.as_ref()),
    }
}

impl Past {
    fn proves(&self, m: usize) -> bool {
        self.is_exact && self.message == m
    }

    fn part(&self, m: usize) -> Part {
        let exactness =
            if self.proves(m) { Exactness::Exact } else { Exactness::Snapshot(self.message) };
        Part { exactness, source: Source::History }
    }

    /// `None` where there was a book that cannot be read.
    fn book(&self, m: usize) -> Option<BookThen<'_>> {
        let part = self.part(m);
        match &self.book {
            None => Some(BookThen::None(part)),
            Some((name, bytes)) => Some(BookThen::Known {
                part,
                name: name.clone(),
                content: Content::Bytes(Book::read(bytes).ok()?),
            }),
        }
    }
}

fn book_then<'a>(
    chat: &Chat<'_>,
    bound: &BoundBook<'a>,
    past: Option<&'a Past>,
    m: usize,
    is_last: bool,
    folded: Option<&Folded>,
    fill: bool,
) -> BookThen<'a> {
    // While m is the last message, the state at m is whatever it is now.
    if is_last {
        match bound {
            BoundBook::None => return BookThen::None(Part::EXACT_FROM_FILES),
            BoundBook::There { name, book } => {
                return BookThen::Known {
                    part: Part::EXACT_FROM_FILES,
                    name: name.clone(),
                    content: Content::Bytes(book.clone()),
                };
            }
            BoundBook::Missing { .. } | BoundBook::Unreadable { .. } => {}
        }
    }
    if let Some(then) = past.and_then(|past| past.book(m)) {
        return then;
    }
    if let Some(folded) = folded {
        let part = part_of(folded.message, m, Source::Journal);
        return match &folded.state.book {
            None => BookThen::None(part),
            Some(book) => BookThen::Known {
                part,
                name: book.name.clone(),
                content: Content::Journal(book.content()),
            },
        };
    }
    if let Some(found) = snapshot::newest(chat, m) {
        let name = found.book.clone().or_else(|| bound.name().map(str::to_owned));
        let exactness = Exactness::Snapshot(found.message);
        return BookThen::Known {
            part: Part { exactness, source: Source::RecapSnapshot },
            name: name.unwrap_or_default(),
            content: Content::Rebuilt(found.rebuild(bound.book(), fill)),
        };
    }
    match bound {
        BoundBook::None => BookThen::None(Part::LIVE),
        BoundBook::There { name, book } => BookThen::Known {
            part: Part::LIVE,
            name: name.clone(),
            content: Content::Bytes(book.clone()),
        },
        BoundBook::Missing { .. } | BoundBook::Unreadable { .. } => BookThen::Unknown,
    }
}

fn metadata_then(
    chat: &Chat<'_>,
    past: Option<&Past>,
    m: usize,
    is_last: bool,
    folded: Option<&Folded>,
) -> MetadataThen {
    if is_last {
        return MetadataThen {
            part: Part::EXACT_FROM_FILES,
            values: None,
            not_of_then: Vec::new(),
        };
    }
    if let Some(past) = past {
        let kept = RECORDED_METADATA.iter();
        let values = kept.filter_map(|key| Some((*key, past.metadata.get(key)?.clone())));
        return MetadataThen {
            part: past.part(m),
            values: Some(values.collect()),
            not_of_then: Vec::new(),
        };
    }
    match folded {
        Some(folded) => MetadataThen {
            part: part_of(folded.message, m, Source::Journal),
            values: Some(folded.state.metadata.clone()),
            not_of_then: Vec::new(),
        },
        None => {
            MetadataThen { part: Part::LIVE, values: None, not_of_then: keys_that_matter(chat) }
        }
    }
}

fn part_of(proved: usize, asked: usize, source: Source) -> Part {
    let exactness = if proved == asked { Exactness::Exact } else { Exactness::Snapshot(proved) };
    Part { exactness, source }
}

/// The journal's state for message `m`.
///
/// ST-Auto-Recap finishes its work on a scene's lore a little after the scene's last message, so
/// for a scene break the state of then is the one that its own snapshot shows.
fn recorded_state(chat: &Chat<'_>, m: usize) -> Option<Folded> {
    let folded = journal::fold(chat, m)?;
    if folded.message != m {
        return Some(folded);
    }
    let Some(snapshot) = snapshot::of_scene(chat, m) else { return Some(folded) };
    let shows = |state: &State| {
        state
            .book
            .as_ref()
            .and_then(|book| book.entries())
            .is_some_and(|entries| snapshot.matches(entries.iter().map(|(_, entry)| entry)))
    };
    if shows(&folded.state) {
        return Some(folded);
    }
    let next_scene = (m + 1..chat.len()).find(|&index| snapshot::of_scene(chat, index).is_some());
    let mut settled = None;
    let mut expected = m + 1;
    let mut unproved = Unproved::of(&folded.state);
    journal::walk(chat, next_scene.unwrap_or(chat.len()), |message, state, id| {
        if message <= m {
            return ControlFlow::Continue(());
        }
        // Over a gap, what the snapshot does not keep may have changed unseen; and once it has
        // changed, later states hold something newer than the scene.
        if message != expected || !unproved.is_unchanged_in(state) {
            return ControlFlow::Break(());
        }
        expected += 1;
        if shows(state) && state.id() == id {
            settled = Some(state.clone());
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    });
    let state = match settled {
        // The metadata is that of the message; only the lore was still being worked on.
        Some(settled) => State { book: settled.book, metadata: folded.state.metadata },
        None => folded.state,
    };
    Some(Folded { message: m, state })
}

/// What a recap snapshot does not keep of a book, and so cannot prove.
struct Unproved {
    fields: Option<Object>,
    entries: Object,
}

impl Unproved {
    fn of(state: &State) -> Self {
        let mut unproved = Self { fields: fields_of(state), entries: Object::new() };
        unproved.is_unchanged_in(state);
        unproved
    }

    /// Whether all that was seen before is as it was; entries seen for the first time are noted.
    fn is_unchanged_in(&mut self, state: &State) -> bool {
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

/// The book's own fields.
fn fields_of(state: &State) -> Option<Object> {
    Some(state.book.as_ref()?.fields())
}

/// Recorded keys that the chat has and that say more than SillyTavern's defaults do.
fn keys_that_matter(chat: &Chat<'_>) -> Vec<String> {
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
    use crate::chat::Place;
    use crate::journal::{FIELD, Limits, record};

    /// A scene break whose snapshot shows the entry as `new`, then one message for each state:
    /// content and scan depth, or none where nothing was recorded.
    fn entry_at_the_scene_break(states: &[Option<(&str, i64)>]) -> Option<Json> {
        let entry = |content: &str, depth: i64| {
            format!(r#"{{"uid":7,"comment":"c","content":"{content}","scanDepth":{depth}}}"#)
        };
        let mut before: Option<(String, State)> = None;
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
                let now = State::of(&Json::Null, Some(("B", &book)));
                let previous = before.as_ref().map(|(id, state)| (id.as_str(), state));
                let made = record(previous, &now, Limits::default());
                message.insert(FIELD, made.to_json());
                before = Some((made.id, now));
            }
            text.push(b'\n');
            text.extend(Json::Object(message).stringify());
        }
        let chat = Chat::read(&text, Place::Solo);
        let moment = moment(&chat, &BoundBook::Missing { name: "B".into() }, None, 0, false);
        let BookThen::Known { content: Content::Journal(book), .. } = moment.book else {
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
    fn at_a_scene_break_the_book_is_the_one_its_snapshot_shows() {
        let settled = [Some(("old", 1)), Some(("old", 1)), Some(("new", 1)), Some(("new", 4))];
        assert_eq!(content_at_the_scene_break(&settled), Some("new".into()));
    }

    #[test]
    fn what_a_snapshot_does_not_keep_is_never_newer_than_the_scene() {
        let edited = [Some(("old", 1)), Some(("old", 2)), Some(("new", 2)), Some(("new", 4))];
        assert_eq!(depth_at_the_scene_break(&edited), Some(1));
        assert_eq!(content_at_the_scene_break(&edited), Some("old".into()));
    }

    #[test]
    fn over_a_gap_in_the_journal_a_snapshot_proves_nothing() {
        let with_a_gap = [Some(("old", 1)), None, Some(("new", 9)), Some(("newer", 9))];
        assert_eq!(depth_at_the_scene_break(&with_a_gap), Some(1));
    }
}
