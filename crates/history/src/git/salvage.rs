//! Reads packs and their indexes without believing anything in them: to find out what is damaged, and
//! to get out what is not. It shares no code with what reads them every day.

use std::cell::{OnceCell, RefCell};
use std::ops::Range;
use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::delta::applied;
use super::entry::{HASH, Header, PACK_HEADER, Told, inflate};
use super::index::{Place, checksum};
use super::object::{Id, Kind};

/// What is kept of objects that others are told by.
const CACHE: usize = 32 << 20;
/// Nobody writes longer chains of deltas; one that is longer leads in a circle.
const LONGEST_CHAIN: usize = 10_000;

/// The content of an object.
pub type Content = (Kind, Rc<[u8]>);

/// Where to look for an object that is not to be had from a pack.
pub type Elsewhere<'a> = dyn Fn(&Id) -> Option<Content> + 'a;

/// A pack, damaged or not.
pub struct RawPack {
    bytes: Bytes,
    /// What its index calls the objects, by where they begin.
    names: FxHashMap<u64, Id>,
    places: FxHashMap<Id, u64>,
    cache: RefCell<Cache>,
    checksum: OnceCell<Option<Id>>,
}

/// A file in memory, or as good as.
pub enum Bytes {
    Mapped(gix_pack::data::File),
    Read(Vec<u8>),
}

#[derive(Default)]
struct Cache {
    objects: FxHashMap<u64, Content>,
    size: usize,
}

struct Entry {
    told: Told,
    data: Vec<u8>,
    end: usize,
}

/// An index, as far as it can be understood.
#[derive(Default)]
pub struct RawIndex {
    pub places: Vec<Place>,
    /// Whether it is what was written.
    pub is_sound: bool,
    /// The checksum of the pack that it belongs to.
    pub pack: Option<Id>,
}

impl Bytes {
    fn as_slice(&self) -> &[u8] {
        match self {
            Self::Mapped(file) => file.entry_slice(0..file.data_len() as u64).unwrap_or_default(),
            Self::Read(bytes) => bytes,
        }
    }
}

impl RawPack {
    pub fn new(bytes: Bytes, index: &RawIndex) -> Self {
        let places = index.places.iter();
        Self {
            bytes,
            names: places.clone().map(|place| (place.offset, place.id)).collect(),
            places: places.map(|place| (place.id, place.offset)).collect(),
            cache: RefCell::default(),
            checksum: OnceCell::new(),
        }
    }

    fn bytes(&self) -> &[u8] {
        self.bytes.as_slice()
    }

    pub fn len(&self) -> usize {
        self.bytes().len()
    }

    pub fn is_empty(&self) -> bool {
        self.bytes().is_empty()
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

    fn body(&self) -> &[u8] {
        let bytes = self.bytes();
        // Where it does not end as it should, it may have been cut off, and its end is an object's.
        let end = if self.checksum().is_some() { HASH } else { 0 };
        &bytes[..bytes.len().saturating_sub(end)]
    }

    /// The object that begins there. What it is told by may come from elsewhere.
    pub fn object(&self, offset: u64, elsewhere: &Elsewhere<'_>) -> Option<Content> {
        let mut deltas: Vec<(u64, Vec<u8>)> = Vec::new();
        let mut at = offset;
        let (kind, mut data) = loop {
            if let Some(known) = self.cache.borrow().objects.get(&at) {
                break known.clone();
            }
            if deltas.len() > LONGEST_CHAIN {
                return None;
            }
            let base = match self.entry(at) {
                Some(Entry { told: Told::Whole(kind), data, .. }) => {
                    let content: Content = (kind, data.into());
                    self.remember(at, &content);
                    break content;
                }
                Some(Entry { told: Told::At(base), data, .. }) => {
                    deltas.push((at, data));
                    Ok(base as u64)
                }
                Some(Entry { told: Told::By(id), data, .. }) => {
                    deltas.push((at, data));
                    self.places.get(&id).copied().ok_or(id)
                }
                None if at == offset => return None,
                None => Err(*self.names.get(&at)?),
            };
            match base {
                Ok(base) => at = base,
                Err(id) => break elsewhere(&id)?,
            }
        };
        for (at, delta) in deltas.into_iter().rev() {
            data = applied(&data, &delta)?.into();
            self.remember(at, &(kind, Rc::clone(&data)));
        }
        Some((kind, data))
    }

    /// Where the base of a delta begins.
    pub fn base_of(&self, offset: u64) -> Option<u64> {
        match self.header(offset)?.told {
            Told::At(base) => Some(base as u64),
            Told::By(id) => self.places.get(&id).copied(),
            Told::Whole(_) => None,
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

    /// Where entries begin, and what lies between them that is none. Nothing but the pack itself is
    /// asked; behind damage the next entry is searched for.
    pub fn walk(&self) -> (Vec<u64>, Vec<Range<usize>>) {
        let end = self.body().len();
        let (mut entries, mut gaps) = (Vec::new(), Vec::<Range<usize>>::new());
        let mut at = PACK_HEADER;
        while at < end {
            if let Some(entry) = self.entry(at as u64) {
                entries.push(at as u64);
                at = entry.end;
                continue;
            }
            match gaps.last_mut().filter(|gap| gap.end == at) {
                Some(gap) => gap.end = at + 1,
                None => gaps.push(at..at + 1),
            }
            at += 1;
        }
        (entries, gaps)
    }

    fn entry(&self, offset: u64) -> Option<Entry> {
        let Header { told, size, body } = self.header(offset)?;
        let mut data = Vec::new();
        let used = inflate(self.body().get(body..)?, size, &mut data)?;
        Some(Entry { told, data, end: body + used })
    }

    fn header(&self, offset: u64) -> Option<Header> {
        Header::read(self.body(), usize::try_from(offset).ok()?)
    }
}

/// What a file ends with, if that is the checksum of what comes before.
fn sound_end(bytes: &[u8]) -> Option<Id> {
    let (body, end) = bytes.split_at(bytes.len().checked_sub(HASH)?);
    let end = Id::try_from(end).ok()?;
    (checksum(body).ok()? == end).then_some(end)
}

impl RawIndex {
    pub fn read(bytes: &[u8]) -> Self {
        let places = Self::places(bytes).unwrap_or_default();
        let end = bytes.len().checked_sub(2 * HASH).and_then(|at| bytes.get(at..at + HASH));
        let pack = end.and_then(|end| Id::try_from(end).ok());
        Self { is_sound: sound_end(bytes).is_some() && is_in_order(bytes, &places), places, pack }
    }

    fn places(bytes: &[u8]) -> Option<Vec<Place>> {
        const FIRST: usize = 8 + 256 * 4;
        let word = |at: usize| Some(u32::from_be_bytes(*bytes.get(at..)?.first_chunk()?));
        if word(0)? != 0xff74_4f63 || word(4)? != 2 {
            return None;
        }
        let count = word(FIRST - 4)? as usize;
        let (checks, offsets) = (FIRST + count * HASH, FIRST + count * (HASH + 4));
        let large = FIRST + count * (HASH + 8);
        if large + 2 * HASH > bytes.len() {
            return None;
        }
        let mut places = Vec::with_capacity(count);
        for at in 0..count {
            let id = FIRST + at * HASH;
            let offset = word(offsets + at * 4)?;
            let offset = match offset & 0x8000_0000 {
                0 => Some(u64::from(offset)),
                _ => {
                    let at = large + (offset & 0x7fff_ffff) as usize * 8;
                    bytes.get(at..).and_then(<[u8]>::first_chunk).map(|o| u64::from_be_bytes(*o))
                }
            };
            places.push(Place {
                id: Id::try_from(&bytes[id..id + HASH]).ok()?,
                offset: offset.unwrap_or(u64::MAX),
                crc32: word(checks + at * 4)?,
            });
        }
        Some(places)
    }
}

/// Whether the names rise, and are where the table at the beginning says.
fn is_in_order(bytes: &[u8], places: &[Place]) -> bool {
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

    fn found(pack: &RawPack, elsewhere: &Elsewhere<'_>) -> Vec<Id> {
        let contents = pack.walk().0.into_iter().filter_map(|at| pack.object(at, elsewhere));
        let mut ids: Vec<Id> = contents.map(|(kind, data)| id_of(kind, &data).unwrap()).collect();
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
        assert!(pack.walk().1.is_empty());
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
        // The damage, and a checksum that is none any more.
        assert_eq!(pack.walk().1.len(), 2);
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
