//! Everything that ends in a plan or in a verdict. Callers carry plans out.

pub mod book_copy;
pub mod cleanup;
pub mod fork;
pub mod merge;
pub mod repair;
pub mod timed_effects;
pub mod verify;
