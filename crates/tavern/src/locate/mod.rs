//! Finds SillyTavern's data and the user to work on.

mod config;
pub mod environment;
pub mod root;
pub mod users;
