//! Several pages that edit one book. SillyTavern saves whole books, so without this the last save
//! would win.
//!
//! *Ours* is what this page saves, *theirs* what the server has, and *before* what the saved copy
//! was based on.

mod actions;
mod lineage;
mod lost_saves;
mod machine;
mod original_data;
mod save_merge;
mod uids;

pub use actions::{Action, EntryNews, Event, KeptVersion, News, Overwritten};
pub use lineage::CopyId;
pub use machine::{Guard, JobId};
pub use save_merge::{MergedBook, MergedSave, is_same_book, merge_books, merge_save};
pub use uids::{Moves, refresh_own_additions};

#[cfg(test)]
mod tests;
