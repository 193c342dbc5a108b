//! Memory Books: an extension that keeps memories of a chat as entries of a lorebook.
//!
//! Its entries say which messages of which chat they are about (`STMB_start`, `STMB_end`,
//! `STMB_chatId`). In the chat's metadata it notes how far it has come, and in its manual mode a book
//! of its own beside the one that is bound. On opening a branch it copies the book, unless a note says
//! that this was done.

use crate::sillytavern::names::book_key;
use forklore_json::{Json, Object};

/// What it keeps in a chat's metadata.
pub const KEY: &str = "STMemoryBooks";

/// The chat that an entry is about.
pub(crate) const CHAT_ID: &str = "STMB_chatId";
/// The book that an entry was first put in.
pub(crate) const FIRST_BOOK: &str = "STMB_canonicalLorebook";

const MANUAL_BOOK: &str = "manualLorebook";
const PROGRESS: &str = "highestMemoryProcessed";
const COPIED: &str = "branchLorebookCopies";

/// The book of its manual mode.
pub fn manual_book(metadata: &Json) -> Option<String> {
    let name = metadata.at(&[KEY, MANUAL_BOOK])?.as_str()?;
    (!name.is_empty()).then(|| name.into_owned())
}

/// All books that it names in a chat's metadata.
pub fn books(metadata: &Json) -> Vec<String> {
    let Some(notes) = metadata.get(KEY) else { return Vec::new() };
    let of_characters = notes.get("manualCharacterLorebooks").into_iter().flat_map(Json::members);
    let members = notes.at(&["narratorMode", "members"]).and_then(Json::as_array);
    let of_members = members.into_iter().flatten().filter_map(|member| member.get("lorebookName"));
    let named = notes.get(MANUAL_BOOK).into_iter();
    let named = named.chain(of_characters.map(|(_, name)| name)).chain(of_members);
    let names = named.filter_map(Json::as_str).map(|name| name.into_owned());
    names.filter(|name| !name.is_empty()).collect()
}

/// Whether an entry is a memory of messages after `last`.
pub(crate) fn is_later(entry: &Json, last: usize) -> bool {
    end_of(entry).is_some_and(|end| end > last)
}

fn end_of(entry: &Json) -> Option<usize> {
    entry.get("STMB_end")?.as_usize()
}

/// Memory Books, where it is at home: what a fork has to know of it.
#[derive(Clone, Debug, Default)]
pub struct MemoryBooksState {
    /// The book of its manual mode as it is today, where that is another one than the chat's.
    pub manual: Option<ManualBook>,
}

/// A book of the manual mode, and how its copy is to be called.
#[derive(Clone, Debug)]
pub struct ManualBook {
    pub name: String,
    pub bytes: Vec<u8>,
    pub copy: String,
}

/// What a child's notes have to fit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ChildNotes<'a> {
    pub name: &'a str,
    pub parent: &'a str,
    pub last: usize,
    /// The names of the book that the chat is bound to: the parent's, and the child's own.
    pub bound: Option<(&'a str, &'a str)>,
    /// The same of the book of its manual mode, where that was copied.
    pub manual: Option<(&'a str, &'a str)>,
    /// The entries of the book that its memories are in.
    pub entries: Option<&'a Object>,
    /// Whether the notes are those of the message, and not today's.
    pub is_known: bool,
}

/// The notes of a child; `None` where they stay as they are.
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
    let manual =
        match (child.manual, child.bound, manual_book(&Json::object([(KEY, notes.clone())]))) {
            (Some(manual), _, _) => Some(manual),
            // One book for both.
            (None, Some((from, own)), Some(name)) if book_key(&name) == book_key(from) => {
                Some((from, own))
            }
            _ => None,
        };
    if let Some((_, own)) = manual {
        after.insert(MANUAL_BOOK, own);
    }
    if let Some((from, own)) = manual.or(child.bound) {
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
        let bound = Some(("Lore", "Child - Lore"));
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
    fn every_book_that_it_names_is_found() {
        let metadata = json(
            r#"{"STMemoryBooks":{"manualLorebook":"A","manualCharacterLorebooks":{"x":"B","y":7},"narratorMode":{"members":[{"lorebookName":"C"},{}]}}}"#,
        );
        assert_eq!(books(&metadata), ["A", "B", "C"]);
        assert_eq!(books(&json(r#"{"STMemoryBooks":5}"#)), [""; 0]);
    }
}
