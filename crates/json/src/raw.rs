//! JSON values as spans of a document's bytes.

use alloc::borrow::Cow;
use core::ops::Range;

use crate::parse;
use crate::scan::{self, SyntaxError, skip_whitespace};
use crate::{JsText, Json};

/// A JSON value as a span of `document`.
///
/// The text was validated before a `Raw` is created, so walking it cannot fail.
#[derive(Clone, Copy, Debug)]
pub struct Raw<'a> {
    document: &'a [u8],
    start: usize,
    end: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JsonKind {
    Null,
    Bool,
    Number,
    Text,
    Array,
    Object,
}

/// One `"key": value` pair of an object.
#[derive(Clone, Copy, Debug)]
pub struct Member<'a> {
    pub key: Raw<'a>,
    pub value: Raw<'a>,
}

impl<'a> Raw<'a> {
    /// Reads a text that consists of one JSON value, optionally surrounded by whitespace.
    pub fn document(text: &'a [u8]) -> Result<Self, SyntaxError> {
        let start = skip_whitespace(text, 0);
        let end = scan::value_end(text, start)?;
        let after = skip_whitespace(text, end);
        if after != text.len() {
            return Err(SyntaxError::Unexpected(after));
        }
        Ok(Self { document: text, start, end })
    }

    /// Wraps a line that [`line_end`](super::line_end) has validated.
    pub fn checked_line(line: &'a [u8]) -> Option<Self> {
        let start = skip_whitespace(line, 0);
        let end =
            line.len() - line.iter().rev().take_while(|&&byte| scan::is_whitespace(byte)).count();
        (start < end).then_some(Self { document: line, start, end })
    }

    /// Wraps a value that was validated while its document was read.
    pub fn checked(document: &'a [u8], start: usize, end: usize) -> Self {
        Self { document, start, end }
    }

    pub fn bytes(&self) -> &'a [u8] {
        &self.document[self.start..self.end]
    }

    /// The value's span within its document.
    pub fn range(&self) -> Range<usize> {
        self.start..self.end
    }

    pub(super) fn source(&self) -> &'a [u8] {
        self.document
    }

    pub fn kind(&self) -> JsonKind {
        match self.document[self.start] {
            b'{' => JsonKind::Object,
            b'[' => JsonKind::Array,
            b'"' => JsonKind::Text,
            b't' | b'f' => JsonKind::Bool,
            b'n' => JsonKind::Null,
            _ => JsonKind::Number,
        }
    }

    /// The members of an object in file order, duplicates included; none for anything else.
    pub fn members(&self) -> impl Iterator<Item = Member<'a>> + use<'a> {
        let document = self.document;
        let mut at = (self.kind() == JsonKind::Object).then_some(self.start);
        core::iter::from_fn(move || {
            // `at` is on the `{` or on a `,`.
            let key_start = skip_whitespace(document, at? + 1);
            if document[key_start] == b'}' {
                at = None;
                return None;
            }
            let key_end = scan::string_end(document, key_start).ok()?;
            let colon = skip_whitespace(document, key_end);
            let value_start = skip_whitespace(document, colon + 1);
            let value_end = scan::value_end(document, value_start).ok()?;
            let next = skip_whitespace(document, value_end);
            at = (document[next] == b',').then_some(next);
            let value = |start, end| Raw { document, start, end };
            Some(Member { key: value(key_start, key_end), value: value(value_start, value_end) })
        })
    }

    /// The whitespace before an object's first key.
    pub(super) fn leading_whitespace(&self) -> Option<&'a [u8]> {
        let start = self.start + 1;
        let key = skip_whitespace(self.document, start);
        let has_members = self.kind() == JsonKind::Object && self.document[key] != b'}';
        has_members.then(|| &self.document[start..key])
    }

    /// The elements of an array; none for anything else.
    pub fn elements(&self) -> impl Iterator<Item = Raw<'a>> + use<'a> {
        let document = self.document;
        let mut at = (self.kind() == JsonKind::Array).then_some(self.start);
        core::iter::from_fn(move || {
            let start = skip_whitespace(document, at? + 1);
            if document[start] == b']' {
                at = None;
                return None;
            }
            let end = scan::value_end(document, start).ok()?;
            let next = skip_whitespace(document, end);
            at = (document[next] == b',').then_some(next);
            Some(Raw { document, start, end })
        })
    }

    /// The member that JavaScript would see: the last of several duplicates.
    pub fn get(&self, key: &str) -> Option<Raw<'a>> {
        self.members().filter(|member| member.key.is_text(key)).last().map(|member| member.value)
    }

    pub fn at(&self, path: &[&str]) -> Option<Raw<'a>> {
        path.iter().try_fold(*self, |value, key| value.get(key))
    }

    /// The text of a string, with U+FFFD for lone surrogates and invalid UTF-8.
    pub fn text(&self) -> Option<Cow<'a, str>> {
        if self.kind() != JsonKind::Text {
            return None;
        }
        let inner = &self.document[self.start + 1..self.end - 1];
        if !inner.contains(&b'\\')
            && let Ok(plain) = core::str::from_utf8(inner)
        {
            return Some(Cow::Borrowed(plain));
        }
        Some(Cow::Owned(parse::unescape(inner).to_string_lossy().into_owned()))
    }

    /// The exact text of a string.
    pub fn js_text(&self) -> Option<JsText> {
        (self.kind() == JsonKind::Text)
            .then(|| parse::unescape(&self.document[self.start + 1..self.end - 1]))
    }

    /// The text of a string as the bytes of a [`JsText`]. Borrows if it is ASCII without escapes.
    pub fn text_bytes(&self) -> Cow<'a, [u8]> {
        let inner = &self.document[self.start + 1..self.end - 1];
        if inner.is_ascii() && !inner.contains(&b'\\') {
            return Cow::Borrowed(inner);
        }
        Cow::Owned(parse::unescape(inner).as_bytes().to_vec())
    }

    pub fn is_text(&self, expected: &str) -> bool {
        self.text().is_some_and(|text| text == expected)
    }

    /// The value as an integer, if it is one that JavaScript represents exactly.
    pub fn integer(&self) -> Option<i64> {
        self.json().ok()?.as_i64()
    }

    /// Whether JavaScript's `if (value)` would be taken.
    pub fn is_truthy(&self) -> bool {
        match self.bytes() {
            b"null" | b"false" | b"\"\"" => false,
            number if self.kind() == JsonKind::Number => parse::number(number) != 0.0,
            _ => true,
        }
    }

    /// Builds the value. If it is nested too deeply, builds an object of those of its members that
    /// are not.
    pub fn json_without_deep_members(&self) -> Json {
        self.json().unwrap_or_else(|_| {
            let read =
                |member: Member<'a>| Some((member.key.js_text()?, member.value.json().ok()?));
            Json::object(self.members().filter_map(read))
        })
    }

    /// Builds the value, like `JSON.parse`.
    pub fn json(&self) -> Result<Json, SyntaxError> {
        Json::parse(self.bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn reads(text: &str) -> Raw<'_> {
        Raw::document(text.as_bytes()).unwrap()
    }

    #[test]
    fn of_duplicate_keys_the_last_counts() {
        assert_eq!(reads(r#"{"a":1,"b":2,"a":3}"#).get("a").unwrap().bytes(), b"3");
    }

    #[test]
    fn an_escaped_key_is_the_key_it_means() {
        assert_eq!(reads(r#"{"\u0061":1}"#).get("a").unwrap().bytes(), b"1");
    }

    #[test]
    fn depth_has_no_limit() {
        let deep = "[".repeat(200_000) + &"]".repeat(200_000);
        assert_eq!(reads(&deep).elements().count(), 1);
    }

    #[test]
    fn what_json_parse_refuses_is_refused() {
        for text in [
            "",
            " ",
            "01",
            "1.",
            ".5",
            "+1",
            "1e",
            "tru",
            "{",
            "[1,]",
            "{\"a\":1,}",
            "{a:1}",
            "'a'",
        ] {
            assert!(Raw::document(text.as_bytes()).is_err(), "{text:?}");
        }
        for text in ["\"\\x\"", "\"\\u12g4\"", "\"a\nb\"", "\u{feff}{}", "1 2", "NaN", "\"\\"] {
            assert!(Raw::document(text.as_bytes()).is_err(), "{text:?}");
        }
    }

    #[test]
    fn what_json_parse_accepts_is_accepted() {
        for text in ["\"\\ud800\"", "-0", "1e400", " [ ] ", "{ }", "\t{\"a\" : [ 1 , 2 ] }\r"] {
            assert!(Raw::document(text.as_bytes()).is_ok(), "{text:?}");
        }
        assert!(Raw::document(b"\"\xff\xed\xa0\x80\"").is_ok());
    }

    #[test]
    fn truth_is_javascripts() {
        for (text, truthy) in
            [("0", false), ("-0.0", false), ("1e-400", false), ("[]", true), ("\"0\"", true)]
        {
            assert_eq!(reads(text).is_truthy(), truthy, "{text}");
        }
    }
}
