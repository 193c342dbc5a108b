//! One message's record: reading it, making it, and joining two.

use std::sync::{Arc, OnceLock};

use super::delta::Delta;
use super::payload::Payload;
use super::state::State;
use crate::json::{Json, Object};

/// The message field that holds a record. Not in `extra`, which SillyTavern swaps with the swipes.
pub const FIELD: &str = "forklore";

const FORMAT: i64 = 1;

/// What a message's record says.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// The state after this record.
    pub id: String,
    pub(super) change: Change,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Change {
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
    state: OnceLock<Option<State>>,
    payload: OnceLock<Payload>,
}

/// How much a chat is allowed to carry.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// A book larger than this (in bytes, written out) is only recorded by its digest.
    pub largest_book: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { largest_book: 8 << 20 }
    }
}

/// The record for a message after which the state is `now`, following `before`.
pub fn record(before: Option<(&str, &State)>, now: &State, limits: Limits) -> Record {
    let id = now.id();
    let size = || now.book.as_ref().map_or(0, |book| book.size());
    let change = match before {
        Some((before_id, _)) if before_id == id => Change::Nothing,
        _ if size() > limits.largest_book => Change::Digest,
        Some((before_id, before)) => match Delta::between(before, now) {
            Some(delta) => Change::Delta { after: before_id.to_owned(), delta },
            None => Change::whole(now),
        },
        None => Change::whole(now),
    };
    Record { id, change }
}

/// The record that stands for two neighbouring ones, when the later message is deleted and its
/// record moves to the one before. `None` where they do not follow each other.
pub fn merged(earlier: &Record, later: &Record) -> Option<Record> {
    let change = match (&earlier.change, &later.change) {
        (_, Change::Whole { .. } | Change::Digest) => later.change.clone(),
        (change, Change::Nothing) => (earlier.id == later.id).then(|| change.clone())?,
        (_, Change::Delta { after, .. }) if *after != earlier.id => return None,
        (Change::Digest, Change::Delta { .. }) => Change::Digest,
        (Change::Nothing, Change::Delta { .. }) => later.change.clone(),
        (Change::Whole { whole, delta: first }, Change::Delta { delta: second, .. }) => {
            Change::Whole { whole: whole.clone(), delta: first.then(second)? }
        }
        (Change::Delta { after, delta: first }, Change::Delta { delta: second, .. }) => {
            Change::Delta { after: after.clone(), delta: first.then(second)? }
        }
    };
    Some(Record { id: later.id.clone(), change })
}

impl Record {
    /// The value of a message's `forklore` field.
    pub fn to_json(&self) -> Json {
        let mut json = Object::new();
        json.insert("v", FORMAT);
        json.insert("id", self.id.as_str());
        match &self.change {
            Change::Nothing => {}
            Change::Digest => json.insert("digest", true),
            Change::Whole { whole, delta } => {
                whole.payload().write("whole", &mut json);
                if !delta.is_empty() {
                    Payload::of(delta.to_json()).write("delta", &mut json);
                }
            }
            Change::Delta { after, delta } => {
                json.insert("after", after.as_str());
                Payload::of(delta.to_json()).write("delta", &mut json);
            }
        }
        json.into()
    }

    /// Reads a message's `forklore` field; `None` for anything a later format may have put there.
    pub fn from_json(json: &Json) -> Option<Self> {
        if json.get("v")?.as_i64()? != FORMAT {
            return None;
        }
        let id = json.get("id")?.as_str()?.into_owned();
        let delta = match Payload::read("delta", json) {
            Some(payload) => Some(Delta::from_json(&Json::parse(&payload.text()?).ok()?)?),
            None => None,
        };
        let change = if let Some(payload) = Payload::read("whole", json) {
            Change::Whole { whole: Whole::read(payload), delta: delta.unwrap_or_default() }
        } else if let Some(delta) = delta {
            Change::Delta { after: json.get("after")?.as_str()?.into_owned(), delta }
        } else if json.get("digest").is_some() {
            Change::Digest
        } else {
            Change::Nothing
        };
        Some(Self { id, change })
    }

    /// Whether nothing can follow on it, since it does not say what the state is.
    pub(super) fn is_digest(&self) -> bool {
        self.change == Change::Digest
    }

    pub(super) fn is_whole(&self) -> bool {
        matches!(self.change, Change::Whole { .. })
    }

    /// Whether it is a whole state and nothing beside it.
    pub(super) fn is_only_whole(&self) -> bool {
        matches!(&self.change, Change::Whole { delta, .. } if delta.is_empty())
    }
}

impl Change {
    fn whole(state: &State) -> Self {
        let sides = Sides { state: Some(state.clone()).into(), ..Sides::default() };
        Self::Whole { whole: Whole(Arc::new(sides)), delta: Delta::default() }
    }
}

impl Whole {
    fn read(payload: Payload) -> Self {
        Self(Arc::new(Sides { payload: payload.into(), ..Sides::default() }))
    }

    /// `None` where it cannot be unpacked.
    pub(super) fn state(&self) -> Option<&State> {
        self.0.state.get_or_init(|| State::read(&self.0.payload.get()?.text()?)).as_ref()
    }

    fn payload(&self) -> &Payload {
        let state = || self.state().map_or(Json::Null, State::to_json);
        self.0.payload.get_or_init(|| Payload::of(state()))
    }
}

impl PartialEq for Whole {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.state() == other.state()
    }
}
