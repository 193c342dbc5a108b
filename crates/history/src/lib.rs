//! Every version of every chat and lorebook, in git's own format.
//!
//! One bare repository for each user of SillyTavern. Folders in reading order, each using only those
//! above it:
//!
//! - [`file`]: which files have a history;
//! - [`git`]: git's formats;
//! - [`store`]: the repository on disk, and how what was recorded stays recorded;
//! - [`version`]: a file taken apart, its versions, and how they follow each other;
//! - [`query`]: finding versions, and the state of a message among them;
//! - [`record`]: adding versions;
//! - [`restore`]: bringing them back;
//! - [`watch`]: recording while SillyTavern runs;
//! - [`upkeep`]: keeping a history small and sound;
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
