//! Finding versions: of a file, by name, at a message, and after a loss.

pub mod all_versions;
pub mod catalog;
pub mod lookup;
pub mod losses;
pub mod past;
pub mod versions;
