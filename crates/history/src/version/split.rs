//! Splits a file into pieces that change one at a time: messages, entries, chunks.
//!
//! Concatenating the pieces always gives the exact file, whatever it contains; understanding the
//! format only leads to better pieces. A piece begins with the separator before it, so that
//! appending one leaves the others unchanged.

use std::ops::Range;

use forklore_json::scan::{skip_whitespace, string_end, value_end};
use memchr::{memchr_iter, memmem};

use crate::file::FileKind;

/// How many pieces can be numbered.
pub const MOST: u32 = 1_000_000;

/// How pieces are numbered. It also decides which folder they are stored in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Numbering {
    /// Messages, numbered as in SillyTavern.
    Messages,
    /// Entries of a lorebook, by their key.
    Entries,
    /// By their position in the file.
    #[default]
    Places,
}

/// A file in pieces: a head, numbered pieces, and a tail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Split {
    pub numbering: Numbering,
    pub head: Range<usize>,
    /// In ascending order of their numbers.
    pub body: Vec<(u32, Range<usize>)>,
    pub tail: Range<usize>,
}

impl Numbering {
    /// The name of the tree that holds the pieces. It sorts after the head and before the tail.
    pub fn folder(self) -> &'static str {
        match self {
            Self::Messages => "m",
            Self::Entries => "e",
            Self::Places => "p",
        }
    }

    pub fn of_folder(name: &[u8]) -> Option<Self> {
        [Self::Messages, Self::Entries, Self::Places]
            .into_iter()
            .find(|numbering| numbering.folder().as_bytes() == name)
    }
}

pub fn split(kind: FileKind, bytes: &[u8]) -> Split {
    split_with(kind, bytes, &mut |_| {})
}

/// The same, and passes each message of a chat to `on_message` as soon as it is found, while it is
/// still in the processor's cache.
pub fn split_with(kind: FileKind, bytes: &[u8], on_message: &mut dyn FnMut(&[u8])) -> Split {
    match kind {
        FileKind::Chat => lines(bytes, on_message),
        FileKind::Book => {
            entries(bytes).or_else(|| entries_in_any_layout(bytes)).unwrap_or_else(|| whole(bytes))
        }
        FileKind::Card => chunks(bytes).unwrap_or_else(|| whole(bytes)),
        FileKind::Group | FileKind::Settings => fields(bytes),
    }
}

fn whole(bytes: &[u8]) -> Split {
    let end = bytes.len();
    Split { numbering: Numbering::Places, head: 0..end, body: Vec::new(), tail: end..end }
}

/// The pieces that begin at `starts`; the last one ends at `end`.
fn pieces(bytes: &[u8], numbering: Numbering, starts: Vec<(u32, usize)>, end: usize) -> Split {
    let ends = starts.iter().skip(1).map(|(_, start)| *start).chain([end]);
    let body: Vec<_> =
        starts.iter().zip(ends).map(|((number, start), end)| (*number, *start..end)).collect();
    let head = 0..body.first().map_or(end, |(_, range)| range.start);
    Split { numbering, head, body, tail: end..bytes.len() }
}

/// The first line is the head, and every other line is a message.
fn lines(bytes: &[u8], on_message: &mut dyn FnMut(&[u8])) -> Split {
    let mut starts: Vec<(u32, usize)> = Vec::new();
    let mut end = bytes.len();
    for (number, start) in (0..).zip(memchr_iter(b'\n', bytes)) {
        if let Some((_, before)) = starts.last() {
            on_message(&bytes[*before..start]);
        }
        if number == MOST {
            end = start;
            break;
        }
        starts.push((number, start));
    }
    if let Some((_, last)) = starts.last().filter(|_| end == bytes.len()) {
        on_message(&bytes[*last..]);
    }
    pieces(bytes, Numbering::Messages, starts, end)
}

/// The entries of a lorebook as SillyTavern writes it, indented by four spaces. JSON strings
/// contain no newline, so everything that looks like the beginning of an entry is one.
fn entries(bytes: &[u8]) -> Option<Split> {
    const BEGIN: &[u8] = b"\n    \"entries\": {";
    const END: &[u8] = b"\n    }";
    let begin = memmem::find(bytes, BEGIN)? + BEGIN.len();
    let end = begin + memmem::find(&bytes[begin..], END)?;
    let mut starts = Vec::new();
    for at in memmem::find_iter(&bytes[begin..end], b"\n        \"") {
        let at = begin + at;
        let number = number_of(&bytes[at + 10..end])?;
        let rises = starts.last().is_none_or(|(last, _)| *last < number);
        if !rises {
            return None;
        }
        let comma = usize::from(at > begin && bytes[at - 1] == b',');
        starts.push((number, at - comma));
    }
    Some(pieces(bytes, Numbering::Entries, starts, end))
}

/// Parses the key at the beginning of `text`.
fn number_of(text: &[u8]) -> Option<u32> {
    let digits = text.iter().take(7).position(|byte| !byte.is_ascii_digit())?;
    let is_plain = digits == 1 || digits > 1 && text[0] != b'0';
    if !is_plain || text.get(digits) != Some(&b'"') {
        return None;
    }
    let number = std::str::from_utf8(&text[..digits]).ok()?.parse().ok()?;
    (number < MOST).then_some(number)
}

/// The entries of a lorebook in any other layout. If the keys are not numbers in ascending order,
/// the entries are counted instead.
fn entries_in_any_layout(bytes: &[u8]) -> Option<Split> {
    let begin = entries_begin(bytes)?;
    let mut starts: Vec<(Option<u32>, usize)> = Vec::new();
    let mut start = begin + 1;
    loop {
        let key = skip_whitespace(bytes, if starts.is_empty() { start } else { start + 1 });
        if starts.is_empty() && bytes.get(key) == Some(&b'}') {
            break;
        }
        let end = member_end(bytes, key)?;
        starts.push((number_of(bytes.get(key + 1..)?), start));
        start = end;
        match bytes.get(skip_whitespace(bytes, end))? {
            b',' => start = skip_whitespace(bytes, end),
            b'}' => break,
            _ => return None,
        }
    }
    if starts.len() > MOST as usize {
        return None;
    }
    let numbers: Vec<Option<u32>> = starts.iter().map(|(number, _)| *number).collect();
    let rise = numbers.iter().all(Option::is_some) && numbers.is_sorted_by(|a, b| a < b);
    let numbering = if rise { Numbering::Entries } else { Numbering::Places };
    let starts = (0..)
        .zip(starts)
        .map(|(place, (number, start))| (number.filter(|_| rise).unwrap_or(place), start))
        .collect();
    Some(pieces(bytes, numbering, starts, start))
}

/// Where the value of the first `entries` key begins, if it is an object.
fn entries_begin(bytes: &[u8]) -> Option<usize> {
    const BOM: &[u8] = b"\xEF\xBB\xBF";
    let mut at = if bytes.starts_with(BOM) { BOM.len() } else { 0 };
    at = skip_whitespace(bytes, at);
    if bytes.get(at) != Some(&b'{') {
        return None;
    }
    loop {
        let key = skip_whitespace(bytes, at + 1);
        if bytes.get(key) != Some(&b'"') {
            return None;
        }
        let end = string_end(bytes, key).ok()?;
        let value = value_begin(bytes, end)?;
        if &bytes[key..end] == b"\"entries\"" {
            return (bytes.get(value) == Some(&b'{')).then_some(value);
        }
        at = skip_whitespace(bytes, value_end(bytes, value).ok()?);
        if bytes.get(at) != Some(&b',') {
            return None;
        }
    }
}

/// Where the value begins whose key ends at `key_end`.
fn value_begin(bytes: &[u8], key_end: usize) -> Option<usize> {
    let colon = skip_whitespace(bytes, key_end);
    (bytes.get(colon) == Some(&b':')).then(|| skip_whitespace(bytes, colon + 1))
}

fn member_end(bytes: &[u8], key: usize) -> Option<usize> {
    if bytes.get(key) != Some(&b'"') {
        return None;
    }
    let value = value_begin(bytes, string_end(bytes, key).ok()?)?;
    value_end(bytes, value).ok()
}

/// The fields of a JSON object as SillyTavern writes it. It need not be valid: a piece starts at
/// every newline followed by four spaces and a quote.
fn fields(bytes: &[u8]) -> Split {
    let mut starts: Vec<(u32, usize)> = Vec::new();
    for (number, at) in (0..MOST).zip(memmem::find_iter(bytes, b"\n    \"")) {
        let comma = usize::from(at > 0 && bytes[at - 1] == b',');
        starts.push((number, at - comma));
    }
    pieces(bytes, Numbering::Places, starts, bytes.len())
}

/// The chunks of a PNG: text and image are separate pieces, so that editing a card does not store
/// its image again.
fn chunks(bytes: &[u8]) -> Option<Split> {
    const SIGNATURE: &[u8] = b"\x89PNG\r\n\x1a\n";
    if !bytes.starts_with(SIGNATURE) {
        return None;
    }
    let mut starts = Vec::new();
    let mut at = SIGNATURE.len();
    while let Some(length) = bytes.get(at..).and_then(<[u8]>::first_chunk::<4>) {
        if starts.len() == MOST as usize {
            break;
        }
        starts.push((starts.len() as u32, at));
        // Length, type and checksum.
        let length = u32::from_be_bytes(*length) as usize + 12;
        at = at.saturating_add(length).min(bytes.len());
    }
    Some(pieces(bytes, Numbering::Places, starts, at))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(bytes: &[u8], split: &Split) -> Vec<u8> {
        let body = split.body.iter().map(|(_, range)| range);
        let ranges = std::iter::once(&split.head).chain(body).chain([&split.tail]);
        ranges.flat_map(|range| &bytes[range.clone()]).copied().collect()
    }

    fn shown(kind: FileKind, bytes: &[u8]) -> Vec<String> {
        let split = split(kind, bytes);
        assert_eq!(sum(bytes, &split), bytes);
        let text =
            |range: &Range<usize>| String::from_utf8_lossy(&bytes[range.clone()]).into_owned();
        let folder = split.numbering.folder();
        let body =
            split.body.iter().map(|(number, range)| format!("{folder}{number}={}", text(range)));
        std::iter::once(text(&split.head)).chain(body).chain([text(&split.tail)]).collect()
    }

    #[test]
    fn a_chat_is_lines_that_begin_with_their_newline() {
        assert_eq!(shown(FileKind::Chat, b"h\na\n\nb"), ["h", "m0=\na", "m1=\n", "m2=\nb", ""]);
        assert_eq!(shown(FileKind::Chat, b"h\r\na\r\n"), ["h\r", "m0=\na\r", "m1=\n", ""]);
        assert_eq!(shown(FileKind::Chat, b""), ["", ""]);
        assert_eq!(shown(FileKind::Chat, b"\n"), ["", "m0=\n", ""]);
    }

    #[test]
    fn a_book_is_entries_by_their_keys() {
        let book = b"{\n    \"entries\": {\n        \"0\": {\n            \"uid\": 0\n        },\n        \"12\": {}\n    },\n    \"x\": {\n        \"7\": 1\n    }\n}";
        let expected = [
            "{\n    \"entries\": {",
            "e0=\n        \"0\": {\n            \"uid\": 0\n        }",
            "e12=,\n        \"12\": {}",
            "\n    },\n    \"x\": {\n        \"7\": 1\n    }\n}",
        ];
        assert_eq!(shown(FileKind::Book, book), expected);
        assert_eq!(
            shown(FileKind::Book, b"{\n    \"entries\": {}\n}"),
            ["{\n    \"entries\": {", "}\n}"]
        );
    }

    #[test]
    fn a_book_written_in_another_way_is_entries_too() {
        assert_eq!(
            shown(
                FileKind::Book,
                b"{\"a\":1, \"entries\": { \"3\":{\"x\":\"},\"} ,\"7\":{} }, \"z\":0}"
            ),
            [
                "{\"a\":1, \"entries\": {",
                "e3= \"3\":{\"x\":\"},\"} ",
                "e7=,\"7\":{}",
                " }, \"z\":0}"
            ]
        );
        assert_eq!(
            shown(FileKind::Book, b"{\"entries\":{\"7\":{},\"3\":{},\"07\":1}}"),
            ["{\"entries\":{", "p0=\"7\":{}", "p1=,\"3\":{}", "p2=,\"07\":1", "}}"]
        );
        assert_eq!(shown(FileKind::Book, b"{\"entries\":{}}"), ["{\"entries\":{", "}}"]);
        for broken in [&b"{\"entries\":[1]}"[..], b"{\"entries\":{\"1\":{}", b"null", b"", b"\xff"]
        {
            assert_eq!(shown(FileKind::Book, broken), [&String::from_utf8_lossy(broken), ""]);
        }
    }

    #[test]
    fn settings_are_fields_and_a_card_is_chunks() {
        assert_eq!(
            shown(
                FileKind::Settings,
                b"{\n    \"a\": {\n        \"x\": 1\n    },\n    \"b\": 2\n}"
            ),
            ["{", "p0=\n    \"a\": {\n        \"x\": 1\n    }", "p1=,\n    \"b\": 2\n}", ""]
        );
        let png = b"\x89PNG\r\n\x1a\n\0\0\0\x02tEXtabcrc!\0\0\0\x00IENDcrc!rest";
        let pieces = split(FileKind::Card, png);
        assert_eq!(sum(png, &pieces), png);
        assert_eq!(pieces.body.len(), 3);
        assert_eq!(split(FileKind::Card, b"GIF").head, 0..3);
    }

    #[test]
    fn each_message_is_shown_once() {
        for text in ["", "h", "h\na", "h\na\n\nb", "\n\n", "h\r\na\r\n"] {
            let mut seen: Vec<Vec<u8>> = Vec::new();
            let on_message = &mut |piece: &[u8]| seen.push(piece.to_vec());
            let pieces = split_with(FileKind::Chat, text.as_bytes(), on_message);
            let body = pieces.body.into_iter().map(|(_, range)| text.as_bytes()[range].to_vec());
            assert_eq!(seen, body.collect::<Vec<_>>());
        }
    }

    #[test]
    fn whatever_it_is_it_is_the_sum_of_its_pieces() {
        let mut random = fastrand::Rng::with_seed(5);
        let words =
            ["\n", "    ", "\"", "entries", ": {", "}", ",", "1", "\\", "{", "\u{e9}", "\0"];
        for _ in 0..20_000 {
            let text: String =
                (0..random.usize(..40)).map(|_| *random.choice(&words).unwrap()).collect();
            for kind in FileKind::ALL {
                let pieces = split(kind, text.as_bytes());
                assert_eq!(sum(text.as_bytes(), &pieces), text.as_bytes());
                assert!(pieces.body.is_sorted_by(|a, b| a.0 < b.0));
            }
        }
    }
}
