//! Bit rot: every file of a history is damaged in many places, one at a time. Damage is detected,
//! everything it does not touch stays readable, and a repair deletes nothing.
//!
//! `FORKLORE_DAMAGE=500` damages each file in about that many places.

#![expect(clippy::unwrap_used, reason = "the life and death of files is a test too")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use forklore_history::file::FileName;
use forklore_history::git::object::Id;
use forklore_history::git::raw::RawIndex;
use forklore_history::record::recorder::Observed;
use forklore_history::upkeep::fsck::{Verified, verify};
use forklore_history::upkeep::repair::repair;
use forklore_history::version::history::History;
use forklore_history::version::tracked::Tracked;
use forklore_tavern::disk::RealDisk;
use forklore_testkit::fixed_clock::FixedClock;

/// Every version, by its commit.
type Versions = BTreeMap<Id, Vec<u8>>;

struct Story {
    repository: PathBuf,
    live: BTreeMap<String, Vec<u8>>,
    versions: Versions,
}

fn open<'d>(clock: &'d FixedClock, repository: &Path) -> History<'d> {
    History::open(&RealDisk, clock, repository, "Test PC").unwrap()
}

/// Three files, about sixty versions, several packs and a journal.
fn story(folder: &Path) -> Story {
    let repository = folder.join("user.git");
    let clock = FixedClock::default();
    let mut history = open(&clock, &repository);
    let mut random = fastrand::Rng::with_seed(7);
    let mut word = || -> String { (0..40).map(|_| random.alphanumeric()).collect() };
    let mut live: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    let mut lines = vec![format!("{{\"user_name\":\"{}\"}}", word())];
    let mut entries: Vec<String> = Vec::new();
    for save in 0..30 {
        lines.push(format!("{{\"name\":\"Anna\",\"mes\":\"{save} {}\"}}", word()));
        if save == 20 {
            lines.truncate(4);
        }
        if save == 21 {
            lines.extend(
                (0..16).map(|n| format!("{{\"name\":\"Ben\",\"mes\":\"{n} {}\"}}", word())),
            );
        }
        live.insert("chats/Anna/Story.jsonl".into(), lines.join("\n").into_bytes());
        if save % 3 == 0 {
            entries.push(format!("\n        \"{}\": {{\"content\":\"{}\"}}", save * 2, word()));
            let book = format!("{{\n    \"entries\": {{{}\n    }}\n}}", entries.join(","));
            live.insert("worlds/Lore.json".into(), book.into_bytes());
        }
        if save % 2 == 0 {
            let settings = format!("{{\n    \"a\": 1,\n    \"b\": \"{}\"\n}}", word());
            live.insert("settings.json".into(), settings.into_bytes());
        }
        let mut recorder = history.record().unwrap();
        let exists = |name: &FileName| live.contains_key(name.as_str());
        for (name, bytes) in &live {
            let when = UNIX_EPOCH + Duration::from_secs(1_700_000_000 + save);
            recorder
                .file(&FileName::of_text(name), bytes, when, Observed::AsItHappened, &exists)
                .unwrap();
        }
        recorder.persist().unwrap();
        if [9, 16, 24].contains(&save) {
            recorder.flush().unwrap();
        }
    }
    let versions = versions(&history);
    Story { repository, live, versions }
}

/// Every version that can be read by following the refs back to the beginning.
fn versions(history: &History<'_>) -> Versions {
    let mut versions = Versions::new();
    for lineage in history.lineages().iter() {
        for stored in history.versions(&lineage.tip) {
            if let Ok(content) = history.content(&stored)
                && content.len() as u64 == stored.version.bytes
            {
                versions.insert(stored.id, content);
            }
        }
    }
    versions
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    files.sort();
    files
}

fn copy(from: &Path, to: &Path) {
    for file in files(from) {
        let target = to.join(file.strip_prefix(from).unwrap());
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        fs::copy(&file, target).unwrap();
    }
    fs::create_dir_all(to.join("refs")).unwrap();
}

#[derive(Clone, Copy, Debug)]
enum Harm {
    Flip(usize, u8),
    Zeros(usize),
    Cut(usize),
    Gone,
}

fn harm(bytes: &[u8], harm: Harm) -> Option<Vec<u8>> {
    let mut bytes = bytes.to_vec();
    match harm {
        Harm::Flip(at, bit) => bytes[at] ^= 1 << bit,
        Harm::Zeros(at) => bytes[at..].iter_mut().take(64).for_each(|byte| *byte = 0),
        Harm::Cut(at) => bytes.truncate(at),
        Harm::Gone => return None,
    }
    Some(bytes)
}

#[derive(Debug, Default)]
struct Tally {
    tried: usize,
    detected: usize,
    harmless: usize,
    versions: usize,
    readable: usize,
    after: usize,
}

fn inspect(story: &Story, repository: &Path) -> (Verified, Versions) {
    let clock = FixedClock::default();
    let mut history = open(&clock, repository);
    let live = |name: &FileName| story.live.get(name.as_str()).cloned();
    let verified = verify(&mut history, &live, &|_, _| {}).unwrap();
    (verified, versions(&history))
}

/// Nothing depends on these: they only save time, serve as locks, or are created again.
fn is_harmless(path: &Path, harm: Harm) -> bool {
    let name = path.file_name().unwrap();
    let made_anew = ["HEAD", "config"];
    let is_made_anew = matches!(harm, Harm::Gone) && made_anew.iter().any(|it| name == *it);
    // The machine's name is in two files, each of which is written again from the other; the hash
    // says only when to look for refs.
    let always = ["lock", "machine", "machine-copy", "refs-hash"];
    always.iter().any(|it| name == *it) || is_made_anew
}

fn check(story: &Story, path: &Path, kind: Harm, tally: &mut Tally) {
    let folder = tempfile::tempdir().unwrap();
    let repository = folder.path().join("user.git");
    copy(&story.repository, &repository);
    let damaged = repository.join(path);
    let before = fs::read(&damaged).unwrap();
    match harm(&before, kind) {
        Some(after) if after == before => return,
        Some(after) => fs::write(&damaged, after).unwrap(),
        None => fs::remove_file(&damaged).unwrap(),
    }
    let wrong = fs::read(&damaged).ok();
    let harmed: BTreeSet<Vec<u8>> =
        files(&repository).iter().map(|path| fs::read(path).unwrap()).collect();
    tally.tried += 1;
    let (verified, readable) = inspect(story, &repository);
    let what = || format!("{} {kind:?}", path.display());
    // If a journal is truncated between two recordings, it is in an older but valid state; the live
    // files show the difference.
    let is_older = path.ends_with("journal") && !verified.unrecorded.is_empty();
    if verified.is_sound() && is_older {
        tally.detected += 1;
        return;
    }
    if verified.is_sound() {
        assert!(is_harmless(path, kind), "{} is not noticed", what());
        assert_eq!(readable, story.versions, "{}", what());
        tally.harmless += 1;
        return;
    }
    tally.detected += 1;
    for (id, content) in &readable {
        assert!(story.versions.get(id) == Some(content), "{}: a version is wrong", what());
    }
    tally.versions += story.versions.len();
    tally.readable += readable.len();

    // After the repair, everything that was readable still is, and what is lost is reported.
    let clock = FixedClock::default();
    let mut history = open(&clock, &repository);
    let live = |name: &FileName| story.live.get(name.as_str()).cloned();
    let repaired = repair(&mut history, &live, &|_, _| {}).unwrap();
    drop(history);
    let (verified, after) = inspect(story, &repository);
    for (id, content) in &after {
        assert!(story.versions.get(id) == Some(content), "{}: a version is wrong", what());
    }
    assert!(readable.keys().all(|id| after.contains_key(id)), "{}: {repaired:?}", what());
    if after.len() == story.versions.len() {
        assert!(verified.is_sound(), "{}: {verified:?}", what());
    }
    assert!(verified.faults.is_empty(), "{}: {verified:?}", what());
    assert!(verified.lost_refs.is_empty(), "{}: {verified:?}", what());
    tally.after += after.len();
    // Losses are reported: exactly those versions that are reported as intact can be read.
    assert_eq!(verified.sound_versions, after.len(), "{}: {verified:?}", what());
    let is_named = !verified.damage.is_empty() || path.ends_with("journal");
    assert!(after.len() == story.versions.len() || is_named, "{}: {verified:?}", what());
    let there: BTreeSet<Vec<u8>> =
        files(&repository).iter().map(|path| fs::read(path).unwrap()).collect();
    for bytes in &harmed {
        let is_harmed = wrong.as_ref() == Some(bytes);
        // The hash says only whether another file is whole.
        let is_kept = there.contains(bytes)
            || is_rewritten(bytes) && !is_harmed
            || is_harmed && path.ends_with("refs-hash");
        assert!(is_kept, "{}: a file of {} bytes is gone", what(), bytes.len());
    }
}

/// Intact files that a repair continues to use: an empty journal, and refs that it adds to, with
/// their hash.
fn is_rewritten(bytes: &[u8]) -> bool {
    let is_hash = bytes.len() == 17 && bytes[..16].iter().all(u8::is_ascii_hexdigit);
    is_hash || bytes.starts_with(b"forklore journal 1\n") || bytes.starts_with(b"# pack-refs")
}

#[test]
fn damage_is_noticed_and_repaired_and_nothing_is_deleted() {
    let folder = tempfile::tempdir().unwrap();
    let story = story(folder.path());
    assert!(story.versions.len() > 50, "{}", story.versions.len());
    let (verified, _) = inspect(&story, &story.repository);
    assert!(verified.is_sound(), "{verified:?}");
    assert!(verified.packs >= 3);

    let places = std::env::var("FORKLORE_DAMAGE").ok().and_then(|n| n.parse().ok()).unwrap_or(14);
    let mut random = fastrand::Rng::with_seed(places as u64);
    let mut all = BTreeMap::new();
    for path in files(&story.repository) {
        let path = path.strip_prefix(&story.repository).unwrap().to_owned();
        let length = fs::read(story.repository.join(&path)).unwrap().len();
        let mut tally = Tally::default();
        let step = (length / places).max(1);
        let mut at = 0;
        while at < length {
            let kind = match random.u8(..4) {
                0 => Harm::Zeros(at),
                1 => Harm::Cut(at),
                _ => Harm::Flip(at, random.u8(..8)),
            };
            check(&story, &path, kind, &mut tally);
            at += random.usize(1..=step * 2);
        }
        check(&story, &path, Harm::Gone, &mut tally);
        let kind = path.extension().unwrap_or(path.file_name().unwrap()).to_owned();
        let sum: &mut Tally = all.entry(kind).or_default();
        sum.tried += tally.tried;
        sum.detected += tally.detected;
        sum.harmless += tally.harmless;
        sum.versions += tally.versions;
        sum.readable += tally.readable;
        sum.after += tally.after;
    }
    let report: Vec<String> =
        all.iter().map(|(kind, tally)| format!("{kind:?} {tally:?}")).collect();
    for (kind, tally) in &all {
        assert_eq!(tally.detected + tally.harmless, tally.tried, "{report:#?}");
        // Only damage to files that hold content can lose versions.
        let least = match kind.to_str().unwrap() {
            "pack" => 80,
            "journal" => 85,
            _ => 100,
        };
        assert!(tally.after * 100 >= tally.versions * least, "{kind:?}: {report:#?}");
    }
    assert!(all.values().map(|tally| tally.tried).sum::<usize>() > 100, "{report:#?}");
}

#[test]
fn damage_is_named_down_to_the_message_and_heals_from_the_live_file() {
    let folder = tempfile::tempdir().unwrap();
    let story = story(folder.path());
    let clock = FixedClock::default();
    let mut history = open(&clock, &story.repository);
    forklore_history::upkeep::pack::pack(&mut history).unwrap();
    let chat = history.lineages().live(&FileName::of_text("chats/Anna/Story.jsonl")).unwrap();
    let pieces = Tracked::read(history.store(), chat.tip.tree).unwrap();
    let (number, id) = pieces.body.pieces()[2];
    assert_eq!(number, 2);
    drop(history);
    let pack = files(&story.repository.join("objects/pack"));
    let [index, pack] = &pack[..] else { panic!("{pack:?}") };
    let places = RawIndex::read(&fs::read(index).unwrap()).places;
    let at = places.iter().find(|place| place.id == id).unwrap().offset as usize;
    let mut bytes = fs::read(pack).unwrap();
    bytes[at + 30] ^= 4;
    fs::write(pack, bytes).unwrap();

    let mut history = open(&clock, &story.repository);
    let verified = verify(&mut history, &|_| None, &|_, _| {}).unwrap();
    let damage: Vec<String> = verified.damage.iter().map(ToString::to_string).collect();
    // The messages that are deltas against it are lost with it, and no others.
    assert_eq!(damage[0], "message 2 of Anna/Story in versions 3 to 30");
    assert!(
        damage.len() <= 3 && damage.iter().all(|one| one.contains("of Anna/Story")),
        "{damage:?}"
    );
    assert_eq!(verified.versions - verified.sound_versions, 28);
    let repaired = repair(&mut history, &|_| None, &|_, _| {}).unwrap();
    let after: Vec<String> = repaired.after.damage.iter().map(ToString::to_string).collect();
    assert_eq!(after, damage);
    assert!(repaired.after.faults.is_empty(), "{repaired:?}");

    let live = |name: &FileName| story.live.get(name.as_str()).cloned();
    let repaired = repair(&mut history, &live, &|_, _| {}).unwrap();
    assert_eq!(repaired.healed, damage.len());
    assert!(repaired.after.is_sound(), "{repaired:?}");
    assert_eq!(versions(&history), story.versions);
}
