//! Every version of every chat and lorebook, stored as git objects.
//!
//! One bare repository per SillyTavern user. The folders in reading order, each using only those
//! above it:
//!
//! - [`file`]: which files have a history;
//! - [`git`]: git's file formats;
//! - [`store`]: the repository on disk, and how it survives crashes;
//! - [`version`]: splitting a file into pieces, its versions, and their lineage;
//! - [`query`]: finding versions, and the state of the files at a given message;
//! - [`record`]: adding versions;
//! - [`restore`]: restoring them;
//! - [`watch`]: recording while SillyTavern runs;
//! - [`upkeep`]: packing, purging, checking and repairing;
//! - [`exchange`]: other machines, bundles, SillyTavern's own backups.

mod error;
pub mod file;

pub mod git;
pub mod store;
pub mod version;
pub mod query;
pub mod record;
pub mod restore;
pub mod watch;
pub mod upkeep;
pub mod exchange;

pub use error::{HistoryError, Result};
