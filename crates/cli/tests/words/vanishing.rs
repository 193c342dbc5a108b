//! Files that vanished, as reported by `status`, `record`, `undelete`, `clean` and `history
//! dismiss`.
#![expect(clippy::unwrap_used, reason = "the helpers are tests too")]

use std::fs;

use forklore_json::Json;
use insta::assert_snapshot;

use crate::history::{DAY, HOUR, book, remove, tale, write};
use crate::stage::Stage;

fn with_ada() -> Stage {
    let stage = Stage::new();
    for (name, messages) in [("The harbour", 27), ("The pier", 4), ("A word", 1)] {
        write(&stage, &format!("chats/Ada/{name}.jsonl"), &tale(name, messages), DAY);
    }
    write(&stage, "chats/Ada/More/deep.txt", b"no chat", DAY);
    let _ = stage.run(["record"]);
    stage
}

fn remove_ada(stage: &Stage) {
    fs::remove_dir_all(stage.scene.root().join("default-user/chats/Ada")).unwrap();
}

/// The lines about files that are gone, and how to restore them.
fn about_gone(said: &str) -> String {
    let is_about = |line: &&str| {
        [" gone", "undelete", "dismiss", "Brought", "Would bring"]
            .iter()
            .any(|it| line.contains(it))
    };
    said.lines().filter(is_about).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_folder_of_chats_that_vanished_is_a_loss() {
    let stage = with_ada();
    assert_snapshot!(about_gone(&stage.run(["status"])), @"");
    remove_ada(&stage);
    assert_snapshot!(about_gone(&stage.run(["status"])), @r#"
      ! 3 chats of Ada are gone, with 32 messages; this loss is not recorded yet
    `forklore undelete "Ada" --lost` brings them back. If you deleted them: `forklore history dismiss "Ada"`.
    "#);
    assert_snapshot!(stage.run(["record"]), @r#"
    Recorded 3 changes in 18 files.
      Ada/A word: chat deleted
      Ada/The harbour: chat deleted
      Ada/The pier: chat deleted
    -- stderr --
      ! 3 chats of Ada are gone, with 32 messages. This looks like a loss; their versions are kept.
        Hint: `forklore undelete "Ada" --lost` brings them back. If you deleted them: `forklore history dismiss "Ada"`.
    -- exit 1 --
    "#);
    let stage = stage.later(300);
    assert_snapshot!(about_gone(&stage.run(["status"])), @r#"
      ! 3 chats of Ada are gone, with 32 messages; noticed 5 minutes ago
    `forklore undelete "Ada" --lost` brings them back. If you deleted them: `forklore history dismiss "Ada"`.
    "#);
    let json = stage.run(["--json", "status"]);
    let json = Json::parse(json.split("-- ").next().unwrap().as_bytes()).unwrap();
    let gone = json.at(&["history", "gone"]).and_then(Json::as_array).expect("it is listed");
    assert_eq!(gone[0].get("files").and_then(Json::as_array).map(<[Json]>::len), Some(3));
    // An unrelated recording does not report it again.
    assert_snapshot!(stage.run(["record"]), @"Nothing changed in 18 files.");

    assert_snapshot!(stage.run(["undelete", "Ada", "--lost", "--dry-run"]), @"
    Would bring back Ada/A word
      holds  1 message
    Would bring back Ada/The harbour
      holds  27 messages
    Would bring back Ada/The pier
      holds  4 messages
    ");
    assert_snapshot!(stage.run(["undelete", "Ada", "--lost"]), @"
    Brought back Ada/A word
      holds  1 message
      page   open it in SillyTavern like any other chat
    Brought back Ada/The harbour
      holds  27 messages
      page   open it in SillyTavern like any other chat
    Brought back Ada/The pier
      holds  4 messages
      page   open it in SillyTavern like any other chat
    ");
    assert_snapshot!(about_gone(&stage.run(["status"])), @"");
    assert_snapshot!(stage.run(["undelete", "--lost"]), @"Nothing is reported as gone.");
}

#[test]
fn what_was_meant_to_go_is_not_named_again() {
    let stage = with_ada();
    remove_ada(&stage);
    let _ = stage.run(["record"]);
    assert_snapshot!(stage.run(["history", "dismiss", "Ada"]), @"
    Dismissed: Ada/A word is gone. Its versions stay.
    Dismissed: Ada/The harbour is gone. Its versions stay.
    Dismissed: Ada/The pier is gone. Its versions stay.
    ");
    assert_snapshot!(about_gone(&stage.run(["status"])), @"");
    assert_snapshot!(stage.run(["undelete", "--lost"]), @"Nothing is reported as gone.");
    // They can be restored nevertheless.
    let said = stage.run(["undelete", "Ada/The harbour"]);
    assert!(said.starts_with("Brought back Ada/The harbour"), "{said}");
}

#[test]
fn after_some_weeks_it_is_no_news() {
    let stage = with_ada();
    remove_ada(&stage);
    let _ = stage.run(["record"]);
    let stage = stage.later(29 * DAY);
    assert!(about_gone(&stage.run(["status"])).contains("3 chats of Ada are gone"));
    let stage = stage.later(2 * DAY);
    assert_snapshot!(about_gone(&stage.run(["status"])), @"");
}

#[test]
fn one_chat_that_is_gone_is_a_loss_if_it_was_long() {
    let stage = with_ada();
    remove(&stage, "chats/Ada/The pier.jsonl");
    let _ = stage.run(["record"]);
    assert_snapshot!(about_gone(&stage.run(["status"])), @"");
    write(&stage, "chats/Ada/The voyage.jsonl", &tale("The voyage", 50), DAY);
    let _ = stage.run(["record"]);
    remove(&stage, "chats/Ada/The voyage.jsonl");
    let stage = stage.later(HOUR);
    assert_snapshot!(about_gone(&stage.run(["status"])), @r#"
      ! Ada/The voyage is gone, with 50 messages; this loss is not recorded yet
    `forklore undelete "Ada/The voyage"` brings it back. If you deleted it: `forklore history dismiss "Ada/The voyage"`.
    "#);
}

#[test]
fn branches_that_are_deleted_take_nothing_along() {
    let stage = Stage::new();
    write(&stage, "chats/Ada/Main.jsonl", &tale("Main", 60), DAY);
    for branch in ["One", "Two"] {
        let mut bytes = tale("Main", 55);
        bytes.extend(format!("\n{{\"name\":\"Ada\",\"mes\":\"{branch}\"}}").as_bytes());
        write(&stage, &format!("chats/Ada/{branch}.jsonl"), &bytes, DAY);
    }
    let _ = stage.run(["record"]);
    remove(&stage, "chats/Ada/One.jsonl");
    remove(&stage, "chats/Ada/Two.jsonl");
    assert_snapshot!(about_gone(&stage.run(["status"])), @"");
    assert!(!stage.run(["record"]).contains("exit"));
    assert_snapshot!(about_gone(&stage.run(["status"])), @"");
}

#[test]
fn a_character_that_was_renamed_is_not_gone() {
    let stage = with_ada();
    let chats = stage.scene.root().join("default-user/chats");
    fs::rename(chats.join("Ada"), chats.join("Ada Lovelace")).unwrap();
    assert_snapshot!(about_gone(&stage.run(["status"])), @"");
    assert!(!stage.run(["record"]).contains("exit"));
    assert_snapshot!(about_gone(&stage.run(["status"])), @"");
}

#[test]
fn lorebooks_that_vanish_together_are_a_loss_and_those_that_clean_took_are_none() {
    let stage = Stage::new();
    write(&stage, "worlds/Sea.json", &book(&[("Sea", "Deep."), ("Salt", "White.")]), DAY);
    write(&stage, "worlds/Sky.json", &book(&[("Sky", "High."), ("Sun", "Hot.")]), DAY);
    let _ = stage.run(["record"]);
    let _ = stage.run(["clean", "--yes"]);
    assert!(!stage.run(["record"]).contains("This looks like a loss"));
    remove(&stage, "worlds/Sea.json");
    remove(&stage, "worlds/Sky.json");
    assert_snapshot!(about_gone(&stage.run(["status"])), @"
      ! 2 lorebooks are gone, with 4 entries; this loss is not recorded yet
    `forklore undelete --lost` brings them back. If you deleted them: `forklore history dismiss --gone`.
    ");
}

#[test]
fn clean_leaves_the_lorebooks_of_chats_that_vanished() {
    let stage = Stage::new();
    let _ = stage.run(["clean", "--yes"]);
    let _ = stage.run(["branch", "Story", "--at", "2"]);
    let _ = stage.run(["record"]);
    remove(&stage, "chats/Alice/Story - Branch #1.jsonl");
    let status = stage.run(["status"]);
    assert!(!status.contains("forklore clean"), "{status}");
    assert_snapshot!(stage.run(["clean", "--yes"]), @r#"
    Nothing to clean.
      - "Story - Branch #1 - Lore": kept, because Alice/Story - Branch #1 was deleted recently; --despite-deleted moves it too
    "#);
    let _ = stage.run(["record"]);
    assert!(!stage.run(["status"]).contains("forklore clean"));
    assert_snapshot!(stage.run(["clean", "--dry-run"]), @r#"
    Nothing to clean.
      - "Story - Branch #1 - Lore": kept, because Alice/Story - Branch #1 was deleted recently; --despite-deleted moves it too
    "#);
    assert_snapshot!(stage.run(["clean", "--dry-run", "--despite-deleted"]), @r#"
    Unused:
      "Story - Branch #1 - Lore"  made for "Story - Branch #1", 988 bytes
    "#);
    // After a month it is no longer protected.
    let stage = stage.later(31 * DAY);
    assert!(stage.run(["status"]).contains("forklore clean"));
}

#[test]
fn clean_moves_nothing_while_the_history_cannot_be_asked() {
    let stage = Stage::new();
    let _ = stage.run(["record"]);
    let refs = stage.histories().join("default-user.git/packed-refs");
    fs::remove_file(&refs).unwrap();
    fs::create_dir(&refs).unwrap();
    assert_snapshot!(stage.run(["clean", "--yes"]), @r#"
    Nothing to clean.
      - "Gone - Lore": kept, because something could not be read
      - "Gone too - Lore": kept, because something could not be read
      ! the history (could not read `$HISTORIES/default-user.git/packed-refs`: it is not a regular file) could not be read, and may refer to anything
    -- exit 1 --
    "#);
}
