//! JSON text that no value type can round-trip: duplicate keys, lone surrogates, numbers beyond
//! `f64`, invalid UTF-8, unnecessary whitespace and escapes.

use fastrand::Rng;

/// What a generated text may contain.
#[derive(Clone, Copy, Debug)]
pub struct Oddities {
    /// Whitespace between tokens. Must contain no line feed for a line of a chat.
    pub whitespace: &'static [&'static str],
    /// Whether strings may contain invalid UTF-8.
    pub invalid_utf8: bool,
    /// Maximum nesting depth.
    pub depth: usize,
}

impl Oddities {
    /// Like the output of `JSON.stringify`: nothing between tokens.
    pub const TIGHT: Self = Self { whitespace: &[""], invalid_utf8: false, depth: 5 };
    /// A line of a chat, as an import may have left it.
    pub const LINE: Self =
        Self { whitespace: &["", "", "", " ", "\t", "\r", "  "], invalid_utf8: true, depth: 5 };
    pub const ANY: Self =
        Self { whitespace: &["", "", "", " ", "\n", "\r\n", "\t"], invalid_utf8: true, depth: 5 };
}

/// A whole document: one value surrounded by whitespace.
pub fn document(rng: &mut Rng, odd: Oddities) -> Vec<u8> {
    let mut text = Vec::new();
    gap(rng, odd, &mut text);
    if rng.u8(..) == 0 {
        deep(rng, &mut text);
    } else {
        push_value(rng, odd, odd.depth, &mut text);
    }
    gap(rng, odd, &mut text);
    text
}

pub fn value(rng: &mut Rng, odd: Oddities) -> Vec<u8> {
    let mut text = Vec::new();
    push_value(rng, odd, odd.depth, &mut text);
    text
}

pub fn whitespace(rng: &mut Rng, odd: Oddities) -> &'static str {
    odd.whitespace[rng.usize(..odd.whitespace.len())]
}

fn gap(rng: &mut Rng, odd: Oddities, text: &mut Vec<u8>) {
    text.extend_from_slice(whitespace(rng, odd).as_bytes());
}

/// Nested about as deep as values are parsed; anything deeper stays bytes.
fn deep(rng: &mut Rng, text: &mut Vec<u8>) {
    let depth = rng.usize(100..500);
    let lists = rng.bool();
    for _ in 0..depth {
        text.extend_from_slice(if lists { b"[" } else { b"{\"a\":" });
    }
    text.extend_from_slice(b"1");
    text.extend(std::iter::repeat_n(if lists { b']' } else { b'}' }, depth));
}

fn push_value(rng: &mut Rng, odd: Oddities, depth: usize, text: &mut Vec<u8>) {
    match rng.u8(..if depth == 0 { 6 } else { 10 }) {
        0 => text.extend_from_slice([&b"null"[..], b"true", b"false"][rng.usize(..3)]),
        1 | 2 => text.extend(number(rng)),
        3..=5 => push_string(rng, odd, text),
        6 | 7 => {
            text.push(b'[');
            gap(rng, odd, text);
            for place in 0..rng.usize(..4) {
                if place > 0 {
                    text.push(b',');
                    gap(rng, odd, text);
                }
                push_value(rng, odd, depth - 1, text);
                gap(rng, odd, text);
            }
            text.push(b']');
        }
        _ => {
            text.push(b'{');
            gap(rng, odd, text);
            for place in 0..rng.usize(..5) {
                if place > 0 {
                    text.push(b',');
                    gap(rng, odd, text);
                }
                text.extend(key(rng, odd));
                gap(rng, odd, text);
                text.push(b':');
                gap(rng, odd, text);
                push_value(rng, odd, depth - 1, text);
                gap(rng, odd, text);
            }
            text.push(b'}');
        }
    }
}

/// A key from a small set, so that keys collide: duplicates, array indexes, and different spellings
/// of one name.
pub fn key(rng: &mut Rng, odd: Oddities) -> Vec<u8> {
    const KEYS: [&str; 24] = [
        r#""a""#,
        r#""\u0061""#,
        r#""b""#,
        r#""""#,
        r#""0""#,
        r#""1""#,
        r#""10""#,
        r#""2""#,
        r#""01""#,
        r#""-1""#,
        r#""1.5""#,
        r#""4294967294""#,
        r#""4294967295""#,
        r#""4294967296""#,
        r#""1763632438061""#,
        r#""9999999999""#,
        r#""__proto__""#,
        r#""constructor""#,
        r#""\ud800""#,
        r#""\udfff""#,
        r#""é""#,
        r#""e\u0301""#,
        r#""toJSON""#,
        r#""\/""#,
    ];
    if rng.u8(..8) == 0 {
        let mut text = Vec::new();
        push_string(rng, odd, &mut text);
        return text;
    }
    KEYS[rng.usize(..KEYS.len())].as_bytes().to_vec()
}

pub fn number(rng: &mut Rng) -> Vec<u8> {
    const NUMBERS: [&str; 26] = [
        "0",
        "-0",
        "-0.0",
        "1.0",
        "1e21",
        "1E21",
        "1e+21",
        "1e-7",
        "0.000001",
        "1e400",
        "-1e400",
        "1e-400",
        "5e-324",
        "2.2250738585072014e-308",
        "1.7976931348623157e308",
        "9007199254740993",
        "12345678901234567890",
        "100000000000000000000",
        "0.1",
        "0.30000000000000004",
        "1763632438061",
        "123456789012345680000",
        "0e0",
        "-1.50",
        "18446744073709551616",
        "0.19075050213874806",
    ];
    match rng.u8(..6) {
        0 | 1 => NUMBERS[rng.usize(..NUMBERS.len())].as_bytes().to_vec(),
        2 => rng.i64(-1000..1000).to_string().into_bytes(),
        3 => f64::from_bits(rng.u64(..)).abs().min(f64::MAX).to_string().into_bytes(),
        4 => {
            format!("{:e}", f64::from_bits(rng.u64(..) & !(0x7ff << 52) | rng.u64(900..1150) << 52))
                .into_bytes()
        }
        _ => {
            let mut text = format!("{}{}", if rng.bool() { "-" } else { "" }, rng.u64(1..));
            if rng.bool() {
                text += &format!(".{:06}", rng.u32(..1_000_000));
            }
            if rng.bool() {
                text += &format!("e{}{}", ["", "+", "-"][rng.usize(..3)], rng.u32(..330));
            }
            text.into_bytes()
        }
    }
}

pub fn push_string(rng: &mut Rng, odd: Oddities, text: &mut Vec<u8>) {
    const PIECES: [&str; 26] = [
        "x",
        "Mara",
        " ",
        "é",
        "雨",
        "😀",
        "\u{2028}",
        "\u{7f}",
        "\u{feff}",
        "\u{fffd}",
        "\\n",
        "\\\"",
        "\\\\",
        "\\/",
        "\\b\\f\\r\\t",
        "\\u0000",
        "\\u001F",
        "\\u0041",
        "\\u00e9",
        "\\ud83d\\ude00",
        "\\ud800",
        "\\uDC00",
        "\\ude00\\ud83d",
        "\\ud83dX",
        "\u{80}\u{9f}",
        "e\u{301}",
    ];
    const INVALID: [&[u8]; 8] = [
        b"\xff",
        b"\xc3",
        b"\xed\xa0\x80",
        b"\xe2\x82",
        b"\xf0\x9f\x98",
        b"\xc0\xaf",
        b"\x80",
        b"\xf4\x90\x80\x80",
    ];
    text.push(b'"');
    for _ in 0..rng.usize(..6) {
        if odd.invalid_utf8 && rng.u8(..12) == 0 {
            text.extend_from_slice(INVALID[rng.usize(..INVALID.len())]);
        } else {
            text.extend_from_slice(PIECES[rng.usize(..PIECES.len())].as_bytes());
        }
    }
    text.push(b'"');
}

/// A text that is most likely not valid JSON any more: cut off, or with a byte changed.
pub fn mutated(rng: &mut Rng, text: &[u8]) -> Vec<u8> {
    const BYTES: &[u8] = b"{}[]:,\"\\ue0-+.1tfn \t\r\n\x00\x1f\x7f\x80\xff";
    let mut text = text.to_vec();
    if text.is_empty() {
        return text;
    }
    match rng.u8(..5) {
        0 => text.truncate(rng.usize(..text.len())),
        1 => drop(text.remove(rng.usize(..text.len()))),
        2 => text.insert(rng.usize(..=text.len()), BYTES[rng.usize(..BYTES.len())]),
        3 => {
            let at = rng.usize(..text.len());
            text[at] = BYTES[rng.usize(..BYTES.len())];
        }
        _ => {
            let (one, other) = (rng.usize(..text.len()), rng.usize(..text.len()));
            text.swap(one, other);
        }
    }
    text
}
