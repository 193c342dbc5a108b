//! Changing some lines of a chat file while preserving every other byte.

use crate::pieces::Pieces;
use crate::sillytavern::chat::Chat;
use forklore_json::{Edit, Edits, Json, JsonKind, Object, Raw};

/// Replacements for some lines of a chat.
#[derive(Clone, Debug, Default)]
pub struct Rewrite {
    /// The new header line; `None` leaves the header unchanged.
    pub header: Option<Vec<u8>>,
    /// New lines with the numbers of their messages, in order.
    pub messages: Vec<(usize, Vec<u8>)>,
}

impl Rewrite {
    pub fn is_empty(&self) -> bool {
        self.header.is_none() && self.messages.is_empty()
    }

    /// Applies the changes to the file, up to and including message `last` if that is set. Lines
    /// that SillyTavern cannot read keep their positions between the messages.
    pub fn of<'a>(self, chat: &Chat<'a>, last: Option<usize>) -> Pieces<'a> {
        let bytes = chat.bytes();
        let mut pieces = Pieces::default();
        let mut at = 0;
        match (chat.header_range(), self.header) {
            (Some(old), Some(new)) => {
                if last.is_none() {
                    pieces.keep(&bytes[..old.start]);
                }
                pieces.add(new);
                at = old.end;
            }
            (None, Some(new)) => {
                // An old group chat without a header.
                pieces.add(new);
                pieces.add(b"\n".to_vec());
            }
            (_, None) => {}
        }
        for (index, line) in self.messages {
            let Some(range) = chat.line_range(index) else { continue };
            if last.is_some_and(|last| index > last) {
                break;
            }
            pieces.keep(&bytes[at..range.start]);
            pieces.add(line);
            at = range.end;
        }
        let end =
            last.and_then(|last| chat.line_range(last)).map_or(bytes.len(), |range| range.end);
        pieces.keep(&bytes[at.min(end)..end]);
        pieces
    }
}

/// The chat's header line with some members of its metadata changed.
pub fn header(chat: &Chat<'_>, changes: &[(&str, Edit)]) -> Vec<u8> {
    let fresh = || {
        let set = changes.iter().filter_map(|(key, change)| match change {
            Edit::Set(value) => Some((*key, value.clone())),
            Edit::Remove => None,
        });
        Json::Object(set.collect::<Object>())
    };
    let Some(old) = chat.header().filter(|header| header.kind() == JsonKind::Object) else {
        let header = Json::object([
            ("chat_metadata", fresh()),
            ("user_name", "unused".into()),
            ("character_name", "unused".into()),
        ]);
        return header.stringify();
    };
    let mut edits = Edits::of(old);
    match chat.metadata() {
        Some(metadata) => edits.change(metadata, 1, changes),
        // Very old headers have none.
        None => edits.change(old, 0, &[("chat_metadata", Edit::Set(fresh()))]),
    }
    edits.apply()
}

/// A message line with one member changed.
pub fn message(line: &[u8], key: &str, change: Edit) -> Option<Vec<u8>> {
    let message = Raw::document(line).ok().filter(|message| message.kind() == JsonKind::Object)?;
    let mut edits = Edits::of(message);
    edits.change(message, 0, &[(key, change)]);
    Some(edits.apply())
}

/// The line of message `index` with a link to the checkpoint `child`, in SillyTavern's format.
pub fn linked(chat: &Chat<'_>, index: usize, child: &str) -> Option<Vec<u8>> {
    let message = chat.message(index).filter(|message| message.kind() == JsonKind::Object)?;
    let mut edits = Edits::of(message);
    let link = Edit::Set(Json::from(child));
    match message.get("extra").filter(|extra| extra.kind() == JsonKind::Object) {
        Some(extra) => edits.change(extra, 1, &[("bookmark_link", link)]),
        None => {
            let extra = Json::object([("bookmark_link", Json::from(child))]);
            edits.change(message, 0, &[("extra", Edit::Set(extra))]);
        }
    }
    Some(edits.apply())
}

/// Removes the journal from a chat. Also returns the number of records removed.
pub fn stripped(chat: &Chat<'_>) -> (Rewrite, usize) {
    let mut rewrite = Rewrite::default();
    for index in 0..chat.len() {
        let Some(line) = chat.line(index) else { continue };
        if memchr::memmem::find(line, crate::journal::FIELD.as_bytes()).is_none() {
            continue;
        }
        let Some(message) = chat.message(index) else { continue };
        if message.get(crate::journal::FIELD).is_some()
            && let Some(line) = self::message(line, crate::journal::FIELD, Edit::Remove)
        {
            rewrite.messages.push((index, line));
        }
    }
    let count = rewrite.messages.len();
    (rewrite, count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sillytavern::chat::ChatKind;

    const CHAT: &str = "{\"chat_metadata\":{\"a\":1}}\r\n{\"mes\":\"x\"}\ntorn {\n\n{\"mes\":\"y\",\"extra\":{}}\n{\"mes\":\"z\"}";

    #[test]
    fn a_cut_keeps_every_byte_up_to_its_last_message() {
        let chat = Chat::read(CHAT.as_bytes(), ChatKind::Solo);
        let header = Some(header(&chat, &[("b", Edit::Set(Json::Null))]));
        let pieces = Rewrite { header, ..Rewrite::default() }.of(&chat, Some(1));
        let expected =
            CHAT.replace("\"a\":1", "\"a\":1,\"b\":null").replace("\n{\"mes\":\"z\"}", "");
        assert_eq!(String::from_utf8(pieces.to_vec()).unwrap(), expected);
    }

    #[test]
    fn nothing_changed_is_the_same_file() {
        let chat = Chat::read(CHAT.as_bytes(), ChatKind::Solo);
        assert_eq!(Rewrite::default().of(&chat, None).to_vec(), CHAT.as_bytes());
    }

    #[test]
    fn a_link_goes_where_sillytavern_looks_for_it() {
        let chat = Chat::read(CHAT.as_bytes(), ChatKind::Solo);
        let linked = |index| String::from_utf8(linked(&chat, index, "C").unwrap()).unwrap();
        assert_eq!(linked(0), r#"{"mes":"x","extra":{"bookmark_link":"C"}}"#);
        assert_eq!(linked(1), r#"{"mes":"y","extra":{"bookmark_link":"C"}}"#);
    }

    #[test]
    fn stripping_takes_the_journal_and_nothing_else() {
        let text = "{\"chat_metadata\":{}}\n{\"mes\":\"forklore\"}\n{\"mes\":\"x\",\"forklore\":{\"v\":1},\"n\":1.0}";
        let chat = Chat::read(text.as_bytes(), ChatKind::Solo);
        let (rewrite, count) = stripped(&chat);
        assert_eq!(count, 1);
        let expected = text.replace(",\"forklore\":{\"v\":1}", "");
        assert_eq!(rewrite.of(&chat, None).to_vec(), expected.as_bytes());
    }
}
