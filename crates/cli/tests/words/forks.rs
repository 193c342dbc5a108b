//! `checkpoint` and `branch`

use insta::assert_snapshot;

use crate::stage::Stage;

#[test]
fn a_branch_says_where_its_lore_comes_from() {
    let stage = Stage::new();
    assert_snapshot!(stage.run(["branch", "Alice/Story", "--at", "2"]), @r#"
    Made the branch Alice/Story - Branch #1 of Alice/Story at message 2
      lorebook  "Story - Branch #1 - Lore", 3 entries, exact (from the journal)
    "#);
    assert_snapshot!(stage.run(["tree", "Alice"]), @r#"
    Alice
      Bereft                   main, 3 messages, "Lost"
         ! its lorebook "Lost" does not exist
      Elsewhere                main, 1 message, no lorebook
      Garbled tale             main, 2 messages, "Garbled"
         ! its lorebook "Garbled" cannot be read: it is not JSON: the text ends in the middle of a value
      Old tale                 main, 4 messages, "Shared" 2 entries
      │  ! shares its lorebook "Shared" with "Old tale - Branch #1"
      └─ Old tale - Branch #1  branch at 2, 3 messages, "Shared" 2 entries
            ! shares its lorebook "Shared" with "Old tale"
      Story                    main, 6 messages, "Lore" 6 entries
      └─ Story - Branch #1     branch at 2, 3 messages, "Story - Branch #1 - Lore" 3 entries, exact
    "#);
}

#[test]
fn a_checkpoint_is_linked_where_that_is_safe() {
    let stage = Stage::new();
    assert_snapshot!(stage.run(["checkpoint", "Story", "--at", "1", "--name", "Before the storm"]), @r#"
    Made the checkpoint Alice/Before the storm of Alice/Story at message 1
      lorebook  "Before the storm - Lore", 2 entries, exact (from the journal)
      link      from message 1
    "#);
    assert_snapshot!(stage.run(["checkpoint", "Story", "--at", "1"]), @r#"
    Made the checkpoint Alice/Story - Checkpoint #1 of Alice/Story at message 1
      lorebook  "Story - Checkpoint #1 - Lore", 2 entries, exact (from the journal)
      link      none: the message already links to "Before the storm"
    "#);
    assert_snapshot!(stage.run(["checkpoint", "Elsewhere"]), @"
    Made the checkpoint Alice/Elsewhere - Checkpoint #1 of Alice/Elsewhere at message 0
      lorebook  none, exact (this is its last message)
      link      none: the chat may be open in SillyTavern (it is the chat that Alice opens with); if it is not, add --closed
    ");
}

#[test]
fn a_group_lists_its_new_chat() {
    assert_snapshot!(Stage::new().run(["branch", "group:Quest", "--at", "1"]), @r#"
    Made the branch group:Quest - Branch #1 of group:Quest at message 1
      lorebook  "Quest - Branch #1 - Lore", 2 entries, exact (from the journal)
      group     Company lists it; reload the page if the group is open
    "#);
}

#[test]
fn a_dry_run_changes_nothing() {
    let stage = Stage::new();
    let before = stage.scene.all();
    assert_snapshot!(stage.run(["checkpoint", "Story", "--dry-run"]), @r#"
    Would make the checkpoint Alice/Story - Checkpoint #1 of Alice/Story at message 5
      lorebook  "Story - Checkpoint #1 - Lore", 6 entries, exact (this is its last message)
      link      from message 5
    "#);
    assert_eq!(stage.scene.all(), before);
}

#[test]
fn what_cannot_be_known_is_refused_with_a_way_out() {
    let stage = Stage::new();
    assert_snapshot!(stage.run(["branch", "Old tale", "--at", "1"]), @r#"
    -- stderr --
    Error: "Old tale" cannot be forked at message 1
      because nothing recorded the lorebook at that message; it is only known as it is today
    Hint: --allow live accepts the lorebook as it is today.
    -- exit 2 --
    "#);
    assert_snapshot!(stage.run(["branch", "Old tale", "--at", "1", "--allow", "live"]), @r#"
    Made the branch Alice/Old tale - Branch #2 of Alice/Old tale at message 1
      lorebook  "Old tale - Branch #2 - Lore", 2 entries, as it is today (nothing recorded it then)
      - the lorebook is as it is today, not as it was then
      - could not be restored to this message, so as it is today: the author's note
    "#);
    assert_snapshot!(stage.run(["branch", "Garbled tale"]), @r#"
    -- stderr --
    Error: "Garbled tale" cannot be forked at message 1
      because its lorebook "Garbled" cannot be read: it is not JSON: the text ends in the middle of a value
    Hint: `forklore repair CHAT --from ...` gives the chat its lorebook back; --without-book forks without one.
    -- exit 2 --
    "#);
    assert_snapshot!(stage.run(["branch", "Garbled tale", "--without-book"]), @r#"
    Made the branch Alice/Garbled tale - Branch #1 of Alice/Garbled tale at message 1
      lorebook  none
      - the lorebook "Garbled" was not copied: it cannot be read
    "#);
}

#[test]
fn a_name_that_sillytavern_would_change_is_refused() {
    let stage = Stage::new();
    assert_snapshot!(stage.run(["checkpoint", "Story", "--name", "a/b: c"]), @r#"
    -- stderr --
    Error: could not name the new chat "a/b: c"
      because SillyTavern would save it as "ab c"
    Hint: Use "ab c" instead.
    -- exit 2 --
    "#);
    assert_snapshot!(stage.run(["checkpoint", "Story", "--name", "old TALE"]), @r#"
    -- stderr --
    Error: could not name the new chat "old TALE"
      because "Old tale" already exists
    -- exit 2 --
    "#);
    assert_snapshot!(stage.run(["checkpoint", "Story", "--name", "CON"]), @r#"
    -- stderr --
    Error: could not name the new chat "CON"
      because the name is empty once SillyTavern has cleaned it
    -- exit 2 --
    "#);
}

#[test]
fn a_lorebook_that_is_also_selected_elsewhere_is_remarked() {
    let stage = Stage::new();
    let bound = b"{\"chat_metadata\":{\"world_info\":\"Common\"}}\n{\"mes\":\"a\"}";
    stage.scene.write("default-user/chats/Alice/Common tale.jsonl", bound);
    assert_snapshot!(stage.run(["branch", "Common tale"]), @r#"
    Made the branch Alice/Common tale - Branch #1 of Alice/Common tale at message 0
      lorebook  "Common tale - Branch #1 - Lore", 1 entry, exact (this is its last message)
      - the lorebook is also selected for all chats, so both copies can be active in the child
      - the lorebook is also selected on the card of "Alice", so both copies can be active in the child
    "#);
}

#[test]
fn text_from_a_chat_cannot_steer_the_terminal() {
    let stage = Stage::in_colour();
    let hostile = b"{\"chat_metadata\":{\"world_info\":\"\\u001b[2Jgone\",\"main_chat\":\"\\u001b]0;x\\u0007\"}}\n{\"mes\":\"a\"}";
    stage.scene.write("default-user/chats/Alice/x\u{1b}[31m.jsonl", hostile);
    for command in [vec!["status"], vec!["tree"], vec!["verify", "--all"]] {
        let shown = stage.run(command);
        let ours = ["\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[31m", "\x1b[32m", "\x1b[33m"];
        let rest = ours.iter().fold(shown.clone(), |rest, code| rest.replace(code, ""));
        assert!(!rest.contains('\x1b') && !rest.contains('\x07'), "{rest:?}");
        assert!(shown.contains("x\\u{1b}[31m"), "{shown:?}");
    }
}
