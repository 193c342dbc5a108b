//! Timelines: which chats belong together, what each was sealed with, and what is known of a moment.

pub mod identity;
pub mod exactness;
pub mod claim;
pub mod mark;
pub mod seal;
pub mod family;
pub mod references;
pub mod moment;
pub mod merge_base;
