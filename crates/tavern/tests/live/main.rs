//! Runs commands beside a page that keeps saving, until they have collided in every way.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "the scenes are tests too")]

mod between;
mod page;

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use forklore_core::digest::Digest;
use forklore_core::plan::fork::Policy;
use forklore_core::sillytavern::book::{Book, digest_of};
use forklore_core::sillytavern::chat::{Chat, ChatKind};
use forklore_core::sillytavern::names::ForkKind;
use forklore_core::timeline::exactness::{Exactness, Source};
use forklore_tavern::disk::RealDisk;
use forklore_tavern::disk::clock::SystemClock;
use forklore_tavern::folder::layout::is_sillytavern_temp;
use forklore_tavern::folder::library::ChatFile;
use forklore_tavern::work::change::ChangeError;
use forklore_tavern::work::change::ChangeOptions;
use forklore_tavern::work::change::ChangedChat;
use forklore_tavern::work::fork::{CheckpointLink, ForkError, ForkOptions, Forked};
use forklore_tavern::work::tavern::Tavern;
use forklore_testkit::scene::{Scene, Tree};

use page::{CHAT, Pace, Page, PageSync, Saved, book_of};

/// The chat must stay small, because every save writes all of it.
const ROUNDS_PER_PAGE: usize = 100;

/// How often each event happened.
type Tally = BTreeMap<&'static str, usize>;

#[test]
#[expect(clippy::print_stdout, reason = "what happened is a result, not a guess")]
fn beside_a_live_page_nothing_saved_is_lost_and_every_fork_is_one_instant() {
    let rounds = std::env::var("FORKLORE_LIVE_ROUNDS").ok();
    let rounds = rounds.map_or(1_000, |rounds| rounds.parse().unwrap());
    let mut tally = Tally::new();
    for first in (0..rounds).step_by(ROUNDS_PER_PAGE) {
        // On a real disk, commands take long enough to collide with a slow page.
        let (scene, pace) = match first / ROUNDS_PER_PAGE % 4 {
            0 => (Scene::on_disk(&Tree::new()), Pace::FiftyASecond),
            _ => (Scene::of(&Tree::new()), Pace::FiveHundredASecond),
        };
        let page = Page::new(&scene);
        let sync = PageSync::with(&page);
        let (saved, forks) = std::thread::scope(|threads| {
            let writing = threads.spawn(|| page.write(&sync, pace));
            let last = rounds.min(first + ROUNDS_PER_PAGE);
            let forks = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                (first..last)
                    .filter_map(|round| run_round(&scene, &sync, round, &mut tally))
                    .collect::<Vec<_>>()
            }));
            sync.finish();
            let saved = writing.join().unwrap();
            (saved, forks.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
        });
        *tally.entry("saves by the page").or_default() += saved.versions.len();
        let undone = scene.all().keys().filter(|path| path.ends_with(".undone")).count();
        *tally.entry("times a command had to begin again").or_default() += undone;
        check_nothing_is_lost(&scene, &saved);
        check_no_file_is_torn(&scene);
        for fork in &forks {
            check_fork(&scene, &saved, fork);
        }
    }
    for (what, count) in &tally {
        println!("{count:>6}  {what}");
    }
    if rounds >= 1_000 {
        for what in [
            "branches",
            "links written",
            "restores",
            "splits",
            "refusals",
            "times a command had to begin again",
        ] {
            assert!(tally.get(what).is_some_and(|count| *count > 10), "too few {what}: {tally:?}");
        }
    }
}

fn run_round(scene: &Scene, sync: &PageSync, round: usize, tally: &mut Tally) -> Option<Forked> {
    let tavern = scene.tavern(&RealDisk, &SystemClock);
    let chat = found(&tavern);
    let messages = sync.messages();
    let some_message = |last: usize| Some((round * 7_919 % last) as i64);
    let closed = ChangeOptions { is_closed: true, dry_run: false };
    let open = ChangeOptions { is_closed: false, dry_run: false };
    let mut count = |what| *tally.entry(what).or_default() += 1;
    match round % 10 {
        0..=3 => {
            let at = if round % 10 == 3 { None } else { some_message(messages) };
            let fork = made(tavern.fork(&chat, &options(ForkKind::Branch, at, false)));
            count(if fork.is_some() { "branches" } else { "given up as too busy" });
            fork
        }
        4 | 5 => {
            let is_closed = round % 10 == 4;
            let wanted = options(ForkKind::Checkpoint, some_message(messages), is_closed);
            let Some(fork) = made(tavern.fork(&chat, &wanted)) else {
                count("given up as too busy");
                return None;
            };
            match &fork.link {
                CheckpointLink::Written => {
                    assert!(is_closed);
                    count("links written");
                    sync.wait_for_both();
                }
                CheckpointLink::ParentIsBusy => count("links not written, as too busy"),
                CheckpointLink::ParentMayBeOpen(_) => assert!(!is_closed),
                other => panic!("{other:?}"),
            }
            Some(fork)
        }
        6 | 7 => {
            let restored = tavern.restore(&chat, some_message(messages - 1), false, closed);
            count(if changed(restored) { "restores" } else { "given up as too busy" });
            sync.wait_for_both();
            None
        }
        8 => {
            let split = tavern.split(&chat, false, closed);
            count(if changed(split) { "splits" } else { "given up as too busy" });
            sync.wait_for_both();
            None
        }
        _ => {
            let refused = match round % 20 {
                9 => tavern.split(&chat, false, open),
                _ => tavern.restore(&chat, some_message(messages - 1), false, open),
            };
            assert!(matches!(refused, Err(ChangeError::MayBeOpen { .. })), "{refused:?}");
            count("refusals");
            None
        }
    }
}

fn options(kind: ForkKind, at: Option<i64>, parent_is_closed: bool) -> ForkOptions {
    let policy = Policy::default();
    ForkOptions { kind, at, name: None, policy, parent_is_closed, dry_run: false }
}

fn found(tavern: &Tavern<'_>) -> ChatFile {
    tavern.library().find(&RealDisk, &format!("Alice/{CHAT}")).unwrap().clone()
}

/// Giving up because the page never pauses is allowed; any other error is not.
fn made(fork: Result<Forked, ForkError>) -> Option<Forked> {
    match fork {
        Ok(fork) => Some(fork),
        Err(ForkError::CarryOut(error)) if error.is_race() => None,
        Err(error) => panic!("{error:?}"),
    }
}

fn changed(changed: Result<ChangedChat, ChangeError>) -> bool {
    match changed {
        Ok(_) => true,
        Err(ChangeError::CarryOut(error)) if error.is_race() => false,
        Err(error) => panic!("{error:?}"),
    }
}

/// Every version that the page saved is in place, was replaced by the page itself, or is in the
/// trash. So is every message and entry in it.
fn check_nothing_is_lost(scene: &Scene, saved: &Saved) {
    let trash = scene.trash();
    let mut survivors: HashSet<Digest> = trash.values().map(|bytes| Digest::of(bytes)).collect();
    survivors.extend(saved.displaced.iter().map(|bytes| Digest::of(bytes)));
    for (number, version) in saved.versions.iter().enumerate() {
        let in_place = std::fs::read(&version.path).unwrap();
        assert!(
            survivors.contains(&Digest::of(&version.bytes)) || in_place == version.bytes,
            "save {number} of {}, to {}, is lost",
            saved.versions.len(),
            version.path.display()
        );
    }
}

fn check_no_file_is_torn(scene: &Scene) {
    assert_eq!(scene.temps().into_keys().collect::<Vec<_>>(), [""; 0]);
    for (path, bytes) in scene.visible() {
        assert!(!is_sillytavern_temp(&path), "{path}");
        match Path::new(&path).extension().and_then(|extension| extension.to_str()) {
            Some("jsonl") => {
                assert!(Chat::read(&bytes, ChatKind::Solo).damage().is_empty(), "{path}")
            }
            Some("json") => assert!(Book::read(&bytes).is_ok(), "{path}"),
            _ => panic!("{path} is of no kind that SillyTavern has"),
        }
    }
}

/// The child is a prefix of the chat, and its book is one that the page saved: at that very
/// message, if the seal claims so.
fn check_fork(scene: &Scene, saved: &Saved, fork: &Forked) {
    let visible = scene.visible();
    let child = &visible[&format!("chats/Alice/{}.jsonl", fork.child)];
    let child = Chat::read(child, ChatKind::Solo);
    assert_eq!(child.len(), fork.message + 1);
    for index in 0..child.len() {
        assert!(child.line(index) == Some(&saved.lines[index][..]), "{} {index}", fork.child);
    }
    let sealed = fork.seal.book.as_ref().unwrap();
    let book = Book::read(&visible[&format!("worlds/{}.json", sealed.name)]).unwrap();
    let entries = book.entries().count();
    assert_eq!(book.digest(), digest_of(&book_of(entries)), "{}", fork.child);
    assert_eq!(book.digest(), sealed.digest);
    match (sealed.part.exactness, sealed.part.source) {
        (Exactness::Exact, Source::Files) => {
            assert!(saved.together.contains(&(child.len(), entries)), "{}", fork.child);
        }
        (Exactness::Exact, Source::Journal | Source::Unchanged) => {
            assert_eq!(entries, saved.entries_at[fork.message], "{}", fork.child);
        }
        // At the last message, the page may have known more than it had saved.
        (Exactness::Snapshot(k), Source::Journal) if k == fork.message => {
            assert_eq!(entries, saved.entries_at[k], "{}", fork.child);
        }
        other => panic!("{}: {other:?}", fork.child),
    }
}
