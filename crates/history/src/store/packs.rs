//! The pack files of a repository: which are intact, merging small ones, and removing old ones.

use std::io;
use std::path::{Path, PathBuf};

use forklore_tavern::disk::parallel::in_parallel;
use gix_pack::Bundle;
use rustc_hash::FxHashSet;

use crate::error::{Doing, Result};
use crate::git::index::IndexEntry;
use crate::git::object::Id;
use crate::git::pack::Packer;
use crate::git::raw::{RawIndex, valid_trailer};
use crate::store::files::Files as _;
use crate::store::{NEW, Store, TEMP};

/// With this many small packs or more, they are merged.
const MANY_PACKS: usize = 16;
/// Larger packs are left alone: copying them costs more than one more pack to look into.
const LARGE: usize = 32 << 20;
/// The sizes of a pack's header and trailer.
const PACK_HEADER: usize = 12;
const PACK_TRAILER: usize = 20;

/// What packing achieved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packing {
    pub bytes_before: u64,
    pub bytes_after: u64,
    pub objects: usize,
}

pub(crate) fn sizes(store: &Store<'_>) -> u64 {
    store.packs().bundles().iter().map(|bundle| bundle.pack.data_len() as u64).sum()
}

/// Which of these packs are intact, together with their indexes. A repair may still recover
/// something from the others.
pub(crate) fn whole(store: &Store<'_>, packs: &[&Bundle]) -> Vec<PathBuf> {
    let disk = store.disk;
    let paths: Vec<&Path> = packs.iter().map(|bundle| bundle.pack.path()).collect();
    let whole = in_parallel(&paths, &|| {}, |path, buffer| {
        let index = RawIndex::read(&disk.read(&path.with_extension("idx")).unwrap_or_default());
        let checksum = disk.read_into(path, buffer).ok().and_then(|()| valid_trailer(buffer));
        let is_whole = index.is_sound && checksum.is_some() && index.pack == checksum;
        is_whole.then(|| path.to_path_buf())
    });
    whole.into_iter().flatten().collect()
}

/// Removes stray files in the pack folder: packs without an index (already copied by a process that
/// crashed) and side files that git made for packs that no longer exist.
pub(crate) fn remove_leftovers(store: &Store<'_>) -> Result<()> {
    let folder = store.layout().packs();
    let open: FxHashSet<PathBuf> =
        store.packs().bundles().iter().map(|bundle| bundle.pack.path().to_owned()).collect();
    for path in store.disk.paths_in(&folder)? {
        if !open.contains(&path.with_extension("pack")) {
            store.disk.remove(&path).doing("remove", &path)?;
        }
    }
    store.disk.sync_folder(&folder)
}

/// Removes cached catalogs of the old versions; they are rebuilt when needed.
pub(crate) fn remove_catalogs(store: &Store<'_>) -> Result<()> {
    for path in store.disk.paths_in(&store.layout().own_folder().join("catalogs"))? {
        store.disk.remove(&path).doing("remove", &path)?;
    }
    Ok(())
}

/// Merges small packs if there are many, by concatenating their entries.
pub(crate) fn roll_up(store: &mut Store<'_>) -> Result<()> {
    let mut order: Vec<&Bundle> = store.packs().bundles().iter().collect();
    order.retain(|bundle| bundle.pack.data_len() <= LARGE);
    if order.len() < MANY_PACKS {
        return Ok(());
    }
    // Damaged ones stay where they are.
    let whole = whole(store, &order);
    order.retain(|bundle| whole.iter().any(|path| path == bundle.pack.path()));
    order.sort_by_key(|bundle| bundle.pack.data_len());
    // Takes each pack that is at most twice as large as all smaller ones together, so that every
    // byte is copied only a logarithmic number of times.
    let mut sum = 0;
    let mut taken = Vec::new();
    for (place, bundle) in order.into_iter().enumerate() {
        let size = bundle.pack.data_len();
        if place >= MANY_PACKS / 2 && size > sum * 2 {
            break;
        }
        sum += size;
        taken.push(bundle);
    }
    if taken.len() < 2 {
        return Ok(());
    }
    let mut packer = Packer::new(6);
    let mut there: FxHashSet<Id> = FxHashSet::default();
    let mut buffer = Vec::new();
    let mut old = Vec::new();
    for bundle in taken {
        let places = bundle.index.iter().map(|entry| IndexEntry {
            id: entry.oid,
            offset: entry.pack_offset,
            crc32: entry.crc32.unwrap_or_default(),
        });
        let places: Vec<IndexEntry> = places.collect();
        if places.iter().any(|place| there.contains(&place.id)) {
            // Two processes wrote the same object, and a pack may contain it only once.
            for place in &places {
                if there.insert(place.id)
                    && let Some(kind) = store.packs().read(&place.id, &mut buffer)?
                {
                    packer.add(place.id, kind, &buffer);
                }
            }
        } else {
            there.extend(places.iter().map(|place| place.id));
            let end = bundle.pack.data_len() - PACK_TRAILER;
            let body = bundle.pack.entry_slice(PACK_HEADER as u64..end as u64).unwrap_or_default();
            packer.add_raw(places.into_iter(), body);
        }
        old.push(bundle.pack.path().to_owned());
    }
    let new = store.write_pack(packer.finish_pack()?)?;
    remove_packs(store, &old, &new)
}

/// Removes packs whose objects have been copied elsewhere. First their indexes are renamed to
/// temporary names, which a later process recognises, so that there is never an index without its
/// pack.
pub(crate) fn remove_packs(store: &mut Store<'_>, old: &[PathBuf], new: &Path) -> Result<()> {
    let folder = store.layout().packs();
    let old: Vec<&PathBuf> = old.iter().filter(|pack| pack.with_extension("idx") != new).collect();
    store.close_packs();
    let mut temps = Vec::new();
    for index in old.iter().map(|pack| pack.with_extension("idx")) {
        if store.disk.exists(&index)? {
            let name = index.file_name().unwrap_or_default().to_string_lossy();
            let temp = folder.join(format!("{TEMP}{}{NEW}", name.trim_start_matches("pack-")));
            match store.disk.rename(&index, &temp) {
                // Another program has it open, so the pack stays as well.
                Err(error) if cfg!(windows) && error.kind() == io::ErrorKind::PermissionDenied => {
                    continue;
                }
                renamed => renamed.doing("rename", &index)?,
            }
            temps.push(temp);
        }
    }
    store.disk.sync_folder(&folder)?;
    for path in old.into_iter().chain(&temps) {
        let has_index = store.disk.stat(&path.with_extension("idx")).is_ok_and(|idx| idx.is_some());
        if !has_index && store.disk.exists(path)? {
            store.try_remove(path)?;
        }
    }
    store.disk.sync_folder(&folder)?;
    store.reopen()
}
