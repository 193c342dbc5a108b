//! Reads packs and indexes without trusting them: those from other machines, and those on a failing
//! disk. Apart from parsing entry headers it shares no code with the reader for everyday use.

use std::cell::{OnceCell, RefCell};
use std::rc::Rc;

use flate2::{Decompress, FlushDecompress, Status};
use gix_pack::data;
use rustc_hash::FxHashMap;

use super::delta::apply_delta;
use super::index::{IndexEntry, checksum};
use super::object::{HASH, Id, Kind, id_of};

/// The size of a pack's header.
pub(super) const PACK_HEADER: usize = 12;
/// The length of ids and checksums.
pub(super) const ID: usize = 20;
/// The highest compression ratio that deflate can reach.
const MOST_FROM_ONE: u64 = 1100;
/// The size of the cache of delta bases.
const CACHE: usize = 32 << 20;
/// No program writes longer delta chains; a longer one is a cycle.
const LONGEST_CHAIN: usize = 10_000;

/// The content of an object.
pub type Content = (Kind, Rc<Vec<u8>>);

/// Looks up an object that a pack does not contain.
pub type ObjectLookup<'a> = dyn Fn(&Id) -> Option<Content> + 'a;

/// A pack, damaged or not.
pub struct RawPack<B = Bytes> {
    bytes: B,
    /// The ids that the index gives for entries, by offset.
    names: FxHashMap<u64, Id>,
    pub(super) places: FxHashMap<Id, u64>,
    cache: RefCell<Cache>,
    checksum: OnceCell<Option<Id>>,
}

/// A file, read into memory or mapped.
pub enum Bytes {
    Mapped(data::File),
    Read(Vec<u8>),
}

#[derive(Default)]
struct Cache {
    objects: FxHashMap<u64, Content>,
    size: usize,
}

/// How the content of an entry is encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum DeltaBase {
    Whole(Kind),
    /// As a delta against the entry at this offset.
    Offset(u64),
    /// As a delta against the object with this id.
    Object(Id),
}

/// The header of an entry.
pub(super) struct EntryHeader {
    pub(super) base: DeltaBase,
    /// The size of the data once inflated.
    pub(super) size: u64,
    /// Where the deflated data begins.
    body: usize,
}

/// As much of an index as can be parsed.
#[derive(Default)]
pub struct RawIndex {
    pub places: Vec<IndexEntry>,
    /// Whether its checksum and order are valid.
    pub is_sound: bool,
    /// The checksum of the pack that it belongs to.
    pub pack: Option<Id>,
}

impl AsRef<[u8]> for Bytes {
    fn as_ref(&self) -> &[u8] {
        match self {
            Self::Mapped(file) => file.entry_slice(0..file.data_len() as u64).unwrap_or_default(),
            Self::Read(bytes) => bytes,
        }
    }
}

impl<B: AsRef<[u8]>> RawPack<B> {
    pub fn new(bytes: B, index: &RawIndex) -> Self {
        let places = index.places.iter();
        Self {
            bytes,
            names: places.clone().map(|place| (place.offset, place.id)).collect(),
            places: places.map(|place| (place.id, place.offset)).collect(),
            cache: RefCell::default(),
            checksum: OnceCell::new(),
        }
    }

    pub fn bytes(&self) -> &[u8] {
        self.bytes.as_ref()
    }

    /// The number of objects that the header claims; `None` if this is not a pack.
    pub fn count(&self) -> Option<u32> {
        let header = self.bytes().first_chunk::<PACK_HEADER>()?;
        let is_pack = header.starts_with(b"PACK\0\0\0\x02");
        is_pack.then(|| u32::from_be_bytes([header[8], header[9], header[10], header[11]]))
    }

    /// The trailing checksum, if it is correct.
    pub fn checksum(&self) -> Option<Id> {
        *self.checksum.get_or_init(|| valid_trailer(self.bytes()))
    }

    /// The header and all entries, without the trailing checksum.
    pub(super) fn body(&self) -> &[u8] {
        let bytes = self.bytes();
        // If the checksum is wrong, the pack may be truncated, and its last bytes belong to an
        // object.
        let end = if self.checksum().is_some() { ID } else { 0 };
        &bytes[..bytes.len().saturating_sub(end)]
    }

    /// The object at an offset. Delta bases that are not in the pack come from `elsewhere`.
    pub fn object(&self, offset: u64, elsewhere: &ObjectLookup<'_>) -> Option<Content> {
        let mut chain = Vec::new();
        let mut at = offset;
        let mut known = loop {
            if let Some(known) = self.cache.borrow().objects.get(&at) {
                break Some(known.clone());
            }
            if chain.len() > LONGEST_CHAIN {
                return None;
            }
            chain.push(at);
            at = match self.header(at).map(|header| header.base) {
                Some(DeltaBase::Offset(base)) => base,
                Some(DeltaBase::Object(id)) => match self.places.get(&id) {
                    Some(base) => *base,
                    None => break elsewhere(&id),
                },
                Some(DeltaBase::Whole(_)) | None => break None,
            };
        };
        // One at a time: the content of a whole chain of untrusted deltas may not fit into memory.
        for at in chain.into_iter().rev() {
            let own = self.decode(at, known.as_ref());
            if let Some(own) = &own {
                self.remember(at, own);
            }
            let named = || self.names.get(&at).filter(|_| at != offset);
            known = own.or_else(|| elsewhere(named()?));
        }
        known
    }

    /// The same, with the id computed from its content.
    pub fn named(&self, offset: u64, elsewhere: &ObjectLookup<'_>) -> Option<(Id, Content)> {
        let (kind, data) = self.object(offset, elsewhere)?;
        Some((id_of(kind, &data).ok()?, (kind, data)))
    }

    /// Decodes an entry, given the content of its delta base.
    fn decode(&self, offset: u64, base: Option<&Content>) -> Option<Content> {
        let header = self.header(offset)?;
        let (data, _) = self.inflated(&header)?;
        match header.base {
            DeltaBase::Whole(kind) => Some((kind, data.into())),
            DeltaBase::Offset(_) | DeltaBase::Object(_) => {
                let (kind, base) = base?;
                Some((*kind, apply_delta(base, &data)?.into()))
            }
        }
    }

    /// The offset of an entry's delta base.
    pub fn base_of(&self, offset: u64) -> Option<u64> {
        match self.header(offset)?.base {
            DeltaBase::Offset(base) => Some(base),
            DeltaBase::Object(id) => self.places.get(&id).copied(),
            DeltaBase::Whole(_) => None,
        }
    }

    fn remember(&self, at: u64, content: &Content) {
        let cache = &mut *self.cache.borrow_mut();
        if cache.size > CACHE {
            *cache = Cache::default();
        }
        cache.size += content.1.len() + 64;
        cache.objects.insert(at, content.clone());
    }

    /// The offsets of all entries, found from the pack alone. After damage, searches for the next
    /// entry.
    pub fn walk(&self) -> Vec<u64> {
        let mut entries = Vec::new();
        let mut at = PACK_HEADER;
        while at < self.body().len() {
            let entry = self.header(at as u64).and_then(|header| self.inflated(&header));
            at = match entry {
                Some((_, end)) => {
                    entries.push(at as u64);
                    end
                }
                None => at + 1,
            };
        }
        entries
    }

    pub(super) fn header(&self, offset: u64) -> Option<EntryHeader> {
        let bytes = self.body().get(usize::try_from(offset).ok()?..)?;
        // Creating errors is expensive, and after damage nearly every byte would cause one.
        let is_kind = bytes.first().is_some_and(|byte| !matches!(byte >> 4 & 7, 0 | 5));
        if !is_kind || offset < PACK_HEADER as u64 {
            return None;
        }
        let entry = data::Entry::from_bytes(bytes, offset, HASH).ok()?;
        let base = match entry.header {
            data::entry::Header::OfsDelta { base_distance } => {
                DeltaBase::Offset(entry.checked_base_pack_offset(base_distance)?)
            }
            data::entry::Header::RefDelta { base_id } => DeltaBase::Object(base_id),
            whole => DeltaBase::Whole(whole.as_kind()?),
        };
        let body = usize::try_from(entry.data_offset).ok()?;
        Some(EntryHeader { base, size: entry.decompressed_size, body })
    }

    /// The inflated data of an entry, and where the entry ends.
    pub(super) fn inflated(&self, header: &EntryHeader) -> Option<(Vec<u8>, usize)> {
        let bytes = self.body().get(header.body..)?;
        let start = bytes.first_chunk::<2>()?;
        let is_zlib = start[0] & 15 == 8 && u16::from_be_bytes(*start) % 31 == 0;
        if !is_zlib || header.size > (bytes.len() as u64).saturating_mul(MOST_FROM_ONE) {
            return None;
        }
        let size = usize::try_from(header.size).ok()?;
        let mut data = Vec::new();
        let mut inflate = Decompress::new(true);
        loop {
            // The claimed size may be wrong, so the buffer at most doubles. One extra byte detects
            // data that is too long.
            data.reserve((data.len().max(4096)).min(size + 1 - data.len()));
            let (used, before) = (usize::try_from(inflate.total_in()).ok()?, data.len());
            let rest = bytes.get(used..)?;
            let status = inflate.decompress_vec(rest, &mut data, FlushDecompress::None).ok()?;
            let now = usize::try_from(inflate.total_in()).ok()?;
            match status {
                _ if data.len() > size => return None,
                Status::StreamEnd if data.len() == size => return Some((data, header.body + now)),
                Status::StreamEnd => return None,
                _ if now == used && data.len() == before => return None,
                _ => {}
            }
        }
    }
}

/// The last bytes of a file, if they are the checksum of everything before them.
pub(crate) fn valid_trailer(bytes: &[u8]) -> Option<Id> {
    let (body, end) = bytes.split_at(bytes.len().checked_sub(ID)?);
    let end = Id::try_from(end).ok()?;
    (checksum(body).ok()? == end).then_some(end)
}

impl RawIndex {
    pub fn read(bytes: &[u8]) -> Self {
        let places = Self::places(bytes).unwrap_or_default();
        let end = bytes.len().checked_sub(2 * ID).and_then(|at| bytes.get(at..at + ID));
        let pack = end.and_then(|end| Id::try_from(end).ok());
        Self {
            is_sound: valid_trailer(bytes).is_some() && is_in_order(bytes, &places),
            places,
            pack,
        }
    }

    fn places(bytes: &[u8]) -> Option<Vec<IndexEntry>> {
        const FIRST: usize = 8 + 256 * 4;
        let word = |at: usize| Some(u32::from_be_bytes(*bytes.get(at..)?.first_chunk()?));
        if word(0)? != 0xff74_4f63 || word(4)? != 2 {
            return None;
        }
        let count = word(FIRST - 4)? as usize;
        let (checks, offsets) = (FIRST + count * ID, FIRST + count * (ID + 4));
        let large = FIRST + count * (ID + 8);
        if large + 2 * ID > bytes.len() {
            return None;
        }
        let mut places = Vec::with_capacity(count);
        for at in 0..count {
            let id = FIRST + at * ID;
            let offset = word(offsets + at * 4)?;
            let offset = match offset & 0x8000_0000 {
                0 => Some(u64::from(offset)),
                _ => {
                    let at = large + (offset & 0x7fff_ffff) as usize * 8;
                    bytes.get(at..).and_then(<[u8]>::first_chunk).map(|o| u64::from_be_bytes(*o))
                }
            };
            places.push(IndexEntry {
                id: Id::try_from(&bytes[id..id + ID]).ok()?,
                offset: offset.unwrap_or(u64::MAX),
                crc32: word(checks + at * 4)?,
            });
        }
        Some(places)
    }
}

/// Whether the ids are sorted, and the fan-out table agrees with them.
fn is_in_order(bytes: &[u8], places: &[IndexEntry]) -> bool {
    let counts = bytes[8..].chunks_exact(4).take(256);
    let rises = places.is_sorted_by(|a, b| a.id < b.id);
    rises
        && counts.enumerate().all(|(first, count)| {
            let below = places.partition_point(|p| usize::from(p.id.as_slice()[0]) <= first);
            count == (below as u32).to_be_bytes()
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::object::{Object, id_of};
    use crate::git::pack::{Packed, Packer};

    fn objects() -> Vec<Object> {
        let mut objects: Vec<Object> = Vec::new();
        for number in 0..30 {
            let data = format!("{} version {number} {}", "before ".repeat(40), "after ".repeat(40));
            let data = data.into_bytes();
            let id = id_of(Kind::Blob, &data).unwrap();
            let before = objects.last().map(|object| object.id);
            objects.push(Object { id, kind: Kind::Blob, data, before });
        }
        objects
    }

    fn packed() -> Packed {
        let mut packer = Packer::new(6);
        packer.add_all(&objects());
        packer.finish_pack().unwrap()
    }

    fn raw(pack: Vec<u8>, index: &[u8]) -> RawPack {
        RawPack::new(Bytes::Read(pack), &RawIndex::read(index))
    }

    fn found(pack: &RawPack, elsewhere: &ObjectLookup<'_>) -> Vec<Id> {
        let named = pack.walk().into_iter().filter_map(|at| pack.named(at, elsewhere));
        let mut ids: Vec<Id> = named.map(|(id, _)| id).collect();
        ids.sort();
        ids
    }

    #[test]
    fn everything_in_a_sound_pack_is_found_with_and_without_its_index() {
        let packed = packed();
        let index = RawIndex::read(&packed.index);
        assert!(index.is_sound && index.pack == Some(packed.name));
        let pack = raw(packed.pack.clone(), &packed.index);
        assert_eq!((pack.count(), pack.checksum()), (Some(30), Some(packed.name)));
        for place in &index.places {
            let (kind, data) = pack.object(place.offset, &|_| None).unwrap();
            assert_eq!(id_of(kind, &data).unwrap(), place.id);
        }
        let mut expected: Vec<Id> = objects().iter().map(|object| object.id).collect();
        expected.sort();
        let pack = raw(packed.pack, b"");
        assert_eq!(found(&pack, &|_| None), expected);
    }

    #[test]
    fn behind_damage_the_rest_is_found_and_told_by_what_is_had_from_elsewhere() {
        let packed = packed();
        let index = RawIndex::read(&packed.index);
        let newest = objects().pop().unwrap();
        let at = index.places.iter().find(|place| place.id == newest.id).unwrap().offset as usize;
        let mut pack = packed.pack;
        pack[at + 20] ^= 0x40;
        let pack = raw(pack, &packed.index);
        assert_eq!(pack.checksum(), None);
        // All the others are deltas based on the newest.
        assert_eq!(found(&pack, &|_| None).len(), 0);
        let elsewhere =
            |id: &Id| (*id == newest.id).then(|| (newest.kind, newest.data.clone().into()));
        assert_eq!(found(&pack, &elsewhere).len(), 29);
    }

    #[test]
    fn no_damage_of_any_kind_is_believed_or_makes_it_panic() {
        let packed = packed();
        let right: std::collections::BTreeSet<Id> = objects().iter().map(|o| o.id).collect();
        let mut random = fastrand::Rng::with_seed(1);
        for _ in 0..3000 {
            let (mut pack, mut index) = (packed.pack.clone(), packed.index.clone());
            for bytes in [&mut pack, &mut index] {
                let at = random.usize(..bytes.len());
                match random.u8(..4) {
                    0 => bytes[at] ^= 1 << random.u8(..8),
                    1 => bytes[at..].iter_mut().take(64).for_each(|byte| *byte = 0),
                    2 => bytes[at..].iter_mut().take(9).for_each(|byte| *byte = random.u8(..)),
                    _ => bytes.truncate(at),
                }
            }
            let is_index_whole = index == packed.index;
            assert_eq!(RawIndex::read(&index).is_sound, is_index_whole);
            let is_whole = pack == packed.pack;
            let pack = raw(pack, &index);
            assert_eq!(pack.checksum().is_some(), is_whole);
            let places = RawIndex::read(&index).places;
            for place in places.iter().take(40) {
                drop(pack.object(place.offset, &|_| None));
            }
            // Wrong content shows in its hash.
            let found = found(&pack, &|_| None);
            assert!(!is_whole || found.iter().all(|id| right.contains(id)));
        }
    }
}
