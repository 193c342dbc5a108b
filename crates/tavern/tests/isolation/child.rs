//! The properties every forked chat must have, whatever the source of its book.

use forklore_core::plan::timed_effects;
use forklore_core::sillytavern::chat::Chat;
use forklore_core::sillytavern::names::book_key;
use forklore_core::timeline::family::Home;
use forklore_core::timeline::seal::Seal;
use forklore_json::{Json, Object};
use forklore_tavern::folder::library::ChatFile;
use forklore_tavern::work::fork::{ForkOptions, Forked};
use forklore_testkit::story::{Story, USER};

use crate::Stage;

/// The contents of a child and its parent.
pub(crate) struct Facts {
    pub(crate) parent: ChatFile,
    pub(crate) parent_bytes: Vec<u8>,
    pub(crate) parent_metadata: Json,
    pub(crate) child_bytes: Vec<u8>,
    pub(crate) metadata: Json,
    /// The child's book: its bytes, and its value without Forklore's mark.
    pub(crate) book: Option<(Vec<u8>, Object)>,
}

impl Facts {
    pub(crate) fn of(
        stage: &Stage<'_>,
        parent: &ChatFile,
        parent_bytes: &[u8],
        child: &ChatFile,
        forked: &Forked,
    ) -> Self {
        let child_bytes = stage.read(&child.path);
        let metadata = metadata_of(&child_bytes, child);
        let book = forked.seal.book.as_ref().map(|book| {
            let path = stage.root.join(USER).join(Story::book_path(&book.name));
            let bytes = stage.read(&path);
            let value = unmarked(Json::parse(&bytes).expect("a book is JSON"));
            (bytes, value)
        });
        Self {
            parent: parent.clone(),
            parent_bytes: parent_bytes.to_vec(),
            parent_metadata: metadata_of(parent_bytes, parent),
            child_bytes,
            metadata,
            book,
        }
    }

    pub(crate) fn parent_book(&self) -> Option<&str> {
        match self.parent_metadata.get("world_info") {
            Some(Json::Text(name)) => std::str::from_utf8(name.as_bytes()).ok(),
            _ => None,
        }
    }
}

fn metadata_of(bytes: &[u8], file: &ChatFile) -> Json {
    let chat = Chat::read(bytes, file.place());
    chat.metadata().expect("it has a header").json().expect("it is not deep")
}

/// Removes the mark, and `extensions` too if it held nothing else.
fn unmarked(book: Json) -> Object {
    let mut book = book.as_object().expect("a book is an object").clone();
    let extensions = book.get_mut("extensions").and_then(Json::as_object_mut);
    let extensions = extensions.expect("a book of ours has a mark");
    extensions.remove("forklore").expect("a book of ours has a mark");
    if extensions.is_empty() {
        book.remove("extensions");
    }
    book
}

pub(crate) fn check(story: &Story, facts: &Facts, forked: &Forked, options: &ForkOptions) {
    let m = forked.message;
    assert_eq!(options.at, Some(m as i64));
    let text = |key: &str| facts.metadata.get(key).and_then(Json::as_str).map(|t| t.into_owned());
    let theirs = |key: &str| facts.parent_metadata.get(key).and_then(Json::as_str);

    assert_ne!(text("integrity").as_deref(), theirs("integrity").as_deref());
    assert!(text("integrity").is_some_and(|slug| slug.len() == 36));
    assert_eq!(text("main_chat").as_deref(), Some(facts.parent.name.as_str()));
    assert_eq!(text("world_info"), forked.seal.book.as_ref().map(|book| book.name.clone()));
    if let Some(book) = &forked.seal.book {
        for (name, _) in &story.books {
            assert_ne!(book_key(&book.name), book_key(name), "the book is not its own");
        }
    }
    assert_eq!(
        Seal::of_chat(&facts.metadata, None).as_ref(),
        Some(&forked.seal),
        "the seal in the file"
    );
    assert_eq!((&*forked.seal.parent, forked.seal.message), (&*facts.parent.name, m));
    assert!(matches!(facts.parent.home, Home::Character(_)) || forked.group.is_some());
    if let Some(id) = facts.metadata.get("lastInContextMessageId").and_then(Json::as_usize) {
        assert!(id <= m);
    }
    check_running_recap(story, facts, forked);
    check_lines(facts, forked);
    check_effects(facts, forked);
    check_notes(facts, forked);
}

/// The child has exactly the past versions of the running recap, in order and unchanged.
fn check_running_recap(story: &Story, facts: &Facts, forked: &Forked) {
    const KEY: &str = "auto_recap_running_scene_recaps";
    let Some(theirs) = facts.parent_metadata.get(KEY) else {
        assert_eq!(facts.metadata.get(KEY), None);
        return;
    };
    let ours = facts.metadata.get(KEY).expect("the child has a running recap, too");
    let versions =
        |recap: &Json| recap.get("versions").and_then(Json::as_array).unwrap_or_default().to_vec();
    let past: Vec<Json> = versions(theirs)
        .into_iter()
        .filter(|version| {
            let end = version.get("new_scene_index").and_then(Json::as_usize).expect("it has one");
            end <= forked.message && story.messages[end].scene.is_some()
        })
        .collect();
    assert_eq!(versions(ours), past);
    assert_eq!(ours.get("chat_id"), Some(&Json::from(forked.child.as_str())));
    let newest = past.iter().filter_map(|v| v.get("version")?.as_i64()).max();
    assert_eq!(ours.get("current_version").and_then(Json::as_i64), Some(newest.unwrap_or(0)));
}

/// Every line equals the parent's, except for book names in the recap extension's data.
fn check_lines(facts: &Facts, forked: &Forked) {
    let parent = Chat::read(&facts.parent_bytes, facts.parent.place());
    let child = Chat::read(&facts.child_bytes, facts.parent.place());
    assert_eq!(child.len(), forked.message + 1);
    for index in 0..child.len() {
        let theirs = parent.line(index).expect("the parent has it");
        let ours = child.line(index).expect("the child has it");
        let expected = match &forked.seal.book {
            Some(book) => {
                let mut from = vec![book.from.as_str()];
                from.extend(facts.parent_book());
                renamed(theirs, &from, &book.name)
            }
            None => theirs.to_vec(),
        };
        // The last line of the file has no line ending, whatever the parent has there.
        let trimmed = |line: &[u8]| String::from_utf8_lossy(line).trim_end_matches('\r').to_owned();
        assert_eq!(trimmed(ours), trimmed(&expected), "line of message {index}");
        let record = |chat: &Chat<'_>| {
            chat.message(index).and_then(|m| m.get("forklore")).map(|r| r.bytes().to_vec())
        };
        assert_eq!(record(&child), record(&parent), "the record of message {index}");
    }
}

/// Renames by plain search and replace: the testkit writes these members in one form only.
fn renamed(line: &[u8], from: &[&str], to: &str) -> Vec<u8> {
    let mut line = String::from_utf8(line.to_vec()).expect("stories are UTF-8");
    for key in ["chatLorebookName", "world"] {
        for from in from {
            line = line.replace(&format!("\"{key}\":\"{from}\""), &format!("\"{key}\":\"{to}\""));
        }
    }
    line.into_bytes()
}

/// Timed effects continue for the child's own book, and only those that were in force.
fn check_effects(facts: &Facts, forked: &Forked) {
    let (Some(book), Some((_, value))) = (&forked.seal.book, &facts.book) else { return };
    let Some(timed) = facts.metadata.get("timedWorldInfo") else { return };
    let entries = value.get("entries").and_then(Json::as_object).expect("a book has entries");
    for (_, effects) in timed.members() {
        for (key, effect) in effects.members() {
            if let Some(uid) = key.strip_prefix(&format!("{}.", book.from)) {
                let carried_over = effects.get(&format!("{}.{uid}", book.name));
                assert!(carried_over.is_some(), "{key} is of the parent's book");
            }
            let Some(uid) = key.strip_prefix(&format!("{}.", book.name)) else { continue };
            let entry = entries.iter().map(|(_, entry)| entry).find(|entry| {
                entry.get("uid").is_some_and(|found| found.stringify() == uid.as_bytes())
            });
            let Some(entry) = entry else { continue };
            let hash = effect.get("hash").and_then(Json::as_f64).expect("it has one");
            let fitted_then = timed_effects::entry_hash(entry, &book.from).map(|hash| hash as f64);
            assert_ne!(fitted_then, Some(hash), "{key} was not given a new hash");
        }
    }
}

/// The recap extension's notes name the child's book and nothing that is not in it.
fn check_notes(facts: &Facts, forked: &Forked) {
    let Some(notes) = facts.metadata.get("auto_lorebooks") else { return };
    let name = notes.get("lorebookName").and_then(Json::as_str);
    assert_eq!(name.as_deref(), forked.seal.book.as_ref().map(|book| book.name.as_str()));
    if let Some((bytes, _)) = &facts.book {
        let known = tokens(bytes);
        for token in tokens(&notes.stringify()) {
            assert!(known.contains(&token), "{token} is in the notes and not in the book");
        }
    }
}

/// The words with which the testkit marks each change.
pub(crate) fn tokens(text: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(text);
    text.match_indices("tok")
        .filter_map(|(at, _)| text.get(at..at + 9))
        .map(str::to_owned)
        .collect()
}
