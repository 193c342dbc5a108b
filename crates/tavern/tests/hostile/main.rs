//! Names and files that mean harm, or came to it.

mod damaged;
mod deep;
#[cfg(unix)]
mod links;
mod names;
