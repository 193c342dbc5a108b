//! Memory Books: an extension that stores memories of a chat as lorebook entries.
//!
//! Each entry names the chat and the messages that it summarises (`STMB_chatId`, `STMB_start`,
//! `STMB_end`). The chat's metadata holds the extension's notes: its progress, and the books that it
//! writes to beside the bound one. When a branch is opened, the extension copies its books, unless
//! the notes say that this has already been done.

use crate::sillytavern::names::book_key;
use forklore_json::{JsText, Json, Object};

/// The key of its data in a chat's metadata.
pub const KEY: &str = "STMemoryBooks";

/// The chat that an entry summarises.
pub(crate) const CHAT_ID: &str = "STMB_chatId";
/// The book that an entry was created in. It is changed there together with its copies.
pub(crate) const FIRST_BOOK: &str = "STMB_canonicalLorebook";

/// The main book of the manual mode and of the narrator mode.
const MANUAL_BOOK: &str = "manualLorebook";
/// Objects whose values are books: those of a group's characters and those of side prompts.
const BOOKS_BY_KEY: [&str; 2] = ["manualCharacterLorebooks", "sidePromptLorebookOverrides"];
/// Stands for the book of the memories.
const NO_BOOK: &str = "__memory__";
const NARRATOR: &str = "narratorMode";
const OF_MEMBER: &str = "lorebookName";
const PROGRESS: &str = "highestMemoryProcessed";
const COPIED: &str = "branchLorebookCopies";

/// All books that the notes in a chat's metadata name, each once.
pub fn books(metadata: &Json) -> Vec<String> {
    metadata.get(KEY).map_or(Vec::new(), books_in)
}

pub(crate) fn books_in(notes: &Json) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    renamed(notes, &mut |name| {
        if names.iter().all(|other| book_key(other) != book_key(name)) {
            names.push(name.to_owned());
        }
        Some(name.to_owned())
    });
    names
}

/// The notes without the names of books; `None` if they name none.
pub(crate) fn without_books(notes: &Json) -> Option<Json> {
    renamed(notes, &mut |_| None)
}

/// The notes with every name of a book replaced or removed; `None` if nothing changes.
pub(crate) fn renamed(notes: &Json, to: &mut dyn FnMut(&str) -> Option<String>) -> Option<Json> {
    let mut after = notes.as_object()?.clone();
    rename_all(&mut after, to);
    let after = Json::Object(after);
    (after != *notes).then_some(after)
}

fn rename_all(notes: &mut Object, to: &mut dyn FnMut(&str) -> Option<String>) {
    rename(notes, &MANUAL_BOOK.into(), to);
    for key in BOOKS_BY_KEY {
        let Some(books) = notes.get_mut(key).and_then(Json::as_object_mut) else { continue };
        let keys: Vec<JsText> = books.keys().cloned().collect();
        for key in &keys {
            rename(books, key, to);
        }
    }
    let Some(narrator) = notes.get_mut(NARRATOR).and_then(Json::as_object_mut) else { return };
    let Some(Json::Array(members)) = narrator.get_mut("members") else { return };
    let mut is_complete = true;
    for member in members.iter_mut().filter_map(Json::as_object_mut) {
        is_complete &= rename(member, &OF_MEMBER.into(), to);
    }
    // As it does itself if it cannot copy a book.
    if !is_complete && narrator.get("enabled").is_some() {
        narrator.insert("enabled", false);
    }
}

/// Replaces or removes the name of a book, and returns whether there still is one.
fn rename(holder: &mut Object, key: &JsText, to: &mut dyn FnMut(&str) -> Option<String>) -> bool {
    let name = holder.get_text(key).and_then(Json::as_str).unwrap_or_default().into_owned();
    if name.is_empty() || name == NO_BOOK {
        return true;
    }
    let new = to(&name);
    let is_named = new.is_some();
    match new {
        Some(new) if new == name => {}
        Some(new) => holder.insert(key.clone(), new),
        None => drop(holder.remove_text(key)),
    }
    is_named
}

/// Whether an entry is a memory that ends after message `last`.
pub(crate) fn is_later(entry: &Json, last: usize) -> bool {
    end_of(entry).is_some_and(|end| end > last)
}

fn end_of(entry: &Json) -> Option<usize> {
    entry.get("STMB_end")?.as_usize()
}

/// What a fork has to know about Memory Books.
#[derive(Clone, Debug, Default)]
pub struct MemoryBooksState {
    pub is_installed: bool,
    /// The books that its notes name, as they are today.
    pub books: Vec<NamedBook>,
    /// The names that no copy can have.
    pub taken: Vec<String>,
}

/// A book that was looked for; without bytes, there is none that could be read.
#[derive(Clone, Debug)]
pub struct NamedBook {
    pub name: String,
    pub bytes: Option<Vec<u8>>,
}

/// A book that a chat uses, and its copy in a child.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct BookCopy {
    /// The names by which notes and entries refer to it.
    pub names: Vec<String>,
    pub source: String,
    /// The first book of its line: it is copied for a child, that copy for a grandchild.
    pub root: String,
    /// `None` if it was not copied.
    pub copy: Option<String>,
}

/// The copies for one child, that of the bound book included.
#[derive(Clone, Debug, Default)]
pub(crate) struct BookCopies(pub Vec<BookCopy>);

impl BookCopies {
    pub(crate) fn of(&self, name: &str) -> Option<&BookCopy> {
        let key = book_key(name);
        self.0.iter().find(|book| book.names.iter().any(|name| book_key(name) == key))
    }

    /// The name that an entry's first book has in the child: none for a book that is not copied, so
    /// that the child does not write to it.
    pub(crate) fn first_book(&self, name: &str) -> Option<&str> {
        Some(self.of(name)?.copy.as_deref().unwrap_or_default())
    }

    /// What the extension's next copy of a branch has to know.
    fn to_json(&self, child: &ChildNotes<'_>) -> Json {
        let copied = self.0.iter().filter_map(|book| {
            let copy = book.copy.as_deref()?;
            Some(Json::object([
                ("sourceName", Json::from(book.source.as_str())),
                ("rootName", book.root.as_str().into()),
                ("copyName", copy.into()),
            ]))
        });
        let is_complete = self.0.iter().all(|book| book.copy.is_some());
        Json::object([
            ("version", Json::from(1_usize)),
            // Both keep the extension from copying anything.
            ("status", if is_complete { "completed" } else { "failed" }.into()),
            ("parentChatId", child.parent.into()),
            ("branchChatId", child.name.into()),
            ("mappings", Json::Array(copied.collect())),
        ])
    }
}

/// The copies that a chat was made with, according to its notes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lineage(Vec<BookCopy>);

impl Lineage {
    pub(crate) fn of(notes: Option<&Json>) -> Self {
        let mappings = notes.and_then(|notes| notes.at(&[COPIED, "mappings"])?.as_array());
        let text = |mapping: &Json, key: &str| {
            let text = mapping.get(key)?.as_str()?.into_owned();
            (!text.is_empty()).then_some(text)
        };
        let read = |mapping: &Json| {
            let source = text(mapping, "sourceName")?;
            let root = text(mapping, "rootName").unwrap_or_else(|| source.clone());
            let names = vec![source.clone(), root.clone()];
            Some(BookCopy { names, source, root, copy: text(mapping, "copyName") })
        };
        Self(mappings.unwrap_or_default().iter().filter_map(read).collect())
    }

    /// The first book of the line of this one.
    pub(crate) fn root(&self, name: &str) -> String {
        let key = book_key(name);
        let is_copy = |book: &&BookCopy| book.copy.as_deref().map(book_key).as_ref() == Some(&key);
        self.0.iter().find(is_copy).map_or_else(|| name.to_owned(), |book| book.root.clone())
    }

    /// The chat's own copy of a book that a note from before the fork names.
    pub(crate) fn own(&self, name: &str) -> Option<&str> {
        let key = book_key(name);
        let is_named = |book: &&BookCopy| book.names.iter().any(|name| book_key(name) == key);
        self.0.iter().find(is_named)?.copy.as_deref()
    }
}

/// The child that the extension's notes are adapted to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ChildNotes<'a> {
    pub name: &'a str,
    pub parent: &'a str,
    pub last: usize,
    pub books: &'a BookCopies,
    /// The entries of each of the child's books.
    pub entries: &'a [&'a Object],
    /// Whether the notes were recorded at the fork point, rather than being today's.
    pub is_known: bool,
}

/// Adapts the extension's notes to a child. `None` if nothing changes.
pub(crate) fn notes_of(notes: &Json, child: &ChildNotes<'_>) -> Option<Json> {
    let mut after = notes.as_object()?.clone();
    let count = |object: &Object, key: &str| object.get(key).and_then(Json::as_usize);
    let is_ahead = count(&after, PROGRESS).is_some_and(|progress| progress > child.last);
    if !child.entries.is_empty() && (is_ahead || !child.is_known) {
        let entries = child.entries.iter().flat_map(|entries| entries.iter());
        let ends = entries.filter_map(|(_, entry)| end_of(entry));
        match ends.filter(|end| *end <= child.last).max() {
            Some(end) => after.insert(PROGRESS, end),
            None => drop(after.remove(PROGRESS)),
        }
    }
    if ["sceneStart", "sceneEnd"].iter().any(|key| count(&after, key) > Some(child.last)) {
        after.insert("sceneStart", Json::Null);
        after.insert("sceneEnd", Json::Null);
    }
    // A name without a copy goes: the child must not write to its parent's book.
    rename_all(&mut after, &mut |name| child.books.of(name)?.copy.clone());
    if !child.books.0.is_empty() {
        after.insert(COPIED, child.books.to_json(child));
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

    fn copies<'a>(books: impl IntoIterator<Item = (&'a str, Option<&'a str>)>) -> BookCopies {
        let copy = |(from, copy): (&str, Option<&str>)| BookCopy {
            names: vec![from.to_owned()],
            source: from.to_owned(),
            root: from.to_owned(),
            copy: copy.map(str::to_owned),
        };
        BookCopies(books.into_iter().map(copy).collect())
    }

    fn adapted(
        notes: &Json,
        books: &BookCopies,
        last: usize,
        entries: &[&Object],
        is_known: bool,
    ) -> Json {
        let child = ChildNotes { name: "Child", parent: "Main", last, books, entries, is_known };
        notes_of(notes, &child).unwrap_or_else(|| notes.clone())
    }

    #[test]
    fn progress_that_is_not_known_is_what_the_childs_own_memories_reach() {
        let entries = json(r#"{"0":{"STMB_end":3},"1":{"STMB_end":9},"2":{"content":"x"}}"#);
        let entries = [entries.as_object().unwrap()];
        let notes = json(r#"{"highestMemoryProcessed":9,"sceneStart":7,"sceneEnd":9,"x":1}"#);
        let progress = |last, is_known| {
            let after = adapted(&notes, &BookCopies::default(), last, &entries, is_known);
            (after.get(PROGRESS).and_then(Json::as_usize), after.get("sceneEnd").cloned())
        };
        assert_eq!(progress(5, false), (Some(3), Some(Json::Null)));
        assert_eq!(progress(5, true), (Some(3), Some(Json::Null)), "it cannot be ahead");
        assert_eq!(progress(2, false), (None, Some(Json::Null)));
        assert_eq!(progress(12, true), (Some(9), Some(Json::from(9_usize))));
    }

    /// Notes that name a book in every place.
    const ALL: &str = r#"{
        "manualLorebook": "Memories", "x": 1,
        "manualCharacterLorebooks": {"ada": "Ada", "bo": "Bo", "again": "ADA", "odd": 7},
        "sidePromptLorebookOverrides": {"map": "Maps", "mood": "__memory__"},
        "narratorMode": {"enabled": true, "members": [
            {"id": "1", "lorebookName": "Cleo"}, {"id": "2", "retired": true, "lorebookName": "Dan"}, {}
        ]}
    }"#;

    #[test]
    fn every_book_that_it_names_is_found() {
        let metadata = Json::object([(KEY, json(ALL))]);
        assert_eq!(books(&metadata), ["Memories", "Ada", "Bo", "Maps", "Cleo", "Dan"]);
        assert_eq!(books(&json(r#"{"STMemoryBooks":5}"#)), [""; 0]);
    }

    #[test]
    fn a_child_names_its_own_copies_everywhere_and_it_is_told_of_all_of_them() {
        let names = ["Lore", "Memories", "Ada", "Bo", "Maps", "Cleo", "Dan"];
        let own = names.map(|name| format!("Child - {name}"));
        let all = copies(names.into_iter().zip(own.iter().map(|own| Some(own.as_str()))));
        let after = adapted(&json(ALL), &all, 5, &[], true);
        assert_eq!(books_in(&after), own[1..]);
        assert_eq!(after.at(&["manualCharacterLorebooks", "again"]), Some(&"Child - Ada".into()));
        assert_eq!(after.at(&["sidePromptLorebookOverrides", "mood"]), Some(&NO_BOOK.into()));
        assert_eq!(after.at(&[NARRATOR, "enabled"]), Some(&Json::Bool(true)));
        assert_eq!(after.at(&[COPIED, "status"]), Some(&"completed".into()));
        assert_eq!(after.at(&[COPIED, "branchChatId"]), Some(&"Child".into()));
        let mapped = Lineage::of(Some(&after));
        assert_eq!(mapped.0.len(), 7);
        assert_eq!((mapped.own("LORE"), mapped.own("Dan")), (Some(&*own[0]), Some(&*own[6])));
        assert_eq!(mapped.root("Child - Maps"), "Maps", "a grandchild's copy is of the same line");
        assert_eq!(mapped.root("Another"), "Another");
    }

    #[test]
    fn what_was_not_copied_is_not_named_and_not_called_completed() {
        for lost in ["Memories", "Ada", "Bo", "Maps", "Cleo", "Dan"] {
            let names = ["Memories", "Ada", "Bo", "Maps", "Cleo", "Dan"];
            let all = copies(names.map(|name| (name, (name != lost).then_some("Own"))));
            let after = adapted(&json(ALL), &all, 5, &[], true);
            assert_eq!(books_in(&after), ["Own"], "{lost}");
            assert_eq!(after.at(&[COPIED, "status"]), Some(&"failed".into()));
            let has_cast = !["Cleo", "Dan"].contains(&lost);
            assert_eq!(after.at(&[NARRATOR, "enabled"]), Some(&Json::Bool(has_cast)), "{lost}");
            assert_eq!(all.first_book(lost), Some(""), "entries do not name it either");
        }
        let after = adapted(&json(ALL), &copies([("Lore", None)]), 5, &[], true);
        assert_eq!(books_in(&after), [""; 0], "nothing is known of the others");
    }
}
