//! A folder left by an earlier version that used SHA-256 digests: two forks, and the files needed
//! to undo them. That version wrote every byte in `data/`.
#![expect(clippy::unwrap_used, reason = "helpers of tests are tests too")]

use std::fs;
use std::path::Path;

use forklore_tavern::disk::RealDisk;
use forklore_testkit::scene::{Scene, Stopped, Tree, USER};

const CHILD_BOOK: &str = "worlds/The harbour - Branch #1 - Lore.json";
const CHILD: &str = "chats/Ada/The harbour - Branch #1.jsonl";

fn earlier() -> Scene {
    let mut files = Tree::new();
    gather(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/earlier/data"), "", &mut files);
    let scene = Scene::of(&files);
    let seal = text_of(&scene, CHILD);
    assert_eq!(seal.matches("\"sha256:").count(), 3, "the book, a running and a combined recap");
    scene
}

fn gather(folder: &Path, above: &str, files: &mut Tree) {
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let path = format!("{above}{}", entry.file_name().to_str().unwrap());
        if entry.path().is_dir() {
            gather(&entry.path(), &format!("{path}/"), files);
        } else {
            files.insert(path, fs::read(entry.path()).unwrap());
        }
    }
}

fn text_of(scene: &Scene, path: &str) -> String {
    String::from_utf8(scene.visible()[path].clone()).unwrap()
}

fn findings(scene: &Scene) -> Vec<String> {
    let tavern = scene.tavern(&RealDisk, &Stopped);
    let verified = tavern.verify(&tavern.library(), |_| true, &|| ());
    assert_eq!((verified.checked.len(), verified.unread.len()), (3, 0));
    let findings = verified.checked.iter().flat_map(|checked| &checked.findings);
    findings.map(ToString::to_string).collect()
}

fn edit(scene: &Scene, path: &str, from: &str, to: &str) {
    let text = text_of(scene, path).replace(from, to);
    scene.write(&format!("{USER}/{path}"), text.as_bytes());
}

#[test]
fn seals_of_an_earlier_version_hold() {
    assert_eq!(findings(&earlier()), [""; 0]);
}

#[test]
fn what_changed_since_an_earlier_version_sealed_it_is_noticed() {
    let scene = earlier();
    edit(&scene, CHILD_BOOK, "The king lives.", "The king is dead.");
    let book =
        "its lorebook was edited after the fork, before any new message (2 entries then, 2 now)";
    assert_eq!(findings(&scene), [book]);
    edit(&scene, CHILD, "They met", "They parted");
    let running = "version 1 of its running recap is not the one it was made with";
    let combined = "its combined recap covers 3 messages, not 3";
    assert_eq!(findings(&scene), [book, running, combined]);
}

#[test]
fn what_an_earlier_version_did_is_undone_byte_for_byte() {
    let scene = earlier();
    let displaced = scene.trash()["00000002/2"].clone();
    let tavern = scene.tavern(&RealDisk, &Stopped);
    for _ in 0..2 {
        let transaction = tavern.transaction().unwrap();
        let plan = transaction.plan_undo().unwrap().expect("there is an operation");
        transaction.undo(&plan).unwrap();
    }
    let left = scene.visible();
    let names: Vec<&str> = left.keys().map(String::as_str).collect();
    assert_eq!(names, ["chats/Ada/The harbour.jsonl", "worlds/Harbour lore.json"]);
    assert_eq!(left["chats/Ada/The harbour.jsonl"], displaced);
}

#[test]
fn work_done_since_an_earlier_version_is_not_undone() {
    let scene = earlier();
    edit(&scene, "chats/Ada/The harbour - Checkpoint #1.jsonl", "message 3", "message three");
    let tavern = scene.tavern(&RealDisk, &Stopped);
    let plan = tavern.transaction().unwrap().plan_undo().unwrap().unwrap();
    assert_eq!(plan.later_work(), Some("default-user/chats/Ada/The harbour - Checkpoint #1.jsonl"));
}
