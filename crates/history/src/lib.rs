//! Every version of every chat and lorebook, in git's own format.
//!
//! One bare repository for each user of SillyTavern. Reading order:
//!
//! - what has a history, and how a file is taken apart: [`file`], [`split`];
//! - git's formats: [`git`];
//! - what is kept is kept: [`layout`], [`journal`], [`store`];
//! - a file in trees, and what changed in it: [`body`], [`tracked`], [`story`];
//! - versions and how they hang together: [`version`], [`lineage`], [`history`];
//! - finding a moment among them: [`catalog`], [`past`];
//! - looking at them, and bringing them back: [`looking`], [`finding`], [`everything`], [`losing`],
//!   [`vanishing`], [`restoring`];
//! - where it lies, and filling it: [`place`], [`scan`], [`watching`];
//! - keeping it small: [`packing`], [`thinning`], [`purging`];
//! - and sound: [`fsck`];
//! - elsewhere: [`joining`], [`remote`], [`bundle`], [`sealing`], [`importing`].

pub mod file;
pub mod split;

pub mod git;

mod disk;
mod error;
pub mod journal;
pub mod layout;
pub mod store;

pub mod body;
pub mod story;
pub mod tracked;

pub mod catalog;
pub mod history;
pub mod lineage;
pub mod past;
pub mod version;

pub mod everything;
pub mod finding;
pub mod looking;
pub mod losing;
pub mod restoring;
pub mod vanishing;

pub mod packing;
pub mod place;
pub mod scan;
pub mod watching;

pub mod bundle;
pub mod importing;
pub mod joining;
pub mod remote;
pub mod sealing;

pub mod fsck;
pub mod purging;
mod rewriting;
pub mod thinning;

pub use error::{HistoryError, Result};
