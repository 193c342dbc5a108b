//! Snapshots: the copy of the whole book in a scene break, and rebuilding a book from it.

use crate::recap::queue;
use crate::recap::scene::SceneMemory;
use crate::sillytavern::book::Book;
use crate::sillytavern::chat::Chat;
use crate::sillytavern::defaults::plain_entry;
use forklore_json::{Json, Object};

/// A complete snapshot: every entry of the book after the extension processed the scene.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot {
    pub message: usize,
    /// The name of the book.
    pub book: Option<String>,
    entries: Vec<Json>,
    /// When it was taken. If a recap is combined later, the snapshot is taken again, and
    /// `combined_at` counts.
    timestamp: Option<f64>,
}

/// The fields of an entry that a snapshot stores, in the order of SillyTavern's own template.
const STORED_FIELDS: [&str; 25] = [
    "uid",
    "key",
    "keysecondary",
    "comment",
    "content",
    "constant",
    "vectorized",
    "selective",
    "selectiveLogic",
    "addMemo",
    "order",
    "position",
    "disable",
    "ignoreBudget",
    "excludeRecursion",
    "preventRecursion",
    "probability",
    "useProbability",
    "depth",
    "group",
    "groupOverride",
    "groupWeight",
    "role",
    "sticky",
    "tags",
];

/// Stored fields that the entry may lack, or for which it may have another value.
const UNRELIABLE: [&str; 2] = ["keysecondary", "tags"];

/// How a snapshot stores an empty comment.
const UNNAMED: &str = "(unnamed)";

/// The newest complete snapshot at or before message `m`.
pub fn newest(chat: &Chat<'_>, m: usize) -> Option<Snapshot> {
    let mut bound = earliest_after(chat, m);
    (0..=m.min(chat.len().checked_sub(1)?)).rev().find_map(|index| {
        let found = at(chat, index, bound).filter(|_| !is_copy(chat, index));
        bound = earlier(bound, earliest_time(chat, index));
        found
    })
}

/// Whether the scene break is a copy of an earlier one. A scene ends only once.
fn is_copy(chat: &Chat<'_>, message: usize) -> bool {
    let versions = |message| {
        let memory = chat.line(message).and_then(SceneMemory::of_line);
        memory.into_iter().flat_map(|memory| memory.versions()).map(|version| version.bytes())
    };
    let own: Vec<&[u8]> = versions(message).collect();
    (0..message).any(|earlier| versions(earlier).any(|version| own.contains(&version)))
}

/// The snapshot of the scene break at `message`, if it has a complete one.
pub fn of_scene(chat: &Chat<'_>, message: usize) -> Option<Snapshot> {
    // Check this first: most messages are not scene breaks, and scanning all later ones is slow.
    SceneMemory::of_line(chat.line(message)?)?.is_scene_break().then_some(())?;
    at(chat, message, earliest_after(chat, message))
}

/// The first snapshot of the scene at `message`, if it was taken earlier than `before`.
///
/// If a recap is regenerated, its snapshot is of the book at that later time. So only the first
/// version can show the scene's state, and not even that one if a later scene already had a
/// snapshot.
fn at(chat: &Chat<'_>, message: usize, before: Option<f64>) -> Option<Snapshot> {
    let memory = SceneMemory::of_line(chat.line(message)?)?;
    if !memory.is_scene_break() {
        return None;
    }
    let time_of = |snapshot: &Snapshot| snapshot.timestamp.unwrap_or(f64::INFINITY);
    memory
        .versions()
        .filter_map(|metadata| read(message, &metadata.json().ok()?))
        .min_by(|one, other| time_of(one).total_cmp(&time_of(other)))
        .filter(|first| match (first.timestamp, before) {
            (Some(taken), Some(bound)) => taken < bound,
            _ => true,
        })
}

fn read(message: usize, metadata: &Json) -> Option<Snapshot> {
    let entries = metadata.get("allEntries")?.as_array()?;
    // An empty list is a placeholder: the snapshot has not been taken yet.
    if entries.is_empty() {
        return None;
    }
    let is_stored = |entry: &Json| entry.get("uid").is_some() && !queue::is_queue(entry);
    let time = |key: &str| metadata.get(key).and_then(Json::as_f64);
    Some(Snapshot {
        message,
        book: metadata.get("chatLorebookName").and_then(Json::as_str).map(|name| name.into_owned()),
        entries: entries.iter().filter(|entry| is_stored(entry)).cloned().collect(),
        timestamp: time("timestamp").into_iter().chain(time("combined_at")).max_by(f64::total_cmp),
    })
}

fn earliest_time(chat: &Chat<'_>, message: usize) -> Option<f64> {
    let memory = SceneMemory::of_line(chat.line(message)?)?;
    // Do not build the entries: each version contains a whole book.
    memory
        .versions()
        .filter(|metadata| {
            metadata.get("allEntries").is_some_and(|all| all.elements().next().is_some())
        })
        .filter_map(|metadata| metadata.get("timestamp")?.json().ok()?.as_f64())
        .min_by(f64::total_cmp)
}

/// The earliest snapshot time of any scene after `message`.
fn earliest_after(chat: &Chat<'_>, message: usize) -> Option<f64> {
    (message + 1..chat.len()).filter_map(|index| earliest_time(chat, index)).min_by(f64::total_cmp)
}

fn earlier(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    one.into_iter().chain(other).min_by(f64::total_cmp)
}

/// A book rebuilt from a snapshot, and how many of its entries are incomplete.
#[derive(Clone, Debug, PartialEq)]
pub struct RebuiltBook {
    pub book: Json,
    /// Entries whose missing fields were taken from today's entry with the same uid and comment.
    pub filled: usize,
    /// Entries whose missing fields stay missing; SillyTavern's editor shows defaults for them.
    pub unfilled: usize,
}

impl Snapshot {
    /// Rebuilds the book. `live` supplies the queue entry, which is emptied, and, if `fill` is set,
    /// the fields that the snapshot does not store.
    pub fn rebuild(&self, live: Option<&Book<'_>>, fill: bool) -> RebuiltBook {
        let today: Vec<(String, Json)> = live
            .into_iter()
            .flat_map(Book::entries)
            .filter_map(|entry| Some((entry.key().into_owned(), entry.value().json().ok()?)))
            .collect();
        let mut entries = Object::new();
        let mut filled = 0;
        for stored in &self.entries {
            let twin = today.iter().find(|(_, entry)| fill && is_same_entry(stored, entry));
            filled += usize::from(twin.is_some());
            let key = twin.map_or_else(|| uid_text(stored), |(key, _)| key.clone());
            entries.insert(key, self.restored(stored, twin.map(|(_, entry)| entry)));
        }
        let unfilled = self.entries.len() - filled;
        if let Some((key, entry)) = today.iter().find(|(_, entry)| queue::is_queue(entry)) {
            entries.insert(key.as_str(), queue::emptied_entry(entry));
        }
        RebuiltBook { book: Json::object([("entries", entries.into())]), filled, unfilled }
    }

    fn restored(&self, stored: &Json, twin: Option<&Json>) -> Json {
        if let Some(Json::Object(twin)) = twin {
            let mut entry = twin.clone();
            // The comment is known to be the same.
            let is_reliable = |field: &&&str| !UNRELIABLE.contains(field) && **field != "comment";
            for field in STORED_FIELDS.iter().filter(is_reliable) {
                if let Some(value) = stored.get(field) {
                    entry.insert(*field, value.clone());
                }
            }
            return entry.into();
        }
        let mut entry = Object::new();
        for field in STORED_FIELDS {
            match stored.get(field) {
                // The snapshot stores an empty list for an entry without tags.
                Some(Json::Array(tags)) if field == "tags" && tags.is_empty() => {}
                Some(value) if field == "comment" && *value == Json::from(UNNAMED) => {
                    entry.insert(field, "")
                }
                Some(value) => entry.insert(field, value.clone()),
                None => {}
            }
        }
        entry.into()
    }

    /// Whether these entries match the snapshot, as far as it stores them.
    pub fn matches<'a>(&self, entries: impl Iterator<Item = &'a Json>) -> bool {
        let others: Vec<&Json> = entries.filter(|entry| !queue::is_queue(entry)).collect();
        others.len() == self.entries.len()
            && self.entries.iter().all(|stored| {
                others.iter().any(|entry| is_same_entry(stored, entry) && agrees(stored, entry))
            })
    }
}

/// The meaning of the fields that a snapshot does not store reliably.
pub fn lost_fields(entry: &Json) -> Json {
    // SillyTavern's editor completes entries just by showing them.
    let mut lost = plain_entry(entry);
    if let Some(object) = lost.as_object_mut() {
        for field in STORED_FIELDS.iter().filter(|field| !UNRELIABLE.contains(field)) {
            object.remove(field);
        }
        if queue::is_queue(entry) {
            // The queue is never part of a snapshot, and changes with every operation.
            return Json::Null;
        }
    }
    lost
}

fn agrees(stored: &Json, entry: &Json) -> bool {
    STORED_FIELDS.iter().filter(|field| !UNRELIABLE.contains(field) && **field != "comment").all(
        |field| {
            match (stored.get(field), entry.get(field)) {
                (Some(stored), Some(value)) => stored == value,
                // The snapshot stores a default if the entry lacks the field.
                _ => true,
            }
        },
    )
}

fn is_same_entry(stored: &Json, entry: &Json) -> bool {
    let comment = |value: &Json| {
        let comment = value.get("comment").and_then(Json::as_str).unwrap_or_default().into_owned();
        if comment.is_empty() { UNNAMED.to_owned() } else { comment }
    };
    uid_text(stored) == uid_text(entry) && comment(stored) == comment(entry)
}

fn uid_text(entry: &Json) -> String {
    match entry.get("uid") {
        Some(Json::Text(text)) => text.to_string_lossy().into_owned(),
        Some(number) => String::from_utf8_lossy(&number.stringify()).into_owned(),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sillytavern::chat::ChatKind;

    fn scene(time: u64, content: &str) -> String {
        format!(
            r#"{{"mes":"x","extra":{{"auto_recap_memory":{{"scene_break":true,"scene_recap_current_index":1,"scene_recap_metadata":{{"1":{{"timestamp":{time},"chatLorebookName":"B","allEntries":[{{"comment":"(unnamed)","uid":5,"world":"B","key":["k"],"keysecondary":[],"content":"{content}","strategy":"normal","tags":[]}}]}}}}}}}}}}"#
        )
    }

    #[test]
    fn a_recap_made_again_later_is_no_witness() {
        let text = format!(
            "{{\"chat_metadata\":{{}}}}\n{}\n{{\"mes\":1}}\n{}",
            scene(30, "late"),
            scene(20, "second")
        );
        let chat = Chat::read(text.as_bytes(), ChatKind::Solo);
        assert_eq!(newest(&chat, 1), None);
        assert_eq!(newest(&chat, 2).map(|found| found.message), Some(2));
    }

    #[test]
    fn of_a_recap_made_twice_the_first_is_the_witness() {
        let entry = |content: &str| format!(r#"[{{"uid":5,"content":"{content}"}}]"#);
        let text = format!(
            r#"{{"chat_metadata":{{}}}}
{{"extra":{{"auto_recap_memory":{{"scene_break":true,"scene_recap_current_index":2,"scene_recap_metadata":{{"1":{{"timestamp":10,"allEntries":{}}},"2":{{"timestamp":30,"allEntries":{}}}}}}}}}}}
{{"mes":1}}"#,
            entry("then"),
            entry("late")
        );
        let chat = Chat::read(text.as_bytes(), ChatKind::Solo);
        let rebuilt = newest(&chat, 1).unwrap().rebuild(None, false).book;
        assert_eq!(rebuilt.at(&["entries", "5", "content"]), Some(&Json::from("then")));
    }

    #[test]
    fn one_that_was_taken_again_when_the_scene_was_combined_is_of_that_later_time() {
        let first =
            scene(10, "late").replace("\"timestamp\":10", "\"timestamp\":10,\"combined_at\":30");
        let text = format!("{{\"chat_metadata\":{{}}}}\n{first}\n{{}}\n{}", scene(20, "second"));
        let chat = Chat::read(text.as_bytes(), ChatKind::Solo);
        assert_eq!(newest(&chat, 1), None);
        assert_eq!(newest(&chat, 2).map(|found| found.message), Some(2));
    }

    #[test]
    fn a_scene_break_that_was_hidden_again_is_none() {
        let hidden = scene(10, "c")
            .replace("\"scene_break\":true", "\"scene_break\":true,\"scene_break_visible\":false");
        let text = format!("{{\"chat_metadata\":{{}}}}\n{hidden}");
        assert_eq!(newest(&Chat::read(text.as_bytes(), ChatKind::Solo), 0), None);
    }

    #[test]
    fn a_queue_in_a_snapshot_is_left_out() {
        let queue = r#"{"uid":9,"comment":"__operation_queue","content":"{\"queue\":[{\"status\":\"pending\"}]}"}"#;
        let with_queue = scene(1, "c").replace("[{\"comment\"", &format!("[{queue},{{\"comment\""));
        let text = format!("{{\"chat_metadata\":{{}}}}\n{with_queue}");
        let snapshot = newest(&Chat::read(text.as_bytes(), ChatKind::Solo), 0).unwrap();
        assert_eq!(snapshot.entries.len(), 1);
        let book = snapshot.rebuild(None, false).book;
        assert_eq!(book.get("entries").unwrap().members().count(), 1);
    }

    #[test]
    fn a_rebuilt_entry_keeps_its_uid_and_loses_what_is_not_an_entrys() {
        let text = format!("{{\"chat_metadata\":{{}}}}\n{}", scene(1, "c"));
        let chat = Chat::read(text.as_bytes(), ChatKind::Solo);
        let live = br#"{"entries":{"q":{"uid":9,"comment":"__operation_queue","content":"{\"queue\":[1]}"},"5":{"uid":5,"comment":"","content":"today","scanDepth":3,"keysecondary":["z"]}}}"#;
        let live = Book::read(live).unwrap();
        let snapshot = newest(&chat, 0).unwrap();

        let strict = snapshot.rebuild(Some(&live), false).book;
        assert_eq!(strict.at(&["entries", "5", "content"]), Some(&Json::from("c")));
        assert_eq!(strict.at(&["entries", "5", "world"]), None);
        assert_eq!(strict.at(&["entries", "5", "comment"]), Some(&Json::from("")));
        assert!(strict.at(&["entries", "q"]).is_some());

        let filled = snapshot.rebuild(Some(&live), true);
        assert_eq!((filled.filled, filled.unfilled), (1, 0));
        assert_eq!(filled.book.at(&["entries", "5", "scanDepth"]), Some(&Json::Number(3.0)));
        assert_eq!(filled.book.at(&["entries", "5", "comment"]), Some(&Json::from("")));
        assert_eq!(filled.book.at(&["entries", "5", "content"]), Some(&Json::from("c")));
    }

    fn chat_of(messages: &[&str]) -> String {
        format!("{{\"chat_metadata\":{{}}}}\n{}", messages.join("\n"))
    }

    fn newest_of(messages: &[&str], m: usize) -> Option<usize> {
        let text = chat_of(messages);
        newest(&Chat::read(text.as_bytes(), ChatKind::Solo), m).map(|found| found.message)
    }

    #[test]
    fn a_scene_is_witnessed_before_the_next_one_and_not_at_the_same_time() {
        let [first, second] = [scene(10, "first"), scene(20, "second")];
        assert_eq!(newest_of(&[&first, "{}", &second], 1), Some(0));
        let same = scene(20, "first");
        assert_eq!(newest_of(&[&same, "{}", &second], 1), None);
    }

    #[test]
    fn a_copied_scene_is_no_second_witness() {
        let first = scene(10, "first");
        assert_eq!(newest_of(&[&first, "{}", &first], 2), None);
        assert_eq!(newest_of(&[&first, "{}"], 1), Some(0));
    }

    /// A snapshot that consists of this entry.
    fn snapshot_of(entry: &str) -> Snapshot {
        Snapshot {
            message: 0,
            book: None,
            entries: vec![Json::parse(entry.as_bytes()).unwrap()],
            timestamp: None,
        }
    }

    #[test]
    fn only_empty_tags_and_the_name_of_the_unnamed_are_left_out() {
        let rebuilt = |entry: &str| {
            let book = snapshot_of(entry).rebuild(None, false).book;
            book.at(&["entries", "5"]).cloned().unwrap()
        };
        let entry = r#"{"uid":5,"key":["k"],"keysecondary":[],"comment":"(unnamed)","content":"(unnamed)","tags":[]}"#;
        let expected =
            r#"{"uid":5,"key":["k"],"keysecondary":[],"comment":"","content":"(unnamed)"}"#;
        assert_eq!(rebuilt(entry), Json::parse(expected.as_bytes()).unwrap());
        let entry = r#"{"uid":5,"key":[],"comment":"Mara","tags":["t"]}"#;
        assert_eq!(rebuilt(entry), Json::parse(entry.as_bytes()).unwrap());
    }

    #[test]
    fn a_snapshot_matches_the_entries_that_it_was_taken_of() {
        let snapshot = snapshot_of(
            r#"{"uid":5,"comment":"(unnamed)","content":"c","keysecondary":[],"tags":[],"order":100}"#,
        );
        let matches = |entry: &str| {
            let entry = Json::parse(entry.as_bytes()).unwrap();
            snapshot.matches([&entry].into_iter())
        };
        // Fields that the snapshot does not store reliably are ignored.
        assert!(matches(
            r#"{"uid":5,"comment":"","content":"c","keysecondary":["z"],"tags":["t"]}"#
        ));
        assert!(!matches(r#"{"uid":5,"comment":"","content":"other"}"#));
        assert!(!matches(r#"{"uid":6,"comment":"","content":"c"}"#));
        assert!(!matches(r#"{"uid":5,"comment":"Mara","content":"c"}"#));
        assert!(!matches(r#"{"uid":5,"comment":"","content":"c","order":5}"#));
    }
}
