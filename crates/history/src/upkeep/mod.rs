//! Keeping a history small and sound.

pub mod fsck;
pub mod pack;
pub mod purge;
pub mod repair;
mod rewrite;
pub mod thin;
