//! Finds where a JSON value ends, accepting exactly what `JSON.parse` accepts.

use memchr::memchr2;

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

pub(crate) fn is_whitespace(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

pub(super) fn skip_whitespace(text: &[u8], mut at: usize) -> usize {
    while text.get(at).copied().is_some_and(is_whitespace) {
        at += 1;
    }
    at
}

/// Returns the offset after the value that begins at `start` (no leading whitespace).
pub(super) fn value_end(text: &[u8], start: usize) -> Result<usize, SyntaxError> {
    value_end_with(text, start, skip_whitespace)
}

/// Returns the offset of the end of a line that is one JSON value, so that a chat can be read in
/// one pass: its lines need not be found before they are understood.
pub(crate) fn line_end(text: &[u8], start: usize) -> Result<usize, SyntaxError> {
    let begin = skip_in_line(text, start);
    let end = skip_in_line(text, value_end_with(text, begin, skip_in_line)?);
    match text.get(end) {
        None | Some(b'\n') => Ok(end),
        Some(_) => Err(SyntaxError::Unexpected(end)),
    }
}

fn skip_in_line(text: &[u8], mut at: usize) -> usize {
    while matches!(text.get(at), Some(b' ' | b'\t' | b'\r')) {
        at += 1;
    }
    at
}

/// A loop with its own stack instead of recursion: chats nested 100,000 deep exist, if only
/// because someone sent them.
fn value_end_with(
    text: &[u8],
    start: usize,
    skip_whitespace: impl Fn(&[u8], usize) -> usize,
) -> Result<usize, SyntaxError> {
    let mut open: Vec<u8> = Vec::new();
    let mut at = start;
    loop {
        // Here a value is expected.
        match byte(text, at)? {
            b'"' => at = string_end(text, at)?,
            b'{' => {
                at = skip_whitespace(text, at + 1);
                if byte(text, at)? == b'}' {
                    at += 1;
                } else {
                    open.push(b'{');
                    at = key_end(text, at, &skip_whitespace)?;
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
                    at = key_end(text, skip_whitespace(text, at + 1), &skip_whitespace)?;
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
fn key_end(
    text: &[u8],
    at: usize,
    skip_whitespace: &impl Fn(&[u8], usize) -> usize,
) -> Result<usize, SyntaxError> {
    if byte(text, at)? != b'"' {
        return Err(SyntaxError::Unexpected(at));
    }
    let colon = skip_whitespace(text, string_end(text, at)?);
    if byte(text, colon)? != b':' {
        return Err(SyntaxError::Unexpected(colon));
    }
    Ok(skip_whitespace(text, colon + 1))
}

/// Returns the offset after the closing quote of the string that begins at `start`.
///
/// Bytes of 0x80 and more pass unchecked: SillyTavern decodes files leniently, so invalid UTF-8
/// inside a string is a readable string to it, and must be one to us.
pub(super) fn string_end(text: &[u8], start: usize) -> Result<usize, SyntaxError> {
    let mut at = start + 1;
    loop {
        at = plain_end(text, at);
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

/// Returns the offset of the first byte from `at` on that is not plain string content.
///
/// Most of a chat is the inside of strings, so this is where its time goes: one wide search for
/// the end, and one pass without an early exit, which the compiler makes wide, for what must not
/// be in between.
fn plain_end(text: &[u8], at: usize) -> usize {
    let Some(rest) = text.get(at..) else { return at };
    let stop = memchr2(b'"', b'\\', rest).unwrap_or(rest.len());
    let plain = &rest[..stop];
    if plain.iter().fold(u8::MAX, |lowest, &byte| lowest.min(byte)) >= 0x20 {
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

fn byte(text: &[u8], at: usize) -> Result<u8, SyntaxError> {
    text.get(at).copied().ok_or(SyntaxError::Ends)
}
