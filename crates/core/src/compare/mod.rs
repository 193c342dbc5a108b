//! What differs: between the lore of two moments, and between two versions of a file.

pub mod change_summary;
pub mod diff;
