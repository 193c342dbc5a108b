//! Reads a book in one pass: nearly all of it is its entries, and each is needed.

use forklore_json::scan::{SyntaxError, holds, object_end, skip_whitespace, string_end, value_end};

use super::Entry;
use forklore_json::{Member, Raw};

pub(super) struct FoundEntry<'a> {
    pub(super) root: Raw<'a>,
    pub(super) fields: Vec<Member<'a>>,
    /// `None` where there are none, or something else in their place.
    pub(super) entries_raw: Option<Raw<'a>>,
    pub(super) entries: Vec<Entry<'a>>,
}

/// `known` are entries of a book that may be much the same.
pub(super) fn read<'a>(text: &'a [u8], known: &[Entry<'_>]) -> Result<FoundEntry<'a>, SyntaxError> {
    let start = skip_whitespace(text, 0);
    if text.get(start) != Some(&b'{') {
        let root = Raw::document(text)?;
        return Ok(FoundEntry { root, fields: Vec::new(), entries_raw: None, entries: Vec::new() });
    }
    let (mut fields, mut entries, mut entries_raw) = (Vec::new(), Vec::new(), None);
    let end = members(text, start, |key, start| {
        let is_entries = key.is_text("entries");
        let end = if is_entries && text.get(start) == Some(&b'{') {
            // Of duplicates the last counts.
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
    Ok(FoundEntry { root: Raw::checked(text, start, end), fields, entries_raw, entries })
}

fn read_entries<'a>(
    text: &'a [u8],
    start: usize,
    known: &[Entry<'_>],
    entries: &mut Vec<Entry<'a>>,
) -> Result<usize, SyntaxError> {
    let mut known = Known { rest: known };
    members(text, start, |key, start| {
        let entry = match known.same(text, key, start) {
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
    let noted = object_end(text, start, [b"uid", b"comment"])?;
    let value = Raw::checked(text, start, noted.end);
    if noted.has_escaped_key {
        return Ok(Entry { key, value, uid: value.get("uid"), comment: value.get("comment") });
    }
    let [uid, comment] =
        noted.values.map(|found| found.map(|(start, end)| Raw::checked(text, start, end)));
    Ok(Entry { key, value, uid, comment })
}

/// Entries of another book, in its order.
struct Known<'k, 'b> {
    rest: &'k [Entry<'b>],
}

impl Known<'_, '_> {
    /// How many entries may have come or gone between two that are the same.
    const NEAR: usize = 16;

    /// The entry that begins at `start`, if it is written as it is in the other book.
    fn same<'a>(&mut self, text: &'a [u8], key: Raw<'a>, start: usize) -> Option<Entry<'a>> {
        let place = self.rest.iter().take(Self::NEAR).position(|k| k.key.bytes() == key.bytes())?;
        let known = self.rest[place];
        self.rest = &self.rest[place + 1..];
        let written = known.value.bytes();
        // An object ends where it ends; a number could go on.
        if written.first() != Some(&b'{') || !holds(text, start, written) {
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

/// Steps through the members of the object that begins at `start`. `value` is given each key and
/// where its value begins, and says where that ends.
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
