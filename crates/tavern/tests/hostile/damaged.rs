//! Damaged files are read as far as possible, each damaged line is reported, and nothing panics.

use std::fs;

use fastrand::Rng;
use forklore_core::finding::Finding;
use forklore_core::plan::fork::{Policy, QueuePolicy};
use forklore_core::sillytavern::chat::{Chat, Damage as Found};
use forklore_core::sillytavern::names::ForkKind;
use forklore_core::timeline::exactness::Allow;
use forklore_tavern::disk::RealDisk;
use forklore_tavern::folder::headers::Headers;
use forklore_tavern::folder::layout::UserFolders;
use forklore_tavern::folder::library::ChatFile;
use forklore_tavern::folder::references;
use forklore_tavern::work::fork::ForkOptions;
use forklore_tavern::work::tavern::Tavern;
use forklore_testkit::cases;
use forklore_testkit::damage::Damage;
use forklore_testkit::fixed_clock::FixedClock;
use forklore_testkit::story::{Story, USER};
use forklore_testkit::tree;

#[test]
fn damaged_files_are_told_of_and_break_nothing() {
    cases::run("damaged files", cases::count_from("FORKLORE_DAMAGED", 1000), a_damaged_story);
}

fn a_damaged_story(rng: &mut Rng) {
    let story = Story::generate(rng, 8);
    let folder = tree::temporary_folder();
    let root = folder.path();
    story.write_to(root).expect("the story can be written");
    let path = root.join(USER).join(story.chat_path());
    let whole = story.chat_bytes();
    let kind = Damage::any(rng);
    let damaged = kind.to(rng, &whole);
    fs::write(&path, &damaged).expect("it can be written");
    if rng.bool() {
        damage_a_book(rng, root);
    }

    let clock = FixedClock::default();
    let folders = UserFolders::new(root, USER).expect("the user's name is a name");
    let tavern = Tavern { disk: &RealDisk, clock: &clock, folders, pasts: None };
    let library = tavern.library();
    let heads = Headers::read(&RealDisk, &library);
    assert_eq!(heads.timelines.len(), library.chats.len());
    references::gather(&RealDisk, &tavern.folders, &library, &|| ());
    let chat = library.chats.iter().find(|chat| chat.name == story.chat).expect("it is listed");
    check_report(kind, &whole, &damaged, &findings(&tavern, chat));

    let at = rng.i64(-3..9);
    let options = ForkOptions {
        kind: ForkKind::Branch,
        at: Some(at),
        name: None,
        policy: Policy {
            allow: Allow::Live,
            queue: QueuePolicy::Drain,
            without_book: rng.bool(),
            ..Policy::default()
        },
        parent_is_closed: true,
        dry_run: rng.u8(..4) > 0,
    };
    let before = tree::files_of_sillytavern(root);
    match tavern.fork(chat, &options) {
        Ok(forked) if !options.dry_run => check_child(chat, &damaged, &forked.child),
        Ok(_) | Err(_) => assert_eq!(tree::files_of_sillytavern(root), before),
    }
    assert_eq!(fs::read(&path).expect("it is there"), damaged, "the parent was touched");
}

fn damage_a_book(rng: &mut Rng, root: &std::path::Path) {
    let worlds = root.join(USER).join("worlds");
    for entry in fs::read_dir(worlds).expect("it is there") {
        let path = entry.expect("it can be listed").path();
        let bytes = fs::read(&path).expect("it can be read");
        fs::write(&path, Damage::any(rng).to(rng, &bytes)).expect("it can be written");
    }
}

fn findings(tavern: &Tavern<'_>, chat: &ChatFile) -> Vec<Found> {
    let library = tavern.library();
    let verified = tavern.verify(&library, |other| other.path == chat.path, &|| ());
    let findings = verified.checked.into_iter().flat_map(|checked| checked.findings);
    findings
        .filter_map(|finding| match finding {
            Finding::Damage(damage) => Some(damage),
            _ => None,
        })
        .collect()
}

/// A non-blank line that was not in the story must be unreadable: none of these kinds of damage
/// creates a new line of valid JSON.
fn check_report(kind: Damage, whole: &[u8], damaged: &[u8], found: &[Found]) {
    let ambiguous =
        matches!(kind, Damage::FlippedBytes | Damage::Deep | Damage::HugeHeader | Damage::NotUtf8);
    if ambiguous {
        return;
    }
    let trimmed = |line: &[u8]| line.trim_ascii().to_vec();
    // The story may contain a torn line itself.
    let torn = b"{\"mes\":\"torn".to_vec();
    let known: Vec<Vec<u8>> =
        whole.split(|&b| b == b'\n').map(trimmed).filter(|line| *line != torn).collect();
    let expected: Vec<usize> = damaged
        .split(|&b| b == b'\n')
        .enumerate()
        .filter(|(_, line)| !trimmed(line).is_empty() && !known.contains(&trimmed(line)))
        .map(|(number, _)| number + 1)
        .filter(|&number| !(kind == Damage::ByteOrderMark && number == 1))
        .collect();
    let reported: Vec<usize> = found
        .iter()
        .filter_map(|damage| match damage {
            Found::UnreadableLine(line) | Found::TornLine(line) => Some(*line),
            _ => None,
        })
        .collect();
    assert_eq!(reported, expected, "{kind:?}");
    assert_eq!(found.contains(&Found::ByteOrderMark), kind == Damage::ByteOrderMark);
    assert_eq!(
        found.contains(&Found::Empty),
        damaged
            .split(|&b| b == b'\n')
            .map(trimmed)
            .all(|line| !known.contains(&line) || line.is_empty())
    );
}

/// A child of a damaged chat has the parent's messages, byte for byte except for renamed books.
fn check_child(parent: &ChatFile, damaged: &[u8], child: &str) {
    let path = parent.path.with_file_name(format!("{child}.jsonl"));
    let bytes = fs::read(path).expect("the child is there");
    let (ours, theirs) = (Chat::read(&bytes, parent.place()), Chat::read(damaged, parent.place()));
    assert!(ours.len() <= theirs.len() && !ours.is_empty());
    for index in 0..ours.len() {
        let (line, whole) = (ours.line(index).expect("it is"), theirs.line(index).expect("it is"));
        assert!(line == whole || whole.windows(17).any(|w| w == b"auto_recap_memory"));
    }
}
