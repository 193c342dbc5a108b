//! Checks a history: reads everything, rebuilds the newest version of every file byte for byte, and
//! reports damage down to the message.

pub(super) mod reach;
pub(super) mod refs;
mod report;
pub(super) mod scan;

use std::collections::BTreeSet;

use crate::error::Result;
use crate::file::FileName;
use crate::git::object::{Id, Kind};
use crate::git::raw::Content;
use crate::store::Store;
use crate::version::commit::{Origin, StoredVersion};
use crate::version::history::History;
use crate::version::lost;

use reach::Reachability;
use refs::misspelt;
pub use report::{Damage, Fault, FaultKind, FilePart, LostRef, Verified};
pub use scan::ProgressFn;
pub(crate) use scan::{Examined, set_aside};
use scan::{ExaminedPack, OpenedPack, open_packs};

/// Returns the current content of a file on disk.
pub type Live<'a> = dyn Fn(&FileName) -> Option<Vec<u8>> + 'a;

/// Examines the repository. The files are opened under the lock and read afterwards, so that
/// recording need not wait.
pub(crate) fn examine(store: &mut Store<'_>, tick: &ProgressFn<'_>) -> Result<Examined> {
    let opened = store.read_consistently(&mut |store| {
        store.load()?;
        open(store)
    })?;
    Ok(read(opened, tick))
}

/// The same for a caller that holds the lock.
pub(crate) fn examine_locked(store: &Store<'_>) -> Result<Examined> {
    Ok(read(open(store)?, &|_, _| {}))
}

fn open(store: &Store<'_>) -> Result<(Examined, Vec<OpenedPack>)> {
    let mut examined = Examined::open(store)?;
    let packs = open_packs(store, &store.layout().packs(), &mut examined.faults)?;
    Ok((examined, packs))
}

fn read((mut examined, packs): (Examined, Vec<OpenedPack>), tick: &ProgressFn<'_>) -> Examined {
    examined.read_packs(packs, tick);
    check_orphans(&mut examined);
    examined
}

/// A pack without an index is a fault, unless a process crashed while removing it: then the pack is
/// intact and none of its objects are missing elsewhere.
fn check_orphans(examined: &mut Examined) {
    for at in 0..examined.packs.len() {
        let pack = &examined.packs[at];
        if !pack.has_index {
            let is_leftover = pack.raw.checksum().is_some() && !is_needed(examined, pack);
            let path = pack.path.clone();
            examined.packs[at].is_sound = is_leftover;
            if !is_leftover {
                examined.fault(&path, FaultKind::NoIndex);
            }
        }
    }
}

fn is_needed(examined: &Examined, pack: &ExaminedPack) -> bool {
    let reached = Reachability::new(examined, &examined.refs);
    let is_lost = |stored: StoredVersion| {
        let lineage = stored.version.lineage;
        let has_ref = examined.refs.contains_key(&format!("refs/heads/{lineage}"));
        !has_ref && !examined.purged.contains(&lineage)
    };
    let is_needed = |(id, (kind, data)): (Id, Content)| {
        let stored = Some(&data).filter(|_| kind == Kind::Commit);
        reached.missing.contains(&id)
            || stored.and_then(|data| StoredVersion::parse(id, data)).is_some_and(is_lost)
    };
    pack.raw.walk().into_iter().filter_map(|at| pack.raw.named(at, &|_| None)).any(is_needed)
}

/// Checks everything.
pub fn verify(
    history: &mut History<'_>,
    live: &Live<'_>,
    tick: &ProgressFn<'_>,
) -> Result<Verified> {
    let machine = history.machine().to_owned();
    let examined = examine(history.store_mut(), tick)?;
    history.refresh()?;
    let mut reached = Reachability::new(&examined, &examined.refs);
    let unrecorded = rebuild_tips(history, live, &mut reached);
    let known = lost::accepted(history.store())?;
    let (seen, sound) = (reached.seen.len(), reached.seen.len() - reached.damaged.len());
    let lost_refs = reached.lost_refs(&examined, &examined.refs, &machine);
    let all = reached.damage();
    let damage: Vec<Damage> = all.iter().cloned().filter_map(|it| it.without(&known)).collect();
    let accepted = known.values().map(BTreeSet::len).sum();
    Ok(Verified {
        packs: examined.packs.len(),
        bytes: examined.packs.iter().map(|pack| pack.raw.bytes().len() as u64).sum(),
        objects: examined.sound.len(),
        files: history.lineages().iter().count(),
        versions: seen,
        sound_versions: sound,
        lost_refs,
        misspelt: misspelt(&examined, &examined.refs),
        accepted: if damage.len() < all.len() { accepted } else { 0 },
        damage,
        faults: examined.faults,
        unrecorded,
        set_aside: set_aside(history.store())?,
    })
}

/// Accepts what is damaged as lost for good: it is no longer reported.
pub fn accept(history: &mut History<'_>, damage: &[Damage]) -> Result<()> {
    let writing = history.store_mut().write()?;
    let mut accepted = lost::accepted(writing.store())?;
    damage.iter().for_each(|damage| damage.accept(&mut accepted));
    lost::write_accepted(writing.store(), &accepted)
}

/// Rebuilds the newest versions with the everyday reader, which has to give the same content.
/// Returns the files that changed since they were recorded.
fn rebuild_tips(
    history: &History<'_>,
    live: &Live<'_>,
    reached: &mut Reachability,
) -> Vec<FileName> {
    let mut unrecorded = Vec::new();
    for lineage in history.lineages().iter() {
        if reached.damaged.contains(&lineage.tip.id) {
            continue;
        }
        let version = &lineage.tip.version;
        match history.content(&lineage.tip) {
            Ok(content) if content.len() as u64 == version.bytes => {
                let is_live =
                    lineage.machine == history.machine() && version.why != Origin::Deleted;
                let now = is_live.then(|| live(lineage.file())).flatten();
                if now.is_some_and(|now| now != content) {
                    unrecorded.push(lineage.file().clone());
                }
            }
            _ => reached.mark_damaged(&lineage.tip, FilePart::All),
        }
    }
    unrecorded
}
