//! The extension's notes about a chat's book, in the chat's metadata.

use forklore_json::{Json, Object};

use crate::recap::registry;

pub const KEY: &str = "auto_lorebooks";
const BOOK: &str = "lorebookName";

/// The book that the extension writes to.
pub fn book(metadata: &Json) -> Option<String> {
    let name = metadata.at(&[KEY, BOOK])?.as_str()?;
    (!name.is_empty()).then(|| name.into_owned())
}

/// The notes of a chat that is bound to another book, or to none; `None` if nothing changes.
pub(crate) fn rebound(notes: &Json, book: Option<&str>, entries: Option<&Object>) -> Option<Json> {
    let mut after = notes.as_object()?.clone();
    match book {
        Some(book) => after.insert(BOOK, book),
        None => drop(after.remove(BOOK)),
    }
    if let Some(entries) = entries {
        reindex(&mut after, entries);
    }
    let after = Json::Object(after);
    (after != *notes).then_some(after)
}

/// The notes of a chat whose book has these entries now; `None` if nothing changes.
pub(crate) fn reindexed(notes: &Json, entries: &Object) -> Option<Json> {
    let mut after = notes.as_object()?.clone();
    reindex(&mut after, entries);
    let after = Json::Object(after);
    (after != *notes).then_some(after)
}

fn reindex(notes: &mut Object, entries: &Object) {
    if let Some(registry) = notes.get_mut("registry").and_then(Json::as_object_mut)
        && let Some(index) = registry.get("index")
    {
        let index = registry::reindexed(index, entries);
        registry.insert("index", index);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_books_name_changes() {
        let notes = |text: &str| Json::parse(text.as_bytes()).unwrap();
        let before = notes(r#"{"x":1,"lorebookName":"Lore","registry":{}}"#);
        assert_eq!(rebound(&before, None, None), Some(notes(r#"{"x":1,"registry":{}}"#)));
        assert_eq!(rebound(&before, Some("Lore"), None), None);
        let metadata = Json::object([(KEY, rebound(&before, Some("Own"), None).unwrap())]);
        assert_eq!(book(&metadata).as_deref(), Some("Own"));
    }
}
