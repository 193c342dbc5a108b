//! Git's formats, as far as a history needs them: objects, packs, pack indexes and refs.
//!
//! Our own packs are read by `gix-pack`, packs from untrusted sources by our own reader. Packs are
//! written here because `gix` cannot write deltas and does not sync what it writes to disk.

pub mod delta;
pub mod index;
pub mod object;
pub mod pack;
pub mod packs;
pub mod raw;
pub mod refs;
pub mod unpack;
