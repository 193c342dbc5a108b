//! What must hold wherever the power is cut.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;
use std::process::Command;

use forklore_history::HistoryError;
use forklore_history::file::FileName;
use forklore_history::git::object::Id;
use forklore_history::record::recorder::Observed;
use forklore_history::version::commit::StoredVersion;
use forklore_history::version::history::History;
use forklore_tavern::disk::RealDisk;
use forklore_tavern::disk::clock::{Clock as _, SystemClock};
use forklore_tavern::disk::write::is_our_temp;
use forklore_testkit::power::{Materialiser, Policy, State, Trace};

use crate::scene::{Files, STORY, Scene, book, chat, files_in, forklore, live_in, repository};

/// Every version reachable from a ref, with its content. A version is identified by file and
/// number, because a purge may rewrite its commit.
pub(crate) type Versions = BTreeMap<String, Vec<u8>>;

/// A command, with the state before and after it.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) trace: Trace,
    before: Versions,
    after: Versions,
    live_before: Files,
    live_after: Files,
    /// What the command prints once everything is done.
    done: &'static str,
    /// Whether it removes versions.
    removes: bool,
    /// The same command for another folder, if it can be repeated.
    again: Option<Box<Again>>,
    /// Whether it starts with a damaged history that only the command itself can make readable.
    is_repair: bool,
}

type Again = dyn Fn(&Path) -> Command + Send + Sync;

/// How a state is broken.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Something is missing that existed before or was reported as done.
    Lost(String),
    Unreadable(String),
    /// Work can only continue after manual intervention.
    Stuck(String),
}

/// The results for all states of a case.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// The total number of states.
    pub(crate) all: usize,
    pub(crate) judged: usize,
    pub(crate) lost: usize,
    pub(crate) unreadable: usize,
    pub(crate) stuck: usize,
    /// Descriptions of the first failures.
    pub(crate) failures: Vec<String>,
}

impl Tally {
    pub(crate) fn broken(&self) -> usize {
        self.lost + self.unreadable + self.stuck
    }

    pub(crate) fn add_all(&mut self, other: &Self) {
        self.all += other.all;
        self.judged += other.judged;
        self.lost += other.lost;
        self.unreadable += other.unreadable;
        self.stuck += other.stuck;
        self.failures.extend(other.failures.iter().cloned());
    }

    pub(crate) fn add(&mut self, state: &State, failure: &Failure) {
        match failure {
            Failure::Lost(_) => self.lost += 1,
            Failure::Unreadable(_) => self.unreadable += 1,
            Failure::Stuck(_) => self.stuck += 1,
        }
        if self.failures.len() < 5 {
            self.failures.push(format!("{state}: {failure}"));
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lost(what) => write!(f, "lost: {what}"),
            Self::Unreadable(what) => write!(f, "unreadable: {what}"),
            Self::Stuck(what) => write!(f, "stuck: {what}"),
        }
    }
}

/// Whether every state is judged, rather than a sample.
pub(crate) fn judges_all() -> bool {
    std::env::var("FORKLORE_POWER").is_ok_and(|value| value == "all")
}

/// The step between judged states: 1 for all of them, or enough for about `sample` evenly spread
/// states.
pub(crate) fn step(all: usize, sample: usize) -> usize {
    if judges_all() { 1 } else { all.div_ceil(sample).max(1) }
}

impl Case {
    /// Traces a command on a scene. `done` is what it prints at the end.
    pub(crate) fn new(
        name: &'static str,
        scene: &Scene,
        command: &Command,
        done: &'static str,
    ) -> Self {
        let before = versions(scene.folder()).unwrap();
        Self::with_past(name, scene, command, done, before)
    }

    /// The same for a damaged history.
    pub(crate) fn repairing(
        name: &'static str,
        scene: &Scene,
        damage: impl Fn(&Path),
        args: &'static [&'static str],
        done: &'static str,
    ) -> Self {
        let before = versions(scene.folder()).unwrap();
        damage(&repository(scene.folder()));
        let command = forklore(scene.folder(), args);
        let case = Self::with_past(name, scene, &command, done, before);
        Self { is_repair: true, ..case.repeatable(move |folder| forklore(folder, args)) }
    }

    fn with_past(
        name: &'static str,
        scene: &Scene,
        command: &Command,
        done: &'static str,
        before: Versions,
    ) -> Self {
        let trace = Trace::record(scene.folder(), command).unwrap();
        let said = String::from_utf8_lossy(&trace.stdout);
        let errors = String::from_utf8_lossy(&trace.stderr);
        assert!(trace.status.success(), "{name}: {said}{errors}");
        assert!(said.contains(done), "{name}: {said}{errors}");
        let after = versions(scene.folder()).unwrap();
        let removes = before.keys().any(|version| !after.contains_key(version));
        let live_before = live_in(&trace.before());
        let live_after = live_in(&trace.states(&[Policy::Kept]).last().unwrap().tree);
        let (again, is_repair) = (None, false);
        Self {
            name,
            trace,
            before,
            after,
            live_before,
            live_after,
            done,
            removes,
            again,
            is_repair,
        }
    }

    /// Running the command again after the cut completes it.
    pub(crate) fn repeatable(
        self,
        command: impl Fn(&Path) -> Command + Send + Sync + 'static,
    ) -> Self {
        Self { again: Some(Box::new(command)), ..self }
    }

    /// Judges about `sample` states, or all of them.
    pub(crate) fn judge(&self, sample: usize) -> Tally {
        assert_eq!(self.removes, self.name.contains("purge"));
        let all = self.trace.states(&Policy::ALL).count();
        let step = step(all, sample);
        let mut tally = Tally { all, ..Tally::default() };
        let mut materialiser = Materialiser::new();
        for state in self.trace.states(&Policy::ALL).step_by(step) {
            let folder = materialiser.show(&state).unwrap();
            if let Err(failure) = self.check(folder, &state, tally.judged) {
                tally.add(&state, &failure);
            }
            tally.judged += 1;
        }
        tally
    }

    fn check(&self, folder: &Path, state: &State, number: usize) -> Result<(), Failure> {
        let is_done = state.stdout.contains(self.done);
        self.check_live(state, is_done)?;
        // Git's lock files. The system releases Forklore's own locks when a process dies.
        let is_lock = |path: &Path| {
            path.extension().is_some_and(|end| end == "lock")
                && path.parent().is_some_and(|folder| !folder.ends_with("forklore"))
        };
        if let Some(lock) = state.tree.keys().find(|path| is_lock(path)) {
            return Err(Failure::Stuck(format!("{} is there", lock.display())));
        }
        if let Some(again) = self.again.as_ref().filter(|_| self.is_repair) {
            return self.check_again(folder, &mut again(folder));
        }
        let found = versions(folder)?;
        for (version, content) in &found {
            let known = self.after.get(version).or_else(|| self.before.get(version));
            if known != Some(content) {
                return Err(Failure::Unreadable(format!("{version} is not what it was")));
            }
            if is_done && !self.after.contains_key(version) {
                return Err(Failure::Stuck(format!("{version} is there again")));
            }
        }
        self.check_promised(&found, state, is_done)?;
        match &self.again {
            Some(again) if number % 8 == 3 => self.check_again(folder, &mut again(folder)),
            _ => check_can_continue(folder, &found, number),
        }
    }

    fn check_again(&self, folder: &Path, command: &mut Command) -> Result<(), Failure> {
        let output = command.output().unwrap();
        if !output.status.success() {
            let why = String::from_utf8_lossy(&output.stderr);
            return Err(Failure::Stuck(format!("once more: {why}")));
        }
        let then = versions(folder)?;
        let contents: BTreeSet<&Vec<u8>> = then.values().collect();
        match self.after.iter().find(|(_, content)| !contents.contains(content)) {
            Some((version, _)) => Err(Failure::Lost(format!("{version}, once more"))),
            None => Ok(()),
        }
    }

    fn check_promised(&self, found: &Versions, state: &State, done: bool) -> Result<(), Failure> {
        let said = state.stdout.lines().filter_map(|line| line.strip_prefix("kept "));
        let done = self.after.keys().filter(|_| done).map(String::as_str);
        let before = self.before.keys().filter(|version| self.after.contains_key(*version));
        let mut promised = before.map(String::as_str).chain(done).chain(said);
        match promised.find(|version| !found.contains_key(*version)) {
            Some(version) => Err(Failure::Lost(version.to_owned())),
            None => Ok(()),
        }
    }

    /// Every file SillyTavern reads is either old or new, and every removed file is in the trash.
    fn check_live(&self, state: &State, is_done: bool) -> Result<(), Failure> {
        let live = live_in(&state.tree);
        for (path, bytes) in &live {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let is_known = [&self.live_before, &self.live_after]
                .iter()
                .any(|files| files.get(path) == Some(bytes));
            if !is_known && !is_our_temp(&name) {
                return Err(Failure::Unreadable(format!("`{}` is torn", path.display())));
            }
        }
        let trash = files_in(&state.tree, "data/_forklore");
        for (path, bytes) in &self.live_before {
            if !live.contains_key(path) && !trash.values().any(|kept| kept == bytes) {
                return Err(Failure::Lost(format!("`{}`", path.display())));
            }
        }
        let missing = self.live_after.iter().find(|(path, bytes)| live.get(*path) != Some(bytes));
        match missing {
            Some((path, _)) if is_done => Err(Failure::Lost(format!("new `{}`", path.display()))),
            _ => Ok(()),
        }
    }
}

/// Reads every version.
pub(crate) fn versions(folder: &Path) -> Result<Versions, Failure> {
    let unreadable = |error: &dyn fmt::Display| Failure::Unreadable(error.to_string());
    let opened = History::open_existing(&RealDisk, &SystemClock, repository(folder));
    let history = match opened {
        Err(HistoryError::NoHistory(_)) => return Ok(Versions::new()),
        Err(error) => return Err(Failure::Stuck(error.to_string())),
        Ok(history) => history,
    };
    let store = history.store();
    if let Some(error) = store.unreadable().first() {
        return Err(unreadable(error));
    }
    if store.has_damaged_journal() {
        return Err(unreadable(&"the journal is damaged"));
    }
    let (mut found, mut seen) = (Versions::new(), BTreeSet::<Id>::new());
    for tip in store.refs().values() {
        let tip = StoredVersion::read(store, *tip).map_err(|error| unreadable(&error))?;
        for kept in history.versions(&tip) {
            if !seen.insert(kept.id) {
                break;
            }
            let content = history.content(&kept).map_err(|error| unreadable(&error))?;
            found.insert(version_of(&kept), content);
        }
    }
    // What cannot be read is left out above.
    if history.store().met_damage() {
        return Err(unreadable(&"a version is missing"));
    }
    Ok(found)
}

/// A version's name in these tests.
pub(crate) fn version_of(kept: &StoredVersion) -> String {
    format!("version {} of {}", kept.version.number, kept.version.lineage)
}

/// The next process can record, nothing is lost by it, and plain git accepts the result.
fn check_can_continue(folder: &Path, found: &Versions, number: usize) -> Result<(), Failure> {
    let (kept, flushes) = record_once_more(folder, number)
        .map_err(|error| Failure::Stuck(format!("recording: {error}")))?;
    let then = versions(folder)?;
    let lost = found.keys().chain([&kept]).find(|version| !then.contains_key(*version));
    if let Some(version) = lost {
        return Err(Failure::Lost(format!("{version}, by recording another")));
    }
    // git takes longer than everything else here.
    if flushes && number.is_multiple_of(20) {
        let mut git = Command::new("git");
        git.envs(["GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"].map(|name| (name, "/dev/null")));
        git.args(["fsck", "--strict", "--full"]).current_dir(repository(folder));
        let output = git.output().unwrap();
        if !output.status.success() {
            let why = String::from_utf8_lossy(&output.stderr);
            return Err(Failure::Unreadable(format!("by git: {why}")));
        }
    }
    Ok(())
}

fn record_once_more(folder: &Path, number: usize) -> Result<(String, bool), HistoryError> {
    let repository = repository(folder);
    let mut history = History::open(&RealDisk, &SystemClock, repository, "Test PC")?;
    let mut recorder = history.record()?;
    let (name, now) = (FileName::of_text(STORY), SystemClock.now());
    let chat = chat(50, number);
    let recorded = recorder.file(&name, &chat, now, Observed::AsItHappened, &|_| true)?;
    let name = FileName::of_text("worlds/New.json");
    recorder.file(&name, &book(1, number), now, Observed::AsItHappened, &|_| true)?;
    recorder.persist()?;
    let flushes = number.is_multiple_of(2);
    if flushes {
        recorder.flush()?;
    }
    Ok((version_of(&recorded.expect("it is new").stored), flushes))
}

impl From<HistoryError> for Failure {
    fn from(error: HistoryError) -> Self {
        Self::Unreadable(error.to_string())
    }
}
