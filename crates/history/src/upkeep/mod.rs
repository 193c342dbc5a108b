//! Keeping a history small and intact.

pub mod fsck;
pub mod pack;
pub mod purge;
pub mod repair;
mod rewrite;
