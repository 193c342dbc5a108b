//! Where SillyTavern keeps its data, and which user is meant.

mod config;
pub mod environment;
pub mod root;
pub mod users;
