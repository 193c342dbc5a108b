//! `history verify`, `repair`, `pack`, `purge` and `dismiss`.
#![expect(clippy::unwrap_used, reason = "the helpers are tests too")]

use std::fs;
use std::path::PathBuf;

use insta::assert_snapshot;

use crate::history::with_history;
use crate::stage::Stage;

/// Runs `forklore history` and masks what differs each time: sizes and pack names.
fn run(stage: &Stage, args: &[&str]) -> String {
    let said = stage.run(["history"].into_iter().chain(args.iter().copied()));
    let mut steady = String::new();
    for line in said.split_inclusive('\n') {
        let mut words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        for at in 1..words.len() {
            let unit = words[at].trim_end_matches(|c: char| !c.is_ascii_alphabetic()).to_owned();
            let number = words[at - 1].trim_start_matches('(').to_owned();
            if ["bytes", "KB", "MB"].contains(&&*unit) && number.parse::<f64>().is_ok() {
                words[at - 1] = words[at - 1].replace(&number, "[size]");
                words[at] = words[at].replacen(&unit, "", 1);
            }
        }
        steady += &words.join(" ").replace("[size] ", "[size]");
    }
    while let Some(at) = steady.find("pack-") {
        steady.replace_range(at..at + "pack-".len() + 40, "[pack]");
    }
    steady
}

fn index(stage: &Stage) -> PathBuf {
    let packs = fs::read_dir(stage.histories().join("default-user.git/objects/pack")).unwrap();
    let mut packs = packs.map(|entry| entry.unwrap().path());
    packs.find(|path| path.extension().is_some_and(|end| end == "idx")).unwrap()
}

#[test]
fn a_sound_history_is_packed_and_stays_sound() {
    let stage = with_history(Stage::new());
    assert_snapshot!(run(&stage, &["verify"]), @"
    Read 172 objects in 4 packs ([size]): 25 versions of 20 files.
    Everything is sound. Every version can be rebuilt, and the newest of each file was, byte for byte.
    ");
    assert_snapshot!(run(&stage, &["repair"]), @"
    There is nothing to repair.
    Read 172 objects in 4 packs ([size]): 25 versions of 20 files.
    Everything is sound. Every version can be rebuilt, and the newest of each file was, byte for byte.
    ");
    assert_snapshot!(run(&stage, &["pack"]), @"172 objects in one pack: [size] instead of [size].");
    assert_snapshot!(run(&stage, &["verify"]), @"
    Read 172 objects in 1 pack ([size]): 25 versions of 20 files.
    Everything is sound. Every version can be rebuilt, and the newest of each file was, byte for byte.
    ");
}

#[test]
fn damage_is_named_and_repaired() {
    let stage = with_history(Stage::new());
    let _ = run(&stage, &["pack"]);
    let index = index(&stage);
    let harmed: Vec<u8> = fs::read(&index).unwrap().iter().map(|byte| !byte).collect();
    fs::remove_file(&index).unwrap();
    fs::write(&index, harmed).unwrap();
    assert_snapshot!(run(&stage, &["verify"]), @"
    Read 0 objects in 1 pack ([size]): 0 versions of 0 files.
      ! $HISTORIES/default-user.git/objects/pack/[pack].idx: differs from what was written
      ! cannot be read now: all of 20 files
    No version can be reached in this state.
    -- stderr --
    Hint: `forklore history repair` saves what can be saved, and deletes nothing.
    -- exit 1 --
    ");
    assert_snapshot!(run(&stage, &["repair"]), @"
    Repaired: recovered 172 objects from damaged files, set 2 files aside. Nothing was deleted.
      set aside: $HISTORIES/default-user.git/forklore/damaged/1-[pack].idx
      set aside: $HISTORIES/default-user.git/forklore/damaged/1-[pack].pack
    Read 172 objects in 1 pack ([size]): 25 versions of 20 files.
    Everything is sound. Every version can be rebuilt, and the newest of each file was, byte for byte.
    Set aside by repairs: 2 damaged files.
    ");
    assert_snapshot!(run(&stage, &["verify"]), @"
    Read 172 objects in 1 pack ([size]): 25 versions of 20 files.
    Everything is sound. Every version can be rebuilt, and the newest of each file was, byte for byte.
    Set aside by repairs: 2 damaged files.
    ");
}

#[test]
fn a_purge_says_what_it_cannot_reach() {
    let stage = with_history(Stage::new());
    assert_snapshot!(run(&stage, &["purge", "The mill"]), @"
    All of Mara/The mill will be removed: 4 versions.
    -- stderr --
    Error: nothing was removed: confirmation needs a terminal
    Hint: Use --yes to confirm. This cannot be undone.
    -- exit 2 --
    ");
    assert_snapshot!(run(&stage, &["purge", "The mill", "--yes"]), @"
    All of Mara/The mill will be removed: 4 versions.
    29 objects removed; none is left in 1 pack, read to the last byte.
    Not removed, because it is outside this history:
      the file itself: $DATA/default-user/chats/Mara/The mill.jsonl
    ");
    assert_snapshot!(stage.run(["log", "The mill"]), @r#"
    -- stderr --
    Error: nothing in the history is called "The mill"
    Hint: Did you mean: "Mill"?
    -- exit 2 --
    "#);
}

#[test]
fn a_loss_that_was_meant_is_dismissed() {
    let stage = with_history(Stage::new());
    assert_snapshot!(run(&stage, &["dismiss", "The mill"]), @"Dismissed: Mara/The mill, version 4: only one message is left. Version 3, before it, stays pinned.");
    assert_snapshot!(run(&stage, &["dismiss", "The mill"]), @"Nothing in Mara/The mill looks like a loss.");
    assert_snapshot!(stage.run(["log", "The mill", "-n", "2"]), @"
    Mara/The mill  chat, 1 message, 4 versions
    ! 4  today 06:46  5 messages removed from the end, 1 left, chat no longer bound to a lorebook
    … 3  today 05:06  message 2 edited (last good version)
    2 more: --all shows them.
    … not watched before this: versions may be missing.
    ");
}
