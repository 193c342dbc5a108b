//! Everything that produces a plan or a verdict. Callers carry out the plans.

pub mod book_copy;
pub mod cleanup;
pub mod fork;
pub mod merge;
pub mod rename;
pub mod repair;
pub mod timed_effects;
pub mod verify;
pub mod overview;
