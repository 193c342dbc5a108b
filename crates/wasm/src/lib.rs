//! The core for a browser. Every function takes and returns JSON text as UTF-8 bytes, because a
//! JavaScript string can contain lone surrogates, which a Rust string cannot.

mod boundary;
pub mod cleanup;
pub mod compare;
pub mod fork;
pub mod guard;
pub mod journal;
pub mod lore;
pub mod merge;
pub mod names;
pub mod repair;
pub mod scene;
pub mod timelines;
pub mod verify;

pub use boundary::answer::Answer;
