//! What ST-Auto-Recap keeps: an adapter, apart from the rest of the core.
//!
//! Other memory extensions will want an adapter of their own; everything that knows this one's
//! field names is in this folder.

pub mod scene;
pub mod snapshot;
pub mod running;
pub mod combined;
pub mod queue;
pub mod registry;
pub mod references;
pub mod older_seal;
