//! Metadata nested deeper than Forklore parses into values: other extensions may store anything.

use std::collections::BTreeMap;

use forklore_core::finding::Obstacle;
use forklore_core::plan::fork::Policy;
use forklore_core::sillytavern::names::ForkKind;
use forklore_tavern::disk::RealDisk;
use forklore_tavern::work::fork::{ForkError, ForkOptions, Forked};
use forklore_testkit::scene::{Scene, Stopped, Tree, USER};

const DEPTH: usize = 600;

/// A chat with a lorebook, and a deeply nested value under `key` in its metadata.
fn scene(key: &str) -> Scene {
    let deep = deep();
    let chat = format!(
        "{{\"chat_metadata\":{{\"{key}\":{deep},\"world_info\":\"Lore\",\"integrity\":\"a\"}}}}\n{{\"mes\":\"a\"}}"
    );
    let book = "{\"entries\":{\"0\":{\"uid\":0,\"comment\":\"a\",\"content\":\"b\"}}}";
    let files: Tree = BTreeMap::from([
        (format!("{USER}/chats/Ada/Story.jsonl"), chat.into_bytes()),
        (format!("{USER}/worlds/Lore.json"), book.into()),
    ]);
    Scene::of(&files)
}

fn deep() -> String {
    "[".repeat(DEPTH) + &"]".repeat(DEPTH)
}

fn fork(scene: &Scene) -> Result<Forked, ForkError> {
    let tavern = scene.tavern(&RealDisk, &Stopped);
    let library = tavern.library();
    let options = ForkOptions {
        kind: ForkKind::Branch,
        at: None,
        name: None,
        policy: Policy::default(),
        parent_is_closed: true,
        dry_run: false,
    };
    tavern.fork(&library.chats[0], &options)
}

#[test]
fn a_child_keeps_what_is_deep_and_gets_a_book_of_its_own() {
    let scene = scene("theirs");
    let forked = fork(&scene).unwrap();
    assert_eq!(forked.seal.book.as_ref().map(|book| book.entries), Some(1));
    let child = &scene.visible()[&format!("chats/Ada/{}.jsonl", forked.child)];
    assert!(String::from_utf8_lossy(child).contains(&format!("\"theirs\":{}", deep())));

    let tavern = scene.tavern(&RealDisk, &Stopped);
    let verified = tavern.verify(&tavern.library(), |_| true, &|| ());
    assert_eq!(verified.problems(), 0, "{:?}", verified.checked);
    let entries: Vec<_> = verified.checked.iter().map(|checked| checked.entries).collect();
    assert_eq!(entries, [Some(1), Some(1)]);
}

#[test]
fn a_fork_that_would_have_to_read_what_is_deep_is_refused() {
    let scene = scene("variables");
    let before = scene.visible();
    let Err(ForkError::Refused(refusal)) = fork(&scene) else { panic!("it is refused") };
    assert_eq!(refusal.obstacles, [Obstacle::MetadataTooDeep(vec!["variables".into()])]);
    assert_eq!(scene.visible(), before);
}
