//! A fork captures exactly the moment it claims, and afterwards the two timelines never affect each
//! other.
//!
//! The testkit invents chat families and knows the truth about each message. The tests fork them in
//! a real folder and compare every claim in a seal with that truth.

mod claims;
mod child;
mod memory_books;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Mutex;

use fastrand::Rng;
use forklore_core::finding::Finding;
use forklore_core::finding::Obstacle;
use forklore_core::plan::fork::{Policy, QueuePolicy};
use forklore_core::sillytavern::names::ForkKind;
use forklore_core::timeline::claim::TodaySource;
use forklore_core::timeline::exactness::{Allow, Exactness};
use forklore_tavern::disk::RealDisk;
use forklore_tavern::folder::layout::UserFolders;
use forklore_tavern::folder::library::ChatFile;
use forklore_tavern::work::fork::{CheckpointLink, ForkError, ForkOptions, Forked};
use forklore_tavern::work::tavern::Tavern;
use forklore_testkit::cases;
use forklore_testkit::fixed_clock::FixedClock;
use forklore_testkit::story::{Story, USER};
use forklore_testkit::tree;

/// Counts the outcomes, to detect a run that exercised nothing.
type Tally = Mutex<BTreeMap<String, usize>>;

#[test]
fn a_fork_is_what_it_claims_and_shares_nothing_with_its_parent() {
    let families = cases::count_from("FORKLORE_FAMILIES", 1000);
    let tally = Tally::default();
    cases::run("isolation", families, |rng| a_family(rng, &tally));

    let tally = tally.into_inner().expect("no case panicked");
    if families >= 1000 && cases::seed().is_none() {
        for outcome in [
            "book: exact from files",
            "book: exact from journal",
            "book: snapshot from journal",
            "book: snapshot from recap",
            "book: live from files",
            "book: none",
            "metadata: snapshot from journal",
            "refused: queue",
            "refused: not known well enough",
            "linked",
            "grandchild",
        ] {
            let count = tally.get(outcome).copied().unwrap_or(0);
            assert!(count >= 10, "{outcome} came about only {count} times: {tally:#?}");
        }
        assert!(tally.contains_key("book: settled from journal"), "{tally:#?}");
    }
}

/// A story on disk, with everything needed to fork it.
pub struct Stage<'a> {
    pub story: &'a Story,
    pub root: &'a Path,
    pub tavern: &'a Tavern<'a>,
}

fn a_family(rng: &mut Rng, tally: &Tally) {
    let story = Story::generate(rng, 24);
    let folder = tree::temporary_folder();
    let root = folder.path();
    story.write_to(root).expect("the story can be written");
    let clock = FixedClock::default();
    let folders = UserFolders::new(root, USER).expect("the user's name is a name");
    let tavern = Tavern { disk: &RealDisk, clock: &clock, folders, pasts: None };
    let stage = Stage { story: &story, root, tavern: &tavern };

    let parent = stage.chat(&story.chat);
    let message = rng.usize(..story.messages.len());
    let options = any_options(rng, message);
    let before = tree::files_of_sillytavern(root);
    let findings_before = stage.findings(&parent);

    let forked = match tavern.fork(&parent, &options) {
        Ok(forked) => forked,
        Err(error) => {
            check_refusal(&stage, message, &options, error, tally);
            assert_eq!(tree::files_of_sillytavern(root), before, "a refusal changed something");
            return;
        }
    };
    note(tally, outcome_words(&forked));
    check_fork(&stage, &parent, &forked, &options, &before);
    assert_eq!(stage.findings(&parent), findings_before, "the parent is judged otherwise now");

    undo(&tavern);
    assert_eq!(tree::files_of_sillytavern(root), before, "undo did not bring everything back");
    let again = tavern.fork(&parent, &options).expect("what could be done can be done again");
    assert_eq!(again.child, forked.child);

    check_divergence(&stage, &parent, &again);
    if rng.bool() {
        let child = stage.chat(&again.child);
        let earlier = rng.usize(..=message);
        let options = any_options(rng, earlier);
        let before = tree::files_of_sillytavern(root);
        if let Ok(grandchild) = tavern.fork(&child, &options) {
            note(tally, vec!["grandchild".into()]);
            check_fork(&stage, &child, &grandchild, &options, &before);
        }
    }
}

fn any_options(rng: &mut Rng, message: usize) -> ForkOptions {
    ForkOptions {
        kind: if rng.bool() { ForkKind::Checkpoint } else { ForkKind::Branch },
        at: Some(i64::try_from(message).expect("stories are short")),
        name: (rng.u8(..4) == 0).then(|| "Chosen 雨".to_owned() + &rng.u8(..).to_string()),
        policy: Policy {
            allow: [Allow::Exact, Allow::Snapshot, Allow::Live, Allow::Live][rng.usize(..4)],
            queue: if rng.u8(..3) == 0 { QueuePolicy::Drain } else { QueuePolicy::Refuse },
            require_scene: rng.u8(..12) == 0,
            fill: rng.bool(),
            without_book: rng.u8(..5) == 0,
            leave_book: None,
            today: TodaySource::Files,
            is_behind: false,
            under_way: 0,
            is_recap_gone: false,
        },
        parent_is_closed: rng.bool(),
        dry_run: false,
    }
}

impl Stage<'_> {
    /// Whether everything that proves the state at a message was recorded.
    fn is_exactly_known(&self, message: usize) -> bool {
        self.story.journal_is_whole && claims::can_be_exact(self.story, message)
    }

    pub fn chat(&self, name: &str) -> ChatFile {
        let library = self.tavern.library();
        library.chats.iter().find(|chat| chat.name == name).expect("the chat is listed").clone()
    }

    pub fn read(&self, path: &Path) -> Vec<u8> {
        fs::read(path).expect("the file is there")
    }

    /// The problems found in a chat, except for damage that the story itself contains.
    pub fn findings(&self, chat: &ChatFile) -> Vec<Finding> {
        let library = self.tavern.library();
        let verified = self.tavern.verify(&library, |other| other.path == chat.path, &|| ());
        assert!(verified.unread.is_empty(), "{:?}", verified.unread);
        let findings = verified.checked.into_iter().flat_map(|checked| checked.findings);
        findings
            .filter(|found| found.is_problem() && !matches!(found, Finding::Damage(_)))
            .collect()
    }
}

fn check_fork(
    stage: &Stage<'_>,
    parent: &ChatFile,
    forked: &Forked,
    options: &ForkOptions,
    before: &BTreeMap<std::path::PathBuf, Option<Vec<u8>>>,
) {
    let child = stage.chat(&forked.child);
    check_surroundings(stage, parent, &child, forked, options, before);
    let book_before = |name: &str| {
        let path = Path::new(USER).join(Story::book_path(name));
        before.get(&path).and_then(Option::as_ref)
    };
    let parent_path = parent.path.strip_prefix(stage.root).expect("it is below the root");
    let parent_bytes = before[parent_path].as_ref().expect("it is a file");
    let facts = child::Facts::of(stage, parent, parent_bytes, &child, forked);
    child::check(stage.story, &facts, forked, options);
    claims::check(
        stage.story,
        &facts,
        forked,
        options,
        book_before(facts.parent_book().unwrap_or("?")),
    );
    assert_eq!(stage.findings(&child), [], "the child is not as it should be");
}

/// Only the expected files are new, and nothing else has changed.
fn check_surroundings(
    stage: &Stage<'_>,
    parent: &ChatFile,
    child: &ChatFile,
    forked: &Forked,
    options: &ForkOptions,
    before: &BTreeMap<std::path::PathBuf, Option<Vec<u8>>>,
) {
    let after = tree::files_of_sillytavern(stage.root);
    let below = |path: &Path| path.strip_prefix(stage.root).expect("below the root").to_owned();
    let mut new = vec![below(&child.path)];
    new.extend(forked.seal.book.as_ref().map(|b| Path::new(USER).join(Story::book_path(&b.name))));
    for path in after.keys().filter(|path| !before.contains_key(*path)) {
        assert!(new.contains(path), "{} came out of nowhere", path.display());
    }
    for (path, bytes) in before {
        let now = after.get(path).unwrap_or_else(|| panic!("{} is gone", path.display()));
        if now == bytes {
            continue;
        }
        let (now, bytes) = (now.as_ref().expect("a file"), bytes.as_ref().expect("a file"));
        if *path == below(&parent.path) {
            assert_eq!(
                forked.link,
                CheckpointLink::Written,
                "the parent changed without being asked to"
            );
            assert_eq!(options.kind, ForkKind::Checkpoint);
            check_only_the_link(bytes, now, &forked.child);
        } else {
            assert!(path.starts_with(Path::new(USER).join("groups")), "{}", path.display());
            let inserted =
                claims::single_insertion(bytes, now).expect("a name was added to the list");
            assert!(contains(inserted, forked.child.as_bytes()));
        }
    }
}

fn check_only_the_link(before: &[u8], after: &[u8], child: &str) {
    let inserted =
        claims::single_insertion(before, after).expect("something else than the link changed");
    // Every message of a story has a non-empty `extra`.
    assert_eq!(String::from_utf8_lossy(inserted), format!(",\"bookmark_link\":\"{child}\""));
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len().max(1)).any(|window| window == part)
}

/// Both sides continue, and neither sees the other's changes.
fn check_divergence(stage: &Stage<'_>, parent: &ChatFile, forked: &Forked) {
    let library = stage.tavern.library();
    let (Some(theirs), Some(ours)) = (&stage.story.bound, &forked.seal.book) else { return };
    let ours = library.book(&ours.name).expect("the child's book is listed").path.clone();
    let Some(theirs) = library.book(theirs).map(|book| book.path.clone()) else { return };
    assert_ne!(ours, theirs);
    let child = stage.chat(&forked.child);
    let read_all = || [&ours, &theirs, &child.path, &parent.path].map(|path| stage.read(path));

    let [_, their_book, child_chat, parent_chat] = read_all();
    let edited = [&stage.read(&ours)[..], b" "].concat();
    fs::write(&ours, &edited).expect("the book can be written");
    assert_eq!(
        read_all(),
        [edited.clone(), their_book.clone(), child_chat.clone(), parent_chat.clone()]
    );

    let theirs_edited = [&their_book[..], b"\n"].concat();
    fs::write(&theirs, &theirs_edited).expect("the book can be written");
    assert_eq!(read_all(), [edited, theirs_edited, child_chat, parent_chat]);
}

fn undo(tavern: &Tavern<'_>) {
    let transaction = tavern.transaction().expect("nobody else is there");
    let plan =
        transaction.plan_undo().expect("records can be read").expect("there is an operation");
    transaction.undo(&plan).expect("it can be taken back");
}

fn check_refusal(
    stage: &Stage<'_>,
    message: usize,
    options: &ForkOptions,
    error: ForkError,
    tally: &Tally,
) {
    let ForkError::Refused(refusal) = error else { panic!("{error}") };
    let policy = options.policy;
    let work_can_be_seen = stage.story.has_work && !stage.story.book_is_lost;
    let busy = refusal.obstacles.iter().any(|o| matches!(o, Obstacle::QueueBusy(_)));
    assert_eq!(busy, work_can_be_seen && policy.queue == QueuePolicy::Refuse);
    for obstacle in &refusal.obstacles {
        match obstacle {
            Obstacle::QueueBusy(_) => note(tally, vec!["refused: queue".into()]),
            Obstacle::NotASceneBreak(_) => {
                assert!(policy.require_scene && stage.story.messages[message].scene.is_none());
            }
            Obstacle::BookMissing(_) => assert!(stage.story.book_is_lost && !policy.without_book),
            Obstacle::NotKnownWellEnough { found, .. } => {
                note(tally, vec!["refused: not known well enough".into()]);
                assert!(!policy.allow.admits(*found, message) && !policy.without_book);
                assert!(!stage.is_exactly_known(message), "it was known");
            }
            Obstacle::MetadataNotExact(_) => {
                assert!(policy.allow == Allow::Exact);
                assert!(!stage.is_exactly_known(message), "it was known");
            }
            other => panic!("refused for no good reason: {other}"),
        }
    }
}

fn outcome_words(forked: &Forked) -> Vec<String> {
    let words = |what: &str, part: forklore_core::timeline::exactness::Knowledge| {
        let exactness = match part.exactness {
            Exactness::Exact => "exact",
            Exactness::Snapshot(_) => "snapshot",
            Exactness::Settled(_) => "settled",
            Exactness::Live => "live",
        };
        format!("{what}: {exactness} from {}", part.source.word())
    };
    let mut outcome = vec![words("metadata", forked.seal.metadata)];
    outcome.push(forked.seal.book.as_ref().map_or("book: none".into(), |b| words("book", b.part)));
    if forked.link == CheckpointLink::Written {
        outcome.push("linked".into());
    }
    outcome
}

fn note(tally: &Tally, outcomes: Vec<String>) {
    let mut tally = tally.lock().expect("no case panicked");
    for outcome in outcomes {
        *tally.entry(outcome).or_default() += 1;
    }
}
