//! One of the watched users.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::io::Read as _;
use std::time::Instant;

use forklore_tavern::disk::Disk;
use rustc_hash::{FxHashMap, FxHashSet};

use super::events::{CaughtFile, SaveStamp};
use super::silence::LastLook;
use super::{OnReport, WatchReport, WatchedUser};
use crate::error::Result;
use crate::file::FileName;
use crate::git::object::Id;
use crate::record::recorder::Observed;
use crate::record::recorder::Recorded;
use crate::record::scan::{self, Scan, SeenFiles};
use crate::version::commit::{Origin, Version, milliseconds};
use crate::version::history::History;

/// A user, and the state of the watch for them.
pub(super) struct Watched<'d> {
    pub(super) user: WatchedUser,
    /// Boxed, because most users have none.
    pub(super) history: Option<Box<History<'d>>>,
    pub(super) remembered: Option<SeenFiles>,
    pub(super) state: WatchState,
    /// When something last happened after the folder had come back: until it has been quiet, what
    /// is missing may still be on its way.
    pub(super) back: Option<Instant>,
    /// Events from before this are older than what the scan found.
    pub(super) scanned: Instant,
    /// When to rescan.
    pub(super) rescan_at: Option<Instant>,
    /// Something was not recorded, and there was no scan since.
    pub(super) has_missed: bool,
    /// Files of which a version was missed, until a later one is recorded. Versions recorded until
    /// then count as having a gap before them, because it is unknown which version of these files
    /// existed at that time.
    pub(super) missed: FxHashSet<FileName>,
    /// The newest versions that were recorded as they were saved.
    followed: FxHashMap<FileName, Id>,
    pub(super) touched: Touched,
    pub(super) look: LastLook,
    /// When the history was evicted with recordings in the journal, which no other git can read
    /// yet.
    pub(super) evicted: Option<Instant>,
}

/// Files that something happened to, on systems that do not report what.
#[derive(Default)]
pub(super) struct Touched {
    pub(super) names: BTreeSet<FileName>,
    /// It is unknown which files.
    pub(super) includes_all: bool,
    /// When they will have been quiet for long enough.
    pub(super) due: Option<Instant>,
    /// How often they could not be read.
    pub(super) tries: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WatchState {
    Watched,
    /// Scanned at intervals.
    Polled,
    /// The user's folder is gone. It is looked for at intervals.
    Gone,
    Full,
}

/// What happened to a file.
pub(super) enum FileEvent {
    Saved(CaughtFile),
    Gone(FileName),
    /// A version of a file was missed, or may have been.
    Missed(FileName),
}

impl CaughtFile {
    /// Whether it was written before the known version. A version found by a scan may have the same
    /// time and still be later.
    fn is_before(&self, known: &Version) -> bool {
        match milliseconds(self.stat.written).cmp(&milliseconds(known.written)) {
            Ordering::Less => true,
            Ordering::Equal => known.why == Origin::Found,
            Ordering::Greater => false,
        }
    }

    /// Reads the saved content. Returns whether the file has not been written to since it was
    /// opened.
    pub(super) fn read_unchanged(&mut self, bytes: &mut Vec<u8>) -> bool {
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
            back: None,
            scanned: now,
            rescan_at: None,
            has_missed: false,
            missed: FxHashSet::default(),
            followed: FxHashMap::default(),
            touched: Touched::default(),
            look: LastLook::default(),
            evicted: None,
        }
    }

    /// Scans all files, or only some.
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
        self.look.stamp = Some(scan.stamp);
        self.missed.clear();
        Ok(scan)
    }

    /// Records events in order, with a single sync.
    pub(super) fn record(
        &mut self,
        file_events: Vec<FileEvent>,
        bytes: &mut Vec<u8>,
    ) -> Result<Vec<Recorded>> {
        let Some(history) = &mut self.history else { return Ok(Vec::new()) };
        let home = scan::home(&self.user.folders);
        let exists = |name: &FileName| home.join(name.to_path()).symlink_metadata().is_ok();
        let mut all = Vec::new();
        let mut recorder = history.record()?;
        for event in file_events {
            match event {
                FileEvent::Saved(mut caught) => {
                    let live = recorder.lineages().live(&caught.name).map(|live| &live.tip);
                    let is_followed =
                        live.map(|tip| tip.id) == self.followed.get(&caught.name).copied();
                    if live.is_some_and(|tip| !is_followed && caught.is_before(&tip.version)) {
                        // A scan found a later version. Or another process recorded one, or the
                        // file was put there with an older time: then a rescan shows the current
                        // content.
                        if caught.when >= self.scanned {
                            self.missed.insert(caught.name);
                        }
                        continue;
                    }
                    // An empty file is about to be written; if it stays empty, a rescan finds it.
                    if !caught.read_unchanged(bytes) || bytes.is_empty() {
                        self.missed.insert(caught.name);
                        continue;
                    }
                    // The version that was missed may have come just before.
                    let is_sure = !self.has_missed
                        && self.missed.is_empty()
                        && self.state == WatchState::Watched;
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
        recorder.persist()?;
        Ok(all)
    }

    pub(super) fn report_persisted(&self, recorded: &[Recorded], on_report: &mut OnReport<'_>) {
        if let Some(history) = self.history.as_deref().filter(|_| !recorded.is_empty()) {
            on_report(WatchReport::Persisted { user: &self.user, history, recorded });
        }
    }

    /// Makes everything readable by any git, and frees the memory.
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
