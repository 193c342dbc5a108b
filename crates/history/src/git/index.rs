//! Pack indexes: where each object is in a pack.

use super::object::{Collision, HASH, Id};

/// An object in a pack.
#[derive(Clone, Copy, Debug)]
pub struct IndexEntry {
    pub id: Id,
    pub offset: u64,
    /// Of the bytes as stored in the pack.
    pub crc32: u32,
}

/// Offsets from here on are stored in a separate table.
const LARGE: u64 = 0x8000_0000;

/// Builds a whole index, version 2.
pub fn index(mut places: Vec<IndexEntry>, pack: &Id) -> Result<Vec<u8>, Collision> {
    places.sort_unstable_by_key(|place| place.id);
    let mut index = Vec::with_capacity(1100 + places.len() * 28);
    index.extend_from_slice(b"\xfftOc\x00\x00\x00\x02");
    let mut counts = [0_u32; 256];
    for place in &places {
        counts[usize::from(place.id.as_slice()[0])] += 1;
    }
    let mut sum = 0;
    for count in counts {
        sum += count;
        index.extend_from_slice(&sum.to_be_bytes());
    }
    for place in &places {
        index.extend_from_slice(place.id.as_slice());
    }
    for place in &places {
        index.extend_from_slice(&place.crc32.to_be_bytes());
    }
    let mut large: Vec<u64> = Vec::new();
    for place in &places {
        let offset = if place.offset < LARGE {
            place.offset as u32
        } else {
            large.push(place.offset);
            LARGE as u32 | (large.len() - 1) as u32
        };
        index.extend_from_slice(&offset.to_be_bytes());
    }
    for offset in large {
        index.extend_from_slice(&offset.to_be_bytes());
    }
    index.extend_from_slice(pack.as_slice());
    let own = checksum(&index)?;
    index.extend_from_slice(own.as_slice());
    Ok(index)
}

pub(super) fn checksum(bytes: &[u8]) -> Result<Id, Collision> {
    let mut hasher = gix_hash::hasher(HASH);
    hasher.update(bytes);
    hasher.try_finalize().map_err(|_| Collision)
}
