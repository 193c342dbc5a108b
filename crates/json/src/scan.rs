//! Finds where a JSON value ends, accepting exactly what `JSON.parse` accepts.
//!
//! Every byte that is read passes through here, so in the page this crate is compiled for speed,
//! while the core is compiled for size.

use alloc::vec::Vec;
use memchr::{memchr2, memchr3};

/// Why a text is not JSON.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SyntaxError {
    #[error("the text ends in the middle of a value")]
    Ends,
    #[error("unexpected byte at offset {0}")]
    Unexpected(usize),
    /// Only building values is limited in depth; spans are not.
    #[error("nested deeper than {0} levels")]
    TooDeep(usize),
}

pub fn is_whitespace(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

pub fn skip_whitespace(text: &[u8], mut at: usize) -> usize {
    while text.get(at).copied().is_some_and(is_whitespace) {
        at += 1;
    }
    at
}

/// Returns the offset after the value that begins at `start` (no leading whitespace).
pub fn value_end(text: &[u8], start: usize) -> Result<usize, SyntaxError> {
    value_end_by(text, start, &Document)
}

/// Returns the offset after the closing quote of the string that begins at `start`.
pub fn string_end(text: &[u8], start: usize) -> Result<usize, SyntaxError> {
    string_end_by(text, start, &Document)
}

/// Returns the end of the line that begins at `start`, if the line is one JSON value. A chat can
/// thus be read in a single pass, without splitting it into lines first.
pub fn line_end(text: &[u8], start: usize) -> Result<usize, SyntaxError> {
    // SillyTavern writes no byte below 0x20 except the newline between lines. So first assume that
    // a newline is the only invalid byte a string can contain, which is cheap to search for, and
    // verify the assumption afterwards, while the line is still in cache.
    if let Ok(end) = line_end_by(text, start, &PlainLine)
        && is_plain(&text[start..end])
    {
        return Ok(end);
    }
    line_end_by(text, start, &AnyLine)
}

fn line_end_by(text: &[u8], start: usize, rules: &impl Rules) -> Result<usize, SyntaxError> {
    let begin = rules.skip_whitespace(text, start);
    let end = rules.skip_whitespace(text, value_end_by(text, begin, rules)?);
    match text.get(end) {
        None | Some(b'\n') => Ok(end),
        Some(_) => Err(SyntaxError::Unexpected(end)),
    }
}

/// Has no early exit, so that the compiler can vectorise it.
fn is_plain(line: &[u8]) -> bool {
    line.iter().fold(u8::MAX, |lowest, &byte| lowest.min(byte)) >= 0x20
}

/// The differences between scanning a document and scanning a line of a chat.
trait Rules {
    fn skip_whitespace(&self, text: &[u8], at: usize) -> usize;

    /// Returns the offset of the first byte from `at` on that is not plain string content. Most
    /// of a chat is string content, so this is the hot loop.
    fn plain_end(&self, text: &[u8], at: usize) -> usize;
}

struct Document;
struct AnyLine;
struct PlainLine;

impl Rules for Document {
    fn skip_whitespace(&self, text: &[u8], at: usize) -> usize {
        skip_whitespace(text, at)
    }

    fn plain_end(&self, text: &[u8], at: usize) -> usize {
        plain_end(text, at)
    }
}

impl Rules for AnyLine {
    fn skip_whitespace(&self, text: &[u8], mut at: usize) -> usize {
        while matches!(text.get(at), Some(b' ' | b'\t' | b'\r')) {
            at += 1;
        }
        at
    }

    fn plain_end(&self, text: &[u8], at: usize) -> usize {
        plain_end(text, at)
    }
}

impl Rules for PlainLine {
    fn skip_whitespace(&self, text: &[u8], mut at: usize) -> usize {
        while text.get(at) == Some(&b' ') {
            at += 1;
        }
        at
    }

    fn plain_end(&self, text: &[u8], at: usize) -> usize {
        match short_end(text, at, |eight| {
            zeros(eight ^ each(b'"')) | zeros(eight ^ each(b'\\')) | zeros(eight ^ each(b'\n'))
        }) {
            ShortScan::End(end) => end,
            ShortScan::Continue(at) => {
                let rest = text.get(at..).unwrap_or_default();
                at + memchr3(b'"', b'\\', b'\n', rest).unwrap_or(rest.len())
            }
        }
    }
}

/// The result of scanning the start of a string in words of eight bytes.
enum ShortScan {
    End(usize),
    Continue(usize),
}

/// How many words to scan before switching to a wider search. In WebAssembly there is none worth
/// switching to.
const SHORT_WORDS: usize = if cfg!(target_family = "wasm") { usize::MAX } else { 2 };

/// Scans a few words inline: most strings of a book are short keys, and two words are scanned in
/// less time than a vector search takes to start. `special` sets the highest bit of each byte that
/// ends plain content.
fn short_end(text: &[u8], mut at: usize, special: impl Fn(u64) -> u64) -> ShortScan {
    for _ in 0..SHORT_WORDS {
        let Some(eight) = text.get(at..).and_then(<[u8]>::first_chunk::<8>) else { break };
        let found = special(u64::from_le_bytes(*eight));
        if found != 0 {
            return ShortScan::End(at + found.trailing_zeros() as usize / 8);
        }
        at += 8;
    }
    ShortScan::Continue(at)
}

const fn each(byte: u8) -> u64 {
    u64::from_le_bytes([byte; 8])
}

/// Sets the highest bit of each byte that is zero. The borrow of the subtraction can corrupt bytes
/// above the first zero byte, but only the first one is used.
fn zeros(eight: u64) -> u64 {
    eight.wrapping_sub(each(1)) & !eight & each(0x80)
}

/// Sets the highest bit of each byte below 0x20, with the same caveat as [`zeros`].
fn controls(eight: u64) -> u64 {
    eight.wrapping_sub(each(0x20)) & !eight & each(0x80)
}

/// Uses an explicit stack instead of recursion, because a hostile chat can be nested 100,000 deep.
fn value_end_by(text: &[u8], start: usize, rules: &impl Rules) -> Result<usize, SyntaxError> {
    let skip_whitespace = |text: &[u8], at: usize| rules.skip_whitespace(text, at);
    let mut open: Vec<u8> = Vec::new();
    let mut at = start;
    loop {
        // A value is expected here.
        match byte(text, at)? {
            b'"' => at = string_end_by(text, at, rules)?,
            b'{' => {
                at = skip_whitespace(text, at + 1);
                if byte(text, at)? == b'}' {
                    at += 1;
                } else {
                    open.push(b'{');
                    at = key_end(text, at, rules)?;
                    continue;
                }
            }
            b'[' => {
                at = skip_whitespace(text, at + 1);
                if byte(text, at)? == b']' {
                    at += 1;
                } else {
                    open.push(b'[');
                    continue;
                }
            }
            b't' => at = literal_end(text, at, b"true")?,
            b'f' => at = literal_end(text, at, b"false")?,
            b'n' => at = literal_end(text, at, b"null")?,
            _ => at = number_end(text, at)?,
        }
        // A value has just ended here.
        loop {
            let Some(&container) = open.last() else { return Ok(at) };
            at = skip_whitespace(text, at);
            match (container, byte(text, at)?) {
                (b'{', b',') => {
                    at = key_end(text, skip_whitespace(text, at + 1), rules)?;
                    break;
                }
                (b'[', b',') => {
                    at = skip_whitespace(text, at + 1);
                    break;
                }
                (b'{', b'}') | (b'[', b']') => {
                    open.pop();
                    at += 1;
                }
                _ => return Err(SyntaxError::Unexpected(at)),
            }
        }
    }
}

/// Skips `"key" :` and surrounding whitespace, up to the start of the member's value.
fn key_end(text: &[u8], at: usize, rules: &impl Rules) -> Result<usize, SyntaxError> {
    if byte(text, at)? != b'"' {
        return Err(SyntaxError::Unexpected(at));
    }
    let colon = rules.skip_whitespace(text, string_end_by(text, at, rules)?);
    if byte(text, colon)? != b':' {
        return Err(SyntaxError::Unexpected(colon));
    }
    Ok(rules.skip_whitespace(text, colon + 1))
}

/// Bytes from 0x80 up are not validated: SillyTavern decodes files leniently, so it accepts
/// invalid UTF-8 inside a string, and Forklore must as well.
fn string_end_by(text: &[u8], start: usize, rules: &impl Rules) -> Result<usize, SyntaxError> {
    let mut at = start + 1;
    loop {
        at = rules.plain_end(text, at);
        match byte(text, at)? {
            b'"' => return Ok(at + 1),
            b'\\' => {}
            _ => return Err(SyntaxError::Unexpected(at)),
        }
        match byte(text, at + 1)? {
            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => at += 2,
            b'u' => {
                for digit in at + 2..at + 6 {
                    if !byte(text, digit)?.is_ascii_hexdigit() {
                        return Err(SyntaxError::Unexpected(digit));
                    }
                }
                at += 6;
            }
            _ => return Err(SyntaxError::Unexpected(at + 1)),
        }
    }
}

/// Searches for the end of the string, then checks the bytes in between for control characters in a
/// second pass that the compiler can vectorise.
fn plain_end(text: &[u8], at: usize) -> usize {
    let at = match short_end(text, at, |eight| {
        zeros(eight ^ each(b'"')) | zeros(eight ^ each(b'\\')) | controls(eight)
    }) {
        ShortScan::End(end) => return end,
        ShortScan::Continue(at) => at,
    };
    let rest = text.get(at..).unwrap_or_default();
    let stop = memchr2(b'"', b'\\', rest).unwrap_or(rest.len());
    let plain = &rest[..stop];
    if is_plain(plain) {
        return at + stop;
    }
    at + plain.iter().position(|&byte| byte < 0x20).unwrap_or(stop)
}

fn literal_end(text: &[u8], at: usize, literal: &[u8]) -> Result<usize, SyntaxError> {
    for (offset, &expected) in literal.iter().enumerate() {
        if byte(text, at + offset)? != expected {
            return Err(SyntaxError::Unexpected(at + offset));
        }
    }
    Ok(at + literal.len())
}

fn number_end(text: &[u8], start: usize) -> Result<usize, SyntaxError> {
    let mut at = start;
    if byte(text, at)? == b'-' {
        at += 1;
    }
    match byte(text, at)? {
        b'0' => at += 1,
        b'1'..=b'9' => at = digits_end(text, at),
        _ => return Err(SyntaxError::Unexpected(at)),
    }
    if text.get(at) == Some(&b'.') {
        at = some_digits_end(text, at + 1)?;
    }
    if matches!(text.get(at), Some(b'e' | b'E')) {
        at += 1;
        if matches!(text.get(at), Some(b'+' | b'-')) {
            at += 1;
        }
        at = some_digits_end(text, at)?;
    }
    Ok(at)
}

fn some_digits_end(text: &[u8], at: usize) -> Result<usize, SyntaxError> {
    if !byte(text, at)?.is_ascii_digit() {
        return Err(SyntaxError::Unexpected(at));
    }
    Ok(digits_end(text, at))
}

fn digits_end(text: &[u8], mut at: usize) -> usize {
    while text.get(at).is_some_and(u8::is_ascii_digit) {
        at += 1;
    }
    at
}

/// Where an object ends, and the spans of the values of two of its members. Keys are compared
/// without decoding their escapes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ObjectSpans {
    pub end: usize,
    pub values: [Option<(usize, usize)>; 2],
    /// Some key contains an escape and may decode to one of the wanted keys.
    pub has_escaped_key: bool,
}

/// Finds the end of the object that begins at `start`, and the values of the `wanted` members on
/// the way. As in JavaScript, the last of several duplicates wins.
pub fn object_end(
    text: &[u8],
    start: usize,
    wanted: [&[u8]; 2],
) -> Result<ObjectSpans, SyntaxError> {
    let mut spans = ObjectSpans::default();
    let mut at = skip_whitespace(text, start + 1);
    if byte(text, at)? == b'}' {
        return Ok(ObjectSpans { end: at + 1, ..spans });
    }
    loop {
        if byte(text, at)? != b'"' {
            return Err(SyntaxError::Unexpected(at));
        }
        let key_end = string_end(text, at)?;
        let colon = skip_whitespace(text, key_end);
        if byte(text, colon)? != b':' {
            return Err(SyntaxError::Unexpected(colon));
        }
        let value = skip_whitespace(text, colon + 1);
        let end = value_end(text, value)?;
        let key = &text[at + 1..key_end - 1];
        for (wanted, place) in wanted.iter().zip(&mut spans.values) {
            if key == *wanted {
                *place = Some((value, end));
            }
            // Rules out keys that start with a different plain character.
            spans.has_escaped_key |= (key.first() == wanted.first() || key.first() == Some(&b'\\'))
                && key.contains(&b'\\');
        }
        at = skip_whitespace(text, end);
        match byte(text, at)? {
            b',' => at = skip_whitespace(text, at + 1),
            b'}' => return Ok(ObjectSpans { end: at + 1, ..spans }),
            _ => return Err(SyntaxError::Unexpected(at)),
        }
    }
}

/// Whether `text` contains `expected` at offset `at`. Compares in wide blocks, because books can be
/// megabytes long and mostly stay the same.
pub fn matches_at(text: &[u8], at: usize, expected: &[u8]) -> bool {
    let Some(found) = text.get(at..).and_then(|rest| rest.get(..expected.len())) else {
        return false;
    };
    let word = |bytes: &[u8; 32], at: usize| {
        bytes[at..].first_chunk().map_or(0, |eight| u64::from_le_bytes(*eight))
    };
    let (one, one_rest) = found.as_chunks::<32>();
    let (other, other_rest) = expected.as_chunks::<32>();
    let differ = |(one, other): (&[u8; 32], &[u8; 32])| {
        [0, 8, 16, 24].iter().fold(0, |found, &at| found | (word(one, at) ^ word(other, at)))
    };
    one.iter().zip(other).all(|pair| differ(pair) == 0) && one_rest == other_rest
}

fn byte(text: &[u8], at: usize) -> Result<u8, SyntaxError> {
    text.get(at).copied().ok_or(SyntaxError::Ends)
}
