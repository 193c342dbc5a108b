//! Regression tests for bugs found by the long runs.

use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, SystemTime};

use forklore_core::plan::fork::Policy;
use forklore_core::sillytavern::names::ForkKind;
use forklore_tavern::disk::RealDisk;
use forklore_tavern::disk::clock::Clock;
use forklore_tavern::folder::library::ChatFile;
use forklore_tavern::transaction::Task;
use forklore_tavern::work::change::ChangeOptions;
use forklore_tavern::work::fork::{CheckpointLink, ForkOptions};
use forklore_tavern::work::tavern::Tavern;
use forklore_testkit::faulty::{Errno, Fault, FaultyDisk, Written};
use forklore_testkit::scene::{self, Scene, Stopped, USER};

use crate::cases;
use crate::states::{Baseline, Power};

fn baseline(name: &str) -> Baseline {
    let is_undo = name.starts_with("undo ");
    let cases = cases::named(&[name.trim_start_matches("undo ")]);
    Baseline::of(cases.into_iter().find(|case| case.is_undo == is_undo).unwrap())
}

/// Tries a fault at every `call` whose path ends with `path`.
#[track_caller]
fn check(name: &str, call: &str, path: &str, power: Power, fault: impl Fn(usize) -> Fault) {
    let baseline = baseline(name);
    let is_meant = |at: &usize| {
        let made = &baseline.calls[*at];
        made.name == call && made.path.ends_with(Path::new(path))
    };
    let calls: Vec<usize> = (0..baseline.calls.len()).filter(is_meant).collect();
    assert!(!calls.is_empty(), "{name} does not {call} {path}");
    for at in calls {
        assert_eq!(baseline.run_with(fault(at), power).check(), [""; 0]);
    }
}

fn io_error(at: usize) -> Fault {
    Fault::Error { at, errno: Errno::Io }
}

#[test]
fn undoing_that_was_killed_while_writing_can_be_done_again() {
    let temp = format!("{USER}/chats/Alice/.forklore-00000001-0-undo.tmp");
    for written in [Written::Nothing, Written::Half, Written::All] {
        let kill = |at| Fault::Kill { at, written };
        check("undo strip", "write_new", &temp, Power::Stays, kill);
    }
}

/// A power cut leaves a file that was being moved to the trash under both names.
#[test]
fn undoing_goes_on_where_the_power_went_between_two_folders() {
    let kill = |at| Fault::Kill { at, written: Written::NoFile };
    check("undo branch", "sync_dir", "chats/Alice", Power::IsCut, kill);
    check("undo branch", "sync_dir", "worlds", Power::IsCut, kill);
}

#[test]
fn a_fork_is_not_made_while_its_group_cannot_be_read() {
    for call in ["look", "read"] {
        check("group branch", call, "groups/1700.json", Power::Stays, io_error);
    }
    check("group branch", "list", "groups", Power::Stays, io_error);
}

#[test]
fn a_book_that_the_disk_did_not_show_is_not_missing() {
    check("branch at the end", "look", "worlds/Lore.json", Power::Stays, io_error);
    check("branch at the end", "list", "worlds", Power::Stays, io_error);
    check("repair from a copy", "look", "worlds/Lore.json", Power::Stays, io_error);
}

#[test]
fn a_relative_that_cannot_be_read_may_be_the_one_that_shares() {
    check("split", "read_start", "Alice/Old tale.jsonl", Power::Stays, io_error);
    check("split", "read", "Alice/Old tale.jsonl", Power::Stays, io_error);
}

#[test]
fn a_book_of_ours_that_cannot_be_read_stops_a_cleanup() {
    check("clean", "read", "worlds/Gone - Lore.json", Power::Stays, io_error);
}

#[test]
fn an_operation_whose_record_was_not_confirmed_is_not_left_to_be_undone() {
    check("restore", "sync_dir", "operations", Power::Stays, io_error);
}

/// A clock that shows the real time.
struct Running;

impl Clock for Running {
    fn now(&self) -> SystemTime {
        SystemTime::now()
    }

    fn slug(&self) -> String {
        Stopped.slug()
    }

    fn sleep(&self, _: Duration) {}
}

/// A chat listed long ago, before its file was written again.
fn listed_long_ago(tavern: &Tavern<'_>, label: &str) -> ChatFile {
    let chat = tavern.library().find(&RealDisk, label).unwrap().clone();
    ChatFile { modified: SystemTime::UNIX_EPOCH, len: 1, ..chat }
}

#[test]
fn a_chat_that_was_written_since_it_was_listed_is_still_the_same_chat() {
    let scene = Scene::new();
    let tavern = scene.tavern(&RealDisk, &Stopped);
    let closed = ChangeOptions { is_closed: true, dry_run: false };
    let chat = listed_long_ago(&tavern, scene::OLD_BRANCH);
    tavern.split(&chat, true, closed).unwrap();
    let library = tavern.library();
    let chat = library.find(&RealDisk, scene::OLD_BRANCH).unwrap();
    let seal = tavern.load(&library, chat).unwrap().timeline.seal;
    assert!(seal.is_some(), "its mother was found, and so where it left her");
}

#[test]
fn a_chat_that_was_written_since_it_was_listed_may_be_open() {
    let scene = Scene::new();
    let tavern = scene.tavern(&RealDisk, &Running);
    let chat = listed_long_ago(&tavern, scene::STORY);
    let options = ForkOptions {
        kind: ForkKind::Checkpoint,
        at: None,
        name: None,
        policy: Policy::default(),
        parent_is_closed: false,
        dry_run: false,
    };
    let forked = tavern.fork(&chat, &options).unwrap();
    assert!(matches!(forked.link, CheckpointLink::ParentMayBeOpen(_)), "{:?}", forked.link);
    tavern.strip(&chat, ChangeOptions::default()).unwrap_err();
}

/// While one step is done and another one undone, a page saves twice each time: all displaced
/// versions end up in the trash, without overwriting each other.
#[cfg(target_os = "linux")]
#[test]
fn what_was_displaced_in_doing_and_in_undoing_is_all_kept() {
    let scene = Scene::new();
    let folders = scene.folders();
    let [first, second] = ["Common.json", "Lore.json"].map(|name| folders.worlds.join(name));
    let [first_old, second_old] = [&first, &second].map(|path| fs::read(path).unwrap());
    let exchanges = Mutex::new(0);
    let disk = FaultyDisk::beside(|_, call| {
        if call.name == "exchange" {
            let mut number = exchanges.lock().unwrap();
            // The first step is done undisturbed; the second step, and undoing the first, are not.
            let path = match *number {
                1 | 2 => Some(&second),
                4 | 5 => Some(&first),
                _ => None,
            };
            if let Some(path) = path {
                let temp = path.with_extension("json.123456");
                fs::write(&temp, format!("version {number}")).unwrap();
                fs::rename(&temp, path).unwrap();
            }
            *number += 1;
        }
    });
    let tavern = scene.tavern(&disk, &Stopped);
    let replace = |path: &Path, expected| Task::Replace {
        path: path.to_owned(),
        expected,
        parts: vec![b"ours"],
    };
    let tasks = [replace(&first, &first_old), replace(&second, &second_old)];
    tavern.transaction().unwrap().commit("test", "two steps", &tasks).unwrap_err();
    assert_eq!(fs::read(&first).unwrap(), b"version 5");
    assert_eq!(fs::read(&second).unwrap(), b"version 2");
    let trash = scene.trash();
    for version in ["version 1", "version 4"] {
        assert!(trash.values().any(|bytes| bytes == version.as_bytes()), "{version} is lost");
    }
}
