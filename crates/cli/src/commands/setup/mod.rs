//! Setup on this system and in this shell.

pub(crate) mod completions;
pub(crate) mod doctor;
pub(crate) mod man;
pub(crate) mod service;
