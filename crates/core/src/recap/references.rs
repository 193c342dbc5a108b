//! Book names inside messages, which the extension resolves to files.

use memchr::memmem;

use crate::recap::running;
use crate::recap::scene::MEMORY;
use crate::sillytavern::names::book_key;
use forklore_json::{Edits, Json, JsonKind, Raw};

/// Replaces every name of the books `from` with `to` in a message line. Also returns the number of
/// replacements; `None` if there are none.
pub fn renamed(line: &[u8], from: &[String], to: &str) -> Option<(Vec<u8>, usize)> {
    let message = Raw::document(line).ok()?;
    let from: Vec<String> = from.iter().map(|name| book_key(name)).collect();
    let mut edits = Edits::of(message);
    let mut count = 0;
    for name in names(message) {
        if name.text().is_some_and(|text| from.contains(&book_key(&text))) {
            edits.replace(name, &Json::from(to));
            count += 1;
        }
    }
    (count > 0).then(|| (edits.apply(), count))
}

/// The key of the extension's notes about books in a chat's metadata.
const NOTES: &str = "auto_lorebooks";

/// The book that the metadata names.
pub fn noted_book(metadata: &Json) -> Option<String> {
    let name = metadata.at(&[NOTES, "lorebookName"])?.as_str()?;
    (!name.is_empty()).then(|| name.into_owned())
}

/// Whether the extension was used in the chat, so that its messages may name books.
pub fn is_used_in(metadata: &Json) -> bool {
    [NOTES, running::KEY].iter().any(|key| metadata.get(key).is_some_and(Json::is_truthy))
}

/// The books that a message names, for counting references.
pub fn books_named(line: &[u8]) -> Vec<String> {
    if memmem::find(line, b"chatLorebookName").is_none() {
        return Vec::new();
    }
    let Ok(message) = Raw::document(line) else { return Vec::new() };
    metadata(message)
        .into_iter()
        .filter_map(|metadata| Some(metadata.get("chatLorebookName")?.text()?.into_owned()))
        .collect()
}

fn names(message: Raw<'_>) -> Vec<Raw<'_>> {
    let mut names = Vec::new();
    for metadata in metadata(message) {
        names.extend(metadata.get("chatLorebookName"));
        for list in ["allEntries", "entries"] {
            let entries = metadata.get(list).into_iter().flat_map(|list| list.elements());
            names.extend(entries.filter_map(|entry| entry.get("world")));
        }
    }
    names
}

/// All metadata objects about a scene's book, in the message and in the copies in its swipes.
fn metadata(message: Raw<'_>) -> Vec<Raw<'_>> {
    let swipes = message.get("swipe_info").into_iter().flat_map(|info| info.elements());
    let memories =
        std::iter::once(message).chain(swipes).filter_map(|holder| holder.at(&["extra", MEMORY]));
    memories
        .flat_map(|memory| {
            let versions = memory.get("scene_recap_metadata").into_iter();
            let versions = versions.flat_map(|all| all.members().map(|member| member.value));
            versions.chain(memory.get("stage1_lorebook_metadata")).collect::<Vec<_>>()
        })
        .filter(|metadata| metadata.kind() == JsonKind::Object)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_the_old_book_change() {
        let line = br#"{"mes":"B","extra":{"auto_recap_memory":{"scene_recap_metadata":{"1":{"chatLorebookName":"B","allEntries":[{"world":"B"},{"world":"C"}]}}}},"swipe_info":[{"extra":{"auto_recap_memory":{"scene_recap_metadata":{"0":{"chatLorebookName":"B"}}}}}]}"#;
        let (changed, count) = renamed(line, &["b".into()], "New").unwrap();
        assert_eq!(count, 3);
        let expected = String::from_utf8_lossy(line)
            .replace(r#"Name":"B""#, r#"Name":"New""#)
            .replace(r#"world":"B""#, r#"world":"New""#);
        assert_eq!(String::from_utf8_lossy(&changed), expected);
        assert_eq!(renamed(br#"{"mes":"auto_recap_memory"}"#, &["B".into()], "New"), None);
    }

    #[test]
    fn every_place_that_names_a_book_is_counted() {
        let line = br#"{"extra":{"auto_recap_memory":{"stage1_lorebook_metadata":{"chatLorebookName":"A","entries":[{"world":"A"}]},"scene_recap_metadata":{"0":{"chatLorebookName":"B"},"1":7}}},"swipe_info":[{"extra":{"auto_recap_memory":{"scene_recap_metadata":{"0":{"chatLorebookName":"C"}}}}}]}"#;
        assert_eq!(books_named(line), ["B", "A", "C"]);
        assert_eq!(renamed(line, &["A".into()], "New").unwrap().1, 2);
        assert_eq!(books_named(br#"{"mes":"chatLorebookName"}"#), Vec::<String>::new());
        assert_eq!(books_named(b"chatLorebookName"), Vec::<String>::new());
    }
}
