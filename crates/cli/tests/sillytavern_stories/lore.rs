//! Books and messages used in these scenes.

use serde_json::{Value, json};

/// A book with these entries, as SillyTavern writes it.
pub(crate) fn book(entries: &[Value]) -> String {
    let entries: serde_json::Map<String, Value> =
        entries.iter().map(|entry| (entry["uid"].to_string(), entry.clone())).collect();
    json!({ "entries": entries }).to_string()
}

pub(crate) fn entry(uid: u64, comment: &str, content: &str) -> Value {
    json!({
        "uid": uid, "key": [comment.to_lowercase()], "keysecondary": [], "comment": comment,
        "content": content, "constant": false, "selective": true, "order": 100, "position": 0,
        "disable": false, "probability": 100, "useProbability": true, "displayIndex": uid
    })
}

/// An ST-Auto-Recap registry that lists entries by uid and full comment.
pub(crate) fn registry(uid: u64, kind: &str, items: &[(u64, &str)]) -> Value {
    let mut content = format!("[Registry: {kind}]");
    for (uid, name) in items {
        content += &format!("\n- UID={uid} | name: {name} | aliases: \u{2014} | synopsis: {name}");
    }
    let mut entry = entry(uid, &format!("_registry_{kind}"), &content);
    entry["key"] = json!([]);
    entry["tags"] = json!(["auto_lorebooks_registry"]);
    entry["disable"] = json!(true);
    entry
}

/// The uid that ST-Auto-Recap gave its queue: a timestamp, too large for an array index.
pub(crate) const QUEUE: u64 = 1_763_632_438_061;

/// The entry in which ST-Auto-Recap stores its operations.
pub(crate) fn queue(statuses: &[&str], current: Option<&str>) -> Value {
    let operations: Vec<Value> = statuses
        .iter()
        .enumerate()
        .map(|(at, status)| {
            json!({
                "id": format!("op_{at}"), "type": "generate_scene_recap",
                "params": { "index": 0, "entryId": format!("entry_{at}") },
                "status": status, "created_at": QUEUE, "retries": 0, "metadata": {}
            })
        })
        .collect();
    let content = json!({
        "queue": operations, "current_operation_id": current, "paused": false, "version": 1,
        "queueVersion": 3
    });
    let mut entry = entry(QUEUE, "__operation_queue", &format!("{content:#}"));
    entry["key"] = json!([]);
    entry["order"] = json!(9999);
    entry
}

/// A user's message.
pub(crate) fn said(text: &str) -> Value {
    json!({ "name": "You", "is_user": true, "send_date": "2026-11-15T00:00:00.000Z", "mes": text, "extra": {} })
}

/// A message that ends a scene, optionally with ST-Auto-Recap's copy of the book.
pub(crate) fn scene_break(text: &str, snapshot: Option<(&str, &[Value])>) -> Value {
    let mut memory = json!({
        "scene_break": true, "scene_break_name": text, "scene_recap_memory": format!("Recap: {text}"),
        "scene_recap_versions": ["", text], "scene_recap_current_index": 1
    });
    if let Some((book, entries)) = snapshot {
        let kept: Vec<Value> = entries
            .iter()
            .map(|entry| {
                let mut kept = entry.clone();
                kept["world"] = json!(book);
                kept["strategy"] = json!("normal");
                kept
            })
            .collect();
        memory["scene_recap_metadata"] = json!({ "1": {
            "timestamp": QUEUE, "totalActivatedEntries": 1, "chatLorebookName": book,
            "allEntries": kept, "entries": []
        } });
    }
    let mut message = said(text);
    message["extra"]["auto_recap_memory"] = memory;
    message
}

/// A running recap whose versions 0, 1, 2, … end at these messages.
pub(crate) fn running_recap(chat: &str, ends: &[usize]) -> Value {
    let versions: Vec<Value> = ends
        .iter()
        .enumerate()
        .map(|(version, end)| {
            json!({
                "version": version, "timestamp": QUEUE, "content": format!("Until {end} in {chat}"),
                "scene_count": version + 1, "excluded_count": 0, "prev_scene_index": 0,
                "new_scene_index": end
            })
        })
        .collect();
    json!({ "chat_id": chat, "current_version": ends.len().saturating_sub(1), "versions": versions })
}

/// The metadata key of the running recap.
pub(crate) const RUNNING: &str = "auto_recap_running_scene_recaps";

/// The numbers of a running recap's versions.
pub(crate) fn versions(metadata: &Value) -> Vec<u64> {
    let versions = metadata[RUNNING]["versions"].as_array().unwrap().iter();
    versions.map(|version| version["version"].as_u64().unwrap()).collect()
}

/// A clone's text without Forklore's mark, and the mark. The lore is not parsed, so that nothing in
/// it can get lost here.
#[track_caller]
pub(crate) fn unmarked(clone: &str) -> (String, Value) {
    const BEFORE: &str = r#","extensions":{"forklore":"#;
    let (lore, mark) =
        clone.rsplit_once(BEFORE).unwrap_or_else(|| panic!("no mark at the end of {clone}"));
    let mark = serde_json::from_str(mark.strip_suffix("}}").unwrap()).unwrap();
    (format!("{lore}}}"), mark)
}

/// The contents of a book's entries, by comment.
pub(crate) fn content<'a>(book: &'a Value, comment: &str) -> Option<&'a str> {
    let entries = book["entries"].as_object().unwrap();
    entries.values().find(|entry| entry["comment"] == comment)?["content"].as_str()
}
