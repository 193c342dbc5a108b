//! The history next to a real SillyTavern.
#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "helpers of tests are tests too")]

mod losses;
mod saving;
mod watcher;
