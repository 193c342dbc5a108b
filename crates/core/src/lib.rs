//! Everything that Forklore knows and decides. Pure: no files, no clock, no randomness and no
//! environment.
//!
//! Bytes and values come in, values and plans go out. Callers pass in the time and everything else
//! that differs from run to run, so the same code gives the same answer in a browser, in a test and
//! on a server. Folders in reading order, each using only those above it.

pub mod diagnostic;
pub mod digest;
pub mod pieces;

pub mod sillytavern;
pub mod recap;
pub mod memory_books;
pub mod journal;
pub mod timeline;
pub mod finding;
pub mod compare;
pub mod plan;
