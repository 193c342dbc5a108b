//! Git's formats, as far as a history needs them: objects, packs, their indexes, and refs.
//!
//! Reading packs of ours is `gix-pack`'s work; those that nobody vouches for we read ourselves. Writing them is ours: `gix` cannot write deltas, and it never
//! makes sure that what it wrote outlives a power cut.

pub mod delta;
pub mod index;
pub mod object;
pub mod pack;
pub mod packs;
pub mod raw;
pub mod refs;
pub mod unpack;
