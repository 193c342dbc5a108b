//! Forklore's domain logic. Pure: no files, no clock, no randomness and no environment.
//!
//! Bytes and values go in, values and plans come out. Callers pass in the time and everything else
//! that varies from run to run, so the same code gives the same answer in a browser, in a test and
//! on a server. The modules are listed in reading order; each uses only those above it.

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
pub mod guard;
