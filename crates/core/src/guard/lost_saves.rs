//! Saves of this page that another device, which shares no lock with it, has overwritten: it read
//! the book before our save and wrote it afterwards.

use std::borrow::Cow;

use super::actions::KeptVersion;
use super::lineage::Text;
use super::{is_same_book, merge_books, refresh_own_additions};
use crate::plan::merge::{Choices, Pick};
use crate::sillytavern::book::BookError;

/// What the server returns for a book that does not exist.
pub(super) const MISSING_BOOK: &[u8] = br#"{"entries":{}}"#;

/// A save that another device may still undo.
#[derive(Clone, Debug)]
pub(super) struct RecentSave {
    pub(super) id: u32,
    /// The book as it was on the server.
    pub(super) before: Text,
    pub(super) written: Text,
    /// Whether the version that was overwritten is in the trash.
    pub(super) is_kept: bool,
}

/// The server's book, with our recent saves put back.
pub(super) struct RestoredBook {
    pub(super) text: Text,
    /// Versions of ours that stay overwritten.
    pub(super) kept: Vec<KeptVersion>,
}

/// Puts our recent saves back into the book that was found on the server. In a conflict, the
/// server's version stays.
pub(super) fn restore(recent: &mut [RecentSave], found: &Text) -> Result<RestoredBook, BookError> {
    let mut restored = RestoredBook { text: found.clone(), kept: Vec::new() };
    let Some(last) = recent.last() else { return Ok(restored) };
    if is_same_book(found, &last.written) {
        return Ok(restored);
    }
    let choices = Choices { otherwise: Some(Pick::Ours), is_one_book: true, ..Choices::default() };
    let mut whole = Cow::Borrowed(&**found);
    for at in 0..recent.len() {
        let (save, later) = (&recent[at], &recent[at + 1..]);
        let later: Vec<&[u8]> = later.iter().map(|save| &*save.before).collect();
        let written = refresh_own_additions(&save.before, &save.written, &later, &whole)?;
        // From the server's point of view, our save is the incoming side.
        let merged = merge_books(&save.before, &whole, &written, &choices)?;
        if !merged.plan.conflicts.is_empty() && !save.is_kept {
            restored.kept.push(KeptVersion { is_ours: true, text: save.written.clone() });
            recent[at].is_kept = true;
        }
        if !merged.plan.is_empty() {
            whole = Cow::Owned(merged.text);
        }
    }
    if !is_same_book(&whole, found) {
        restored.text = whole.into();
    }
    Ok(restored)
}
