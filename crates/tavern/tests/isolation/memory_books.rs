//! A child never writes to a book in which Memory Books keeps its parent's memories.

use forklore_core::finding::Remark;
use forklore_core::memory_books;
use forklore_core::plan::fork::Policy;
use forklore_core::sillytavern::names::ForkKind;
use forklore_core::timeline::exactness::Allow;
use forklore_json::Json;
use forklore_tavern::disk::RealDisk;
use forklore_tavern::work::fork::{ForkOptions, Forked};
use forklore_testkit::scene::{Scene, Stopped, Tree, USER};

use crate::undo;

/// The books that Memory Books writes to in the modes that have more than one.
const MODES: [&str; 3] = [
    r#"{"manualLorebook":"Memories"}"#,
    r#"{"manualLorebook":"Memories","narratorMode":{"enabled":true,"members":[
        {"id":"1","name":"Ada","lorebookName":"Of Ada"},
        {"id":"2","name":"Bo","lorebookName":"Of Bo","retired":true},
        {"id":"3","name":"Cleo","lorebookName":"Of Cleo"}]}}"#,
    r#"{"manualLorebook":"Memories","manualCharacterLorebooks":{"a":"Of Ada","b":"Of Bo","c":"Of Ada"},
        "sidePromptLorebookOverrides":{"map":"Of Cleo","mood":"__memory__"}}"#,
];

const BOOK: &str = r#"{"entries":{
    "0":{"uid":0,"content":"first","STMB_start":0,"STMB_end":1,"STMB_chatId":"Story","STMB_canonicalLorebook":"Memories"},
    "1":{"uid":1,"content":"second","STMB_start":2,"STMB_end":3,"STMB_chatId":"Story","STMB_canonicalLorebook":"Memories"}}}"#;

fn scene(notes: &str, is_group: bool) -> Scene {
    let notes = Json::parse(notes.as_bytes()).expect("the notes are JSON");
    let metadata = Json::object([
        ("integrity", Json::from("i")),
        ("world_info", "Lore".into()),
        (memory_books::KEY, notes),
    ]);
    let header = Json::object([("chat_metadata", metadata)]).stringify();
    let mut chat = vec![String::from_utf8(header).expect("JSON is UTF-8")];
    chat.extend((0..4).map(|message| format!(r#"{{"mes":"m{message}"}}"#)));
    let folder = if is_group { "group chats" } else { "chats/Ada" };
    let mut files: Tree = ["Lore", "Memories", "Of Ada", "Of Bo", "Of Cleo"]
        .map(|name| (format!("{USER}/worlds/{name}.json"), BOOK.into()))
        .into();
    files.insert(format!("{USER}/{folder}/Story.jsonl"), chat.join("\n").into_bytes());
    if is_group {
        let group =
            r#"{"id":"g","name":"G","members":["Ada.png"],"chat_id":"Story","chats":["Story"]}"#;
        files.insert(format!("{USER}/groups/g.json"), group.into());
    }
    Scene::of(&files)
}

fn fork(scene: &Scene, kind: ForkKind, at: i64) -> Forked {
    let tavern = scene.tavern(&RealDisk, &Stopped);
    let library = tavern.library();
    let story = library.chats.iter().find(|chat| chat.name == "Story").expect("it is there");
    let policy = Policy { allow: Allow::Live, ..Policy::default() };
    let options = ForkOptions {
        kind,
        at: Some(at),
        name: None,
        policy,
        parent_is_closed: false,
        dry_run: false,
    };
    tavern.fork(story, &options).expect("nothing stands in its way")
}

fn metadata(scene: &Scene, child: &str) -> Json {
    let files = scene.visible();
    let file = files.iter().find(|(path, _)| path.ends_with(&format!("/{child}.jsonl")));
    let file = file.expect("the child was made");
    let header = file.1.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let header = Json::parse(header).expect("the header is JSON");
    header.get("chat_metadata").cloned().unwrap_or(Json::Null)
}

#[test]
fn every_book_of_memory_books_is_the_childs_own_and_goes_with_an_undo() {
    for (notes, is_group) in MODES.into_iter().flat_map(|notes| [(notes, false), (notes, true)]) {
        for (kind, at) in [ForkKind::Branch, ForkKind::Checkpoint]
            .into_iter()
            .flat_map(|kind| [(kind, 1), (kind, 3)])
        {
            let scene = scene(notes, is_group);
            let before = scene.visible();
            let theirs = memory_books::books(&Json::object([(
                memory_books::KEY,
                Json::parse(notes.as_bytes()).unwrap(),
            )]));

            let forked = fork(&scene, kind, at);

            let metadata = metadata(&scene, &forked.child);
            let ours = memory_books::books(&metadata);
            assert_eq!(ours.len(), theirs.len(), "{ours:?}");
            let after = scene.visible();
            for (own, source) in ours.iter().zip(&theirs) {
                assert_ne!(own, source);
                let book = Json::parse(&after[&format!("worlds/{own}.json")]).unwrap();
                let entries = book.get("entries").unwrap().as_object().unwrap();
                assert_eq!(entries.len(), if at == 3 { 2 } else { 1 });
                for (_, entry) in entries.iter() {
                    assert_eq!(entry.get("STMB_chatId"), Some(&Json::from(forked.child.as_str())));
                    assert_eq!(
                        entry.get("STMB_canonicalLorebook"),
                        Some(&Json::from(ours[0].as_str()))
                    );
                }
                let is_said = forked.remarks.contains(&Remark::MemoriesAreLive(source.clone()));
                assert_eq!(is_said, at != 3, "{source}");
            }
            let told = metadata.at(&[memory_books::KEY, "branchLorebookCopies"]).unwrap();
            assert_eq!(told.get("status"), Some(&"completed".into()));
            let mappings = told.get("mappings").and_then(Json::as_array).unwrap();
            assert_eq!(mappings.len(), 1 + theirs.len(), "the bound one, too");
            for (path, bytes) in &before {
                let may_change = path.starts_with("groups/") || path.ends_with("/Story.jsonl");
                assert!(may_change || after[path] == *bytes, "{path} changed");
            }
            let tavern = scene.tavern(&RealDisk, &Stopped);
            let verified = tavern.verify(&tavern.library(), |_| true, &|| ());
            assert_eq!(verified.problems(), 0, "{:?}", verified.checked);
            undo(&tavern);
            assert_eq!(scene.visible(), before);
        }
    }
}

#[test]
fn a_memory_book_that_cannot_be_copied_is_not_the_childs_and_it_is_said() {
    let notes =
        r#"{"manualLorebook":"Memories","manualCharacterLorebooks":{"a":"Of Ada","b":"Gone"}}"#;
    let scene = scene(notes, true);
    scene.write(&format!("{USER}/worlds/Of Ada.json"), b"not a book");
    let forked = fork(&scene, ForkKind::Branch, 1);
    let metadata = metadata(&scene, &forked.child);
    assert_eq!(memory_books::books(&metadata).len(), 1);
    let status = metadata.at(&[memory_books::KEY, "branchLorebookCopies", "status"]);
    assert_eq!(status, Some(&"failed".into()));
    for name in ["Of Ada", "Gone"] {
        assert!(
            forked.remarks.contains(&Remark::MemoriesLeft(name.into())),
            "{:?}",
            forked.remarks
        );
    }
}
