//! Versions of a file: the pieces it is taken apart into, what changed, and how they follow each other.

pub mod body;
pub mod commit;
mod gathering;
pub mod history;
pub mod lineage;
pub mod split;
pub mod summary;
pub mod tracked;

pub(crate) use gathering::{Gathering, Reachable};
