//! One message's record: reading it, making it, and joining two.

use std::sync::{Arc, OnceLock};

use super::delta::Delta;
use super::payload::{Budget, Payload};
use super::state::{RecordedState, is_of_format_1};
use super::testimony::{Arrival, NO_BOOK, RecordId, StatePart};
use forklore_json::{Json, Object};

/// The message field that holds a record. Not in `extra`, which SillyTavern swaps with the swipes.
pub const FIELD: &str = "forklore";

/// Format 1 had neither `uid` nor `came`: it testifies to nothing.
const FORMATS: [i64; 2] = [1, 2];

/// What a message's record says.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// The state after this record.
    pub id: String,
    /// Missing in format 1.
    pub uid: Option<RecordId>,
    /// Missing where nobody watched the message arrive.
    pub came: Option<Arrival>,
    /// Nobody has looked at the book since the message arrived: that it is still the one before is
    /// taken for granted, until somebody does.
    pub assumed: bool,
    /// The book's file did not hold this yet: the page had not saved it.
    pub unsaved: bool,
    /// How many messages without a record stand directly before the message; negative where that
    /// was found to be otherwise, so that the record is not where it was made.
    pub gap: i64,
    pub(super) change: RecordChange,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum RecordChange {
    /// Recorded, and nothing had changed.
    Nothing,
    /// Everything, and what changed after it was written down.
    Whole {
        whole: Whole,
        delta: Delta,
    },
    Delta {
        after: String,
        delta: Delta,
    },
    /// Too large to keep: only the state's id is known.
    Digest,
}

/// A whole state: as a value, as it is written, or both. Packing or unpacking a large book takes
/// longer than a save may, so neither is done before it must be.
#[derive(Clone, Debug)]
pub(super) struct Whole(Arc<Sides>);

#[derive(Debug, Default)]
struct Sides {
    state: OnceLock<Option<RecordedState>>,
    payload: OnceLock<Payload>,
}

/// How much a chat is allowed to carry.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// A book larger than this (in bytes, written out) is only recorded by its digest.
    pub largest_book: usize,
}

/// Whatever the limit: a larger book would not be unpacked again.
const LARGEST_BOOK: usize = 16 << 20;

impl Default for Limits {
    fn default() -> Self {
        Self { largest_book: 8 << 20 }
    }
}

/// The record for a message after which the state is `now`, following `before`.
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
    Record { id, uid: None, came: None, assumed: false, unsaved: false, gap: 0, change }
}

/// The record that stands for two neighbouring ones, when the later message is deleted and its
/// record moves to the one before: it is the later one for what follows, and the earlier one for
/// what came before. `None` where they do not follow each other.
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
    let came = earlier.came_for(uid.as_ref());
    let (assumed, unsaved) = (later.assumed, later.unsaved);
    Some(Record { id: later.id.clone(), uid, came, assumed, unsaved, gap, change })
}

/// The record of a message that was put between two others, and what becomes of the later one's: it
/// arrived together with the message after it, in the same state. `random` makes its uid. `None`
/// where nobody saw that message arrive.
pub fn inserted(earlier: &Record, later: &Record, random: &str) -> Option<(Record, Record)> {
    let (before, came) = (earlier.uid.as_ref()?, later.came.as_ref()?);
    if came.after != *before {
        return None;
    }
    // Only what held when the next one came is known of it.
    let (book, metadata) = earlier.id.split_once('.')?;
    if came.metadata.as_deref() != Some(metadata) {
        return None;
    }
    let assumed = earlier.assumed || came.proved(StatePart::Book) != Some(book);
    let uid = RecordId::new(before.number, random);
    let change = if earlier.is_digest() { RecordChange::Digest } else { RecordChange::Nothing };
    let between = Record {
        uid: Some(uid.clone()),
        came: later.came_for(Some(&uid)),
        gap: 0,
        assumed,
        change,
        ..earlier.clone()
    };
    let came = Some(Arrival { after: uid, ..came.clone() });
    Some((between, Record { came, ..later.clone() }))
}

/// All that a record can have.
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
    /// The same record on a message with this uid and this testimony.
    pub fn with(self, uid: RecordId, came: Option<Arrival>) -> Self {
        Self { uid: Some(uid), came, ..self }
    }

    /// The value of a message's `forklore` field.
    pub fn to_json(&self) -> Json {
        let mut json = Object::new();
        json.insert("v", FORMATS[usize::from(!is_of_format_1(&self.id))]);
        json.insert("id", self.id.as_str());
        if let Some(uid) = &self.uid {
            json.insert("uid", uid.to_string());
        }
        if let Some(came) = &self.came {
            json.insert("came", came.to_json());
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

    /// Reads a message's `forklore` field; `None` for anything a later format may have put there, and for
    /// what was damaged.
    pub fn from_json(json: &Json) -> Option<Self> {
        Self::read(json, &Budget::default())
    }

    /// The records of all messages of a chat, which together unpack to no more than one chat may.
    pub fn all_from_json(list: &[Json]) -> Vec<Option<Self>> {
        let budget = Budget::default();
        list.iter().map(|json| Self::read(json, &budget)).collect()
    }

    pub(super) fn read(json: &Json, budget: &Budget) -> Option<Self> {
        // One letter of `assumed` scratched, and it would claim what it never did.
        let is_ours = json.members().all(|(key, _)| MEMBERS.contains(&&*key));
        if !is_ours || !FORMATS.contains(&json.get("v")?.as_i64()?) {
            return None;
        }
        let id = json.get("id")?.as_str()?.into_owned();
        let uid = RecordId::of(json, "uid").filter(|_| !is_of_format_1(&id));
        let came = match json.get("came") {
            Some(came) => Some(Arrival::from_json(came)?).filter(|_| uid.is_some()),
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
        Some(Self { id, uid, came, assumed, unsaved, gap, change })
    }

    /// What it testifies once it carries the uid of a later record.
    pub(super) fn came_for(&self, later: Option<&RecordId>) -> Option<Arrival> {
        // Without a uid it testifies to nothing, and would not be read back as it was.
        later?;
        let mut came = self.came.clone().filter(|_| self.gap >= 0)?;
        let page = |uid: Option<&RecordId>| uid.map(|uid| uid.page().to_owned());
        if came.file.is_none() && page(self.uid.as_ref()) != page(later) {
            // Only the page that saw the message arrive can tell whether the file was what it had read.
            came.book = came.book.filter(|book| book == NO_BOOK);
        }
        Some(came)
    }

    /// Whether this was the state of `part` when the record was made. Format 1 knows only both
    /// parts together.
    pub(crate) fn agrees(&self, state: &RecordedState, part: StatePart) -> bool {
        match (self.id.split_once('.'), part) {
            (Some((book, _)), StatePart::Book) => book == state.digest(part),
            (Some((_, metadata)), StatePart::Metadata) => metadata == state.digest(part),
            (None, _) => state.has_id(&self.id),
        }
    }

    /// Whether nothing can follow on it, since it does not say what the state is.
    pub(super) fn is_digest(&self) -> bool {
        self.change == RecordChange::Digest
    }

    pub(super) fn is_whole(&self) -> bool {
        matches!(self.change, RecordChange::Whole { .. })
    }

    /// Whether it is a whole state and nothing beside it.
    pub(super) fn is_only_whole(&self) -> bool {
        matches!(&self.change, RecordChange::Whole { delta, .. } if delta.is_empty())
    }
}

impl RecordChange {
    fn whole(state: &RecordedState) -> Self {
        let sides = Sides { state: Some(state.clone()).into(), ..Sides::default() };
        Self::Whole { whole: Whole(Arc::new(sides)), delta: Delta::default() }
    }
}

impl Whole {
    fn read(payload: Payload) -> Self {
        Self(Arc::new(Sides { payload: payload.into(), ..Sides::default() }))
    }

    /// `None` where it cannot be unpacked.
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
        assert!(read(whole).is_some_and(|record| record.assumed && record.came.is_some()));
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
