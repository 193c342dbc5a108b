//! The journal: what changed in the book and the metadata, message by message, inside the messages.
//!
//! A message's `forklore` field says what changed since the message before. The state at message m
//! is the fold of messages 0 to m. Because a branch is a slice of messages, it carries exactly its
//! own past. `docs/reference/format.md` describes the fields.

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
pub mod rewrite;

pub use fold::{Folded, Records, fold};
pub use lore::{Entries, Lore};
pub use others::{OTHERS, is_of_another, names as others_today, not_known, on_messages, others};
pub use record::{FIELD, Limits, Record, inserted, merged, record};
pub use state::{BookState, RECORDED_METADATA, RecordedState};
pub use testimony::{Arrival, RecordId, StatePart};
pub use writer::Writer;
