//! Keeps running and records every version as it is saved.
//!
//! One watch serves all users of a data folder. A user whose files do not change costs only a few
//! system watches: a history is opened when there is something to record, and closed after it has
//! been idle for a while.

mod batch;
mod events;
mod silence;
#[cfg(all(test, target_os = "linux"))]
mod tests;
mod watched;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::time::{Duration, Instant, SystemTime};

use forklore_tavern::disk::Disk;
use forklore_tavern::disk::clock::Clock;
use forklore_tavern::folder::layout::UserFolders;
use rustc_hash::FxHashSet;

use crate::error::{HistoryError, Result};
use crate::record::recorder::Recorded;
use crate::record::scan::{self, Scan};
use crate::version::history::History;

use batch::{Batch, Queue, file_events};
pub use events::{ARE_EXACT, CaughtFile, Event, SaveStamp, receives_events};
use events::{Events, WAITING};
use silence::NextLook;
use watched::{FileEvent, Touched, WatchState, Watched};

/// A user whose files are watched.
pub struct WatchedUser {
    pub folders: UserFolders,
    pub repository: PathBuf,
}

/// What a watch reports.
pub enum WatchReport<'a> {
    /// All users' files were scanned; from now on nothing is missed.
    Watching { users: usize },
    /// A user's files were scanned.
    Scanned { user: &'a WatchedUser, scan: &'a Scan },
    /// A version was added.
    Recorded { user: &'a WatchedUser, recorded: &'a Recorded },
    /// Everything just reported is now durable.
    Persisted { user: &'a WatchedUser, history: &'a History<'a>, recorded: &'a [Recorded] },
    /// Something could not be recorded. It will be retried.
    Failed { user: &'a WatchedUser, error: &'a HistoryError },
    /// The user's folder is gone.
    Gone { user: &'a WatchedUser, history: &'a History<'a> },
    /// It is back, and watched again.
    Back { user: &'a WatchedUser },
    /// These files cannot be watched, and are polled instead.
    NotWatched { user: &'a WatchedUser, why: String },
    /// These files changed, and the system did not report it; they are polled from now on.
    Silent { user: &'a WatchedUser },
    /// This history has reached its size limit; nothing more is added to it.
    Full { user: &'a WatchedUser, bytes: u64 },
}

/// Receives the reports.
type OnReport<'t> = dyn FnMut(WatchReport<'_>) + 't;

/// Settings shared by all users.
#[derive(Clone, Copy)]
pub struct WatchSettings<'d> {
    pub disk: &'d dyn Disk,
    pub clock: &'d dyn Clock,
    pub host: &'d str,
    /// A history of this size is no longer added to.
    pub most_bytes: Option<u64>,
    /// Whether the system reports every save, in order. Always [`ARE_EXACT`], except in tests.
    pub are_exact: bool,
}

/// After this long without events, recordings are written to packs, where any git can read them,
/// and histories are closed.
const IDLE: Duration = Duration::from_secs(20);
/// Polling interval for files that cannot be watched or failed to record.
const RESCAN_AFTER: Duration = Duration::from_secs(10);
/// On systems that report little, files are read once nothing has happened to any of a user's files
/// for this long. SillyTavern saves one second after an edit, so half-way through that no save is
/// disturbed.
const SETTLED_AFTER: Duration = Duration::from_millis(500);
/// Whether a file was saved so shortly before `now` that the next save may follow at once.
fn is_fresh(saved: SystemTime, now: SystemTime) -> bool {
    // A time in the future says nothing.
    now.duration_since(saved).is_ok_and(|age| age < SETTLED_AFTER)
}

/// How often to retry reading a file that another program has locked.
const TRIES: u32 = 6;
/// While other users keep saving, how long an evicted user must be quiet before the history is
/// closed. Everything is in the journal until then.
const QUIET: Duration = Duration::from_secs(10 * 60);
/// How many histories are open at the same time: opening one takes longer than recording a message.
const MOST_OPEN: usize = 128;
/// How many histories are closed at a time, so that events need not wait.
const CLOSED_AT_ONCE: usize = 32;
/// Forklore's own folder in a repository, in which fences are raised.
const FENCES: &str = "forklore/fences";
/// How many users' folders are watched before the first of them is scanned.
const BATCH: usize = 500;

/// Lets another thread stop the watch.
#[derive(Clone)]
pub struct Stopper(SyncSender<Event>);

impl Stopper {
    pub fn stop(&self) {
        let _ = self.0.send(Event::Stop);
    }
}

pub struct Watch<'d> {
    settings: WatchSettings<'d>,
    users: Vec<Watched<'d>>,
    events: Events,
    queue: Queue,
    overflow: Arc<AtomicBool>,
    stopper: Stopper,
    /// The users whose histories are open, most recently used last.
    open: VecDeque<usize>,
    /// Users whose histories were evicted with recordings in the journal, and when.
    evicted: VecDeque<(Instant, usize)>,
    /// When to rescan which user. The user may have been scanned since.
    rescans: BTreeSet<(Instant, usize)>,
    /// Users whose files changed, and when they will have been quiet for long enough.
    touched: BTreeSet<(Instant, usize)>,
    next_look: NextLook,
    /// Reused for reading: allocating memory for large files takes longer than reading them.
    buffer: Vec<u8>,
    find_users: Option<Box<FindUsers<'d>>>,
    /// The folder that contains the users' folders.
    root: Option<PathBuf>,
}

/// Lists the current users.
type FindUsers<'d> = dyn Fn() -> Vec<WatchedUser> + 'd;

impl<'d> Watch<'d> {
    pub fn new(settings: WatchSettings<'d>, users: Vec<WatchedUser>) -> notify::Result<Self> {
        let (sender, queue) = sync_channel(WAITING);
        let overflow = Arc::<AtomicBool>::default();
        let events = Events::new(sender.clone(), Arc::clone(&overflow), settings.are_exact)?;
        let now = Instant::now();
        let users = users.into_iter().map(|user| Watched::new(user, now));
        Ok(Self {
            settings,
            users: users.collect(),
            events,
            queue: Queue::new(queue),
            overflow,
            stopper: Stopper(sender),
            open: VecDeque::new(),
            evicted: VecDeque::new(),
            rescans: BTreeSet::new(),
            touched: BTreeSet::new(),
            next_look: NextLook::new(),
            buffer: Vec::new(),
            find_users: None,
            root: None,
        })
    }

    /// Also watches users that are added later: `root` is the folder that contains their folders.
    pub fn follow_users(
        &mut self,
        root: &Path,
        find: impl Fn() -> Vec<WatchedUser> + 'd,
    ) -> notify::Result<()> {
        self.find_users = Some(Box::new(find));
        self.watch_root(root)
    }

    /// Watches the folder that contains the users' folders, for those that appear and disappear.
    pub fn watch_root(&mut self, root: &Path) -> notify::Result<()> {
        self.root = Some(root.to_owned());
        self.events.add_root(root)
    }

    pub fn stopper(&self) -> Stopper {
        self.stopper.clone()
    }

    /// Records until it is stopped.
    pub fn run(&mut self, on_report: &mut OnReport<'_>) {
        if !self.scan_all_users(on_report) {
            self.handle_events(on_report);
        }
        if !self.settings.are_exact {
            // Some events may not have arrived yet, and nothing has been quiet for long enough.
            let touched = self.touched.iter().map(|(_, at)| *at);
            let last: BTreeSet<usize> = touched.chain(self.open.iter().copied()).collect();
            for at in last {
                self.rescan(at, on_report);
            }
        }
        for at in 0..self.users.len() {
            self.close(at, on_report);
        }
    }

    /// Scans all users for the first time. Returns whether it was stopped in the meantime.
    fn scan_all_users(&mut self, on_report: &mut OnReport<'_>) -> bool {
        // In batches: the memory for watched folders stays allocated, and if it were interleaved
        // with the large allocations that each history makes and frees, those could not be reused.
        for first in (0..self.users.len()).step_by(BATCH) {
            let batch = first..self.users.len().min(first + BATCH);
            batch.clone().for_each(|at| self.watch(at, on_report));
            batch.for_each(|at| self.first_scan(at, on_report));
            // With many users this takes a while, and users who are done continue to save. But only
            // after everyone who is watched has been scanned: versions recorded from events count
            // as having no gap before them.
            while let Some(event) = self.queue.next() {
                if self.handle_batch(event, on_report) {
                    return true;
                }
            }
        }
        on_report(WatchReport::Watching { users: self.users.len() });
        false
    }

    fn handle_events(&mut self, on_report: &mut OnReport<'_>) {
        loop {
            match self.queue.wait(self.timeout()) {
                Some(Event::Stop) => break,
                Some(event) => {
                    if self.handle_batch(event, on_report) {
                        break;
                    }
                }
                None => self.on_idle(on_report),
            }
            if self.overflow.swap(false, Ordering::Relaxed) {
                self.rescan_all(on_report);
            }
            self.scan_settled(on_report);
            self.run_due_rescans(on_report);
            self.close_quiet(on_report);
            self.look_for_silent_changes(on_report);
        }
    }

    /// How long to wait for the next event.
    fn timeout(&self) -> Duration {
        let rescan = self.rescans.first().map(|(due, _)| *due);
        let scan = self.touched.first().map(|(due, _)| *due);
        let due = rescan.into_iter().chain(scan).min();
        let wait = due.map(|due| due.saturating_duration_since(Instant::now()));
        let is_idle = self.open.is_empty() && self.evicted.is_empty();
        let look = self.next_look.due.saturating_duration_since(Instant::now());
        let idle = if is_idle { look } else { IDLE };
        wait.map_or(idle, |wait| wait.min(idle))
    }

    fn watch(&mut self, at: usize, on_report: &mut OnReport<'_>) {
        let home = scan::home(&self.users[at].user.folders);
        let added = self.events.add(at, &home);
        // A folder that is gone is reported as that.
        if let Err(error) = added
            && !self.is_folder_gone(at)
        {
            self.report_not_watched(at, &error, on_report);
        }
    }

    fn report_not_watched(
        &mut self,
        at: usize,
        error: &notify::Error,
        on_report: &mut OnReport<'_>,
    ) {
        let watched = &mut self.users[at];
        watched.state = WatchState::Polled;
        on_report(WatchReport::NotWatched { user: &watched.user, why: error.to_string() });
    }

    fn first_scan(&mut self, at: usize, on_report: &mut OnReport<'_>) {
        self.rescan(at, on_report);
        // Thousands of histories need not be open at once.
        if self.users.len() > MOST_OPEN {
            self.close(at, on_report);
        }
    }

    /// Handles an event and all others that have arrived since. Returns whether to stop.
    fn handle_batch(&mut self, event: Event, on_report: &mut OnReport<'_>) -> bool {
        let fences = self.users.first().map(|first| first.user.repository.join(FENCES));
        let raise = || self.events.raise_fence(fences.as_deref()?);
        let Batch { events, is_fenced } = self.queue.batch(event, raise);
        // Read after the events: those that could not be sent came before some of these.
        let mut rescan_all = self.overflow.swap(false, Ordering::Relaxed);
        let (mut stop, mut find_users) = (false, false);
        let mut to_rescan: BTreeSet<usize> = BTreeSet::new();
        let mut of_users: BTreeMap<usize, Vec<Event>> = BTreeMap::new();
        for event in events {
            if let Some(user) = event.user() {
                let watched = &mut self.users[user];
                watched.look.is_reported = true;
                watched.back = watched.back.map(|_| Instant::now());
            }
            if let Some((user, _)) = event.file() {
                of_users.entry(user).or_default().push(event);
                continue;
            }
            match event {
                Event::Touched { user, name } => {
                    self.users[user].touched.names.insert(name);
                    self.touch(user);
                }
                Event::Rescan { user } if !self.settings.are_exact => {
                    self.users[user].touched.includes_all = true;
                    self.touch(user);
                }
                Event::Rescan { user } => drop(to_rescan.insert(user)),
                Event::Missed { user } => {
                    self.users[user].has_missed = true;
                    to_rescan.insert(user);
                }
                Event::RescanAll => rescan_all = true,
                Event::Users => find_users = true,
                Event::Stop => stop = true,
                Event::Fence(_) => {}
                Event::Saved(_) | Event::Gone { .. } | Event::Writing { .. } => {}
            }
        }
        if rescan_all {
            for watched in &mut self.users {
                watched.has_missed = true;
                watched.look.is_reported = true;
            }
        }
        for (at, events) in of_users {
            self.record(at, file_events(events, is_fenced), on_report);
        }
        to_rescan.into_iter().for_each(|at| self.rescan_folders(at, on_report));
        if rescan_all {
            self.rescan_all(on_report);
        }
        if find_users {
            self.add_new_users(on_report);
            for at in 0..self.users.len() {
                if self.is_folder_gone(at) != (self.users[at].state == WatchState::Gone) {
                    self.rescan(at, on_report);
                }
            }
        }
        stop
    }

    /// Starts to watch new users.
    fn add_new_users(&mut self, on_report: &mut OnReport<'_>) {
        let Some(find) = &self.find_users else { return };
        let known: FxHashSet<&Path> =
            self.users.iter().map(|known| known.user.repository.as_path()).collect();
        let mut new = find();
        new.retain(|user| !known.contains(user.repository.as_path()));
        for user in new {
            self.users.push(Watched::new(user, Instant::now()));
            let at = self.users.len() - 1;
            // Watch first and scan afterwards, so that nothing is missed in between.
            self.watch(at, on_report);
            self.first_scan(at, on_report);
        }
    }

    fn record(&mut self, at: usize, mut file_events: Vec<FileEvent>, on_report: &mut OnReport<'_>) {
        if self.users[at].state == WatchState::Full || file_events.is_empty() {
            return;
        }
        // Without the folder nothing counts as deleted: its disk may not be mounted. What was saved
        // before it went is open, and is recorded.
        if self.is_folder_gone(at) {
            file_events.retain(|event| !matches!(event, FileEvent::Gone(_)));
            self.record_events(at, file_events, on_report);
            self.rescan(at, on_report);
        } else {
            self.record_events(at, file_events, on_report);
        }
    }

    fn record_events(
        &mut self,
        at: usize,
        file_events: Vec<FileEvent>,
        on_report: &mut OnReport<'_>,
    ) {
        let mut buffer = std::mem::take(&mut self.buffer);
        let recorded =
            self.open_history(at).and_then(|watched| watched.record(file_events, &mut buffer));
        self.buffer = buffer;
        let is_recorded = recorded.is_ok();
        self.report(at, recorded, on_report);
        let watched = &self.users[at];
        if is_recorded && watched.has_missed {
            self.rescan(at, on_report);
        } else if is_recorded && !watched.missed.is_empty() && watched.rescan_at.is_none() {
            // The next save shows the current content. If there is none, a rescan does.
            self.schedule_rescan(at);
        }
    }

    /// Returns how many versions it found.
    fn rescan(&mut self, at: usize, on_report: &mut OnReport<'_>) -> usize {
        if self.users[at].state == WatchState::Full || !self.look_for_folder(at, on_report) {
            return 0;
        }
        if self.users[at].back.is_some_and(|back| back.elapsed() < RESCAN_AFTER) {
            self.schedule_rescan(at);
            return 0;
        }
        self.users[at].back = None;
        let disk = self.settings.disk;
        let scanned = self.open_history(at).and_then(|watched| watched.scan(disk, None));
        match scanned {
            Ok(scan) => {
                let watched = &mut self.users[at];
                let is_polled = watched.state == WatchState::Polled;
                watched.rescan_at = None;
                let had_missed = std::mem::take(&mut watched.has_missed);
                if !is_polled || had_missed || !scan.recorded.is_empty() || !scan.unread.is_empty()
                {
                    on_report(WatchReport::Scanned { user: &watched.user, scan: &scan });
                }
                watched.report_persisted(&scan.recorded, on_report);
                if is_polled {
                    self.schedule_rescan(at);
                }
                self.report(at, Ok(Vec::new()), on_report);
                scan.recorded.len()
            }
            Err(error) => {
                self.report(at, Err(error), on_report);
                0
            }
        }
    }

    /// Whether the user's folder is there. If it has just gone or come back, that is reported.
    fn look_for_folder(&mut self, at: usize, on_report: &mut OnReport<'_>) -> bool {
        let is_there = !self.is_folder_gone(at);
        let was_gone = self.users[at].state == WatchState::Gone;
        if is_there && was_gone {
            let home = scan::home(&self.users[at].user.folders);
            let added = self.events.add_again(at, &home);
            let watched = &mut self.users[at];
            watched.state = WatchState::Watched;
            watched.has_missed = true;
            watched.back = Some(Instant::now());
            if let Some(root) = &self.root {
                let _ = self.events.add_root(root);
            }
            let watched = &self.users[at];
            on_report(WatchReport::Back { user: &watched.user });
            if let Err(error) = added {
                self.report_not_watched(at, &error, on_report);
            }
        } else if !is_there {
            if !was_gone {
                match self.open_history(at) {
                    Ok(watched) => {
                        watched.state = WatchState::Gone;
                        if let Some(history) = watched.history.as_deref() {
                            on_report(WatchReport::Gone { user: &watched.user, history });
                        }
                    }
                    Err(error) => {
                        self.report(at, Err(error), on_report);
                        return false;
                    }
                }
            }
            self.schedule_rescan(at);
        }
        is_there
    }

    fn is_folder_gone(&self, at: usize) -> bool {
        let home = scan::home(&self.users[at].user.folders);
        matches!(self.settings.disk.stat(&home), Ok(None))
    }

    /// Scans after a folder may have appeared, which is not watched yet.
    fn rescan_folders(&mut self, at: usize, on_report: &mut OnReport<'_>) {
        let home = scan::home(&self.users[at].user.folders);
        if self.users[at].state != WatchState::Gone {
            let _ = self.events.add(at, &home);
        }
        self.rescan(at, on_report);
    }

    /// Schedules a scan of a user's changed files, once they have been quiet for long enough.
    fn touch(&mut self, at: usize) {
        let due = Instant::now() + SETTLED_AFTER;
        if let Some(before) = self.users[at].touched.due.replace(due) {
            self.touched.remove(&(before, at));
        }
        self.touched.insert((due, at));
    }

    fn scan_settled(&mut self, on_report: &mut OnReport<'_>) {
        let now = Instant::now();
        while let Some((_, at)) = self.touched.first().copied().filter(|(when, _)| *when <= now) {
            self.scan_touched(at, on_report);
        }
    }

    fn scan_touched(&mut self, at: usize, on_report: &mut OnReport<'_>) {
        let touched = std::mem::take(&mut self.users[at].touched);
        self.touched.retain(|(_, other)| *other != at);
        if touched.includes_all {
            return self.rescan_folders(at, on_report);
        }
        if self.users[at].state == WatchState::Full {
            return;
        }
        let disk = self.settings.disk;
        let home = scan::home(&self.users[at].user.folders);
        let now = self.settings.clock.now();
        let mut stats =
            touched.names.iter().filter_map(|name| disk.stat(&home.join(name.to_path())).ok()?);
        // On a busy machine, what the system reports can be late.
        if stats.any(|stat| is_fresh(stat.modified, now)) {
            self.users[at].touched = Touched { due: None, ..touched };
            return self.touch(at);
        }
        let scanned =
            self.open_history(at).and_then(|watched| watched.scan(disk, Some(&touched.names)));
        let is_unread = scanned.as_ref().is_ok_and(|scan| !scan.unread.is_empty());
        self.report(at, scanned.map(|scan| scan.recorded), on_report);
        if is_unread && touched.tries < TRIES {
            // Another program has one of them open.
            self.users[at].touched = Touched { tries: touched.tries + 1, due: None, ..touched };
            self.touch(at);
        } else if is_unread {
            self.rescan(at, on_report);
        }
    }

    fn rescan_all(&mut self, on_report: &mut OnReport<'_>) {
        for at in 0..self.users.len() {
            self.rescan(at, on_report);
        }
    }

    /// Schedules a rescan of a user.
    fn schedule_rescan(&mut self, at: usize) {
        let due = Instant::now() + RESCAN_AFTER;
        self.users[at].rescan_at = Some(due);
        self.rescans.insert((due, at));
    }

    fn run_due_rescans(&mut self, on_report: &mut OnReport<'_>) {
        let now = Instant::now();
        while let Some((due, at)) = self.rescans.first().copied().filter(|(when, _)| *when <= now) {
            self.rescans.remove(&(due, at));
            if self.users[at].rescan_at == Some(due) {
                self.users[at].rescan_at = None;
                self.rescan(at, on_report);
            }
        }
    }

    /// Closes the history of a user who has been quiet for long, so that any git can read it. One
    /// at a time, because others are saving.
    fn close_quiet(&mut self, on_report: &mut OnReport<'_>) {
        while let Some((when, at)) = self.evicted.front().copied() {
            let is_quiet = self.users[at].evicted == Some(when);
            if is_quiet && when.elapsed() < QUIET {
                return;
            }
            self.evicted.pop_front();
            if is_quiet {
                return self.close(at, on_report);
            }
        }
    }

    fn report(&mut self, at: usize, recorded: Result<Vec<Recorded>>, on_report: &mut OnReport<'_>) {
        let watched = &mut self.users[at];
        match recorded {
            Ok(recorded) => {
                for recorded in &recorded {
                    on_report(WatchReport::Recorded { user: &watched.user, recorded });
                }
                watched.report_persisted(&recorded, on_report);
                let bytes = watched.history.as_ref().map_or(0, |history| history.store().bytes());
                if self.settings.most_bytes.is_some_and(|most| bytes >= most) {
                    watched.state = WatchState::Full;
                    on_report(WatchReport::Full { user: &watched.user, bytes });
                }
            }
            Err(error) => {
                on_report(WatchReport::Failed { user: &watched.user, error: &error });
                watched.history = None;
                watched.has_missed = true;
                self.open.retain(|open| *open != at);
                // The rescan records whatever is there then.
                self.schedule_rescan(at);
            }
        }
    }

    fn open_history(&mut self, at: usize) -> Result<&mut Watched<'d>> {
        self.open.retain(|open| *open != at);
        self.open.push_back(at);
        if self.open.len() > MOST_OPEN
            && let Some(oldest) = self.open.pop_front()
        {
            self.evict(oldest)?;
        }
        let watched = &mut self.users[at];
        if watched.history.is_none() {
            let WatchSettings { disk, clock, host, .. } = self.settings;
            let history = History::open(disk, clock, &watched.user.repository, host)?;
            watched.history = Some(Box::new(history));
        }
        watched.evicted = None;
        Ok(watched)
    }

    /// Makes room for another history. Its journal is durable already, and writing it to a pack
    /// takes ten times as long as recording did; that can wait until things are quiet.
    fn evict(&mut self, at: usize) -> Result<()> {
        let watched = &mut self.users[at];
        if watched.remembered.is_some() {
            return watched.close();
        }
        let history = watched.history.take();
        if history.is_some_and(|history| history.store().journal_recordings() > 0) {
            let now = Instant::now();
            watched.evicted = Some(now);
            self.evicted.push_back((now, at));
        }
        Ok(())
    }

    /// Handles a period without events.
    fn on_idle(&mut self, on_report: &mut OnReport<'_>) {
        for at in self.open.drain(..self.open.len().min(CLOSED_AT_ONCE)).collect::<Vec<_>>() {
            self.close(at, on_report);
        }
        // Those that have waited longest.
        for (when, at) in
            self.evicted.drain(..self.evicted.len().min(CLOSED_AT_ONCE)).collect::<Vec<_>>()
        {
            if self.users[at].evicted == Some(when) {
                self.close(at, on_report);
            }
        }
        self.buffer = Vec::new();
    }

    fn close(&mut self, at: usize, on_report: &mut OnReport<'_>) {
        if self.users[at].evicted.is_some()
            && let Err(error) = self.open_history(at)
        {
            return self.report(at, Err(error), on_report);
        }
        self.open.retain(|open| *open != at);
        let closed = self.users[at].close();
        if let Err(error) = closed {
            self.report(at, Err(error), on_report);
        }
    }
}
