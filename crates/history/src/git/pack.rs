//! Packs: many objects in one file.

use flate2::{Compress, Compression, FlushCompress, Status};
use forklore_tavern::disk::parallel::in_parallel;
use gix_pack::data::entry::Header;
use rustc_hash::FxHashMap;

use super::delta;
use super::index::{self, IndexEntry};
use super::object::{Collision, Id, Kind, Object};

/// Users also read packs with git, which follows delta chains up to this length quickly.
const LONGEST_CHAIN: usize = 40;

/// A delta that saves fewer bytes than this is not used.
const LEAST_SAVING: usize = 8;

/// A pack and its index, ready to be written to disk.
pub struct Packed {
    /// The name of both files.
    pub name: Id,
    pub pack: Vec<u8>,
    pub index: Vec<u8>,
    pub objects: usize,
}

/// Builds a pack in memory.
pub struct Packer {
    pack: Vec<u8>,
    places: Vec<IndexEntry>,
    deflater: Deflater,
    level: u32,
}

/// Where an object is in the pack being built, and how long its delta chain is.
#[derive(Clone, Copy, Debug)]
pub struct PlacedObject {
    offset: u64,
    chain: usize,
}

impl PlacedObject {
    /// The length of its delta chain.
    pub fn chain(&self) -> usize {
        self.chain
    }
}

impl Packer {
    /// `level` is zlib's compression level, from 1 (fast) to 9 (small).
    pub fn new(level: u32) -> Self {
        let mut pack = b"PACK\x00\x00\x00\x02".to_vec();
        pack.extend_from_slice(&[0; 4]);
        Self { pack, places: Vec::new(), deflater: Deflater::new(level), level }
    }

    pub fn len(&self) -> usize {
        self.pack.len()
    }

    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Adds an object without a delta base.
    pub fn add(&mut self, id: Id, kind: Kind, data: &[u8]) -> PlacedObject {
        self.add_shortest(id, kind, data, &[])
    }

    /// Adds an object as a delta against one added earlier, if that saves space.
    pub fn add_like(
        &mut self,
        id: Id,
        kind: Kind,
        data: &[u8],
        base: (PlacedObject, &[u8]),
    ) -> PlacedObject {
        self.add_shortest(id, kind, data, &[base])
    }

    /// Adds an object whole or as a delta against one of `bases`, which were added earlier,
    /// whichever is shortest.
    pub fn add_shortest(
        &mut self,
        id: Id,
        kind: Kind,
        data: &[u8],
        bases: &[(PlacedObject, &[u8])],
    ) -> PlacedObject {
        let offset = self.pack.len() as u64;
        let bases = bases.iter().filter(|(placed, _)| placed.chain < LONGEST_CHAIN);
        let deltas = bases.map(|(placed, base)| (delta::between(base, data), *placed));
        // The shortest delta is nearly always the shortest after deflating as well.
        let delta = deltas.min_by_key(|(delta, _)| delta.len());
        if let Some((delta, placed)) = delta.filter(|(delta, _)| delta.len() < data.len()) {
            let deflated = self.deflater.deflated(&delta);
            let is_short = delta.len() * 8 < data.len();
            // A delta also costs time to follow, so it has to save enough.
            if is_short || deflated.len() + LEAST_SAVING < self.deflater.deflated(data).len() {
                let header = Header::OfsDelta { base_distance: offset - placed.offset };
                self.add_entry(id, header, delta.len(), &deflated);
                return PlacedObject { offset, chain: placed.chain + 1 };
            }
        }
        let deflated = self.deflater.deflated(data);
        self.add_whole(id, kind, data.len(), &deflated)
    }

    fn add_whole(&mut self, id: Id, kind: Kind, size: usize, deflated: &[u8]) -> PlacedObject {
        let offset = self.pack.len() as u64;
        let header = match kind {
            Kind::Commit => Header::Commit,
            Kind::Tree => Header::Tree,
            Kind::Blob => Header::Blob,
            Kind::Tag => Header::Tag,
        };
        self.add_entry(id, header, size, deflated);
        PlacedObject { offset, chain: 0 }
    }

    /// Copies the entries of another pack as they are, headers included.
    pub fn add_raw(&mut self, places: impl Iterator<Item = IndexEntry>, body: &[u8]) {
        let offset = self.pack.len() as u64;
        const HEADER: u64 = 12;
        self.pack.extend_from_slice(body);
        self.places.extend(
            places.map(|place| IndexEntry { offset: place.offset - HEADER + offset, ..place }),
        );
    }

    /// Adds all of `objects`. If an object replaced another, the newer one is stored whole and the
    /// older one as a delta against it, because the newest are read most often.
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
        let is_first = |at: usize, object: &Object| position.get(&object.id) == Some(&at);
        let whole = objects.iter().enumerate().rev();
        let whole = whole.filter(|(at, object)| is_first(*at, object) && !newer.contains_key(at));
        let whole: Vec<&Object> = whole.map(|(_, object)| object).collect();
        let mut deflated = deflated_in_parallel(&whole, self.level).into_iter();
        // Newer objects come later in `objects`, so iterating backwards adds every base before its
        // deltas.
        let mut placed: FxHashMap<usize, PlacedObject> = FxHashMap::default();
        for (at, object) in objects.iter().enumerate().rev() {
            if !is_first(at, object) {
                continue;
            }
            let Object { id, kind, data, .. } = object;
            let newer = newer.get(&at);
            let base = newer.and_then(|newer| {
                let base = &objects[*newer];
                (base.kind == *kind).then_some((*placed.get(newer)?, base.data.as_slice()))
            });
            let place = match (base, newer) {
                (Some(base), _) => self.add_like(*id, *kind, data, base),
                (None, Some(_)) => self.add(*id, *kind, data),
                (None, None) => {
                    let deflated = deflated.next();
                    let deflated = deflated.unwrap_or_else(|| self.deflater.deflated(data));
                    self.add_whole(*id, *kind, data.len(), &deflated)
                }
            };
            placed.insert(at, place);
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

    fn add_entry(&mut self, id: Id, header: Header, size: usize, deflated: &[u8]) {
        let offset = self.pack.len();
        // Writing into memory cannot fail.
        let _ = header.write_to(size as u64, &mut self.pack);
        self.pack.extend_from_slice(deflated);
        let crc32 = crc32fast::hash(&self.pack[offset..]);
        self.places.push(IndexEntry { id, offset: offset as u64, crc32 });
    }
}

/// Reuses one compressor: creating one takes longer than deflating a message.
struct Deflater(Compress);

impl Deflater {
    fn new(level: u32) -> Self {
        Self(Compress::new(Compression::new(level), true))
    }

    fn deflated(&mut self, data: &[u8]) -> Vec<u8> {
        self.0.reset();
        // Enough for incompressible data; if it were not, the buffer would grow.
        let mut out = Vec::with_capacity(data.len() + data.len() / 1_000 + 64);
        loop {
            let rest = &data[self.0.total_in() as usize..];
            // Deflating from memory to memory fails only when the output is full.
            let done = self.0.compress_vec(rest, &mut out, FlushCompress::Finish);
            if matches!(done, Ok(Status::StreamEnd)) {
                return out;
            }
            out.reserve(out.capacity());
        }
    }
}

/// How many objects one thread deflates at a time.
const CHUNK: usize = 256;

/// Deflates the objects, in parallel if there are many. The order stays the same.
fn deflated_in_parallel(objects: &[&Object], level: u32) -> Vec<Vec<u8>> {
    let parts: Vec<&[&Object]> = objects.chunks(CHUNK).collect();
    let deflated = in_parallel(&parts, &|| {}, |part, _| {
        let mut deflater = Deflater::new(level);
        part.iter().map(|object| deflater.deflated(&object.data)).collect::<Vec<_>>()
    });
    deflated.into_iter().flatten().collect()
}
