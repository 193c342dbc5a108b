//! `--dry-run` fails wherever the real run would fail.

use forklore_testkit::scene::card;

use crate::history::{DAY, book, chat, with_history, write};
use crate::stage::Stage;

/// Checks that a dry run is refused in the same words as the real run.
#[track_caller]
fn check(stage: &Stage, args: &[&str]) {
    let before = stage.scene.visible();
    let dry = stage.run(args.iter().copied().chain(["--dry-run"]));
    assert_eq!(stage.scene.visible(), before, "{args:?} changed something");
    let real = stage.run(args.iter().copied());
    assert!(real.contains("-- exit 2 --"), "{args:?} was to be refused: {real}");
    assert_eq!(dry, real, "{args:?}");
}

/// Makes this the chat that Alice opens with, so that a page may have it open.
fn open(stage: &Stage, chat: &str) {
    stage.scene.write("default-user/characters/Alice.png", &card("Alice", chat, "Common"));
}

#[test]
fn what_may_be_open_is_refused_in_a_dry_run_too() {
    let stage = Stage::new();
    open(&stage, "Old tale - Branch #1");
    check(&stage, &["split", "--all"]);
    check(&stage, &["split", "Old tale - Branch #1"]);
    open(&stage, "Story");
    check(&stage, &["restore", "Story", "--at", "1"]);
    check(&stage, &["strip", "Story"]);
    open(&stage, "Old tale");
    check(&stage, &["merge", "Story", "--into", "Old tale", "--base", "empty"]);
    check(&stage, &["pick", "Story", "entry 3", "--into", "Old tale"]);
    open(&stage, "Garbled tale");
    check(&stage, &["repair", "Garbled tale", "--from", "empty"]);
    check(&stage, &["repair", "Garbled tale", "--from", "detach"]);
}

#[test]
fn versions_that_cannot_come_back_are_refused_in_a_dry_run_too() {
    let stage = with_history(Stage::new());
    write(&stage, "worlds/Mill.json", &book(&[]), 10);
    check(&stage, &["restore", "Mill", "--version", "1"]);
    write(&stage, "chats/Mara/The mill.jsonl", &chat(None, &[("Mara", "New.")]), 10);
    check(&stage, &["restore", "Mara/The mill", "--version", "3", "--in-place"]);
    write(&stage, "settings.json", br#"{"a": 1}"#, DAY);
    check(&stage, &["restore", "settings", "--version", "1"]);
    check(&stage, &["undelete", "Mara/The mill"]);
    check(&stage, &["undelete", "nothing"]);
}

#[test]
fn other_refusals_are_the_same_in_a_dry_run() {
    let stage = Stage::new();
    check(&stage, &["branch", "Old tale", "--at", "1"]);
    check(&stage, &["checkpoint", "Story", "--name", "Old tale"]);
    check(&stage, &["undo"]);
    let _ = stage.run(["branch", "Story", "--at", "2"]);
    let child = "default-user/chats/Alice/Story - Branch #1.jsonl";
    let mut bytes = stage.scene.all()[child].clone();
    bytes.extend(b"\n{\"mes\":\"later\"}");
    stage.scene.write(child, &bytes);
    // The dry run prints more, but is refused as well.
    assert!(stage.run(["undo", "--dry-run"]).contains("-- exit 2 --"));
    assert!(stage.run(["undo"]).contains("-- exit 2 --"));
}

#[test]
fn a_dry_run_shows_the_link_that_would_be_written() {
    let stage = Stage::new();
    open(&stage, "Story");
    let dry = stage.run(["checkpoint", "Story", "--at", "2", "--dry-run"]);
    let real = stage.run(["checkpoint", "Story", "--at", "2"]);
    assert_eq!(dry.replace("Would make", "Made"), real);
}
