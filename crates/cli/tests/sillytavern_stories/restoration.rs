//! Forks that are made, reopened and continued: the scenarios of requirement document S3.

use forklore_testkit::sillytavern::Server;
use serde_json::{Value, json};

use super::creation::{assert_isolated, blocks, combined, scenes, with_queue};
use super::lore::{
    QUEUE, RUNNING, book, content, entry, queue, registry, running_recap, said, scene_break,
    unmarked, versions,
};
use super::stage::Stage;
use super::tale::Tale;

pub(crate) fn s3_a_creation(server: &Server) {
    let stage = Stage::solo(server, "Creation");
    let mara = entry(5, "character-Mara", "A captain.");
    let listed = registry(0, "character", &[(5, "character-Mara")]);
    let all = [listed, mara.clone(), queue(&["completed"], None)];
    let mut tale = Tale::unrecorded(&stage, &book(&all));
    tale.say(&said("First"));
    tale.say(&scene_break("Harbour", Some((&stage.book(), &[mara]))));
    tale.metadata[RUNNING] = running_recap(&tale.chat, &[1]);
    tale.metadata["auto_recap"] = combined(2);
    tale.metadata["auto_lorebooks"] = json!({
        "lorebookName": tale.book, "attachedAt": 1,
        "registry": { "index": {
            "5": { "uid": 5, "id": "5", "type": "character", "name": "character-Mara", "comment": "character-Mara" },
            "8": { "uid": 8, "id": "8", "type": "character", "name": "character-Gone", "comment": "character-Gone" }
        } }
    });
    tale.save();
    blocks(&stage, &tale, &with_queue(&["pending"], None), "1 pending");
    tale.write(&book(&all));
    let parent = stage.file(&tale.chat);

    let label = stage.label(&tale.chat);
    let said =
        stage.run(&["checkpoint", &label, "--require-scene", "--name", "At the harbour"]).ok();
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(
        lines[0],
        format!("Made the checkpoint Creation/At the harbour of {label} at message 1")
    );
    assert_eq!(
        lines[1],
        "  lorebook  \"At the harbour - Lore\", 3 entries, exact (this is its last message)"
    );
    assert_eq!(lines[2], "  recap     version 0, 1 version, 1 scene");
    assert_eq!(lines[3], "  combined  recap of 2 messages");
    assert!(lines[4].starts_with("  link      none: the chat may be open"), "{said}");
    assert_eq!(stage.file(&tale.chat), parent);

    let (child, clone) = ("At the harbour", "At the harbour - Lore");
    assert_eq!(unmarked(&stage.lore(clone)).0, stage.lore(&tale.book));
    let metadata = stage.metadata(child);
    assert_eq!(metadata["world_info"], clone);
    assert_eq!(stage.metadata(&tale.chat)["world_info"], *tale.book);
    let seal = &metadata["forklore"];
    assert_eq!(
        (&seal["running_recap"]["version"], &seal["running_recap"]["count"]),
        (&json!(0), &json!(1))
    );
    assert_eq!(seal["combined_recap"]["messages"], 2);
    assert_eq!((&seal["book"]["name"], &seal["book"]["entries"]), (&json!(clone), &json!(3)));

    // ST-Auto-Recap's references lead to the clone, and its index matches the clone's content.
    let notes = &metadata["auto_lorebooks"];
    assert_eq!((&notes["lorebookName"], &notes["attachedAt"]), (&json!(clone), &json!(1)));
    let index = notes["registry"]["index"].as_object().unwrap();
    assert_eq!(index.keys().collect::<Vec<_>>(), ["5"]);
    let scene = stage.lines(child)[2]["extra"]["auto_recap_memory"]["scene_recap_metadata"].take();
    assert_eq!(scene["1"]["chatLorebookName"], clone);
    assert_eq!(scene["1"]["allEntries"][0]["world"], clone);
    stage.assert_no_findings(&[&tale.chat, child]);
}

pub(crate) fn s3_b_restoration(server: &Server) {
    let stage = Stage::solo(server, "Restored");
    let mut tale = Tale::recorded(&stage, &book(&[entry(0, "Lamp", "It burns.")]));
    tale.metadata["auto_recap"] = combined(10);
    scenes(&mut tale, 6);
    let fork = stage.fork("checkpoint", &tale.chat, &[]);
    stage.assert_no_findings(&[&fork.chat]);
    let original = stage.metadata(&fork.chat);
    let check = |change: &dyn Fn(&mut Value), expected: &[(bool, &str)]| {
        stage.change_metadata(&fork.chat, change);
        let expected: Vec<(bool, String)> =
            expected.iter().map(|(is_problem, text)| (*is_problem, (*text).to_owned())).collect();
        assert_eq!(stage.findings(&fork.chat), expected);
        let is_wrong = expected.iter().any(|(is_problem, _)| *is_problem);
        let verified = stage.run(&["verify", &stage.label(&fork.chat)]);
        assert_eq!(verified.code, i32::from(is_wrong));
        assert!(expected.iter().all(|(_, text)| verified.out.contains(text)), "{verified:?}");
        stage.change_metadata(&fork.chat, |metadata| *metadata = original.clone());
    };
    check(
        &|metadata| metadata[RUNNING]["versions"][5]["content"] = json!("Another"),
        &[(false, "version 5 of its running recap is not the one it was made with")],
    );
    check(
        &|metadata| metadata[RUNNING]["current_version"] = json!(7),
        &[(true, "its running recap has no version 7, though that one is in use")],
    );
    check(
        &|metadata| metadata[RUNNING]["current_version"] = json!(4),
        &[(false, "version 4 of its running recap is in use; it was made with 5")],
    );
    check(
        &|metadata| drop(metadata[RUNNING]["versions"].as_array_mut().unwrap().pop()),
        &[
            (true, "its running recap has no version 5, though that one is in use"),
            (true, "version 5 of its running recap, which it was made with, is gone"),
        ],
    );
    check(
        &|metadata| drop(metadata.as_object_mut().unwrap().remove(RUNNING)),
        &[(true, "version 5 of its running recap, which it was made with, is gone")],
    );
    check(
        &|metadata| metadata[RUNNING]["versions"][5]["new_scene_index"] = json!(400),
        &[
            (true, "version 5 of its running recap is about message 400, which it does not have"),
            (false, "version 5 of its running recap is not the one it was made with"),
        ],
    );
    check(
        &|metadata| metadata["auto_recap"] = combined(9),
        &[(false, "its combined recap covers 9 messages, not 10")],
    );
    check(
        &|metadata| drop(metadata["auto_recap"].as_object_mut().unwrap().remove("combined_recap")),
        &[(false, "its combined recap of 10 messages is gone")],
    );
    stage.api().edit_book("Another book", r#"{"entries":{}}"#).ok();
    let another =
        format!("was made with the lorebook {:?} but is bound to \"Another book\" now", fork.book);
    check(&|metadata| metadata["world_info"] = json!("Another book"), &[(false, &another)]);
    let shared = format!("shares its lorebook {:?} with {:?}", tale.book, tale.chat);
    let another =
        format!("was made with the lorebook {:?} but is bound to {:?} now", fork.book, tale.book);
    check(
        &|metadata| metadata["world_info"] = json!(tale.book),
        &[(true, &shared), (false, &another)],
    );
    stage.assert_no_findings(&[&tale.chat, &fork.chat]);
}

/// Checkpoints from before Forklore: with the record of the original design, and without any.
pub(crate) fn s3_b_restoration_of_older_seals(server: &Server) {
    let stage = Stage::solo(server, "Older");
    let mut tale = Tale::unrecorded(&stage, &book(&[entry(0, "Lamp", "It burns.")]));
    tale.metadata["auto_recap"] = combined(10);
    scenes(&mut tale, 6);
    stage.api().edit_book("Older clone", &book(&[entry(0, "Lamp", "It burns.")])).ok();
    let make = |name: &str, state: Option<Value>| {
        let mut lines: Vec<Value> = stage.lines(&tale.chat);
        let metadata = &mut lines[0]["chat_metadata"];
        metadata["main_chat"] = json!(tale.chat);
        metadata["integrity"] = json!(name);
        metadata["world_info"] = json!("Older clone");
        if let Some(state) = state {
            metadata["auto_recap_checkpoint_state"] = state;
        }
        let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
        stage.save(name, &lines).ok();
    };
    let state = |book: &str, version: u64, messages: u64| {
        Some(json!({
            "version": 2, "created_at": QUEUE, "message_id": 29, "cloned_lorebook_name": book,
            "running_recap_version": version, "running_recap_scene_count": 6,
            "combined_recap_message_count": messages, "queue_was_empty": true
        }))
    };
    make("Older - Checkpoint #1", state("Older clone", 5, 10));
    assert_eq!(stage.findings("Older - Checkpoint #1"), []);
    stage.delete("Older - Checkpoint #1");

    make("Older - Checkpoint #2", state("Lost clone", 8, 20));
    let found = stage.findings("Older - Checkpoint #2");
    let expected = [
        (false, "was made with the lorebook \"Lost clone\" but is bound to \"Older clone\" now"),
        (true, "its running recap has no version 8, though that one is in use"),
        (false, "its combined recap covers 10 messages, not 20"),
    ];
    let expected = expected.map(|(is_problem, text)| (is_problem, text.to_owned()));
    assert_eq!(found, expected);
    assert_eq!(stage.run(&["verify", &stage.label("Older - Checkpoint #2")]).code, 1);
    stage.delete("Older - Checkpoint #2");

    make("Older - Checkpoint #3", None);
    let older = "nothing was recorded when it was made: before Forklore, without it, or by a fork that failed".to_owned();
    assert_eq!(stage.findings("Older - Checkpoint #3"), [(false, older)]);
    assert_eq!(stage.run(&["verify", &stage.label("Older - Checkpoint #3")]).code, 0);
}

pub(crate) fn s3_c_divergence(server: &Server) {
    let stage = Stage::solo(server, "Divergence");
    let mut tale = Tale::recorded(&stage, &book(&[entry(0, "Lamp", "It burns.")]));
    scenes(&mut tale, 6);
    let fork = stage.fork("checkpoint", &tale.chat, &[]);

    tale.write(&book(&[entry(0, "Lamp", "It went out."), entry(1, "Main", "Only here.")]));
    scenes(&mut tale, 11);
    // The child gets three scenes of its own.
    for scene in 6..9 {
        for message in 0..4 {
            let text = format!("Child's scene {scene}, message {message}");
            stage.append(&fork.chat, &said(&text)).ok();
        }
        let end = scene_break(&format!("Child's end of scene {scene}"), None);
        stage.append(&fork.chat, &end).ok();
    }
    let ends: Vec<usize> = (0..9).map(|scene| scene * 5 + 4).collect();
    stage.change_metadata(&fork.chat, |metadata| {
        let own = running_recap(&fork.chat, &ends);
        let versions = metadata[RUNNING]["versions"].as_array_mut().unwrap();
        assert_eq!(versions.len(), 6);
        versions.extend(own["versions"].as_array().unwrap()[6..].iter().cloned());
        metadata[RUNNING]["current_version"] = json!(8);
    });
    let mut lore: Value = serde_json::from_str(&stage.scanned(&fork.chat)).unwrap();
    lore["entries"]["1"] = entry(1, "Child", "Only there.");
    stage.api().edit_book(&fork.book, &lore.to_string()).ok();

    // Switches back and forth twice.
    for _ in 0..2 {
        let (main, child) = (stage.metadata(&tale.chat), stage.metadata(&fork.chat));
        assert_eq!((versions(&main).len(), &main[RUNNING]["current_version"]), (11, &json!(10)));
        assert_eq!((versions(&child).len(), &child[RUNNING]["current_version"]), (9, &json!(8)));
        assert_eq!(main[RUNNING]["versions"][8]["content"], format!("Until 44 in {}", tale.chat));
        assert_eq!(child[RUNNING]["versions"][8]["content"], format!("Until 44 in {}", fork.chat));
        let main: Value = serde_json::from_str(&stage.scanned(&tale.chat)).unwrap();
        let child: Value = serde_json::from_str(&stage.scanned(&fork.chat)).unwrap();
        assert_eq!((content(&main, "Lamp"), content(&main, "Child")), (Some("It went out."), None));
        assert_eq!((content(&child, "Lamp"), content(&child, "Main")), (Some("It burns."), None));
        assert_eq!(
            (content(&main, "Main"), content(&child, "Child")),
            (Some("Only here."), Some("Only there."))
        );
    }
    assert_isolated(&stage, &tale.chat, &fork.chat);
    stage.assert_no_findings(&[&tale.chat, &fork.chat]);
}
