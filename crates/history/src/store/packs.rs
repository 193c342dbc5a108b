//! The pack files of a repository: which are whole, how small ones are joined, and how old ones go.

use std::io;
use std::path::{Path, PathBuf};

use gix_pack::Bundle;
use rustc_hash::FxHashSet;

use crate::error::{Doing, Result};
use crate::git::index::IndexEntry;
use crate::git::object::Id;
use crate::git::pack::Packer;
use crate::git::raw::{RawIndex, sound_end};
use crate::store::files::Files as _;
use crate::store::{NEW, Store, TEMP};

/// Beyond so many packs, small ones are put together.
const MANY_PACKS: usize = 16;
/// A pack of this size is left alone when small ones are put together.
const LARGE: usize = 256 << 20;
/// What a pack begins and ends with.
const PACK_HEADER: usize = 12;
const PACK_TRAILER: usize = 20;

/// What packing did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packing {
    pub bytes_before: u64,
    pub bytes_after: u64,
    pub objects: usize,
}

pub(crate) fn sizes(store: &Store<'_>) -> u64 {
    store.packs().bundles().iter().map(|bundle| bundle.pack.data_len() as u64).sum()
}

/// The packs that are whole: from the others, a repair may still get something.
pub(crate) fn whole(store: &Store<'_>) -> Vec<PathBuf> {
    let whole = store.packs().bundles().iter().filter(|bundle| is_whole(store, bundle));
    whole.map(|bundle| bundle.pack.path().to_owned()).collect()
}

/// Removes what lies beside packs and is none: packs without an index, of which one of us who died
/// left all elsewhere, and what somebody's git made of packs that are gone.
pub(crate) fn remove_leftovers(store: &Store<'_>) -> Result<()> {
    let folder = store.layout().packs();
    let open: FxHashSet<PathBuf> =
        store.packs().bundles().iter().map(|bundle| bundle.pack.path().to_owned()).collect();
    for path in store.disk.paths_in(&folder)? {
        if !open.contains(&path.with_extension("pack")) {
            store.disk.remove(&path).doing("remove", &path)?;
        }
    }
    store.disk.make_sure_of(&folder)
}

/// Removes lists that were made of the versions as they were: they are made anew.
pub(crate) fn forget_lists(store: &Store<'_>) -> Result<()> {
    for path in store.disk.paths_in(&store.layout().ours().join("catalogs"))? {
        store.disk.remove(&path).doing("remove", &path)?;
    }
    Ok(())
}

/// Puts small packs together when there are many: as they are, one after the other.
pub(crate) fn roll_up(store: &mut Store<'_>) -> Result<()> {
    let bundles = store.packs().bundles();
    if bundles.len() < MANY_PACKS {
        return Ok(());
    }
    let mut order: Vec<&Bundle> = bundles.iter().collect();
    order.retain(|bundle| bundle.pack.data_len() <= LARGE && is_whole(store, bundle));
    order.sort_by_key(|bundle| bundle.pack.data_len());
    // Each pack that is no larger than twice what is smaller than it: so every byte is copied only
    // as often as the logarithm of the whole says.
    let mut sum = 0;
    let mut taken = Vec::new();
    for (place, bundle) in order.into_iter().enumerate() {
        let size = bundle.pack.data_len();
        if size > LARGE || place >= MANY_PACKS / 2 && size > sum * 2 {
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
            // Two of us wrote the same object; a pack has each only once.
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
    let kept = store.keep_pack(packer.finish_pack()?)?;
    remove_packs(store, &old, &kept)
}

/// Whether a pack and its index are as they were written. What is damaged stays where it is.
fn is_whole(store: &Store<'_>, bundle: &Bundle) -> bool {
    let path = bundle.pack.path();
    let read = |path: &Path| store.disk.read(path).unwrap_or_default();
    let index = RawIndex::read(&read(&path.with_extension("idx")));
    let checksum = sound_end(&read(path));
    index.is_sound && checksum.is_some() && index.pack == checksum
}

/// Removes packs whose objects are elsewhere by now. Their indexes go first, under a name by which the
/// next of us knows what they are, so that there never is one without its pack.
pub(crate) fn remove_packs(store: &mut Store<'_>, old: &[PathBuf], kept: &Path) -> Result<()> {
    let folder = store.layout().packs();
    let old: Vec<&PathBuf> = old.iter().filter(|pack| pack.with_extension("idx") != kept).collect();
    store.close_packs();
    let mut temps = Vec::new();
    for index in old.iter().map(|pack| pack.with_extension("idx")) {
        if store.disk.is_there(&index)? {
            let name = index.file_name().unwrap_or_default().to_string_lossy();
            let temp = folder.join(format!("{TEMP}{}{NEW}", name.trim_start_matches("pack-")));
            match store.disk.rename(&index, &temp) {
                // Another program has it open. The pack stays with it.
                Err(error) if cfg!(windows) && error.kind() == io::ErrorKind::PermissionDenied => {
                    continue;
                }
                renamed => renamed.doing("rename", &index)?,
            }
            temps.push(temp);
        }
    }
    store.disk.make_sure_of(&folder)?;
    for path in old.into_iter().chain(&temps) {
        let has_index = store.disk.stat(&path.with_extension("idx")).is_ok_and(|idx| idx.is_some());
        if !has_index && store.disk.is_there(path)? {
            store.remove_or_leave(path)?;
        }
    }
    store.disk.make_sure_of(&folder)?;
    store.reopen()
}
