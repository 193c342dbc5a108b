//! `--json`: always exactly one object.

use forklore_json::Json;
use insta::assert_snapshot;

use crate::stage::Stage;

#[test]
fn every_command_answers_with_one_object() {
    let stage = Stage::new();
    for args in [
        vec!["status"],
        vec!["tree"],
        vec!["check", "Story"],
        vec!["diff", "Story", "--at", "1"],
        vec!["merge", "Story", "--into", "Old tale"],
        vec!["pick", "Story", "entry 3", "--into", "Old tale"],
        vec!["show", "Story", "--at", "1"],
        vec!["verify", "--all"],
        vec!["branch", "Story", "--at", "1"],
        vec!["checkpoint", "Story"],
        vec!["repair", "Bereft", "--from", "journal"],
        vec!["split", "--all"],
        vec!["restore", "Story", "--at", "1"],
        vec!["strip", "Story"],
        vec!["clean", "--yes"],
        vec!["trash"],
        vec!["undo"],
        vec!["check", "nobody"],
    ] {
        let shown = stage.run(["--json"].into_iter().chain(args.iter().copied()));
        let object = shown.split("-- ").next().unwrap_or_default();
        let json = Json::parse(object.as_bytes());
        let json = json.unwrap_or_else(|error| panic!("{args:?}: {error}\n{shown}"));
        assert!(json.get("format").is_some() && json.get("command").is_some(), "{shown}");
        assert!(!shown.contains("stderr"), "{shown}");
    }
}

#[test]
fn a_fork_tells_a_program_all_about_it() {
    assert_snapshot!(Stage::new().run(["--json", "checkpoint", "Story", "--at", "2"]), @r#"
    {
      "format": 2,
      "command": "checkpoint",
      "parent": "Alice/Story",
      "message": 2,
      "child": "Alice/Story - Checkpoint #1",
      "bytes": 1953,
      "book": {
        "name": "Story - Checkpoint #1 - Lore",
        "from": "Lore",
        "entries": 3,
        "digest": "blake3:e6cb974bcff1b5b3cd097d4967d6ddd15a34b9e3041c4a436f371eccefcb10b3",
        "known": {
          "exactness": "exact",
          "as_of": null,
          "source": "journal"
        }
      },
      "book_known": {
        "exactness": "exact",
        "as_of": null,
        "source": "journal"
      },
      "metadata_known": {
        "exactness": "exact",
        "as_of": null,
        "source": "journal"
      },
      "recap": null,
      "combined": null,
      "link": "written",
      "group": null,
      "remarks": [],
      "operation": 1
    }
    "#);
}

#[test]
fn a_refusal_is_an_object_too() {
    assert_snapshot!(Stage::new().run(["--json", "branch", "Old tale", "--at", "1"]), @r#"
    {
      "format": 2,
      "command": "branch",
      "error": {
        "code": "fork-refused",
        "values": {
          "chat": "Old tale",
          "message": 1,
          "obstacles": [
            {
              "code": "book-not-known",
              "values": {
                "as_of": null
              },
              "text": "nothing recorded the lorebook at that message; it is only known as it is today"
            }
          ]
        },
        "message": "\"Old tale\" cannot be forked at message 1",
        "causes": [
          "nothing recorded the lorebook at that message; it is only known as it is today"
        ],
        "hints": [
          "--allow live accepts the lorebook as it is today."
        ]
      }
    }
    -- exit 2 --
    "#);
}

#[test]
fn a_split_that_is_refused_in_part_is_still_one_object() {
    let stage = Stage::new();
    // Alice now opens with the branch, so a page may have it open.
    stage.scene.write(
        "default-user/characters/Alice.png",
        &forklore_testkit::scene::card("Alice", "Old tale - Branch #1", "Common"),
    );
    assert_snapshot!(stage.run(["--json", "split", "--all"]), @r#"
    {
      "format": 2,
      "command": "split",
      "timelines": [],
      "refused": [
        {
          "chat": "Alice/Old tale - Branch #1",
          "error": {
            "code": "may-be-open",
            "values": {
              "what": "\"Alice/Old tale - Branch #1\"",
              "why": "current-chat"
            },
            "message": "\"Alice/Old tale - Branch #1\" may be open in SillyTavern: it is the chat that Alice opens with",
            "causes": [],
            "hints": [
              "Open another chat in SillyTavern first, or close it. If no page has it open, add --closed."
            ]
          }
        }
      ]
    }
    -- exit 2 --
    "#);
}
