//! Timed effects, checked by SillyTavern's own code.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use forklore_testkit::sillytavern::Server;
use serde_json::{Value, json};

use super::lore::{said, unmarked};
use super::stage::Stage;
use super::tale::Tale;

/// Entries with timed effects, some with content that makes their hash hard to reproduce.
const BOOK: &str = r#"{"entries":{
    "7":{"uid":7,"key":["lamp"],"comment":"Lamp","content":"It burns.","sticky":50,"cooldown":null},
    "8":{"uid":8,"key":["wind"],"comment":"Wind","content":"@@activate\n@@@x\nIt blows.","sticky":0,"cooldown":60},
    "9":{"cooldown":70,"sticky":80,"10":"ten","2":"two","n":1e21,"content":"half \ud83d","uid":9,"order":1},
    "11":{"uid":11,"content":"@@dont_activate\nhalf \udc00 too","sticky":90,"extensions":{"5":0.10,"a":-0}},
    "12":{"uid":12,"comment":"none","content":"Nothing lasts.","sticky":null,"cooldown":null}
}}"#;

pub(crate) fn timed_effects_run_on(server: &Server) {
    let stage = Stage::solo(server, "Timed");
    let mut tale = Tale::unrecorded(&stage, BOOK);
    for number in 0..6 {
        tale.say(&said(&format!("Message {number}")));
    }
    let lore = stage.lore(&tale.book);
    let begun = sillytavern(server, "begin", &tale.book, &lore, &json!({}), 4)["timed"].take();
    assert_eq!(begun["sticky"].as_object().unwrap().len(), 3, "{begun:#}");
    assert_eq!(begun["cooldown"].as_object().unwrap().len(), 2, "{begun:#}");

    // An effect of an entry that was edited since, which SillyTavern no longer applies, and an
    // effect of another book.
    let mut timed = begun;
    timed["cooldown"][format!("{}.7", tale.book)] =
        json!({ "hash": 1, "start": 4, "end": 40, "protected": false });
    timed["sticky"]["Elsewhere.7"] =
        json!({ "hash": 2, "start": 4, "end": 40, "protected": false });
    tale.metadata["timedWorldInfo"] = timed.clone();
    tale.save();
    let before = sillytavern(server, "look", &tale.book, &lore, &timed, 6);
    assert_eq!((&before["sticky"], &before["cooldown"]), (&json!([7, 9, 11]), &json!([8, 9])));

    let fork = stage.fork("branch", &tale.chat, &[]);
    let childs = stage.metadata(&fork.chat)["timedWorldInfo"].take();
    let clone = stage.lore(&fork.book);
    assert_eq!(unmarked(&clone).0, lore);
    let after = sillytavern(server, "look", &fork.book, &clone, &childs, 6);
    assert_eq!((&after["sticky"], &after["cooldown"]), (&before["sticky"], &before["cooldown"]));

    // For each key: the clone's name, SillyTavern's own hash for it, and no other change.
    for kind in ["sticky", "cooldown"] {
        for (key, effect) in timed[kind].as_object().unwrap() {
            let mut expected = effect.clone();
            let mut name = key.clone();
            if let Some(uid) = key.strip_prefix(&format!("{}.", tale.book)) {
                name = format!("{}.{uid}", fork.book);
                if effect["hash"] != 1 {
                    expected["hash"] = after["hashes"][uid].clone();
                    assert_ne!(expected["hash"], effect["hash"]);
                }
            }
            assert_eq!(childs[kind][&name], expected, "{kind} {name}");
        }
        assert_eq!(childs[kind].as_object().unwrap().len(), timed[kind].as_object().unwrap().len());
    }
    stage.assert_no_findings(&[&tale.chat, &fork.chat]);
}

/// Asks SillyTavern's own code about the effects of a book's entries.
fn sillytavern(
    server: &Server,
    what: &str,
    name: &str,
    book: &str,
    timed: &Value,
    length: usize,
) -> Value {
    let script =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sillytavern_stories/timed_effects.mjs");
    let mut node = Command::new("node")
        .arg(script)
        .arg(server.install())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let request = format!(
        r#"{{"do":"{what}","book":{},"data":{book},"timed":{timed},"length":{length}}}"#,
        json!(name)
    );
    node.stdin.take().unwrap().write_all(request.as_bytes()).unwrap();
    let answer = node.wait_with_output().unwrap();
    assert!(answer.status.success(), "node failed");
    serde_json::from_slice(&answer.stdout).unwrap()
}
