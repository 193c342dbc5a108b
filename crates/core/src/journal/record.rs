//! One message's record: reading, making and merging.

use std::sync::{Arc, OnceLock};

use super::delta::Delta;
use super::payload::{Budget, Payload};
use super::state::{RecordedState, is_of_format_1};
use super::testimony::{Arrival, NO_BOOK, RecordId, StatePart};
use forklore_json::{Json, Object};

/// The message field that holds a record. Not part of `extra`, which SillyTavern swaps together
/// with the swipes.
pub const FIELD: &str = "forklore";

/// Format 1 had neither `uid` nor `came`, so it testifies to nothing.
const FORMATS: [i64; 2] = [1, 2];

/// The journal record of one message.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// The id of the state after this record.
    pub id: String,
    /// Missing in format 1.
    pub uid: Option<RecordId>,
    /// `None` if the message's arrival was not observed. Serialised as `came`.
    pub arrival: Option<Arrival>,
    /// The book has not been read since the message arrived, and is assumed to be unchanged.
    pub assumed: bool,
    /// The page had not saved the book yet, so its file did not contain this state.
    pub unsaved: bool,
    /// The number of messages without a record directly before this one. Negative if the record is
    /// known to have been moved.
    pub gap: i64,
    pub(super) change: RecordChange,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum RecordChange {
    /// The state was recorded, and nothing had changed.
    Nothing,
    /// The whole state, and what changed after it was packed.
    Whole {
        whole: Whole,
        delta: Delta,
    },
    Delta {
        after: String,
        delta: Delta,
    },
    /// The book was too large to store: only the state's id is known.
    Digest,
}

/// A whole state: as a value, in packed form, or both. Both conversions are lazy, because packing
/// or unpacking a large book would make saves too slow.
#[derive(Clone, Debug)]
pub(super) struct Whole(Arc<Forms>);

#[derive(Debug, Default)]
struct Forms {
    state: OnceLock<Option<RecordedState>>,
    payload: OnceLock<Payload>,
}

/// Limits on what is stored in a chat.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Only the digest is recorded of a book larger than this (in bytes, serialised).
    pub largest_book: usize,
}

/// A hard limit: a record with a larger book could not be unpacked again.
const LARGEST_BOOK: usize = 16 << 20;

impl Default for Limits {
    fn default() -> Self {
        Self { largest_book: 8 << 20 }
    }
}

/// Makes the record that leads from the state `before` to the state `now`.
pub fn record(
    before: Option<(&str, &RecordedState)>,
    now: &RecordedState,
    limits: Limits,
) -> Record {
    let id = now.id();
    let size = || now.book.as_ref().map_or(0, |book| book.size());
    let change = match before {
        Some((before_id, _)) if before_id == id => RecordChange::Nothing,
        _ if size() > limits.largest_book.min(LARGEST_BOOK) => RecordChange::Digest,
        Some((before_id, before)) => match Delta::between(before, now) {
            Some(delta) => RecordChange::Delta { after: before_id.to_owned(), delta },
            None => RecordChange::whole(now),
        },
        None => RecordChange::whole(now),
    };
    Record { id, uid: None, arrival: None, assumed: false, unsaved: false, gap: 0, change }
}

/// Merges the records of two neighbouring messages into one, for example when the later message is
/// deleted and its record moves to the one before. The result follows what `earlier` followed, and
/// leads to the state of `later`. `None` if `later` does not follow `earlier`.
pub fn merged(earlier: &Record, later: &Record) -> Option<Record> {
    let change = match (&earlier.change, &later.change) {
        (_, RecordChange::Whole { .. } | RecordChange::Digest) => later.change.clone(),
        (change, RecordChange::Nothing) => (earlier.id == later.id).then(|| change.clone())?,
        (_, RecordChange::Delta { after, .. }) if *after != earlier.id => return None,
        (RecordChange::Digest, RecordChange::Delta { .. }) => RecordChange::Digest,
        (RecordChange::Nothing, RecordChange::Delta { .. }) => later.change.clone(),
        (
            RecordChange::Whole { whole, delta: first },
            RecordChange::Delta { delta: second, .. },
        ) => RecordChange::Whole { whole: whole.clone(), delta: first.then(second)? },
        (
            RecordChange::Delta { after, delta: first },
            RecordChange::Delta { delta: second, .. },
        ) => RecordChange::Delta { after: after.clone(), delta: first.then(second)? },
    };
    let (uid, gap) = (later.uid.clone(), later.gap.min(0));
    let arrival = earlier.arrival_for(uid.as_ref());
    let (assumed, unsaved) = (later.assumed, later.unsaved);
    Some(Record { id: later.id.clone(), uid, arrival, assumed, unsaved, gap, change })
}

/// Makes the record of a message inserted between two others, and updates the later one's record.
/// An inserted message counts as having arrived together with the message after it, in the same
/// state. `random` is the random part of its uid. `None` if the records do not show that state.
pub fn inserted(earlier: &Record, later: &Record, random: &str) -> Option<(Record, Record)> {
    let (before, arrival) = (earlier.uid.as_ref()?, later.arrival.as_ref()?);
    if arrival.after != *before {
        return None;
    }
    // All that is known about it is the state in which the later message arrived.
    let (book, metadata) = earlier.id.split_once('.')?;
    if arrival.metadata.as_deref() != Some(metadata) {
        return None;
    }
    let assumed = earlier.assumed || arrival.proved(StatePart::Book) != Some(book);
    let uid = RecordId::new(before.number, random);
    let change = if earlier.is_digest() { RecordChange::Digest } else { RecordChange::Nothing };
    let between = Record {
        uid: Some(uid.clone()),
        arrival: later.arrival_for(Some(&uid)),
        gap: 0,
        assumed,
        change,
        ..earlier.clone()
    };
    let arrival = Some(Arrival { after: uid, ..arrival.clone() });
    Some((between, Record { arrival, ..later.clone() }))
}

/// All keys that a record can have.
const MEMBERS: [&str; 13] = [
    "v",
    "id",
    "uid",
    "came",
    "assumed",
    "unsaved",
    "gap",
    "digest",
    "whole",
    "whole.deflated",
    "after",
    "delta",
    "delta.deflated",
];

impl Record {
    /// The same record with another uid and testimony.
    pub fn with(self, uid: RecordId, arrival: Option<Arrival>) -> Self {
        Self { uid: Some(uid), arrival, ..self }
    }

    /// The value of a message's `forklore` field.
    pub fn to_json(&self) -> Json {
        let mut json = Object::new();
        json.insert("v", FORMATS[usize::from(!is_of_format_1(&self.id))]);
        json.insert("id", self.id.as_str());
        if let Some(uid) = &self.uid {
            json.insert("uid", uid.to_string());
        }
        if let Some(arrival) = &self.arrival {
            json.insert("came", arrival.to_json());
        }
        if self.assumed {
            json.insert("assumed", true);
        }
        if self.unsaved {
            json.insert("unsaved", true);
        }
        if self.gap != 0 {
            json.insert("gap", self.gap);
        }
        match &self.change {
            RecordChange::Nothing => {}
            RecordChange::Digest => json.insert("digest", true),
            RecordChange::Whole { whole, delta } => {
                whole.payload().write("whole", &mut json);
                if !delta.is_empty() {
                    Payload::of(delta.to_json()).write("delta", &mut json);
                }
            }
            RecordChange::Delta { after, delta } => {
                json.insert("after", after.as_str());
                Payload::of(delta.to_json()).write("delta", &mut json);
            }
        }
        json.into()
    }

    /// Reads a message's `forklore` field. `None` if it is of a later format, or damaged.
    pub fn from_json(json: &Json) -> Option<Self> {
        Self::read(json, &Budget::default())
    }

    /// Reads the records of all messages of a chat. They share the limit on what is unpacked.
    pub fn all_from_json(list: &[Json]) -> Vec<Option<Self>> {
        let budget = Budget::default();
        list.iter().map(|json| Self::read(json, &budget)).collect()
    }

    pub(super) fn read(json: &Json, budget: &Budget) -> Option<Self> {
        // Reject unknown keys: if damage to one letter hid `assumed`, the record would claim too
        // much.
        let is_ours = json.members().all(|(key, _)| MEMBERS.contains(&&*key));
        if !is_ours || !FORMATS.contains(&json.get("v")?.as_i64()?) {
            return None;
        }
        let id = json.get("id")?.as_str()?.into_owned();
        let uid = RecordId::of(json, "uid").filter(|_| !is_of_format_1(&id));
        let arrival = match json.get("came") {
            Some(arrival) => Some(Arrival::from_json(arrival)?).filter(|_| uid.is_some()),
            None => None,
        };
        let delta = match Payload::read("delta", json, budget) {
            Some(payload) => Some(Delta::from_json(&Json::parse(&payload.text()?).ok()?)?),
            None => None,
        };
        let change = if let Some(payload) = Payload::read("whole", json, budget) {
            RecordChange::Whole { whole: Whole::read(payload), delta: delta.unwrap_or_default() }
        } else if let Some(delta) = delta {
            RecordChange::Delta { after: json.get("after")?.as_str()?.into_owned(), delta }
        } else if json.get("digest").is_some() {
            RecordChange::Digest
        } else {
            RecordChange::Nothing
        };
        let assumed = json.get("assumed").is_some();
        let unsaved = json.get("unsaved").is_some();
        let gap = json.get("gap").map_or(Some(0), Json::as_i64).unwrap_or(-1);
        Some(Self { id, uid, arrival, assumed, unsaved, gap, change })
    }

    /// Its testimony once it has taken over the uid of a later record.
    pub(super) fn arrival_for(&self, later: Option<&RecordId>) -> Option<Arrival> {
        // Without a uid it testifies to nothing, and would not be read back as it was.
        later?;
        let mut arrival = self.arrival.clone().filter(|_| self.gap >= 0)?;
        let page = |uid: Option<&RecordId>| uid.map(|uid| uid.page().to_owned());
        if arrival.file.is_none() && page(self.uid.as_ref()) != page(later) {
            // Only the page that saw the message arrive knows whether the file was what it had
            // read.
            arrival.book = arrival.book.filter(|book| book == NO_BOOK);
        }
        Some(arrival)
    }

    /// Whether the record identifies this state of `part`. Format 1 identifies only both parts
    /// together.
    pub(crate) fn agrees(&self, state: &RecordedState, part: StatePart) -> bool {
        match (self.id.split_once('.'), part) {
            (Some((book, _)), StatePart::Book) => book == state.digest(part),
            (Some((_, metadata)), StatePart::Metadata) => metadata == state.digest(part),
            (None, _) => state.has_id(&self.id),
        }
    }

    /// Whether it holds only an id and not the state, so that no delta can follow it.
    pub(super) fn is_digest(&self) -> bool {
        self.change == RecordChange::Digest
    }

    pub(super) fn is_whole(&self) -> bool {
        matches!(self.change, RecordChange::Whole { .. })
    }

    /// Whether it is a whole state without a delta.
    pub(super) fn is_only_whole(&self) -> bool {
        matches!(&self.change, RecordChange::Whole { delta, .. } if delta.is_empty())
    }
}

impl RecordChange {
    fn whole(state: &RecordedState) -> Self {
        let forms = Forms { state: Some(state.clone()).into(), ..Forms::default() };
        Self::Whole { whole: Whole(Arc::new(forms)), delta: Delta::default() }
    }
}

impl Whole {
    fn read(payload: Payload) -> Self {
        Self(Arc::new(Forms { payload: payload.into(), ..Forms::default() }))
    }

    /// `None` if it cannot be unpacked.
    pub(super) fn state(&self) -> Option<&RecordedState> {
        self.0.state.get_or_init(|| RecordedState::read(&self.0.payload.get()?.text()?)).as_ref()
    }

    fn payload(&self) -> &Payload {
        let state = || self.state().map_or(Json::Null, RecordedState::to_json);
        self.0.payload.get_or_init(|| Payload::of(state()))
    }
}

impl PartialEq for Whole {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.state() == other.state()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_of_which_a_letter_was_scratched_is_none() {
        let whole = r#"{"v":2,"id":"a.b","uid":"4-x","came":{"after":"3-x","book":"a","metadata":"b","assumed":true,"file":false},"assumed":true,"unsaved":true}"#;
        let read = |text: &str| Record::from_json(&Json::parse(text.as_bytes()).unwrap());
        assert!(read(whole).is_some_and(|record| record.assumed && record.arrival.is_some()));
        for name in ["assumed", "unsaved", "came", "file", "after"] {
            let first = &name[..1];
            for (at, _) in whole.match_indices(&format!("\"{name}\":")) {
                let (before, after) = whole.split_at(at);
                let scratched = format!("{before}\"{first}!{}", &after[3..]);
                assert_eq!(scratched.len(), whole.len());
                assert_eq!(read(&scratched), None, "{scratched}");
            }
        }
    }

    #[test]
    fn the_records_of_a_chat_together_unpack_to_no_more_than_one_may() {
        let state = RecordedState::of(
            &Json::object([("variables", Json::object([("v", Json::from("x".repeat(16 << 20)))]))]),
            None,
        );
        let json = record(None, &state, Limits::default()).to_json();
        assert!(json.get("whole.deflated").is_some());
        let is_whole = |record: Option<Record>| match record.unwrap().change {
            RecordChange::Whole { whole, .. } => whole.state().is_some(),
            _ => false,
        };
        let records = Record::all_from_json(&vec![json.clone(); 12]);
        assert_eq!(records.into_iter().map(is_whole).filter(|is| *is).count(), 5);
        assert!(is_whole(Record::from_json(&json)));
    }
}
