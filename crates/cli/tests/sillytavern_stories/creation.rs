//! What a fork takes along, and when it is refused: the scenarios of requirement document S1.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::Stdio;
use std::time::{SystemTime, UNIX_EPOCH};

use forklore_testkit::sillytavern::Server;
use serde_json::{Value, json};

use super::command::{command, texts};
use super::lore::{
    QUEUE, RUNNING, book, entry, queue, registry, running_recap, said, scene_break, unmarked,
    versions,
};
use super::stage::{Fork, Stage};
use super::tale::Tale;

pub(crate) fn s1_t1_queue_blocking(server: &Server) {
    let stage = Stage::solo(server, "Queue");
    let mut tale = Tale::unrecorded(&stage, &with_queue(&[], None));
    tale.say(&said("First"));
    tale.save();

    blocks(&stage, &tale, &with_queue(&["pending"], None), "work in its queue: 1 pending");
    blocks(&stage, &tale, &with_queue(&["in_progress"], None), "work in its queue: 1 in progress");
    blocks(&stage, &tale, &with_queue(&["retrying"], None), "work in its queue: 1 retrying");
    let several = with_queue(&["pending", "failed", "pending", "completed", "retrying"], None);
    blocks(&stage, &tale, &several, "work in its queue: 2 pending, 1 retrying");
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as u64;
    let under_way = json!({ "pendingOps": {
        "entry_0": { "stage": "lookup", "timestamp": now }, "entry_2": { "timestamp": now - 1000 },
    } });
    stage.change_metadata(&tale.chat, |metadata| metadata["autoLorebooks"] = under_way);
    blocks(
        &stage,
        &tale,
        &with_queue(&["pending"], None),
        "work in its queue: 1 pending, 1 lorebook entry under way",
    );

    // Leftovers of a reload, a cleared queue or a failed entry block nothing, and are not copied.
    tale.write(&with_queue(&[], Some("op_0")));
    let after = stage.fork("branch", &tale.chat, &[]);
    let left = "ST-Auto-Recap left behind 2 lorebook entries that it is not working on";
    assert!(texts(&after.said["remarks"]).contains(&left), "{:#}", after.said);
    assert_eq!(stage.metadata(&after.chat)["autoLorebooks"], json!({ "pendingOps": {} }));

    // Draining leaves the parent's queue untouched.
    tale.write(&several);
    let (parent, busy) = (stage.file(&tale.chat), stage.lore(&tale.book));
    let drained = stage.fork("checkpoint", &tale.chat, &["--queue", "drain"]);
    assert!(
        texts(&drained.said["remarks"]).contains(&"waiting operations were left out of its queue")
    );
    assert_eq!((stage.file(&tale.chat), stage.lore(&tale.book)), (parent, busy.clone()));
    assert_eq!(stage.metadata(&drained.chat)["autoLorebooks"], json!({ "pendingOps": {} }));
    let mut expected: Value = serde_json::from_str(&busy).unwrap();
    let empty = json!({
        "queue": [], "current_operation_id": null, "paused": false, "version": 1, "queueVersion": 3
    });
    expected["entries"][QUEUE.to_string()]["content"] = json!(format!("{empty:#}"));
    assert_eq!(unmarked(&stage.lore(&drained.book)).0, expected.to_string());

    // Finished operations, successful or not, block nothing and stay in the queue.
    stage.change_metadata(&tale.chat, |metadata| metadata["autoLorebooks"] = json!({}));
    let done = with_queue(&["completed", "failed", "cancelled"], None);
    tale.write(&done);
    let fork = stage.fork("branch", &tale.chat, &[]);
    assert!(texts(&fork.said["remarks"]).contains(&"an operation in the queue has failed"));
    assert_eq!(unmarked(&stage.lore(&fork.book)).0, stage.lore(&tale.book));
    stage.assert_no_findings(&[&tale.chat, &fork.chat, &drained.chat]);
}

/// Asserts that both kinds of fork are refused for `why`, and that nothing was created.
pub(crate) fn blocks(stage: &Stage<'_>, tale: &Tale<'_>, book: &str, why: &str) {
    tale.write(book);
    let before = stage.books();
    let label = stage.label(&tale.chat);
    for kind in ["checkpoint", "branch"] {
        stage.run(&[kind, &label]).refused(&["cannot be forked", why, "--queue wait"]);
        let (code, said) = stage.run_json(&[kind, &label]);
        assert_eq!((code, said["command"].as_str()), (2, Some(kind)));
        let causes = texts(&said["error"]["causes"]);
        assert!(causes.iter().any(|cause| cause.contains(why)), "{causes:?}");
    }
    assert_eq!(stage.books(), before);
    assert_eq!(stage.opened(&format!("{} - Branch #1", tale.chat)), "[]");
    assert_eq!(stage.opened(&format!("{} - Checkpoint #1", tale.chat)), "[]");
}

/// The command waits while the work is finished in SillyTavern, and then continues.
pub(crate) fn s1_t1_queue_waiting(server: &Server) {
    let stage = Stage::solo(server, "Waiting");
    let mut tale = Tale::unrecorded(&stage, &with_queue(&["in_progress"], Some("op_0")));
    tale.say(&said("First"));
    tale.save();

    let label = stage.label(&tale.chat);
    let mut waiting = command(server, &["branch", &label, "--queue", "wait", "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut note = String::new();
    let mut words = BufReader::new(waiting.stderr.take().unwrap());
    words.read_line(&mut note).unwrap();
    assert_eq!(note, "Waiting for ST-Auto-Recap to finish.\n");
    assert_eq!(waiting.try_wait().unwrap(), None, "it did not wait");
    assert_eq!(stage.books().iter().filter(|book| book.starts_with("Waiting")).count(), 1);

    let done = with_queue(&["completed"], None);
    tale.write(&done);
    words.read_to_string(&mut note).unwrap();
    let output = waiting.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{note}");
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    let clone = stage.lore(answer["book"]["name"].as_str().unwrap());
    assert_eq!(unmarked(&clone).0, stage.lore(&tale.book));
}

pub(crate) fn s1_t2_all_entries_cloned(server: &Server) {
    let stage = Stage::solo(server, "Entries");
    let all = [
        registry(0, "character", &[(5, "character-Mara"), (6, "character-Oren")]),
        entry(1, "__index_character", "Mara; Oren"),
        entry(5, "character-Mara", "A captain."),
        entry(6, "character-Oren", "Her brother."),
        entry(9, "A note of my own", "Not of any registry."),
        queue(&["completed", "failed"], None),
    ];
    let mut tale = Tale::unrecorded(&stage, &book(&all));
    tale.say(&said("First"));
    tale.save();
    let fork = stage.fork("checkpoint", &tale.chat, &[]);
    assert_eq!(fork.said["book"]["entries"], all.len());

    let clone = stage.lore(&fork.book);
    assert_eq!(unmarked(&clone).0, stage.lore(&tale.book));
    let clone: Value = serde_json::from_str(&clone).unwrap();
    let keys: Vec<&String> = clone["entries"].as_object().unwrap().keys().collect();
    assert_eq!(keys, ["0", "1", "5", "6", "9", "1763632438061"]);
    for expected in &all {
        assert_eq!(clone["entries"][expected["uid"].to_string()], *expected);
    }
    stage.assert_no_findings(&[&tale.chat, &fork.chat]);
}

/// Scenes of five messages each: they end at 4, 9, 14, …
pub(crate) fn scenes(tale: &mut Tale<'_>, until: usize) {
    let from = tale.books.len() / 5;
    for scene in from..until {
        for message in 0..4 {
            tale.say(&said(&format!("Scene {scene}, message {message}")));
        }
        tale.say(&scene_break(&format!("End of scene {scene}"), None));
    }
    let ends: Vec<usize> = (0..until).map(|scene| scene * 5 + 4).collect();
    tale.metadata[RUNNING] = running_recap(&tale.chat, &ends);
    tale.save();
}

pub(crate) fn s1_t3_running_recap_isolation(server: &Server) {
    let stage = Stage::solo(server, "Running");
    let mut tale = Tale::recorded(&stage, &book(&[entry(0, "Lamp", "It burns.")]));
    scenes(&mut tale, 6);
    let at_the_time = stage.fork("checkpoint", &tale.chat, &[]);
    scenes(&mut tale, 11);
    let parent = stage.file(&tale.chat);
    let afterwards = stage.fork("checkpoint", &tale.chat, &["--at", "29"]);
    let early = stage.fork("checkpoint", &tale.chat, &["--at", "6"]);
    let before_any = stage.fork("checkpoint", &tale.chat, &["--at", "3"]);
    assert_eq!(stage.file(&tale.chat), parent);

    let has = |fork: &Fork, expected: &[u64], current: u64| {
        let metadata = stage.metadata(&fork.chat);
        assert_eq!(versions(&metadata), expected);
        assert_eq!(metadata[RUNNING]["current_version"], current);
        assert_eq!(metadata[RUNNING]["chat_id"], *fork.chat);
        let sealed = &metadata["forklore"]["running_recap"];
        assert_eq!(sealed["count"], expected.len());
        let version = if expected.is_empty() { Value::Null } else { json!(current) };
        assert_eq!(sealed["version"], version);
        for version in metadata[RUNNING]["versions"].as_array().unwrap() {
            let number = version["version"].as_u64().unwrap() as usize;
            assert_eq!(*version, tale.metadata[RUNNING]["versions"][number]);
        }
    };
    has(&at_the_time, &[0, 1, 2, 3, 4, 5], 5);
    has(&afterwards, &[0, 1, 2, 3, 4, 5], 5);
    // Version 0 counts as a version.
    has(&early, &[0], 0);
    has(&before_any, &[], 0);
    let metadata = stage.metadata(&tale.chat);
    assert_eq!(versions(&metadata), (0..=10).collect::<Vec<_>>());
    assert_eq!(metadata[RUNNING]["current_version"], 10);
    stage.assert_no_findings(&[
        &tale.chat,
        &at_the_time.chat,
        &afterwards.chat,
        &early.chat,
        &before_any.chat,
    ]);
}

/// ST-Auto-Recap makes a new version of the same scene when its running recap is edited.
pub(crate) fn s1_t3_edited_running_recap(server: &Server) {
    let stage = Stage::solo(server, "Edited");
    let mut tale = Tale::recorded(&stage, &book(&[entry(0, "Lamp", "It burns.")]));
    let scenes = |tale: &mut Tale<'_>, ends: &[usize]| {
        tale.metadata[RUNNING] = running_recap(&tale.chat, ends);
    };
    tale.say(&said("First"));
    scenes(&mut tale, &[1]);
    tale.say(&scene_break("Harbour", None));
    tale.say(&said("Before the edit"));
    scenes(&mut tale, &[1, 1]);
    tale.say(&said("After the edit"));
    scenes(&mut tale, &[1, 1, 4]);
    tale.say(&scene_break("At sea", None));
    scenes(&mut tale, &[1, 1, 4, 1]);
    tale.say(&said("After another edit"));
    tale.save();

    for (message, expected) in
        [(2, vec![0]), (3, vec![0, 1]), (4, vec![0, 1, 2]), (5, vec![0, 1, 2, 3])]
    {
        let fork = stage.fork("branch", &tale.chat, &["--at", &message.to_string()]);
        let metadata = stage.metadata(&fork.chat);
        assert_eq!(versions(&metadata), expected, "at message {message}");
        assert_eq!(metadata[RUNNING]["current_version"], *expected.last().unwrap());
        stage.assert_no_findings(&[&fork.chat]);
    }
}

/// Data of old versions of ST-Auto-Recap, which nothing writes any more.
pub(crate) fn combined(messages: usize) -> Value {
    json!({ "combined_recap": {
        "chat_id": "old", "content": format!("All {messages}."), "message_count": messages,
        "timestamp": QUEUE
    }, "other": true })
}

pub(crate) fn s1_t4_combined_recap(server: &Server) {
    let stage = Stage::solo(server, "Combined");
    let mut tale = Tale::recorded(&stage, &book(&[entry(0, "Lamp", "It burns.")]));
    tale.metadata["auto_recap"] = combined(100);
    for number in 0..100 {
        tale.say(&said(&format!("Message {number}")));
    }
    tale.save();
    let whole = stage.fork("checkpoint", &tale.chat, &[]);
    let metadata = stage.metadata(&whole.chat);
    assert_eq!(metadata["auto_recap"], combined(100));
    assert_eq!(metadata["forklore"]["combined_recap"]["messages"], 100);

    let part = stage.fork("checkpoint", &tale.chat, &["--at", "98"]);
    let metadata = stage.metadata(&part.chat);
    assert_eq!(metadata["auto_recap"], json!({ "other": true }));
    assert_eq!(metadata["forklore"].get("combined_recap"), None);
    let left_out = "the combined recap covers later messages and was left out";
    assert!(texts(&part.said["remarks"]).contains(&left_out));
    assert_eq!(stage.metadata(&tale.chat)["auto_recap"], combined(100));
    stage.assert_no_findings(&[&tale.chat, &whole.chat, &part.chat]);
}

pub(crate) fn s1_t5_complete_state(server: &Server) {
    let stage = Stage::solo(server, "Complete");
    let mut tale = Tale::recorded(&stage, &book(&[registry(0, "character", &[])]));
    let names: Vec<String> = (1..=20).map(|number| format!("character-Name{number}")).collect();
    // A character appears every five messages, and the previous one is edited.
    for number in 0..100_usize {
        if number % 5 == 0 {
            let there = number / 5 + 1;
            let listed: Vec<(u64, &str)> =
                (0..there).map(|at| (at as u64 + 1, names[at].as_str())).collect();
            let mut all = vec![registry(0, "character", &listed)];
            for (uid, name) in &listed {
                let text = format!("Known since {uid}, seen at {}.", (*uid).min(there as u64 - 1));
                all.push(entry(*uid, name, &text));
            }
            tale.write(&book(&all));
            tale.metadata["variables"] = json!({ "joined": there.to_string() });
        }
        let text = format!("Message {number}");
        let message = if number % 10 == 9 { scene_break(&text, None) } else { said(&text) };
        tale.say(&message);
    }
    let ends: Vec<usize> = (0..10).map(|scene| scene * 10 + 9).collect();
    tale.metadata[RUNNING] = running_recap(&tale.chat, &ends);
    tale.save();
    let now = stage.lore(&tale.book);

    let fork = stage.fork("checkpoint", &tale.chat, &["--at", "50", "--allow", "exact"]);
    let (lore, _) = unmarked(&stage.lore(&fork.book));
    assert_eq!(lore, tale.books[50]);
    assert!(lore.contains("Name11") && !lore.contains("Name12"), "{lore}");
    assert!(now.contains("Name20"));
    assert_eq!(stage.lines(&fork.chat).len(), 1 + 51);
    let metadata = stage.metadata(&fork.chat);
    assert_eq!(metadata["variables"]["joined"], "11");
    assert_eq!(versions(&metadata), [0, 1, 2, 3, 4]);
    assert_eq!(versions(&stage.metadata(&tale.chat)), (0..10).collect::<Vec<_>>());
    assert_eq!(stage.metadata(&tale.chat)["variables"]["joined"], "20");
    assert_eq!(stage.lore(&tale.book), now);
    stage.assert_no_findings(&[&tale.chat, &fork.chat]);

    assert_isolated(&stage, &tale.chat, &fork.chat);
    stage.assert_no_findings(&[&tale.chat, &fork.chat]);
}

/// Alternately changes lore, variables and messages of both chats, checking both each time.
pub(crate) fn assert_isolated(stage: &Stage<'_>, one: &str, other: &str) {
    for round in 0..5_u64 {
        for (this, that) in [(one, other), (other, one)] {
            let untouched = (stage.opened(that), stage.scanned(that));
            let uid = 1000 + round;
            let mut lore: Value = serde_json::from_str(&stage.scanned(this)).unwrap();
            let text = format!("Round {round} of {this}");
            lore["entries"][uid.to_string()] = entry(uid, "Round", &text);
            let name = stage.metadata(this)["world_info"].as_str().unwrap().to_owned();
            stage.api().edit_book(&name, &lore.to_string()).ok();
            stage.change_metadata(this, |metadata| metadata["variables"]["round"] = json!(text));
            stage.append(this, &said(&text)).ok();

            assert_eq!((stage.opened(that), stage.scanned(that)), untouched);
            assert!(stage.scanned(this).contains(&text));
        }
    }
}

pub(crate) fn with_queue(statuses: &[&str], current: Option<&str>) -> String {
    book(&[entry(0, "Lamp", "It burns."), queue(statuses, current)])
}
