//! The request with which SillyTavern's page saves a chat: the chat is an array inside it.

use std::borrow::Cow;

use forklore_json::{JsonKind, Raw, SyntaxError};

/// A request that saves a chat. Preserves every byte.
#[derive(Clone, Copy, Debug)]
pub struct SaveRequest<'a> {
    text: &'a [u8],
    chat: Raw<'a>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotASave {
    #[error("the request is not JSON: {0}")]
    Syntax(#[from] SyntaxError),
    #[error("the request carries no chat")]
    NoChat,
}

impl<'a> SaveRequest<'a> {
    pub fn read(text: &'a [u8]) -> Result<Self, NotASave> {
        let chat = Raw::document(text)?.get("chat").filter(|chat| chat.kind() == JsonKind::Array);
        Ok(Self { text, chat: chat.ok_or(NotASave::NoChat)? })
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
fn on_one_line(message: Raw<'_>) -> Cow<'_, [u8]> {
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

    #[test]
    fn a_chat_goes_out_of_the_request_and_back_unchanged() {
        let request = SaveRequest::read(REQUEST.as_bytes()).unwrap();
        let file = request.file();
        assert_eq!(file, b"{\"chat_metadata\":{}}\n{\"mes\":\"a\\nb\",\"n\":1.0}");
        assert_eq!(request.with(&file), REQUEST.as_bytes());
    }

    #[test]
    fn a_message_written_over_many_lines_is_one_line_of_the_file() {
        let request = SaveRequest::read(b"{\"chat\":[{},{\n \"mes\": \"x\"\n}]}").unwrap();
        assert_eq!(request.file(), b"{}\n{\"mes\":\"x\"}");
    }

    #[test]
    fn what_saves_no_chat_is_said() {
        assert_eq!(SaveRequest::read(b"{\"chat\":5}").unwrap_err(), NotASave::NoChat);
        assert!(matches!(SaveRequest::read(b"x").unwrap_err(), NotASave::Syntax(_)));
    }
}
