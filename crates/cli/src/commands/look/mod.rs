//! Commands that only read.

pub(crate) mod check;
pub(crate) mod diff;
pub(crate) mod log;
pub(crate) mod show;
pub(crate) mod status;
mod timelines;
pub(crate) mod tree;
pub(crate) mod verify;
