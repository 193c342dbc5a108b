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
      what you pushed or bundled: `forklore history push REMOTE --prune` removes it from a remote, but a host may keep it for a while
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

/// The second of four packs is gone, with the only copy of what was recorded then.
fn without_a_pack() -> Stage {
    let stage = with_history(Stage::new());
    let folder = stage.histories().join("default-user.git/objects/pack");
    let indexes = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    let mut indexes: Vec<PathBuf> =
        indexes.filter(|path| path.extension().is_some_and(|end| end == "idx")).collect();
    // They were written one after the other.
    indexes.sort_by_key(|path| fs::metadata(path).unwrap().modified().unwrap());
    for end in ["idx", "pack"] {
        fs::remove_file(indexes[1].with_extension(end)).unwrap();
    }
    stage
}

/// What `status` says from the problems on.
fn problems(said: &str) -> String {
    said.lines().skip_while(|line| !line.ends_with("problems")).collect::<Vec<_>>().join("\n")
}

#[test]
fn what_is_lost_for_good_stops_nothing_and_can_be_accepted() {
    let stage = without_a_pack();
    assert_snapshot!(stage.run(["log", "The mill"]), @r#"
    Mara/The mill  chat, 1 message, 3 versions
    ! 4  today 06:46       5 messages removed from the end, 1 left, chat no longer bound to a lorebook
    … 3  today 05:06       message 2 edited (last good version)
      1  2096-09-29 07:06  first seen, 3 messages, the last by Mara
    … not watched before this: versions may be missing.
    `forklore restore "Mara/The mill" --version 1` brings back its 3 messages.
    -- stderr --
      ! versions 2 to 3 of Mara/The mill cannot be read
    Hint: `forklore history repair` saves what can be saved, and deletes nothing.
    "#);
    assert_snapshot!(stage.run(["show", "The mill", "--version", "2"]), @r#"
    -- stderr --
    Error: version 2 of "Mara/The mill" cannot be read: the history is damaged there
    Hint: `forklore history verify` shows what is damaged.
    -- exit 2 --
    "#);
    assert_snapshot!(stage.run(["rescue"]), @"
    ! 1  today 06:46  Mara/The mill: only one message is left
    Choose what to bring back by number, name or character, or use --all; what would be done is shown first.
    -- stderr --
      ! versions 2 to 3 of Mara/The mill cannot be read
    Hint: `forklore history repair` saves what can be saved, and deletes nothing.
    -- exit 1 --
    ");
    assert_snapshot!(problems(&stage.run(["status"])), @r#"
    6 problems
      ! Mara/The mill: only one message is left in version 4, 20 minutes ago
      ! versions 2 to 3 of Mara/The mill cannot be read
      ! Alice/Bereft: its lorebook "Lost" does not exist
      ! Alice/Garbled tale: its lorebook "Garbled" cannot be read: it is not JSON: the text ends in the middle of a value
      ! Alice/Old tale - Branch #1: shares its lorebook "Shared" with "Old tale"
      ! Alice/Old tale: shares its lorebook "Shared" with "Old tale - Branch #1"
    `forklore restore "Mara/The mill" --version 1` brings back its 3 messages.
    `forklore history repair` saves what can be saved, and deletes nothing.
    `forklore split --all` gives every timeline its own lorebook.
    `forklore repair CHAT --from ...` gives a chat its lorebook back.
    2 lorebooks made by Forklore are unused; `forklore clean` moves them to the trash.
    -- exit 1 --
    "#);
    assert_snapshot!(run(&stage, &["dismiss", "--damage"]), @"
    Dismissed: what was recorded of Mara/The mill in version 2 is lost.
    Dismissed: message 3 of Mara/The mill in version 3 is lost.
    Dismissed: message 4 of Mara/The mill in version 3 is lost.
    Dismissed: message 5 of Mara/The mill in version 3 is lost.
    ");
    assert_snapshot!(run(&stage, &["repair"]), @"
    Repaired: reconnected 1 run of older versions, set 1 file aside. Nothing was deleted.
      set aside: $HISTORIES/default-user.git/forklore/damaged/1-packed-refs
    Read 164 objects in 3 packs ([size]): 24 versions of 20 files.
    Everything is sound but for what you know: 2 versions are lost.
    Set aside by repairs: 1 damaged file.
    ");
    assert_snapshot!(run(&stage, &["dismiss", "--damage"]), @"Nothing in the history is reported as damaged.");
    assert_snapshot!(run(&stage, &["verify"]), @"
    Read 164 objects in 3 packs ([size]): 24 versions of 20 files.
    Everything is sound but for what you know: 2 versions are lost.
    Set aside by repairs: 1 damaged file.
    ");
    let status = stage.run(["status"]);
    assert!(!status.contains("version 2 of"), "{status}");
}

#[test]
fn a_fork_from_a_damaged_history_says_so() {
    let stage = without_a_pack();
    assert_snapshot!(stage.run(["branch", "Mara/The mill", "--at", "0", "--allow", "live", "--dry-run"]), @"
    Would make the branch Mara/The mill - Branch #1 of Mara/The mill at message 0
      lorebook  none, exact (this is its last message)
    -- stderr --
      ! the history is damaged, so it may know less than was recorded: `forklore history verify` shows what
    ");
    let json = stage.run([
        "--json",
        "branch",
        "Mara/The mill",
        "--at",
        "0",
        "--allow",
        "live",
        "--dry-run",
    ]);
    assert!(json.contains("past-unread"), "{json}");
}

#[test]
fn a_damaged_history_is_repaired_before_anything_is_purged_from_it() {
    let stage = with_history(Stage::new());
    let pack = index(&stage).with_extension("pack");
    let mut bytes = fs::read(&pack).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle..].iter_mut().take(40).for_each(|byte| *byte = 0);
    fs::remove_file(&pack).unwrap();
    fs::write(&pack, bytes).unwrap();
    let said = run(&stage, &["purge", "The mill", "--yes"]);
    assert!(said.contains("It was repaired first; 2 damaged files set aside."), "{said}");
    assert!(said.contains("removed; none is left"), "{said}");
    assert!(stage.run(["log", "The mill"]).contains("nothing in the history is called"));
}
