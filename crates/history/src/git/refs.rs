//! Refs: names for commits. All of them are stored in `packed-refs`, so that they change together
//! and thousands of them need only one file.

use std::collections::BTreeMap;

use super::object::Id;

pub type Refs = BTreeMap<String, Id>;

/// Parses `packed-refs`. Skips lines that are not refs.
pub fn read(text: &[u8]) -> Refs {
    text.split(|byte| *byte == b'\n').filter_map(read_line).collect()
}

fn read_line(line: &[u8]) -> Option<(String, Id)> {
    let (id, name) = line.split_at_checked(40)?;
    let name = std::str::from_utf8(name.strip_prefix(b" ")?).ok()?;
    is_name(name).then_some((name.to_owned(), Id::from_hex(id).ok()?))
}

/// Whether a ref name is valid. Damage or an attacker could turn it into a path that leads
/// elsewhere.
fn is_name(name: &str) -> bool {
    let is_part = |part: &str| !part.is_empty() && !part.starts_with('.');
    name.starts_with("refs/")
        && name.split('/').all(is_part)
        && !name.contains(|c: char| c.is_control() || c == ' ' || c == '\\')
}

/// Parses a loose ref file as git writes it.
pub fn read_loose(text: &[u8]) -> Option<Id> {
    Id::from_hex(text.trim_ascii_end()).ok()
}

/// Serialises `packed-refs`. There are no tags, so nothing needs to be peeled.
pub fn write(refs: &Refs) -> Vec<u8> {
    let mut text = b"# pack-refs with: peeled fully-peeled sorted \n".to_vec();
    for (name, id) in refs {
        text.extend_from_slice(id.to_hex().to_string().as_bytes());
        text.push(b' ');
        text.extend_from_slice(name.as_bytes());
        text.push(b'\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        let id = Id::from_hex(b"0123456789012345678901234567890123456789").unwrap();
        let refs = Refs::from([
            ("refs/heads/a/chats/b".to_owned(), id),
            ("refs/heads/a/books/ü".to_owned(), id),
        ]);
        assert_eq!(read(&write(&refs)), refs);
        for name in ["refs/../../x", "refs//x", "refs/a b", "refs/a\0", "HEAD"] {
            assert_eq!(read(&write(&Refs::from([(name.to_owned(), id)]))), Refs::new());
        }
        assert_eq!(read(b"# x\nshort\n^0123456789012345678901234567890123456789\n"), Refs::new());
    }
}
