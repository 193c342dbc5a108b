//! `forklore rescue`: what it lists, and what it restores.
#![expect(clippy::unwrap_used, reason = "the helpers are tests too")]

use std::fs;

use forklore_json::Json;
use insta::assert_snapshot;

use crate::history::{DAY, HOUR, book, remove, tale, with_history, write};
use crate::stage::Stage;

/// A chat cut down to its greeting, a deleted lorebook, and a missing folder of chats.
fn after_a_bad_evening() -> Stage {
    let stage = Stage::new();
    write(&stage, "chats/Ada/The harbour.jsonl", &tale("The harbour", 27), DAY);
    write(&stage, "chats/Ada/The pier.jsonl", &tale("The pier", 4), DAY);
    write(&stage, "chats/Bo/Alone.jsonl", &tale("Alone", 12), DAY);
    write(&stage, "worlds/Lost lore.json", &book(&[("Mara", "Captain.")]), DAY);
    let _ = stage.run(["record"]);
    write(&stage, "chats/Bo/Alone.jsonl", &tale("Alone", 1), HOUR);
    let _ = stage.run(["record"]);
    remove(&stage, "worlds/Lost lore.json");
    fs::remove_dir_all(stage.scene.root().join("default-user/chats/Ada")).unwrap();
    stage
}

#[test]
fn all_that_is_lost_is_in_one_list() {
    let stage = after_a_bad_evening();
    assert_snapshot!(stage.run(["rescue"]), @"
    ! 1  today 07:06  Lost lore: deleted lorebook, 1 entry
    ! 2  today 07:06  Ada/The pier: deleted chat, 4 messages
    ! 3  today 07:06  Ada/The harbour: deleted chat, 27 messages
    ! 4  today 06:06  Bo/Alone: only one message is left
    Choose what to bring back by number, name or character, or use --all; what would be done is shown first.
    -- exit 1 --
    ");
    assert_snapshot!(stage.run(["rescue", "--since", "30min"]), @"
    ! 1  today 07:06  Lost lore: deleted lorebook, 1 entry
    ! 2  today 07:06  Ada/The pier: deleted chat, 4 messages
    ! 3  today 07:06  Ada/The harbour: deleted chat, 27 messages
    Choose what to bring back by number, name or character, or use --all; what would be done is shown first.
    -- exit 1 --
    ");
    let json = stage.run(["--json", "rescue"]);
    let json = Json::parse(json.split("-- ").next().unwrap().as_bytes()).unwrap();
    let files = json.get("files").and_then(Json::as_array).unwrap();
    assert_eq!(files.len(), 4);
}

#[test]
fn what_is_chosen_comes_back_and_the_plan_is_shown_first() {
    let stage = after_a_bad_evening();
    assert_snapshot!(stage.run(["rescue", "Ada"]), @"
    Would bring back 2 files:
      would come back: Ada/The pier
      would come back: Ada/The harbour
    -- stderr --
    Error: nothing was brought back: confirmation needs a terminal
    Hint: Use --yes to bring it back, or --dry-run to only look.
    -- exit 2 --
    ");
    assert_snapshot!(stage.run(["rescue", "Ada", "--dry-run"]), @"
    Would bring back 2 files:
      would come back: Ada/The pier
      would come back: Ada/The harbour
    ");
    assert_snapshot!(stage.run(["rescue", "Ada", "--yes"]), @"
      came back: Ada/The pier
      came back: Ada/The harbour
    Brought back 2 files. Reload SillyTavern's page before you continue.
    ");
    assert_snapshot!(stage.run(["rescue", "lost lore", "--yes"]), @"  came back: Lost lore");
    assert_snapshot!(stage.run(["rescue", "1", "--yes"]), @"  came back: Bo/Alone as Bo/Alone - restored 1");
    assert_snapshot!(stage.run(["rescue"]), @"Nothing is lost, damaged or deleted, as far as the history knows.");
    assert_snapshot!(stage.run(["rescue", "7"]), @"
    -- stderr --
    Error: number 7 is not in the list
    Hint: `forklore rescue` shows the list.
    -- exit 2 --
    ");
    assert_snapshot!(stage.run(["rescue", "Adda"]), @r#"
    -- stderr --
    Error: nothing in the history is called "Adda"
    Hint: Did you mean: "Ada/The harbour", or "Ada/The pier"?
    -- exit 2 --
    "#);
    assert_snapshot!(stage.run(["rescue", "--all"]), @"There is nothing to bring back.");
}

#[test]
fn forty_chats_and_the_settings_come_back_at_once() {
    let stage = Stage::new();
    for at in 0..40 {
        let name = format!("Story {at}");
        write(&stage, &format!("chats/Ada/{name}.jsonl"), &tale(&name, 5), DAY);
    }
    let settings = "{\n    \"power_user\": {\n        \"name\": \"Ada\"\n    },\n    \"world_info\": {},\n    \"swipes\": true,\n    \"theme\": \"dark\"\n}";
    write(&stage, "settings.json", settings.as_bytes(), DAY);
    let _ = stage.run(["record"]);
    fs::remove_dir_all(stage.scene.root().join("default-user/chats/Ada")).unwrap();
    write(&stage, "settings.json", b"{}", HOUR);
    let said = stage.run(["rescue", "--all", "--closed", "--yes"]);
    assert!(said.contains("Brought back 41 files."), "{said}");
    let there = fs::read_dir(stage.scene.root().join("default-user/chats/Ada")).unwrap().count();
    assert_eq!(there, 40);
    let now = fs::read_to_string(stage.scene.root().join("default-user/settings.json")).unwrap();
    assert_eq!(now, settings);
    assert_snapshot!(stage.run(["rescue"]), @"Nothing is lost, damaged or deleted, as far as the history knows.");
}

#[test]
fn without_a_history_there_is_nothing_to_come_back_from() {
    assert_snapshot!(Stage::new().run(["rescue"]), @"
    -- stderr --
    Error: there is no history at `$HISTORIES/default-user.git`
    Hint: `forklore record` starts one, and `forklore watch` keeps it up to date.
    -- exit 2 --
    ");
}

#[test]
fn what_was_another_at_a_time_goes_back_to_how_it_was() {
    let stage = with_history(Stage::new());
    assert_snapshot!(stage.run(["rescue", "--as-of", "4h"]), @"
      1  today 02:06       Mara/The mill: was version 2: messages 3 to 5
      2  2096-09-29 07:06  Mill: was version 1: first seen, 1 entry
    Choose what to bring back by number, name or character, or use --all; what would be done is shown first.
    ");
    assert_snapshot!(stage.run(["rescue", "Mara", "--as-of", "4h", "--yes"]), @"  came back: Mara/The mill as Mara/The mill - restored 2");
    assert_snapshot!(stage.run(["rescue", "Mill", "--as-of", "4h", "--yes", "--closed"]), @"  came back: Mill");
    let early = stage.run(["rescue", "--as-of", "2000-01-01"]);
    assert!(early.contains("Error: nothing is known from before 20"), "{early}");
    let late = stage.run(["rescue", "--as-of", "2200-01-01"]);
    assert!(late.contains("Error: that time is in the future"), "{late}");
}

#[test]
fn beside_a_torn_chat_there_is_a_way_on() {
    let stage = Stage::new();
    let story = tale("The harbour", 27);
    write(&stage, "chats/Ada/The harbour.jsonl", &story, DAY);
    let _ = stage.run(["record"]);
    write(&stage, "chats/Ada/The harbour.jsonl", &story[..story.len() - 9], HOUR);
    let _ = stage.run(["record"]);
    let rescued = stage.run(["rescue", "--all", "--yes"]);
    assert!(rescued.contains("as Ada/The harbour - restored 1"), "{rescued}");
    let status = stage.run(["status"]);
    let way = status.lines().find(|line| line.contains("whole again")).unwrap_or_default();
    assert_snapshot!(way, @r#"Close every page of SillyTavern; then `forklore restore "Ada/The harbour" --version 1 --in-place --closed` makes Ada/The harbour whole again. If you go on in a copy of it, delete the damaged one in SillyTavern."#);
    let args = ["restore", "Ada/The harbour", "--version", "1", "--in-place", "--closed"];
    let restored = stage.run(args);
    assert!(restored.starts_with("Restored Ada/The harbour to version 1"), "{restored}");
    assert!(!stage.run(["status"]).contains("whole again"));
}
