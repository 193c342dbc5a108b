//! The queue of operations that a book carries in an entry of its own.

use std::collections::BTreeMap;

use crate::json::{Indent, Json};

pub const COMMENT: &str = "__operation_queue";

/// A day after which an unfinished operation is taken for one that nobody will finish.
const STALE_MILLISECONDS: f64 = 24.0 * 3600.0 * 1000.0;

pub fn is_queue(entry: &Json) -> bool {
    entry.get("comment").and_then(Json::as_str).is_some_and(|comment| comment == COMMENT)
}

/// What still has to run, in a book's queue and a chat's metadata together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Operations that run or will run, counted by status.
    pub runnable: BTreeMap<&'static str, usize>,
    /// An operation is marked as being worked on.
    pub has_current: bool,
    /// The queue's text could not be read, so nobody can say that it is empty.
    pub unreadable: bool,
    /// Lorebook entries under way in the chat's metadata.
    pub pending_entries: usize,
    /// The same, but older than a day: a remark, not an obstacle.
    pub stale_entries: usize,
    /// Operations that failed for good.
    pub failed: usize,
}

impl Work {
    pub fn is_pending(&self) -> bool {
        !self.runnable.is_empty() || self.has_current || self.unreadable || self.pending_entries > 0
    }

    pub fn operations(&self) -> usize {
        self.runnable.values().sum::<usize>() + self.pending_entries
    }

    /// Takes in the content of a book's queue entry.
    pub fn add_queue(&mut self, content: &str) {
        let queue = Json::parse(content.as_bytes()).ok();
        let Some(operations) = queue.as_ref().and_then(operations_of) else {
            self.unreadable |= !content.trim().is_empty();
            return;
        };
        for operation in operations {
            match status_of(operation) {
                Some("failed") => self.failed += 1,
                Some(status) if is_runnable(status) => {
                    *self.runnable.entry(status).or_default() += 1
                }
                _ => {}
            }
        }
        let current = queue.as_ref().and_then(|queue| queue.get("current_operation_id"));
        self.has_current |= current.is_some_and(Json::is_truthy);
    }

    /// Takes in the chat's metadata; `now` is in milliseconds since 1970.
    pub fn add_metadata(&mut self, metadata: &Json, now: f64) {
        let pending = metadata.at(&["autoLorebooks", "pendingOps"]);
        for (_, operation) in pending.into_iter().flat_map(Json::members) {
            let since = operation.get("timestamp").and_then(Json::as_f64);
            if since.is_some_and(|since| now - since > STALE_MILLISECONDS) {
                self.stale_entries += 1;
            } else {
                self.pending_entries += 1;
            }
        }
    }
}

fn operations_of(queue: &Json) -> Option<&[Json]> {
    queue.get("queue").and_then(Json::as_array)
}

fn status_of(operation: &Json) -> Option<&'static str> {
    let status = operation.get("status")?.as_str()?;
    ["pending", "in_progress", "retrying", "failed", "completed", "cancelled"]
        .into_iter()
        .find(|known| *known == status)
}

fn is_runnable(status: &str) -> bool {
    matches!(status, "pending" | "in_progress" | "retrying")
}

/// An operation that names a message the chat does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastTheEnd {
    pub operation: String,
    pub message: usize,
}

/// Operations still to run that point at or past `length`, the number of messages.
pub fn past_the_end(content: &str, length: usize) -> Vec<PastTheEnd> {
    let queue = Json::parse(content.as_bytes()).ok();
    let operations = queue.as_ref().and_then(operations_of).unwrap_or_default();
    operations
        .iter()
        .filter(|operation| status_of(operation).is_some_and(is_runnable))
        .filter_map(|operation| {
            let message =
                messages_of(operation).into_iter().max().filter(|last| *last >= length)?;
            let name = operation.get("type").and_then(Json::as_str).unwrap_or_default();
            Some(PastTheEnd { operation: name.into_owned(), message })
        })
        .collect()
}

fn messages_of(operation: &Json) -> Vec<usize> {
    let params = ["index", "indexes", "startIndex", "endIndex", "messageIndex"];
    let metadata = ["message_index", "scene_index", "start_index", "end_index"];
    let named = params.map(|key| ("params", key)).into_iter();
    named
        .chain(metadata.map(|key| ("metadata", key)))
        .filter_map(|(part, key)| operation.at(&[part, key]))
        .flat_map(|value| match value {
            Json::Array(list) => list.iter().filter_map(Json::as_usize).collect(),
            single => single.as_usize().into_iter().collect::<Vec<_>>(),
        })
        .collect()
}

/// Books that operations still to run name.
pub fn books_named(content: &str) -> Vec<String> {
    let queue = Json::parse(content.as_bytes()).ok();
    let operations = queue.as_ref().and_then(operations_of).unwrap_or_default();
    operations
        .iter()
        .filter_map(|operation| {
            Some(operation.at(&["params", "lorebookName"])?.as_str()?.into_owned())
        })
        .collect()
}

/// The queue's text with nothing in it, as the extension writes an empty one.
pub fn emptied(content: &str) -> String {
    let old = Json::parse(content.as_bytes()).unwrap_or(Json::Null);
    let kept = |key: &str, otherwise: Json| old.get(key).cloned().unwrap_or(otherwise);
    let empty = Json::object([
        ("queue", Json::Array(Vec::new())),
        ("current_operation_id", Json::Null),
        ("paused", kept("paused", Json::Bool(false))),
        ("version", Json::Number(1.0)),
        ("queueVersion", kept("queueVersion", Json::Number(0.0))),
    ]);
    let text = empty.stringify_with(Indent::By { unit: b"  ", depth: 0 });
    String::from_utf8_lossy(&text).into_owned()
}

/// A queue entry with nothing left to run, otherwise as it is.
pub fn emptied_entry(entry: &Json) -> Json {
    let mut entry = entry.clone();
    let content = entry.get("content").and_then(Json::as_str).unwrap_or_default().into_owned();
    if let Some(object) = entry.as_object_mut() {
        object.insert("content", emptied(&content));
    }
    entry
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(content: &str, pending: bool) {
        let mut work = Work::default();
        work.add_queue(content);
        assert_eq!(work.is_pending(), pending, "{content}");
    }

    #[test]
    fn only_what_will_run_is_pending() {
        for status in ["pending", "in_progress", "retrying"] {
            check(&format!(r#"{{"queue":[{{"status":"{status}"}}]}}"#), true);
        }
        for status in ["completed", "failed", "cancelled"] {
            check(&format!(r#"{{"queue":[{{"status":"{status}"}}]}}"#), false);
        }
        check(r#"{"queue":[],"current_operation_id":"op_1"}"#, true);
        check(r#"{"queue":[],"current_operation_id":null}"#, false);
        check("not json", true);
        check("", false);
    }

    #[test]
    fn entries_under_way_count_until_they_are_a_day_old() {
        let metadata = Json::parse(
            br#"{"autoLorebooks":{"pendingOps":{"a":{"timestamp":1000},"b":{"timestamp":100000000}}}}"#,
        )
        .unwrap();
        let mut work = Work::default();
        work.add_metadata(&metadata, 100_000_001.0);
        assert_eq!((work.pending_entries, work.stale_entries), (1, 1));
    }

    #[test]
    fn an_operation_past_the_end_is_named() {
        let queue = r#"{"queue":[{"type":"generate_scene_recap","status":"pending","params":{"index":14}},{"status":"completed","params":{"index":99}},{"status":"pending","params":{"indexes":[1,2]}}]}"#;
        let found = past_the_end(queue, 14);
        assert_eq!(found, [PastTheEnd { operation: "generate_scene_recap".into(), message: 14 }]);
        assert_eq!(past_the_end(queue, 15), []);
    }

    #[test]
    fn an_emptied_queue_keeps_its_pause_and_version() {
        let text = emptied(r#"{"queue":[1],"paused":true,"queueVersion":4}"#);
        let queue = Json::parse(text.as_bytes()).unwrap();
        assert_eq!(queue.get("paused"), Some(&Json::Bool(true)));
        assert_eq!(queue.get("queueVersion"), Some(&Json::Number(4.0)));
        assert!(text.starts_with("{\n  \"queue\": []"));
    }
}
