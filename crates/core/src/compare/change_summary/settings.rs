//! Summarises the changes to a chat's header.

use super::message::ChatLine;
use super::plain;
use super::{ChangeKind, Parts};
use forklore_json::Raw;

/// Parses a header line. A byte-order mark before it does no harm to the story.
pub(super) fn read(line: &[u8]) -> ChatLine<'_> {
    ChatLine::read(without_byte_order_mark(line))
}

fn without_byte_order_mark(line: &[u8]) -> &[u8] {
    line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line)
}

/// Describes only header changes that matter to the story, because nearly every save changes the
/// header.
pub(super) fn describe(before: &[u8], after: &[u8], parts: &mut Parts) {
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
    Raw::document(without_byte_order_mark(header)).ok()?.get("chat_metadata")
}
