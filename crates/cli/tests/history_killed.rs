//! Two recorders and a packer share one history, and each is killed again and again.
//!
//! `FORKLORE_KILLS=20000` sets the number of kills; `--nocapture` shows the statistics.
//! `history_power` does the same at every single operation and also drops unsynced data; this test
//! is about the locks.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "the helpers are tests too")]

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use forklore_history::HistoryError;
use forklore_history::file::FileName;
use forklore_history::git::object::Id;
use forklore_history::record::recorder::Observed;
use forklore_history::upkeep::pack::pack;
use forklore_history::version::commit::StoredVersion;
use forklore_history::version::history::History;
use forklore_tavern::disk::RealDisk;
use forklore_tavern::disk::clock::{Clock, SystemClock};
use forklore_testkit::tree::temporary_folder;

const ROLE: &str = "FORKLORE_KILLED_ROLE";
const FOLDER: &str = "FORKLORE_KILLED_FOLDER";

const ROLES: [&str; 3] = ["one", "other", "packer"];

/// Kills before starting over with a new history, because its creation is the most fragile moment.
const KILLS_PER_HISTORY: usize = 200;
/// Kills between full checks.
const KILLS_PER_CHECK: usize = 100;

fn kills() -> usize {
    std::env::var("FORKLORE_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(300)
}

#[test]
#[expect(clippy::print_stdout, reason = "the numbers are a result")]
fn whoever_is_killed_takes_nothing_along_that_was_kept() {
    let (wanted, began) = (kills(), Instant::now());
    let (mut killed, mut kept, mut most_files) = (0, 0, 0);
    let mut random = Random(17);
    while killed < wanted {
        let folder = temporary_folder();
        let mut workers = ROLES.map(|role| Worker::start(folder.path(), role));
        let end = wanted.min(killed + KILLS_PER_HISTORY);
        while killed < end {
            let worker = &mut workers[random.below(ROLES.len())];
            worker.kill(&mut random);
            killed += 1;
            *worker = Worker::start(folder.path(), worker.role);
            if killed.is_multiple_of(KILLS_PER_CHECK) || killed == end {
                workers.iter_mut().for_each(Worker::stop);
                most_files = most_files.max(check(folder.path()));
                workers = ROLES.map(|role| Worker::start(folder.path(), role));
            }
        }
        workers.iter_mut().for_each(Worker::stop);
        kept += promised(folder.path()).len();
        check(folder.path());
        fsck(&repository(folder.path()));
    }
    println!(
        "{killed} kills in {:.0?}, {kept} versions kept, none lost; at most {most_files} files \
         beside the packs",
        began.elapsed()
    );
    assert!(kept > killed / 10, "only {kept} versions in {killed} lives");
    assert!(most_files < 20, "what the killed leave behind is cleared away");
}

struct Worker {
    role: &'static str,
    child: Child,
}

impl Worker {
    fn start(folder: &Path, role: &'static str) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "it_works_until_it_is_killed", "--ignored", "--nocapture"]);
        command.args(["--test-threads", "1"]).env(ROLE, role).env(FOLDER, folder);
        let child = command.stdout(Stdio::piped()).spawn().unwrap();
        Self { role, child }
    }

    /// Kills the worker within 20 ms, usually counted from when it is at work, sometimes from its
    /// start.
    fn kill(&mut self, random: &mut Random) {
        if random.below(4) > 0 {
            let stdout = self.child.stdout.as_mut().unwrap();
            let mut lines = BufReader::new(stdout).lines();
            let is_up = lines.any(|line| line.unwrap().contains("at work"));
            assert!(is_up, "{} did not begin", self.role);
        }
        std::thread::sleep(Duration::from_micros(random.below(20_000) as u64));
        self.stop();
    }

    fn stop(&mut self) {
        let ended = self.child.try_wait().unwrap();
        assert!(ended.is_none(), "{} ended by itself: {ended:?}", self.role);
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

/// Do not leave workers running when the test fails.
impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
#[ignore = "the other one runs it, in processes of their own"]
#[expect(clippy::print_stdout, reason = "the other one waits for it")]
fn it_works_until_it_is_killed() {
    let (Ok(role), Some(folder)) = (std::env::var(ROLE), std::env::var_os(FOLDER)) else {
        return;
    };
    let folder = PathBuf::from(folder);
    println!("at work");
    loop {
        match work(&folder, &role) {
            // The lock holder may have been paused for long; that is not what this test is about.
            Err(HistoryError::Lock(_)) => {}
            other => other.unwrap(),
        }
    }
}

fn work(folder: &Path, role: &str) -> Result<(), HistoryError> {
    let mut history = History::open(&RealDisk, &QuickRetryClock, repository(folder), "Test PC")?;
    if role == "packer" {
        loop {
            pack(&mut history)?;
            std::thread::sleep(Duration::from_millis(5));
        }
    }
    let promises = folder.join(format!("promises of {role}"));
    let mut promises = fs::File::options().append(true).create(true).open(promises).unwrap();
    for turn in 0_usize.. {
        let mut recorder = history.record()?;
        let file = if turn.is_multiple_of(3) { "common" } else { role };
        let name = FileName::of_text(&format!("worlds/{file}.json"));
        let slug = SystemClock.slug();
        let now = SystemClock.now();
        let recorded =
            recorder.file(&name, &book(&slug), now, Observed::AsItHappened, &|_| true)?;
        recorder.persist()?;
        let id = recorded.expect("no two slugs are the same").stored.id;
        promises.write_all(format!("{id} {slug}\n").as_bytes()).unwrap();
        drop(recorder);
        std::thread::sleep(Duration::from_micros(300));
    }
    Ok(())
}

/// A clock that retries a busy lock almost at once.
struct QuickRetryClock;

impl Clock for QuickRetryClock {
    fn now(&self) -> SystemTime {
        SystemClock.now()
    }

    fn slug(&self) -> String {
        SystemClock.slug()
    }

    fn sleep(&self, _: Duration) {
        SystemClock.sleep(Duration::from_millis(1));
    }
}

fn repository(folder: &Path) -> PathBuf {
    folder.join("user.git")
}

fn book(slug: &str) -> Vec<u8> {
    let entry = |uid: usize, text: &str| {
        format!(r#""{uid}":{{"uid":{uid},"key":["{uid}"],"content":"{text}"}}"#)
    };
    let entries = [entry(0, "always the same"), entry(1, slug), entry(2, &slug[..8])];
    format!(r#"{{"entries":{{{}}}}}"#, entries.join(",")).into_bytes()
}

/// The versions that a worker confirmed as recorded before it was killed.
fn promised(folder: &Path) -> BTreeMap<Id, String> {
    let mut promised = BTreeMap::new();
    for role in ROLES {
        let text = fs::read_to_string(folder.join(format!("promises of {role}")));
        for line in text.unwrap_or_default().split_inclusive('\n') {
            let Some(line) = line.strip_suffix('\n') else { continue };
            let (id, slug) = line.split_once(' ').unwrap();
            promised.insert(Id::from_hex(id.as_bytes()).unwrap(), slug.to_owned());
        }
    }
    promised
}

/// Checks that every promised version is there and that every version is readable. Returns the
/// number of stray files among the packs.
fn check(folder: &Path) -> usize {
    let mut promised = promised(folder);
    let opened = History::open_existing(&RealDisk, &SystemClock, repository(folder));
    let history = match opened {
        Err(HistoryError::NoHistory(_)) if promised.is_empty() => return 0,
        opened => opened.unwrap(),
    };
    let store = history.store();
    assert!(store.unreadable().is_empty(), "{:?}", store.unreadable());
    assert!(!store.has_damaged_journal());
    for tip in store.refs().values() {
        for stored in history.versions(&StoredVersion::read(store, *tip).unwrap()) {
            let content = history.content(&stored).unwrap();
            if let Some(slug) = promised.remove(&stored.id) {
                assert_eq!(content, book(&slug), "version {}", stored.id);
            }
        }
    }
    assert!(!store.met_damage(), "a version cannot be read");
    assert!(promised.is_empty(), "{} versions are lost: {promised:?}", promised.len());
    let files = fs::read_dir(store.layout().packs()).unwrap().count();
    files - 2 * store.packs().bundles().len()
}

fn fsck(repository: &Path) {
    let mut git = Command::new("git");
    git.envs(["GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"].map(|name| (name, "/dev/null")));
    let output = git.args(["fsck", "--strict", "--full"]).current_dir(repository).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// A deterministic random number generator.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }
}
