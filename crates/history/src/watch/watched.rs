//! One user of those who are watched.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::io::Read as _;
use std::time::Instant;

use forklore_tavern::disk::Disk;
use rustc_hash::{FxHashMap, FxHashSet};

use super::events::{CaughtFile, SaveStamp};
use super::{Tell, WatchReport, WatchedUser};
use crate::error::Result;
use crate::file::FileName;
use crate::git::object::Id;
use crate::record::recorder::Observed;
use crate::record::recorder::Recorded;
use crate::record::scan::{self, Scan, SeenFiles};
use crate::version::commit::{Origin, Version, milliseconds};
use crate::version::history::History;

/// A user, and what is known of the files.
pub(super) struct Watched<'d> {
    pub(super) user: WatchedUser,
    /// Boxed: most users have none.
    pub(super) history: Option<Box<History<'d>>>,
    pub(super) remembered: Option<SeenFiles>,
    pub(super) state: WatchState,
    /// Events caught before this are older than what a scan found.
    pub(super) scanned: Instant,
    /// To be looked at again then.
    pub(super) again: Option<Instant>,
    /// Something was not recorded, and nobody has looked since.
    pub(super) has_missed: bool,
    /// Files of which a version was missed, until a later one is recorded. What is recorded meanwhile
    /// is found: which version of these files was there then, nobody knows.
    pub(super) missed: FxHashSet<FileName>,
    /// The newest versions that were recorded as they happened.
    followed: FxHashMap<FileName, Id>,
    pub(super) touched: Touched,
    /// Something is in the journal that no git can read yet, since then.
    pub(super) let_go: Option<Instant>,
}

/// Files to which something happened, where the system does not say what.
#[derive(Default)]
pub(super) struct Touched {
    pub(super) names: BTreeSet<FileName>,
    /// Nobody knows which.
    pub(super) are_all: bool,
    /// When they will have been still for long enough.
    pub(super) still: Option<Instant>,
    /// How often they could not be read.
    pub(super) tries: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WatchState {
    Watched,
    /// Looked at now and then.
    Polled,
    Full,
}

/// What happened to a file.
pub(super) enum FileEvent {
    Saved(CaughtFile),
    Gone(FileName),
    /// A version of a file is not there any more, or may not be.
    Missed(FileName),
}

impl CaughtFile {
    /// Whether it was written before what is known. What was found may be as old and yet come after it.
    fn is_before(&self, known: &Version) -> bool {
        match milliseconds(self.stat.written).cmp(&milliseconds(known.written)) {
            Ordering::Less => true,
            Ordering::Equal => known.why == Origin::Found,
            Ordering::Greater => false,
        }
    }

    /// Reads what was saved. Returns whether nobody has written into the file since it was opened.
    pub(super) fn read_still(&mut self, bytes: &mut Vec<u8>) -> bool {
        bytes.clear();
        let is_read = self.file.read_to_end(bytes).is_ok();
        let stat = self.file.metadata().and_then(|meta| SaveStamp::of(&meta));
        is_read && bytes.len() as u64 == self.stat.len && stat.is_ok_and(|stat| stat == self.stat)
    }
}

impl Watched<'_> {
    pub(super) fn new(user: WatchedUser, now: Instant) -> Self {
        Self {
            user,
            history: None,
            remembered: None,
            state: WatchState::Watched,
            scanned: now,
            again: None,
            has_missed: false,
            missed: FxHashSet::default(),
            followed: FxHashMap::default(),
            touched: Touched::default(),
            let_go: None,
        }
    }

    /// Looks at all files, or only at some.
    pub(super) fn scan(
        &mut self,
        disk: &dyn Disk,
        only: Option<&BTreeSet<FileName>>,
    ) -> Result<Scan> {
        let Some(history) = &mut self.history else { return Ok(Scan::default()) };
        let remembered = self.remembered.get_or_insert_with(|| SeenFiles::load(history));
        let folders = &self.user.folders;
        if let Some(names) = only {
            return scan::scan_some(history, disk, folders, remembered, names);
        }
        let scan = scan::scan(history, disk, folders, remembered, &|_, _| {})?;
        self.scanned = Instant::now();
        self.missed.clear();
        Ok(scan)
    }

    /// Records what happened, in order, and makes sure of it once.
    pub(super) fn record(
        &mut self,
        happenings: Vec<FileEvent>,
        bytes: &mut Vec<u8>,
    ) -> Result<Vec<Recorded>> {
        let Some(history) = &mut self.history else { return Ok(Vec::new()) };
        let home = scan::home(&self.user.folders);
        let exists = |name: &FileName| home.join(name.to_path()).symlink_metadata().is_ok();
        let mut all = Vec::new();
        let mut recorder = history.record()?;
        for happening in happenings {
            match happening {
                FileEvent::Saved(mut caught) => {
                    let live = recorder.lineages().live(&caught.name).map(|live| &live.tip);
                    let is_followed =
                        live.map(|tip| tip.id) == self.followed.get(&caught.name).copied();
                    if live.is_some_and(|tip| !is_followed && caught.is_before(&tip.version)) {
                        // A scan found what came after it; or somebody else did, or it was put
                        // there with an older time, and then a look tells what is there.
                        if caught.when >= self.scanned {
                            self.missed.insert(caught.name);
                        }
                        continue;
                    }
                    // A file that is empty is about to be written; where it stays so, a look finds it.
                    if !caught.read_still(bytes) || bytes.is_empty() {
                        self.missed.insert(caught.name);
                        continue;
                    }
                    // What was missed may have come just before.
                    let is_sure = !self.has_missed && self.missed.is_empty();
                    let seen = if is_sure { Observed::AsItHappened } else { Observed::AfterAGap };
                    let name = &caught.name;
                    all.extend(recorder.file(name, bytes, caught.stat.written, seen, &exists)?);
                    self.missed.remove(name);
                    if let Some(live) = recorder.lineages().live(name) {
                        self.followed.insert(caught.name, live.tip.id);
                    }
                }
                FileEvent::Missed(name) => {
                    self.missed.insert(name);
                }
                FileEvent::Gone(name) => {
                    if !exists(&name) {
                        all.extend(recorder.deleted(&name)?);
                        self.missed.remove(&name);
                        self.followed.remove(&name);
                    }
                }
            }
        }
        recorder.keep()?;
        Ok(all)
    }

    pub(super) fn tell_kept(&self, recorded: &[Recorded], tell: &mut Tell<'_>) {
        if let Some(history) = self.history.as_deref().filter(|_| !recorded.is_empty()) {
            tell(WatchReport::Kept { user: &self.user, history, recorded });
        }
    }

    /// Puts everything where any git can read it, and lets go of the memory.
    pub(super) fn close(&mut self) -> Result<()> {
        if let Some(mut history) = self.history.take() {
            history.record()?.flush()?;
            if let Some(remembered) = self.remembered.take() {
                remembered.save(&mut history)?;
            }
        }
        Ok(())
    }
}
