//! What the versions prove about a message: the book and the chat's metadata that were in the files
//! while it was the last one.
//!
//! This never proves in which state the next message arrived: a message arrives in a page seconds or
//! hours before its file is saved, and a page may hold edits that are in no file yet.

mod book;
mod chat;
mod search;
mod versions;

use forklore_core::digest::Digest;
use forklore_core::journal::{RecordedState, Records, StatePart};
use forklore_core::sillytavern::book::Book;
use forklore_core::sillytavern::chat::Chat;
use forklore_core::timeline::moment::{AsOf, BookFile, RecordedPast};

use crate::error::{IfReadable as _, Result};
use crate::file::FileName;
use crate::query::catalog::{CatalogLine, catalog};
use crate::version::commit::StoredVersion;
use crate::version::history::History;

use chat::ChatToday;
use search::Search;
use versions::ChatVersions;

/// What is known of message `m` of the chat in the file `name`, which now holds `chat`: from the newest
/// version that ends with this message, or else with the closest one before it.
pub fn past(
    history: &History<'_>,
    name: &FileName,
    chat: &Chat<'_>,
    m: usize,
) -> Result<Option<RecordedPast>> {
    let Some(lineage) = history.lineages().live(name) else { return Ok(None) };
    let versions = ChatVersions::read(history, lineage)?;
    let mut past = RecordedPast {
        testified: testified(history, &versions.lines, chat, m)?,
        ..RecordedPast::default()
    };
    let mut search = Search::new(history, &versions, ChatToday::new(chat), m);
    while past.book.is_none()
        && let Some(found) = search.next()?
    {
        let metadata = versions.metadata(history, found.version, chat.kind()).if_readable()?;
        let Some(metadata) = metadata.flatten() else {
            continue;
        };
        let book = book::when_saved(history, &versions, found.version, &metadata).if_readable()?;
        let book = book.flatten();
        past.book = book.map(|value| AsOf { message: found.message, value });
        if past.metadata.as_ref().is_none_or(|known| known.message < found.message) {
            past.metadata = Some(AsOf { message: found.message, value: metadata });
        }
    }
    Ok(Some(past).filter(|past| past.metadata.is_some() || past.testified.is_some()))
}

/// The content of one of these books that has the digest in a seal. Searches the newest versions first, up
/// to a limit.
pub fn sealed(history: &History<'_>, books: &[&str], digest: Digest) -> Result<Option<Vec<u8>>> {
    let names: Vec<FileName> = books.iter().map(|book| book::file(book)).collect();
    for lineage in book::all(history).filter(|lineage| names.contains(lineage.file())) {
        for line in catalog(history, lineage)?
            .iter()
            .rev()
            .filter(|line| !line.is_deleted)
            .take(MOST_SEALED)
        {
            let stored = StoredVersion::read(history.store(), line.id);
            let bytes = stored.and_then(|stored| history.content(&stored)).if_readable()?;
            let Some(bytes) = bytes else { continue };
            let is_it = Book::read(&bytes).is_ok_and(|book| digest.is_of(&book.digest_input()));
            if is_it {
                return Ok(Some(bytes));
            }
        }
    }
    Ok(None)
}

/// The most versions of a book to compare with a seal.
const MOST_SEALED: usize = 500;

/// The most versions of a book to read on each side of the save with the next message.
const LOOKED_AT: usize = 16;

/// The book that the chat's own records prove for the message but do not contain, because it was too
/// large for them.
fn testified(
    history: &History<'_>,
    versions: &[CatalogLine],
    chat: &Chat<'_>,
    m: usize,
) -> Result<Option<BookFile>> {
    let records = Records::of(chat);
    let Some(digest) = records.testimony(m).and_then(|came| came.proved(StatePart::Book)) else {
        return Ok(None);
    };
    let is_it = |state: &RecordedState| state.digest(StatePart::Book) == digest;
    let bound = chat.metadata().and_then(|metadata| metadata.get("world_info"));
    let Some(book) = bound.and_then(|name| name.text()) else { return Ok(None) };
    if records.newest(m).is_some_and(|folded| is_it(&folded.state)) {
        return Ok(None);
    }
    let next = versions.iter().find(|line| line.count > m as u64 + 1);
    let saved = next.map_or(u64::MAX, |line| line.order);
    let name = book::file(&book);
    for lineage in book::all(history) {
        let versions = catalog(history, lineage)?;
        let middle = versions.partition_point(|line| line.order < saved);
        let near = middle.saturating_sub(LOOKED_AT)..versions.len().min(middle + LOOKED_AT);
        for line in versions[near].iter().rev().filter(|line| !line.is_deleted) {
            let kept = StoredVersion::read(history.store(), line.id).if_readable()?;
            let Some(kept) = kept.filter(|kept| kept.version.file == name) else { continue };
            let Some(bytes) = history.content(&kept).if_readable()? else { continue };
            let state =
                Book::read(&bytes).ok().and_then(|read| RecordedState::of_book(&book, &read));
            if state.as_ref().is_some_and(is_it) {
                return Ok(Some(BookFile { name: book.into_owned(), bytes }));
            }
        }
    }
    Ok(None)
}
