//! A chat file: its exact lines, and the messages that SillyTavern would see in them.

use std::ops::Range;

use forklore_json::{Json, Raw, SyntaxError, is_whitespace, line_end};
use memchr::memmem::Finder;

const BOM: &[u8] = b"\xEF\xBB\xBF";

/// The kind of chat, which decides how SillyTavern finds the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ChatKind {
    /// The first readable line is the header, whatever it contains.
    Solo,
    /// The first readable line is the header if it has `chat_metadata`.
    Group,
}

/// Something in a chat file that SillyTavern would lose or misread.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Damage {
    /// SillyTavern cannot read the first line of a file that starts with a byte-order mark.
    #[error("the file begins with a byte-order mark, so SillyTavern does not find its header")]
    ByteOrderMark,
    /// This line (1-based) is not JSON; SillyTavern drops it on its next save.
    #[error("line {0} is not JSON; SillyTavern drops it")]
    UnreadableLine(usize),
    /// The last line ends in the middle of a value, so the file was truncated.
    #[error("line {0}, the last, is cut off")]
    TornLine(usize),
    /// The first readable line is a message, which SillyTavern treats as the header.
    #[error("the file has no header, so SillyTavern takes the first message for it")]
    NoHeader,
    /// The file contains nothing that SillyTavern could read.
    #[error("there is nothing in the file that SillyTavern can read")]
    Empty,
}

/// A chat file. Preserves every byte.
#[derive(Clone, Debug)]
pub struct Chat<'a> {
    bytes: &'a [u8],
    kind: ChatKind,
    header: Option<Range<usize>>,
    messages: Vec<Range<usize>>,
    damage: Vec<Damage>,
}

impl<'a> Chat<'a> {
    /// Reads a whole file. Cannot fail: unreadable parts are reported by [`Chat::damage`].
    pub fn read(bytes: &'a [u8], kind: ChatKind) -> Self {
        let mut chat = Self { bytes, kind, header: None, messages: Vec::new(), damage: Vec::new() };
        if bytes.starts_with(BOM) {
            chat.damage.push(Damage::ByteOrderMark);
        }
        let mut start = 0;
        let mut number = 0;
        while start < bytes.len() {
            number += 1;
            start = chat.read_line(number, start) + 1;
        }
        chat.split_off_header();
        chat
    }

    /// Reads only the first line if that is a sound header, for callers that do not need the
    /// messages. Otherwise reads the whole file.
    pub fn read_header(bytes: &'a [u8], kind: ChatKind) -> Self {
        let first_line = memchr::memchr(b'\n', bytes).map_or(bytes.len(), |newline| newline + 1);
        let chat = Self::read(&bytes[..first_line], kind);
        let is_sound = chat.damage.is_empty() && chat.header.is_some();
        if is_sound { chat } else { Self::read(bytes, kind) }
    }

    /// Reads the line that begins at `start`, and returns its end.
    fn read_line(&mut self, number: usize, start: usize) -> usize {
        let error = match line_end(self.bytes, start) {
            Ok(end) => {
                let value = Raw::checked_line(&self.bytes[start..end]);
                if value.is_some_and(|value| value.is_truthy()) {
                    self.messages.push(start..end);
                }
                return end;
            }
            Err(error) => error,
        };
        let newline = memchr::memchr(b'\n', &self.bytes[start..]).map(|offset| start + offset);
        let end = newline.unwrap_or(self.bytes.len());
        let text = &self.bytes[start..end];
        let is_blank = text.iter().all(|&byte| is_whitespace(byte));
        let is_marked = number == 1 && text.starts_with(BOM);
        if is_blank || is_marked {
            // An empty line, or a header after a byte-order mark, which has already been reported.
        } else if newline.is_none() && error == SyntaxError::Ends {
            self.damage.push(Damage::TornLine(number));
        } else {
            self.damage.push(Damage::UnreadableLine(number));
        }
        end
    }

    fn split_off_header(&mut self) {
        let Some(first) = self.messages.first().cloned() else {
            self.damage.push(Damage::Empty);
            return;
        };
        let looks_like_one = is_header(self.value(&first));
        match self.kind {
            ChatKind::Group if !looks_like_one => {}
            ChatKind::Group | ChatKind::Solo => {
                if !looks_like_one {
                    self.damage.push(Damage::NoHeader);
                }
                self.header = Some(self.messages.remove(0));
            }
        }
    }

    fn value(&self, line: &Range<usize>) -> Option<Raw<'a>> {
        Raw::document(&self.bytes[line.clone()]).ok()
    }

    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    pub fn kind(&self) -> ChatKind {
        self.kind
    }

    pub fn damage(&self) -> &[Damage] {
        &self.damage
    }

    /// How many messages SillyTavern would show.
    pub fn len(&self) -> usize {
        self.messages.len()
    }

    pub fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// How many of its messages end at or before `offset` in the file.
    pub(crate) fn len_until(&self, offset: usize) -> usize {
        self.messages.partition_point(|line| line.end <= offset)
    }

    /// The line that SillyTavern treats as the header, without its newline.
    pub fn header(&self) -> Option<Raw<'a>> {
        self.value(self.header.as_ref()?)
    }

    pub fn metadata(&self) -> Option<Raw<'a>> {
        self.header()?
            .get("chat_metadata")
            .filter(|value| value.kind() == forklore_json::JsonKind::Object)
    }

    /// The metadata as a value, without members that are nested too deeply: for those, see
    /// [`Chat::deep_metadata`].
    pub fn metadata_value(&self) -> Json {
        self.metadata().map_or(Json::Null, |metadata| metadata.json_without_deep_members())
    }

    /// The keys of metadata members that are nested too deeply to be built as values.
    pub fn deep_metadata(&self) -> Vec<String> {
        let Some(metadata) = self.metadata().filter(|metadata| metadata.json().is_err()) else {
            return Vec::new();
        };
        let deep = metadata.members().filter(|member| member.value.json().is_err());
        deep.filter_map(|member| Some(member.key.text()?.into_owned())).collect()
    }

    /// The message with SillyTavern's number `index`.
    pub fn message(&self, index: usize) -> Option<Raw<'a>> {
        self.value(self.messages.get(index)?)
    }

    /// Whether there is something between a message and the next one, or the end of the file, that
    /// SillyTavern cannot read. It may be part of a message.
    pub fn is_torn_after(&self, index: usize) -> bool {
        let Some(line) = self.messages.get(index) else { return false };
        let end = self.messages.get(index + 1).map_or(self.bytes.len(), |next| next.start);
        // SillyTavern skips lines that are readable but falsy, such as `null`.
        self.bytes[line.end..end].split(|byte| *byte == b'\n').any(|line| {
            !line.iter().all(|&byte| is_whitespace(byte)) && Raw::document(line).is_err()
        })
    }

    /// The bytes of a message's line.
    pub fn line(&self, index: usize) -> Option<&'a [u8]> {
        self.messages.get(index).map(|line| &self.bytes[line.clone()])
    }

    /// The span of a message's line in the file, without its newline.
    pub fn line_range(&self, index: usize) -> Option<Range<usize>> {
        self.messages.get(index).cloned()
    }

    pub fn header_range(&self) -> Option<Range<usize>> {
        self.header.clone()
    }

    /// The messages whose lines contain `word`. Searches the whole file instead of line by line.
    pub(crate) fn messages_with(&self, word: &str) -> impl Iterator<Item = usize> {
        let finder = Finder::new(word).into_owned();
        let mut from = 0;
        std::iter::from_fn(move || {
            loop {
                let at = from + finder.find(self.bytes.get(from..)?)?;
                let index = self.messages.partition_point(|line| line.end <= at);
                let line = self.messages.get(index)?;
                // The hit may also be before this message, in a line that is not a message.
                from = if at < line.start { at + 1 } else { line.end };
                if at >= line.start {
                    return Some(index);
                }
            }
        })
    }

    /// The names of the checkpoints that its messages link to, whether or not they exist.
    pub fn links(&self) -> Vec<String> {
        let linking = self.messages_with("bookmark_link").filter_map(|index| {
            let link = self.message(index)?.at(&["extra", "bookmark_link"])?;
            link.text().map(|name| name.into_owned())
        });
        linking.filter(|name| !name.is_empty()).collect()
    }

    /// Whether it can be forked: nothing makes SillyTavern see other messages than Forklore does.
    pub fn is_sound_to_fork(&self) -> bool {
        !self.damage.iter().any(|damage| {
            matches!(damage, Damage::ByteOrderMark | Damage::NoHeader | Damage::Empty)
        })
    }
}

/// A header has `chat_metadata`, or, in old files, the names and no message text.
pub fn is_header(value: Option<Raw<'_>>) -> bool {
    let Some(value) = value else { return false };
    let has = |key| value.get(key).is_some();
    has("chat_metadata") || ((has("user_name") || has("character_name")) && !has("mes"))
}

crate::diagnostics!(Damage {
    Self::ByteOrderMark => ("chat-bom"),
    Self::UnreadableLine(line) => ("unreadable-line", line: *line),
    Self::TornLine(line) => ("torn-line", line: *line),
    Self::NoHeader => ("no-header"),
    Self::Empty => ("empty-chat"),
});

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = r#"{"chat_metadata":{}}"#;

    #[track_caller]
    fn check(text: &str, kind: ChatKind, messages: &[&str], damage: &[Damage]) {
        let chat = Chat::read(text.as_bytes(), kind);
        let seen: Vec<&str> = (0..chat.len())
            .map(|index| std::str::from_utf8(chat.line(index).unwrap()).unwrap())
            .collect();
        assert_eq!(seen, messages);
        assert_eq!(chat.damage(), damage);
    }

    #[test]
    fn messages_are_numbered_as_sillytavern_numbers_them() {
        let text = format!("{HEADER}\n{{\"mes\":\"a\"}}\nbroken\n\nnull\n{{\"mes\":\"b\"}}\n[]");
        check(
            &text,
            ChatKind::Solo,
            &[r#"{"mes":"a"}"#, r#"{"mes":"b"}"#, "[]"],
            &[Damage::UnreadableLine(3)],
        );
    }

    #[test]
    fn a_byte_order_mark_costs_the_header_and_then_a_message() {
        let text = format!("\u{feff}{HEADER}\n{{\"mes\":\"a\"}}\n{{\"mes\":\"b\"}}");
        check(
            &text,
            ChatKind::Solo,
            &[r#"{"mes":"b"}"#],
            &[Damage::ByteOrderMark, Damage::NoHeader],
        );
    }

    #[test]
    fn only_a_solo_chat_loses_its_first_message_to_a_missing_header() {
        check(
            "{\"mes\":\"a\"}\n{\"mes\":\"b\"}",
            ChatKind::Solo,
            &["{\"mes\":\"b\"}"],
            &[Damage::NoHeader],
        );
        check("{\"mes\":\"a\"}\n5", ChatKind::Group, &["{\"mes\":\"a\"}", "5"], &[]);
    }

    #[test]
    fn windows_line_ends_and_a_final_newline_are_harmless() {
        let text = format!("{HEADER}\r\n{{\"mes\":\"a\"}}\r\n");
        check(&text, ChatKind::Solo, &["{\"mes\":\"a\"}\r"], &[]);
    }

    #[test]
    fn links_are_found_where_sillytavern_keeps_them() {
        let text = format!(
            "{HEADER}\n{{\"mes\":\"bookmark_link\"}}\n{{\"extra\":{{\"bookmark_link\":\"C: 1\"}}}}"
        );
        assert_eq!(Chat::read(text.as_bytes(), ChatKind::Solo).links(), ["C: 1"]);
    }

    #[test]
    fn messages_are_found_by_a_word_in_them() {
        let text = format!(
            "{HEADER}\n{{\"mes\":\"a word, and word\"}}\nword\n\n{{\"mes\":\"none\"}}\n{{\"word\":1}}\nword"
        );
        let chat = Chat::read(text.as_bytes(), ChatKind::Solo);
        assert_eq!(chat.messages_with("word").collect::<Vec<_>>(), [0, 2]);
        assert_eq!(chat.messages_with("wording").next(), None);
    }

    #[test]
    fn a_file_cut_off_is_told_from_a_broken_line() {
        let text = format!("{HEADER}\n{{\"mes\":\"a\"}}\n{{\"mes\":\"b");
        check(&text, ChatKind::Solo, &["{\"mes\":\"a\"}"], &[Damage::TornLine(3)]);
        check("", ChatKind::Solo, &[], &[Damage::Empty]);
    }
}
