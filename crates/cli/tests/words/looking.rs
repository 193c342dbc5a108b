//! `status`, `tree`, `check`, `show`, `verify`

use insta::assert_snapshot;

use crate::history::{DAY, chat, write};
use crate::stage::Stage;

#[test]
fn status_fits_on_one_screen() {
    assert_snapshot!(Stage::new().run(["status"]), @r#"
    Stories of default-user  in $DATA
      1 character, 1 group, 8 chats in 7 families
      7 main, 0 checkpoints, 1 branch
      7 lorebooks, 2 made by Forklore, 2 unused

    4 problems
      ! Alice/Bereft: its lorebook "Lost" does not exist
      ! Alice/Garbled tale: its lorebook "Garbled" cannot be read: it is not JSON: the text ends in the middle of a value
      ! Alice/Old tale - Branch #1: shares its lorebook "Shared" with "Old tale"
      ! Alice/Old tale: shares its lorebook "Shared" with "Old tale - Branch #1"
    `forklore split --all` gives every timeline its own lorebook.
    `forklore repair CHAT --from ...` gives a chat its lorebook back.
    2 lorebooks made by Forklore are unused; `forklore clean` moves them to the trash.
    `forklore watch` keeps every version of every chat and lorebook.
    -- exit 1 --
    "#);
}

#[test]
fn the_tree_shows_who_descends_from_whom() {
    assert_snapshot!(Stage::new().run(["tree"]), @r#"
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

    Group Company
      Meeting  main, 1 message, no lorebook
      Quest    main, 4 messages, "Quest lore" 4 entries
    "#);
    assert_snapshot!(Stage::new().run(["tree", "company"]), @r#"
    Group Company
      Meeting  main, 1 message, no lorebook
      Quest    main, 4 messages, "Quest lore" 4 entries
    "#);
}

#[test]
fn check_gives_every_reason_and_remark() {
    let stage = Stage::new();
    assert_snapshot!(stage.run(["check", "Alice/Story", "--at", "2"]), @r#"
    Ready: Alice/Story can be forked at message 2
      lorebook  "Lore", exact (from the journal)
      metadata  exact (from the journal)
    "#);
    assert_snapshot!(stage.run(["check", "Old tale", "--at", "1"]), @r#"
    Not ready: Alice/Old tale cannot be forked at message 1
      lorebook  "Shared", as it is today (nothing recorded it then)
      metadata  as it is today (nothing recorded it then)
      ! nothing recorded the lorebook at that message; it is only known as it is today
      - could not be restored to this message, so as it is today: the author's note
    --allow live accepts the lorebook as it is today.
    -- exit 1 --
    "#);
    assert_snapshot!(stage.run(["check", "Bereft", "--at", "-1", "--allow", "exact"]), @r#"
    Not ready: Alice/Bereft cannot be forked at message 2
      lorebook  "Lost", as last seen at this message (from the journal)
      metadata  exact (this is its last message)
      ! the lorebook is only known as of message 2
    --allow snapshot accepts what is known, and says how well.
    -- exit 1 --
    "#);
    assert_snapshot!(stage.run(["check", "Garbled tale"]), @r#"
    Not ready: Alice/Garbled tale cannot be forked at message 1
      lorebook  not known
      metadata  exact (this is its last message)
      ! its lorebook "Garbled" cannot be read: it is not JSON: the text ends in the middle of a value
    `forklore repair CHAT --from ...` gives the chat its lorebook back; --without-book forks without one.
    -- exit 1 --
    "#);
}

#[test]
fn show_prints_the_lorebook_of_then_and_how_it_is_known() {
    assert_snapshot!(Stage::new().run(["show", "Alice/Story", "--at", "0"]), @r#"
    {
        "entries": {
            "0": {
                "uid": 0,
                "key": [
                    "entry 0"
                ],
                "comment": "entry 0",
                "content": "lore 0"
            }
        }
    }-- stderr --
    "Lore" at message 0: exact (from the journal)
    "#);
}

#[test]
fn verify_says_what_is_wrong_and_exits_with_1() {
    let stage = Stage::new();
    assert_snapshot!(stage.run(["verify", "--all"]), @r#"
    Alice/Bereft
      ! its lorebook "Lost" does not exist
    Alice/Garbled tale
      ! its lorebook "Garbled" cannot be read: it is not JSON: the text ends in the middle of a value
    Alice/Old tale - Branch #1
      ! shares its lorebook "Shared" with "Old tale"
    Alice/Old tale
      ! shares its lorebook "Shared" with "Old tale - Branch #1"
    8 timelines verified: 4 problems, 1 note; --notes shows it
    -- exit 1 --
    "#);
    assert_snapshot!(stage.run(["verify", "Alice/Story", "Quest"]), @"
    ok Alice/Story
    ok group:Quest
    2 timelines verified: 0 problems, 0 notes
    ");
}

#[test]
fn damage_is_reported_with_its_line() {
    let stage = Stage::new();
    let torn = b"{\"chat_metadata\":{}}\n{\"mes\":\"a\"}\nnot json\n{\"mes\":\"b\"}\n{\"mes\":\"c";
    stage.scene.write("default-user/chats/Alice/Torn.jsonl", torn);
    stage.scene.write(
        "default-user/chats/Alice/Marked.jsonl",
        b"\xef\xbb\xbf{\"chat_metadata\":{}}\n{\"mes\":\"a\"}",
    );
    assert_snapshot!(stage.run(["verify", "Torn", "Marked"]), @"
    Alice/Marked
      ! the file begins with a byte-order mark, so SillyTavern does not find its header
      ! the file has no header, so SillyTavern takes the first message for it
    Alice/Torn
      ! line 3 is not JSON; SillyTavern drops it
      ! line 5, the last, is cut off
    2 timelines verified: 4 problems, 0 notes
    -- exit 1 --
    ");
}

#[test]
fn a_lorebook_that_many_use_is_named_once() {
    let stage = Stage::new();
    for name in ["One", "Two", "Three"] {
        let chat = chat(Some("Lore"), &[("Ada", name)]);
        write(&stage, &format!("chats/Ada/{name}.jsonl"), &chat, DAY);
    }
    let said = stage.run(["verify", "--notes"]);
    let about: Vec<&str> = said.lines().filter(|line| line.contains("is used by")).collect();
    assert_snapshot!(about.join("\n"), @r#"- lorebook "Lore" is used by 4 chats: Ada/One, Ada/Three, Ada/Two, Alice/Story"#);
    assert!(stage.run(["verify", "Ada/One"]).contains("Ada/Two"));
}

#[test]
fn what_a_chat_leaves_out_is_a_note_unless_it_has_nothing_instead() {
    let stage = Stage::new();
    stage.scene.write(
        "default-user/chats/Alice/Own copy.jsonl",
        br#"{"chat_metadata":{"world_info":"Lore","forklore_instead":["Eldoria"]}}
{"mes":"a"}"#,
    );
    stage.scene.write(
        "default-user/chats/Alice/Unbound.jsonl",
        br#"{"chat_metadata":{"forklore_instead":["Eldoria"]}}
{"mes":"a"}"#,
    );
    assert_snapshot!(stage.run(["verify", "Own copy", "Unbound"]), @r#"
    Alice/Own copy
      - its lorebook "Lore" is also used by "Alice/Story"
      - leaves out "Eldoria", which its own copy replaces
    Alice/Unbound
      ! has no lorebook: its own copy of "Eldoria" is missing, so the shared one is used
    2 timelines verified: 1 problem, 2 notes
    -- exit 1 --
    "#);
}
