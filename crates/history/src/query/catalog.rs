//! A compact list of a file's versions: a chat can have a hundred thousand of them, and reading
//! every commit would take seconds.
//!
//! It is a cache, and is rebuilt when it does not match the history.

use std::path::PathBuf;

use crate::error::Result;
use crate::git::object::Id;
use crate::store::files::Files as _;
use crate::version::commit::{Origin, StoredVersion, milliseconds};
use crate::version::history::History;
use crate::version::lineage::Lineage;

/// The essentials of a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CatalogLine {
    pub id: Id,
    pub order: u64,
    /// Messages or entries.
    pub count: u64,
    pub number: u64,
    /// In milliseconds since 1970.
    pub written: u64,
    /// It was observed as it was saved.
    pub was_seen: bool,
    /// It was found by a scan.
    pub was_found: bool,
    pub is_deleted: bool,
    /// It looked like a loss.
    pub is_loss: bool,
}

const TITLE: &[u8] = b"forklore catalog 2\n";
const LENGTH: usize = 20 + 8 * 4 + 1;

/// The list is written again only with at least this many new versions.
const MANY_NEW: usize = 200;

/// All versions of a lineage, oldest first.
pub fn catalog(history: &History<'_>, lineage: &Lineage) -> Result<Vec<CatalogLine>> {
    let path = path(history, lineage);
    let bytes = history.store().disk.read(&path).unwrap_or_default();
    let known = read(&bytes);
    // If the last line is not one of the versions, it was written before they were rewritten.
    let last = known.last().map(|line| line.id);
    let mut new = Vec::new();
    let mut fits = false;
    for version in history.versions(&lineage.tip) {
        if Some(version.id) == last {
            fits = true;
            break;
        }
        new.push(line_of(&version));
    }
    new.reverse();
    let mut lines = if fits { known } else { Vec::new() };
    let mut before = lines.last().map(|line| line.number);
    for line in &mut new {
        // What was in a version that is lost is not known, so nothing is said about the time around it.
        if before.is_some_and(|before| before + 1 != line.number) {
            (line.was_seen, line.was_found) = (false, false);
        }
        before = Some(line.number);
    }
    let has_many_new = new.len() >= MANY_NEW;
    lines.extend(new);
    if has_many_new {
        // If it cannot be written, the next call merely takes longer.
        let folder = path.parent().unwrap_or(&path);
        if history.store().disk.make_dirs(folder).is_ok() {
            let _ = history.store().disk.replace(&path, &[TITLE, &write(&lines)]);
        }
    }
    Ok(lines)
}

fn path(history: &History<'_>, lineage: &Lineage) -> PathBuf {
    let name = lineage.reference.trim_start_matches("refs/heads/").replace('/', "-");
    history.store().layout().own_folder().join("catalogs").join(name)
}

fn line_of(stored: &StoredVersion) -> CatalogLine {
    let version = &stored.version;
    CatalogLine {
        id: stored.id,
        order: version.order,
        count: version.count.unwrap_or(0),
        number: version.number,
        written: milliseconds(version.written),
        was_seen: version.why == Origin::Saved,
        was_found: version.why == Origin::Found,
        is_deleted: version.why == Origin::Deleted,
        is_loss: version.collapse.is_some(),
    }
}

fn write(lines: &[CatalogLine]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(lines.len() * LENGTH);
    for line in lines {
        bytes.extend_from_slice(line.id.as_slice());
        for number in [line.order, line.count, line.number, line.written] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        let flags = [line.was_seen, line.is_deleted, line.is_loss, line.was_found];
        bytes.push((0..).zip(flags).map(|(bit, flag)| u8::from(flag) << bit).sum());
    }
    bytes
}

fn read(bytes: &[u8]) -> Vec<CatalogLine> {
    let Some(rest) = bytes.strip_prefix(TITLE) else { return Vec::new() };
    let line = |bytes: &[u8]| {
        let number = |at: usize| {
            let start = 20 + at * 8;
            Some(u64::from_le_bytes(*bytes.get(start..)?.first_chunk()?))
        };
        let flags = *bytes.last()?;
        Some(CatalogLine {
            id: Id::try_from(&bytes[..20]).ok()?,
            order: number(0)?,
            count: number(1)?,
            number: number(2)?,
            written: number(3)?,
            was_seen: flags & 1 != 0,
            is_deleted: flags & 2 != 0,
            is_loss: flags & 4 != 0,
            was_found: flags & 8 != 0,
        })
    };
    rest.chunks_exact(LENGTH).filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        let id = Id::from_hex(b"0123456789012345678901234567890123456789").unwrap();
        let line = CatalogLine {
            id,
            order: 7,
            count: u64::MAX,
            number: 3,
            written: 1_700_000_000_000,
            was_seen: true,
            was_found: false,
            is_deleted: false,
            is_loss: true,
        };
        let lines = [
            line,
            CatalogLine { order: 8, was_seen: false, was_found: true, is_deleted: true, ..line },
        ];
        assert_eq!(read(&[TITLE, &write(&lines)].concat()), lines);
        assert_eq!(read(b"something else"), []);
    }
}
