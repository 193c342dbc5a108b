//! The history beside a real SillyTavern.
#![expect(clippy::unwrap_used, reason = "helpers of tests are tests too")]

mod saving;
mod watcher;
