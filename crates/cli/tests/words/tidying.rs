//! `clean`, `trash`, `undo`

use insta::assert_snapshot;

use crate::stage::Stage;

#[test]
fn clean_shows_its_plan_and_asks() {
    let stage = Stage::new();
    assert_snapshot!(stage.run(["clean", "--dry-run"]), @r#"
    Unused:
      "Gone - Lore"  made for "Gone", 874 bytes
      "Gone too - Lore"  made for "Gone too", 526 bytes
    "#);
    assert_snapshot!(stage.run(["clean"]), @r#"
    Unused:
      "Gone - Lore"  made for "Gone", 874 bytes
      "Gone too - Lore"  made for "Gone too", 526 bytes
    -- stderr --
    Error: nothing was moved: confirmation needs a terminal
    Hint: Use --yes to move them, or --dry-run to only look.
    -- exit 2 --
    "#);
    assert_snapshot!(stage.run(["clean", "--yes"]), @r#"
    Unused:
      "Gone - Lore"  made for "Gone", 874 bytes
      "Gone too - Lore"  made for "Gone too", 526 bytes
    Moved 2 lorebooks to the trash. `forklore undo` brings them back.
    "#);
    assert_snapshot!(stage.run(["trash"]), @r#"
    1.0  default-user/worlds/Gone - Lore.json  874 bytes, today 07:06, moved "Gone - Lore", "Gone too - Lore" to the trash
    1.1  default-user/worlds/Gone too - Lore.json  526 bytes, today 07:06, moved "Gone - Lore", "Gone too - Lore" to the trash
    "#);
    assert_snapshot!(stage.run(["undo"]), @r#"
    Undone: moved "Gone - Lore", "Gone too - Lore" to the trash
      default-user/worlds/Gone - Lore.json comes back from the trash
      default-user/worlds/Gone too - Lore.json comes back from the trash
    "#);
}

#[test]
fn something_in_the_trash_can_be_put_back_alone() {
    let stage = Stage::new();
    let _ = stage.run(["clean", "--yes"]);
    assert_snapshot!(stage.run(["trash", "restore", "1.1"]), @"Put back default-user/worlds/Gone too - Lore.json");
    assert_snapshot!(stage.run(["trash", "restore", "7"]), @r#"
    -- stderr --
    Error: there is no "7" in the trash
    Hint: `forklore trash` lists everything in it, with numbers.
    -- exit 2 --
    "#);
    assert_snapshot!(stage.run(["trash", "empty"]), @"
    The trash holds 2 files (1400 bytes).
    -- stderr --
    Error: the trash was not emptied: confirmation needs a terminal
    Hint: Use --yes to empty it. Neither this nor any earlier operation can be undone afterwards.
    -- exit 2 --
    ");
    assert_snapshot!(stage.run(["trash", "empty", "--yes"]), @"
    The trash holds 2 files (1400 bytes).
    Removed 2 files.
    ");
    assert_snapshot!(stage.run(["trash", "list"]), @"The trash is empty.");
}

#[test]
fn undo_refuses_to_destroy_later_work() {
    let stage = Stage::new();
    assert_snapshot!(stage.run(["undo"]), @"
    -- stderr --
    Error: there is nothing to undo
    -- exit 2 --
    ");
    let _ = stage.run(["branch", "Story", "--at", "2"]);
    let child = "default-user/chats/Alice/Story - Branch #1.jsonl";
    let mut bytes = stage.scene.all()[child].clone();
    bytes.extend(b"\n{\"mes\":\"later\"}");
    stage.scene.write(child, &bytes);
    assert_snapshot!(stage.run(["undo", "--dry-run"]), @r#"
    Would undo: made the branch "Story - Branch #1" of Alice/Story at message 2
      default-user/worlds/Story - Branch #1 - Lore.json goes to the trash
      default-user/chats/Alice/Story - Branch #1.jsonl has changed since, so this cannot be undone
    -- exit 2 --
    "#);
    assert_snapshot!(stage.run(["undo"]), @"
    -- stderr --
    Error: `default-user/chats/Alice/Story - Branch #1.jsonl` was changed again after operation 1
    Hint: Undoing would destroy that change, so nothing was done. `forklore trash` lists what was replaced or removed, and brings single files back.
    -- exit 2 --
    ");
    assert_eq!(stage.scene.all()[child], bytes);
}

#[test]
fn an_earlier_operation_is_undone_by_its_number() {
    let stage = Stage::new();
    let before = stage.scene.visible();
    let _ = stage.run(["branch", "Story", "--at", "2"]);
    let _ = stage.run(["branch", "Story", "--at", "1"]);
    let child = "default-user/chats/Alice/Story - Branch #2.jsonl";
    let mut bytes = stage.scene.all()[child].clone();
    bytes.extend(b"\n{\"mes\":\"later\"}");
    stage.scene.write(child, &bytes);
    let refused = stage.run(["undo"]);
    assert!(refused.contains("`forklore undo 1` undoes an earlier one"), "{refused}");
    assert!(stage.run(["undo", "7"]).contains("there is no operation 7"));
    assert!(stage.run(["undo", "1"]).starts_with("Undone: "));
    let after = stage.scene.visible();
    assert!(before.iter().all(|(path, bytes)| after.get(path) == Some(bytes)));
    // The second one is still as it was: a chat and its lorebook.
    assert_eq!(after.len(), before.len() + 2);
    assert!(stage.run(["undo", "1"]).contains("there is no operation 1"));
}
