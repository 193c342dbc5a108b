//! Reads the packs of a repository.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use gix_pack::Bundle;
use gix_pack::cache::lru::MemoryCappedHashmap;
use gix_pack::data::decode::header::ResolvedBase;

use super::object::{HASH, Id, Kind, id_of};

/// The size of the cache of delta bases.
const CACHE: usize = 16 << 20;

/// The most memory that one object may take, as a multiple of its pack's size, so that a damaged
/// size is rejected before memory runs out.
const MOST_FROM_ONE: usize = 4096;
const LEAST_ROOM: usize = 64 << 20;

/// All packs of a repository, open. They stay readable when their files are removed.
pub struct Packs {
    packs: Vec<Bundle>,
    reader: RefCell<Reader>,
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
