//! Reads packs and their indexes without believing anything in them: those that a stranger made, and
//! those that a failing disk left. Apart from the few bytes before each entry it shares no code with
//! what reads them every day.

use std::cell::{OnceCell, RefCell};
use std::rc::Rc;

use flate2::{Decompress, FlushDecompress, Status};
use gix_pack::data;
use rustc_hash::FxHashMap;

use super::delta::applied;
use super::index::{IndexEntry, checksum};
use super::object::{HASH, Id, Kind, id_of};

/// What a pack has before its first entry.
pub(super) const PACK_HEADER: usize = 12;
/// How long names and checksums are.
pub(super) const ID: usize = 20;
/// How many bytes deflate can make of one.
const MOST_FROM_ONE: u64 = 1100;
/// What is kept of objects that others are told by.
const CACHE: usize = 32 << 20;
/// Nobody writes longer chains of deltas; one that is longer leads in a circle.
const LONGEST_CHAIN: usize = 10_000;

/// The content of an object.
pub type Content = (Kind, Rc<Vec<u8>>);

/// Where to look for an object that is not to be had from a pack.
pub type ObjectLookup<'a> = dyn Fn(&Id) -> Option<Content> + 'a;

/// A pack, damaged or not.
pub struct RawPack<B = Bytes> {
    bytes: B,
    /// What its index calls the objects, by where they begin.
    names: FxHashMap<u64, Id>,
    pub(super) places: FxHashMap<Id, u64>,
    cache: RefCell<Cache>,
    checksum: OnceCell<Option<Id>>,
}

/// A file in memory, or as good as.
pub enum Bytes {
    Mapped(data::File),
    Read(Vec<u8>),
}

#[derive(Default)]
struct Cache {
    objects: FxHashMap<u64, Content>,
    size: usize,
}

/// How the content of an entry is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum DeltaBase {
    Whole(Kind),
    /// As a delta to what begins there.
    At(u64),
    /// As a delta to this object.
    By(Id),
}

/// What stands before the content.
pub(super) struct EntryHeader {
    pub(super) told: DeltaBase,
    /// How many bytes are to come out of the deflated part.
    pub(super) size: u64,
    /// Where that begins.
    body: usize,
}

/// An index, as far as it can be understood.
#[derive(Default)]
pub struct RawIndex {
    pub places: Vec<IndexEntry>,
    /// Whether it is what was written.
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

    /// How many objects it says it has; `None` where it is no pack.
    pub fn count(&self) -> Option<u32> {
        let header = self.bytes().first_chunk::<PACK_HEADER>()?;
        let is_pack = header.starts_with(b"PACK\0\0\0\x02");
        is_pack.then(|| u32::from_be_bytes([header[8], header[9], header[10], header[11]]))
    }

    /// The checksum it ends with, if that agrees.
    pub fn checksum(&self) -> Option<Id> {
        *self.checksum.get_or_init(|| sound_end(self.bytes()))
    }

    /// All entries.
    pub(super) fn body(&self) -> &[u8] {
        let bytes = self.bytes();
        // Where it does not end as it should, it may have been cut off, and its end is an object's.
        let end = if self.checksum().is_some() { ID } else { 0 };
        &bytes[..bytes.len().saturating_sub(end)]
    }

    /// The object that begins there. What it is told by may come from elsewhere.
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
            at = match self.header(at).map(|header| header.told) {
                Some(DeltaBase::At(base)) => base,
                Some(DeltaBase::By(id)) => match self.places.get(&id) {
                    Some(base) => *base,
                    None => break elsewhere(&id),
                },
                Some(DeltaBase::Whole(_)) | None => break None,
            };
        };
        // One after the other: all that a stranger's deltas come to need not fit into memory.
        for at in chain.into_iter().rev() {
            let own = self.told(at, known.as_ref());
            if let Some(own) = &own {
                self.remember(at, own);
            }
            let named = || self.names.get(&at).filter(|_| at != offset);
            known = own.or_else(|| elsewhere(named()?));
        }
        known
    }

    /// The same with its right name.
    pub fn named(&self, offset: u64, elsewhere: &ObjectLookup<'_>) -> Option<(Id, Content)> {
        let (kind, data) = self.object(offset, elsewhere)?;
        Some((id_of(kind, &data).ok()?, (kind, data)))
    }

    /// What an entry tells by its base.
    fn told(&self, offset: u64, base: Option<&Content>) -> Option<Content> {
        let header = self.header(offset)?;
        let (data, _) = self.inflated(&header)?;
        match header.told {
            DeltaBase::Whole(kind) => Some((kind, data.into())),
            DeltaBase::At(_) | DeltaBase::By(_) => {
                let (kind, base) = base?;
                Some((*kind, applied(base, &data)?.into()))
            }
        }
    }

    /// Where the base of a delta begins.
    pub fn base_of(&self, offset: u64) -> Option<u64> {
        match self.header(offset)?.told {
            DeltaBase::At(base) => Some(base),
            DeltaBase::By(id) => self.places.get(&id).copied(),
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

    /// Where entries begin. Nothing but the pack itself is asked; behind damage the next entry is
    /// searched for.
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
        // Errors are dear, and behind damage nearly every byte is one.
        let is_kind = bytes.first().is_some_and(|byte| !matches!(byte >> 4 & 7, 0 | 5));
        if !is_kind || offset < PACK_HEADER as u64 {
            return None;
        }
        let entry = data::Entry::from_bytes(bytes, offset, HASH).ok()?;
        let told = match entry.header {
            data::entry::Header::OfsDelta { base_distance } => {
                DeltaBase::At(entry.checked_base_pack_offset(base_distance)?)
            }
            data::entry::Header::RefDelta { base_id } => DeltaBase::By(base_id),
            whole => DeltaBase::Whole(whole.as_kind()?),
        };
        let body = usize::try_from(entry.data_offset).ok()?;
        Some(EntryHeader { told, size: entry.decompressed_size, body })
    }

    /// What comes out of the deflated part of an entry, and where that ends.
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
            // Not more than what is there already: the size may be a lie. One byte more than that is
            // too many.
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

/// What a file ends with, if that is the checksum of what comes before.
pub(crate) fn sound_end(bytes: &[u8]) -> Option<Id> {
    let (body, end) = bytes.split_at(bytes.len().checked_sub(ID)?);
    let end = Id::try_from(end).ok()?;
    (checksum(body).ok()? == end).then_some(end)
}

impl RawIndex {
    pub fn read(bytes: &[u8]) -> Self {
        let places = Self::places(bytes).unwrap_or_default();
        let end = bytes.len().checked_sub(2 * ID).and_then(|at| bytes.get(at..at + ID));
        let pack = end.and_then(|end| Id::try_from(end).ok());
        Self { is_sound: sound_end(bytes).is_some() && is_in_order(bytes, &places), places, pack }
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

/// Whether the names rise, and are where the table at the beginning says.
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
        // All the others are told by the newest.
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
            // A hash tells what is not right.
            let found = found(&pack, &|_| None);
            assert!(!is_whole || found.iter().all(|id| right.contains(id)));
        }
    }
}
