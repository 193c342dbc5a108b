//! Git's formats, as far as a history needs them: objects, packs, their indexes, and refs.
//!
//! Reading packs is `gix-pack`'s work. Writing them is ours: `gix` cannot write deltas, and it never
//! makes sure that what it wrote outlives a power cut.

pub mod delta;
mod entry;
pub mod index;
pub mod object;
pub mod pack;
pub mod packs;
pub mod refs;
pub mod salvage;
pub mod unpack;
