//! Which version of a book was in its file when a version of a chat was saved.

use std::path::Path;

use forklore_core::timeline::moment::BookFile;
use forklore_json::Json;

use super::versions::ChatVersions;
use crate::error::Result;
use crate::file::{FileKind, FileName};
use crate::query::catalog::{CatalogLine, catalog};
use crate::version::commit::{StoredVersion, milliseconds};
use crate::version::history::History;
use crate::version::lineage::Lineage;

/// Every lineage of a book that this machine recorded.
pub(super) fn all<'h>(history: &'h History<'_>) -> impl Iterator<Item = &'h Lineage> {
    history.lineages().own(history.machine()).filter(|lineage| lineage.kind == FileKind::Book)
}

/// The file of a book.
pub(super) fn file(book: &str) -> FileName {
    FileName::of_path(&Path::new("worlds").join(format!("{book}.json")))
}

/// The book bound in `metadata`, the metadata of a version of a chat: its name and its content when that
/// version was saved, or `Some(None)` if none was bound. `None` if it is not known.
pub(super) fn when_saved(
    history: &History<'_>,
    chat: &ChatVersions,
    version: usize,
    metadata: &Json,
) -> Result<Option<Option<BookFile>>> {
    let bound = metadata.get("world_info").and_then(Json::as_str);
    let Some(name) = bound.map(|name| name.into_owned()).filter(|name| !name.is_empty()) else {
        return Ok(Some(None));
    };
    let Some(saved) = Saved::of(history, chat, version)? else { return Ok(None) };
    let file = file(&name);
    let (same, other): (Vec<_>, Vec<_>) = all(history).partition(|lineage| *lineage.file() == file);
    // Books that have been renamed since come last, because most have not.
    for lineage in same.into_iter().chain(other) {
        let versions = catalog(history, lineage)?;
        let Some(at) = saved.newest_before(&versions) else { continue };
        let kept = StoredVersion::read(history.store(), versions[at].id)?;
        if kept.version.file != file || versions[at].is_deleted {
            continue;
        }
        if !saved.was_in_file(&versions, at, milliseconds(kept.version.recorded)) {
            return Ok(None);
        }
        return Ok(Some(Some(BookFile { name, bytes: history.content(&kept)? })));
    }
    Ok(None)
}

/// When a version of a chat was saved.
struct Saved {
    line: CatalogLine,
    recorded: u64,
}

impl Saved {
    /// `None` if that is not known: the save was not observed, and the clock was changed.
    fn of(history: &History<'_>, chat: &ChatVersions, version: usize) -> Result<Option<Self>> {
        let line = chat.lines[version];
        let recorded = StoredVersion::read(history.store(), line.id)?.version.recorded;
        let recorded = milliseconds(recorded);
        let saved = Self { line, recorded };
        let is_known =
            line.was_seen || (line.was_found && is_in_time(&chat.lines, version, recorded));
        Ok(is_known.then_some(saved))
    }

    /// The newest version of a book that may have been saved before the chat.
    fn newest_before(&self, book: &[CatalogLine]) -> Option<usize> {
        match self.line.was_seen {
            true => book.iter().rposition(|line| line.order < self.line.order),
            // Files found by one scan are not recorded in the order in which they were saved.
            false => book.iter().rposition(|line| line.written <= self.line.written),
        }
    }

    /// Whether that version was in its file when the chat was saved: it was saved before the chat, with
    /// no other version in between.
    fn was_in_file(&self, book: &[CatalogLine], at: usize, recorded: u64) -> bool {
        let line = &book[at];
        let is_in_order = self.line.was_seen && !line.was_found;
        // Files that are copied or created together may have the same time.
        let is_of_one_look = line.written == self.line.written && recorded == self.recorded;
        let is_older = line.written < self.line.written || is_of_one_look;
        let is_before = line.order < self.line.order
            && (is_in_order || (is_older && is_in_time(book, at, recorded)));
        let next = book.get(at + 1);
        is_before && next.is_none_or(|next| self.comes_later(line, next))
    }

    /// Whether `next` replaced `line` directly, after the chat was saved.
    fn comes_later(&self, line: &CatalogLine, next: &CatalogLine) -> bool {
        // A repair may have lost versions between them.
        if next.number != line.number + 1 || next.order < self.line.order {
            return false;
        }
        let is_written_later = next.written > self.line.written;
        match (self.line.was_seen, next.was_found) {
            (true, true) => is_written_later,
            // Events arrive in order, so what follows an observed save was saved after it.
            (true, false) => true,
            // The scan that found the chat read the book as well.
            (false, _) => is_written_later && (next.was_seen || next.written > self.recorded),
        }
    }
}

/// Whether the time at which a version was written can be trusted: the times of the versions around it
/// are in order, and it was recorded later.
fn is_in_time(versions: &[CatalogLine], at: usize, recorded: u64) -> bool {
    let written = versions[at].written;
    let before = at.checked_sub(1).map(|before| versions[before].written);
    let after = versions.get(at + 1).map(|after| after.written);
    before.is_none_or(|before| before <= written)
        && after.is_none_or(|after| written <= after)
        && written < recorded
}
