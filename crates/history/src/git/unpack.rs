//! A pack that somebody else made, taken apart: every object is found, put together and named anew
//! before any of it is believed.

use std::cell::RefCell;
use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::delta::{LARGEST, applied};
use super::entry::{self, HASH, Header, PACK_HEADER};
use super::index::{self, Place};
use super::object::{Id, Kind, id_of};
use super::pack::{Packed, Packer};

/// Git itself never makes longer chains.
const LONGEST_CHAIN: usize = 4096;
/// What is kept of objects that others are told by.
const CACHE: usize = 64 << 20;

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

/// Reads an object that is not in the pack.
pub type Outside<'a> = dyn Fn(&Id) -> Option<(Kind, Vec<u8>)> + 'a;

/// A pack, taken apart.
pub struct Unpacked<'p> {
    pack: &'p [u8],
    entries: Vec<Entry>,
    at: FxHashMap<Id, usize>,
    /// What objects in it are told by, and is not in it.
    outside: FxHashMap<Id, Whole>,
    cache: RefCell<Cache>,
}

#[derive(Clone)]
struct Whole {
    kind: Kind,
    data: Rc<Vec<u8>>,
}

#[derive(Default)]
struct Cache {
    objects: FxHashMap<usize, Whole>,
    bytes: usize,
}

struct Entry {
    offset: usize,
    /// Where the deflated part begins.
    body: usize,
    end: usize,
    size: u64,
    told: Told,
    named: Option<Named>,
}

/// What is known of an object once it was put together.
#[derive(Clone, Copy)]
struct Named {
    id: Id,
    kind: Kind,
    len: u64,
    /// How many others it is told by.
    depth: usize,
}

#[derive(Clone, Copy)]
enum Told {
    Whole(Kind),
    /// By the entry of this number.
    By(usize),
    ById(Id),
}

impl<'p> Unpacked<'p> {
    /// Takes a whole pack apart. `outside` reads what is not in it.
    pub fn read(pack: &'p [u8], outside: &Outside<'_>) -> Result<Self, UnpackError> {
        let body = pack.len().checked_sub(HASH).filter(|end| *end >= PACK_HEADER);
        let body = body.ok_or(UnpackError::Damaged)?;
        if !pack.starts_with(b"PACK\x00\x00\x00\x02") {
            return Err(UnpackError::NotAPack);
        }
        let sum = index::checksum(&pack[..body]).map_err(|_| UnpackError::Damaged)?;
        if sum.as_slice() != &pack[body..] {
            return Err(UnpackError::Damaged);
        }
        let mut unpacked = Self {
            pack: &pack[..body],
            entries: Vec::new(),
            at: FxHashMap::default(),
            outside: FxHashMap::default(),
            cache: RefCell::default(),
        };
        unpacked.find_entries(number(&pack[8..PACK_HEADER]))?;
        unpacked.name_all(outside)?;
        Ok(unpacked)
    }

    pub fn len(&self) -> usize {
        self.at.len()
    }

    pub fn is_empty(&self) -> bool {
        self.at.is_empty()
    }

    pub fn has(&self, id: &Id) -> bool {
        self.at.contains_key(id)
    }

    pub fn ids(&self) -> impl Iterator<Item = &Id> {
        self.at.keys()
    }

    /// What an object is and how long, if the pack has it.
    pub fn header(&self, id: &Id) -> Option<(Kind, u64)> {
        let named = self.entries[*self.at.get(id)?].named?;
        Some((named.kind, named.len))
    }

    /// The object, if the pack has it.
    pub fn object(&self, id: &Id) -> Option<(Kind, Rc<Vec<u8>>)> {
        let whole = self.whole(*self.at.get(id)?).ok()?;
        Some((whole.kind, whole.data))
    }

    /// The same pack for our own use: with an index, and with what it was told by.
    pub fn packed(&self) -> Result<Packed, super::object::Collision> {
        let mut packer = Packer::new(6);
        let places = self.entries.iter().filter_map(|entry| {
            let crc32 = crc32fast::hash(&self.pack[entry.offset..entry.end]);
            Some(Place { id: entry.named?.id, offset: entry.offset as u64, crc32 })
        });
        packer.add_raw(places, &self.pack[PACK_HEADER..]);
        for (id, whole) in &self.outside {
            packer.add(*id, whole.kind, &whole.data);
        }
        packer.finish_pack()
    }

    fn find_entries(&mut self, count: usize) -> Result<(), UnpackError> {
        let mut by_offset: FxHashMap<usize, usize> = FxHashMap::default();
        let mut at = PACK_HEADER;
        let mut data = Vec::new();
        for number in 0..count {
            let mut entry = self.entry(at, &by_offset)?;
            entry.end = entry.body + self.inflate(entry.body, entry.size, &mut data)?;
            if let Told::Whole(kind) = entry.told {
                entry.named = Some(Named::of(kind, &data, 0)?);
            }
            by_offset.insert(at, number);
            at = entry.end;
            self.entries.push(entry);
        }
        if at == self.pack.len() { Ok(()) } else { Err(UnpackError::Damaged) }
    }

    fn entry(
        &self,
        offset: usize,
        by_offset: &FxHashMap<usize, usize>,
    ) -> Result<Entry, UnpackError> {
        let header = Header::read(self.pack, offset).ok_or(UnpackError::Damaged)?;
        if header.size > LARGEST as u64 {
            return Err(UnpackError::TooLarge);
        }
        let told = match header.told {
            entry::Told::Whole(kind) => Told::Whole(kind),
            entry::Told::At(base) => Told::By(*by_offset.get(&base).ok_or(UnpackError::Damaged)?),
            entry::Told::By(id) => Told::ById(id),
        };
        Ok(Entry {
            offset,
            body: header.body,
            end: header.body,
            size: header.size,
            told,
            named: None,
        })
    }

    /// Replaces the content of `out`, and says how many bytes it was inflated from.
    fn inflate(&self, at: usize, size: u64, out: &mut Vec<u8>) -> Result<usize, UnpackError> {
        let input = self.pack.get(at..).unwrap_or_default();
        entry::inflate(input, size, out).ok_or(UnpackError::Damaged)
    }

    /// Names what is told by other objects. Those can come later in the pack, or be elsewhere.
    fn name_all(&mut self, outside: &Outside<'_>) -> Result<(), UnpackError> {
        let mut waiting = Waiting::default();
        let mut ready = Vec::new();
        for (at, entry) in self.entries.iter().enumerate() {
            match (entry.named, entry.told) {
                (Some(named), _) => {
                    self.at.entry(named.id).or_insert(at);
                    ready.push(at);
                }
                (None, Told::By(base)) => waiting.by_place.entry(base).or_default().push(at),
                (None, Told::ById(id)) => waiting.by_id.entry(id).or_default().push(at),
                (None, Told::Whole(_)) => {}
            }
        }
        self.name_those_by(ready, &mut waiting)?;
        while !waiting.by_id.is_empty() {
            let mut ready = Vec::new();
            let bases: Vec<Id> = waiting.by_id.keys().copied().collect();
            for id in bases {
                if let Some((kind, data)) = outside(&id) {
                    self.outside.insert(id, Whole { kind, data: Rc::new(data) });
                    ready.extend(waiting.by_id.remove(&id).unwrap_or_default());
                }
            }
            if ready.is_empty() {
                return Err(UnpackError::NoBase);
            }
            let mut named = Vec::new();
            for at in ready {
                self.name(at, 1)?;
                named.push(at);
            }
            self.name_those_by(named, &mut waiting)?;
        }
        // Each object only once, and each of them.
        if self.at.len() == self.entries.len() { Ok(()) } else { Err(UnpackError::Damaged) }
    }

    /// Names what is told by these, by those, and so on: each right after what it is told by, which is
    /// at hand then.
    fn name_those_by(
        &mut self,
        mut named: Vec<usize>,
        waiting: &mut Waiting,
    ) -> Result<(), UnpackError> {
        while let Some(base) = named.pop() {
            let Some(Named { id, depth, .. }) = self.entries[base].named else { continue };
            let by_place = waiting.by_place.remove(&base).unwrap_or_default();
            let by_id = waiting.by_id.remove(&id).unwrap_or_default();
            for at in by_place.into_iter().chain(by_id) {
                self.name(at, depth + 1)?;
                named.push(at);
            }
        }
        Ok(())
    }

    fn name(&mut self, at: usize, depth: usize) -> Result<(), UnpackError> {
        if depth > LONGEST_CHAIN {
            return Err(UnpackError::Damaged);
        }
        let whole = self.whole(at)?;
        let named = Named::of(whole.kind, &whole.data, depth)?;
        self.entries[at].named = Some(named);
        self.at.entry(named.id).or_insert(at);
        Ok(())
    }

    fn whole(&self, at: usize) -> Result<Whole, UnpackError> {
        let mut chain = Vec::new();
        let mut next = at;
        let mut whole = loop {
            if let Some(whole) = self.cache.borrow().objects.get(&next) {
                break whole.clone();
            }
            let entry = &self.entries[next];
            match entry.told {
                Told::Whole(kind) => {
                    let mut data = Vec::new();
                    self.inflate(entry.body, entry.size, &mut data)?;
                    break Whole { kind, data: Rc::new(data) };
                }
                Told::By(base) => {
                    chain.push(next);
                    next = base;
                }
                Told::ById(id) => {
                    chain.push(next);
                    match self.at.get(&id) {
                        Some(base) => next = *base,
                        None => break self.outside.get(&id).ok_or(UnpackError::NoBase)?.clone(),
                    }
                }
            }
            if chain.len() > LONGEST_CHAIN {
                return Err(UnpackError::Damaged);
            }
        };
        let mut delta = Vec::new();
        for at in chain.into_iter().rev() {
            let entry = &self.entries[at];
            self.inflate(entry.body, entry.size, &mut delta)?;
            let data = applied(&whole.data, &delta).ok_or(UnpackError::Damaged)?;
            whole = Whole { kind: whole.kind, data: Rc::new(data) };
            self.remember(at, &whole);
        }
        self.remember(at, &whole);
        Ok(whole)
    }

    fn remember(&self, at: usize, whole: &Whole) {
        let mut cache = self.cache.borrow_mut();
        if cache.bytes + whole.data.len() > CACHE {
            *cache = Cache::default();
        }
        if cache.objects.insert(at, whole.clone()).is_none() {
            cache.bytes += whole.data.len();
        }
    }
}

/// Objects whose name is not known, by what they are told by.
#[derive(Default)]
struct Waiting {
    by_place: FxHashMap<usize, Vec<usize>>,
    by_id: FxHashMap<Id, Vec<usize>>,
}

impl Named {
    fn of(kind: Kind, data: &[u8], depth: usize) -> Result<Self, UnpackError> {
        let id = id_of(kind, data).map_err(|_| UnpackError::Damaged)?;
        Ok(Self { id, kind, len: data.len() as u64, depth })
    }
}

fn number(bytes: &[u8]) -> usize {
    bytes.iter().fold(0, |number, byte| number << 8 | usize::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::object::Object;

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
        assert_eq!(unpacked.len(), 60);
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
        assert_eq!(unpacked.len(), 4001);
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
            damaged.truncate(pack.len() - HASH);
            let sum = index::checksum(&damaged).unwrap();
            damaged.extend_from_slice(sum.as_slice());
            if let Ok(unpacked) = Unpacked::read(&damaged, &|_| None) {
                for object in objects().iter().filter(|object| unpacked.has(&object.id)) {
                    assert_eq!(*unpacked.object(&object.id).unwrap().1, object.data, "{at}");
                }
            }
        }
    }
}
