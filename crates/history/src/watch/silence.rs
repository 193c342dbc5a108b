//! Notices changes that the system does not report. In a folder that is shared with another
//! computer or a virtual machine, whatever is saved over there can be silent.

use std::time::{Duration, Instant};

use super::watched::WatchState;
use super::{OnReport, Watch, WatchReport};
use crate::record::scan;

/// How often a user's files are compared with how they were at the last look.
const LOOK_EVERY: Duration = Duration::from_secs(30);
/// The least time between two looks, if there are many users.
const LOOK_AGAIN: Duration = Duration::from_secs(1);
/// How long a report may be under way.
const REPORTED_WITHIN: Duration = Duration::from_secs(3);

/// Whose files are looked at next, and when.
pub(super) struct NextLook {
    pub(super) due: Instant,
    user: usize,
}

/// What was seen of a user's files at the last look.
#[derive(Default)]
pub(super) struct LastLook {
    /// Sizes and times of all files.
    pub(super) stamp: Option<u64>,
    /// Whether something was reported since.
    pub(super) is_reported: bool,
    /// Whether something had changed that may still be reported.
    is_suspect: bool,
}

impl NextLook {
    pub(super) fn new() -> Self {
        Self { due: Instant::now() + LOOK_EVERY, user: 0 }
    }
}

impl Watch<'_> {
    /// Looks at one user's files, if it is time to. If they have changed and nothing was reported,
    /// they are polled from now on.
    pub(super) fn look_for_silent_changes(&mut self, on_report: &mut OnReport<'_>) {
        let now = Instant::now();
        if now < self.next_look.due || self.users.is_empty() {
            return;
        }
        let users = self.users.len();
        let at = self.next_look.user % users;
        let is_suspect = self.look_at(at, on_report);
        let pause = LOOK_EVERY / u32::try_from(users).unwrap_or(u32::MAX);
        self.next_look = match is_suspect {
            true => NextLook { due: now + REPORTED_WITHIN, user: at },
            false => NextLook { due: now + pause.max(LOOK_AGAIN), user: at + 1 },
        };
    }

    /// Whether this user has to be looked at again soon.
    pub(super) fn look_at(&mut self, at: usize, on_report: &mut OnReport<'_>) -> bool {
        let watched = &mut self.users[at];
        if watched.state != WatchState::Watched {
            return false;
        }
        // There even a look opens the files, and could stand in the way of a save. Where something
        // is reported, nothing is silent.
        if !self.settings.are_exact && watched.look.is_reported {
            watched.look = LastLook::default();
            return false;
        }
        let (files, _) = scan::files(self.settings.disk, &watched.user.folders);
        let stamp = scan::stamp(&files);
        let last = std::mem::replace(
            &mut watched.look,
            LastLook { stamp: Some(stamp), ..LastLook::default() },
        );
        let has_changed = last.stamp.is_some_and(|before| before != stamp);
        if last.is_reported || !(has_changed || last.is_suspect) {
            return false;
        }
        if !last.is_suspect {
            self.users[at].look.is_suspect = true;
            return true;
        }
        // A file may only have another time.
        if self.rescan(at, on_report) > 0 {
            let watched = &mut self.users[at];
            watched.state = WatchState::Polled;
            on_report(WatchReport::Silent { user: &watched.user });
            self.schedule_rescan(at);
        }
        false
    }
}
