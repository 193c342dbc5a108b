//! The journal: the changes to the book and the metadata, stored message by message in the chat.
//!
//! A message's `forklore` field holds a record of what changed since the previous message. The
//! state at message m is the fold of records 0 to m. Because a branch is a slice of messages, it
//! carries exactly its own past. `docs/reference/format.md` describes the fields.

mod testimony;
mod lore;
mod others;
mod state;
mod splice;
mod members;
mod delta;
mod payload;
mod record;
mod fold;
mod reader;
mod writer;
mod open_chat;
pub mod rewrite;

pub use fold::{Folded, Records, fold};
pub use lore::{Entries, Lore};
pub use open_chat::{
    CarriedRecord, Changes, ChatJournal, FileCheck, Observation, ObservedText, OpenChat,
};
pub use others::{
    OTHERS, is_foreign_key, keys_on_messages, names as others_today, others, unknown_keys,
};
pub use record::{FIELD, Limits, Record, inserted, merged, record};
pub use state::{BookState, RECORDED_METADATA, RecordedState};
pub use testimony::{Arrival, RecordId, StatePart};
pub use writer::Writer;
