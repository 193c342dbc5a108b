//! `merge` and `pick`

use insta::assert_snapshot;
use serde_json::json;

use crate::lore::{BRANCH, BRANCH_LORE, LORE, conflicting, diverged, edit, entry, read};
use crate::stage::Stage;

#[test]
fn what_they_did_comes_over_and_undo_gives_the_bytes_back() {
    let stage = diverged(Stage::new());
    let before = stage.scene.visible();
    assert_snapshot!(stage.run(["merge", "Story", "--into", BRANCH]), @r#"
    Merging lore of Alice/Story into Alice/Story - Branch #1
      lorebook  "Story - Branch #1 - Lore"
      base      message 2, the fork point (verified by its seal)
    ~ entry 0  keys, content
    + entry 3  uid 3 becomes 6
    + entry 4
    + entry 5
    - entry 1
    Done: 3 entries added, 1 entry changed, 1 entry removed
      lorebook  "Story - Branch #1 - Lore", 6 entries
      before    in the trash; `forklore undo` brings it back
      page      reload SillyTavern's page before you continue this chat
    "#);
    let merged = read(&stage, BRANCH_LORE);
    assert_eq!(merged["entries"]["0"]["content"], "lore 0 of the story");
    assert_eq!(merged["entries"]["0"]["order"], 200);
    assert_eq!(merged["entries"]["1"], json!(null));
    assert_eq!(merged["entries"]["3"]["comment"], "The well");
    assert_eq!(merged["entries"]["6"]["comment"], "entry 3");
    assert_snapshot!(stage.run(["merge", "Story", "--into", BRANCH]), @r#"
    Merging lore of Alice/Story into Alice/Story - Branch #1
      lorebook  "Story - Branch #1 - Lore"
      base      message 2, the fork point (verified by its seal)
    Nothing to merge: Alice/Story - Branch #1 already has every lore change of Alice/Story.
    "#);
    assert_snapshot!(stage.run(["undo"]), @r#"
    Undone: merged lore of Alice/Story into "Story - Branch #1 - Lore", the lorebook of Alice/Story - Branch #1
      default-user/worlds/Story - Branch #1 - Lore.json is as it was before
    "#);
    assert_eq!(stage.scene.visible(), before);
}

#[test]
fn a_dry_run_shows_the_same_plan_and_changes_nothing() {
    let stage = diverged(Stage::new());
    let before = stage.scene.all();
    assert_snapshot!(stage.run(["merge", "Story", "--into", BRANCH, "--dry-run"]), @r#"
    Merging lore of Alice/Story into Alice/Story - Branch #1
      lorebook  "Story - Branch #1 - Lore"
      base      message 2, the fork point (verified by its seal)
    ~ entry 0  keys, content
    + entry 3  uid 3 becomes 6
    + entry 4
    + entry 5
    - entry 1
    Dry run: 3 entries added, 1 entry changed, 1 entry removed
    "#);
    assert_eq!(stage.scene.all(), before);
}

#[test]
fn conflicts_are_listed_with_the_ways_out_and_nothing_is_written() {
    let stage = conflicting(Stage::new());
    let before = stage.scene.all();
    assert_snapshot!(stage.run(["merge", "Story", "--into", BRANCH]), @r#"
    Merging lore of Alice/Story into Alice/Story - Branch #1
      lorebook  "Story - Branch #1 - Lore"
      base      message 2, the fork point (verified by its seal)
    ~ entry 0  keys
    + entry 3  uid 3 becomes 6
    + entry 4
    + entry 5

    ! entry 0  content, changed in both
        ours     lore 0{+ of the branch+}
        theirs   lore 0{+ of the story+}
        resolve  --ours 'entry 0.content'  or  --theirs 'entry 0.content'

    ! entry 1  changed in ours, removed in theirs
        ours     lore 1{+ of the branch+}
        theirs   removed
        resolve  --ours 'entry 1'  or  --theirs 'entry 1'

    -- stderr --
    Error: nothing was written: 2 unresolved conflicts
    Hint: Run it again with --ours or --theirs for all of them, with the options below each, or with --edit to write them yourself: `forklore merge Story --into 'Story - Branch #1' --edit`
    -- exit 2 --
    "#);
    assert_eq!(stage.scene.all(), before);
}

#[test]
fn conflicts_are_settled_one_by_one_or_all_at_once() {
    let merge = |more: &[&'static str]| {
        let stage = conflicting(Stage::new());
        let shown = stage.run(["merge", "Story", "--into", BRANCH].iter().chain(more).copied());
        (shown, read(&stage, BRANCH_LORE)["entries"].clone())
    };
    let (shown, entries) = merge(&["--ours"]);
    assert_snapshot!(shown, @r#"
    Merging lore of Alice/Story into Alice/Story - Branch #1
      lorebook  "Story - Branch #1 - Lore"
      base      message 2, the fork point (verified by its seal)
    ~ entry 0  keys
    + entry 3  uid 3 becomes 6
    + entry 4
    + entry 5
      - entry 0, content: resolved with ours
      - entry 1: resolved with ours
    Done: 3 entries added, 1 entry changed
      lorebook  "Story - Branch #1 - Lore", 7 entries
      before    in the trash; `forklore undo` brings it back
      page      reload SillyTavern's page before you continue this chat
    "#);
    assert_eq!(entries["0"]["content"], "lore 0 of the branch");
    assert_eq!(entries["0"]["key"], json!(["entry 0", "zero"]));
    assert_eq!(entries["1"]["content"], "lore 1 of the branch");
    let (_, entries) = merge(&["--theirs"]);
    assert_eq!(entries["0"]["content"], "lore 0 of the story");
    assert_eq!(entries["1"], json!(null));
    let (shown, entries) = merge(&["--theirs", "ENTRY 0.content", "--ours", "1"]);
    assert!(shown.contains("Done"), "{shown}");
    assert_eq!(entries["0"]["content"], "lore 0 of the story");
    assert_eq!(entries["1"]["content"], "lore 1 of the branch");
    let (shown, _) = merge(&["--theirs", "entry 0.content"]);
    assert!(shown.contains("nothing was written: 1 unresolved conflict"), "{shown}");
    let (shown, entries) = merge(&["--ours", "--theirs", "entry 0"]);
    assert!(shown.contains("Done"), "{shown}");
    assert_eq!(entries["0"]["content"], "lore 0 of the story");
    assert_eq!(entries["1"]["content"], "lore 1 of the branch");
}

#[test]
fn what_is_not_in_conflict_cannot_be_settled() {
    let stage = conflicting(Stage::new());
    let merge = ["merge", "Story", "--into", BRANCH];
    let run = |more: &[&'static str]| stage.run(merge.iter().chain(more).copied());
    assert_snapshot!(run(&["--ours", "entry 2"]), @r#"
    -- stderr --
    Error: none of the entries in conflict is called "entry 2"
    Hint: Did you mean: "entry 0", or "entry 1"?
    -- exit 2 --
    "#);
    assert_snapshot!(run(&["--ours", "entry 0.key"]), @r#"
    -- stderr --
    Error: there is no conflict in "entry 0.key"
    -- exit 2 --
    "#);
    assert_snapshot!(run(&["--ours", "--theirs"]), @"
    -- stderr --
    Error: conflicts cannot all be resolved both ways
    Hint: Name the entries of one side: --ours --theirs ENTRY.
    -- exit 2 --
    ");
    let calm = diverged(Stage::new());
    assert_snapshot!(calm.run(merge.iter().chain(&["--ours", "entry 0"]).copied()), @r#"
    -- stderr --
    Error: there is no conflict in "entry 0"
    -- exit 2 --
    "#);
}

#[cfg(unix)]
mod editing {
    use super::*;

    /// Uses a sed script as the editor.
    fn with_sed(script: &str) -> Stage {
        conflicting(Stage::new().with_editor(format!("sed -i -e '{script}'")))
    }

    #[test]
    fn what_someone_writes_is_what_comes() {
        let stage =
            with_sed("/^<<<<<<< /d; /^=======$/,/^>>>>>>> /d; s/^lore 0 of the branch/my own/");
        assert_snapshot!(stage.run(["merge", "Story", "--into", BRANCH, "--edit"]), @r#"
        Merging lore of Alice/Story into Alice/Story - Branch #1
          lorebook  "Story - Branch #1 - Lore"
          base      message 2, the fork point (verified by its seal)
        ~ entry 0  keys, content
        + entry 3  uid 3 becomes 6
        + entry 4
        + entry 5
          - entry 0, content: resolved with what you wrote
          - entry 1: resolved with ours
        Done: 3 entries added, 1 entry changed
          lorebook  "Story - Branch #1 - Lore", 7 entries
          before    in the trash; `forklore undo` brings it back
          page      reload SillyTavern's page before you continue this chat
        "#);
        let entries = &read(&stage, BRANCH_LORE)["entries"];
        assert_eq!(entries["0"]["content"], "my own");
        assert_eq!(entries["1"]["content"], "lore 1 of the branch");
    }

    #[test]
    fn the_sheet_says_what_to_do() {
        let kept = tempfile::NamedTempFile::new().unwrap();
        let editor = format!("cp \"$1\" {} && false", kept.path().display());
        let stage = conflicting(Stage::new().with_editor(format!("sh -c '{editor}' sh")));
        let said = stage.run(["merge", "Story", "--into", BRANCH, "--edit"]);
        assert!(said.contains("nothing was changed"), "{said}");
        assert_snapshot!(std::fs::read_to_string(kept.path()).unwrap(), @"
        Resolve each conflict: leave the text you want, and remove the other one and the
        three marker lines (<<<<<<<, =======, >>>>>>>). Leave the headings (#######).
        To give up, leave the markers in. Anything above the first heading is ignored.

        ####### 1. entry 0: content
        <<<<<<< ours: Alice/Story - Branch #1
        lore 0 of the branch
        =======
        lore 0 of the story
        >>>>>>> theirs: Alice/Story

        ####### 2. entry 1: removed on one side, changed on the other
        <<<<<<< ours: Alice/Story - Branch #1
        kept
        =======
        removed
        >>>>>>> theirs: Alice/Story
        ");
    }

    #[test]
    fn marks_that_are_left_in_stop_it() {
        let stage = with_sed("s/x/x/");
        let before = stage.scene.all();
        assert_snapshot!(stage.run(["merge", "Story", "--into", BRANCH, "--edit"]), @"
        -- stderr --
        Error: conflict 1 still has its markers, so nothing was written
        -- exit 2 --
        ");
        assert_eq!(stage.scene.all(), before);
    }

    #[test]
    fn without_an_editor_there_are_other_ways() {
        let stage = conflicting(Stage::new());
        assert_snapshot!(stage.run(["merge", "Story", "--into", BRANCH, "--edit"]), @"
        -- stderr --
        Error: no editor is set
        Hint: Set VISUAL or EDITOR, or use --ours and --theirs.
        -- exit 2 --
        ");
    }
}

#[test]
fn a_base_can_be_chosen() {
    let stage = diverged(Stage::new());
    let merge = |base: &'static str| {
        stage.run(["merge", "Story", "--into", BRANCH, "--dry-run", "--base", base])
    };
    assert_snapshot!(merge("none"), @r#"
    Merging lore of Alice/Story into Alice/Story - Branch #1
      lorebook  "Story - Branch #1 - Lore"
      base      unknown, so it is unclear which of the two changed what
    + entry 4
    + entry 5

    ! entry 0  keys, different
        ours     entry 0
        theirs   entry 0, {+zero+}
        resolve  --ours 'entry 0.keys'  or  --theirs 'entry 0.keys'

    ! entry 0  content, different
        ours     lore 0
        theirs   lore 0{+ of the story+}
        resolve  --ours 'entry 0.content'  or  --theirs 'entry 0.content'

    ! entry 0  order, different
        ours     200
        theirs   200 → not set
        resolve  --ours 'entry 0.order'  or  --theirs 'entry 0.order'

    ! entry 2  content, different
        ours     lore 2 of the branch
        theirs   lore 2[- of the branch-]
        resolve  --ours 'entry 2.content'  or  --theirs 'entry 2.content'

    ! The well  keys, different
        ours     the well
        theirs   [-the well-], {+entry 3+}
        resolve  --ours 'The well.keys'  or  --theirs 'The well.keys'

    ! The well  title, different
        ours     The well
        theirs   [-The well-]{+entry 3+}
        resolve  --ours 'The well.title'  or  --theirs 'The well.title'

    ! The well  content, different
        ours     A well that only the branch has.
        theirs   [-A well that only the branch has.-]{+lore 3+}
        resolve  --ours 'The well.content'  or  --theirs 'The well.content'

    -- stderr --
    Error: nothing was written: 7 unresolved conflicts
    Hint: Run it again with --ours or --theirs for all of them, with the options below each, or with --edit to write them yourself: `forklore merge Story --into 'Story - Branch #1' --base none --edit`
    -- exit 2 --
    "#);
    assert_snapshot!(merge("empty"), @r#"
    Merging lore of Alice/Story into Alice/Story - Branch #1
      lorebook  "Story - Branch #1 - Lore"
      base      empty, as chosen
    + entry 0  uid 0 becomes 6
    + entry 2  uid 2 becomes 7
    + entry 3  uid 3 becomes 8
    + entry 4
    + entry 5
      - two entries are now called "entry 0": uid 0 and 6
      - two entries are now called "entry 2": uid 2 and 7
    Dry run: 5 entries added
    "#);
    let with_history = "message 2, the fork point (verified by its seal)";
    assert_eq!(merge("Story@2").replace("Alice/Story@2, as chosen", with_history), merge("auto"));
}

#[test]
fn a_lorebook_alone_can_be_brought_in() {
    let stage = Stage::new();
    assert_snapshot!(stage.run(["merge", "book=Common", "--into", "group:Quest"]), @r#"
    Merging lore of Common into group:Quest
      lorebook  "Quest lore"
      base      unknown, so it is unclear which of the two changed what
    Nothing to merge: group:Quest already has everything in Common.
    "#);
    assert_snapshot!(stage.run(["merge", "book=Nowhere", "--into", "group:Quest"]), @r#"
    -- stderr --
    Error: there is no lorebook "Nowhere"
    -- exit 2 --
    "#);
    stage.scene.write("default-user/worlds/Inn.json", &{
        let book = json!({ "entries": { "0": entry(0, "The inn", "It is always full.") } });
        serde_json::to_vec(&book).unwrap()
    });
    assert_snapshot!(stage.run(["merge", "book=Inn", "--into", "group:Quest"]), @r#"
    Merging lore of Inn into group:Quest
      lorebook  "Quest lore"
      base      unknown, so it is unclear which of the two changed what

    ! entry 0  keys, different
        ours     entry 0
        theirs   [-entry 0-], {+the inn+}
        resolve  --ours 'entry 0.keys'  or  --theirs 'entry 0.keys'

    ! entry 0  title, different
        ours     entry 0
        theirs   [-entry 0-]{+The inn+}
        resolve  --ours 'entry 0.title'  or  --theirs 'entry 0.title'

    ! entry 0  content, different
        ours     lore 0
        theirs   [-lore 0-]{+It is always full.+}
        resolve  --ours 'entry 0.content'  or  --theirs 'entry 0.content'

    -- stderr --
    Error: nothing was written: 3 unresolved conflicts
    Hint: Run it again with --ours or --theirs for all of them, with the options below each, or with --edit to write them yourself: `forklore merge book=Inn --into group:Quest --edit`. If the two lorebooks have nothing in common, --base empty adds every entry as a new one.
    -- exit 2 --
    "#);
    assert_snapshot!(stage.run(["merge", "book=Inn", "--into", "group:Quest", "--base", "empty"]), @r#"
    Merging lore of Inn into group:Quest
      lorebook  "Quest lore"
      base      empty, as chosen
    + The inn  uid 0 becomes 4
    Done: 1 entry added
      lorebook  "Quest lore", 5 entries
      before    in the trash; `forklore undo` brings it back
      page      reload SillyTavern's page before you continue this chat
    "#);
}

#[test]
fn single_entries_are_picked() {
    let stage = diverged(Stage::new());
    assert_snapshot!(stage.run(["pick", "Story", "entry 4", "--into", BRANCH]), @r#"
    Merging lore of Alice/Story into Alice/Story - Branch #1
      lorebook  "Story - Branch #1 - Lore"
      base      message 2, the fork point (verified by its seal)
    + entry 4
    Done: 1 entry added
      lorebook  "Story - Branch #1 - Lore", 5 entries
      before    in the trash; `forklore undo` brings it back
      page      reload SillyTavern's page before you continue this chat
    "#);
    assert_snapshot!(stage.run(["pick", "Story", "entry 4", "entry 2", "--into", BRANCH]), @r#"
    Merging lore of Alice/Story into Alice/Story - Branch #1
      lorebook  "Story - Branch #1 - Lore"
      base      message 2, the fork point (verified by its seal)
    = entry 4  is the same in both
    = entry 2  has not changed in Alice/Story since the fork point; --base none compares the two as they are
    Nothing to merge.
    "#);
    assert_snapshot!(stage.run(["pick", "Story", "entry 0.keys", "--into", BRANCH]), @r#"
    Merging lore of Alice/Story into Alice/Story - Branch #1
      lorebook  "Story - Branch #1 - Lore"
      base      message 2, the fork point (verified by its seal)
    ~ entry 0  keys
    Done: 1 entry changed
      lorebook  "Story - Branch #1 - Lore", 5 entries
      before    in the trash; `forklore undo` brings it back
      page      reload SillyTavern's page before you continue this chat
    "#);
    let entries = &read(&stage, BRANCH_LORE)["entries"];
    assert_eq!(entries["0"]["content"], "lore 0");
    assert_eq!(entries["0"]["key"], json!(["entry 0", "zero"]));
    assert_snapshot!(stage.run(["pick", "Story", "entry 44", "--into", BRANCH]), @r#"
    -- stderr --
    Error: none of the entries of Alice/Story is called "entry 44"
    Hint: Did you mean: "entry 4", or "entry 0", or "entry 1", or "entry 2", or "entry 3"?
    -- exit 2 --
    "#);
    assert_snapshot!(stage.run(["merge", "Story", "--into", BRANCH, "--entries", "entry 5", "1"]), @r#"
    Merging lore of Alice/Story into Alice/Story - Branch #1
      lorebook  "Story - Branch #1 - Lore"
      base      message 2, the fork point (verified by its seal)
    + entry 5
    - entry 1
    Done: 1 entry added, 1 entry removed
      lorebook  "Story - Branch #1 - Lore", 5 entries
      before    in the trash; `forklore undo` brings it back
      page      reload SillyTavern's page before you continue this chat
    "#);
}

#[test]
fn an_entry_comes_back_as_it_was() {
    let stage = diverged(Stage::new());
    assert_snapshot!(stage.run(["pick", "Story@2", "entry 1", "entry 0", "--into", "Story"]), @r#"
    Merging lore of Alice/Story at message 2 into Alice/Story
      lorebook  "Lore"
      theirs    exact (from the journal)
    ~ entry 0  keys, content
    + entry 1
    Done: 1 entry added, 1 entry changed
      lorebook  "Lore", 6 entries
      before    in the trash; `forklore undo` brings it back
      page      reload SillyTavern's page before you continue this chat
    "#);
    assert_eq!(read(&stage, LORE)["entries"]["0"]["content"], "lore 0");
    assert_snapshot!(stage.run(["merge", "Story@2", "--into", "Story"]), @r#"
    Merging lore of Alice/Story at message 2 into Alice/Story
      lorebook  "Lore"
      base      Alice/Story at message 2, which the other descends from
      theirs    exact (from the journal)
    Nothing to merge: Alice/Story descends from Alice/Story at message 2.
    `forklore pick --help` explains how to bring back single entries, `forklore restore --help` how to bring back all.
    "#);
    assert_snapshot!(stage.run(["merge", "Story@1", "--into", BRANCH]), @r#"
    Merging lore of Alice/Story at message 1 into Alice/Story - Branch #1
      lorebook  "Story - Branch #1 - Lore"
      base      Alice/Story at message 1, which the other descends from
      theirs    exact (from the journal)
    Nothing to merge: Alice/Story - Branch #1 descends from Alice/Story at message 1.
    `forklore pick --help` explains how to bring back single entries, `forklore restore --help` how to bring back all.
    "#);
}

#[test]
fn a_number_that_changes_changes_in_the_registry_too() {
    let stage = diverged(Stage::new());
    for (book, uid, name) in [(LORE, 4, "Four"), (BRANCH_LORE, 3, "The well")] {
        edit(&stage, book, |entries| {
            let content = format!("- UID={uid} | name: {name}");
            entries["9"] = entry(9, "_registry_character", &content);
        });
    }
    edit(&stage, BRANCH_LORE, |entries| entries["4"] = entry(4, "The ford", "A ford."));
    assert_snapshot!(stage.run(["pick", "Story", "entry 4", "--into", BRANCH]), @r#"
    Merging lore of Alice/Story into Alice/Story - Branch #1
      lorebook  "Story - Branch #1 - Lore"
      base      message 2, the fork point (verified by its seal)
    + entry 4  uid 4 becomes 6
    ~ _registry_character  updated to match
    Done: 1 entry added
      lorebook  "Story - Branch #1 - Lore", 7 entries
      before    in the trash; `forklore undo` brings it back
      page      reload SillyTavern's page before you continue this chat
    "#);
    let registry = &read(&stage, BRANCH_LORE)["entries"]["9"]["content"];
    assert_snapshot!(registry.as_str().unwrap(), @"
    - UID=3 | name: The well
    - UID=6 | name: Four
    ");
}

#[test]
fn an_open_chat_and_a_shared_lorebook_are_minded() {
    let stage = diverged(Stage::new());
    stage.scene.write(
        "default-user/characters/Alice.png",
        &forklore_testkit::scene::card("Alice", BRANCH, "Common"),
    );
    let before = stage.scene.visible();
    assert_snapshot!(stage.run(["pick", "Story", "entry 4", "--into", BRANCH]), @r#"
    Merging lore of Alice/Story into Alice/Story - Branch #1
      lorebook  "Story - Branch #1 - Lore"
      base      message 2, the fork point (verified by its seal)
    + entry 4
    -- stderr --
    Error: "Alice/Story - Branch #1" may be open in SillyTavern: it is the chat that Alice opens with
    Hint: Open another chat in SillyTavern first, or close it. If no page has it open, add --closed.
    -- exit 2 --
    "#);
    assert_eq!(stage.scene.visible(), before);
    let bound = b"{\"chat_metadata\":{\"world_info\":\"Lore\"}}\n{\"mes\":\"a\"}";
    stage.scene.write("default-user/chats/Alice/Another.jsonl", bound);
    assert_snapshot!(stage.run(["pick", BRANCH, "The well", "--into", "Story"]), @r#"
    Merging lore of Alice/Story - Branch #1 into Alice/Story
      lorebook  "Lore"
      base      message 2, the fork point (verified by its seal)
      shared    also used by Alice/Another, where it changes too
    + The well  uid 3 becomes 6
    Done: 1 entry added
      lorebook  "Lore", 6 entries
      before    in the trash; `forklore undo` brings it back
      page      reload SillyTavern's page before you continue this chat
    "#);
}

#[test]
fn where_there_is_no_lorebook_the_way_to_one_is_named() {
    let stage = diverged(Stage::new());
    assert_snapshot!(stage.run(["merge", "Story", "--into", "Elsewhere"]), @r#"
    -- stderr --
    Error: "Alice/Elsewhere" has no lorebook to merge into
    Hint: Give it one first: `forklore repair "Alice/Elsewhere" --from empty`, or --from book=NAME for a copy.
    -- exit 2 --
    "#);
    assert_snapshot!(stage.run(["merge", "Elsewhere", "--into", "Story"]), @r#"
    -- stderr --
    Error: "Alice/Elsewhere" has no lorebook to merge from
    -- exit 2 --
    "#);
    assert_snapshot!(stage.run(["merge", "Story", "--into", "Bereft"]), @r#"
    -- stderr --
    Error: the lorebook "Lost" of "Alice/Bereft" does not exist
    Hint: `forklore repair CHAT --from ...` gives the chat its lorebook back.
    -- exit 2 --
    "#);
    assert_snapshot!(stage.run(["merge", "Old tale", "--into", "Old tale - Branch #1"]), @r#"
    -- stderr --
    Error: "Alice/Old tale" and "Alice/Old tale - Branch #1" share the lorebook "Shared"
    Hint: There is nothing to merge. `forklore split "Alice/Old tale - Branch #1"` gives it its own.
    -- exit 2 --
    "#);
}

#[test]
fn for_programs() {
    let stage = conflicting(Stage::new());
    let picked = ["--json", "pick", "Story", "entry 0.content", "entry 4", "--into", BRANCH];
    assert_snapshot!(stage.run(picked), @r#"
    {
      "format": 2,
      "command": "pick",
      "from": {
        "chat": "Alice/Story",
        "message": null,
        "book": "Lore",
        "known": {
          "exactness": "exact",
          "as_of": null,
          "source": "files"
        }
      },
      "into": "Alice/Story - Branch #1",
      "book": "Story - Branch #1 - Lore",
      "base": {
        "known": "sealed",
        "message": 2,
        "parting": 2
      },
      "also_used_by": [],
      "steps": [
        {
          "what": "add",
          "key": "4",
          "to": "4",
          "title": "entry 4",
          "fields": [],
          "before": null,
          "after": {
            "uid": 4,
            "key": [
              "entry 4"
            ],
            "comment": "entry 4",
            "content": "lore 4"
          },
          "chosen": false,
          "internal": false
        }
      ],
      "fields": [],
      "conflicts": [
        {
          "key": "0",
          "title": "entry 0",
          "kind": "field",
          "field": "content",
          "base": "lore 0",
          "ours": "lore 0 of the branch",
          "theirs": "lore 0 of the story",
          "settled": null
        }
      ],
      "open": 1,
      "kept": [],
      "namesakes": [],
      "moved": [],
      "chat_changed": false,
      "operation": null
    }
    -- exit 2 --
    "#);
}
