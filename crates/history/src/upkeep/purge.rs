//! Removes a file from the history for good, and verifies that it is gone.

use std::path::{Path, PathBuf};

use forklore_tavern::disk::Disk;
use rustc_hash::FxHashSet;

use crate::error::{Doing, HistoryError, Result};
use crate::file::FileName;
use crate::git::object::Id;
use crate::git::refs::Refs;
use crate::store::Store;
use crate::store::files::Files as _;
use crate::store::packs;
use crate::upkeep::fsck::{Examined, examine, examine_locked, set_aside};
use crate::upkeep::pack::repack;
use crate::upkeep::rewrite::Rewriting;
use crate::version::Reachable;
use crate::version::commit::StoredVersion;
use crate::version::history::History;
use crate::version::lineage::{Lineage, backups_reference, lineage_in, lineage_of};
use crate::version::lost;

/// What a purge would remove.
#[derive(Clone, Debug, Default)]
pub struct PurgePlan {
    /// The refs to be removed.
    pub references: Vec<String>,
    /// The names that the file had.
    pub names: Vec<FileName>,
    pub versions: usize,
    /// Files that started as a copy of it: they keep their own versions and lose the ones before.
    pub cut: Vec<FileName>,
}

/// What a purge did.
#[derive(Clone, Debug, Default)]
pub struct Purged {
    /// Objects that nothing else used.
    pub removed: usize,
    /// Pieces that other files also use, and that were kept.
    pub shared: usize,
    /// Damaged files that had been moved aside, removed because they may have contained parts of
    /// the file.
    pub set_aside: Vec<PathBuf>,
    /// How many packs were read in full afterwards.
    pub packs: usize,
    /// How many of the removed objects were still found. Anything but zero means that something
    /// went wrong.
    pub left: usize,
}

/// A copy outside the history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OtherCopy {
    Live(PathBuf),
    /// One of SillyTavern's backups.
    Backup(PathBuf),
    /// A remote, which may have what was sent to it.
    Remote(String),
}

/// Determines what a purge of a file would remove: every lineage with the same name on the same
/// machine, and the file's imported backups.
pub fn plan(history: &History<'_>, lineage: &Lineage) -> Result<PurgePlan> {
    let all = history.lineages().iter();
    let same = all.filter(|other| {
        other.machine == lineage.machine && other.file() == lineage.file()
            || other.reference == backups_reference(&lineage.reference)
    });
    let references: Vec<String> = same.map(|lineage| lineage.reference.clone()).collect();
    let mut plan = PurgePlan { references, ..PurgePlan::default() };
    let references = plan.references.clone();
    let is_gone = |lineage: &str| references.iter().any(|gone| lineage_of(gone) == lineage);
    let mut names = FxHashSet::default();
    for lineage in history.lineages().iter() {
        let own = lineage_of(&lineage.reference);
        for stored in history.versions(&lineage.tip) {
            if is_gone(own) && stored.version.lineage == own {
                plan.versions += 1;
                names.insert(stored.version.file);
            } else if !is_gone(own) && is_gone(&stored.version.lineage) {
                plan.cut.push(lineage.file().clone());
                break;
            }
        }
    }
    plan.names = names.into_iter().collect();
    plan.names.sort();
    Ok(plan)
}

/// Copies that a purge does not remove: the files themselves, SillyTavern's backups that match by
/// name, and remotes.
pub fn copies(
    history: &History<'_>,
    disk: &dyn Disk,
    home: &Path,
    plan: &PurgePlan,
) -> Result<Vec<OtherCopy>> {
    let mut copies = Vec::new();
    let mut keys = Vec::new();
    for name in &plan.names {
        let path = home.join(name.to_path());
        if disk.exists(&path)? {
            copies.push(OtherCopy::Live(path));
        }
        // SillyTavern names a chat's backup after its character or group.
        let label = name.label();
        let owner = label.split('/').next().unwrap_or_default().trim_start_matches("group:");
        keys.push(key(owner));
    }
    let folder = home.join("backups");
    for file in disk.list(&folder).doing("list", &folder)? {
        let name = file.to_string_lossy();
        let Some(rest) = name.strip_prefix("chat_") else { continue };
        if keys.iter().any(|owner| !owner.is_empty() && key(rest).starts_with(owner.as_str())) {
            copies.push(OtherCopy::Backup(folder.join(&file)));
        }
    }
    let config = history.store().layout().repository.join("config");
    let text = disk.read(&config).unwrap_or_default();
    for line in String::from_utf8_lossy(&text).lines() {
        let name = line.strip_prefix("[remote \"").and_then(|line| line.strip_suffix("\"]"));
        copies.extend(name.map(|name| OtherCopy::Remote(name.to_owned())));
    }
    Ok(copies)
}

fn key(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Carries out a plan. If it is interrupted, [`finish`] completes it.
pub fn purge(history: &mut History<'_>, plan: &PurgePlan) -> Result<Purged> {
    run(history, plan.references.iter().map(|name| lineage_of(name).to_owned()).collect())
}

/// Completes an interrupted purge; `None` if there is none.
pub fn finish(history: &mut History<'_>) -> Result<Option<Purged>> {
    let store = history.store();
    match store.layout().unfinished_purge(store.disk)? {
        Some(_) => run(history, Vec::new()).map(Some),
        None => Ok(None),
    }
}

fn run(history: &mut History<'_>, lineages: Vec<String>) -> Result<Purged> {
    let mut purged = Purged::default();
    let doomed;
    // With all refs: what has none would count as purged.
    drop(history.write()?);
    {
        let mut writing = history.store_mut().write()?;
        writing.flush()?;
        let (disk, layout) = (writing.store().disk, writing.store().layout().clone());
        let mut all = lineages;
        all.extend(layout.unfinished_purge(disk)?.unwrap_or_default());
        let gone: FxHashSet<&str> = all.iter().map(String::as_str).collect();
        refuse_damaged(&examine_locked(writing.store())?)?;
        let lines: Vec<&str> = gone.iter().copied().collect();
        disk.replace(&layout.purge(), &[lines.join("\n").as_bytes()])?;

        let before = writing.store().refs().clone();
        let refs = cut(&mut writing, &before, &gone)?;
        writing.persist()?;
        let store = writing.store();
        let going = before.iter().filter(|(name, id)| belongs_to(store, name, id, &gone));
        let mut there = Reachable::from(store, going.map(|(_, id)| *id))?;
        let stays = Reachable::from(store, refs.values().copied())?;
        purged.shared = there.blobs.intersection(&stays.blobs).count();
        // Includes unreachable objects, which may belong to the same file.
        let packed = store.packs().bundles().iter().flat_map(|bundle| bundle.index.iter());
        there.all.extend(packed.map(|entry| entry.oid));
        doomed = there.all.difference(&stays.all).copied().collect::<FxHashSet<Id>>();
        purged.removed = doomed.len();

        remove_loose(store, &before, &refs)?;
        writing.set_refs(refs)?;
        repack(&mut writing)?;
        packs::remove_catalogs(writing.store())?;
        let mut accepted = lost::accepted(writing.store())?;
        accepted.retain(|lineage, _| !gone.contains(lineage.as_str()));
        lost::write_accepted(writing.store(), &accepted)?;
        packs::remove_leftovers(writing.store())?;
        purged.set_aside = set_aside(writing.store())?;
        // The saved stats contain file names. They are rebuilt by the next scan.
        let remembered = layout.own_folder().join("remembered");
        for path in purged.set_aside.iter().chain([&remembered, &layout.purge()]) {
            disk.remove_if_exists(path)?;
        }
        disk.sync_folder(&layout.own_folder())?;
        writing.store_mut().load()?;
    }
    let examined = examine(history.store_mut(), &|_, _| {})?;
    purged.packs = examined.packs.len();
    purged.left = count_left(&examined, &doomed);
    history.refresh()?;
    Ok(purged)
}

/// A damaged pack may contain parts of the purged file, but also parts of other files that could
/// still be saved.
fn refuse_damaged(examined: &Examined) -> Result<()> {
    match examined.packs.iter().find(|pack| !pack.is_sound) {
        Some(pack) => Err(HistoryError::Damaged(pack.path.clone())),
        None => Ok(()),
    }
}

/// How many of these objects can still be found: by id, or by walking all packs.
fn count_left(examined: &Examined, doomed: &FxHashSet<Id>) -> usize {
    let mut left: FxHashSet<Id> =
        doomed.iter().filter(|id| examined.sound.contains_key(*id)).copied().collect();
    for pack in &examined.packs {
        let found = pack.raw.walk().into_iter();
        let ids = found.filter_map(|at| Some(pack.raw.named(at, &|_| None)?.0));
        left.extend(ids.filter(|id| doomed.contains(id)));
    }
    left.len()
}

/// Whether a ref belongs to a purged lineage: by its name or, unless it is a head, by its target.
fn belongs_to(store: &Store<'_>, name: &str, id: &Id, gone: &FxHashSet<&str>) -> bool {
    let leads_there = || {
        StoredVersion::read(store, *id)
            .is_ok_and(|stored| gone.contains(stored.version.lineage.as_str()))
    };
    gone.contains(lineage_in(name)) || !name.starts_with("refs/heads/") && leads_there()
}

/// The remaining refs, rewritten so that they no longer lead to purged versions.
fn cut(
    writing: &mut crate::store::Writing<'_, '_>,
    before: &Refs,
    gone: &FxHashSet<&str>,
) -> Result<Refs> {
    let mut first: FxHashSet<Id> = FxHashSet::default();
    let staying: Vec<(&String, &Id)> =
        before.iter().filter(|(name, id)| !belongs_to(writing.store(), name, id, gone)).collect();
    for (_, id) in &staying {
        let mut next = Some(**id);
        while let Some(id) = next.filter(|id| writing.has(id) && !first.contains(id)) {
            let stored = StoredVersion::read(writing.store(), id)?;
            next = stored.parent;
            let Some(parent) = next.filter(|parent| writing.has(parent)) else { break };
            if gone.contains(StoredVersion::read(writing.store(), parent)?.version.lineage.as_str())
            {
                first.insert(id);
            }
        }
    }
    let mut rewriting = Rewriting::new(writing, first);
    staying.into_iter().map(|(name, id)| Ok((name.clone(), rewriting.rewrite(*id)?))).collect()
}

/// Another git may have written a loose ref, which would bring the old one back.
fn remove_loose(store: &Store<'_>, before: &Refs, now: &Refs) -> Result<()> {
    for (name, _) in before.iter().filter(|(name, id)| now.get(*name) != Some(id)) {
        store.disk.remove_if_exists(&store.layout().repository.join(name))?;
    }
    Ok(())
}
