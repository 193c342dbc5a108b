//! Builds values from text, like `JSON.parse`.

use crate::scan::{self, SyntaxError, skip_whitespace};
use crate::{JsText, Json, Object};
use alloc::string::String;
use alloc::vec::Vec;

/// The deepest nesting that is built as a value. Nothing SillyTavern writes comes near it, and
/// dropping a value nested too deeply would overflow the stack.
const MAX_DEPTH: usize = 512;

impl Json {
    pub fn parse(text: &[u8]) -> Result<Self, SyntaxError> {
        // Validate everything first, so that the builder only sees valid text.
        let start = skip_whitespace(text, 0);
        let end = scan::value_end(text, start)?;
        let after = skip_whitespace(text, end);
        if after != text.len() {
            return Err(SyntaxError::Unexpected(after));
        }
        let mut builder = Builder { text, at: start };
        builder.value(0)
    }
}

struct Builder<'a> {
    text: &'a [u8],
    at: usize,
}

impl Builder<'_> {
    fn value(&mut self, depth: usize) -> Result<Json, SyntaxError> {
        if depth > MAX_DEPTH {
            return Err(SyntaxError::TooDeep(MAX_DEPTH));
        }
        match self.text[self.at] {
            b'"' => Ok(Json::Text(self.string()?)),
            b'{' => self.object(depth),
            b'[' => self.array(depth),
            b't' => Ok(self.literal(4, Json::Bool(true))),
            b'f' => Ok(self.literal(5, Json::Bool(false))),
            b'n' => Ok(self.literal(4, Json::Null)),
            _ => {
                let end = scan::value_end(self.text, self.at)?;
                let value = number(&self.text[self.at..end]);
                self.at = end;
                Ok(Json::Number(value))
            }
        }
    }

    fn literal(&mut self, length: usize, value: Json) -> Json {
        self.at += length;
        value
    }

    fn string(&mut self) -> Result<JsText, SyntaxError> {
        let end = scan::string_end(self.text, self.at)?;
        let text = unescape(&self.text[self.at + 1..end - 1]);
        self.at = end;
        Ok(text)
    }

    fn object(&mut self, depth: usize) -> Result<Json, SyntaxError> {
        let mut object = Object::new();
        loop {
            self.at = skip_whitespace(self.text, self.at + 1);
            if self.text[self.at] == b'}' {
                break;
            }
            let key = self.string()?;
            let colon = skip_whitespace(self.text, self.at);
            self.at = skip_whitespace(self.text, colon + 1);
            let value = self.value(depth + 1)?;
            object.insert(key, value);
            self.at = skip_whitespace(self.text, self.at);
            if self.text[self.at] == b'}' {
                break;
            }
        }
        self.at += 1;
        Ok(Json::Object(object))
    }

    fn array(&mut self, depth: usize) -> Result<Json, SyntaxError> {
        let mut elements = Vec::new();
        loop {
            self.at = skip_whitespace(self.text, self.at + 1);
            if self.text[self.at] == b']' {
                break;
            }
            elements.push(self.value(depth + 1)?);
            self.at = skip_whitespace(self.text, self.at);
            if self.text[self.at] == b']' {
                break;
            }
        }
        self.at += 1;
        Ok(Json::Array(elements))
    }
}

/// Decodes the contents of a validated string literal into the text JavaScript would hold.
pub(super) fn unescape(inner: &[u8]) -> JsText {
    // Fast path for most keys and much of the text: without escapes, the bytes are just copied.
    if let Ok(plain) = core::str::from_utf8(inner)
        && memchr::memchr(b'\\', inner).is_none()
    {
        return JsText::from(plain);
    }
    let mut text = JsText::default();
    let mut at = 0;
    while at < inner.len() {
        let plain_end =
            memchr::memchr(b'\\', &inner[at..]).map_or(inner.len(), |offset| at + offset);
        if plain_end > at {
            // Invalid UTF-8 becomes U+FFFD here, as it does when Node reads the file.
            text.push_str(&String::from_utf8_lossy(&inner[at..plain_end]));
        }
        at = plain_end;
        let Some(&escape) = inner.get(at + 1) else { break };
        at += 2;
        let plain = match escape {
            b'b' => "\u{8}",
            b'f' => "\u{c}",
            b'n' => "\n",
            b'r' => "\r",
            b't' => "\t",
            b'"' => "\"",
            b'/' => "/",
            b'u' => {
                let unit = inner[at..at + 4].iter().fold(0_u16, |unit, &digit| {
                    unit << 4 | char::from(digit).to_digit(16).unwrap_or(0) as u16
                });
                at += 4;
                match char::from_u32(u32::from(unit)) {
                    Some(character) => text.push_str(character.encode_utf8(&mut [0; 4])),
                    None => text.push_surrogate(unit),
                }
                continue;
            }
            _ => "\\",
        };
        text.push_str(plain);
    }
    text
}

pub(super) fn number(text: &[u8]) -> f64 {
    core::str::from_utf8(text).ok().and_then(|text| text.parse().ok()).unwrap_or(f64::NAN)
}
