//! Histories on other machines: two that record independently and exchange, malicious remotes,
//! bundles, and SillyTavern's own backups.

#![expect(clippy::unwrap_used, reason = "the stage is a test too")]

mod stage;

mod backups;
mod bombs;
mod bundles;
mod hostile;
mod machines;
