//! Summarises a change to a file, from the pieces that differ.

use std::collections::BTreeMap;
use std::ops::Range;

use forklore_core::compare::change_summary::{
    self, BookWindow, ChangeSummary, ChatWindow, EntryChange,
};
use forklore_core::sillytavern::book::Book;
use forklore_json::Raw;
use forklore_json::scan::{skip_whitespace, string_end, value_end};
use rustc_hash::FxHashSet;

use crate::error::Result;
use crate::file::FileKind;
use crate::git::object::{self, Id, id_of};
use crate::store::Writing;
use crate::version::split::Numbering;
use crate::version::tracked::{ComparedFile, Tracked, TrackedPiece};

/// How many changed pieces are read at most. Beyond that, reading more would not improve the
/// summary.
const MOST: usize = 400;

/// Describes a version relative to the one before it.
pub struct Summary {
    pub words: String,
    pub collapse: Option<String>,
    /// Messages or entries.
    pub count: Option<u64>,
}

/// `before` is the previous version; `None` for the first.
pub fn describe(
    writing: &Writing<'_, '_>,
    kind: FileKind,
    before: Option<&Tracked>,
    now: &ComparedFile<'_>,
) -> Result<Summary> {
    let (change, count) = match (kind, before) {
        (FileKind::Chat, Some(before)) => in_chat(writing, before, now)?,
        (FileKind::Chat, None) => {
            let lines = line_count(now);
            let last = now.split.body.last().map_or(&now.split.head, |(_, range)| range);
            let last = without_newline(&now.bytes[last.clone()]);
            (change_summary::first_chat(lines, last), lines.saturating_sub(1))
        }
        (FileKind::Book, Some(before)) => in_book(writing, before, now)?,
        (FileKind::Book, None) => {
            (change_summary::first_book(now.split.body.len()), now.split.body.len())
        }
        _ => return plain(writing, kind, before, now),
    };
    let collapse = change.collapse.map(|collapse| collapse.code());
    Ok(Summary { words: change.words, collapse, count: Some(count as u64) })
}

fn plain(
    writing: &Writing<'_, '_>,
    kind: FileKind,
    before: Option<&Tracked>,
    now: &ComparedFile<'_>,
) -> Result<Summary> {
    let (what, is_readable) = match kind {
        FileKind::Card => ("card".to_owned(), now.bytes.starts_with(b"\x89PNG")),
        FileKind::Group => (group_called(now.bytes), is_json(now.bytes)),
        _ => ("settings".to_owned(), is_json(now.bytes)),
    };
    let lost_fields = match before {
        Some(before) if is_readable && kind != FileKind::Card => lost_fields(writing, before, now)?,
        _ => None,
    };
    if let Some((change, collapse)) = lost_fields {
        let words = format!("{what} {change}");
        return Ok(Summary { words, collapse: Some(collapse.code()), count: None });
    }
    let words = match before {
        None => format!("{what} first seen"),
        Some(before) if is_readable && kind != FileKind::Card => {
            match changed_fields(writing, before, now)? {
                fields if fields.is_empty() => format!("{what} changed"),
                fields => format!("{what} changed: {fields}"),
            }
        }
        Some(_) if is_readable => format!("{what} changed"),
        Some(_) => format!("{what} can no longer be read"),
    };
    let collapse =
        (before.is_some() && !is_readable).then(|| change_summary::Collapse::Unreadable.code());
    Ok(Summary { words, collapse, count: None })
}

/// The file of a group is named after a number, so the name comes from its content.
fn group_called(json: &[u8]) -> String {
    let name = Raw::document(json).ok().and_then(|group| group.get("name")?.text());
    name.map_or_else(|| "group".to_owned(), |name| format!("group {name:?}"))
}

/// Whether most fields of a JSON object are gone, and how to describe that.
fn lost_fields(
    writing: &Writing<'_, '_>,
    before: &Tracked,
    now: &ComparedFile<'_>,
) -> Result<Option<(String, change_summary::Collapse)>> {
    let had = match before.body.pieces().len() {
        // Not laid out the way SillyTavern does it.
        0 => fields(&read_piece(writing, before.head.map(|piece| piece.id))?),
        pieces => pieces,
    };
    Ok(change_summary::in_fields(had, fields(now.bytes)))
}

/// The number of fields in a JSON object.
fn fields(json: &[u8]) -> usize {
    Raw::document(json).map_or(0, |object| object.members().count())
}

/// The names of fields that are new or have a new value. Names with unusual characters are left
/// out.
fn changed_fields(
    writing: &Writing<'_, '_>,
    before: &Tracked,
    now: &ComparedFile<'_>,
) -> Result<String> {
    const MOST_NAMED: usize = 3;
    let old = before.body.pieces();
    let mut known: FxHashSet<Id> = old.iter().map(|(_, id)| *id).collect();
    // The piece of the last field includes the end of the file, and another field may be the last
    // one now.
    let last = read_piece(writing, old.last().map(|(_, id)| *id))?;
    known.insert(id_of(object::Kind::Blob, without_end(&last))?);
    let mut names = Vec::new();
    for ((_, id), (_, range)) in now.now.body.pieces().iter().zip(&now.split.body) {
        let piece = &now.bytes[range.clone()];
        let is_known = known.contains(id)
            || range.end == now.split.tail.start
                && known.contains(&id_of(object::Kind::Blob, without_end(piece))?);
        names.extend(field_name(piece).filter(|_| !is_known));
    }
    let shown = names[..names.len().min(MOST_NAMED)].join(", ");
    Ok(match names.len().saturating_sub(MOST_NAMED) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    })
}

/// A field without the brace that ends the file.
fn without_end(piece: &[u8]) -> &[u8] {
    let piece = piece.trim_ascii_end();
    piece.strip_suffix(b"}").map_or(piece, <[u8]>::trim_ascii_end)
}

fn field_name(piece: &[u8]) -> Option<&str> {
    const LONGEST: usize = 40;
    let start = memchr::memchr(b'"', piece)? + 1;
    let name = &piece[start..start + memchr::memchr(b'"', &piece[start..])?];
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let is_plain = (1..=LONGEST).contains(&name.len()) && name.iter().all(is_name);
    std::str::from_utf8(name).ok().filter(|_| is_plain)
}

fn is_json(bytes: &[u8]) -> bool {
    let start = skip_whitespace(bytes, 0);
    value_end(bytes, start).is_ok_and(|end| skip_whitespace(bytes, end) == bytes.len())
}

fn without_newline(piece: &[u8]) -> &[u8] {
    piece.strip_prefix(b"\n").unwrap_or(piece)
}

/// A newline at the end does not start another line.
fn line_count(now: &ComparedFile<'_>) -> usize {
    let ends_in_newline = now.split.body.last().is_some_and(|(_, range)| range.len() == 1);
    match now.bytes {
        [] => 0,
        _ => 1 + now.split.body.len() - usize::from(ends_in_newline),
    }
}

fn in_chat(
    writing: &Writing<'_, '_>,
    before: &Tracked,
    now: &ComparedFile<'_>,
) -> Result<(ChangeSummary, usize)> {
    let old = before.body.pieces();
    let new = now.now.body.pieces();
    let prefix = old.iter().zip(new).take_while(|(old, new)| old.1 == new.1).count();
    let shorter = old.len().min(new.len()) - prefix;
    let (old_tail, new_tail) = (old.iter().rev(), new.iter().rev());
    let suffix = old_tail.zip(new_tail).take(shorter).take_while(|(o, n)| o.1 == n.1).count();
    let old_window = &old[prefix..old.len() - suffix];
    let new_window = &now.split.body[prefix..new.len() - suffix];
    let cut = old_window.len().max(new_window.len()) > MOST;

    let old_bytes = old_window.iter().take(MOST);
    let old_bytes: Vec<Vec<u8>> =
        old_bytes.map(|(_, id)| writing.read(id, object::Kind::Blob)).collect::<Result<_, _>>()?;
    let old_head = read_piece(writing, before.head.map(|piece| piece.id))?;
    let head = &now.bytes[now.split.head.clone()];
    let ended_in_newline = read_piece(writing, old.last().map(|(_, id)| *id))? == b"\n";
    let lines_before = match (before.head, old.len()) {
        (None, 0) => 0,
        (_, pieces) => 1 + pieces - usize::from(ended_in_newline),
    };
    let lines_after = line_count(now);
    let window = ChatWindow {
        lines_before,
        lines_after,
        first: prefix + 1,
        before: old_bytes
            .iter()
            .map(|line| without_newline(line))
            .take(lines_before.saturating_sub(prefix + 1))
            .collect(),
        after: new_window
            .iter()
            .take(MOST)
            .map(|(_, range)| without_newline(&now.bytes[range.clone()]))
            .take(lines_after.saturating_sub(prefix + 1))
            .collect(),
        cut,
        header: (old_head != head).then_some((old_head.as_slice(), head)),
    };
    Ok((change_summary::in_chat(&window), lines_after.saturating_sub(1)))
}

fn read_piece(writing: &Writing<'_, '_>, id: Option<Id>) -> Result<Vec<u8>> {
    id.map_or(Ok(Vec::new()), |id| writing.read(&id, object::Kind::Blob))
}

fn in_book(
    writing: &Writing<'_, '_>,
    before: &Tracked,
    now: &ComparedFile<'_>,
) -> Result<(ChangeSummary, usize)> {
    let old = before.body.pieces();
    let new = now.now.body.pieces();
    // By number: the old piece, and the position of the new one.
    let mut changed: BTreeMap<u32, (Option<Id>, Option<usize>)> = BTreeMap::new();
    // A book without entries has none to number.
    if before.numbering == now.now.numbering || old.is_empty() || new.is_empty() {
        changed.extend(old.iter().map(|(number, id)| (*number, (Some(*id), None))));
        for (at, (number, id)) in new.iter().enumerate() {
            changed.entry(*number).or_default().1 = Some(at);
            if changed[number].0 == Some(*id) {
                changed.remove(number);
            }
        }
    }
    let mut texts = Vec::new();
    for (number, (old, new)) in changed.into_iter().take(MOST) {
        texts.push((number, old.map(|id| read_piece(writing, Some(id))).transpose()?, new));
    }
    let changes = texts.iter().filter_map(|(number, old, new)| {
        let before = old.as_deref().map(value_of);
        let after = new.map(|at| value_of(&now.bytes[now.split.body[at].1.clone()]));
        // Only the separator or the whitespace may differ.
        let differs = before.map(without_whitespace) != after.map(without_whitespace);
        differs.then_some(EntryChange { number: *number, before, after })
    });
    let has_changed = |before: Option<TrackedPiece>,
                       after: Option<TrackedPiece>,
                       range: &Range<usize>|
     -> Result<_> {
        let (before, after) = (before.map(|piece| piece.id), after.map(|piece| piece.id));
        let is_same = before == after
            || without_whitespace(&read_piece(writing, before)?)
                == without_whitespace(&now.bytes[range.clone()]);
        Ok(!is_same)
    };
    let rest_changed = has_changed(before.head, now.now.head, &now.split.head)?
        || has_changed(before.tail, now.now.tail, &now.split.tail)?;
    let is_in_pieces = |tracked: &Tracked| {
        tracked.numbering == Numbering::Entries || !tracked.body.pieces().is_empty()
    };
    // The text around the entries is parsed only if it changed.
    let readable_before = is_in_pieces(before) || {
        let mut whole = read_piece(writing, before.head.map(|piece| piece.id))?;
        whole.extend(read_piece(writing, before.tail.map(|piece| piece.id))?);
        Book::read(&whole).is_ok()
    };
    let readable_after =
        if rest_changed || !is_in_pieces(&now.now) { Book::read(now.bytes).is_ok() } else { true };
    let window = BookWindow {
        entries_before: old.len(),
        entries_after: new.len(),
        changed: changes.collect(),
        rest_changed,
        readable_before,
        readable_after,
    };
    Ok((change_summary::in_book(&window), new.len()))
}

/// Removes the whitespace from JSON, or from a part of it that starts outside a string.
fn without_whitespace(json: &[u8]) -> Vec<u8> {
    let mut flat = Vec::with_capacity(json.len());
    let mut at = 0;
    while let Some(byte) = json.get(at) {
        let end = match byte {
            b'"' => string_end(json, at).unwrap_or(json.len()),
            _ => at + 1,
        };
        if !byte.is_ascii_whitespace() {
            flat.extend_from_slice(&json[at..end]);
        }
        at = end;
    }
    flat
}

/// The value of an entry, without the separator before it and without its key.
fn value_of(piece: &[u8]) -> &[u8] {
    let find = || {
        let key = memchr::memchr(b'"', piece)?;
        let end = skip_whitespace(piece, string_end(piece, key).ok()?);
        Some(&piece[skip_whitespace(piece, end + 1)..])
    };
    find().unwrap_or(piece)
}
