//! The request with which SillyTavern's page saves a chat: the chat is an array inside it.

use std::borrow::Cow;

use forklore_json::scan::{skip_whitespace, string_end, value_end};
use forklore_json::{JsonKind, Raw, SyntaxError};

use super::chat::ChatKind;

/// The kind of the chats that are saved by a request to this path.
pub fn kind_of_path(path: &str) -> ChatKind {
    if path == "/api/chats/group/save" { ChatKind::Group } else { ChatKind::Solo }
}

/// The member of the request that holds the chat's name.
fn name_key(kind: ChatKind) -> &'static str {
    match kind {
        ChatKind::Group => "id",
        ChatKind::Solo => "file_name",
    }
}

/// A request that saves a chat. Preserves every byte.
#[derive(Clone, Copy, Debug)]
pub struct SaveRequest<'a> {
    text: &'a [u8],
    kind: ChatKind,
    chat: Raw<'a>,
    name: Option<Raw<'a>>,
    avatar: Option<Raw<'a>>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotASave {
    #[error("the request is not JSON: {0}")]
    Syntax(#[from] SyntaxError),
    #[error("the request carries no chat")]
    NoChat,
}

impl<'a> SaveRequest<'a> {
    pub fn read(text: &'a [u8], kind: ChatKind) -> Result<Self, NotASave> {
        let keys = ["chat", name_key(kind), "avatar_url"];
        let mut found = [None; 3];
        for member in Raw::document(text)?.members() {
            if let Some(at) = keys.iter().position(|key| member.key.is_text(key)) {
                found[at] = Some(member.value);
            }
        }
        let [chat, name, avatar] = found;
        let chat = chat.filter(|chat| chat.kind() == JsonKind::Array).ok_or(NotASave::NoChat)?;
        Ok(Self { text, kind, chat, name, avatar })
    }

    pub fn kind(&self) -> ChatKind {
        self.kind
    }

    pub fn is_group(&self) -> bool {
        self.kind == ChatKind::Group
    }

    /// The name under which the chat is saved.
    pub fn name(&self) -> String {
        self.name.and_then(written).unwrap_or_default()
    }

    /// The character that a solo chat belongs to.
    pub fn avatar(&self) -> Option<String> {
        self.avatar.and_then(written)
    }

    pub fn header(&self) -> Option<Raw<'a>> {
        self.chat.elements().next()
    }

    pub fn metadata(&self) -> Option<Raw<'a>> {
        self.header()?.get("chat_metadata").filter(|value| value.kind() == JsonKind::Object)
    }

    /// How many messages are saved.
    pub fn messages(&self) -> usize {
        self.chat.elements().skip(1).count()
    }

    /// The same request with another header line.
    pub fn with_header(&self, header: &[u8]) -> Vec<u8> {
        let old = self.header().map_or_else(|| self.chat.range(), |header| header.range());
        [&self.text[..old.start], header, &self.text[old.end..]].concat()
    }

    /// The chat file that the server would write.
    pub fn file(&self) -> Vec<u8> {
        lines(self.chat)
    }

    /// The same request, with its chat replaced by the lines of `file`.
    pub fn with(&self, file: &[u8]) -> Vec<u8> {
        let chat = self.chat.range();
        let mut text = Vec::with_capacity(self.text.len() + file.len());
        text.extend_from_slice(&self.text[..chat.start]);
        text.push(b'[');
        // The lines are JSON, in which a raw newline can only be whitespace.
        for (at, line) in file.split(|&byte| byte == b'\n').enumerate() {
            if at > 0 {
                text.push(b',');
            }
            text.extend_from_slice(line);
        }
        text.push(b']');
        text.extend_from_slice(&self.text[chat.end..]);
        text
    }
}

/// A text; or another value as it is written, unless it means that there is none.
pub(crate) fn written(value: Raw<'_>) -> Option<String> {
    match value.text() {
        Some(text) => Some(text.into_owned()),
        None if !value.is_truthy() => None,
        None => Some(String::from_utf8_lossy(value.bytes()).into_owned()),
    }
}

/// The name of the saved chat, read from the start of a request: a chat may be a hundred megabytes
/// long, and SillyTavern puts the name before it. `None` if the name is not there.
pub fn name_at_start(start: &[u8], kind: ChatKind) -> Option<String> {
    let mut name = None;
    let mut at = skip_whitespace(start, 0);
    let mut before = b'{';
    loop {
        if start.get(at) != Some(&before) {
            return None;
        }
        before = b',';
        let key_start = skip_whitespace(start, at + 1);
        if start.get(key_start) != Some(&b'"') {
            return None;
        }
        let key_end = string_end(start, key_start).ok()?;
        let key = Raw::checked(start, key_start, key_end);
        if key.is_text("chat") {
            return name;
        }
        let colon = skip_whitespace(start, key_end);
        if start.get(colon) != Some(&b':') {
            return None;
        }
        let value_start = skip_whitespace(start, colon + 1);
        let end = value_end(start, value_start).ok()?;
        if key.is_text(name_key(kind)) {
            let text = Raw::checked(start, value_start, end).text();
            name = text.map(|text| text.into_owned());
        }
        at = skip_whitespace(start, end);
    }
}

/// Turns an array of messages into the lines of a chat file.
pub fn lines(messages: Raw<'_>) -> Vec<u8> {
    let mut file = Vec::with_capacity(messages.bytes().len());
    for (at, message) in messages.elements().enumerate() {
        if at > 0 {
            file.push(b'\n');
        }
        file.extend_from_slice(&on_one_line(message));
    }
    file
}

/// SillyTavern's own requests are compact, but other clients may send messages with line breaks.
pub(crate) fn on_one_line(message: Raw<'_>) -> Cow<'_, [u8]> {
    if memchr::memchr2(b'\n', b'\r', message.bytes()).is_none() {
        return Cow::Borrowed(message.bytes());
    }
    message.json().map_or(Cow::Borrowed(b"null".as_slice()), |value| Cow::Owned(value.stringify()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const REQUEST: &str =
        r#"{"ch_name":"A","chat":[{"chat_metadata":{}},{"mes":"a\nb","n":1.0}],"force":false}"#;

    fn solo(text: &str) -> SaveRequest<'_> {
        SaveRequest::read(text.as_bytes(), ChatKind::Solo).unwrap()
    }

    #[test]
    fn a_chat_goes_out_of_the_request_and_back_unchanged() {
        let request = solo(REQUEST);
        let file = request.file();
        assert_eq!(file, b"{\"chat_metadata\":{}}\n{\"mes\":\"a\\nb\",\"n\":1.0}");
        assert_eq!(request.with(&file), REQUEST.as_bytes());
        assert_eq!(request.with_header(b"{\"chat_metadata\":{}}"), REQUEST.as_bytes());
    }

    #[test]
    fn a_message_written_over_many_lines_is_one_line_of_the_file() {
        let request = solo("{\"chat\":[{},{\n \"mes\": \"x\"\n}]}");
        assert_eq!(request.file(), b"{}\n{\"mes\":\"x\"}");
    }

    #[test]
    fn a_request_that_saves_no_chat_is_an_error() {
        let read = |text| SaveRequest::read(text, ChatKind::Solo).unwrap_err();
        assert_eq!(read(b"{\"chat\":5}"), NotASave::NoChat);
        assert!(matches!(read(b"x"), NotASave::Syntax(_)));
    }

    #[test]
    fn the_name_is_read_without_reading_the_chat() {
        let name = |start: &str| name_at_start(start.as_bytes(), ChatKind::Solo);
        let start = r#"{"ch_name":"Ada","file_name":"Story \"one\"","chat":[{"mes":not json"#;
        assert_eq!(name(start).as_deref(), Some("Story \"one\""));
        assert_eq!(name(r#"{"file_name":"x\",\"chat\":[","chat":["#).unwrap(), "x\",\"chat\":[");
        assert_eq!(name(r#"{"chat":[],"file_name":"Story"}"#), None);
        assert_eq!(name(r#"{"file_name":5,"chat":["#), None);
        assert_eq!(name_at_start(br#" { "id" : "G" , "chat":"#, ChatKind::Group).unwrap(), "G");
    }

    #[test]
    fn a_start_that_ends_anywhere_has_the_whole_name_or_none() {
        let whole = r#"{ "n" : [1, {"a":"b"}], "file_name" : "S\u0074ory", "chat" : [ {} ] }"#;
        for end in 0..=whole.len() {
            let name = name_at_start(&whole.as_bytes()[..end], ChatKind::Solo);
            assert!(name.is_none() || name.as_deref() == Some("Story"), "{end}");
        }
        assert_eq!(name_at_start(whole.as_bytes(), ChatKind::Solo).as_deref(), Some("Story"));
    }

    #[test]
    fn a_save_whose_fields_are_in_another_order_is_read() {
        let request = solo(r#"{"chat":[{},{},{}],"file_name":"Story","avatar_url":"Ada.png"}"#);
        assert_eq!((request.name().as_str(), request.messages()), ("Story", 2));
        assert_eq!(request.avatar().as_deref(), Some("Ada.png"));
        let group = SaveRequest::read(br#"{"chat":[],"id":"G"}"#, ChatKind::Group).unwrap();
        assert_eq!((group.name().as_str(), group.avatar()), ("G", None));
    }
}
