//! Keeps a history small: a single pack in which old versions are deltas against newer ones.

use std::path::Path;

use crate::error::{HistoryError, Result};
use crate::git::object::{Id, Kind};
use crate::store::packs::{self, Packing};
use crate::store::{Store, Writing};
use crate::version::Gathering;
use crate::version::commit::StoredVersion;
use crate::version::history::History;

/// zlib's compression level for a full repack.
const PACK_LEVEL: u32 = 9;

/// Packs everything reachable from refs into a single pack. Unreachable objects are left out.
pub fn pack(history: &mut History<'_>) -> Result<Packing> {
    drop(history.write()?);
    let store = history.store_mut();
    let mut writing = store.write()?;
    writing.flush()?;
    repack(&mut writing)
}

/// Packs everything reachable from refs into a single pack, and removes the other intact packs.
pub(crate) fn repack(writing: &mut Writing<'_, '_>) -> Result<Packing> {
    let store = writing.store_mut();
    let bytes_before = packs::sizes(store);
    let old = packs::whole(store, &store.packs().bundles().iter().collect::<Vec<_>>());
    let tips: Vec<Id> = store.refs().values().copied().collect();
    let mut gathering = Gathering::new(store, PACK_LEVEL);
    gathering.add(&tips)?;
    check_excluded(store, &gathering)?;
    let packed = gathering.packer.finish_pack()?;
    let objects = packed.objects;
    if objects == 0 && store.layout().unfinished_purge(store.disk)?.is_some() {
        packs::remove_packs(store, &old, Path::new(""))?;
    }
    if objects > 0 {
        let written = store.write_pack(packed)?;
        packs::remove_packs(store, &old, &written)?;
    }
    Ok(Packing { bytes_before, bytes_after: packs::sizes(store), objects })
}

/// Fails if a lineage has versions but no ref, because then its ref is lost. Lineages that are
/// being purged are exempt.
fn check_excluded(store: &Store<'_>, gathering: &Gathering<'_, '_>) -> Result<()> {
    let purged = store.layout().unfinished_purge(store.disk)?.unwrap_or_default();
    let mut data = Vec::new();
    for entry in store.packs().bundles().iter().flat_map(|bundle| bundle.index.iter()) {
        let id = entry.oid;
        if gathering.seen.contains(&id)
            || !matches!(store.read_into(&id, &mut data), Ok(Kind::Commit))
        {
            continue;
        }
        let Some(stored) = StoredVersion::parse(id, &data) else { continue };
        let lineage = stored.version.lineage;
        if !store.refs().contains_key(&format!("refs/heads/{lineage}"))
            && !purged.contains(&lineage)
        {
            return Err(HistoryError::LostRef(lineage));
        }
    }
    Ok(())
}
