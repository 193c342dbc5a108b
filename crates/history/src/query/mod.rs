//! Finding versions: of a file, of a person's words, of a moment, and of what was lost.

pub mod all_versions;
pub mod catalog;
pub mod lookup;
pub mod losses;
pub mod past;
pub mod versions;
