//! Timelines: which chats belong together, how each was forked, and what is known about its
//! moments.

pub mod identity;
pub mod exactness;
pub mod claim;
pub mod mark;
pub mod seal;
pub mod replaced;
pub mod family;
pub mod book_users;
pub mod references;
pub mod books_named;
pub mod moment;
pub mod shape;
pub mod merge_base;
