//! The work behind each command: read the files, have the core plan, commit the plan.

pub mod change;
pub mod cleanup;
pub mod compare;
pub mod fork;
pub mod merge;
pub mod repair;
pub mod tavern;
pub mod trash;
pub mod verify;
