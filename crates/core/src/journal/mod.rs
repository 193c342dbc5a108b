//! The journal: what changed in the book and the metadata, message by message, inside the messages.
//!
//! A message's `forklore` field says what changed since the message before. The state at message m
//! is the fold of messages 0 to m. Because a branch is a slice of messages, it carries exactly its
//! own past. `docs/format.md` describes the fields.

mod state;
mod delta;
mod record;
mod fold;

pub use fold::{Folded, fold, walk};
pub use record::{FIELD, Limits, Record, merged, record};
pub use state::{BookState, RECORDED_METADATA, State};
