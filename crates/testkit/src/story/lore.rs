//! Lorebooks: entries with gaps in their uids, registries, and the recap extension's queue.

use fastrand::Rng;
use forklore_core::recap::queue;
use forklore_json::{Indent, Json, Object};

pub const REGISTRY: &str = "_registry_character";

pub fn is_registry(entry: &Json) -> bool {
    entry.get("comment").and_then(Json::as_str).is_some_and(|comment| comment == REGISTRY)
}

/// An initial book: uids with gaps, unknown fields, foreign top-level members.
pub(super) fn first_book(rng: &mut Rng, token: &mut impl FnMut() -> String) -> Object {
    let mut entries = Object::new();
    for uid in [0_i64, 5, 6, 1_763_632_438_061] {
        if rng.u8(..4) > 0 {
            entries.insert(uid.to_string(), entry(rng, uid, &token()));
        }
    }
    let mut book = Object::new();
    if rng.bool() {
        book.insert("name", "Displayed: \u{202e}name");
    }
    book.insert("entries", entries);
    if rng.bool() {
        book.insert("scan_depth", Json::Number(1e21));
        book.insert("extensions", Json::object([("other", Json::from("kept"))]));
    }
    book
}

fn entry(rng: &mut Rng, uid: i64, token: &str) -> Object {
    const NAMES: [&str; 6] = ["Mara", "Bo", "雨", "Cy Ⅳ", "O'Neil", "Zoë"];
    let kind = ["character", "character", "item", "lore"][rng.usize(..4)];
    let mut entry = Object::new();
    entry.insert("uid", uid);
    entry.insert("key", vec![token]);
    entry.insert(
        "keysecondary",
        if rng.bool() { Json::from(vec!["also"]) } else { Json::Array(vec![]) },
    );
    let comment = match rng.u8(..8) {
        0 => String::new(),
        _ => format!("{kind}-{} {uid}", NAMES[rng.usize(..NAMES.len())]),
    };
    entry.insert("comment", comment);
    entry.insert("content", content(rng, token));
    entry.insert("constant", rng.bool());
    entry.insert("selective", true);
    entry.insert("order", Json::from(rng.i64(0..200)));
    entry.insert("position", Json::from(rng.i64(0..8)));
    entry.insert("disable", rng.u8(..8) == 0);
    for (field, value) in [
        ("sticky", Json::Number(3.0)),
        ("scanDepth", Json::Null),
        ("cooldown", Json::Number(2.0)),
        ("characterFilter", Json::object([("names", Json::from(vec!["Ada"]))])),
        ("displayIndex", Json::from(uid)),
        ("foreign", Json::Number(0.1)),
        ("tags", Json::from(vec!["t"])),
        ("group", Json::from("g")),
        ("probability", Json::Number(100.0)),
    ] {
        if rng.bool() {
            entry.insert(field, value);
        }
    }
    entry
}

fn content(rng: &mut Rng, token: &str) -> Json {
    let raw = match rng.u8(..6) {
        0 => format!(r#""{token} \ud800 alone""#),
        1 => format!(r#""@@activate\n{token}""#),
        2 => format!(r#""{token} 😀 \u0007 \u2028 /""#),
        _ => format!(r#""{token}""#),
    };
    Json::parse(raw.as_bytes()).expect("it is a string")
}

/// Makes one typical change of a person or an extension.
pub(super) fn change(
    rng: &mut Rng,
    book: &mut Object,
    clock: u64,
    token: &mut impl FnMut() -> String,
) {
    let Some(entries) = book.get_mut("entries").and_then(Json::as_object_mut) else { return };
    let own: Vec<String> = entries
        .iter()
        .filter(|(_, entry)| !is_registry(entry) && !queue::is_queue(entry))
        .map(|(key, _)| key.to_string_lossy().into_owned())
        .collect();
    let chosen = (!own.is_empty()).then(|| own[rng.usize(..own.len())].clone());
    match (rng.u8(..10), chosen) {
        (0..=2, _) | (_, None) => {
            let free = (0..).find(|uid: &i64| !entries.contains(&uid.to_string()));
            let uid = match rng.u8(..6) {
                0 => i64::try_from(clock).unwrap_or(0),
                _ => free.unwrap_or(0),
            };
            // Nothing guarantees that an entry's key is its uid.
            let key = if rng.u8(..12) == 0 { format!("k{uid}") } else { uid.to_string() };
            let taken = entries.iter().any(|(_, entry)| entry.get("uid") == Some(&Json::from(uid)));
            if !taken && !entries.contains(&key) {
                entries.insert(key, entry(rng, uid, &token()));
            }
        }
        (3 | 4, Some(key)) => {
            let fresh = content(rng, &token());
            set(entries, &key, "content", fresh);
        }
        (5, Some(key)) => set(entries, &key, "scanDepth", Json::from(rng.i64(0..9))),
        (6, Some(key)) => set(entries, &key, "keysecondary", Json::from(vec![token()])),
        (7, Some(key)) => drop(entries.remove(&key)),
        (8, Some(key)) => {
            // Saved again at the end: only keys that are not array indexes keep such an order.
            if let Some(entry) = entries.remove(&key) {
                entries.insert(key, entry);
            }
        }
        (_, Some(_)) => {
            let field = ["name", "description", "zz"][rng.usize(..3)];
            if rng.bool() {
                book.insert(field, token());
            } else {
                book.remove(field);
            }
        }
    }
}

fn set(entries: &mut Object, key: &str, field: &str, value: Json) {
    if let Some(entry) = entries.get_mut(key).and_then(Json::as_object_mut) {
        entry.insert(field, value);
    }
}

/// Rewrites the registry of characters. Returns the index for the chat's metadata.
pub(super) fn reindex(book: &mut Object) -> Object {
    let mut index = Object::new();
    let Some(entries) = book.get_mut("entries").and_then(Json::as_object_mut) else { return index };
    let mut lines: Vec<(String, String)> = Vec::new();
    for (_, entry) in entries.iter() {
        let comment = entry.get("comment").and_then(Json::as_str).unwrap_or_default().into_owned();
        let (Some(name), Some(uid)) = (comment.strip_prefix("character-"), entry.get("uid")) else {
            continue;
        };
        let keys = entry.get("key").and_then(Json::as_array).unwrap_or_default();
        let content = entry.get("content").and_then(Json::as_str).unwrap_or_default();
        let synopsis: String = content.chars().filter(|c| c.is_ascii_alphanumeric()).collect();
        let alias = keys.first().and_then(Json::as_str).unwrap_or_default().into_owned();
        let uid_text = String::from_utf8_lossy(&uid.stringify()).into_owned();
        lines.push((
            name.to_owned(),
            format!("- UID={uid_text} | name: {name} | aliases: {alias} | synopsis: {synopsis}"),
        ));
        let item = Json::object([
            ("uid", uid.clone()),
            ("id", uid.clone()),
            ("type", Json::from("character")),
            ("name", Json::from(name)),
            ("comment", Json::from(comment.as_str())),
            ("aliases", Json::from(vec![alias])),
            ("synopsis", Json::from(synopsis)),
        ]);
        index.insert(uid_text, item);
    }
    lines.sort();
    let lines: Vec<String> = lines.into_iter().map(|(_, line)| line).collect();
    let text = format!("[Registry: character]\n{}", lines.join("\n"));
    let key = entries.iter().find(|(_, entry)| is_registry(entry)).map(|(key, _)| key.clone());
    match key.and_then(|key| entries.get_mut(&key.to_string_lossy())).and_then(Json::as_object_mut)
    {
        Some(registry) => registry.insert("content", text),
        None => {
            let uid = (0..).find(|uid: &i64| !entries.contains(&uid.to_string())).unwrap_or(0);
            let taken = entries.iter().any(|(_, entry)| entry.get("uid") == Some(&Json::from(uid)));
            if !taken {
                let registry = Json::object([
                    ("uid", Json::from(uid)),
                    ("key", Json::Array(vec![])),
                    ("comment", Json::from(REGISTRY)),
                    ("content", Json::from(text)),
                    ("disable", Json::Bool(true)),
                    ("tags", Json::from(vec!["auto_lorebooks_registry"])),
                ]);
                entries.insert(uid.to_string(), registry);
            }
        }
    }
    index
}

/// Writes the queue entry: finished operations, and perhaps a pending one.
pub(super) fn set_queue(rng: &mut Rng, book: &mut Object, clock: u64, to_run: bool) {
    let Some(entries) = book.get_mut("entries").and_then(Json::as_object_mut) else { return };
    let operation = |status: &str| {
        Json::object([
            ("id", Json::from(format!("op_{clock}_x"))),
            ("type", Json::from("generate_scene_recap")),
            ("params", Json::object([("index", Json::Number(0.0))])),
            ("status", Json::from(status)),
        ])
    };
    let mut operations: Vec<Json> = (0..rng.usize(..3))
        .map(|_| operation(["completed", "failed", "cancelled"][rng.usize(..3)]))
        .collect();
    if to_run {
        operations.push(operation(["pending", "in_progress", "retrying"][rng.usize(..3)]));
    }
    let content = Json::object([
        ("queue", Json::Array(operations)),
        ("current_operation_id", Json::Null),
        ("paused", Json::Bool(false)),
        ("version", Json::Number(1.0)),
        ("queueVersion", Json::Number(2.0)),
    ]);
    let content = content.stringify_with(Indent::By { unit: b"  ", depth: 0 });
    let content = Json::from(String::from_utf8_lossy(&content).into_owned());
    let key = entries
        .iter()
        .find(|(_, e)| queue::is_queue(e))
        .map(|(key, _)| key.to_string_lossy().into_owned());
    match key {
        Some(key) => set(entries, &key, "content", content),
        None => {
            let entry = Json::object([
                ("uid", Json::Number(clock as f64)),
                ("key", Json::Array(vec![])),
                ("keysecondary", Json::Array(vec![])),
                ("comment", Json::from(queue::COMMENT)),
                ("content", content),
                ("constant", Json::Bool(false)),
                ("disable", Json::Bool(true)),
                ("order", Json::Number(9999.0)),
            ]);
            entries.insert(clock.to_string(), entry);
        }
    }
}
