//! Files that are purged: what stays is intact, what goes is gone.
//!
//! `FORKLORE_KILLS=1` interrupts a purge at every call instead of every fifth.

#![expect(clippy::unwrap_used, reason = "what helps the tests is a test too")]

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use forklore_history::file::FileName;
use forklore_history::record::recorder::Observed;
use forklore_history::upkeep::fsck::verify;
use forklore_history::upkeep::purge::{self, OtherCopy};
use forklore_history::version::history::History;
use forklore_tavern::disk::RealDisk;
use forklore_tavern::disk::clock::Clock;
use forklore_testkit::faulty::{Fault, FaultyDisk, Written};

/// A clock that stands still.
#[derive(Default)]
struct StoppedClock {
    slugs: AtomicU64,
}

impl Clock for StoppedClock {
    fn now(&self) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(1_700_000_000)
    }

    fn slug(&self) -> String {
        format!("00000000-0000-4000-8000-{:012x}", self.slugs.fetch_add(1, Ordering::Relaxed))
    }

    /// A git process that is just starting holds our lock for a moment, because it inherits
    /// everything we have open.
    fn sleep(&self, time: Duration) {
        std::thread::sleep(time);
    }
}

type Files = BTreeMap<String, Vec<u8>>;

fn record(history: &mut History<'_>, clock: &StoppedClock, files: &Files) {
    let mut recorder = history.record().unwrap();
    let exists = |name: &FileName| files.contains_key(name.as_str());
    let gone: Vec<FileName> =
        recorder.lineages().live_names().filter(|name| !exists(name)).cloned().collect();
    for (name, bytes) in files {
        recorder
            .file(&FileName::of_text(name), bytes, clock.now(), Observed::AsItHappened, &exists)
            .unwrap();
    }
    for name in gone {
        recorder.deleted(&name).unwrap();
    }
    recorder.persist().unwrap();
}

fn chat(marker: &str, messages: usize) -> Vec<u8> {
    let mut lines = vec![format!("{{\"user_name\":\"{marker}\"}}")];
    lines.extend(
        (0..messages).map(|n| format!("{{\"name\":\"A\",\"mes\":\"{marker} number {n}\"}}")),
    );
    lines.join("\n").into_bytes()
}

/// Every version by file and number.
fn versions(history: &History<'_>) -> BTreeMap<(String, u64), Vec<u8>> {
    let mut versions = BTreeMap::new();
    for lineage in history.lineages().iter() {
        let own: Vec<_> = history.own_versions(lineage).collect();
        assert_eq!(lineage.versions(), own.len() as u64, "{lineage:?}");
        for stored in own {
            let content = history.content(&stored).unwrap();
            assert_eq!(content.len() as u64, stored.version.bytes);
            versions.insert((stored.version.lineage, stored.version.number), content);
        }
    }
    versions
}

fn git(repository: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git").arg("-C").arg(repository).args(arguments).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    let said: Vec<&str> = said.lines().filter(|line| !line.starts_with("notice: ")).collect();
    assert!(output.status.success() && said.is_empty(), "{said:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn fsck(repository: &Path) {
    git(repository, &["fsck", "--strict", "--full", "--no-dangling"]);
}

/// The contents of all objects, concatenated.
fn everything(repository: &Path) -> String {
    git(repository, &["cat-file", "--batch", "--batch-all-objects", "--unordered"])
}

#[test]
fn what_is_purged_is_nowhere_any_more() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("home");
    let repository = folder.path().join("user.git");
    let clock = StoppedClock::default();
    let mut history = History::open(&RealDisk, &clock, &repository, "Test PC").unwrap();
    let mut files = Files::new();
    let secret = "the lighthouse keeper confessed";
    files.insert("chats/Ben/Other.jsonl".into(), chat("harmless", 4));
    for messages in 1..10 {
        files.insert("chats/Anna/Secret.jsonl".into(), chat(secret, messages));
        record(&mut history, &clock, &files);
        if messages == 5 {
            // Its own versions do not mention it.
            let name = "chats/Anna/Copy.jsonl";
            files.insert(name.into(), files["chats/Anna/Secret.jsonl"].clone());
            record(&mut history, &clock, &files);
            history.record().unwrap().flush().unwrap();
        }
        if messages >= 5 {
            files.insert("chats/Anna/Copy.jsonl".into(), chat("mild", messages));
        }
    }
    // One message is in both.
    let mut shared = chat("harmless", 4);
    shared.extend_from_slice(b"\n{\"name\":\"A\",\"mes\":\"in both\"}");
    files.insert("chats/Ben/Other.jsonl".into(), shared);
    let mut last = files["chats/Anna/Secret.jsonl"].clone();
    last.extend_from_slice(b"\n{\"name\":\"A\",\"mes\":\"in both\"}");
    files.insert("chats/Anna/Secret.jsonl".into(), last);
    record(&mut history, &clock, &files);
    let pin = |history: &History<'_>| {
        let mut refs = history.store().refs().iter();
        refs.find(|(name, _)| name.starts_with("refs/pins/")).map(|(name, id)| (name.clone(), *id))
    };
    let (pinned, id_before) = pin(&history).unwrap();
    let aside = repository.join("forklore/damaged");
    std::fs::create_dir_all(&aside).unwrap();
    std::fs::write(aside.join("1-pack-x.pack"), secret).unwrap();
    std::fs::create_dir_all(home.join("chats/Anna")).unwrap();
    std::fs::create_dir_all(home.join("backups")).unwrap();
    std::fs::write(home.join("chats/Anna/Secret.jsonl"), "x").unwrap();
    std::fs::write(home.join("backups/chat_anna_20260101-000000.jsonl"), "x").unwrap();

    let before = versions(&history);
    let find = |history: &History<'_>, name: &str| {
        let mut all = history.lineages().iter();
        all.find(|lineage| lineage.file().as_str() == name).cloned()
    };
    let lineage = find(&history, "chats/Anna/Secret.jsonl").unwrap();
    let plan = purge::plan(&history, &lineage).unwrap();
    assert_eq!(plan.versions, 10);
    assert_eq!(plan.cut, [FileName::of_text("chats/Anna/Copy.jsonl")]);
    let copies = purge::copies(&history, &RealDisk, &home, &plan).unwrap();
    assert!(matches!(&copies[..], [OtherCopy::Live(_), OtherCopy::Backup(_)]), "{copies:?}");
    let purged = purge::purge(&mut history, &plan).unwrap();
    assert_eq!((purged.left, purged.packs, purged.set_aside.len()), (0, 1, 1), "{purged:?}");
    assert!(purged.removed > 10 && purged.shared > 0, "{purged:?}");

    drop(history);
    let mut history = History::open(&RealDisk, &clock, &repository, "Test PC").unwrap();
    assert!(find(&history, "chats/Anna/Secret.jsonl").is_none());
    let after = versions(&history);
    let expected: BTreeMap<_, _> =
        before.into_iter().filter(|((lineage, _), _)| !lineage.contains("secret")).collect();
    assert_eq!(after, expected);
    assert!(verify(&mut history, &|_| None, &|_, _| {}).unwrap().is_sound());
    fsck(&repository);
    // The copy's first version has the content that the secret had then; it belongs to the copy.
    let copy = find(&history, "chats/Anna/Copy.jsonl").unwrap();
    let first = history.version(&copy, 1).unwrap();
    assert!(pinned.contains("copy") && pinned.ends_with("/1"), "{pinned}");
    assert_eq!(pin(&history).unwrap(), (pinned, first.id));
    assert!(first.parent.is_none() && !history.store().has(&id_before));
    let copy = purge::plan(&history, &copy).unwrap();
    assert!(everything(&repository).contains("mild"));
    purge::purge(&mut history, &copy).unwrap();
    let left = everything(&repository);
    assert!(!left.contains(secret), "still there");
    assert!(left.contains("harmless") && left.contains("in both"));
    fsck(&repository);
}

#[test]
fn a_purge_that_is_broken_off_anywhere_harms_nothing_else_and_is_ended_later() {
    let secret = "the lighthouse keeper confessed";
    let place = tempfile::tempdir().unwrap();
    let clock = StoppedClock::default();
    let original = place.path().join("user.git");
    let mut history = History::open(&RealDisk, &clock, &original, "Test PC").unwrap();
    for messages in 1..4 {
        let files = Files::from([
            ("chats/Anna/Secret.jsonl".to_owned(), chat(secret, messages)),
            ("chats/Ben/Other.jsonl".to_owned(), chat("harmless", messages)),
        ]);
        record(&mut history, &clock, &files);
        if messages == 2 {
            history.record().unwrap().flush().unwrap();
        }
    }
    let others = |history: &History<'_>| -> BTreeMap<(String, u64), Vec<u8>> {
        let all = versions(history).into_iter();
        all.filter(|((lineage, _), _)| lineage.contains("other")).collect()
    };
    let expected = others(&history);
    assert_eq!(expected.len(), 3);
    drop(history);
    let mut kills = 0;
    let step = std::env::var("FORKLORE_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(5);
    for at in (0..).step_by(step) {
        let folder = tempfile::tempdir().unwrap();
        let repository = folder.path().join("user.git");
        copy(&original, &repository);
        let disk = FaultyDisk::new(Fault::Kill { at, written: Written::Half });
        let done = {
            let Ok(mut history) = History::open_existing(&disk, &clock, &repository) else {
                continue;
            };
            let secret = history.lineages().iter().find(|l| l.file().as_str().contains("Secret"));
            let plan = purge::plan(&history, &secret.unwrap().clone()).unwrap();
            purge::purge(&mut history, &plan).is_ok()
        };
        let mut history = History::open(&RealDisk, &clock, &repository, "Test PC").unwrap();
        assert_eq!(others(&history), expected, "killed at {at}");
        let began = repository.join("forklore/purging").exists();
        assert_eq!(purge::finish(&mut history).unwrap().is_some(), began);
        assert_eq!(others(&history), expected, "killed at {at}");
        let verified = verify(&mut history, &|_| None, &|_, _| {}).unwrap();
        assert!(verified.is_sound(), "killed at {at}: {verified:?}");
        let gone = history.lineages().iter().count() == 1;
        assert!(gone || !began, "killed at {at}");
        if gone {
            history.record().unwrap().flush().unwrap();
            assert!(!everything(&repository).contains(secret), "killed at {at}");
        }
        kills += 1;
        if done {
            break;
        }
    }
    assert!(kills * step > 40, "{kills}");
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}
