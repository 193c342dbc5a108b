//! What happened in a chat's header.

use super::message::ChatLine;
use super::plain;
use super::{ChangeKind, Parts};
use forklore_json::Raw;

/// A header line. A byte-order mark before it loses nothing of the story.
pub(super) fn read(line: &[u8]) -> ChatLine<'_> {
    ChatLine::read(unmarked(line))
}

fn unmarked(line: &[u8]) -> &[u8] {
    line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line)
}

/// A header changes at nearly every save. Only what matters to the story is worth telling beside
/// something else.
pub(super) fn say(before: &[u8], after: &[u8], parts: &mut Parts) {
    if let (ChatLine::Message(_), ChatLine::Unreadable | ChatLine::Blank) =
        (read(before), read(after))
    {
        parts.add(ChangeKind::Settings, "chat settings unreadable");
        return;
    }
    let (before, after) = (metadata(before), metadata(after));
    let differ = |key: &str| {
        let value = |metadata: Option<Raw<'_>>| {
            let value = metadata.and_then(|metadata| metadata.get(key));
            value.filter(|value| value.is_truthy()).map(|value| value.bytes().to_vec())
        };
        value(before) != value(after)
    };
    if differ("world_info") {
        let book = plain::name(after.and_then(|metadata| metadata.get("world_info")));
        let words = match book {
            Some(book) => format!("chat bound to lorebook '{book}'"),
            None => "chat no longer bound to a lorebook".to_owned(),
        };
        parts.add(ChangeKind::Settings, words);
    }
    if parts.is_empty() && differ("note_prompt") {
        parts.add(ChangeKind::Settings, "author's note changed");
    }
}

fn metadata(header: &[u8]) -> Option<Raw<'_>> {
    Raw::document(unmarked(header)).ok()?.get("chat_metadata")
}
