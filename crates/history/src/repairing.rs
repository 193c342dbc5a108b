//! Puts a damaged history right, as far as that is possible, and deletes nothing: what is damaged is
//! put aside, what can be read of it is kept again.

use std::path::{Path, PathBuf};

use rustc_hash::{FxHashMap, FxHashSet};

use crate::error::{Doing, HistoryError};
use crate::examining::{
    Examined, Fault, Tick, What, Where, content_at, examine_locked, set_aside, set_aside_files,
};
use crate::file::Name;
use crate::git::object::{Id, id_of};
use crate::git::pack::{Laid, Packer};
use crate::git::refs::Refs;
use crate::git::salvage::{Content, RawIndex, RawPack};
use crate::history::History;
use crate::journal;
use crate::layout::replace;
use crate::purging::finish;
use crate::store::Writing;
use crate::tracked;
use crate::verifying::{LostRef, Verified, Walk, lost_refs, misspelt, verify};
use crate::version::{Kept, Why};

/// What a repair did.
#[derive(Debug, Default)]
pub struct Repaired {
    /// Objects that were got out of damaged files.
    pub salvaged: usize,
    /// Objects that the files on the disk still had.
    pub healed: usize,
    /// Refs that were found again.
    pub refs: Vec<LostRef>,
    /// Versions that nothing led to any more, by the newest of each run: lineage and number.
    pub rescued: Vec<(String, u64)>,
    /// Where the damaged files are now.
    pub set_aside: Vec<PathBuf>,
    /// What it is like now: what is still damaged is lost for good.
    pub after: Verified,
}

/// What helps a history is searched for again as long as that helps.
const MOST_ROUNDS: usize = 8;

/// Repairs. `live` gives the file of a name as it is on the disk now.
pub fn repair(
    history: &mut History<'_>,
    live: &dyn Fn(&Name) -> Option<Vec<u8>>,
    tick: &Tick<'_>,
) -> Result<Repaired, HistoryError> {
    let mut repaired = Repaired::default();
    let machine = history.machine().to_owned();
    {
        let store = history.store_mut();
        let there: FxHashSet<PathBuf> = set_aside_files(store)?.into_iter().collect();
        keep_journal(store)?;
        let mut writing = store.write()?;
        let mut repair = Repair { writing: &mut writing, machine, live, repaired: &mut repaired };
        for _ in 0..MOST_ROUNDS {
            let examined = examine_locked(repair.writing.store(), &repair.machine)?;
            let before = repair.repaired.salvaged + repair.repaired.healed;
            repair.objects(&examined)?;
            if repair.repaired.salvaged + repair.repaired.healed == before {
                repair.small_files(&examined.faults)?;
                repair.refs(&examined)?;
                break;
            }
        }
        let now = set_aside_files(writing.store())?;
        repaired.set_aside = now.into_iter().filter(|path| !there.contains(path)).collect();
    }
    history.reread_machine()?;
    // What somebody wanted to be gone.
    match finish(history) {
        Ok(_) | Err(HistoryError::Damaged(_)) => {}
        Err(error) => return Err(error),
    }
    repaired.after = verify(history, live, tick)?;
    Ok(repaired)
}

/// Whoever writes next writes over what is not whole at the journal's end.
fn keep_journal(store: &mut crate::store::Store<'_>) -> Result<(), HistoryError> {
    let path = store.layout().journal();
    let _lock = store.lock()?;
    if store.disk.look(&path).doing("look at", &path)?.is_none() {
        return Ok(());
    }
    let bytes = store.disk.read(&path).doing("read", &path)?;
    // One that is damaged in the middle is put aside by whoever comes next.
    let is_unfinished = journal::read(&bytes)
        .is_some_and(|journal| !journal.is_damaged && journal.end < bytes.len() as u64);
    if is_unfinished {
        let aside = aside(store, &path)?;
        store.disk.write_new(&aside, None, &[&bytes]).doing("write", &aside)?;
    }
    Ok(())
}

/// A place for a damaged file.
fn aside(store: &crate::store::Store<'_>, path: &Path) -> Result<PathBuf, HistoryError> {
    let folder = store.layout().damaged();
    store.disk.make_dirs(&folder).doing("make", &folder)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    for number in 1_u64.. {
        let aside = folder.join(format!("{number}-{name}"));
        if store.disk.look(&aside).doing("look at", &aside)?.is_none() {
            return Ok(aside);
        }
    }
    Ok(folder.join(name))
}

struct Repair<'r, 's, 'd> {
    writing: &'r mut Writing<'s, 'd>,
    machine: String,
    live: &'r dyn Fn(&Name) -> Option<Vec<u8>>,
    repaired: &'r mut Repaired,
}

/// What objects may be got from.
struct Source<'e> {
    raw: &'e RawPack,
    offsets: Vec<u64>,
    /// Everything is wanted, also what nothing refers to: it is about to be put aside.
    takes_all: bool,
}

impl<'e> Source<'e> {
    fn new(raw: &'e RawPack, index: &RawIndex, takes_all: bool) -> Self {
        let mut offsets = raw.walk().0;
        offsets.extend(index.places.iter().map(|place| place.offset));
        offsets.sort_unstable();
        offsets.dedup();
        Self { raw, offsets, takes_all }
    }
}

/// What was found outside of packs.
#[derive(Default)]
struct Others {
    objects: FxHashMap<Id, Content>,
    live: usize,
}

impl Repair<'_, '_, '_> {
    /// Gets what is missing out of damaged packs, damaged journals and the live files, keeps it in a
    /// new pack, and puts the damaged packs aside.
    fn objects(&mut self, examined: &Examined) -> Result<(), HistoryError> {
        let store = self.writing.store();
        let mut walk = Walk::new(examined);
        walk.refs(store.refs());
        let wanted: FxHashSet<Id> = walk.missing.union(&examined.broken).copied().collect();
        let old = set_aside(store)?;
        let damaged: Vec<_> = examined.packs.iter().filter(|pack| !pack.is_sound).collect();
        let mut sources: Vec<Source<'_>> =
            damaged.iter().map(|pack| Source::new(&pack.raw, &pack.index, true)).collect();
        if !wanted.is_empty() {
            sources.extend(old.iter().map(|(_, raw, index)| Source::new(raw, index, false)));
        }
        let others = self.others(examined, &wanted)?;
        let mut packer = Packer::new(6);
        let salvaged = salvage(&mut packer, examined, &sources, &wanted, &others);
        for (id, (kind, data)) in &others.objects {
            if !salvaged.contains(id) {
                packer.add(*id, *kind, data);
            }
        }
        self.repaired.salvaged +=
            salvaged.iter().filter(|id| !examined.sound.contains_key(*id)).count();
        self.repaired.salvaged += others.objects.len() - others.live;
        self.repaired.healed += others.live;
        let damaged: Vec<PathBuf> = damaged.iter().map(|pack| pack.path.clone()).collect();
        self.keep(packer, &damaged)
    }

    fn keep(&mut self, packer: Packer, damaged: &[PathBuf]) -> Result<(), HistoryError> {
        self.writing.close_packs();
        let store = self.writing.store();
        let (disk, folder) = (store.disk, store.layout().packs());
        let mut kept = None;
        if !packer.is_empty() {
            let packed = packer.finish_pack()?;
            let name = folder.join(format!("pack-{}.pack", packed.name));
            // It takes the place of a file that is damaged.
            for path in [name.with_extension("idx"), name.clone()] {
                if disk.look(&path).doing("look at", &path)?.is_some() {
                    let bytes = disk.read(&path).doing("read", &path)?;
                    let aside = aside(self.writing.store(), &path)?;
                    disk.write_new(&aside, None, &[&bytes]).doing("write", &aside)?;
                }
            }
            self.writing.keep_pack(packed)?;
            kept = Some(name);
        }
        for path in damaged.iter().filter(|path| kept.as_ref() != Some(path)) {
            for path in [path.with_extension("idx"), path.clone()] {
                if disk.look(&path).doing("look at", &path)?.is_some() {
                    let aside = aside(self.writing.store(), &path)?;
                    disk.publish(&path, &aside).doing("put aside", &path)?;
                }
            }
        }
        if !damaged.is_empty() {
            for folder in [folder, self.writing.store().layout().damaged()] {
                disk.sync_dir(&folder).doing("make sure of", &folder)?;
            }
        }
        self.writing.reload()
    }

    /// What journals that were put aside and the live files have.
    fn others(&self, examined: &Examined, wanted: &FxHashSet<Id>) -> Result<Others, HistoryError> {
        let store = self.writing.store();
        let mut others = Others::default();
        for path in set_aside_files(store)? {
            if !path.file_name().is_some_and(|name| name.to_string_lossy().contains("journal")) {
                continue;
            }
            let bytes = store.disk.read(&path).doing("read", &path)?;
            for object in journal::salvage(&bytes).into_iter().flat_map(|found| found.objects) {
                let is_right = id_of(object.kind, &object.data).is_ok_and(|id| id == object.id);
                if is_right && !examined.sound.contains_key(&object.id) {
                    others.objects.insert(object.id, (object.kind, object.data.into()));
                }
            }
        }
        if wanted.is_empty() {
            return Ok(others);
        }
        for name in live_names(examined, &self.machine) {
            let (Some(kind), Some(bytes)) = (name.kind(), (self.live)(&name)) else { continue };
            for object in tracked::objects(kind, &bytes)?.1 {
                let is_wanted = wanted.contains(&object.id);
                if is_wanted && !others.objects.contains_key(&object.id) {
                    others.objects.insert(object.id, (object.kind, object.data.into()));
                    others.live += 1;
                }
            }
        }
        Ok(others)
    }

    fn refs(&mut self, examined: &Examined) -> Result<(), HistoryError> {
        let store = self.writing.store();
        let layout = store.layout().clone();
        let before = store.refs().clone();
        let mut refs = before.clone();
        for name in misspelt(examined, &refs) {
            refs.remove(&name);
        }
        loop {
            let mut walk = Walk::new(examined);
            walk.refs(&refs);
            let lost = lost_refs(examined, &refs, &walk.seen, &self.machine, &examined.purged);
            let rescued = rescued(examined, &walk.cuts, &refs);
            if lost.is_empty() && rescued.is_empty() {
                break;
            }
            refs.extend(lost.iter().map(|lost| (lost.reference.clone(), lost.tip)));
            self.repaired.refs.extend(lost);
            for kept in rescued {
                refs.insert(rescue(kept), kept.id);
                let version = &kept.version;
                self.repaired.rescued.push((version.lineage.clone(), version.number));
            }
        }
        let path = layout.packed_refs();
        let is_fault = |fault: &Fault| fault.path == path && fault.what == What::Changed;
        let is_journal = |fault: &Fault| fault.path == layout.journal();
        if refs != before || examined.faults.iter().any(is_fault) {
            self.put_refs_aside(&before, &refs)?;
        } else if !examined.faults.iter().any(is_journal) {
            return Ok(());
        }
        self.writing.set_refs(refs)
    }

    /// A copy of all refs as they were; and where somebody's git wrote one into a file of its own,
    /// which would be believed first, that file.
    fn put_refs_aside(&mut self, before: &Refs, now: &Refs) -> Result<(), HistoryError> {
        let store = self.writing.store();
        let (disk, path) = (store.disk, store.layout().packed_refs());
        if disk.look(&path).doing("look at", &path)?.is_some() {
            let bytes = disk.read(&path).doing("read", &path)?;
            let aside = aside(store, &path)?;
            disk.write_new(&aside, None, &[&bytes]).doing("write", &aside)?;
        }
        for name in before.iter().filter(|(name, id)| now.get(*name) != Some(id)).map(|(n, _)| n) {
            let path = store.layout().repository.join(name);
            if disk.look(&path).doing("look at", &path)?.is_some() {
                let aside = aside(store, &path)?;
                disk.publish(&path, &aside).doing("put aside", &path)?;
            }
        }
        Ok(())
    }

    /// The files that git needs and we do not, and the one that says which machine this is.
    fn small_files(&mut self, faults: &[Fault]) -> Result<(), HistoryError> {
        let store = self.writing.store();
        let (disk, layout) = (store.disk, store.layout());
        for (path, is_right) in layout.check(disk)? {
            if is_right {
                continue;
            }
            let mut old = Vec::new();
            if disk.look(&path).doing("look at", &path)?.is_some() {
                old = disk.read(&path).doing("read", &path)?;
                let aside = aside(store, &path)?;
                disk.write_new(&aside, None, &[&old]).doing("write", &aside)?;
            }
            replace(disk, &path, &[&layout.mended(&path, &old)])?;
        }
        if faults.iter().any(|fault| fault.what == What::OtherMachine) {
            let heads = store.refs().keys().filter_map(|name| name.strip_prefix("refs/heads/"));
            let mut machines: Vec<&str> =
                heads.filter_map(|name| Some(name.split_once('/')?.0)).collect();
            machines.dedup();
            // Of several, nobody knows which this is.
            if let [machine] = machines[..] {
                let path = layout.ours().join("machine");
                if disk.look(&path).doing("look at", &path)?.is_some() {
                    let old = disk.read(&path).doing("read", &path)?;
                    let aside = aside(store, &path)?;
                    disk.write_new(&aside, None, &[&old]).doing("write", &aside)?;
                }
                replace(disk, &path, &[machine.as_bytes(), b"\n"])?;
            }
        }
        Ok(())
    }
}

/// Adds to `packer` what can be got from the sources and is not safe where it is.
fn salvage(
    packer: &mut Packer,
    examined: &Examined,
    sources: &[Source<'_>],
    wanted: &FxHashSet<Id>,
    others: &Others,
) -> FxHashSet<Id> {
    let mut got: FxHashMap<Id, (usize, u64)> = FxHashMap::default();
    let mut laid: FxHashMap<(usize, u64), Laid> = FxHashMap::default();
    loop {
        let before = got.len();
        for (number, source) in sources.iter().enumerate() {
            for offset in &source.offsets {
                if laid.contains_key(&(number, *offset)) {
                    continue;
                }
                let found = {
                    let elsewhere = |id: &Id| {
                        let known = examined.content(id);
                        let other = || others.objects.get(id).cloned();
                        let salvaged = || {
                            let (source, offset) = got.get(id)?;
                            sources[*source].raw.object(*offset, &|_| None)
                        };
                        known.or_else(other).or_else(salvaged)
                    };
                    content_at(source.raw, *offset, &elsewhere)
                };
                let Some((id, (kind, data))) = found else { continue };
                let is_wanted = source.takes_all || wanted.contains(&id);
                if !is_wanted || got.contains_key(&id) || is_safe(examined, &id) {
                    continue;
                }
                let base = source.raw.base_of(*offset).and_then(|base| {
                    let (_, data) = source.raw.object(base, &|_| None)?;
                    Some((*laid.get(&(number, base))?, data))
                });
                let place = match base {
                    Some((base, content)) => packer.add_like(id, kind, &data, (base, &content)),
                    None => packer.add(id, kind, &data),
                };
                laid.insert((number, *offset), place);
                got.insert(id, (number, *offset));
            }
        }
        if got.len() == before {
            return got.into_keys().collect();
        }
    }
}

/// Whether it is where nothing is damaged.
fn is_safe(examined: &Examined, id: &Id) -> bool {
    match examined.sound.get(id) {
        Some(Where::Pack { pack, .. }) => {
            examined.packs.get(*pack as usize).is_some_and(|pack| pack.is_sound)
        }
        Some(Where::Journal(_)) => true,
        None => false,
    }
}

/// The names of the files that should be there.
fn live_names(examined: &Examined, machine: &str) -> FxHashSet<Name> {
    let mut newest: FxHashMap<&str, &Kept> = FxHashMap::default();
    for kept in examined.commits.values() {
        let known = newest.entry(&kept.version.lineage).or_insert(kept);
        if kept.version.order > known.version.order {
            *known = kept;
        }
    }
    let prefix = format!("{machine}/");
    let own = newest.into_iter().filter(|(lineage, _)| lineage.starts_with(&prefix));
    own.filter(|(_, kept)| kept.version.why != Why::Deleted)
        .map(|(_, kept)| kept.version.file.clone())
        .collect()
}

/// The newest version before each cut, where nothing says yet that it goes on there.
fn rescued<'e>(examined: &'e Examined, cuts: &[(String, u64)], refs: &Refs) -> Vec<&'e Kept> {
    let mut all = Vec::new();
    for (lineage, before) in cuts {
        let own = examined.commits.values().filter(|kept| kept.version.lineage == *lineage);
        let older = own.filter(|kept| kept.version.number < *before);
        let newest = older.max_by_key(|kept| kept.version.number);
        all.extend(newest.filter(|kept| !refs.contains_key(&rescue(kept))));
    }
    all
}

fn rescue(kept: &Kept) -> String {
    format!("refs/rescued/{}/{}", kept.version.lineage, kept.version.number)
}
