//! Names of lineages: `<machine>/<kind>/<name>`.

use crate::file::FileKind;

/// Longer names than Forklore ever gives; some file systems refuse those of 256 bytes.
const LONGEST: usize = 120;

/// The machine and the kind of file, or `None` if it is not a name that Forklore would give. It becomes part
/// of the names of refs, which are paths.
pub(crate) fn parse(name: &str) -> Option<(&str, FileKind)> {
    let mut parts = name.split('/');
    let (machine, kind, name) = (parts.next()?, parts.next()?, parts.next()?);
    let is_valid = parts.next().is_none() && is_slug(machine) && is_slug(name);
    Some((machine, FileKind::of_folder(kind)?)).filter(|_| is_valid)
}

fn is_slug(text: &str) -> bool {
    let is_plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    let is_right_length = !text.is_empty() && text.len() <= LONGEST;
    is_right_length && !text.starts_with('-') && text.bytes().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_that_forklore_gives_are_read() {
        assert_eq!(parse("pc-1a2b/chats/anna-1"), Some(("pc-1a2b", FileKind::Chat)));
        for name in [
            "pc-1a2b/other/anna-1",
            "main",
            "pc/chats/x/1",
            "../chats/x",
            "pc/chats/..",
            "pc/chats/",
        ] {
            assert_eq!(parse(name), None, "{name}");
        }
    }
}
