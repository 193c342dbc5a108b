//! The adapter for ST-Auto-Recap's data.
//!
//! All knowledge of this extension's field names is in this module. Other memory extensions should
//! get adapters of their own.

pub mod scene;
pub mod snapshot;
pub mod running;
pub mod combined;
pub mod queue;
pub mod notes;
pub mod registry;
pub mod references;
pub mod older_seal;
pub mod wrapper;

/// Whether an entry with this comment is the extension's own bookkeeping rather than lore.
pub fn is_internal(comment: &str) -> bool {
    comment == queue::COMMENT
        || comment.starts_with(registry::PREFIX)
        || comment.starts_with("__index_")
}
