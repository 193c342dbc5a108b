//! What the versions say of a message: the book and the chat's metadata as they were until the next
//! message came.

use forklore_core::chat::Chat;
use forklore_core::json::Json;
use forklore_core::moment::Past;

use crate::catalog::{Line, catalog};
use crate::error::HistoryError;
use crate::file::{Kind, Name};
use crate::git::object;
use crate::history::History;
use crate::lineage::Lineage;
use crate::tracked::Tracked;
use crate::version::Kept;

/// What is known of message `m` of the chat in file `name`, which now holds `chat`.
pub fn past(
    history: &History<'_>,
    name: &Name,
    chat: &Chat<'_>,
    m: usize,
) -> Result<Option<Past>, HistoryError> {
    let Some(lineage) = history.lineages().live(name) else { return Ok(None) };
    let versions = catalog(history, lineage)?;
    // The newest version in which nothing came after the message.
    let reaches = |line: &Line| line.count > 0 && line.count <= m as u64 + 1 && !line.is_loss;
    let mut at = versions.iter().rposition(|line| reaches(line) && line.count == m as u64 + 1);
    if at.is_none() {
        at = versions.iter().rposition(reaches);
    }
    let Some(at) = at else { return Ok(None) };
    let (then, next) = (&versions[at], versions.get(at + 1));
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

    // Until the next version of the chat was saved.
    let end = next.map_or(u64::MAX, |next| next.order);
    // Without a next version the chat has gone on since then, and nobody saw it.
    let was_seen = match next {
        Some(next) if next.was_seen => goes_on_alike(history, next, chat, message + 1)?,
        _ => false,
    };
    let Some(bound) = bound.filter(|name| !name.is_empty()) else {
        return Ok(Some(Past { message, is_exact: was_seen, book: None, metadata }));
    };
    let Some((book, was_in_force)) = book_until(history, &bound, end, next)? else {
        return Ok(None);
    };
    let bytes = history.content(&book)?;
    let is_exact = was_seen && was_in_force;
    Ok(Some(Past { message, is_exact, book: Some((bound, bytes)), metadata }))
}

/// The newest version of a book before everything recorded as `end`, and whether it was in force when
/// the chat's version `next` was saved.
fn book_until(
    history: &History<'_>,
    book: &str,
    end: u64,
    next: Option<&Line>,
) -> Result<Option<(Kept, bool)>, HistoryError> {
    let name = Name::of_path(&std::path::Path::new("worlds").join(format!("{book}.json")));
    let mut best: Option<(Line, bool)> = None;
    for lineage in books(history) {
        let versions = catalog(history, lineage)?;
        let Some(at) = versions.iter().rposition(|line| line.order < end) else { continue };
        let line = versions[at];
        if line.is_deleted || best.is_some_and(|(known, _)| known.order > line.order) {
            continue;
        }
        if Kept::read(history.store(), line.id)?.version.file != name {
            continue;
        }
        // A version that was found later may have been written earlier.
        let was_in_force = match (versions.get(at + 1), next) {
            (Some(after), Some(next)) => after.was_seen || after.written > next.written,
            _ => true,
        };
        best = Some((line, was_in_force));
    }
    match best {
        Some((line, was_in_force)) => {
            Ok(Some((Kept::read(history.store(), line.id)?, was_in_force)))
        }
        None => Ok(None),
    }
}

fn books<'h>(history: &'h History<'_>) -> impl Iterator<Item = &'h Lineage> {
    history.lineages().own(history.machine()).filter(|lineage| lineage.kind == Kind::Book)
}

/// Whether a version tells the story that the chat tells now: one of the last messages before the
/// moment is the same, or was when the journal had not been written into it.
fn is_same_story(
    history: &History<'_>,
    then: &Tracked,
    chat: &Chat<'_>,
    message: usize,
) -> Result<bool, HistoryError> {
    for index in (message.saturating_sub(3)..=message).rev() {
        if has_message(history, then, chat, index)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether the message that came next is the one that comes next in the chat now. If it was removed
/// since and another came, nobody knows what had changed until then.
fn goes_on_alike(
    history: &History<'_>,
    next: &Line,
    chat: &Chat<'_>,
    message: usize,
) -> Result<bool, HistoryError> {
    let kept = Kept::read(history.store(), next.id)?;
    has_message(history, &Tracked::read(history.store(), kept.tree)?, chat, message)
}

/// Whether a version has this message of the chat, though perhaps with another text.
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
    let same = |key: &str| then.get(key).is_some() && then.get(key) == now.get(key);
    let swipes = now.get("swipes").and_then(Json::as_array);
    let is_swipe = swipes.is_some_and(|swipes| {
        then.get("mes").is_some_and(|text| swipes.iter().any(|swipe| swipe == text))
    });
    // SillyTavern gives a message its date when it comes, and leaves it when it is edited.
    Ok(same("mes") || same("send_date") || is_swipe)
}
