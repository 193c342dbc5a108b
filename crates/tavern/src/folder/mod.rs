//! The contents of a user's folder: chats, lorebooks, groups, cards and settings.

pub mod cards;
pub mod groups;
pub mod headers;
pub mod layout;
pub mod library;
pub mod open_chats;
pub mod references;
pub mod settings;
pub mod similar_names;
