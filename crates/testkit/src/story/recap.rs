//! The data that the recap extension writes into messages and metadata.

use forklore_core::recap::queue;
use forklore_json::{Json, Object};

/// The fields of an entry that a snapshot preserves. It also always empties `keysecondary` and
/// invents `tags`.
pub const RECAP_SNAPSHOT_FIELDS: [&str; 22] = [
    "uid",
    "key",
    "content",
    "position",
    "depth",
    "order",
    "role",
    "constant",
    "vectorized",
    "selective",
    "selectiveLogic",
    "sticky",
    "disable",
    "addMemo",
    "excludeRecursion",
    "preventRecursion",
    "ignoreBudget",
    "probability",
    "useProbability",
    "group",
    "groupOverride",
    "groupWeight",
];

/// An entry in the extension's lossy format.
pub fn lossy_entry(entry: &Json, book: &str) -> Json {
    let mut lossy = Object::new();
    let comment = entry.get("comment").and_then(Json::as_str).unwrap_or_default().into_owned();
    lossy.insert("comment", if comment.is_empty() { "(unnamed)" } else { &comment });
    for field in ["uid", "world", "key", "keysecondary", "content"] {
        match field {
            "world" => lossy.insert("world", book),
            "keysecondary" => lossy.insert("keysecondary", Json::Array(vec![])),
            _ => lossy.insert(field, entry.get(field).cloned().unwrap_or(Json::Null)),
        }
    }
    for field in &RECAP_SNAPSHOT_FIELDS[3..] {
        if let Some(value) = entry.get(field) {
            lossy.insert(*field, value.clone());
        }
    }
    lossy.insert("tags", entry.get("tags").cloned().unwrap_or(Json::Array(vec![])));
    lossy.insert("strategy", "normal");
    lossy.into()
}

/// One version of a scene's recap; without a book, a placeholder.
pub(super) fn version(book_name: &str, book: Option<&Object>, clock: u64) -> Json {
    let entries: Vec<Json> = book
        .and_then(|book| book.get("entries"))
        .and_then(Json::as_object)
        .into_iter()
        .flat_map(Object::iter)
        .filter(|(_, entry)| !queue::is_queue(entry))
        .map(|(_, entry)| lossy_entry(entry, book_name))
        .collect();
    let active: Vec<Json> = entries.iter().take(1).cloned().collect();
    Json::object([
        ("timestamp", Json::Number(clock as f64)),
        ("totalActivatedEntries", Json::from(active.len())),
        ("chatLorebookName", Json::from(book_name)),
        ("allEntries", Json::Array(entries)),
        ("entries", Json::Array(active)),
    ])
}

/// A scene break whose recap has just been written, with a placeholder for its snapshot.
pub(super) fn scene_break(token: &str, placeholder: Json) -> Json {
    Json::object([
        ("scene_break", Json::Bool(true)),
        ("scene_break_name", Json::from("Harbour")),
        ("scene_recap_memory", Json::from(format!("{{\"scene_name\":\"{token}\"}}"))),
        ("scene_recap_versions", Json::from(vec!["", token])),
        ("scene_recap_current_index", Json::Number(1.0)),
        ("scene_recap_metadata", Json::object([("1", placeholder)])),
    ])
}

/// Adds a version to a message that ends a scene, and makes it the current one.
pub(super) fn put_version(message: &mut Object, number: usize, version: Json) {
    let memory = message.get_mut("extra").and_then(Json::as_object_mut);
    let memory = memory.and_then(|extra| extra.get_mut("auto_recap_memory"));
    let Some(memory) = memory.and_then(Json::as_object_mut) else { return };
    memory.insert("scene_recap_current_index", Json::from(number));
    if let Some(all) = memory.get_mut("scene_recap_metadata").and_then(Json::as_object_mut) {
        all.insert(number.to_string(), version);
    }
}

/// Adds a version to the running recap in the chat's metadata.
pub(super) fn add_running(
    metadata: &mut Object,
    chat: &str,
    scene: usize,
    token: &str,
    clock: u64,
) {
    const KEY: &str = "auto_recap_running_scene_recaps";
    let mut versions = metadata
        .get(KEY)
        .and_then(|recap| recap.get("versions"))
        .and_then(Json::as_array)
        .unwrap_or_default()
        .to_vec();
    let number =
        versions.iter().filter_map(|v| v.get("version")?.as_i64()).max().map_or(0, |n| n + 1);
    versions.push(Json::object([
        ("version", Json::from(number)),
        ("timestamp", Json::Number(clock as f64)),
        ("content", Json::from(token)),
        ("new_scene_index", Json::from(scene)),
    ]));
    set_running(metadata, chat, number, versions);
}

/// Removes versions that end at a message without a recap, as the extension does after a message is
/// deleted.
pub(super) fn clean_running(metadata: &mut Object, chat: &str, has_recap: impl Fn(usize) -> bool) {
    let recap = metadata.get("auto_recap_running_scene_recaps");
    let Some(versions) = recap.and_then(|r| r.get("versions")).and_then(Json::as_array) else {
        return;
    };
    let remaining: Vec<Json> = versions
        .iter()
        .filter(|v| v.get("new_scene_index").and_then(Json::as_usize).is_some_and(&has_recap))
        .cloned()
        .collect();
    let newest = remaining.iter().filter_map(|v| v.get("version")?.as_i64()).max().unwrap_or(0);
    set_running(metadata, chat, newest, remaining);
}

fn set_running(metadata: &mut Object, chat: &str, current: i64, versions: Vec<Json>) {
    let recap = Json::object([
        ("chat_id", Json::from(chat)),
        ("current_version", Json::from(current)),
        ("versions", Json::Array(versions)),
    ]);
    metadata.insert("auto_recap_running_scene_recaps", recap);
}
