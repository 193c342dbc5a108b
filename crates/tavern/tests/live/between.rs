//! Deterministic races: the page saves just before each disk call of a command.

use std::fs;
use std::sync::Mutex;

use forklore_core::sillytavern::names::ForkKind;
use forklore_tavern::disk::clock::SystemClock;
use forklore_tavern::work::change::ChangeOptions;
use forklore_tavern::work::fork::Forked;
use forklore_tavern::work::tavern::Tavern;
use forklore_testkit::faulty::FaultyDisk;
use forklore_testkit::scene::{Scene, Tree};

use crate::page::{CHAT, File, Page};

type Run = fn(&Tavern<'_>) -> Option<Forked>;

const CLOSED: ChangeOptions = ChangeOptions { is_closed: true, dry_run: false };

const COMMANDS: [(&str, Run); 5] = [
    ("branch", |tavern| fork(tavern, ForkKind::Branch, Some(1))),
    ("branch at the end", |tavern| fork(tavern, ForkKind::Branch, None)),
    ("checkpoint", |tavern| fork(tavern, ForkKind::Checkpoint, Some(1))),
    ("restore", |tavern| {
        tavern.restore(&crate::found(tavern), Some(1), false, CLOSED).unwrap();
        None
    }),
    ("split", |tavern| {
        tavern.split(&crate::found(tavern), false, CLOSED).unwrap();
        None
    }),
];

/// The files that the page saves, in order, before one call.
const SAVES: [&[File]; 5] = [
    &[File::Chat],
    &[File::Book],
    &[File::Chat, File::Book],
    &[File::Book, File::Chat],
    &[File::Chat, File::Book, File::Chat, File::Book],
];

fn fork(tavern: &Tavern<'_>, kind: ForkKind, at: Option<i64>) -> Option<Forked> {
    Some(tavern.fork(&crate::found(tavern), &crate::options(kind, at, true)).unwrap())
}

/// Runs a command while the page saves before call `at`. Returns the number of calls.
fn run_with_saves(run: Run, at: usize, saves: &[File]) -> usize {
    let scene = Scene::of(&Tree::new());
    let mut page = Page::new(&scene);
    for file in [File::Book, File::Chat, File::Book] {
        page.save_one(file);
    }
    let page = Mutex::new(page);
    let disk = FaultyDisk::beside(|number, _| {
        if number == at {
            saves.iter().for_each(|&file| page.lock().unwrap().save_one(file));
        }
    });
    let fork = run(&scene.tavern(&disk, &SystemClock));
    let calls = disk.calls().len();
    drop(disk);
    let saved = page.into_inner().unwrap().into_saved();
    crate::check_nothing_is_lost(&scene, &saved);
    crate::check_no_file_is_torn(&scene);
    if let Some(fork) = fork {
        crate::check_fork(&scene, &saved, &fork);
    }
    calls
}

#[test]
#[expect(clippy::print_stdout, reason = "the number of meetings is a result, not a guess")]
fn between_whichever_calls_the_page_saves_nothing_is_lost_and_every_fork_is_one_instant() {
    let mut meetings = 0;
    for (name, run) in COMMANDS {
        let calls = run_with_saves(run, usize::MAX, &[]);
        for saves in SAVES {
            for at in 0..calls {
                let met = std::panic::catch_unwind(|| run_with_saves(run, at, saves));
                assert!(met.is_ok(), "{name}, {saves:?} before call {at}");
                meetings += 1;
            }
        }
    }
    println!("{meetings:>6}  meetings");
    assert!(meetings > 1_000);
}

/// The page saves at one exchange after another, so that our version cannot stay and the version
/// put back is already outdated. All displaced versions must end up in the trash.
#[test]
fn a_page_that_saves_at_every_exchange_for_a_while_loses_nothing() {
    let replacing = [("checkpoint", File::Chat), ("split", File::Chat), ("restore", File::Book)];
    for (name, file) in replacing {
        let (_, run) = COMMANDS.into_iter().find(|(other, _)| *other == name).unwrap();
        for most in 1..12 {
            let scene = Scene::of(&Tree::new());
            let page = Mutex::new(Page::new(&scene));
            let exchanges = Mutex::new(0);
            let disk = FaultyDisk::beside(|_, call| {
                let mut exchanges = exchanges.lock().unwrap();
                if call.name == "exchange" && *exchanges < most {
                    *exchanges += 1;
                    page.lock().unwrap().save_one(file);
                }
            });
            let fork = run(&scene.tavern(&disk, &SystemClock));
            drop(disk);
            let saved = page.into_inner().unwrap().into_saved();
            let is_displaced = |path: &&String| path.contains("/displaced-");
            let displaced = scene.trash().keys().filter(is_displaced).count();
            assert_eq!(displaced, most - 1, "{name}, {most} saves");
            crate::check_nothing_is_lost(&scene, &saved);
            crate::check_no_file_is_torn(&scene);
            fork.into_iter().for_each(|fork| crate::check_fork(&scene, &saved, &fork));
        }
    }
}

/// The child is made from the chat at the moment the child appears, not at the moment its book was
/// started.
#[test]
fn a_message_edited_while_the_book_is_written_is_edited_in_the_child() {
    let scene = Scene::of(&Tree::new());
    let _page = Page::new(&scene);
    let chat = scene.folders().chats.join("Alice").join(format!("{CHAT}.jsonl"));
    let is_edited = Mutex::new(false);
    let disk = FaultyDisk::beside(|_, call| {
        let mut is_edited = is_edited.lock().unwrap();
        if call.name == "publish" && call.path.starts_with(scene.folders().worlds) && !*is_edited {
            *is_edited = true;
            let text = fs::read_to_string(&chat).unwrap().replace("message 1", "message one");
            let temp = chat.with_extension("jsonl.123456");
            fs::write(&temp, text).unwrap();
            fs::rename(&temp, &chat).unwrap();
        }
    });
    let forked = fork(&scene.tavern(&disk, &SystemClock), ForkKind::Branch, Some(1)).unwrap();
    let child = &scene.visible()[&format!("chats/Alice/{}.jsonl", forked.child)];
    assert!(String::from_utf8_lossy(child).contains("message one"));
}
