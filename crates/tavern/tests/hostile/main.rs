//! Malicious names and damaged files.

mod damaged;
mod deep;
#[cfg(unix)]
mod links;
mod names;
