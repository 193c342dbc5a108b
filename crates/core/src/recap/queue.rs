//! The extension's queue of operations, which is stored in a book entry.

use forklore_json::{Indent, Json};

pub const COMMENT: &str = "__operation_queue";

pub fn is_queue(entry: &Json) -> bool {
    entry.get("comment").and_then(Json::as_str).is_some_and(|comment| comment == COMMENT)
}

/// The work still to be done, according to a book's queue and a chat's metadata.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PendingWork {
    /// Operations that are running or will run, counted by status and sorted by it.
    pub runnable: Vec<(&'static str, usize)>,
    /// An operation in the queue is marked as the current one.
    pub has_current: bool,
    /// The user paused the queue, so that it ends only after they resume it.
    pub is_paused: bool,
    /// Pending lorebook entries in the chat's metadata that a runnable operation refers to.
    pub pending_entries: usize,
    /// Pending entries that no operation will finish: a remark, not an obstacle.
    pub stale_entries: usize,
    /// Operations that have failed.
    pub failed: usize,
    /// The lorebook entries that runnable operations refer to.
    named: Vec<String>,
}

impl PendingWork {
    pub fn is_pending(&self) -> bool {
        !self.runnable.is_empty() || self.has_current
    }

    pub fn operations(&self) -> usize {
        let runnable: usize = self.runnable.iter().map(|(_, count)| count).sum();
        runnable.max(usize::from(self.has_current))
    }

    /// Adds the content of a book's queue entry.
    pub fn add_queue(&mut self, content: &str) {
        let queue = Json::parse(content.as_bytes()).unwrap_or(Json::Null);
        let operations = operations_of(&queue);
        for operation in operations {
            match status_of(operation) {
                Some("failed") => self.failed += 1,
                Some(status) if is_runnable(status) => {
                    self.add(status, 1);
                    self.named.extend(text_at(operation, &["params", "entryId"]));
                }
                _ => {}
            }
        }
        // The extension does not clear the id when it is stopped or the operation is removed, so
        // check that the operation is still in the queue.
        let current = text_at(&queue, &["current_operation_id"]);
        self.has_current |= current.is_some()
            && operations.iter().any(|operation| text_at(operation, &["id"]) == current);
        self.is_paused |= queue.get("paused").is_some_and(Json::is_truthy);
    }

    fn add(&mut self, status: &'static str, count: usize) {
        match self.runnable.binary_search_by_key(&status, |(known, _)| known) {
            Ok(at) => self.runnable[at].1 += count,
            Err(at) => self.runnable.insert(at, (status, count)),
        }
    }

    /// Adds the number of operations that the extension has in memory, which includes those in the
    /// book.
    pub fn add_unwritten(&mut self, operations: usize) {
        let unwritten = operations.saturating_sub(self.operations());
        if unwritten > 0 {
            self.add("pending", unwritten);
        }
    }

    /// Adds the chat's metadata. Call this after the queue was added: a pending entry is stale if
    /// its operation failed or was removed.
    pub fn add_metadata(&mut self, metadata: &Json) {
        let pending = metadata.at(&["autoLorebooks", "pendingOps"]);
        for (entry, _) in pending.into_iter().flat_map(Json::members) {
            let is_named = self.named.iter().any(|named| *named == entry);
            *(if is_named { &mut self.pending_entries } else { &mut self.stale_entries }) += 1;
        }
    }
}

/// As the extension reads a queue: whatever is not a list of operations is an empty queue.
fn operations_of(queue: &Json) -> &[Json] {
    let operations = queue.get("queue").and_then(Json::as_array).unwrap_or_default();
    let is_odd = operations.iter().any(|it| !matches!(it, Json::Object(_) | Json::Array(_)));
    if is_odd { &[] } else { operations }
}

fn text_at(value: &Json, path: &[&str]) -> Option<String> {
    Some(value.at(path)?.as_str()?.into_owned())
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

/// An operation that refers to a message that the chat does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastTheEnd {
    pub operation: String,
    pub message: usize,
}

/// Runnable operations that refer to a message at or past `length`, the number of messages.
pub fn past_the_end(content: &str, length: usize) -> Vec<PastTheEnd> {
    let queue = Json::parse(content.as_bytes()).unwrap_or(Json::Null);
    operations_of(&queue)
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

/// The books that operations in the queue refer to.
pub fn books_named(content: &str) -> Vec<String> {
    let queue = Json::parse(content.as_bytes()).unwrap_or(Json::Null);
    operations_of(&queue)
        .iter()
        .filter_map(|operation| text_at(operation, &["params", "lorebookName"]))
        .collect()
}

/// The text of an emptied queue, as the extension writes it.
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

/// A queue entry with its queue emptied and everything else unchanged.
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
        let mut work = PendingWork::default();
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
        check(r#"{"queue":[{"id":"op_1"}],"current_operation_id":"op_1"}"#, true);
        // What remains after a reload and the removal of the operation.
        check(r#"{"queue":[],"current_operation_id":"op_1"}"#, false);
        check(
            r#"{"queue":[{"id":"op_2","status":"failed"}],"current_operation_id":"op_1"}"#,
            false,
        );
        check(r#"{"queue":[],"current_operation_id":null}"#, false);
    }

    #[test]
    fn what_the_extension_reads_as_an_empty_queue_is_one() {
        for empty in ["", " ", "not json", "[]", "null", "7", "{}", r#"{"queue":null}"#] {
            check(empty, false);
        }
        for odd in ["7", r#""abc""#, "{}", r#"[null,{"status":"pending"}]"#] {
            check(&format!(r#"{{"queue":{odd}}}"#), false);
        }
        check(r#"[{"status":"pending"}]"#, false);
    }

    #[test]
    fn a_paused_queue_is_known_by_its_pause_and_only_operations_that_exist_are_counted() {
        let read = |content: &str| {
            let mut work = PendingWork::default();
            work.add_queue(content);
            (work.is_pending(), work.is_paused, work.operations())
        };
        let pending = r#"{"queue":[{"status":"pending"},{"status":"pending"}],"paused":true}"#;
        assert_eq!(read(pending), (true, true, 2));
        assert_eq!(read(&pending.replace("true", "false")), (true, false, 2));
        assert_eq!(read(r#"{"queue":[],"paused":true}"#), (false, true, 0));
        assert_eq!(read(r#"{"queue":[{"id":"a"}],"current_operation_id":"a"}"#), (true, false, 1));
        assert_eq!(read("not json"), (false, false, 0));
    }

    #[test]
    fn entries_under_way_count_if_an_operation_that_will_run_names_them() {
        let metadata =
            Json::parse(br#"{"autoLorebooks":{"pendingOps":{"a":{"timestamp":1},"b":{},"c":{}}}}"#)
                .unwrap();
        let mut work = PendingWork::default();
        work.add_queue(
            r#"{"queue":[{"status":"pending","params":{"entryId":"a"}},{"status":"failed","params":{"entryId":"b"}}]}"#,
        );
        work.add_metadata(&metadata);
        assert_eq!((work.pending_entries, work.stale_entries), (1, 2));
        assert_eq!((work.operations(), work.is_pending()), (1, true));
        let mut work = PendingWork::default();
        work.add_metadata(&metadata);
        assert!(!work.is_pending(), "left over");
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

    #[test]
    fn what_fails_runs_and_is_named_is_counted() {
        let mut work = PendingWork::default();
        work.add_queue(
            r#"{"queue":[{"status":"failed"},{"status":"failed"},{"status":"pending"},{"status":"pending"},{"status":"retrying"},{"status":"odd"}]}"#,
        );
        assert_eq!((work.failed, work.operations()), (2, 3));
        assert!(work.runnable.contains(&("pending", 2)), "{work:?}");
        assert!(!work.has_current && !work.is_paused);
        // The extension's count includes those in the book.
        work.add_unwritten(3);
        assert_eq!(work.operations(), 3);
        work.add_unwritten(6);
        assert_eq!(work.operations(), 6);
        assert!(work.runnable.contains(&("pending", 5)), "{work:?}");
        let mut none = PendingWork::default();
        none.add_unwritten(0);
        assert!(!none.is_pending());
        none.add_unwritten(1);
        assert!(none.is_pending());
    }

    #[test]
    fn a_message_can_be_named_in_many_ways() {
        for named in [
            r#""params":{"index":7}"#,
            r#""params":{"indexes":[1,7]}"#,
            r#""params":{"startIndex":1,"endIndex":7}"#,
            r#""params":{"messageIndex":7}"#,
            r#""metadata":{"message_index":7}"#,
            r#""metadata":{"scene_index":7}"#,
            r#""metadata":{"start_index":7,"end_index":2}"#,
        ] {
            let queue = format!(r#"{{"queue":[{{"type":"t","status":"retrying",{named}}}]}}"#);
            assert_eq!(past_the_end(&queue, 8), [], "{named}");
            let found = [PastTheEnd { operation: "t".into(), message: 7 }];
            assert_eq!(past_the_end(&queue, 7), found, "{named}");
        }
        assert_eq!(past_the_end("not json", 0), []);
    }

    #[test]
    fn books_that_operations_name_are_found() {
        let queue = r#"{"queue":[{"params":{"lorebookName":"A"}},{"params":{}},{"params":{"lorebookName":"B"}}]}"#;
        assert_eq!(books_named(queue), ["A", "B"]);
        assert_eq!(books_named("{}"), Vec::<String>::new());
    }

    #[test]
    fn an_emptied_entry_is_otherwise_as_it_was() {
        let entry = Json::parse(
            br#"{"uid":3,"comment":"__operation_queue","content":"{\"queue\":[{\"status\":\"pending\"}]}"}"#,
        )
        .unwrap();
        assert!(is_queue(&entry));
        let emptied = emptied_entry(&entry);
        assert_eq!(emptied.get("uid"), entry.get("uid"));
        check(&emptied.get("content").unwrap().as_str().unwrap(), false);
        let expected = r#"{"queue":[],"current_operation_id":null,"paused":false,"version":1,"queueVersion":0}"#;
        let content = emptied.get("content").unwrap().as_str().unwrap();
        assert_eq!(Json::parse(content.as_bytes()), Json::parse(expected.as_bytes()));
        assert!(!is_queue(&Json::object([("comment", Json::from("Mara"))])));
    }
}
