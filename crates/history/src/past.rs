//! What the versions say of a message: the book and the chat's metadata as they were in the files
//! while it was the last one.
//!
//! That is never proved to be the state in which the next message came: a message comes in a page,
//! seconds or hours before its file is saved, and a page may hold edits that no file has yet.

use forklore_core::book::Book;
use forklore_core::chat::Chat;
use forklore_core::journal::{Records, State, StatePart};
use forklore_core::json::Json;
use forklore_core::moment::{Past, PastBook, PastState};

use crate::catalog::{Line, catalog};
use crate::error::HistoryError;
use crate::file::{Kind, Name};
use crate::git::object;
use crate::history::History;
use crate::lineage::Lineage;
use crate::tracked::Tracked;
use crate::version::Kept;

/// What is known of message `m` of the chat in file `name`, which now holds `chat`: from the newest
/// version in which nothing came after the message, or else one before it.
pub fn past(
    history: &History<'_>,
    name: &Name,
    chat: &Chat<'_>,
    m: usize,
) -> Result<Option<Past>, HistoryError> {
    let Some(lineage) = history.lineages().live(name) else { return Ok(None) };
    let versions = catalog(history, lineage)?;
    let past = Past {
        as_of: as_of(history, &versions, chat, m)?,
        testified: testified(history, &versions, chat, m)?,
    };
    Ok(Some(past).filter(|past| past.as_of.is_some() || past.testified.is_some()))
}

fn as_of(
    history: &History<'_>,
    versions: &[Line],
    chat: &Chat<'_>,
    m: usize,
) -> Result<Option<PastState>, HistoryError> {
    let reaches = |line: &&Line| line.count > 0 && line.count <= m as u64 + 1 && !line.is_loss;
    let mut found = versions.iter().rev().find(|line| reaches(line) && line.count == m as u64 + 1);
    if found.is_none() {
        found = versions.iter().rev().find(reaches);
    }
    let Some(then) = found else { return Ok(None) };
    let message = then.count as usize - 1;
    let kept = Kept::read(history.store(), then.id)?;
    let tracked = Tracked::read(history.store(), kept.tree)?;
    if !is_same_story(history, &tracked, chat, message)? {
        return Ok(None);
    }
    let header = match tracked.head {
        Some(head) => history.store().read(&head.id, object::Kind::Blob)?,
        None => return Ok(None),
    };
    let header = Chat::read(&header, chat.place());
    let metadata = header.metadata().and_then(|metadata| metadata.json().ok());
    let Some(metadata) = metadata else { return Ok(None) };
    let bound = metadata.get("world_info").and_then(Json::as_str).map(|name| name.into_owned());
    let book = match bound.filter(|name| !name.is_empty()) {
        None => PastBook::None,
        Some(name) => match book_when_saved(history, &name, then)? {
            Some(kept) => PastBook::Known { name, bytes: history.content(&kept)? },
            None => PastBook::Unknown,
        },
    };
    Ok(Some(PastState { message, book, metadata }))
}

/// So many versions of a book before and after the save with the next message are looked at.
const LOOKED_AT: usize = 16;

/// The book that the chat's own records prove for the message, where they do not hold it themselves:
/// one that was too large for them.
fn testified(
    history: &History<'_>,
    versions: &[Line],
    chat: &Chat<'_>,
    m: usize,
) -> Result<Option<(String, Vec<u8>)>, HistoryError> {
    let records = Records::of(chat);
    let Some(digest) = records.testimony(m).and_then(|came| came.proved(StatePart::Book)) else {
        return Ok(None);
    };
    let is_it = |state: &State| state.digest(StatePart::Book) == digest;
    let bound = chat.metadata().and_then(|metadata| metadata.get("world_info"));
    let Some(book) = bound.and_then(|name| name.text()) else { return Ok(None) };
    if records.newest(m).is_some_and(|folded| is_it(&folded.state)) {
        return Ok(None);
    }
    let next = versions.iter().find(|line| line.count > m as u64 + 1);
    let saved = next.map_or(u64::MAX, |line| line.order);
    let name = Name::of_path(&std::path::Path::new("worlds").join(format!("{book}.json")));
    for lineage in books(history) {
        let versions = catalog(history, lineage)?;
        let middle = versions.partition_point(|line| line.order < saved);
        let near = middle.saturating_sub(LOOKED_AT)..versions.len().min(middle + LOOKED_AT);
        for line in versions[near].iter().rev().filter(|line| !line.is_deleted) {
            let kept = Kept::read(history.store(), line.id)?;
            if kept.version.file != name {
                continue;
            }
            let bytes = history.content(&kept)?;
            let state = Book::read(&bytes).ok().and_then(|read| State::of_book(&book, &read));
            if state.as_ref().is_some_and(is_it) {
                return Ok(Some((book.into_owned(), bytes)));
            }
        }
    }
    Ok(None)
}

/// The version of a book that was in its file when the chat's version `then` was saved; `None` where
/// that is not known.
fn book_when_saved(
    history: &History<'_>,
    book: &str,
    then: &Line,
) -> Result<Option<Kept>, HistoryError> {
    let name = Name::of_path(&std::path::Path::new("worlds").join(format!("{book}.json")));
    let mut best: Option<Line> = None;
    for lineage in books(history) {
        let versions = catalog(history, lineage)?;
        let is_older_find = |line: &Line| !line.was_seen && line.written <= then.written;
        let mut next = versions.partition_point(|line| line.order < then.order);
        if !then.was_seen {
            // Files that are found together are recorded in any order.
            next += versions[next..].iter().take_while(|line| is_older_find(line)).count();
        }
        let Some(line) = next.checked_sub(1).map(|at| versions[at]) else { continue };
        // What was found later, in whatever order, may have been written before or after.
        let is_unsure = (!line.was_seen && line.written > then.written)
            || versions.get(next).is_some_and(is_older_find);
        let is_other = Kept::read(history.store(), line.id)?.version.file != name;
        if line.is_deleted || is_other || best.is_some_and(|known| known.order > line.order) {
            continue;
        }
        if is_unsure {
            return Ok(None);
        }
        best = Some(line);
    }
    best.map(|line| Kept::read(history.store(), line.id)).transpose()
}

fn books<'h>(history: &'h History<'_>) -> impl Iterator<Item = &'h Lineage> {
    history.lineages().own(history.machine()).filter(|lineage| lineage.kind == Kind::Book)
}

/// So many messages before the moment have to be the same ones.
const COMPARED: usize = 50;

/// Whether a version tells the story that the chat tells now: its last messages up to the moment are
/// the same, one by one.
fn is_same_story(
    history: &History<'_>,
    then: &Tracked,
    chat: &Chat<'_>,
    message: usize,
) -> Result<bool, HistoryError> {
    for index in (message.saturating_sub(COMPARED - 1)..=message).rev() {
        if !has_message(history, then, chat, index)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether a version has this message of the chat, though perhaps with another text: SillyTavern gives
/// a message its date when it comes, and leaves it when it is edited. Texts repeat, and prove nothing.
fn has_message(
    history: &History<'_>,
    version: &Tracked,
    chat: &Chat<'_>,
    message: usize,
) -> Result<bool, HistoryError> {
    let pieces = version.body.pieces();
    let piece = pieces.binary_search_by_key(&(message as u32), |(number, _)| *number);
    let (Ok(piece), Some(now)) = (piece, chat.line(message)) else { return Ok(false) };
    let bytes = history.store().read(&pieces[piece].1, object::Kind::Blob)?;
    let then = bytes.strip_prefix(b"\n").unwrap_or(&bytes);
    if then == now {
        return Ok(true);
    }
    let (Ok(then), Ok(now)) = (Json::parse(then), Json::parse(now)) else { return Ok(false) };
    let uid = |message: &Json| message.at(&["forklore", "uid"]).cloned();
    if uid(&then).is_some() && uid(&then) == uid(&now) {
        return Ok(true);
    }
    let is_same = |key: &str| then.get(key) == now.get(key);
    let dates = now.get("swipe_info").and_then(Json::as_array).unwrap_or_default();
    let date = then.get("send_date");
    let has_date = date.is_some()
        && (is_same("send_date") || dates.iter().any(|swipe| swipe.get("send_date") == date));
    Ok(has_date && is_same("name") && is_same("is_user"))
}
