//! A SillyTavern data folder on disk.
//!
//! Finds it, reads what is in it, and changes it without ever losing what
//! somebody else wrote meanwhile. All thinking is done in `forklore_core`; here
//! are only files. Reading order:
//!
//! - where things are: [`surroundings`], [`root`], [`users`], [`folders`];
//! - what SillyTavern's files say, as far as a lorebook can be referred to
//!   there: [`cards`], [`groups`], [`settings`];
//! - touching files: [`disk`] is every call, [`inside`] keeps paths under the
//!   data root, [`lock`] keeps two of us apart, [`write`] is the protocol that
//!   every change follows.

pub mod surroundings;

mod config;
pub mod root;

pub mod users;

pub mod parallel;
pub mod folders;

pub mod cards;
pub mod groups;
pub mod settings;

pub mod disk;
pub mod inside;
pub mod lock;
pub mod write;
pub mod saying;

pub mod chance;
pub mod library;
pub mod like;
pub mod heads;
pub mod open;

pub mod operation;
pub mod workshop;
pub mod undo;
pub mod trash;

pub mod tavern;
pub mod references;
pub mod forking;
mod changing;
pub mod mending;
pub mod comparing;
pub mod merging;
pub mod cleaning;
pub mod verifying;
pub mod volume;
