//! A pack that somebody else made, taken apart: every object is found, put together and named anew
//! before any of it is believed.

use std::ops::Range;

use rustc_hash::FxHashMap;

use super::delta::LARGEST;
use super::index::IndexEntry;
use super::object::{Collision, Id, Kind, id_of};
use super::pack::{Packed, Packer};
use super::raw::{Content, DeltaBase, ObjectLookup, PACK_HEADER, RawIndex, RawPack};

/// Git itself never makes longer chains.
const LONGEST_CHAIN: usize = 4096;

/// The bytes are not a sound pack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnpackError {
    #[error("it is not a pack")]
    NotAPack,
    #[error("it is cut off or damaged")]
    Damaged,
    #[error("an object in it is told by one that is not there")]
    NoBase,
    #[error("an object in it is too large")]
    TooLarge,
}

/// A pack, taken apart.
pub struct Unpacked<'p> {
    pack: RawPack<&'p [u8]>,
    objects: FxHashMap<Id, Named>,
    /// What objects in it are told by, and is not in it.
    outside: FxHashMap<Id, Content>,
}

/// An object once it was put together.
struct Named {
    place: Range<usize>,
    kind: Kind,
    len: u64,
}

/// Where entries lie whose name is not known, by what they are told by.
type Waiting = FxHashMap<DeltaBase, Vec<Range<usize>>>;

impl<'p> Unpacked<'p> {
    /// Takes a whole pack apart. `outside` reads what is not in it.
    pub fn read(bytes: &'p [u8], outside: &ObjectLookup<'_>) -> Result<Self, UnpackError> {
        let pack = RawPack::new(bytes, &RawIndex::default());
        let count = pack.count().ok_or(UnpackError::NotAPack)?;
        pack.checksum().ok_or(UnpackError::Damaged)?;
        let (objects, no_outside) = (FxHashMap::default(), FxHashMap::default());
        let mut unpacked = Self { pack, objects, outside: no_outside };
        let mut waiting = unpacked.find_entries(count)?;
        unpacked
            .name_those_by(unpacked.objects.keys().map(|id| (*id, 0)).collect(), &mut waiting)?;
        let mut bases = Vec::new();
        for told in waiting.keys() {
            if let DeltaBase::By(id) = told
                && let Some(content) = outside(id)
            {
                unpacked.outside.insert(*id, content);
                bases.push((*id, 0));
            }
        }
        unpacked.name_those_by(bases, &mut waiting)?;
        match waiting.keys().next() {
            None => Ok(unpacked),
            Some(_) if waiting.keys().any(|told| matches!(told, DeltaBase::By(_))) => {
                Err(UnpackError::NoBase)
            }
            Some(_) => Err(UnpackError::Damaged),
        }
    }

    pub fn ids(&self) -> impl Iterator<Item = &Id> {
        self.objects.keys()
    }

    /// What an object is and how long, if the pack has it.
    pub fn header(&self, id: &Id) -> Option<(Kind, u64)> {
        self.objects.get(id).map(|named| (named.kind, named.len))
    }

    /// The object, if the pack has it.
    pub fn object(&self, id: &Id) -> Option<Content> {
        self.at(&self.objects.get(id)?.place)
    }

    fn at(&self, place: &Range<usize>) -> Option<Content> {
        self.pack.object(place.start as u64, &|id| self.outside.get(id).cloned())
    }

    /// The same pack for our own use: with an index, and with what it was told by.
    pub fn packed(&self) -> Result<Packed, Collision> {
        let mut packer = Packer::new(6);
        let body = self.pack.body();
        let places = self.objects.iter().map(|(id, Named { place, .. })| {
            let crc32 = crc32fast::hash(&body[place.clone()]);
            IndexEntry { id: *id, offset: place.start as u64, crc32 }
        });
        packer.add_raw(places, &body[PACK_HEADER..]);
        for (id, (kind, data)) in &self.outside {
            packer.add(*id, *kind, data);
        }
        packer.finish_pack()
    }

    /// Finds everything, and names what is told by nothing else.
    fn find_entries(&mut self, count: u32) -> Result<Waiting, UnpackError> {
        let mut waiting = Waiting::default();
        let mut at = PACK_HEADER;
        for _ in 0..count {
            let header = self.pack.header(at as u64).ok_or(UnpackError::Damaged)?;
            if header.size > LARGEST as u64 {
                return Err(UnpackError::TooLarge);
            }
            let (data, end) = self.pack.inflated(&header).ok_or(UnpackError::Damaged)?;
            match header.told {
                DeltaBase::Whole(kind) => drop(self.name(at..end, kind, &data)?),
                told => waiting.entry(told).or_default().push(at..end),
            }
            at = end;
        }
        if at == self.pack.body().len() { Ok(waiting) } else { Err(UnpackError::Damaged) }
    }

    /// Names what is told by these, by those, and so on: each right after what it is told by, which is
    /// at hand then. Those can come later in the pack. With each goes how many others it is told by.
    fn name_those_by(
        &mut self,
        mut named: Vec<(Id, usize)>,
        waiting: &mut Waiting,
    ) -> Result<(), UnpackError> {
        while let Some((id, depth)) = named.pop() {
            let place = self.objects.get(&id).map(|named| DeltaBase::At(named.place.start as u64));
            let told = place.into_iter().chain([DeltaBase::By(id)]);
            for place in told.filter_map(|told| waiting.remove(&told)).flatten() {
                let content = if depth < LONGEST_CHAIN { self.at(&place) } else { None };
                let (kind, data) = content.ok_or(UnpackError::Damaged)?;
                named.push((self.name(place, kind, &data)?, depth + 1));
            }
        }
        Ok(())
    }

    fn name(&mut self, place: Range<usize>, kind: Kind, data: &[u8]) -> Result<Id, UnpackError> {
        let id = id_of(kind, data).map_err(|_| UnpackError::Damaged)?;
        self.pack.places.insert(id, place.start as u64);
        let named = Named { place, kind, len: data.len() as u64 };
        // Each object only once.
        match self.objects.insert(id, named) {
            None => Ok(id),
            Some(_) => Err(UnpackError::Damaged),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::index;
    use crate::git::object::Object;
    use crate::git::raw::ID;

    fn objects() -> Vec<Object> {
        let mut before = None;
        let text = |number: usize| format!("{}{number}", "a long tale\n".repeat(40 + number));
        let mut all = Vec::new();
        for number in 0..60 {
            let data = text(number).into_bytes();
            let id = id_of(Kind::Blob, &data).unwrap();
            all.push(Object { id, kind: Kind::Blob, data, before });
            before = Some(id);
        }
        all
    }

    fn packed() -> Packed {
        let mut packer = Packer::new(6);
        packer.add_all(&objects());
        packer.finish_pack().unwrap()
    }

    #[test]
    fn every_object_of_a_pack_is_found_again() {
        let packed = packed();
        let unpacked = Unpacked::read(&packed.pack, &|_| None).unwrap();
        assert_eq!(unpacked.ids().count(), 60);
        for object in objects() {
            let (kind, data) = unpacked.object(&object.id).unwrap();
            assert_eq!((kind, &*data), (object.kind, &object.data));
        }
        let again = unpacked.packed().unwrap();
        assert_eq!((again.name, again.pack, again.index), (packed.name, packed.pack, packed.index));
    }

    /// A pack in which each object is told by one that comes after it.
    fn backwards(count: usize) -> Vec<u8> {
        let text = |number: usize| format!("x{number:08}").into_bytes();
        let id = |number| id_of(Kind::Blob, &text(number)).unwrap();
        let mut pack = b"PACK\x00\x00\x00\x02".to_vec();
        pack.extend((count as u32 + 1).to_be_bytes());
        let deflated = |bytes: &[u8]| {
            use std::io::Write as _;
            let mut deflate =
                flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
            deflate.write_all(bytes).unwrap();
            deflate.finish().unwrap()
        };
        for number in (1..=count).rev() {
            let delta = [&[9, 9, 9][..], &text(number)].concat();
            pack.push(7 << 4 | delta.len() as u8);
            pack.extend_from_slice(id(number - 1).as_slice());
            pack.extend(deflated(&delta));
        }
        pack.push(3 << 4 | 9);
        pack.extend(deflated(&text(0)));
        let sum = index::checksum(&pack).unwrap();
        pack.extend_from_slice(sum.as_slice());
        pack
    }

    #[test]
    fn objects_told_by_later_ones_take_no_longer_each_however_many_there_are() {
        let pack = backwards(4000);
        let unpacked = Unpacked::read(&pack, &|_| None).unwrap();
        assert_eq!(unpacked.ids().count(), 4001);
        let asked = std::cell::Cell::new(0);
        let without_end = backwards(LONGEST_CHAIN + 1);
        let read = Unpacked::read(&without_end, &|_| {
            asked.set(asked.get() + 1);
            None
        });
        assert_eq!(read.err(), Some(UnpackError::Damaged));
        assert_eq!(asked.get(), 0);
    }

    #[test]
    fn a_damaged_pack_is_refused_wherever_the_damage_is() {
        let pack = packed().pack;
        for at in 0..pack.len() {
            let mut damaged = pack.clone();
            damaged[at] ^= 1 << (at % 8);
            assert!(Unpacked::read(&damaged, &|_| None).is_err(), "{at}");
            assert!(Unpacked::read(&pack[..at], &|_| None).is_err(), "{at}");
            // The same with a checksum that agrees, as someone with intent would make it: what is
            // found is what its name says.
            damaged.truncate(pack.len() - ID);
            let sum = index::checksum(&damaged).unwrap();
            damaged.extend_from_slice(sum.as_slice());
            if let Ok(unpacked) = Unpacked::read(&damaged, &|_| None) {
                for object in objects().iter().filter(|it| unpacked.header(&it.id).is_some()) {
                    assert_eq!(*unpacked.object(&object.id).unwrap().1, object.data, "{at}");
                }
            }
        }
    }
}
