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
pub mod wrapper;

/// Whether an entry of this name is the extension's own bookkeeping rather than lore.
pub fn is_internal(comment: &str) -> bool {
    comment == queue::COMMENT
        || comment.starts_with(registry::PREFIX)
        || comment.starts_with("__index_")
}
