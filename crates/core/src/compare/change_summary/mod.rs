//! What happened between two versions of a file, in the story's words.
//!
//! Whoever keeps versions knows which lines or entries differ, and hands over only those. The answer
//! is one line for people and, where the change looks like a loss rather than a wish, a
//! [`Collapse`].

mod book;
mod aligned;
mod chat;
mod collapse;
mod message;
mod plain;
mod settings;
mod message_changes;
#[cfg(test)]
mod tests;

pub use book::{first_book, in_book};
pub use chat::{first_chat, in_chat};
pub use collapse::{Collapse, in_fields};

use plain::LONGEST;

/// The stretch of a chat that differs: lines before and after it are the same in both versions.
///
/// A newline at the end of the file does not begin another line; an empty file has none.
#[derive(Clone, Debug, Default)]
pub struct ChatWindow<'a> {
    /// How many lines the file had, the header among them.
    pub lines_before: usize,
    pub lines_after: usize,
    /// The first line that differs (the header is line 0); both stretches begin there.
    pub first: usize,
    /// The lines that differ, without their newline. Equal lines at the beginning and the end are
    /// left out. Both may end early, at the same few hundred lines; then [`ChatWindow::cut`] is set.
    pub before: Vec<&'a [u8]>,
    pub after: Vec<&'a [u8]>,
    pub cut: bool,
    /// The header before and now, where it differs. It is no part of the stretches.
    pub header: Option<(&'a [u8], &'a [u8])>,
}

/// What differs between two versions of a book.
#[derive(Clone, Debug, Default)]
pub struct BookWindow<'a> {
    pub entries_before: usize,
    pub entries_after: usize,
    pub changed: Vec<EntryChange<'a>>,
    /// Something outside the entries differs.
    pub rest_changed: bool,
    /// Whether the file could be read as a lorebook.
    pub readable_before: bool,
    pub readable_after: bool,
}

/// One entry that differs, as the JSON text of its value.
#[derive(Clone, Copy, Debug)]
pub struct EntryChange<'a> {
    /// Its key among the entries.
    pub number: u32,
    pub before: Option<&'a [u8]>,
    pub after: Option<&'a [u8]>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangeSummary {
    /// One line of plain text: no control characters, nothing that turns the reading direction, and
    /// short enough for the subject of a commit.
    pub words: String,
    pub kind: ChangeKind,
    pub collapse: Option<Collapse>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ChangeKind {
    /// The first version that was seen.
    Begun,
    /// Messages were added.
    Grown,
    /// A message shows another of its swipes, or has more or fewer of them.
    Swiped,
    /// Messages that were there have changed.
    Edited,
    /// Messages were removed.
    Cut,
    /// Only what stands around the messages, or around the entries.
    Settings,
    /// A book's entries.
    Lore,
    /// Several of these.
    Mixed,
    /// Nothing that belongs to the story, though the bytes may differ.
    Same,
}

/// What is said, part by part, the most important first.
#[derive(Default)]
struct Parts(Vec<(ChangeKind, String)>);

impl Parts {
    fn add(&mut self, kind: ChangeKind, words: impl Into<String>) {
        self.0.push((kind, words.into()));
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// As many parts as one line takes.
    fn into_happened(self, collapse: Option<Collapse>) -> ChangeSummary {
        const MORE: &str = ", and more";
        let Some(((first, words), rest)) = self.0.split_first() else {
            let words = "nothing of the story changed".into();
            return ChangeSummary { words, kind: ChangeKind::Same, collapse };
        };
        let is_one_kind = rest.iter().all(|(kind, _)| kind == first);
        let kind = if is_one_kind { *first } else { ChangeKind::Mixed };
        let mut words = words.clone();
        for (place, (_, part)) in rest.iter().enumerate() {
            let is_last = place + 1 == rest.len();
            let room = if is_last { LONGEST } else { LONGEST - MORE.len() };
            if words.chars().count() + 2 + part.chars().count() > room {
                words += MORE;
                break;
            }
            words = words + ", " + part;
        }
        ChangeSummary { words: plain::shortened(&words, LONGEST), kind, collapse }
    }
}
