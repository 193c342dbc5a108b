//! The history beside a real SillyTavern.
#![expect(clippy::unwrap_used, reason = "helpers of tests are tests too")]

mod losses;
mod saving;
mod watcher;
