//! Memory Books: an extension that stores memories of a chat as lorebook entries.
//!
//! Each entry names the chat and the messages that it summarises (`STMB_chatId`, `STMB_start`,
//! `STMB_end`). The chat's metadata holds the extension's progress and, in manual mode, the name of
//! its own book, which can differ from the bound one. When a branch is opened, the extension copies
//! the book, unless the metadata says that this has already been done.

use crate::sillytavern::names::book_key;
use forklore_json::{Json, Object};

/// The key of its data in a chat's metadata.
pub const KEY: &str = "STMemoryBooks";

/// The chat that an entry summarises.
pub(crate) const CHAT_ID: &str = "STMB_chatId";
/// The book that an entry was created in.
pub(crate) const FIRST_BOOK: &str = "STMB_canonicalLorebook";

const MANUAL_BOOK: &str = "manualLorebook";
const OF_CHARACTERS: &str = "manualCharacterLorebooks";
const OF_MEMBER: &str = "lorebookName";
const PROGRESS: &str = "highestMemoryProcessed";
const COPIED: &str = "branchLorebookCopies";

/// The name of the book used in manual mode.
pub fn manual_book(metadata: &Json) -> Option<String> {
    let name = metadata.at(&[KEY, MANUAL_BOOK])?.as_str()?;
    (!name.is_empty()).then(|| name.into_owned())
}

/// All books that the extension names in a chat's metadata.
pub fn books(metadata: &Json) -> Vec<String> {
    let Some(notes) = metadata.get(KEY) else { return Vec::new() };
    let of_characters = notes.get(OF_CHARACTERS).into_iter().flat_map(Json::members);
    let members = notes.at(&["narratorMode", "members"]).and_then(Json::as_array);
    let of_members = members.into_iter().flatten().filter_map(|member| member.get(OF_MEMBER));
    let named = notes.get(MANUAL_BOOK).into_iter();
    let named = named.chain(of_characters.map(|(_, name)| name)).chain(of_members);
    let names = named.filter_map(Json::as_str).map(|name| name.into_owned());
    names.filter(|name| !name.is_empty()).collect()
}

/// The extension's metadata without the names of books; `None` if it names none.
pub(crate) fn without_books(notes: &Json) -> Option<Json> {
    let mut after = notes.as_object()?.clone();
    after.remove(MANUAL_BOOK);
    after.remove(OF_CHARACTERS);
    if let Some(Json::Array(members)) = after
        .get_mut("narratorMode")
        .and_then(Json::as_object_mut)
        .and_then(|narrator| narrator.get_mut("members"))
    {
        members
            .iter_mut()
            .filter_map(Json::as_object_mut)
            .for_each(|it| drop(it.remove(OF_MEMBER)));
    }
    let after = Json::Object(after);
    (after != *notes).then_some(after)
}

/// Whether an entry is a memory that ends after message `last`.
pub(crate) fn is_later(entry: &Json, last: usize) -> bool {
    end_of(entry).is_some_and(|end| end > last)
}

fn end_of(entry: &Json) -> Option<usize> {
    entry.get("STMB_end")?.as_usize()
}

/// What a fork has to know about Memory Books, if the extension is installed.
#[derive(Clone, Debug, Default)]
pub struct MemoryBooksState {
    /// The current book of its manual mode, if it is not the book that the chat is bound to.
    pub manual: Option<ManualBook>,
}

/// A manual-mode book, and the name for its copy.
#[derive(Clone, Debug)]
pub struct ManualBook {
    pub name: String,
    pub bytes: Vec<u8>,
    pub copy: String,
}

/// The child that the extension's metadata is adapted to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ChildNotes<'a> {
    pub name: &'a str,
    pub parent: &'a str,
    pub last: usize,
    /// The names of the bound book: the parent's, and the child's, if it has one.
    pub bound: Option<(&'a str, Option<&'a str>)>,
    /// The names of the manual-mode book, if it was copied: the parent's, and the child's.
    pub manual: Option<(&'a str, &'a str)>,
    /// The entries of the book that holds the memories.
    pub entries: Option<&'a Object>,
    /// Whether the metadata was recorded at the fork point, rather than being today's.
    pub is_known: bool,
}

/// Adapts the extension's metadata to a child. `None` if nothing changes.
pub(crate) fn notes_of(notes: &Json, child: &ChildNotes<'_>) -> Option<Json> {
    let mut after = notes.as_object()?.clone();
    let count = |object: &Object, key: &str| object.get(key).and_then(Json::as_usize);
    let is_ahead = count(&after, PROGRESS).is_some_and(|progress| progress > child.last);
    if let Some(entries) = child.entries.filter(|_| is_ahead || !child.is_known) {
        let ends = entries.iter().filter_map(|(_, entry)| end_of(entry));
        match ends.filter(|end| *end <= child.last).max() {
            Some(end) => after.insert(PROGRESS, end),
            None => drop(after.remove(PROGRESS)),
        }
    }
    if ["sceneStart", "sceneEnd"].iter().any(|key| count(&after, key) > Some(child.last)) {
        after.insert("sceneStart", Json::Null);
        after.insert("sceneEnd", Json::Null);
    }
    let own_copy = child.bound.and_then(|(from, own)| Some((from, own?)));
    let named = manual_book(&Json::object([(KEY, notes.clone())]));
    // The bound book may also be the manual-mode book.
    let is_bound = |(from, _): &(&str, Option<&str>)| {
        named.as_deref().is_some_and(|name| book_key(name) == book_key(from))
    };
    let is_bound = child.bound.as_ref().is_some_and(is_bound);
    let manual = child.manual.or(own_copy.filter(|_| is_bound));
    match manual {
        Some((_, own)) => after.insert(MANUAL_BOOK, own),
        // A child without a book must not write to its parent's.
        None if is_bound => drop(after.remove(MANUAL_BOOK)),
        None => {}
    }
    if let Some((from, own)) = manual.or(own_copy) {
        let copy = Json::object([
            ("sourceName", Json::from(from)),
            ("rootName", Json::from(from)),
            ("copyName", Json::from(own)),
        ]);
        let copied = Json::object([
            ("version", Json::from(1_usize)),
            ("status", "completed".into()),
            ("parentChatId", child.parent.into()),
            ("branchChatId", child.name.into()),
            ("mappings", Json::Array(vec![copy])),
        ]);
        after.insert(COPIED, copied);
    }
    let after = Json::Object(after);
    (after != *notes).then_some(after)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> Json {
        Json::parse(text.as_bytes()).unwrap()
    }

    fn child<'a>(last: usize, entries: Option<&'a Object>, is_known: bool) -> ChildNotes<'a> {
        let bound = Some(("Lore", Some("Child - Lore")));
        ChildNotes { name: "Child", parent: "Main", last, bound, manual: None, entries, is_known }
    }

    #[test]
    fn progress_that_is_not_known_is_what_the_childs_own_memories_reach() {
        let entries = json(r#"{"0":{"STMB_end":3},"1":{"STMB_end":9},"2":{"content":"x"}}"#);
        let entries = entries.as_object();
        let notes = json(r#"{"highestMemoryProcessed":9,"sceneStart":7,"sceneEnd":9,"x":1}"#);
        let progress = |last, is_known| {
            let after = notes_of(&notes, &child(last, entries, is_known)).unwrap();
            (after.get(PROGRESS).and_then(Json::as_usize), after.get("sceneEnd").cloned())
        };
        assert_eq!(progress(5, false), (Some(3), Some(Json::Null)));
        assert_eq!(progress(5, true), (Some(3), Some(Json::Null)), "it cannot be ahead");
        assert_eq!(progress(2, false), (None, Some(Json::Null)));
        assert_eq!(progress(12, true), (Some(9), Some(Json::from(9_usize))));
    }

    #[test]
    fn it_is_told_that_the_book_was_copied() {
        let notes = json(r#"{"manualLorebook":"lore"}"#);
        let after = notes_of(&notes, &child(5, None, true)).unwrap();
        assert_eq!(after.at(&[COPIED, "branchChatId"]), Some(&Json::from("Child")));
        assert_eq!(after.at(&[COPIED, "status"]), Some(&Json::from("completed")));
        assert_eq!(after.get(MANUAL_BOOK), Some(&Json::from("Child - Lore")), "one book for both");
        let other = json(r#"{"manualLorebook":"Other"}"#);
        let after = notes_of(&other, &child(5, None, true)).unwrap();
        assert_eq!(after.get(MANUAL_BOOK), Some(&Json::from("Other")));
    }

    #[test]
    fn a_child_without_a_book_does_not_write_to_its_parents() {
        let left = ChildNotes { bound: Some(("Lore", None)), ..child(5, None, true) };
        let after = notes_of(&json(r#"{"manualLorebook":"lore","x":1}"#), &left);
        assert_eq!(after, Some(json(r#"{"x":1}"#)));
        assert_eq!(notes_of(&json(r#"{"manualLorebook":"Other"}"#), &left), None);
    }

    #[test]
    fn every_book_that_it_names_is_found() {
        let metadata = json(
            r#"{"STMemoryBooks":{"manualLorebook":"A","manualCharacterLorebooks":{"x":"B","y":7},"narratorMode":{"members":[{"lorebookName":"C"},{}]}}}"#,
        );
        assert_eq!(books(&metadata), ["A", "B", "C"]);
        assert_eq!(books(&json(r#"{"STMemoryBooks":5}"#)), [""; 0]);
    }
}
