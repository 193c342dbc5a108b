//! System calls, parsed from the output of `strace -f -y -xx`.

use std::collections::HashMap;
use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

/// One call of one thread. Because of `-xx`, strings contain no commas, quotes or brackets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Call<'t> {
    pub(super) pid: u32,
    pub(super) name: &'t str,
    pub(super) args: Vec<String>,
    result: String,
}

/// The start or end of a call; others may happen in between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    Begin(usize),
    End(usize),
}

/// A descriptor, with its path at the time of the call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Descriptor {
    pub(super) number: i32,
    pub(super) path: Option<PathBuf>,
    /// The file has no name any more, or never had one.
    pub(super) is_nameless: bool,
}

const UNFINISHED: &str = " <unfinished ...>";

/// All calls, and the order in which they began and ended. Calls that never ended are omitted.
pub(super) fn read(text: &str) -> io::Result<(Vec<Call<'_>>, Vec<Event>)> {
    let mut calls = Vec::new();
    let mut events = Vec::new();
    let mut open: HashMap<u32, (usize, &str)> = HashMap::new();
    for line in text.lines() {
        let (pid, rest) = line.split_once(' ').ok_or_else(|| misread(line))?;
        let pid: u32 = pid.parse().map_err(|_| misread(line))?;
        let rest = rest.trim_start();
        if rest.starts_with("---") || rest.starts_with("+++") {
            continue;
        }
        if let Some(begun) = rest.strip_suffix(UNFINISHED) {
            open.insert(pid, (events.len(), begun));
            events.push(None);
            continue;
        }
        let (begin, whole) = match rest.strip_prefix("<... ") {
            Some(resumed) => {
                let (_, end) = resumed.split_once(" resumed>").ok_or_else(|| misread(line))?;
                let (begin, begun) = open.remove(&pid).ok_or_else(|| misread(line))?;
                (begin, (begun, end))
            }
            None => {
                events.push(None);
                (events.len() - 1, (rest, ""))
            }
        };
        let Some(call) = parse(pid, whole).ok_or_else(|| misread(line))? else { continue };
        events[begin] = Some(Event::Begin(calls.len()));
        events.push(Some(Event::End(calls.len())));
        calls.push(call);
    }
    Ok((calls, events.into_iter().flatten().collect()))
}

/// `Some(None)` for a call that did not return.
fn parse<'t>(pid: u32, (begun, end): (&'t str, &str)) -> Option<Option<Call<'t>>> {
    let (name, first) = begun.split_once('(')?;
    let whole = format!("{first}{end}");
    let (args, rest) = split(&whole)?;
    let result = rest.trim_start().strip_prefix("= ")?.to_owned();
    if result.starts_with('?') {
        return Some(None);
    }
    let args = args.into_iter().map(str::to_owned).collect();
    Some(Some(Call { pid, name, args, result }))
}

/// Splits at the commas outside brackets, up to the closing parenthesis of the call.
fn split(text: &str) -> Option<(Vec<&str>, &str)> {
    let (mut depth, mut from, mut is_text, mut parts) = (0, 0, false, Vec::new());
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'"' => is_text = !is_text,
            _ if is_text => {}
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' if depth > 0 => depth -= 1,
            b')' => {
                parts.push(text[from..at].trim());
                return Some((parts, &text[at + 1..]));
            }
            b',' if depth == 0 => {
                parts.push(text[from..at].trim());
                from = at + 1;
            }
            _ => {}
        }
    }
    None
}

impl Call<'_> {
    /// The return value, unless the call failed.
    pub(super) fn returned(&self) -> Option<i64> {
        number(&self.result).filter(|&returned| returned >= 0)
    }

    pub(super) fn returned_descriptor(&self) -> io::Result<Descriptor> {
        descriptor(&self.result).ok_or_else(|| self.misread())
    }

    pub(super) fn arg(&self, at: usize) -> &str {
        self.args.get(at).map_or("", String::as_str)
    }

    pub(super) fn has_flag(&self, at: usize, flag: &str) -> bool {
        self.arg(at).split('|').any(|found| found == flag)
    }

    pub(super) fn number(&self, at: usize) -> io::Result<i64> {
        number(self.arg(at)).ok_or_else(|| self.misread())
    }

    pub(super) fn size(&self, at: usize) -> io::Result<usize> {
        usize::try_from(self.number(at)?).map_err(|_| self.misread())
    }

    /// The offset before the call, from `[5]` or `[5] => [9]`; `None` where the descriptor's own
    /// offset applies.
    pub(super) fn offset(&self, at: usize) -> io::Result<Option<usize>> {
        match self.arg(at).strip_prefix('[') {
            Some(inner) => {
                let number = number(inner).and_then(|number| usize::try_from(number).ok());
                number.map(Some).ok_or_else(|| self.misread())
            }
            None if self.arg(at) == "NULL" => Ok(None),
            None => Err(self.misread()),
        }
    }

    /// `None` for `AT_FDCWD`.
    pub(super) fn descriptor(&self, at: usize) -> io::Result<Option<Descriptor>> {
        match self.arg(at) {
            arg if arg.starts_with("AT_FDCWD") => Ok(None),
            arg => descriptor(arg).map(Some).ok_or_else(|| self.misread()),
        }
    }

    pub(super) fn path(&self, at: usize) -> io::Result<PathBuf> {
        let bytes = text(self.arg(at)).ok_or_else(|| self.misread())?;
        Ok(OsString::from_vec(bytes).into())
    }

    /// The bytes that were actually written, from one buffer or several.
    pub(super) fn written(&self, at: usize) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        // Every second piece is inside quotes.
        for piece in self.arg(at).split('"').skip(1).step_by(2) {
            bytes.extend(unescape(piece).ok_or_else(|| self.misread())?);
        }
        let len = self.returned().and_then(|len| usize::try_from(len).ok()).unwrap_or(0);
        if bytes.len() < len {
            return Err(self.unsupported("wrote more than we could see"));
        }
        bytes.truncate(len);
        Ok(bytes)
    }

    pub(super) fn misread(&self) -> io::Error {
        misread(&self.shown())
    }

    pub(super) fn unsupported(&self, why: &str) -> io::Error {
        let what = format!("{why}: {}", self.shown());
        io::Error::new(io::ErrorKind::Unsupported, what)
    }

    fn shown(&self) -> String {
        let args: Vec<String> = self.args.iter().map(|arg| readable(arg)).collect();
        format!("{}({}) = {}", self.name, args.join(", "), readable(&self.result))
    }
}

fn misread(line: &str) -> io::Error {
    let line: String = line.chars().take(400).collect();
    io::Error::new(io::ErrorKind::InvalidData, format!("strace wrote what we cannot read: {line}"))
}

/// Parses the number at the start of a text.
fn number(text: &str) -> Option<i64> {
    if let Some(hex) = text.strip_prefix("0x") {
        let end = hex.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(hex.len());
        // Addresses in the upper half do not matter here.
        return u64::from_str_radix(&hex[..end], 16).ok().map(|n| i64::try_from(n).unwrap_or(0));
    }
    let digits = text.strip_prefix('-').unwrap_or(text);
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    text[..text.len() - digits.len() + end].parse().ok()
}

/// `3<\x2f\x61>` or `3<\x2f\x61>(deleted)`.
fn descriptor(text: &str) -> Option<Descriptor> {
    let number = i32::try_from(number(text)?).ok()?;
    let path = match text.split_once('<') {
        Some((_, rest)) => Some(OsString::from_vec(unescape(rest.split_once('>')?.0)?).into()),
        None => None,
    };
    Some(Descriptor { number, path, is_nameless: text.ends_with("(deleted)") })
}

/// Parses `"\x61"`; trailing dots, which mean that strace omitted bytes, are rejected.
fn text(text: &str) -> Option<Vec<u8>> {
    unescape(text.strip_prefix('"')?.strip_suffix('"')?)
}

fn unescape(hex: &str) -> Option<Vec<u8>> {
    let bytes = hex.as_bytes();
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    bytes
        .chunks(4)
        .map(|chunk| match chunk {
            [b'\\', b'x', high, low] => Some(digit(*high)? << 4 | digit(*low)?),
            _ => None,
        })
        .collect()
}

fn readable(arg: &str) -> String {
    let is_hex = |piece: &&str| piece.starts_with("\\x");
    let pieces = arg.split(['"', '<', '>']);
    let plain = |piece: &str| {
        let bytes = unescape(piece).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    };
    let shown: String =
        pieces.map(|p| if is_hex(&p) { format!("`{}`", plain(p)) } else { p.to_owned() }).collect();
    shown.chars().take(200).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_put_together_from_its_two_lines() {
        let text = "\
7  vfork( <unfinished ...>
8  write(1<\\x2f\\x61>(deleted), \"\\x61\\x2c\", 9) = 1
8  +++ exited with 0 +++
7  <... vfork resumed>)              = 8
";
        let (calls, events) = read(text).unwrap();
        let names: Vec<&str> = calls.iter().map(|call| call.name).collect();
        assert_eq!(names, ["write", "vfork"]);
        assert_eq!(
            events,
            [Event::Begin(1), Event::Begin(0), Event::End(0), Event::End(1)],
            "the first to begin was the last to end"
        );
        assert_eq!(calls[1].returned(), Some(8));
        assert_eq!(calls[0].written(1).unwrap(), b"a", "only one byte of two arrived");
        let descriptor = calls[0].descriptor(0).unwrap().unwrap();
        assert_eq!((descriptor.number, descriptor.is_nameless), (1, true));
        assert_eq!(descriptor.path.unwrap(), PathBuf::from("/a"));
    }

    #[test]
    fn a_call_that_failed_returned_nothing() {
        let (calls, _) = read("7  unlink(\"\\x61\") = -1 ENOENT (No such file)\n").unwrap();
        assert_eq!(calls[0].returned(), None);
    }

    #[test]
    fn bytes_that_strace_left_out_are_an_error() {
        let (calls, _) = read("7  write(1, \"\\x61\"..., 9) = 9\n").unwrap();
        calls[0].written(1).unwrap_err();
    }
}
