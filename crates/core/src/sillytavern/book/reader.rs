//! Reads a book in one pass. Nearly all of a book is entries, and every entry is needed.

use forklore_json::scan::{
    SyntaxError, matches_at, object_end, skip_whitespace, string_end, value_end,
};

use super::Entry;
use forklore_json::{Member, Raw};

pub(super) struct ParsedBook<'a> {
    pub(super) root: Raw<'a>,
    pub(super) fields: Vec<Member<'a>>,
    /// `None` if `entries` is missing or not an object.
    pub(super) entries_raw: Option<Raw<'a>>,
    pub(super) entries: Vec<Entry<'a>>,
}

/// `known` are the entries of another book, which may be largely the same.
pub(super) fn read<'a>(text: &'a [u8], known: &[Entry<'_>]) -> Result<ParsedBook<'a>, SyntaxError> {
    let start = skip_whitespace(text, 0);
    if text.get(start) != Some(&b'{') {
        let root = Raw::document(text)?;
        return Ok(ParsedBook { root, fields: Vec::new(), entries_raw: None, entries: Vec::new() });
    }
    let (mut fields, mut entries, mut entries_raw) = (Vec::new(), Vec::new(), None);
    let end = members(text, start, |key, start| {
        let is_entries = key.is_text("entries");
        let end = if is_entries && text.get(start) == Some(&b'{') {
            // The last of several duplicates wins.
            entries.clear();
            read_entries(text, start, known, &mut entries)?
        } else {
            value_end(text, start)?
        };
        let value = Raw::checked(text, start, end);
        if is_entries {
            entries_raw = (text[start] == b'{').then_some(value);
        }
        fields.push(Member { key, value });
        Ok(end)
    })?;
    let after = skip_whitespace(text, end);
    if after != text.len() {
        return Err(SyntaxError::Unexpected(after));
    }
    Ok(ParsedBook { root: Raw::checked(text, start, end), fields, entries_raw, entries })
}

fn read_entries<'a>(
    text: &'a [u8],
    start: usize,
    known: &[Entry<'_>],
    entries: &mut Vec<Entry<'a>>,
) -> Result<usize, SyntaxError> {
    let mut known = KnownEntries { rest: known };
    members(text, start, |key, start| {
        let entry = match known.take_identical(text, key, start) {
            Some(entry) => entry,
            None => read_entry(text, key, start)?,
        };
        entries.push(entry);
        Ok(entry.value.range().end)
    })
}

fn read_entry<'a>(text: &'a [u8], key: Raw<'a>, start: usize) -> Result<Entry<'a>, SyntaxError> {
    if text.get(start) != Some(&b'{') {
        let value = Raw::checked(text, start, value_end(text, start)?);
        return Ok(Entry { key, value, uid: None, comment: None });
    }
    let spans = object_end(text, start, [b"uid", b"comment"])?;
    let value = Raw::checked(text, start, spans.end);
    if spans.has_escaped_key {
        return Ok(Entry { key, value, uid: value.get("uid"), comment: value.get("comment") });
    }
    let [uid, comment] =
        spans.values.map(|found| found.map(|(start, end)| Raw::checked(text, start, end)));
    Ok(Entry { key, value, uid, comment })
}

/// The entries of another book, in its order, that have not been matched yet.
struct KnownEntries<'k, 'b> {
    rest: &'k [Entry<'b>],
}

impl KnownEntries<'_, '_> {
    /// How many known entries to search for a key.
    const WINDOW: usize = 16;

    /// The entry whose value begins at `start`, if it is byte-identical to the known one.
    fn take_identical<'a>(
        &mut self,
        text: &'a [u8],
        key: Raw<'a>,
        start: usize,
    ) -> Option<Entry<'a>> {
        let mut near = self.rest.iter().take(Self::WINDOW);
        let place = near.position(|known| known.key.bytes() == key.bytes())?;
        let known = self.rest[place];
        self.rest = &self.rest[place + 1..];
        let written = known.value.bytes();
        // Only an object is sure to end here; a number could continue.
        if written.first() != Some(&b'{') || !matches_at(text, start, written) {
            return None;
        }
        let there = known.value.range().start;
        let here = |value: Raw<'_>| {
            let range = value.range();
            Raw::checked(text, range.start - there + start, range.end - there + start)
        };
        Some(Entry {
            key,
            value: here(known.value),
            uid: known.uid.map(here),
            comment: known.comment.map(here),
        })
    }
}

/// Steps through the members of the object that begins at `start`, and returns the offset after it.
/// `value` gets each key with the offset of its value, and returns the offset after that value.
fn members<'a>(
    text: &'a [u8],
    start: usize,
    mut value: impl FnMut(Raw<'a>, usize) -> Result<usize, SyntaxError>,
) -> Result<usize, SyntaxError> {
    let byte = |at: usize| text.get(at).copied().ok_or(SyntaxError::Ends);
    let mut at = skip_whitespace(text, start + 1);
    if byte(at)? == b'}' {
        return Ok(at + 1);
    }
    loop {
        if byte(at)? != b'"' {
            return Err(SyntaxError::Unexpected(at));
        }
        let key = Raw::checked(text, at, string_end(text, at)?);
        let colon = skip_whitespace(text, key.range().end);
        if byte(colon)? != b':' {
            return Err(SyntaxError::Unexpected(colon));
        }
        let end = value(key, skip_whitespace(text, colon + 1))?;
        at = skip_whitespace(text, end);
        match byte(at)? {
            b',' => at = skip_whitespace(text, at + 1),
            b'}' => return Ok(at + 1),
            _ => return Err(SyntaxError::Unexpected(at)),
        }
    }
}
