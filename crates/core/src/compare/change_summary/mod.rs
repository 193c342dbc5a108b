//! Summarises in the story's terms how one version of a file became the next.
//!
//! The caller, which stores the versions, knows which lines or entries differ and passes in only
//! those. The result is one human-readable line and, if the change looks like data loss rather than
//! an intended edit, a [`Collapse`].

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

/// The range of a chat's lines that differs. The lines before and after it are equal in both
/// versions.
///
/// A newline at the end of the file does not start another line; an empty file has no lines.
#[derive(Clone, Debug, Default)]
pub struct ChatWindow<'a> {
    /// Line counts of the whole file, including the header.
    pub lines_before: usize,
    pub lines_after: usize,
    /// The first line that differs (the header is line 0). `before` and `after` both start there.
    pub first: usize,
    /// The lines that differ, without their newlines. Equal lines at the start and at the end are
    /// left out. Both lists may be truncated to the same maximum of a few hundred lines; then
    /// [`ChatWindow::cut`] is set.
    pub before: Vec<&'a [u8]>,
    pub after: Vec<&'a [u8]>,
    pub cut: bool,
    /// The old and the new header, if they differ. It is not part of `before` and `after`.
    pub header: Option<(&'a [u8], &'a [u8])>,
}

/// The differences between two versions of a book.
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

/// One entry that differs, as JSON text.
#[derive(Clone, Copy, Debug)]
pub struct EntryChange<'a> {
    /// Its key in the book's `entries`.
    pub number: u32,
    pub before: Option<&'a [u8]>,
    pub after: Option<&'a [u8]>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangeSummary {
    /// One line of plain text, short enough for a commit subject, without control characters or
    /// characters that change the reading direction.
    pub words: String,
    pub kind: ChangeKind,
    pub collapse: Option<Collapse>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ChangeKind {
    /// The first version seen.
    Begun,
    /// Messages were added.
    Grown,
    /// A message shows a different swipe, or has more or fewer swipes.
    Swiped,
    /// Existing messages changed.
    Edited,
    /// Messages were removed.
    Cut,
    /// Only data outside the messages, or outside the entries, changed.
    Settings,
    /// A book's entries changed.
    Lore,
    /// Several of the above.
    Mixed,
    /// Nothing that matters to the story changed, though the bytes may differ.
    Same,
}

/// The parts of a summary, most important first.
#[derive(Default)]
struct Parts(Vec<(ChangeKind, String)>);

impl Parts {
    fn add(&mut self, kind: ChangeKind, words: impl Into<String>) {
        self.0.push((kind, words.into()));
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Joins as many parts as fit on one line.
    fn into_summary(self, collapse: Option<Collapse>) -> ChangeSummary {
        const MORE: &str = ", and more";
        let Some(((first, words), rest)) = self.0.split_first() else {
            let words = "nothing in the story changed".into();
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
