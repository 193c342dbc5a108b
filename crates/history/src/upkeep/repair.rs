//! Repairs a damaged history as far as possible. Deletes nothing: damaged files are moved aside,
//! and everything readable in them is stored again.

use std::path::{Path, PathBuf};
use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::error::{Doing, HistoryError, Result};
use crate::file::FileName;
use crate::git::object::{Id, id_of};
use crate::git::pack::{Packer, PlacedObject};
use crate::git::raw::{Content, RawPack};
use crate::git::refs::Refs;
use crate::store::files::Files as _;
use crate::store::journal;
use crate::store::{Store, Writing};
use crate::upkeep::fsck::reach::Reachability;
use crate::upkeep::fsck::refs::misspelt;
use crate::upkeep::fsck::scan::{Examined, ExaminedPack, open_packs, set_aside};
use crate::upkeep::fsck::{
    Fault, FaultKind, Live, LostRef, ProgressFn, Verified, examine_locked, verify,
};
use crate::upkeep::purge::finish;
use crate::version::commit::{Origin, StoredVersion};
use crate::version::history::History;
use crate::version::tracked;

/// What a repair did.
#[derive(Debug, Default)]
pub struct Repaired {
    /// Objects recovered from damaged files.
    pub salvaged: usize,
    /// Objects recovered from the live files.
    pub healed: usize,
    /// Refs that were recovered.
    pub refs: Vec<LostRef>,
    /// Unreachable versions that were rescued, by the newest of each run: lineage and number.
    pub rescued: Vec<(String, u64)>,
    /// Where the damaged files are now.
    pub set_aside: Vec<PathBuf>,
    /// The state after the repair: what is still damaged is lost for good.
    pub after: Verified,
}

/// How often to look for missing objects again, as long as each round recovers some.
const MOST_ROUNDS: usize = 8;

/// Repairs a history.
pub fn repair(
    history: &mut History<'_>,
    live: &Live<'_>,
    tick: &ProgressFn<'_>,
) -> Result<Repaired> {
    let machine = history.machine().to_owned();
    let mut repaired = {
        let store = history.store_mut();
        let there = set_aside(store)?;
        save_unfinished_journal(store)?;
        let writing = store.write()?;
        let mut repair = Repair { writing, machine, live, repaired: Repaired::default() };
        for _ in 0..MOST_ROUNDS {
            let examined = examine_locked(repair.writing.store())?;
            if !repair.objects(&examined)? {
                repair.small_files()?;
                repair.refs(&examined)?;
                break;
            }
        }
        repair.repaired.set_aside = set_aside(repair.writing.store())?;
        repair.repaired.set_aside.retain(|path| !there.contains(path));
        repair.repaired
    };
    history.reread_machine()?;
    // Complete an interrupted purge.
    match finish(history) {
        Ok(_) | Err(HistoryError::Damaged(_)) => {}
        Err(error) => return Err(error),
    }
    repaired.after = verify(history, live, tick)?;
    Ok(repaired)
}

/// Copies a journal with an incomplete end aside, because the next write overwrites that end.
fn save_unfinished_journal(store: &mut Store<'_>) -> Result<()> {
    let path = store.layout().journal();
    let _lock = store.lock()?;
    let bytes = store.disk.read_if_exists(&path)?.unwrap_or_default();
    // A journal that is damaged in the middle is copied aside by the next writer.
    let is_unfinished = journal::read(&bytes)
        .is_some_and(|journal| !journal.is_damaged && journal.end < bytes.len() as u64);
    if is_unfinished {
        copy_aside(store, &path)?;
    }
    Ok(())
}

/// Copies a file aside, if it exists. Returns its content.
fn copy_aside(store: &Store<'_>, path: &Path) -> Result<Vec<u8>> {
    let Some(bytes) = store.disk.read_if_exists(path)? else { return Ok(Vec::new()) };
    store.disk.write(&aside(store, path)?, &[&bytes])?;
    Ok(bytes)
}

/// Moves a file aside, if it exists.
fn move_aside(store: &Store<'_>, path: &Path) -> Result<()> {
    match store.disk.exists(path)? {
        true => store.disk.publish(path, &aside(store, path)?).doing("set aside", path),
        false => Ok(()),
    }
}

/// An unused path for a damaged file.
fn aside(store: &Store<'_>, path: &Path) -> Result<PathBuf> {
    let folder = store.layout().damaged();
    store.disk.make_dirs(&folder).doing("make", &folder)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut number = 1_u64;
    loop {
        let aside = folder.join(format!("{number}-{name}"));
        if !store.disk.exists(&aside)? {
            return Ok(aside);
        }
        number += 1;
    }
}

struct Repair<'s, 'd> {
    writing: Writing<'s, 'd>,
    machine: String,
    live: &'s Live<'s>,
    repaired: Repaired,
}

/// A pack to salvage objects from.
struct SalvageSource<'e> {
    raw: &'e RawPack,
    offsets: Vec<u64>,
    /// Salvage every object, even unreferenced ones: the pack is about to be moved aside.
    takes_all: bool,
}

impl<'e> SalvageSource<'e> {
    fn new(pack: &'e ExaminedPack, takes_all: bool) -> Self {
        let mut offsets = pack.raw.walk();
        offsets.extend(pack.index.places.iter().map(|place| place.offset));
        offsets.sort_unstable();
        offsets.dedup();
        Self { raw: &pack.raw, offsets, takes_all }
    }
}

/// Objects found outside of packs.
#[derive(Default)]
struct Others {
    objects: FxHashMap<Id, Content>,
    live: usize,
}

impl Repair<'_, '_> {
    /// Recovers missing objects from damaged packs, damaged journals and the live files, stores
    /// them in a new pack, and moves the damaged packs aside. Returns whether anything was
    /// recovered.
    fn objects(&mut self, examined: &Examined) -> Result<bool> {
        let store = self.writing.store();
        let missing = Reachability::new(examined, store.refs()).missing;
        let wanted: FxHashSet<Id> = missing.union(&examined.broken).copied().collect();
        let damaged: Vec<_> = examined.packs.iter().filter(|pack| !pack.is_sound).collect();
        let mut old = Vec::new();
        if !wanted.is_empty() {
            let opened = open_packs(store, &store.layout().damaged(), &mut Vec::new())?;
            old.extend(opened.into_iter().map(ExaminedPack::new));
        }
        let damaged_packs = damaged.iter().map(|pack| SalvageSource::new(pack, true));
        let sources: Vec<SalvageSource<'_>> =
            damaged_packs.chain(old.iter().map(|pack| SalvageSource::new(pack, false))).collect();
        let others = self.others(examined, &wanted)?;
        let mut packer = Packer::new(6);
        let got = salvage(&mut packer, examined, &sources, &wanted, &others);
        for (id, (kind, data)) in &others.objects {
            if !got.contains(id) {
                packer.add(*id, *kind, data);
            }
        }
        let salvaged = got.iter().filter(|id| !examined.sound.contains_key(*id)).count()
            + others.objects.len()
            - others.live;
        self.repaired.salvaged += salvaged;
        self.repaired.healed += others.live;
        let damaged: Vec<PathBuf> = damaged.iter().map(|pack| pack.path.clone()).collect();
        self.store_salvaged(packer, &damaged)?;
        Ok(salvaged + others.live > 0)
    }

    fn store_salvaged(&mut self, packer: Packer, damaged: &[PathBuf]) -> Result<()> {
        self.writing.store_mut().close_packs();
        let store = self.writing.store();
        let (disk, folder) = (store.disk, store.layout().packs());
        let mut written = None;
        if !packer.is_empty() {
            let packed = packer.finish_pack()?;
            let name = folder.join(format!("pack-{}.pack", packed.name));
            // It may replace a damaged file of the same name.
            for path in [name.with_extension("idx"), name.clone()] {
                copy_aside(store, &path)?;
            }
            self.writing.store_mut().write_pack(packed)?;
            written = Some(name);
        }
        for path in damaged.iter().filter(|path| written.as_ref() != Some(path)) {
            for path in [path.with_extension("idx"), path.clone()] {
                move_aside(self.writing.store(), &path)?;
            }
        }
        if !damaged.is_empty() {
            disk.sync_folder(&folder)?;
            disk.sync_folder(&self.writing.store().layout().damaged())?;
        }
        self.writing.store_mut().load()
    }

    /// Objects in journals that were moved aside and in the live files.
    fn others(&self, examined: &Examined, wanted: &FxHashSet<Id>) -> Result<Others> {
        let store = self.writing.store();
        let mut others = Others::default();
        for path in set_aside(store)? {
            if !path.file_name().is_some_and(|name| name.to_string_lossy().contains("journal")) {
                continue;
            }
            let bytes = store.disk.read(&path).doing("read", &path)?;
            for object in journal::salvage(&bytes).into_iter().flat_map(|found| found.objects) {
                let is_right = id_of(object.kind, &object.data).is_ok_and(|id| id == object.id);
                if is_right && !examined.sound.contains_key(&object.id) {
                    others.objects.insert(object.id, (object.kind, Rc::new(object.data)));
                }
            }
        }
        if wanted.is_empty() {
            return Ok(others);
        }
        for name in live_names(examined, &self.machine) {
            let (Some(kind), Some(bytes)) = (name.kind(), (self.live)(name)) else { continue };
            for object in tracked::objects(kind, &bytes)? {
                if wanted.contains(&object.id) && !others.objects.contains_key(&object.id) {
                    others.objects.insert(object.id, (object.kind, Rc::new(object.data)));
                    others.live += 1;
                }
            }
        }
        Ok(others)
    }

    fn refs(&mut self, examined: &Examined) -> Result<()> {
        let before = self.writing.store().refs().clone();
        let mut refs = before.clone();
        for name in misspelt(examined, &refs) {
            refs.remove(&name);
        }
        loop {
            let reached = Reachability::new(examined, &refs);
            let lost = reached.lost_refs(examined, &refs, &self.machine);
            let rescued = rescued(examined, &reached.cuts, &refs);
            if lost.is_empty() && rescued.is_empty() {
                break;
            }
            refs.extend(lost.iter().map(|lost| (lost.reference.clone(), lost.tip)));
            self.repaired.refs.extend(lost);
            for stored in rescued {
                refs.insert(rescue(stored), stored.id);
                let version = &stored.version;
                self.repaired.rescued.push((version.lineage.clone(), version.number));
            }
        }
        let (path, journal) = (examined.layout.packed_refs(), examined.layout.journal());
        let is_fault = |fault: &Fault| fault.path == path && fault.what == FaultKind::Changed;
        if refs != before || examined.faults.iter().any(is_fault) {
            self.put_refs_aside(&before, &refs)?;
        } else if !examined.faults.iter().any(|fault| fault.path == journal) {
            return Ok(());
        }
        self.writing.set_refs(refs)
    }

    /// Copies all refs aside as they were. Loose refs that another git wrote are moved aside,
    /// because they would take precedence.
    fn put_refs_aside(&self, before: &Refs, now: &Refs) -> Result<()> {
        let store = self.writing.store();
        copy_aside(store, &store.layout().packed_refs())?;
        for (name, _) in before.iter().filter(|(name, id)| now.get(*name) != Some(id)) {
            move_aside(store, &store.layout().repository.join(name))?;
        }
        Ok(())
    }

    /// Repairs the files that git needs and Forklore does not.
    fn small_files(&self) -> Result<()> {
        let store = self.writing.store();
        let (disk, layout) = (store.disk, store.layout());
        for (path, is_right) in layout.check(disk)? {
            if !is_right {
                let old = copy_aside(store, &path)?;
                disk.replace(&path, &[&layout.repaired_content(&path, &old)])?;
            }
        }
        Ok(())
    }
}

/// Adds to `packer` the objects that can be salvaged and are not stored safely elsewhere.
fn salvage(
    packer: &mut Packer,
    examined: &Examined,
    sources: &[SalvageSource<'_>],
    wanted: &FxHashSet<Id>,
    others: &Others,
) -> FxHashSet<Id> {
    let mut got: FxHashMap<Id, (usize, u64)> = FxHashMap::default();
    let mut placed: FxHashMap<(usize, u64), PlacedObject> = FxHashMap::default();
    loop {
        let before = got.len();
        for (number, source) in sources.iter().enumerate() {
            for offset in &source.offsets {
                if placed.contains_key(&(number, *offset)) {
                    continue;
                }
                let elsewhere = |id: &Id| {
                    let known = examined.content(id);
                    let other = || others.objects.get(id).cloned();
                    let salvaged = || {
                        let (source, offset) = got.get(id)?;
                        sources[*source].raw.object(*offset, &|_| None)
                    };
                    known.or_else(other).or_else(salvaged)
                };
                let found = source.raw.named(*offset, &elsewhere);
                let Some((id, (kind, data))) = found else { continue };
                let is_wanted = source.takes_all || wanted.contains(&id);
                if !is_wanted || got.contains_key(&id) || examined.is_safe(&id) {
                    continue;
                }
                let base = source.raw.base_of(*offset).and_then(|base| {
                    let (_, data) = source.raw.object(base, &|_| None)?;
                    Some((*placed.get(&(number, base))?, data))
                });
                let place = match base {
                    Some((base, content)) => packer.add_like(id, kind, &data, (base, &content)),
                    None => packer.add(id, kind, &data),
                };
                placed.insert((number, *offset), place);
                got.insert(id, (number, *offset));
            }
        }
        if got.len() == before {
            return got.into_keys().collect();
        }
    }
}

/// The names of this machine's files that should exist.
fn live_names<'e>(examined: &'e Examined, machine: &str) -> FxHashSet<&'e FileName> {
    let prefix = format!("{machine}/");
    let newest = examined.newest().into_iter();
    let own = newest.filter(|(lineage, _)| lineage.starts_with(&prefix));
    let there = own.filter(|(_, stored)| stored.version.why != Origin::Deleted);
    there.map(|(_, stored)| &stored.version.file).collect()
}

/// The newest version before each cut, unless a ref already rescues it.
fn rescued<'e>(
    examined: &'e Examined,
    cuts: &[(String, u64)],
    refs: &Refs,
) -> Vec<&'e StoredVersion> {
    let newest = cuts.iter().filter_map(|(lineage, before)| {
        let own = examined.commits.values().filter(|stored| stored.version.lineage == *lineage);
        let older = own.filter(|stored| stored.version.number < *before);
        older.max_by_key(|stored| stored.version.number)
    });
    newest.filter(|stored| !refs.contains_key(&rescue(stored))).collect()
}

fn rescue(stored: &StoredVersion) -> String {
    format!("refs/rescued/{}/{}", stored.version.lineage, stored.version.number)
}
