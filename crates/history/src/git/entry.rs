//! One entry of a pack that a stranger or a failing disk may have made: nothing in it is believed.

use flate2::{Decompress, FlushDecompress, Status};

use super::object::{Id, Kind};

/// What a pack has before its first entry.
pub(super) const PACK_HEADER: usize = 12;
/// How long names and checksums are.
pub(super) const HASH: usize = 20;
/// How many bytes deflate can make of one.
const MOST_FROM_ONE: u64 = 1100;

/// How the content of an entry is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Told {
    Whole(Kind),
    /// As a delta to what begins there.
    At(usize),
    /// As a delta to this object.
    By(Id),
}

/// What stands before the content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) told: Told,
    /// How many bytes are to come out of the deflated part.
    pub(super) size: u64,
    /// Where that begins.
    pub(super) body: usize,
}

impl Header {
    /// Of the entry that begins at `offset`. `pack` goes without the checksum at its end.
    pub(super) fn read(pack: &[u8], offset: usize) -> Option<Self> {
        if !(PACK_HEADER..pack.len()).contains(&offset) {
            return None;
        }
        let mut at = offset;
        let mut next = || {
            at += 1;
            pack.get(at - 1).copied()
        };
        let mut byte = next()?;
        let code = byte >> 4 & 7;
        let mut size = u64::from(byte & 15);
        let mut shift = 4;
        while byte & 0x80 != 0 {
            byte = next()?;
            if shift > 56 {
                return None;
            }
            size |= u64::from(byte & 0x7f) << shift;
            shift += 7;
        }
        let told = match code {
            1 => Told::Whole(Kind::Commit),
            2 => Told::Whole(Kind::Tree),
            3 => Told::Whole(Kind::Blob),
            4 => Told::Whole(Kind::Tag),
            6 => {
                byte = next()?;
                let mut distance = usize::from(byte & 0x7f);
                while byte & 0x80 != 0 {
                    byte = next()?;
                    distance = distance.checked_add(1)?.checked_mul(128)?;
                    distance |= usize::from(byte & 0x7f);
                }
                let base = offset.checked_sub(distance).filter(|_| distance > 0)?;
                Told::At(Some(base).filter(|base| *base >= PACK_HEADER)?)
            }
            7 => {
                let id = Id::try_from(pack.get(at..at + HASH)?).ok()?;
                at += HASH;
                Told::By(id)
            }
            _ => return None,
        };
        Some(Self { told, size, body: at })
    }
}

/// Replaces `data` by what `bytes` begin with, inflated. That must come to `size` bytes. Returns how
/// many bytes it took.
pub(super) fn inflate(bytes: &[u8], size: u64, data: &mut Vec<u8>) -> Option<usize> {
    data.clear();
    let start = bytes.first_chunk::<2>()?;
    let is_zlib = start[0] & 15 == 8 && u16::from_be_bytes(*start) % 31 == 0;
    if !is_zlib || size > (bytes.len() as u64).saturating_mul(MOST_FROM_ONE) {
        return None;
    }
    let size = usize::try_from(size).ok()?;
    let mut inflate = Decompress::new(true);
    loop {
        // Not more than what is there already: the size may be a lie. One byte more than that is too
        // many.
        data.reserve((data.len().max(4096)).min(size + 1 - data.len()));
        let (used, before) = (usize::try_from(inflate.total_in()).ok()?, data.len());
        let status =
            inflate.decompress_vec(bytes.get(used..)?, data, FlushDecompress::None).ok()?;
        let now = usize::try_from(inflate.total_in()).ok()?;
        match status {
            _ if data.len() > size => return None,
            Status::StreamEnd => return (data.len() == size).then_some(now),
            _ if now == used && data.len() == before => return None,
            _ => {}
        }
    }
}
