//! `diff`

use insta::assert_snapshot;
use serde_json::json;

use crate::history::{HOUR, book as history_book, chat, write};
use crate::lore::{BRANCH, BRANCH_LORE, LORE, conflicting, diverged, edit, entry};
use crate::stage::Stage;

#[test]
fn two_timelines_are_compared_with_what_both_began_as() {
    let stage = diverged(Stage::new());
    assert_snapshot!(stage.run(["diff", BRANCH, "Story"]), @"
    Comparing Alice/Story - Branch #1 with Alice/Story
      base  message 2, the fork point (verified by its seal)

    Entries
    ~ entry 0  changed in Story - Branch #1 and in Story
        keys     Story: entry 0, {+zero+}
        content  Story: lore 0{+ of the story+}
        order    Story - Branch #1: not set → 200

    ~ entry 2  changed in Story - Branch #1
        content  lore 2{+ of the branch+}

    + entry 3  added in Story
        keys     entry 3
        content  lore 3

    + The well  added in Story - Branch #1
        keys     the well
        content  A well that only the branch has.

    + entry 4  added in Story
        keys     entry 4
        content  lore 4

    + entry 5  added in Story
        keys     entry 5
        content  lore 5

    - entry 1  removed in Story
        keys     entry 1
        content  lore 1

    7 entries: 4 added, 1 removed, 2 changed
    -- exit 1 --
    ");
}

#[test]
fn what_both_changed_is_shown_from_both_sides() {
    let stage = conflicting(Stage::new());
    assert_snapshot!(stage.run(["diff", BRANCH, "Story"]), @"
    Comparing Alice/Story - Branch #1 with Alice/Story
      base  message 2, the fork point (verified by its seal)

    Entries
    ~ entry 0  changed in both
        keys     Story: entry 0, {+zero+}
        content  Story - Branch #1: lore 0{+ of the branch+}
                 Story: lore 0{+ of the story+}
        order    Story - Branch #1: not set → 200

    ~ entry 2  changed in Story - Branch #1
        content  lore 2{+ of the branch+}

    + entry 3  added in Story
        keys     entry 3
        content  lore 3

    + The well  added in Story - Branch #1
        keys     the well
        content  A well that only the branch has.

    + entry 4  added in Story
        keys     entry 4
        content  lore 4

    + entry 5  added in Story
        keys     entry 5
        content  lore 5

    ~ entry 1  changed in Story - Branch #1, removed in Story
        keys     entry 1
        content  lore 1 of the branch

    7 entries: 4 added, 3 changed
    -- exit 1 --
    ");
}

#[test]
fn what_sillytaverns_editor_fills_in_is_no_difference() {
    let stage = Stage::new();
    let _ = stage.run(["branch", "Story", "--at", "2"]);
    edit(&stage, BRANCH_LORE, |entries| {
        for entry in entries.as_object_mut().unwrap().values_mut() {
            entry["characterFilter"] = json!({ "isExclude": false, "names": [], "tags": [] });
            entry["role"] = json!(null);
            entry["addMemo"] = json!(true);
            entry["useProbability"] = json!(true);
        }
    });
    let shown = stage.run(["diff", BRANCH, "Story@2"]);
    assert!(shown.contains("Both have the same lore."), "{shown}");
    let plan = stage.run(["merge", BRANCH, "--into", "Story", "--dry-run"]);
    assert!(!plan.contains("filter"), "{plan}");
    let checked = stage.run(["verify", BRANCH]);
    assert!(!checked.contains("edited since the fork"), "{checked}");
}

#[test]
fn one_line_for_each_entry() {
    let stage = conflicting(Stage::new());
    assert_snapshot!(stage.run(["diff", BRANCH, "Story", "--stat"]), @"
    Comparing Alice/Story - Branch #1 with Alice/Story
      base  message 2, the fork point (verified by its seal)
    ~ entry 0   changed in both: content (+1 -1 words); changed in Story - Branch #1: order; changed in Story: keys
    ~ entry 2   changed in Story - Branch #1: content (+3 -0 words)
    + entry 3   added in Story
    + The well  added in Story - Branch #1
    + entry 4   added in Story
    + entry 5   added in Story
    ~ entry 1   changed in Story - Branch #1, removed in Story
    7 entries: 4 added, 3 changed
    -- exit 1 --
    ");
}

#[test]
fn two_messages_of_one_chat_come_in_the_order_of_the_story() {
    let stage = Stage::new();
    assert_snapshot!(stage.run(["diff", "Story", "--at", "4"]), @"
    Comparing Alice/Story at message 4 with now
      lorebook  message 4: exact (from the journal)

    Entries
    + entry 5
        keys     entry 5
        content  lore 5

    1 entry: 1 added
    -- exit 1 --
    ");
    let between = stage.run(["diff", "Story@1", "Story@3", "--stat"]);
    assert_snapshot!(between, @"
    Comparing Alice/Story at message 1 with message 3
      lorebook  message 1: exact (from the journal)
      lorebook  message 3: exact (from the journal)
    + entry 2
    + entry 3
    2 entries: 2 added
    -- exit 1 --
    ");
    assert_eq!(stage.run(["diff", "Story@3", "Story@1", "--stat"]), between);
    assert_eq!(stage.run(["diff", "Story@4"]), stage.run(["diff", "Story", "--at", "-2"]));
}

#[test]
fn a_moment_from_before_they_part_is_the_past_of_both() {
    let stage = diverged(Stage::new());
    assert_snapshot!(stage.run(["diff", "Story@1", BRANCH, "--stat"]), @"
    Comparing Alice/Story at message 1 with Alice/Story - Branch #1
      base      Story@1, which the other descends from
      lorebook  Story@1: exact (from the journal)
    ~ entry 0   order
    + entry 2
    + The well
    3 entries: 2 added, 1 changed
    -- exit 1 --
    ");
    assert_snapshot!(stage.run(["diff", "Story", BRANCH, "--at", "2"]), @"
    Comparing Alice/Story at message 2 with Alice/Story - Branch #1 at message 2
      base      message 2, the fork point (verified by its seal)
      lorebook  Story@2: exact (from the journal)
      lorebook  Story - Branch #1@2: as last seen at this message (from the journal)
    Both have the same lore.
    ");
}

#[test]
fn where_nobody_knows_the_beginning_nobody_is_said_to_have_done_anything() {
    let stage = Stage::new();
    let other = b"{\"chat_metadata\":{\"world_info\":\"Other\"}}\n{\"mes\":\"a\"}";
    stage.scene.write("default-user/chats/Alice/Other tale.jsonl", other);
    let book = json!({ "entries": {
        "0": entry(0, "entry 0", "lore 0 of another story"),
        "9": entry(9, "The inn", "It is always full."),
    } });
    stage.scene.write("default-user/worlds/Other.json", &serde_json::to_vec(&book).unwrap());
    assert_snapshot!(stage.run(["diff", "Old tale", "Other tale"]), @"
    Comparing Alice/Old tale with Alice/Other tale
      base   unknown, so it is unclear which of the two changed what
      marks  [-Old tale-] {+Other tale+}

    Entries
    ~ entry 0
        content  lore 0{+ of another story+}

    + The inn  only in Other tale
        keys     the inn
        content  It is always full.

    - entry 1  only in Old tale
        keys     entry 1
        content  lore 1

    Other
      note_prompt  [-a note-]

    3 entries: 1 only in Other tale, 1 only in Old tale, 1 different; 1 other difference
    -- exit 1 --
    ");
    assert_snapshot!(stage.run(["diff", "Old tale", "Other tale", "--stat"]), @"
    Comparing Alice/Old tale with Alice/Other tale
      base   unknown, so it is unclear which of the two changed what
      marks  [-Old tale-] {+Other tale+}
    ~ entry 0  content (+3 -0 words)
    + The inn  only in Other tale
    - entry 1  only in Old tale
    3 entries: 1 only in Other tale, 1 only in Old tale, 1 different; 1 other difference
    -- exit 1 --
    ");
    assert_snapshot!(stage.run(["diff", "Old tale", "Old tale - Branch #1"]), @r#"
    Comparing Alice/Old tale with Alice/Old tale - Branch #1
      base      unknown, so it is unclear which of the two changed what
      lorebook  both use "Shared", so it cannot differ; `forklore split "Alice/Old tale - Branch #1"` separates them
    Both have the same lore.
    "#);
}

#[test]
fn in_colour_and_on_a_narrow_terminal() {
    let stage = conflicting(Stage::in_colour().with_columns(60));
    edit(&stage, LORE, |entries| {
        let long = "The inn stands at the end of the quay, and everyone who comes to it is wet. ";
        entries["2"]["content"] = json!(long.repeat(3));
    });
    let shown = stage.run(["diff", BRANCH, "Story"]).replace('\x1b', "^");
    assert_snapshot!(shown, @"
    Comparing ^[1mAlice/Story - Branch #1^[0m with ^[1mAlice/Story^[0m
      ^[2mbase  ^[0mmessage 2, the fork point (verified by its seal)

    ^[1mEntries^[0m
    ^[33m~ ^[0m^[1mentry 0^[0m^[2m  changed in both^[0m
        ^[2mkeys     ^[0m^[2mStory: ^[0mentry 0, ^[32mzero^[0m
        ^[2mcontent  ^[0m^[2mStory - Branch #1: ^[0mlore 0^[32m of the branch^[0m
                 ^[2mStory: ^[0mlore 0^[32m of the story^[0m
        ^[2morder    ^[0m^[2mStory - Branch #1: not set → ^[0m^[32m200^[0m

    ^[33m~ ^[0m^[1mentry 2^[0m^[2m  changed in both^[0m
        ^[2mcontent  ^[0m^[2mStory - Branch #1: ^[0mlore 2^[32m of the branch^[0m
                 ^[2mStory: ^[0m^[9m^[31mlore 2^[0m
                 ^[32mThe inn stands at the end of the quay, and^[0m
                 ^[32meveryone who comes to it is wet. The inn stands^[0m
                 ^[32mat the end of the quay, and everyone who comes^[0m
                 ^[32mto it is wet. The inn stands at the end of the^[0m
                 ^[32mquay, and everyone who comes to it is wet.^[0m

    ^[32m+ ^[0m^[1mentry 3^[0m^[2m  added in Story^[0m
        ^[2mkeys     ^[0m^[32mentry 3^[0m
        ^[2mcontent  ^[0m^[32mlore 3^[0m

    ^[32m+ ^[0m^[1mThe well^[0m^[2m  added in Story - Branch #1^[0m
        ^[2mkeys     ^[0m^[32mthe well^[0m
        ^[2mcontent  ^[0m^[32mA well that only the branch has.^[0m

    ^[32m+ ^[0m^[1mentry 4^[0m^[2m  added in Story^[0m
        ^[2mkeys     ^[0m^[32mentry 4^[0m
        ^[2mcontent  ^[0m^[32mlore 4^[0m

    ^[32m+ ^[0m^[1mentry 5^[0m^[2m  added in Story^[0m
        ^[2mkeys     ^[0m^[32mentry 5^[0m
        ^[2mcontent  ^[0m^[32mlore 5^[0m

    ^[33m~ ^[0m^[1mentry 1^[0m^[2m  changed in Story - Branch #1, removed in Story^[0m
        ^[2mkeys     ^[0mentry 1
        ^[2mcontent  ^[0mlore 1 of the branch

    ^[2m7 entries: 4 added, 3 changed^[0m
    -- exit 1 --
    ");
}

#[test]
fn bookkeeping_is_shown_when_asked_for() {
    let stage = diverged(Stage::new());
    for (book, content) in [(LORE, "- UID=1 | name: One"), (BRANCH_LORE, "- UID=2 | name: Two")] {
        edit(&stage, book, |entries| {
            entries["9"] = entry(9, "_registry_character", content);
        });
    }
    assert!(!stage.run(["diff", BRANCH, "Story"]).contains("_registry_"));
    assert!(stage.run(["diff", BRANCH, "Story", "--internal"]).contains("_registry_character"));
}

#[test]
fn for_programs() {
    let stage = diverged(Stage::new());
    edit(&stage, LORE, |entries| {
        let gone: Vec<String> =
            entries.as_object().unwrap().keys().filter(|key| *key != "0").cloned().collect();
        for key in gone {
            entries.as_object_mut().unwrap().shift_remove(&key);
        }
    });
    assert_snapshot!(stage.run(["--json", "diff", "Story@0", "Story"]), @r#"
    {
      "format": 2,
      "command": "diff",
      "left": {
        "chat": "Alice/Story",
        "message": 0,
        "book": "Lore",
        "known": {
          "exactness": "exact",
          "as_of": null,
          "source": "journal"
        }
      },
      "right": {
        "chat": "Alice/Story",
        "message": null,
        "book": "Lore",
        "known": {
          "exactness": "exact",
          "as_of": null,
          "source": "files"
        }
      },
      "base": {
        "known": "left",
        "message": null,
        "parting": null
      },
      "same": false,
      "entries": [
        {
          "key": "0",
          "uid": 0,
          "internal": false,
          "title": "entry 0",
          "left": {
            "did": "nothing",
            "entry": {
              "uid": 0,
              "key": [
                "entry 0"
              ],
              "comment": "entry 0",
              "content": "lore 0"
            }
          },
          "right": {
            "did": "changed",
            "entry": {
              "uid": 0,
              "key": [
                "entry 0",
                "zero"
              ],
              "comment": "entry 0",
              "content": "lore 0 of the story"
            }
          },
          "fields": [
            {
              "name": "key",
              "by": "right",
              "base": [
                "entry 0"
              ],
              "left": [
                "entry 0"
              ],
              "right": [
                "entry 0",
                "zero"
              ]
            },
            {
              "name": "content",
              "by": "right",
              "base": "lore 0",
              "left": "lore 0",
              "right": "lore 0 of the story"
            }
          ]
        }
      ],
      "book": [],
      "recap": [],
      "variables": [],
      "other": []
    }
    -- exit 1 --
    "#);
}

#[test]
fn what_cannot_be_compared_is_refused() {
    let stage = Stage::new();
    assert_snapshot!(stage.run(["diff", "Story"]), @"
    -- stderr --
    Error: nothing to compare Alice/Story with
    Hint: Name another chat or lorebook, or a message of this chat with --at M.
    -- exit 2 --
    ");
    assert_snapshot!(stage.run(["diff", "Story@1", "--at", "2"]), @"
    -- stderr --
    Error: the message is given twice
    Hint: Use either --at M or CHAT@M.
    -- exit 2 --
    ");
    assert_snapshot!(stage.run(["diff", "Story", "--at", "99"]), @r#"
    -- stderr --
    Error: cannot use that message of "Alice/Story"
      because there is no message 99; the last one is 5
    -- exit 2 --
    "#);
    assert_snapshot!(stage.run(["diff", "Story", "Bereft"]), @r#"
    -- stderr --
    Error: the lorebook "Lost" of "Alice/Bereft" does not exist
    Hint: `forklore repair CHAT --from ...` gives the chat its lorebook back.
    -- exit 2 --
    "#);
    assert_snapshot!(stage.run(["diff", "Story", "Garbled tale"]), @r#"
    -- stderr --
    Error: the lorebook "Garbled" of "Alice/Garbled tale" cannot be read: it is not JSON: the text ends in the middle of a value
    Hint: `forklore repair CHAT --from ...` gives the chat its lorebook back.
    -- exit 2 --
    "#);
    assert_snapshot!(stage.run(["diff", "Story", "Nowhere@3"]), @r#"
    -- stderr --
    Error: there is no chat "Nowhere"
    Hint: `forklore tree` lists every chat.
    -- exit 2 --
    "#);
}

#[test]
fn text_from_a_book_cannot_steer_the_terminal() {
    let stage = conflicting(Stage::in_colour());
    for book in [LORE, BRANCH_LORE] {
        edit(&stage, book, |entries| {
            let hostile = format!("\u{1b}[2J\u{7}{book}\r\u{202e}\n\u{9b}31m");
            entries["2"]["content"] = json!(hostile);
            entries["2"]["comment"] = json!(hostile);
            entries["2"]["\u{1b}]0;x\u{7}"] = json!(hostile);
            entries["7"] = entry(7, &hostile, &hostile);
        });
    }
    let commands = [
        &["diff", BRANCH, "Story"][..],
        &["diff", BRANCH, "Story", "--stat"],
        &["diff", BRANCH, "Story@1"],
        &["merge", "Story", "--into", BRANCH],
        &["merge", "Story", "--into", BRANCH, "--base", "none"],
        &["merge", "Story", "--into", BRANCH, "--theirs", "\u{1b}[2J"],
        &["pick", "Story", "7", "--into", BRANCH],
        &["pick", "Story", "\u{1b}[2J", "--into", BRANCH],
        &["merge", "Story", "--into", BRANCH, "--theirs", "--dry-run"],
    ];
    for command in commands {
        let shown = stage.run(command.iter().copied());
        let ours = ["0", "1", "2", "9", "31", "32", "33"].map(|code| format!("\x1b[{code}m"));
        let rest = ours.iter().fold(shown.clone(), |rest, code| rest.replace(code, ""));
        let steers = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
        assert!(!rest.contains(steers), "{command:?}: {rest:?}");
        assert!(shown.contains("\\u{1b}[2J"), "{command:?}: {shown:?}");
    }
}

#[test]
fn two_lorebooks_are_compared_without_a_chat() {
    let stage = Stage::new();
    assert_snapshot!(stage.run(["diff", "book=Shared", "Quest lore", "--stat"]), @"
    Comparing Shared with Quest lore
      base   unknown, so it is unclear which of the two changed what
      marks  [-Shared-] {+Quest lore+}
    + entry 2  only in Quest lore
    + entry 3  only in Quest lore
    2 entries: 2 only in Quest lore
    -- exit 1 --
    ");
    assert_snapshot!(stage.run(["diff", "Shared", "book=Shared"]), @"
    Comparing Shared with now
    Both have the same lore.
    ");
    assert_snapshot!(stage.run(["diff", "old TALE", "Shared"]), @"
    Comparing Alice/Old tale with Shared
      base  unknown, so it is unclear which of the two changed what
    Both have the same lore.
    ");
    assert_snapshot!(stage.run(["diff", "book=Shard", "book=Lore"]), @r#"
    -- stderr --
    Error: there is no lorebook "Shard"
    Hint: Did you mean: "Shared"?
    -- exit 2 --
    "#);
    assert_snapshot!(stage.run(["diff", "book=Garbled", "book=Lore"]), @r#"
    -- stderr --
    Error: the lorebook "Garbled" cannot be read
      because it is not JSON: the text ends in the middle of a value
      because the text ends in the middle of a value
    -- exit 2 --
    "#);
    assert_snapshot!(stage.run(["diff", "book=Lore"]), @"
    -- stderr --
    Error: nothing to compare Lore with
    Hint: Name another chat or lorebook, or a message of this chat with --at M.
    -- exit 2 --
    ");
}

/// The chats' messages record nothing, so only the history knows the merge base.
#[test]
fn the_history_has_what_both_began_as() {
    let began_as = |is_kept: bool| {
        let stage = Stage::new();
        let messages = [("Mara", "The wheel stands still."), ("User", "I ask who stopped it.")];
        write(&stage, "chats/Mara/The mill.jsonl", &chat(Some("Mill"), &messages), HOUR);
        write(
            &stage,
            "worlds/Mill.json",
            &history_book(&[("The mill", "Old."), ("Key", "Lost.")]),
            HOUR,
        );
        if is_kept {
            let _ = stage.run(["record"]);
        }
        let made = stage.run(["branch", "The mill", "--allow", "live"]);
        assert!(made.contains("Made the branch"), "{made}");
        edit(&stage, "Mill", |entries| entries["0"]["content"] = json!("Burnt."));
        edit(&stage, "The mill - Branch #1 - Lore", |entries| {
            entries["1"]["content"] = json!("Found.")
        });
        stage.run(["diff", "The mill", "The mill - Branch #1"])
    };
    assert_snapshot!(began_as(false), @"
    Comparing Mara/The mill with Mara/The mill - Branch #1
      base   unknown, so it is unclear which of the two changed what
      marks  [-The mill-] {+The mill - Branch #1+}

    Entries
    ~ The mill
        content  [-Burnt.-]{+Old.+}

    ~ Key
        content  [-Lost.-]{+Found.+}

    2 entries: 2 different
    -- exit 1 --
    ");
    assert_snapshot!(began_as(true), @"
    Comparing Mara/The mill with Mara/The mill - Branch #1
      base  message 1, the fork point (verified by its seal)

    Entries
    ~ The mill  changed in The mill
        content  [-Old.-]{+Burnt.+}

    ~ Key  changed in The mill - Branch #1
        content  [-Lost.-]{+Found.+}

    2 entries: 2 changed
    -- exit 1 --
    ");
}
