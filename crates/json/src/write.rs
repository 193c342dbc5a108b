//! Writes values like `JSON.stringify`.

use crate::{JsText, Json};
use alloc::vec::Vec;

/// How a value is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Indent<'a> {
    /// `JSON.stringify(value)`, as in chats.
    None,
    /// `JSON.stringify(value, null, unit)` for a value on a line that is indented by `depth` units.
    /// Books use four spaces.
    By { unit: &'a [u8], depth: usize },
}

impl Indent<'static> {
    /// The layout of a whole lorebook file.
    pub const BOOK: Self = Indent::By { unit: b"    ", depth: 0 };
}

impl Json {
    /// The value on one line.
    pub fn stringify(&self) -> Vec<u8> {
        self.stringify_with(Indent::None)
    }

    pub fn stringify_with(&self, indent: Indent<'_>) -> Vec<u8> {
        let mut out = Vec::new();
        write(self, indent, &mut out);
        out
    }
}

fn write(value: &Json, indent: Indent<'_>, out: &mut Vec<u8>) {
    match value {
        Json::Null => out.extend_from_slice(b"null"),
        Json::Bool(true) => out.extend_from_slice(b"true"),
        Json::Bool(false) => out.extend_from_slice(b"false"),
        // JSON has no infinity; JavaScript writes null instead.
        Json::Number(number) if !number.is_finite() => out.extend_from_slice(b"null"),
        Json::Number(number) => {
            out.extend_from_slice(ryu_js::Buffer::new().format_finite(*number).as_bytes());
        }
        Json::Text(text) => write_text(text, out),
        Json::Array(elements) => {
            list(b'[', b']', elements.iter(), indent, out, |element, inner, out| {
                write(element, inner, out);
            });
        }
        Json::Object(object) => {
            list(b'{', b'}', object.iter(), indent, out, |(key, value), inner, out| {
                write_text(key, out);
                out.push(b':');
                if inner != Indent::None {
                    out.push(b' ');
                }
                write(value, inner, out);
            });
        }
    }
}

fn list<T>(
    open: u8,
    close: u8,
    items: impl Iterator<Item = T>,
    indent: Indent<'_>,
    out: &mut Vec<u8>,
    mut write_item: impl FnMut(T, Indent<'_>, &mut Vec<u8>),
) {
    let inner = match indent {
        Indent::None => Indent::None,
        Indent::By { unit, depth } => Indent::By { unit, depth: depth + 1 },
    };
    out.push(open);
    let mut any = false;
    for item in items {
        if any {
            out.push(b',');
        }
        any = true;
        new_line(inner, out);
        write_item(item, inner, out);
    }
    if any {
        new_line(indent, out);
    }
    out.push(close);
}

pub(super) fn new_line(indent: Indent<'_>, out: &mut Vec<u8>) {
    if let Indent::By { unit, depth } = indent {
        out.push(b'\n');
        for _ in 0..depth {
            out.extend_from_slice(unit);
        }
    }
}

pub(super) fn write_text(text: &JsText, out: &mut Vec<u8>) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let bytes = text.as_bytes();
    out.push(b'"');
    let mut from = 0;
    let mut at = 0;
    while at < bytes.len() {
        let byte = bytes[at];
        let surrogate = byte == 0xED && bytes[at + 1] >= 0xA0;
        if byte >= 0x20 && byte != b'"' && byte != b'\\' && !surrogate {
            at += 1;
            continue;
        }
        out.extend_from_slice(&bytes[from..at]);
        match byte {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            0x08 => out.extend_from_slice(b"\\b"),
            0x0C => out.extend_from_slice(b"\\f"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            0xED => {
                let unit = 0xD000
                    | usize::from(bytes[at + 1] & 0x3F) << 6
                    | usize::from(bytes[at + 2] & 0x3F);
                out.extend_from_slice(b"\\u");
                out.extend([12, 8, 4, 0].map(|shift| HEX[unit >> shift & 0xF]));
                at += 2;
            }
            control => {
                out.extend_from_slice(b"\\u00");
                out.extend([4, 0].map(|shift| HEX[usize::from(control) >> shift & 0xF]));
            }
        }
        at += 1;
        from = at;
    }
    out.extend_from_slice(&bytes[from..]);
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let written = Json::parse(text.as_bytes()).unwrap().stringify();
        assert_eq!(String::from_utf8_lossy(&written), expected);
    }

    #[test]
    fn a_round_trip_gives_what_javascript_gives() {
        check(r#"{"b":1,"10":1,"2":1,"a":1,"2":7}"#, r#"{"2":7,"10":1,"b":1,"a":1}"#);
        check("[12345678901234567890,1.0,1e21,-0,1e400]", "[12345678901234567000,1,1e+21,0,null]");
        check(r#""\ud800x\ud83d\ude00\/\u0041\u007f""#, "\"\\ud800x😀/A\u{7f}\"");
        check(
            r#"{"4294967295":1,"4294967294":2,"01":3}"#,
            r#"{"4294967294":2,"4294967295":1,"01":3}"#,
        );
    }

    #[test]
    fn indentation_is_javascripts() {
        let value = Json::parse(br#"{"a":[],"b":{},"c":[1,{"d":2}]}"#).unwrap();
        let text = String::from_utf8(value.stringify_with(Indent::BOOK)).unwrap();
        assert_eq!(
            text,
            "{\n    \"a\": [],\n    \"b\": {},\n    \"c\": [\n        1,\n        {\n            \"d\": 2\n        }\n    ]\n}"
        );
    }
}
