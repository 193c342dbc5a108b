//! Unpacks an untrusted pack: every object is found, decoded and hashed before any of it is used.

use std::ops::Range;

use rustc_hash::FxHashMap;

use super::delta::LARGEST;
use super::index::IndexEntry;
use super::object::{Collision, Id, Kind, id_of};
use super::pack::{Packed, Packer};
use super::raw::{Content, DeltaBase, ObjectLookup, PACK_HEADER, RawIndex, RawPack};

/// Git itself never makes longer delta chains.
const LONGEST_CHAIN: usize = 4096;

/// Why some bytes are not a valid pack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnpackError {
    #[error("it is not a pack")]
    NotAPack,
    #[error("it is cut off or damaged")]
    Damaged,
    #[error("the delta base of an object in it is missing")]
    NoBase,
    #[error("an object in it is too large")]
    TooLarge,
}

/// A pack whose objects are all decoded and identified.
pub struct Unpacked<'p> {
    pack: RawPack<&'p [u8]>,
    objects: FxHashMap<Id, ResolvedObject>,
    /// Delta bases that are not in the pack.
    outside: FxHashMap<Id, Content>,
}

/// An object that was decoded.
struct ResolvedObject {
    place: Range<usize>,
    kind: Kind,
    len: u64,
}

/// Entries whose id is not known yet, by their delta base.
type Unresolved = FxHashMap<DeltaBase, Vec<Range<usize>>>;

impl<'p> Unpacked<'p> {
    /// Reads a whole pack. `outside` looks up delta bases that are not in it.
    pub fn read(bytes: &'p [u8], outside: &ObjectLookup<'_>) -> Result<Self, UnpackError> {
        let pack = RawPack::new(bytes, &RawIndex::default());
        let count = pack.count().ok_or(UnpackError::NotAPack)?;
        pack.checksum().ok_or(UnpackError::Damaged)?;
        let (objects, no_outside) = (FxHashMap::default(), FxHashMap::default());
        let mut unpacked = Self { pack, objects, outside: no_outside };
        let mut unresolved = unpacked.find_entries(count)?;
        unpacked.resolve_deltas(
            unpacked.objects.keys().map(|id| (*id, 0)).collect(),
            &mut unresolved,
        )?;
        let mut bases = Vec::new();
        for base in unresolved.keys() {
            if let DeltaBase::Object(id) = base
                && let Some(content) = outside(id)
            {
                unpacked.outside.insert(*id, content);
                bases.push((*id, 0));
            }
        }
        unpacked.resolve_deltas(bases, &mut unresolved)?;
        match unresolved.keys().next() {
            None => Ok(unpacked),
            Some(_) if unresolved.keys().any(|base| matches!(base, DeltaBase::Object(_))) => {
                Err(UnpackError::NoBase)
            }
            Some(_) => Err(UnpackError::Damaged),
        }
    }

    pub fn ids(&self) -> impl Iterator<Item = &Id> {
        self.objects.keys()
    }

    /// The kind and size of an object, if the pack has it.
    pub fn header(&self, id: &Id) -> Option<(Kind, u64)> {
        self.objects.get(id).map(|resolved| (resolved.kind, resolved.len))
    }

    /// The object, if the pack has it.
    pub fn object(&self, id: &Id) -> Option<Content> {
        self.at(&self.objects.get(id)?.place)
    }

    fn at(&self, place: &Range<usize>) -> Option<Content> {
        self.pack.object(place.start as u64, &|id| self.outside.get(id).cloned())
    }

    /// The same pack for our own store: with an index, and with the delta bases that it lacked.
    pub fn packed(&self) -> Result<Packed, Collision> {
        let mut packer = Packer::new(6);
        let body = self.pack.body();
        let places = self.objects.iter().map(|(id, ResolvedObject { place, .. })| {
            let crc32 = crc32fast::hash(&body[place.clone()]);
            IndexEntry { id: *id, offset: place.start as u64, crc32 }
        });
        packer.add_raw(places, &body[PACK_HEADER..]);
        for (id, (kind, data)) in &self.outside {
            packer.add(*id, *kind, data);
        }
        packer.finish_pack()
    }

    /// Finds all entries, and identifies those that are not deltas.
    fn find_entries(&mut self, count: u32) -> Result<Unresolved, UnpackError> {
        let mut unresolved = Unresolved::default();
        let mut at = PACK_HEADER;
        for _ in 0..count {
            let header = self.pack.header(at as u64).ok_or(UnpackError::Damaged)?;
            if header.size > LARGEST as u64 {
                return Err(UnpackError::TooLarge);
            }
            let (data, end) = self.pack.inflated(&header).ok_or(UnpackError::Damaged)?;
            match header.base {
                DeltaBase::Whole(kind) => drop(self.identify(at..end, kind, &data)?),
                base => unresolved.entry(base).or_default().push(at..end),
            }
            at = end;
        }
        if at == self.pack.body().len() { Ok(unresolved) } else { Err(UnpackError::Damaged) }
    }

    /// Identifies the deltas against these objects, then the deltas against those, and so on: each
    /// right after its base, which is still cached then. Deltas can come before their base in the
    /// pack. The number beside each id is the length of its delta chain.
    fn resolve_deltas(
        &mut self,
        mut resolved: Vec<(Id, usize)>,
        unresolved: &mut Unresolved,
    ) -> Result<(), UnpackError> {
        while let Some((id, depth)) = resolved.pop() {
            let place = self
                .objects
                .get(&id)
                .map(|resolved| DeltaBase::Offset(resolved.place.start as u64));
            let base = place.into_iter().chain([DeltaBase::Object(id)]);
            for place in base.filter_map(|base| unresolved.remove(&base)).flatten() {
                let content = if depth < LONGEST_CHAIN { self.at(&place) } else { None };
                let (kind, data) = content.ok_or(UnpackError::Damaged)?;
                resolved.push((self.identify(place, kind, &data)?, depth + 1));
            }
        }
        Ok(())
    }

    fn identify(
        &mut self,
        place: Range<usize>,
        kind: Kind,
        data: &[u8],
    ) -> Result<Id, UnpackError> {
        let id = id_of(kind, data).map_err(|_| UnpackError::Damaged)?;
        self.pack.places.insert(id, place.start as u64);
        let resolved = ResolvedObject { place, kind, len: data.len() as u64 };
        // Each object must occur only once.
        match self.objects.insert(id, resolved) {
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

    /// A pack in which each object is a delta against one that comes after it.
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
            // The same with a correct checksum, as an attacker would make it: every object found
            // has the content that its id promises.
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
