//! The installed command: real streams, real signals, a real shell.
#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a helper outside a test function is still a test")]

mod bundles;
mod disasters;
mod hints;
mod output;
mod running;
mod stage;
mod watching;
