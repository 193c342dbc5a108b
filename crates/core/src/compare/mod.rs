//! Comparisons: the lore at two moments, and two versions of a file.

pub mod change_summary;
pub mod diff;
