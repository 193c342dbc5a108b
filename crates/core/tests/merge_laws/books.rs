//! Generates a base book and the books of two timelines. There are few keys, so that they collide.

use fastrand::Rng;
use forklore_core::plan::timed_effects::entry_hash;
use forklore_core::recap::{is_internal, queue};
use forklore_core::sillytavern::defaults::FIELDS;
use forklore_json::{Indent, Json, Object};

#[derive(Clone)]
pub(crate) struct Story {
    pub(crate) base: Vec<u8>,
    pub(crate) ours: Vec<u8>,
    pub(crate) theirs: Vec<u8>,
}

impl Story {
    pub(crate) fn swapped(&self) -> Self {
        Self { base: self.base.clone(), ours: self.theirs.clone(), theirs: self.ours.clone() }
    }

    /// A chat bound to `book`, with a running effect for every entry.
    pub(crate) fn chat(&self, name: &str, book: &[u8]) -> Json {
        let book = Json::parse(book).expect("it is JSON");
        let entries = book.get("entries").and_then(Json::as_object).expect("it has entries");
        let effects = entries.iter().filter_map(|(_, entry)| {
            let effect = Json::object([
                ("hash", Json::Number(entry_hash(entry, name)? as f64)),
                ("start", Json::from(3_i64)),
            ]);
            Some((format!("{name}.{}", entry.get("uid")?.as_i64()?), effect))
        });
        let index = Json::object([("index", Json::Object(Object::new()))]);
        Json::object([
            ("timedWorldInfo", Json::object([("sticky", Json::Object(effects.collect()))])),
            ("auto_lorebooks", Json::object([("registry", index)])),
        ])
    }
}

pub(crate) fn story(rng: &mut Rng) -> Story {
    let mut base = Object::new();
    let mut entries = Object::new();
    for key in 0..6_i64 {
        if rng.bool() {
            entries.insert(key.to_string(), entry(rng, key));
        }
    }
    if rng.bool() {
        base.insert("name", "Lore");
    }
    base.insert("entries", entries);
    if rng.bool() {
        base.insert("extensions", Json::object([("forklore", Json::from("mark"))]));
    }
    if rng.bool() {
        add_registry(rng, &mut base);
    }
    if rng.u8(..4) == 0 {
        add_queue(rng, &mut base);
    }
    let (mut ours, mut theirs) = (base.clone(), base.clone());
    edit_randomly(rng, &mut ours);
    edit_randomly(rng, &mut theirs);
    Story { base: serialize(rng, base), ours: serialize(rng, ours), theirs: serialize(rng, theirs) }
}

/// SillyTavern uses both layouts: indented in files, one line in responses.
fn serialize(rng: &mut Rng, book: Object) -> Vec<u8> {
    let book = Json::Object(book);
    if rng.bool() { book.stringify() } else { book.stringify_with(Indent::BOOK) }
}

fn entry(rng: &mut Rng, uid: i64) -> Json {
    let mut entry = Object::new();
    entry.insert("uid", uid);
    entry.insert("comment", title(rng));
    entry.insert("content", words(rng));
    entry.insert("key", vec![words(rng)]);
    for (name, value) in [
        ("order", Json::from([0_i64, 1, 100][rng.usize(..3)])),
        ("displayIndex", Json::from(uid)),
        ("role", [Json::Null, Json::from(0_i64), Json::from(1_i64)][rng.usize(..3)].clone()),
        ("position", Json::from(rng.i64(0..2) * 4)),
        ("keysecondary", Json::Array(if rng.bool() { Vec::new() } else { vec![words(rng)] })),
        ("selective", Json::from(rng.bool())),
        ("disable", Json::from(rng.bool())),
        ("addMemo", Json::from(rng.bool())),
        ("sticky", [Json::Null, Json::from(0_i64), Json::from(2_i64)][rng.usize(..3)].clone()),
        ("extensions", Json::object([("x", Json::from(rng.i64(0..2)))])),
    ] {
        if rng.bool() {
            entry.insert(name, value);
        }
    }
    entry.into()
}

fn title(rng: &mut Rng) -> String {
    format!("character-{}", ["Mara", "Bo", "雨", "Zoë"][rng.usize(..4)])
}

fn words(rng: &mut Rng) -> Json {
    let half = Json::parse(br#""half \ud800""#).expect("it is JSON");
    let lines = Json::from(if rng.bool() { "one\r\ntwo" } else { "one\ntwo" });
    [Json::from("one"), Json::from("two"), lines, half][rng.usize(..4)].clone()
}

/// Makes a few edits of the kind that people and extensions make.
fn edit_randomly(rng: &mut Rng, book: &mut Object) {
    for _ in 0..rng.usize(..6) {
        let mut entries =
            book.get("entries").and_then(Json::as_object).cloned().unwrap_or_default();
        let lore: Vec<_> = entries
            .iter()
            .filter(|(_, entry)| {
                let comment = entry.get("comment").and_then(Json::as_str).unwrap_or_default();
                !is_internal(&comment)
            })
            .map(|(key, _)| key.clone())
            .collect();
        let some = lore.get(rng.usize(..lore.len().max(1))).cloned();
        match (rng.u8(..14), some) {
            // SillyTavern assigns the smallest free number, so both sides use the same one.
            (0..3, _) => {
                let free = (0..).find(|uid: &i64| !entries.contains(&uid.to_string()));
                let uid = free.unwrap_or_default();
                entries.insert(uid.to_string(), entry(rng, uid));
            }
            (3..7, Some(key)) => {
                if let Some(Json::Object(mut entry)) = entries.get_text(&key).cloned() {
                    match rng.u8(..9) {
                        0 => entry.insert("order", Json::from([0_i64, 1, 100][rng.usize(..3)])),
                        4 => entry.insert("disable", Json::from(rng.bool())),
                        5 => entry.insert("position", Json::from(rng.i64(0..2) * 4)),
                        6 => entry.insert("keysecondary", Json::Array(vec![words(rng)])),
                        1 => entry.insert("comment", title(rng)),
                        2 => drop(entry.remove("order")),
                        3 => entry.insert("displayIndex", Json::from(rng.i64(0..3))),
                        _ => entry.insert("content", words(rng)),
                    }
                    entries.insert(key, entry);
                }
            }
            (7, Some(key)) => drop(entries.remove_text(&key)),
            // The same fields in another order.
            (8, Some(key)) => {
                if let Some(Json::Object(entry)) = entries.get_text(&key).cloned() {
                    let mut members: Vec<_> =
                        entry.iter().map(|(k, v)| (k.clone(), v.clone())).collect();
                    rng.shuffle(&mut members);
                    entries.insert(key, members.into_iter().collect::<Object>());
                }
            }
            // SillyTavern's editor shows the entry, or defaults are removed from it.
            (12, Some(key)) => {
                if let Some(Json::Object(mut entry)) = entries.get_text(&key).cloned() {
                    fill_in(rng, &mut entry);
                    entries.insert(key, entry);
                }
            }
            (13, Some(key)) => {
                if let Some(Json::Object(mut entry)) = entries.get_text(&key).cloned() {
                    remove_defaults(rng, &mut entry);
                    entries.insert(key, entry);
                }
            }
            (9, _) => {
                book.insert("name", ["Lore", "Other", "Third"][rng.usize(..3)]);
                continue;
            }
            (10, _) => {
                book.insert("entries", entries);
                add_queue(rng, book);
                continue;
            }
            _ => {
                book.insert("entries", entries);
                add_registry(rng, book);
                continue;
            }
        }
        book.insert("entries", entries);
    }
    // The recap extension updates its registry.
    if rng.u8(..3) > 0 && has_registry(book) {
        add_registry(rng, book);
    }
}

/// The book after SillyTavern's editor has shown some of its entries.
pub(crate) fn shown_in_editor(rng: &mut Rng, book: &[u8]) -> Vec<u8> {
    let Ok(Json::Object(mut book)) = Json::parse(book) else { panic!("it is a book") };
    let mut entries = book.get("entries").and_then(Json::as_object).cloned().unwrap_or_default();
    let keys: Vec<_> = entries.keys().cloned().collect();
    for key in keys {
        if let Some(Json::Object(mut entry)) = entries.get_text(&key).cloned() {
            match rng.u8(..3) {
                0 => fill_in(rng, &mut entry),
                1 => remove_defaults(rng, &mut entry),
                _ => {}
            }
            entries.insert(key, entry);
        }
    }
    book.insert("entries", entries);
    serialize(rng, book)
}

/// Fills in what SillyTavern's editor writes when it shows an entry. Not every field every time,
/// because versions of the editor know different fields.
fn fill_in(rng: &mut Rng, entry: &mut Object) {
    for field in &FIELDS {
        if !entry.contains(field.name) && rng.bool() {
            entry.insert(field.name, field.default.json());
        }
    }
    if let Some(uid) = entry.get("uid").cloned().filter(|_| !entry.contains("displayIndex")) {
        entry.insert("displayIndex", uid);
    }
    let filter = Json::parse(br#"{"isExclude":false,"names":[],"tags":[]}"#);
    entry.insert("characterFilter", filter.expect("it is JSON"));
    entry.insert("addMemo", true);
    if entry.get("position").is_none_or(|position| position.as_i64() != Some(4)) {
        entry.insert("role", Json::Null);
    }
    let has_secondary = |entry: &Object| {
        let keys = entry.get("keysecondary").and_then(Json::as_array);
        keys.is_some_and(|keys| !keys.is_empty())
    };
    if !has_secondary(entry) {
        entry.insert("selective", true);
    }
    for effect in ["sticky", "cooldown", "delay"] {
        if entry.get(effect).is_none_or(|value| *value == Json::Null) {
            entry.insert(effect, 0_i64);
        }
    }
    for text in ["comment", "content"] {
        let value = entry.get(text).and_then(Json::as_str).map(|text| text.replace("\r\n", "\n"));
        // A lone surrogate would not survive the conversion to a `str`.
        if let Some(value) = value.filter(|value| !value.contains('\u{fffd}')) {
            entry.insert(text, value);
        }
    }
}

/// Removes some fields that hold their default.
fn remove_defaults(rng: &mut Rng, entry: &mut Object) {
    for field in &FIELDS {
        if entry.get(field.name) == Some(&field.default.json()) && rng.bool() {
            entry.remove(field.name);
        }
    }
}

const REGISTRY: &str = "_registry_character";

fn titled(book: &Object, title: &str) -> Option<String> {
    let entries = book.get("entries").and_then(Json::as_object)?;
    let found = entries.iter().find(|(_, entry)| {
        entry.get("comment").and_then(Json::as_str).is_some_and(|comment| comment == title)
    });
    Some(found?.0.to_string_lossy().into_owned())
}

fn has_registry(book: &Object) -> bool {
    titled(book, REGISTRY).is_some()
}

/// Adds a registry of all entries, or updates the existing one.
fn add_registry(rng: &mut Rng, book: &mut Object) {
    let mut entries = book.get("entries").and_then(Json::as_object).cloned().unwrap_or_default();
    let key = titled(book, REGISTRY).unwrap_or_else(|| {
        let free = (0..).find(|uid: &i64| !entries.contains(&uid.to_string()));
        free.unwrap_or_default().to_string()
    });
    let mut text = String::from("[Registry: character]");
    for (_, entry) in entries.iter() {
        let comment = entry.get("comment").and_then(Json::as_str).unwrap_or_default();
        if let (Some(name), Some(uid)) =
            (comment.strip_prefix("character-"), entry.get("uid").and_then(Json::as_i64))
        {
            let synopsis = ["captain", "ghost"][rng.usize(..2)];
            text.push_str(&format!(
                "\n- UID={uid} | name: {name} | aliases: — | synopsis: {synopsis}"
            ));
        }
    }
    let mut registry = entries.get(&key).and_then(Json::as_object).cloned().unwrap_or_default();
    registry.insert("uid", key.parse::<i64>().unwrap_or_default());
    registry.insert("comment", REGISTRY);
    registry.insert("content", text);
    entries.insert(key, registry);
    book.insert("entries", entries);
}

fn add_queue(rng: &mut Rng, book: &mut Object) {
    let mut entries = book.get("entries").and_then(Json::as_object).cloned().unwrap_or_default();
    let uid = 1_763_632_438_061 + rng.i64(0..2);
    let key = titled(book, queue::COMMENT).unwrap_or_else(|| uid.to_string());
    let content = format!(r#"{{"queue":[{}]}}"#, rng.u8(..3));
    let queue = Json::object([
        ("uid", Json::from(key.parse::<i64>().unwrap_or_default())),
        ("comment", Json::from(queue::COMMENT)),
        ("content", Json::from(content)),
    ]);
    entries.insert(key, queue);
    book.insert("entries", entries);
}
