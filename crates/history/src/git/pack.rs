//! Packs: many objects in one file.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::ZlibEncoder;
use rustc_hash::FxHashMap;

use super::delta;
use super::index::{self, Place};
use super::object::{Collision, Id, Kind, Object};

/// Packs are read by people's gits too, which follow a chain of deltas up to this length quickly.
const LONGEST_CHAIN: usize = 40;

/// A pack and its index, ready to be written to disk.
pub struct Packed {
    /// What both files are called by.
    pub name: Id,
    pub pack: Vec<u8>,
    pub index: Vec<u8>,
    pub objects: usize,
}

/// Builds a pack in memory.
pub struct Packer {
    pack: Vec<u8>,
    places: Vec<Place>,
    level: Compression,
}

/// Where an object lies in the pack that is being made, and how many deltas lead to it.
#[derive(Clone, Copy, Debug)]
pub struct Laid {
    offset: u64,
    chain: usize,
}

impl Packer {
    /// `level` is zlib's, from 1 (quick) to 9 (small).
    pub fn new(level: u32) -> Self {
        let mut pack = b"PACK\x00\x00\x00\x02".to_vec();
        pack.extend_from_slice(&[0; 4]);
        Self { pack, places: Vec::new(), level: Compression::new(level) }
    }

    pub fn len(&self) -> usize {
        self.pack.len()
    }

    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Adds an object as it is.
    pub fn add(&mut self, id: Id, kind: Kind, data: &[u8]) -> Laid {
        let code = match kind {
            Kind::Commit => 1,
            Kind::Tree => 2,
            Kind::Blob => 3,
            Kind::Tag => 4,
        };
        let offset = self.pack.len();
        self.add_header(code, data.len());
        self.finish(id, offset, data);
        Laid { offset: offset as u64, chain: 0 }
    }

    /// Adds an object as a delta to one that was added before, if that pays.
    pub fn add_like(&mut self, id: Id, kind: Kind, data: &[u8], base: (Laid, &[u8])) -> Laid {
        const OFS_DELTA: u8 = 6;
        let (laid, base) = base;
        if laid.chain >= LONGEST_CHAIN {
            return self.add(id, kind, data);
        }
        let delta = delta::between(base, data);
        // Deltas hardly deflate any more, and what they replace does.
        if delta.len() * 3 > data.len() {
            return self.add(id, kind, data);
        }
        let offset = self.pack.len();
        self.add_header(OFS_DELTA, delta.len());
        self.add_distance(offset as u64 - laid.offset);
        self.finish(id, offset, &delta);
        Laid { offset: offset as u64, chain: laid.chain + 1 }
    }

    /// Takes in an object as it lies in another pack, with its header.
    pub fn add_raw(&mut self, places: impl Iterator<Item = Place>, body: &[u8]) {
        let offset = self.pack.len() as u64;
        const HEADER: u64 = 12;
        self.pack.extend_from_slice(body);
        self.places
            .extend(places.map(|place| Place { offset: place.offset - HEADER + offset, ..place }));
    }

    /// Adds all of `objects`. Where one took another's place, the newer is kept whole and the older
    /// is told by it: the newest are asked for most.
    pub fn add_all(&mut self, objects: &[Object]) {
        let position: FxHashMap<Id, usize> =
            objects.iter().enumerate().map(|(at, object)| (object.id, at)).collect();
        let mut newer: FxHashMap<usize, usize> = FxHashMap::default();
        for (at, object) in objects.iter().enumerate() {
            if let Some(&before) = object.before.and_then(|id| position.get(&id))
                && before < at
            {
                newer.entry(before).or_insert(at);
            }
        }
        // What is newer comes later in `objects`, so backwards each base is there before it is used.
        let mut laid: FxHashMap<usize, Laid> = FxHashMap::default();
        for (at, object) in objects.iter().enumerate().rev() {
            if position.get(&object.id) != Some(&at) {
                continue;
            }
            let base = newer.get(&at).and_then(|newer| {
                let base = &objects[*newer];
                (base.kind == object.kind).then_some((*laid.get(newer)?, base.data.as_slice()))
            });
            let place = match base {
                Some(base) => self.add_like(object.id, object.kind, &object.data, base),
                None => self.add(object.id, object.kind, &object.data),
            };
            laid.insert(at, place);
        }
    }

    pub fn finish_pack(mut self) -> Result<Packed, Collision> {
        let objects = self.places.len();
        self.pack[8..12].copy_from_slice(&(objects as u32).to_be_bytes());
        let name = index::checksum(&self.pack)?;
        self.pack.extend_from_slice(name.as_slice());
        let index = index::index(self.places, &name)?;
        Ok(Packed { name, pack: self.pack, index, objects })
    }

    fn add_header(&mut self, code: u8, mut size: usize) {
        let mut byte = code << 4 | (size & 0x0f) as u8;
        size >>= 4;
        while size > 0 {
            self.pack.push(byte | 0x80);
            byte = (size & 0x7f) as u8;
            size >>= 7;
        }
        self.pack.push(byte);
    }

    fn add_distance(&mut self, mut distance: u64) {
        let mut bytes = [0; 10];
        let mut at = bytes.len() - 1;
        bytes[at] = (distance & 0x7f) as u8;
        loop {
            distance >>= 7;
            if distance == 0 {
                break;
            }
            distance -= 1;
            at -= 1;
            bytes[at] = (distance & 0x7f) as u8 | 0x80;
        }
        self.pack.extend_from_slice(&bytes[at..]);
    }

    fn finish(&mut self, id: Id, offset: usize, data: &[u8]) {
        let mut encoder = ZlibEncoder::new(&mut self.pack, self.level);
        // Writing into memory cannot fail.
        let _ = encoder.write_all(data);
        let _ = encoder.finish();
        let crc32 = crc32fast::hash(&self.pack[offset..]);
        self.places.push(Place { id, offset: offset as u64, crc32 });
    }
}
