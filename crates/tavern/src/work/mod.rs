//! What each command does to files: read, ask the core for a plan, carry it out.

pub mod change;
pub mod cleanup;
pub mod compare;
pub mod fork;
pub mod merge;
pub mod repair;
pub mod tavern;
pub mod trash;
pub mod verify;
