//! Packs that git fetched, before they are validated.

use std::path::PathBuf;
use std::time::Duration;

use forklore_tavern::disk::Disk;
use forklore_tavern::disk::lock::UserLock;

use crate::error::{Doing, Result};
use crate::exchange::join::ExtraObjects;
use crate::git::object::{Id, Kind};
use crate::git::pack::Packed;
use crate::git::packs::Packs;
use crate::store::files::Files as _;
use crate::version::history::History;

/// How long to wait for another process that is pulling.
const PATIENCE: Duration = Duration::from_secs(60);

/// The folder into which git fetches: outside the store, until the objects are validated.
pub(super) struct Incoming<'d> {
    disk: &'d dyn Disk,
    pub(super) folder: PathBuf,
    _lock: UserLock,
}

/// The packs that git fetched.
pub(super) struct Fetched<'d> {
    disk: &'d dyn Disk,
    packs: Packs,
}

impl<'d> Incoming<'d> {
    pub(super) fn open(history: &History<'d>) -> Result<Self> {
        let store = history.store();
        let (disk, clock) = (store.disk, store.clock);
        let folder = store.layout().own_folder().join("incoming");
        let lock = store.layout().own_folder().join("incoming.lock");
        let lock = UserLock::acquire(disk, &lock, PATIENCE, &|time| clock.sleep(time))?;
        disk.make_dirs(&folder.join("pack")).doing("make", &folder)?;
        let incoming = Self { disk, folder, _lock: lock };
        // Left behind by a process that crashed.
        incoming.clear()?;
        Ok(incoming)
    }

    pub(super) fn clear(&self) -> Result<()> {
        for path in self.files()? {
            self.disk.remove(&path).doing("remove", &path)?;
        }
        Ok(())
    }

    fn files(&self) -> Result<Vec<PathBuf>> {
        self.disk.paths_in(&self.folder.join("pack"))
    }

    pub(super) fn packs(&self) -> Result<Fetched<'d>> {
        let mut indexes = self.files()?;
        indexes.retain(|path| path.extension().is_some_and(|extension| extension == "idx"));
        let (packs, errors) = Packs::open(&indexes);
        match errors.into_iter().next() {
            Some(error) => Err(error.into()),
            None => Ok(Fetched { disk: self.disk, packs }),
        }
    }
}

impl ExtraObjects for Fetched<'_> {
    fn read(&self, id: &Id) -> Result<Option<(Kind, Vec<u8>)>> {
        let mut data = Vec::new();
        Ok(self.packs.read(id, &mut data)?.map(|kind| (kind, data)))
    }

    fn header(&self, id: &Id) -> Result<Option<(Kind, u64)>> {
        Ok(self.packs.header(id)?)
    }

    fn ids(&self) -> Vec<Id> {
        let bundles = self.packs.bundles().iter();
        bundles.flat_map(|bundle| bundle.index.iter().map(|entry| entry.oid)).collect()
    }

    fn packs(&self) -> Result<Vec<Packed>> {
        let mut all = Vec::new();
        for bundle in self.packs.bundles() {
            let (pack, index) = (bundle.pack.path(), bundle.index.path());
            all.push(Packed {
                name: bundle.pack.checksum(),
                pack: self.disk.read(pack).doing("read", pack)?,
                index: self.disk.read(index).doing("read", index)?,
                objects: bundle.index.num_objects() as usize,
            });
        }
        Ok(all)
    }
}
