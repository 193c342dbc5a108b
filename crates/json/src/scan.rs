//! Finds where a JSON value ends, accepting exactly what `JSON.parse` accepts.
//!
//! Part of the core, and pure like it. It is a crate so that it can be compiled for speed in the page,
//! where the rest is compiled for size: whatever is read goes through here, byte by byte.

use alloc::vec::Vec;
use memchr::{memchr2, memchr3};

/// A text is not JSON from this byte on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SyntaxError {
    #[error("the text ends in the middle of a value")]
    Ends,
    #[error("unexpected byte at offset {0}")]
    Unexpected(usize),
    /// Only building values has a limit; looking at spans has none.
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

/// Returns the end of the line that begins at `start`, if it is one JSON value: so a chat can be
/// read in one pass, and its lines need not be found before they are understood.
pub fn line_end(text: &[u8], start: usize) -> Result<usize, SyntaxError> {
    // SillyTavern writes no byte below 0x20 but the newline between lines. Then a newline is the
    // only thing that can be wrong inside a string, and looking for it is cheap; that there was
    // nothing else is made sure of afterwards, while the line is still at hand.
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

/// Without an early exit, so that the compiler makes the comparisons wide.
fn is_plain(line: &[u8]) -> bool {
    line.iter().fold(u8::MAX, |lowest, &byte| lowest.min(byte)) >= 0x20
}

/// What differs between a document and a line of a chat.
trait Rules {
    fn skip_whitespace(&self, text: &[u8], at: usize) -> usize;

    /// Returns the offset of the first byte from `at` on that is not plain string content. Most
    /// of a chat is the inside of strings, so this is where its time goes.
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
            Short::Ends(end) => end,
            Short::GoesOn(at) => {
                let rest = text.get(at..).unwrap_or_default();
                at + memchr3(b'"', b'\\', b'\n', rest).unwrap_or(rest.len())
            }
        }
    }
}

/// The beginning of a string, looked at eight bytes at a time.
enum Short {
    Ends(usize),
    GoesOn(usize),
}

/// In a browser there is no wider search that would be worth changing to.
const LOOKS: usize = if cfg!(target_family = "wasm") { usize::MAX } else { 2 };

/// Keys are short, and most of a book is keys: two looks at eight bytes are over before a search
/// has begun. `special` sets the highest bit of bytes that end plain content.
fn short_end(text: &[u8], mut at: usize, special: impl Fn(u64) -> u64) -> Short {
    for _ in 0..LOOKS {
        let Some(eight) = text.get(at..).and_then(<[u8]>::first_chunk::<8>) else { break };
        let found = special(u64::from_le_bytes(*eight));
        if found != 0 {
            return Short::Ends(at + found.trailing_zeros() as usize / 8);
        }
        at += 8;
    }
    Short::GoesOn(at)
}

const fn each(byte: u8) -> u64 {
    u64::from_le_bytes([byte; 8])
}

/// Sets the highest bit of bytes that are zero. Subtracting one borrows into it only there; what
/// the borrow spoils lies above the first such byte, where nobody looks.
fn zeros(eight: u64) -> u64 {
    eight.wrapping_sub(each(1)) & !eight & each(0x80)
}

/// The same for bytes below 0x20.
fn controls(eight: u64) -> u64 {
    eight.wrapping_sub(each(0x20)) & !eight & each(0x80)
}

/// A loop with its own stack instead of recursion: chats nested 100,000 deep exist, if only
/// because someone sent them.
fn value_end_by(text: &[u8], start: usize, rules: &impl Rules) -> Result<usize, SyntaxError> {
    let skip_whitespace = |text: &[u8], at: usize| rules.skip_whitespace(text, at);
    let mut open: Vec<u8> = Vec::new();
    let mut at = start;
    loop {
        // Here a value is expected.
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
        // Here a value has just ended.
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

/// Skips `"key" :` and the whitespace around it, to where the member's value begins.
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

/// Bytes of 0x80 and more pass unchecked: SillyTavern decodes files leniently, so invalid UTF-8
/// inside a string is a readable string to it, and must be one to us.
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

/// One wide search for the end, and one pass without an early exit, which the compiler makes wide,
/// for what must not be in between.
fn plain_end(text: &[u8], at: usize) -> usize {
    let at = match short_end(text, at, |eight| {
        zeros(eight ^ each(b'"')) | zeros(eight ^ each(b'\\')) | controls(eight)
    }) {
        Short::Ends(end) => return end,
        Short::GoesOn(at) => at,
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

/// Where an object ends, and where in it the values of two members are, by their keys as they are
/// written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Noted {
    pub end: usize,
    pub values: [Option<(usize, usize)>; 2],
    /// A key is written with an escape, so that it may be one of the wanted ones all the same.
    pub has_escaped_key: bool,
}

/// Returns the offset after the object that begins at `start`, noting members on the way: of
/// duplicates the last, as JavaScript does.
pub fn object_end(text: &[u8], start: usize, wanted: [&[u8]; 2]) -> Result<Noted, SyntaxError> {
    let mut noted = Noted::default();
    let mut at = skip_whitespace(text, start + 1);
    if byte(text, at)? == b'}' {
        return Ok(Noted { end: at + 1, ..noted });
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
        for (wanted, place) in wanted.iter().zip(&mut noted.values) {
            if key == *wanted {
                *place = Some((value, end));
            }
            // An escape can stand for any letter, so only a key that begins alike can be meant.
            noted.has_escaped_key |= (key.first() == wanted.first() || key.first() == Some(&b'\\'))
                && key.contains(&b'\\');
        }
        at = skip_whitespace(text, end);
        match byte(text, at)? {
            b',' => at = skip_whitespace(text, at + 1),
            b'}' => return Ok(Noted { end: at + 1, ..noted }),
            _ => return Err(SyntaxError::Unexpected(at)),
        }
    }
}

/// Whether `text` holds `expected` at this place. Many bytes at a time, because books of megabytes
/// are mostly the same as they were.
pub fn holds(text: &[u8], at: usize, expected: &[u8]) -> bool {
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
