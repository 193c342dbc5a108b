//! The journal of a chat that is open in the page: where each record belongs while its messages are
//! edited, moved and deleted.

mod carried;
mod placement;
mod chat_journal;

pub use carried::CarriedRecord;
pub use chat_journal::{Changes, ChatJournal, FileCheck, Observation, ObservedText, OpenChat};
