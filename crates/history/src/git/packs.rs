//! Reads the packs of a repository.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use gix_pack::Bundle;
use gix_pack::cache::lru::MemoryCappedHashmap;
use gix_pack::data::decode::header::ResolvedBase;
use gix_pack::data::entry::Header;
use rustc_hash::FxHashSet;

use super::object::{HASH, Id, Kind, id_of};

/// The size of the cache of delta bases.
const CACHE: usize = 16 << 20;

/// The most memory that one object may take, as a multiple of its pack's size, so that a damaged
/// size is rejected before memory runs out.
const MOST_FROM_ONE: usize = 4096;
const LEAST_ROOM: usize = 64 << 20;

/// Reading this many objects takes about as long as putting the entries of a large pack in order.
const FEW: usize = 5_000;

/// The size of the checksum at the end of a pack.
const TRAILER: usize = 20;

/// All packs of a repository, open. They stay readable when their files are removed.
pub struct Packs {
    packs: Vec<Bundle>,
    reader: RefCell<Reader>,
    /// What has been checked of each pack.
    checks: RefCell<Vec<Checks>>,
}

/// Which entries of a pack are whole, as far as that was asked.
#[derive(Default)]
struct Checks {
    asked: usize,
    /// The entries in the order of the pack: where each begins, and its place in the index.
    entries: Vec<(u64, u32)>,
    /// Offsets of entries that are whole, with everything that they are a delta of.
    whole: FxHashSet<u64>,
}

struct Reader {
    inflate: gix_zlib::Inflate,
    cache: MemoryCappedHashmap,
    /// The pack in which the last object was found, where the next one is likely to be.
    last: usize,
}

/// A pack, or an object in it, cannot be read.
#[derive(Clone, Debug, thiserror::Error)]
pub enum PackError {
    #[error("could not open the pack `{}`: {why}", path.display())]
    Open { path: PathBuf, why: String },
    #[error("could not read object {id} in `{}`: {why}", pack.display())]
    Object { id: Id, pack: PathBuf, why: String },
}

impl Checks {
    fn is_whole(&mut self, bundle: &Bundle, index: u32) -> bool {
        if self.entries.is_empty() {
            let all = 0..bundle.index.num_objects();
            self.entries = all.map(|at| (bundle.index.pack_offset_at_index(at), at)).collect();
            self.entries.sort_unstable();
        }
        let mut chain = Vec::new();
        let mut next = Some(index);
        while let Some(index) = next {
            let offset = bundle.index.pack_offset_at_index(index);
            if self.whole.contains(&offset) {
                break;
            }
            if chain.contains(&offset) {
                return false;
            }
            let Some(base) = self.check_entry(bundle, index, offset) else { return false };
            chain.push(offset);
            next = base;
        }
        self.whole.extend(chain);
        true
    }

    /// The place of the entry that this one is a delta of; `None` if it is not whole.
    fn check_entry(&self, bundle: &Bundle, index: u32, offset: u64) -> Option<Option<u32>> {
        let at = self.entries.partition_point(|(other, _)| *other <= offset);
        let end = bundle.pack.data_len().saturating_sub(TRAILER);
        let end = self.entries.get(at).map_or(end as u64, |(next, _)| *next);
        let bytes = bundle.pack.entry_slice(offset..end)?;
        if Some(crc32fast::hash(bytes)) != bundle.index.crc32_at_index(index) {
            return None;
        }
        match bundle.pack.entry(offset).ok()?.header {
            Header::OfsDelta { base_distance } => {
                let base = offset.checked_sub(base_distance)?;
                let found = self.entries.binary_search_by_key(&base, |(other, _)| *other).ok()?;
                Some(Some(self.entries[found].1))
            }
            Header::RefDelta { base_id } => Some(Some(bundle.index.lookup(base_id)?)),
            _ => Some(None),
        }
    }
}

impl Packs {
    /// Opens the packs that belong to these indexes.
    pub fn open(indexes: &[PathBuf]) -> (Self, Vec<PackError>) {
        let mut packs = Self {
            packs: Vec::with_capacity(indexes.len()),
            reader: RefCell::new(Reader {
                inflate: gix_zlib::Inflate::default(),
                cache: MemoryCappedHashmap::new(CACHE),
                last: 0,
            }),
            checks: RefCell::default(),
        };
        let errors = indexes.iter().filter_map(|index| packs.add(index).err()).collect();
        (packs, errors)
    }

    /// Adds a pack that was just written.
    pub fn add(&mut self, index: &Path) -> Result<(), PackError> {
        let mut bundle = Bundle::at(index, HASH)
            .map_err(|error| PackError::Open { path: index.to_owned(), why: error.to_string() })?;
        // The cache tells packs apart by this id.
        bundle.pack.id = self.packs.len() as u32;
        let most = bundle.pack.data_len().saturating_mul(MOST_FROM_ONE).max(LEAST_ROOM);
        bundle.pack.alloc_limit_bytes = Some(most);
        self.packs.push(bundle);
        Ok(())
    }

    pub fn bundles(&self) -> &[Bundle] {
        &self.packs
    }

    pub fn has(&self, id: &Id) -> bool {
        self.locations(id).next().is_some()
    }

    /// Where an object is. It can be in several packs if two processes wrote it.
    fn locations<'a>(&'a self, id: &'a Id) -> impl Iterator<Item = (usize, u32)> + 'a {
        let last = self.reader.borrow().last;
        let order =
            std::iter::once(last).chain((0..self.packs.len()).filter(move |at| *at != last));
        order.filter_map(move |at| Some((at, self.packs.get(at)?.index.lookup(id)?)))
    }

    /// Whether an object is here as it was written. A few are read. Of many, the checksums are
    /// compared that the index has, which takes a fraction of the time once the order of the
    /// entries is known.
    pub fn is_whole(&self, id: &Id) -> bool {
        let checks = &mut *self.checks.borrow_mut();
        checks.resize_with(self.packs.len(), Checks::default);
        self.locations(id).any(|(at, index)| {
            checks[at].asked += 1;
            if checks[at].asked < FEW {
                matches!(self.read(id, &mut Vec::new()), Ok(Some(_)))
            } else {
                checks[at].is_whole(&self.packs[at], index)
            }
        })
    }

    /// The result of `read` for the first pack that has the object in readable form.
    fn read_first<T>(
        &self,
        id: &Id,
        mut read: impl FnMut(&Bundle, u32, &mut Reader) -> Result<T, String>,
    ) -> Result<Option<T>, PackError> {
        let mut found = Ok(None);
        for (at, index) in self.locations(id) {
            let (bundle, reader) = (&self.packs[at], &mut *self.reader.borrow_mut());
            reader.last = at;
            let pack = || bundle.pack.path().to_owned();
            found = read(bundle, index, reader).map(Some).map_err(|why| PackError::Object {
                id: *id,
                pack: pack(),
                why,
            });
            if found.is_ok() {
                break;
            }
        }
        found
    }

    /// Replaces the content of `out` with the object; `None` if there is no such object.
    pub fn read(&self, id: &Id, out: &mut Vec<u8>) -> Result<Option<Kind>, PackError> {
        self.read_first(id, |bundle, index, Reader { inflate, cache, .. }| {
            let found = bundle.get_object_by_index(index, out, inflate, cache);
            let kind = found.map(|(data, _)| data.kind).map_err(|error| error.to_string())?;
            // A damaged index leads to another object, which is sound in itself.
            match id_of(kind, out) {
                Ok(own) if own == *id => Ok(kind),
                _ => Err("its content does not have this id".to_owned()),
            }
        })
    }

    /// The kind and size of an object, without decoding it.
    pub fn header(&self, id: &Id) -> Result<Option<(Kind, u64)>, PackError> {
        self.read_first(id, |bundle, index, Reader { inflate, .. }| {
            let entry = |index| bundle.pack.entry(bundle.index.pack_offset_at_index(index));
            let base = |id: &gix_hash::oid| {
                let base = bundle.index.lookup(id).and_then(|index| entry(index).ok());
                Ok(base.map(ResolvedBase::InPack))
            };
            let header =
                entry(index).and_then(|entry| bundle.pack.decode_header(entry, inflate, &base));
            let header = header.map_err(|error| error.to_string())?;
            Ok((header.kind, header.object_size))
        })
    }
}
