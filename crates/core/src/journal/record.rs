//! One message's record: reading it, making it, and joining two.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use super::delta::Delta;
use super::state::State;
use crate::json::{Json, Object};

/// The message field that holds a record. Not in `extra`, which SillyTavern swaps with the swipes.
pub const FIELD: &str = "forklore";

const FORMAT: i64 = 1;

/// Below this many bytes deflating costs more than it saves.
const WORTH_DEFLATING: usize = 256;

/// No record of a story is larger when inflated; a hostile one might be.
const LARGEST_INFLATED: usize = 512 << 20;

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
    Whole(Box<State>),
    Delta {
        after: String,
        delta: Box<Delta>,
    },
    /// Too large to keep: only the state's id is known.
    Digest,
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
    let change = match before {
        Some((before_id, _)) if before_id == id => Change::Nothing,
        _ if size_of(now) > limits.largest_book => Change::Digest,
        Some((before_id, before)) => match Delta::between(before, now) {
            Some(delta) if delta.is_empty() => Change::Nothing,
            Some(delta) => Change::Delta { after: before_id.to_owned(), delta: Box::new(delta) },
            None => Change::Whole(Box::new(now.clone())),
        },
        None => Change::Whole(Box::new(now.clone())),
    };
    Record { id, change }
}

fn size_of(state: &State) -> usize {
    state.book.as_ref().map_or(0, |book| Json::from(book.content.clone()).stringify().len())
}

/// The record that stands for two neighbouring ones, when the later message is deleted and its
/// record moves to the one before. `None` where they do not follow each other.
pub fn merged(earlier: &Record, later: &Record) -> Option<Record> {
    let change = match (&earlier.change, &later.change) {
        (_, Change::Whole(_) | Change::Digest) => later.change.clone(),
        (change, Change::Nothing) => (earlier.id == later.id).then(|| change.clone())?,
        (_, Change::Delta { after, .. }) if *after != earlier.id => return None,
        (Change::Digest, Change::Delta { .. }) => Change::Digest,
        (Change::Nothing, Change::Delta { .. }) => later.change.clone(),
        (Change::Whole(state), Change::Delta { delta, .. }) => {
            let mut state = state.clone();
            delta.apply(&mut state)?;
            Change::Whole(state)
        }
        (Change::Delta { after, delta: first }, Change::Delta { delta: second, .. }) => {
            Change::Delta { after: after.clone(), delta: Box::new(first.then(second)) }
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
        let (name, payload) = match &self.change {
            Change::Nothing => return json.into(),
            Change::Digest => {
                json.insert("digest", true);
                return json.into();
            }
            Change::Whole(state) => ("whole", state.to_json()),
            Change::Delta { after, delta } => {
                json.insert("after", after.as_str());
                ("delta", delta.to_json())
            }
        };
        let text = payload.stringify();
        let packed = (text.len() >= WORTH_DEFLATING)
            .then(|| BASE64.encode(miniz_oxide::deflate::compress_to_vec(&text, 8)))
            .filter(|packed| packed.len() < text.len());
        match packed {
            Some(packed) => json.insert(format!("{name}.deflated"), packed),
            None => json.insert(name, payload),
        }
        json.into()
    }

    /// Reads a message's `forklore` field; `None` for anything a later format may have put there.
    pub fn from_json(json: &Json) -> Option<Self> {
        if json.get("v")?.as_i64()? != FORMAT {
            return None;
        }
        let id = json.get("id")?.as_str()?.into_owned();
        let change = if let Some(whole) = payload(json, "whole") {
            Change::Whole(Box::new(State::from_json(&whole?)?))
        } else if let Some(delta) = payload(json, "delta") {
            let after = json.get("after")?.as_str()?.into_owned();
            Change::Delta { after, delta: Box::new(Delta::from_json(&delta?)?) }
        } else if json.get("digest").is_some() {
            Change::Digest
        } else {
            Change::Nothing
        };
        Some(Self { id, change })
    }
}

/// The payload under `name`, packed or plain: absent, unreadable (`Some(None)`) or there.
fn payload(json: &Json, name: &str) -> Option<Option<Json>> {
    if let Some(plain) = json.get(name) {
        return Some(Some(plain.clone()));
    }
    let packed = json.get(&format!("{name}.deflated"))?;
    Some(inflated(packed))
}

fn inflated(packed: &Json) -> Option<Json> {
    let packed = BASE64.decode(packed.as_str()?.as_bytes()).ok()?;
    let text =
        miniz_oxide::inflate::decompress_to_vec_with_limit(&packed, LARGEST_INFLATED).ok()?;
    Json::parse(&text).ok()
}
