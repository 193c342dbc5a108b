//! Merging lore from one timeline into another, and what SillyTavern serves afterwards.

use forklore_testkit::sillytavern::Server;
use serde_json::{Value, json};

use super::lore::{book, content, entry, registry, said};
use super::stage::Stage;
use super::tale::Tale;

pub(crate) fn a_merge_of_two_timelines(server: &Server) {
    let stage = Stage::solo(server, "Merge");
    let lamp = || entry(0, "Lamp", "It burns.");
    let mut tale = Tale::recorded(&stage, &book(&[lamp(), entry(1, "Door", "It is shut.")]));
    for text in ["One", "Two", "Three"] {
        tale.say(&said(text));
    }
    tale.save();
    let fork = stage.fork("branch", &tale.chat, &[]);
    let (main, child) = (stage.label(&tale.chat), stage.label(&fork.chat));

    // Both change through SillyTavern, and each adds its own entry 2.
    let mut door = entry(1, "Door", "It is shut.");
    door["order"] = json!(7);
    let known = registry(9, "object", &[(2, "Rope")]);
    tale.write(&book(&[lamp(), door, entry(2, "Rope", "Wet."), known]));
    let mut lore: Value = serde_json::from_str(&stage.scanned(&fork.chat)).unwrap();
    lore["entries"]["1"]["content"] = json!("It is open.");
    lore["entries"]["2"] = entry(2, "Key", "Of brass.");
    stage.api().edit_book(&fork.book, &lore.to_string()).ok();
    stage.append(&fork.chat, &said("Four, in the branch")).ok();
    let before = stage.book_file(&fork.book).unwrap();

    // SillyTavern has just written the book, as it would from an open page.
    let merge = ["merge", &main, "--into", &child];
    let refused = stage.run(&merge);
    assert_eq!(refused.code, 2, "{refused:?}");
    assert!(refused.err.contains("may be open in SillyTavern"), "{refused:?}");
    assert_eq!(stage.book_file(&fork.book).unwrap(), before);
    let (code, said) = stage.run_json(&[&merge[..], &["--closed"]].concat());
    assert_eq!((code, &said["open"]), (0, &json!(0)), "{said:#}");

    let merged: Value = serde_json::from_str(&stage.scanned(&fork.chat)).unwrap();
    assert_eq!(content(&merged, "Door"), Some("It is open."));
    assert_eq!(merged["entries"]["1"]["order"], 7);
    assert_eq!(
        (content(&merged, "Key"), content(&merged, "Rope")),
        (Some("Of brass."), Some("Wet."))
    );
    assert_eq!(content(&merged, "Lamp"), Some("It burns."));
    let rope = &said["moved"][0]["to"];
    let listed = content(&merged, "_registry_object").unwrap();
    assert!(listed.contains(&format!("UID={} | name: Rope", rope.as_str().unwrap())), "{listed}");
    // SillyTavern can write what it reads, and neither chat has any findings.
    stage.api().edit_book(&fork.book, &stage.lore(&fork.book)).ok();
    let again: Value = serde_json::from_str(&stage.scanned(&fork.chat)).unwrap();
    assert_eq!(again, merged);
    stage.assert_no_findings(&[&tale.chat, &fork.chat]);

    let said = stage.run(&["merge", &main, "--into", &child, "--closed"]).ok();
    assert!(said.contains("Nothing to merge"), "{said}");
}
