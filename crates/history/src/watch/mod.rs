//! Stays, and records every version as it is saved.
//!
//! One for all users of a data folder. A user whose files do not change costs a few watches of the
//! system and nothing else: histories are opened when there is something to record, and closed when
//! there has been nothing for a while.

mod batch;
mod events;
#[cfg(all(test, target_os = "linux"))]
mod tests;
mod watched;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::time::{Duration, Instant};

use forklore_tavern::disk::Disk;
use forklore_tavern::disk::clock::Clock;
use forklore_tavern::folder::layout::UserFolders;
use rustc_hash::FxHashSet;

use crate::error::{HistoryError, Result};
use crate::record::recorder::Recorded;
use crate::record::scan::{self, Scan};
use crate::version::history::History;

use batch::{Batch, Queue, happenings};
pub use events::{ARE_EXACT, CaughtFile, Event, SaveStamp, reach};
use events::{Events, WAITING};
use watched::{FileEvent, Touched, WatchState, Watched};

/// A user whose files are watched.
pub struct WatchedUser {
    pub folders: UserFolders,
    pub repository: PathBuf,
}

/// What is told to whoever runs this.
pub enum WatchReport<'a> {
    /// The files of all users were looked at; from now on nothing is missed.
    Watching { users: usize },
    /// The files of a user were looked at.
    Scanned { user: &'a WatchedUser, scan: &'a Scan },
    /// A version was added.
    Recorded { user: &'a WatchedUser, recorded: &'a Recorded },
    /// All of what was just told is in the history now.
    Kept { user: &'a WatchedUser, history: &'a History<'a>, recorded: &'a [Recorded] },
    /// Something could not be recorded. It is tried again.
    Failed { user: &'a WatchedUser, error: &'a HistoryError },
    /// These files are looked at now and then, since they cannot be watched.
    NotWatched { user: &'a WatchedUser, why: String },
    /// This history is as large as it may be; nothing is added to it.
    Full { user: &'a WatchedUser, bytes: u64 },
}

/// Tells them.
type Tell<'t> = dyn FnMut(WatchReport<'_>) + 't;

/// What is the same for all users.
#[derive(Clone, Copy)]
pub struct WatchSettings<'d> {
    pub disk: &'d dyn Disk,
    pub clock: &'d dyn Clock,
    pub host: &'d str,
    /// A history that has reached this size is not added to.
    pub most_bytes: Option<u64>,
    /// Whether the system tells which save it speaks of: [`ARE_EXACT`], but in tests.
    pub are_exact: bool,
}

/// After so long without news, what was recorded is put where any git can read it, and histories are
/// closed.
const IDLE: Duration = Duration::from_secs(20);
/// How often files are looked at that cannot be watched, or could not be recorded.
const AGAIN: Duration = Duration::from_secs(10);
/// Where the system says little, files are read when nothing has happened to any of a user's for so
/// long. SillyTavern saves one second after an edit: in the middle of that, nobody is in its way.
const STILL: Duration = Duration::from_millis(500);
/// How often a file is tried to be read that another program keeps for itself.
const TRIES: u32 = 6;
/// Where others keep saving, so long without news of a user: all theirs is in the journal meanwhile.
const QUIET: Duration = Duration::from_secs(10 * 60);
/// Histories that are open at the same time: to open one takes longer than to record a message.
const OPEN: usize = 128;
/// Histories that are closed at a time, so that news need not wait.
const CLOSED: usize = 32;
/// A folder of our own in a repository, in which fences are raised.
const FENCES: &str = "forklore/fences";
/// Users whose folders are watched before the first of them is looked at.
const BATCH: usize = 500;

/// Lets another thread end the watch.
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
    /// The users whose histories are open, those used last at the end.
    open: VecDeque<usize>,
    /// Users whose histories were let go with something in the journal, and when.
    let_go: VecDeque<(Instant, usize)>,
    /// When to look again, and at whom. A user may have been looked at since.
    agains: BTreeSet<(Instant, usize)>,
    /// Users to whose files something happened, and when those will have been still for long enough.
    touched: BTreeSet<(Instant, usize)>,
    /// What is being read: large files take longer to find memory for than to read.
    buffer: Vec<u8>,
    find_users: Option<Box<FindUsers<'d>>>,
}

/// Lists the users there are.
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
            let_go: VecDeque::new(),
            agains: BTreeSet::new(),
            touched: BTreeSet::new(),
            buffer: Vec::new(),
            find_users: None,
        })
    }

    /// Watches users that come later, too: `root` is the folder that their folders are in.
    pub fn follow_users(
        &mut self,
        root: &Path,
        find: impl Fn() -> Vec<WatchedUser> + 'd,
    ) -> notify::Result<()> {
        self.find_users = Some(Box::new(find));
        self.events.add_root(root)
    }

    pub fn stopper(&self) -> Stopper {
        self.stopper.clone()
    }

    /// Records until it is stopped.
    pub fn run(&mut self, tell: &mut Tell<'_>) {
        if !self.begin_all(tell) {
            self.go_on(tell);
        }
        if !self.settings.are_exact {
            // Not all may be told yet, and nothing is still yet.
            let touched = self.touched.iter().map(|(_, at)| *at);
            let last: BTreeSet<usize> = touched.chain(self.open.iter().copied()).collect();
            last.into_iter().for_each(|at| self.look(at, tell));
        }
        for at in 0..self.users.len() {
            self.close(at, tell);
        }
    }

    /// Looks at everybody for the first time. Returns whether it was stopped meanwhile.
    fn begin_all(&mut self, tell: &mut Tell<'_>) -> bool {
        // In batches: what is remembered of a folder that is watched stays, and if it lay between the
        // large things that come and go with each history, their memory could not be used again.
        for first in (0..self.users.len()).step_by(BATCH) {
            let batch = first..self.users.len().min(first + BATCH);
            batch.clone().for_each(|at| self.watch(at, tell));
            batch.for_each(|at| self.look_first(at, tell));
            // With many users this takes long, and those who are done go on writing. Not before
            // everybody who is watched was looked at: what is recorded then counts as a version
            // before which nothing was missed.
            while let Some(event) = self.queue.next() {
                if self.take(event, tell) {
                    return true;
                }
            }
        }
        tell(WatchReport::Watching { users: self.users.len() });
        false
    }

    fn go_on(&mut self, tell: &mut Tell<'_>) {
        loop {
            match self.queue.wait(self.patience()) {
                Some(Event::Stop) => break,
                Some(event) => {
                    if self.take(event, tell) {
                        break;
                    }
                }
                None => self.rest(tell),
            }
            if self.overflow.swap(false, Ordering::Relaxed) {
                self.look_at_all(tell);
            }
            self.look_at_still(tell);
            self.look_again(tell);
            self.tidy(tell);
        }
    }

    /// How long to wait for the next event: for ever where nothing is left to do.
    fn patience(&self) -> Duration {
        let again = self.agains.first().map(|(again, _)| *again);
        let still = self.touched.first().map(|(still, _)| *still);
        let again = again.into_iter().chain(still).min();
        let again = again.map(|again| again.saturating_duration_since(Instant::now()));
        let is_at_rest = self.open.is_empty() && self.let_go.is_empty();
        let idle = (!is_at_rest).then_some(IDLE);
        again.into_iter().chain(idle).min().unwrap_or(Duration::from_secs(24 * 60 * 60))
    }

    fn watch(&mut self, at: usize, tell: &mut Tell<'_>) {
        let watched = &mut self.users[at];
        let home = scan::home(&watched.user.folders);
        if let Err(error) = self.events.add(at, &home) {
            watched.state = WatchState::Polled;
            tell(WatchReport::NotWatched { user: &watched.user, why: error.to_string() });
        }
    }

    fn look_first(&mut self, at: usize, tell: &mut Tell<'_>) {
        self.look(at, tell);
        // Thousands of users need not be open at once.
        if self.users.len() > OPEN {
            self.close(at, tell);
        }
    }

    /// Takes an event and whatever else has come meanwhile. Returns whether this is the end.
    fn take(&mut self, event: Event, tell: &mut Tell<'_>) -> bool {
        let fences = self.users.first().map(|first| first.user.repository.join(FENCES));
        let raise = || self.events.raise_fence(fences.as_deref()?);
        let Batch { events, is_fenced } = self.queue.batch(event, raise);
        // Read after the events: what was not sent came before some of them.
        let mut all = self.overflow.swap(false, Ordering::Relaxed);
        let (mut stop, mut users) = (false, false);
        let mut looks: BTreeSet<usize> = BTreeSet::new();
        let mut of_users: BTreeMap<usize, Vec<Event>> = BTreeMap::new();
        for event in events {
            if let Some((user, _)) = event.file() {
                of_users.entry(user).or_default().push(event);
                continue;
            }
            match event {
                Event::Touched { user, name } => {
                    self.users[user].touched.names.insert(name);
                    self.touch(user);
                }
                Event::Look { user } if !self.settings.are_exact => {
                    self.users[user].touched.are_all = true;
                    self.touch(user);
                }
                Event::Look { user } => drop(looks.insert(user)),
                Event::Missed { user } => {
                    self.users[user].has_missed = true;
                    looks.insert(user);
                }
                Event::LookAtAll => all = true,
                Event::Users => users = true,
                Event::Stop => stop = true,
                Event::Fence(_) => {}
                Event::Saved(_) | Event::Gone { .. } | Event::Writing { .. } => {}
            }
        }
        if all {
            self.users.iter_mut().for_each(|watched| watched.has_missed = true);
        }
        for (at, events) in of_users {
            self.record(at, happenings(events, is_fenced), tell);
        }
        looks.into_iter().for_each(|at| self.look_anew(at, tell));
        if all {
            self.look_at_all(tell);
        }
        if users {
            self.look_for_users(tell);
        }
        stop
    }

    /// Begins to watch users that are new.
    fn look_for_users(&mut self, tell: &mut Tell<'_>) {
        let Some(find) = &self.find_users else { return };
        let known: FxHashSet<&Path> =
            self.users.iter().map(|known| known.user.repository.as_path()).collect();
        let mut new = find();
        new.retain(|user| !known.contains(user.repository.as_path()));
        for user in new {
            self.users.push(Watched::new(user, Instant::now()));
            let at = self.users.len() - 1;
            // Watches first and looks then, so that nothing falls between the two.
            self.watch(at, tell);
            self.look_first(at, tell);
        }
    }

    fn record(&mut self, at: usize, happenings: Vec<FileEvent>, tell: &mut Tell<'_>) {
        if self.users[at].state == WatchState::Full || happenings.is_empty() {
            return;
        }
        let mut buffer = std::mem::take(&mut self.buffer);
        let recorded = self.opened(at).and_then(|watched| watched.record(happenings, &mut buffer));
        self.buffer = buffer;
        let is_recorded = recorded.is_ok();
        self.told(at, recorded, tell);
        let watched = &self.users[at];
        if is_recorded && watched.has_missed {
            self.look(at, tell);
        } else if is_recorded && !watched.missed.is_empty() && watched.again.is_none() {
            // The next save tells what is there. Where none comes, a look does.
            self.again(at);
        }
    }

    fn look(&mut self, at: usize, tell: &mut Tell<'_>) {
        if self.users[at].state == WatchState::Full {
            return;
        }
        let disk = self.settings.disk;
        let scanned = self.opened(at).and_then(|watched| watched.scan(disk, None));
        match scanned {
            Ok(scan) => {
                let watched = &mut self.users[at];
                let is_polled = watched.state == WatchState::Polled;
                watched.again = None;
                let had_missed = std::mem::take(&mut watched.has_missed);
                if !is_polled || had_missed || !scan.recorded.is_empty() || !scan.unread.is_empty()
                {
                    tell(WatchReport::Scanned { user: &watched.user, scan: &scan });
                }
                watched.tell_kept(&scan.recorded, tell);
                if is_polled {
                    self.again(at);
                }
                self.told(at, Ok(Vec::new()), tell);
            }
            Err(error) => self.told(at, Err(error), tell),
        }
    }

    /// Looks where a folder may have come, which is not watched yet.
    fn look_anew(&mut self, at: usize, tell: &mut Tell<'_>) {
        let home = scan::home(&self.users[at].user.folders);
        let _ = self.events.add(at, &home);
        self.look(at, tell);
    }

    /// Has the files of a user looked at that something happened to, as soon as they are still.
    fn touch(&mut self, at: usize) {
        let still = Instant::now() + STILL;
        if let Some(before) = self.users[at].touched.still.replace(still) {
            self.touched.remove(&(before, at));
        }
        self.touched.insert((still, at));
    }

    fn look_at_still(&mut self, tell: &mut Tell<'_>) {
        let now = Instant::now();
        while let Some((_, at)) = self.touched.first().copied().filter(|(when, _)| *when <= now) {
            self.look_at_touched(at, tell);
        }
    }

    fn look_at_touched(&mut self, at: usize, tell: &mut Tell<'_>) {
        let touched = std::mem::take(&mut self.users[at].touched);
        self.touched.retain(|(_, other)| *other != at);
        if touched.are_all {
            return self.look_anew(at, tell);
        }
        if self.users[at].state == WatchState::Full {
            return;
        }
        let disk = self.settings.disk;
        let scanned = self.opened(at).and_then(|watched| watched.scan(disk, Some(&touched.names)));
        let is_unread = scanned.as_ref().is_ok_and(|scan| !scan.unread.is_empty());
        self.told(at, scanned.map(|scan| scan.recorded), tell);
        if is_unread && touched.tries < TRIES {
            // Somebody else has one of them open.
            self.users[at].touched = Touched { tries: touched.tries + 1, still: None, ..touched };
            self.touch(at);
        } else if is_unread {
            self.look(at, tell);
        }
    }

    fn look_at_all(&mut self, tell: &mut Tell<'_>) {
        for at in 0..self.users.len() {
            self.look(at, tell);
        }
    }

    /// Has a user looked at again after a while.
    fn again(&mut self, at: usize) {
        let again = Instant::now() + AGAIN;
        self.users[at].again = Some(again);
        self.agains.insert((again, at));
    }

    fn look_again(&mut self, tell: &mut Tell<'_>) {
        let now = Instant::now();
        while let Some((again, at)) = self.agains.first().copied().filter(|(when, _)| *when <= now)
        {
            self.agains.remove(&(again, at));
            if self.users[at].again == Some(again) {
                self.users[at].again = None;
                self.look(at, tell);
            }
        }
    }

    /// Puts where any git can read it what was recorded for a user of whom nothing was heard for
    /// long. One at a time: others are saving.
    fn tidy(&mut self, tell: &mut Tell<'_>) {
        while let Some((when, at)) = self.let_go.front().copied() {
            let is_quiet = self.users[at].let_go == Some(when);
            if is_quiet && when.elapsed() < QUIET {
                return;
            }
            self.let_go.pop_front();
            if is_quiet {
                return self.close(at, tell);
            }
        }
    }

    fn told(&mut self, at: usize, recorded: Result<Vec<Recorded>>, tell: &mut Tell<'_>) {
        let watched = &mut self.users[at];
        match recorded {
            Ok(recorded) => {
                for recorded in &recorded {
                    tell(WatchReport::Recorded { user: &watched.user, recorded });
                }
                watched.tell_kept(&recorded, tell);
                let bytes = watched.history.as_ref().map_or(0, |history| history.store().bytes());
                if self.settings.most_bytes.is_some_and(|most| bytes >= most) {
                    watched.state = WatchState::Full;
                    tell(WatchReport::Full { user: &watched.user, bytes });
                }
            }
            Err(error) => {
                tell(WatchReport::Failed { user: &watched.user, error: &error });
                watched.history = None;
                watched.has_missed = true;
                self.open.retain(|open| *open != at);
                // Whatever is there then is recorded then.
                self.again(at);
            }
        }
    }

    fn opened(&mut self, at: usize) -> Result<&mut Watched<'d>> {
        self.open.retain(|open| *open != at);
        self.open.push_back(at);
        if self.open.len() > OPEN
            && let Some(oldest) = self.open.pop_front()
        {
            self.let_go(oldest)?;
        }
        let watched = &mut self.users[at];
        if watched.history.is_none() {
            let WatchSettings { disk, clock, host, .. } = self.settings;
            let history = History::open(disk, clock, &watched.user.repository, host)?;
            watched.history = Some(Box::new(history));
        }
        watched.let_go = None;
        Ok(watched)
    }

    /// Makes room for another history. What is in the journal is sure already, and making a pack of
    /// it takes ten times as long as it took to record it; that can wait until it is quiet.
    fn let_go(&mut self, at: usize) -> Result<()> {
        let watched = &mut self.users[at];
        if watched.remembered.is_some() {
            return watched.close();
        }
        let history = watched.history.take();
        if history.is_some_and(|history| history.store().gathered() > 0) {
            let now = Instant::now();
            watched.let_go = Some(now);
            self.let_go.push_back((now, at));
        }
        Ok(())
    }

    /// Nothing happened for a while.
    fn rest(&mut self, tell: &mut Tell<'_>) {
        for at in self.open.drain(..self.open.len().min(CLOSED)).collect::<Vec<_>>() {
            self.close(at, tell);
        }
        // Those that wait longest.
        for (when, at) in self.let_go.drain(..self.let_go.len().min(CLOSED)).collect::<Vec<_>>() {
            if self.users[at].let_go == Some(when) {
                self.close(at, tell);
            }
        }
        self.buffer = Vec::new();
    }

    fn close(&mut self, at: usize, tell: &mut Tell<'_>) {
        if self.users[at].let_go.is_some()
            && let Err(error) = self.opened(at)
        {
            return self.told(at, Err(error), tell);
        }
        self.open.retain(|open| *open != at);
        let closed = self.users[at].close();
        if let Err(error) = closed {
            self.told(at, Err(error), tell);
        }
    }
}
