//! Versions of a file: splitting it into pieces, what changed, and its lineage.

pub mod body;
pub mod commit;
mod gathering;
pub mod history;
pub mod lineage;
pub(crate) mod lineage_name;
pub mod lost;
pub(crate) mod machine;
pub mod split;
pub(crate) mod strays;
pub mod summary;
pub mod tracked;

pub(crate) use gathering::{Gathering, Reachable};
