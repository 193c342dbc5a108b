//! The core for a browser. Every function takes and gives JSON text as UTF-8 bytes, because a
//! string of JavaScript's can hold what a string of Rust's cannot.

mod answer;
mod ask;
pub mod cleanup;
pub mod compare;
pub mod fork;
pub mod journal;
pub mod lore;
pub mod mend;
pub mod merge;
pub mod names;
pub mod verify;
mod words;

pub use answer::Answer;
