//! The packs of a repository, to be read.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use gix_pack::Bundle;
use gix_pack::cache::lru::MemoryCappedHashmap;
use gix_pack::data::decode::header::ResolvedBase;

use super::object::{HASH, Id, Kind};

/// What is kept of objects that others are told by.
const CACHE: usize = 16 << 20;

/// No object takes more memory than so many times its pack, so that a damaged size is noticed before
/// there is none left.
const MOST_FROM_ONE: usize = 4096;
const LEAST_ROOM: usize = 64 << 20;

/// All packs of a repository, opened. They stay readable when somebody removes their files.
pub struct Packs {
    packs: Vec<Bundle>,
    reader: RefCell<Reader>,
}

struct Reader {
    inflate: gix_zlib::Inflate,
    cache: MemoryCappedHashmap,
    /// Where something was found last, which is where the next thing is likely to be.
    last: usize,
}

/// A pack or an object in it cannot be read.
#[derive(Clone, Debug, thiserror::Error)]
pub enum PackError {
    #[error("could not open the pack `{}`: {why}", path.display())]
    Open { path: PathBuf, why: String },
    #[error("could not read object {id} in `{}`: {why}", pack.display())]
    Object { id: Id, pack: PathBuf, why: String },
}

impl Packs {
    /// Opens the packs of these indexes.
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
        // The cache tells packs apart by this.
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
        self.all_places(id).next().is_some()
    }

    /// Where an object is: in several packs where two of us wrote it.
    fn all_places<'a>(&'a self, id: &'a Id) -> impl Iterator<Item = (usize, u32)> + 'a {
        let last = self.reader.borrow().last;
        let order =
            std::iter::once(last).chain((0..self.packs.len()).filter(move |at| *at != last));
        order.filter_map(move |at| Some((at, self.packs.get(at)?.index.lookup(id)?)))
    }

    /// What `read` gets from the first pack that has the object and can be read.
    fn first<T>(
        &self,
        id: &Id,
        mut read: impl FnMut(&Bundle, u32, &mut Reader) -> Result<T, String>,
    ) -> Result<Option<T>, PackError> {
        let mut found = Ok(None);
        for (at, index) in self.all_places(id) {
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

    /// Replaces the content of `out` by the object; `None` where there is no such object.
    pub fn read(&self, id: &Id, out: &mut Vec<u8>) -> Result<Option<Kind>, PackError> {
        self.first(id, |bundle, index, Reader { inflate, cache, .. }| {
            let found = bundle.get_object_by_index(index, out, inflate, cache);
            found.map(|(data, _)| data.kind).map_err(|error| error.to_string())
        })
    }

    /// What an object is and how long, without putting it together.
    pub fn header(&self, id: &Id) -> Result<Option<(Kind, u64)>, PackError> {
        self.first(id, |bundle, index, Reader { inflate, .. }| {
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
