//! SillyTavern's files and requests, and how SillyTavern reads them.

pub mod book;
pub mod chat;
pub mod defaults;
pub mod folding;
pub mod group;
pub mod names;
pub mod save_request;
