//! The whole of Forklore's thinking, and none of its doing.
//!
//! Bytes and values come in, values and plans go out. There is no file, no clock, no randomness
//! and no environment in here: whoever calls passes them in, so that the same code runs in a
//! browser, under a test and on a server, and gives the same answer.

pub mod json;
pub mod saying;
pub mod digest;
pub mod chat;
pub mod book;
pub mod defaults;
pub mod names;
pub mod timed;
pub mod recap;
pub mod memory_books;
pub mod journal;
pub mod identity;
pub mod exactness;
pub mod claim;
pub mod moment;
pub mod pieces;
pub mod rewrite;
pub mod mark;
pub mod seal;
pub mod clone;
pub mod fork;
pub mod family;
pub mod references;
pub mod verify;
pub mod repair;
pub mod cleanup;
pub mod group;
pub mod page;
pub mod diff;
pub mod happened;
pub mod beginning;
pub mod merge;
