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
        let mut packs = Vec::with_capacity(indexes.len());
        let mut errors = Vec::new();
        for path in indexes {
            match Bundle::at(path, HASH) {
                Ok(bundle) => packs.push(bundle),
                Err(error) => {
                    errors.push(PackError::Open { path: path.clone(), why: error.to_string() });
                }
            }
        }
        let mut all = Self {
            packs: Vec::new(),
            reader: RefCell::new(Reader {
                inflate: gix_zlib::Inflate::default(),
                cache: MemoryCappedHashmap::new(CACHE),
                last: 0,
            }),
        };
        for pack in packs {
            all.take(pack);
        }
        (all, errors)
    }

    /// Adds a pack that was just written.
    pub fn add(&mut self, index: &Path) -> Result<(), PackError> {
        let bundle = Bundle::at(index, HASH)
            .map_err(|error| PackError::Open { path: index.to_owned(), why: error.to_string() })?;
        self.take(bundle);
        Ok(())
    }

    fn take(&mut self, mut bundle: Bundle) {
        // The cache tells packs apart by this.
        bundle.pack.id = self.packs.len() as u32;
        let most = bundle.pack.data_len().saturating_mul(MOST_FROM_ONE).max(LEAST_ROOM);
        bundle.pack.alloc_limit_bytes = Some(most);
        self.packs.push(bundle);
    }

    pub fn bundles(&self) -> &[Bundle] {
        &self.packs
    }

    pub fn has(&self, id: &Id) -> bool {
        self.find(id).is_some()
    }

    fn find(&self, id: &Id) -> Option<(usize, u32)> {
        self.all_places(id).next()
    }

    /// Where an object is: in several packs where two of us wrote it.
    fn all_places<'a>(&'a self, id: &'a Id) -> impl Iterator<Item = (usize, u32)> + 'a {
        let last = self.reader.borrow().last;
        let order =
            std::iter::once(last).chain((0..self.packs.len()).filter(move |at| *at != last));
        order.filter_map(move |at| Some((at, self.packs.get(at)?.index.lookup(id)?)))
    }

    /// Replaces the content of `out` by the object; `None` where there is no such object.
    pub fn read(&self, id: &Id, out: &mut Vec<u8>) -> Result<Option<Kind>, PackError> {
        let mut found = Ok(None);
        for (at, index) in self.all_places(id) {
            found = self.read_at(id, at, index, out).map(Some);
            if found.is_ok() {
                break;
            }
        }
        found
    }

    /// What an object is and how long, without putting it together.
    pub fn header(&self, id: &Id) -> Result<Option<(Kind, u64)>, PackError> {
        let mut found = Ok(None);
        for (at, index) in self.all_places(id) {
            let bundle = &self.packs[at];
            let inflate = &mut self.reader.borrow_mut().inflate;
            let entry = |index| bundle.pack.entry(bundle.index.pack_offset_at_index(index));
            let base = |id: &gix_hash::oid| {
                let base = bundle.index.lookup(id).and_then(|index| entry(index).ok());
                Ok(base.map(ResolvedBase::InPack))
            };
            let header = entry(index).map_err(|error| error.to_string()).and_then(|entry| {
                let header = bundle.pack.decode_header(entry, inflate, &base);
                let header = header.map_err(|error| error.to_string())?;
                Ok(Some((header.kind, header.object_size)))
            });
            let pack = || bundle.pack.path().to_owned();
            found = header.map_err(|why| PackError::Object { id: *id, pack: pack(), why });
            if found.is_ok() {
                break;
            }
        }
        found
    }

    fn read_at(
        &self,
        id: &Id,
        at: usize,
        index: u32,
        out: &mut Vec<u8>,
    ) -> Result<Kind, PackError> {
        let Reader { inflate, cache, last } = &mut *self.reader.borrow_mut();
        *last = at;
        let bundle = &self.packs[at];
        match bundle.get_object_by_index(index, out, inflate, cache) {
            Ok((data, _)) => Ok(data.kind),
            Err(error) => Err(PackError::Object {
                id: *id,
                pack: bundle.pack.path().to_owned(),
                why: error.to_string(),
            }),
        }
    }
}
