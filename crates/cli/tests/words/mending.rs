//! `repair`, `split`, `restore`, `strip`

use insta::assert_snapshot;

use crate::stage::Stage;

#[test]
fn a_lost_lorebook_comes_back_from_the_journal() {
    let stage = Stage::new();
    assert_snapshot!(stage.run(["repair", "Bereft", "--from", "journal"]), @r#"
    Repaired Alice/Bereft
      lorebook  "Lost", 3 entries, as of message 2 (from the journal)
      page      reload SillyTavern's page before you continue this chat
    "#);
    assert_snapshot!(stage.run(["verify", "Bereft"]), @"
    ok Alice/Bereft
    1 timeline verified: 0 problems, 0 notes
    ");
}

#[test]
fn every_source_of_a_repair_says_what_it_did() {
    assert_snapshot!(Stage::new().run(["repair", "Bereft", "--from", "book=Lore"]), @r#"
    Repaired Alice/Bereft
      lorebook  "Lost", 6 entries
      page      reload SillyTavern's page before you continue this chat
    "#);
    assert_snapshot!(Stage::new().run(["repair", "Garbled tale", "--from", "empty"]), @r#"
    Repaired Alice/Garbled tale
      lorebook  "Garbled", 0 entries
      before    in the trash; `forklore undo` brings it back
      page      reload SillyTavern's page before you continue this chat
    "#);
    assert_snapshot!(Stage::new().run(["repair", "Bereft", "--from", "detach"]), @"
    Repaired Alice/Bereft
      lorebook  none now
      page      reload SillyTavern's page before you continue this chat
    ");
    assert_snapshot!(Stage::new().run(["repair", "Bereft", "--from", "recap"]), @r#"
    -- stderr --
    Error: no scene break of "Bereft" has a complete copy of the lorebook
    Hint: Other sources: --from journal, --from book, --from empty, --from detach.
    -- exit 2 --
    "#);
    assert_snapshot!(Stage::new().run(["repair", "Bereft", "--from", "book"]), @"
    -- stderr --
    Error: Alice/Bereft has no parent with a lorebook to copy
    Hint: Name a lorebook: --from book=NAME.
    -- exit 2 --
    ");
    assert_snapshot!(Stage::new().run(["repair", "Bereft", "--from", "book=Nowhere"]), @r#"
    -- stderr --
    Error: there is no lorebook "Nowhere"
    -- exit 2 --
    "#);
}

#[test]
fn split_gives_each_timeline_its_own() {
    let stage = Stage::new();
    assert_snapshot!(stage.run(["split", "--all"]), @r#"
    Split Alice/Old tale - Branch #1
      lorebook  "Old tale - Branch #1 - Lore", 2 entries, a copy of the shared one
      page      reload SillyTavern's page before you continue this chat
      - the lorebook is as it is today, not as it was then
    "#);
    assert_snapshot!(stage.run(["split", "--all"]), @"No timeline shares its lorebook with another of its family.");
    assert_snapshot!(stage.run(["split", "Old tale"]), @r#"
    -- stderr --
    Error: "Alice/Old tale" does not share its lorebook with another chat
    -- exit 2 --
    "#);
}

#[test]
fn restore_goes_back_in_time_and_undo_returns() {
    let stage = Stage::new();
    let before = stage.scene.visible();
    assert_snapshot!(stage.run(["restore", "Story", "--at", "1"]), @r#"
    Restored Alice/Story
      lorebook  "Lore", 2 entries, exact (from the journal)
      before    in the trash; `forklore undo` brings it back
      page      reload SillyTavern's page before you continue this chat
    "#);
    assert_snapshot!(stage.run(["undo"]), @r#"
    Undone: returned "Lore", the lorebook of Alice/Story, to an earlier message
      default-user/worlds/Lore.json is as it was before
    "#);
    assert_eq!(stage.scene.visible(), before);
    assert_snapshot!(stage.run(["restore", "Story", "--at", "-1"]), @"
    -- stderr --
    Error: message 5 is the last one, so there is nothing to restore
    -- exit 2 --
    ");
    assert_snapshot!(stage.run(["restore", "Old tale", "--at", "1"]), @r#"
    -- stderr --
    Error: nothing recorded the lorebook of "Old tale" at message 1
    Hint: Only what was recorded at the time can be brought back.
    -- exit 2 --
    "#);
}

#[test]
fn an_open_chat_is_left_alone() {
    let stage = Stage::new();
    assert_snapshot!(stage.run(["repair", "Elsewhere", "--from", "detach"]), @r#"
    -- stderr --
    Error: "Elsewhere" is not bound to a lorebook
    -- exit 2 --
    "#);
    let bound = b"{\"chat_metadata\":{\"world_info\":\"Gone\"}}\n{\"mes\":\"a\"}";
    stage.scene.write("default-user/chats/Alice/Elsewhere.jsonl", bound);
    assert_snapshot!(stage.run(["repair", "Elsewhere", "--from", "detach"]), @r#"
    -- stderr --
    Error: "Alice/Elsewhere" may be open in SillyTavern: it is the chat that Alice opens with
    Hint: Open another chat in SillyTavern first, or close it. If no page has it open, add --closed.
    -- exit 2 --
    "#);
    assert_snapshot!(stage.run(["repair", "Elsewhere", "--from", "detach", "--closed"]), @"
    Repaired Alice/Elsewhere
      lorebook  none now
      page      reload SillyTavern's page before you continue this chat
    ");
}

#[test]
fn chats_that_use_the_same_lorebook_are_named() {
    let stage = Stage::new();
    let bound = b"{\"chat_metadata\":{\"world_info\":\"Lost\"}}\n{\"mes\":\"a\"}";
    stage.scene.write("default-user/chats/Alice/Bereft too.jsonl", bound);
    assert_snapshot!(stage.run(["repair", "Bereft", "--from", "journal"]), @r#"
    Repaired Alice/Bereft
      lorebook  "Lost", 3 entries, as of message 2 (from the journal)
      page      reload SillyTavern's page before you continue this chat
      - other chats use this lorebook too: Alice/Bereft too
    "#);
}

#[test]
fn strip_takes_the_journal_out() {
    let stage = Stage::new();
    assert_snapshot!(stage.run(["strip", "Story"]), @"Removed 6 journal records from Alice/Story");
    assert_snapshot!(stage.run(["strip", "Story"]), @r#"
    -- stderr --
    Error: "Alice/Story" has no journal
    -- exit 2 --
    "#);
}
