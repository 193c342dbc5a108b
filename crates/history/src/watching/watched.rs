//! One user of those who are watched.

use std::io::Read as _;
use std::time::Instant;

use forklore_tavern::disk::Disk;

use super::User;
use super::events::Caught;
use crate::error::HistoryError;
use crate::file::Name;
use crate::history::{History, Recorded, Seen};
use crate::scan::{self, Remembered, Scan};

/// A user, and what is known of the files.
pub(super) struct Watched<'d> {
    pub(super) user: User,
    /// Boxed: most users have none.
    pub(super) history: Option<Box<History<'d>>>,
    pub(super) remembered: Option<Remembered>,
    pub(super) state: State,
    /// Events caught before this are older than what a scan found.
    pub(super) scanned: Instant,
    /// To be looked at again then.
    pub(super) again: Option<Instant>,
    /// Something was not recorded, and nobody has looked since.
    pub(super) has_missed: bool,
    /// Something is in the journal that no git can read yet, since then.
    pub(super) let_go: Option<Instant>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Watched,
    /// Looked at now and then.
    Polled,
    Full,
}

/// What happened to a file.
pub(super) enum Happening {
    Saved(Caught),
    Gone(Name),
}

impl Watched<'_> {
    pub(super) fn new(user: User, now: Instant) -> Self {
        Self {
            user,
            history: None,
            remembered: None,
            state: State::Watched,
            scanned: now,
            again: None,
            has_missed: false,
            let_go: None,
        }
    }

    pub(super) fn scan(&mut self, disk: &dyn Disk) -> Result<Scan, HistoryError> {
        let Some(history) = &mut self.history else { return Ok(Scan::default()) };
        let remembered = self.remembered.get_or_insert_with(|| Remembered::load(history));
        let scan = scan::scan(history, disk, &self.user.folders, remembered, &|_, _| {})?;
        self.scanned = Instant::now();
        Ok(scan)
    }

    /// Records what happened, in order, and makes sure of it once.
    pub(super) fn record(
        &mut self,
        happenings: Vec<Happening>,
        bytes: &mut Vec<u8>,
    ) -> Result<Vec<Recorded>, HistoryError> {
        let Some(history) = &mut self.history else { return Ok(Vec::new()) };
        let home = scan::home(&self.user.folders);
        let exists = |name: &Name| home.join(name.to_path()).symlink_metadata().is_ok();
        let mut all = Vec::new();
        let mut recorder = history.record()?;
        for happening in happenings {
            match happening {
                Happening::Saved(mut caught) => {
                    let live = recorder.lineages().live(&caught.name);
                    let known = live.map(|live| live.tip.version.written);
                    if caught.when < self.scanned
                        && known.is_some_and(|known| caught.written < known)
                    {
                        continue;
                    }
                    bytes.clear();
                    if caught.file.read_to_end(bytes).is_err() {
                        self.has_missed = true;
                        continue;
                    }
                    // What was missed may have come just before.
                    let seen = if self.has_missed { Seen::Later } else { Seen::AsItHappened };
                    all.extend(recorder.file(
                        &caught.name,
                        bytes,
                        caught.written,
                        seen,
                        &exists,
                    )?);
                }
                Happening::Gone(name) => {
                    if !exists(&name) {
                        all.extend(recorder.deleted(&name)?);
                    }
                }
            }
        }
        recorder.keep()?;
        Ok(all)
    }

    /// Puts everything where any git can read it, and lets go of the memory.
    pub(super) fn close(&mut self) -> Result<(), HistoryError> {
        if let Some(mut history) = self.history.take() {
            history.record()?.flush()?;
            if let Some(remembered) = self.remembered.take() {
                remembered.save(&mut history)?;
            }
        }
        Ok(())
    }
}
