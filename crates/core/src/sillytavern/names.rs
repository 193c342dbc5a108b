//! Names of chats and books: how SillyTavern maps them to files, and how Forklore chooses new ones.

pub use super::folding::folded;
use crate::digest::Digest;

/// The longest names that SillyTavern can save, in bytes without the extension. Its temporary file
/// names are eleven bytes longer, and must also fit in 255 bytes.
pub const LONGEST_CHAT: usize = 238;
pub const LONGEST_BOOK: usize = 239;

/// The longest name that Forklore generates. Leaves room for a suffix, and for file systems with
/// tighter limits.
const LONGEST_GIVEN: usize = 200;

/// The type of file that a name is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NamedFile {
    Chat,
    Book,
}

impl NamedFile {
    fn extension(self) -> &'static str {
        match self {
            Self::Chat => ".jsonl",
            Self::Book => ".json",
        }
    }

    fn longest(self) -> usize {
        match self {
            Self::Chat => LONGEST_CHAT,
            Self::Book => LONGEST_BOOK,
        }
    }
}

/// The stem of the file in which SillyTavern stores the chat or book called `name`. `None` if
/// SillyTavern cannot save it, because the name sanitises to nothing or is too long.
pub fn stem(name: &str, file: NamedFile) -> Option<String> {
    let full = sanitise(&format!("{name}{}", file.extension()));
    // Truncation to 255 bytes removes the extension, and SillyTavern would not list the file.
    full.strip_suffix(file.extension()).map(str::to_owned)
}

/// SillyTavern's file-name sanitising, applied to a name with its extension.
fn sanitise(full: &str) -> String {
    let kept: String = full
        .chars()
        .filter(|&c| !matches!(c, '/' | '?' | '<' | '>' | '\\' | ':' | '*' | '|' | '"'))
        .filter(|&c| !matches!(c, '\0'..='\u{1f}' | '\u{80}'..='\u{9f}'))
        .collect();
    if kept.chars().all(|c| c == '.') || is_device(&kept) {
        return String::new();
    }
    let mut kept = kept.trim_end_matches(['.', ' ']);
    while kept.len() > 255 {
        let last = kept.chars().next_back().map_or(1, char::len_utf8);
        kept = &kept[..kept.len() - last];
    }
    kept.to_owned()
}

/// Whether Windows reserves the name for a device, with any extension.
fn is_device(full: &str) -> bool {
    let first = full.split('.').next().unwrap_or("").to_ascii_lowercase();
    match first.as_str() {
        "con" | "prn" | "aux" | "nul" => true,
        other => {
            let numbered = other.strip_prefix("com").or_else(|| other.strip_prefix("lpt"));
            numbered.is_some_and(|digit| digit.len() == 1 && digit.as_bytes()[0].is_ascii_digit())
        }
    }
}

/// A key that is equal for all references to the same book, however they spell its name.
pub fn book_key(name: &str) -> String {
    folded(stem(name, NamedFile::Book).as_deref().unwrap_or(name))
}

/// Why a name cannot be used for a new chat or book.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    #[error("the name is empty once SillyTavern has cleaned it")]
    Empty,
    #[error("SillyTavern would save it as {0:?}")]
    WouldChange(String),
    #[error("the name is {0} bytes long; SillyTavern can save at most {1}")]
    TooLong(usize, usize),
    #[error("{0:?} already exists")]
    Taken(String),
}

/// Validates a name that the user chose. It must survive sanitising unchanged: SillyTavern could
/// not follow a link to a name that it changes when saving.
pub fn check(name: &str, file: NamedFile, taken: &[String]) -> Result<(), NameError> {
    // Of a name that is too long, cleaning leaves nothing that could be a file's.
    if name.len() > file.longest() {
        return Err(NameError::TooLong(name.len(), file.longest()));
    }
    let stem = stem(name, file).filter(|stem| !stem.is_empty()).ok_or(NameError::Empty)?;
    if stem != name {
        return Err(NameError::WouldChange(stem));
    }
    let key = folded(name);
    match taken.iter().find(|other| folded(other) == key) {
        Some(other) => Err(NameError::Taken(other.clone())),
        None => Ok(()),
    }
}

/// The kind of a fork.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ForkKind {
    Checkpoint,
    Branch,
}

impl ForkKind {
    pub fn word(self) -> &'static str {
        match self {
            Self::Checkpoint => "checkpoint",
            Self::Branch => "branch",
        }
    }

    fn label(self) -> &'static str {
        match self {
            Self::Checkpoint => "Checkpoint",
            Self::Branch => "Branch",
        }
    }
}

/// What a chat's name reveals about its origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameDescent {
    pub kind: ForkKind,
    /// The parent's name, if the naming scheme contains it.
    pub parent: Option<String>,
}

/// Parses `X - Branch #3`, and `Branch #12 - <date>` from SillyTavern before 1.16.
pub fn descent(name: &str) -> Option<NameDescent> {
    [ForkKind::Checkpoint, ForkKind::Branch].into_iter().find_map(|kind| {
        let base = without_suffix(name, kind);
        if base != name {
            return Some(NameDescent { kind, parent: Some(base.to_owned()) });
        }
        let rest = name.strip_prefix(kind.label())?.strip_prefix(" #")?;
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        (digits > 0 && rest[digits..].starts_with(" - "))
            .then_some(NameDescent { kind, parent: None })
    })
}

fn without_suffix(name: &str, kind: ForkKind) -> &str {
    let digits = name.bytes().rev().take_while(u8::is_ascii_digit).count();
    let suffix = format!(" - {} #", kind.label());
    match name[..name.len() - digits].strip_suffix(suffix.as_str()) {
        Some(base) if digits > 0 => base,
        _ => name,
    }
}

/// The name that SillyTavern would suggest for a child of `parent`, made unique among `taken`.
pub fn for_child(parent: &str, kind: ForkKind, taken: &[String]) -> String {
    let parent = stem(parent, NamedFile::Chat).unwrap_or_default();
    let mut base = without_suffix(&parent, kind);
    let old_prefix = format!("{} #", kind.label());
    if let Some(rest) = base.strip_prefix(old_prefix.as_str()) {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        base = rest[digits..].strip_prefix(" - ").filter(|_| digits > 0).unwrap_or(base);
    }
    // What remains may be a device name, which a file name must not begin with.
    let base = if base.is_empty() || is_device(base) { "Chat" } else { base };
    first_free(NamedFile::Chat, taken, |number| {
        let suffix = format!(" - {} #{number}", kind.label());
        shortened(base, LONGEST_GIVEN - suffix.len()) + &suffix
    })
}

/// The name of a new book for the chat `child`, unique among `taken`.
///
/// Avoids ST-Auto-Recap's name template: that extension deletes books with such a name together
/// with their chat, without checking whether another chat uses them.
pub fn for_book(child: &str, taken: &[String]) -> String {
    book_of(child, "Lore", taken)
}

/// The name of a copy of the book `of` for the chat `child`, unique among `taken`.
pub fn for_copy(child: &str, of: &str, taken: &[String]) -> String {
    let of = stem(of, NamedFile::Book).unwrap_or_default();
    book_of(child, &shortened(&of, LONGEST_GIVEN / 2), taken)
}

fn book_of(child: &str, what: &str, taken: &[String]) -> String {
    let child = stem(child, NamedFile::Book).unwrap_or_default();
    first_free(NamedFile::Book, taken, |number| {
        let suffix =
            if number == 1 { format!(" - {what}") } else { format!(" - {what} ({number})") };
        shortened(&child, LONGEST_GIVEN - suffix.len()) + &suffix
    })
}

/// The name of a restored version of the chat `name`, unique among `taken`. If `name` already ends
/// in a version number, that number stays, because version numbers are counted per file.
pub fn for_restored(name: &str, version: u64, taken: &[String]) -> String {
    let name = stem(name, NamedFile::Chat).unwrap_or_default();
    let name = if name.is_empty() || is_device(&name) { "Chat" } else { &name };
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let before = name.rsplit_once(RESTORED).and_then(|(name, ending)| {
        let version = ending.split_once(" (").map_or(ending, |(version, _)| version);
        is_number(version).then_some((name, version))
    });
    let ending = version.to_string();
    let (name, version) = before.unwrap_or((name, &ending));
    first_free(NamedFile::Chat, taken, |number| {
        let suffix = match number {
            1 => format!("{RESTORED}{version}"),
            _ => format!("{RESTORED}{version} ({number})"),
        };
        shortened(name, LONGEST_GIVEN - suffix.len()) + &suffix
    })
}

const RESTORED: &str = " - restored ";

fn first_free(file: NamedFile, taken: &[String], name: impl Fn(usize) -> String) -> String {
    let keys: std::collections::HashSet<String> = taken.iter().map(|name| folded(name)).collect();
    let mut number = 1;
    loop {
        let candidate = name(number);
        // SillyTavern would reject or change a name that is not its own stem (e.g. a device name).
        if !keys.contains(&folded(&candidate))
            && stem(&candidate, file).as_ref() == Some(&candidate)
        {
            return candidate;
        }
        number += 1;
    }
}

/// Shortens `name` to at most `longest` bytes. A short digest of the full name keeps truncated
/// names distinct.
fn shortened(name: &str, longest: usize) -> String {
    if name.len() <= longest {
        return name.to_owned();
    }
    let digest = Digest::sha256_of(name.as_bytes()).short(8);
    let mut end = longest - digest.len() - 1;
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}~{digest}", name[..end].trim_end())
}

crate::diagnostics!(NameError {
    Self::Empty => ("name-empty"),
    Self::WouldChange(to) => ("name-would-change", to: to.as_str()),
    Self::TooLong(bytes, most) => ("name-too-long", bytes: *bytes, most: *most),
    Self::Taken(name) => ("name-taken", name: name.as_str()),
});

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_stem(name: &str, expected: Option<&str>) {
        assert_eq!(stem(name, NamedFile::Chat).as_deref(), expected, "{name:?}");
    }

    #[test]
    fn a_name_becomes_the_file_sillytavern_makes() {
        check_stem("a/b", Some("ab"));
        check_stem("a\\b", Some("ab"));
        check_stem("a:b*c?\"<>|d", Some("abcd"));
        check_stem("CON", None);
        check_stem("com7", None);
        check_stem("lpt", Some("lpt"));
        check_stem("..", Some(".."));
        check_stem("trail. ", Some("trail. "));
        check_stem(".hidden", Some(".hidden"));
        check_stem("GCP: a/b", Some("GCP ab"));
        check_stem(&"x".repeat(300), None);
    }

    #[test]
    fn names_are_told_apart_as_sillytavern_does() {
        assert_eq!(folded("Ä"), folded("a"));
        assert_eq!(folded("ΑΣ"), folded("ας"));
        assert_ne!(folded("ß"), folded("ss"));
        assert_eq!(book_key("Foo:"), book_key("foo"));
    }

    #[test]
    fn children_are_named_as_sillytavern_names_them() {
        let taken = ["X - Branch #1".to_owned(), "x - branch #2".to_owned()];
        assert_eq!(for_child("X", ForkKind::Branch, &taken), "X - Branch #3");
        assert_eq!(for_child("X - Branch #1", ForkKind::Branch, &taken), "X - Branch #3");
        assert_eq!(
            for_child("X - Checkpoint #1", ForkKind::Branch, &[]),
            "X - Checkpoint #1 - Branch #1"
        );
        assert_eq!(for_child("Branch #12 - 2024", ForkKind::Branch, &[]), "2024 - Branch #1");
    }

    #[test]
    fn a_restored_chat_says_which_version_it_is() {
        assert_eq!(for_restored("X", 30, &[]), "X - restored 30");
        let taken = ["x - Restored 30".to_owned()];
        assert_eq!(for_restored("X", 30, &taken), "X - restored 30 (2)");
        let taken = ["X - restored 30".to_owned(), "X - restored 30 (2)".to_owned()];
        for before in &taken {
            assert_eq!(for_restored(before, 7, &taken), "X - restored 30 (3)");
        }
        assert_eq!(for_restored("X - restored hope", 7, &[]), "X - restored hope - restored 7");
        assert_eq!(for_restored("con", 1, &[]), "Chat - restored 1");
        assert!(for_restored(&"雨".repeat(79), 1, &[]).len() <= 200);
    }

    #[test]
    fn a_device_behind_an_old_prefix_is_no_name() {
        assert_eq!(for_child("Branch #1 - con.x", ForkKind::Branch, &[]), "Chat - Branch #1");
    }

    #[test]
    fn long_names_are_cut_on_a_character_and_stay_apart() {
        let (one, other) = ("雨".repeat(100), "雨".repeat(101));
        let (one, other) = (
            for_child(&one[..228], ForkKind::Branch, &[]),
            for_child(&other[..234], ForkKind::Branch, &[]),
        );
        assert!(one.len() <= 200 && other.len() <= 200);
        assert_ne!(one, other);
        assert!(for_book(&one, &[]).len() <= 200);
    }

    #[test]
    fn old_names_tell_their_kind() {
        let kind = |name| descent(name).map(|descent| (descent.kind, descent.parent));
        assert_eq!(kind("A - Branch #2"), Some((ForkKind::Branch, Some("A".into()))));
        assert_eq!(kind("Checkpoint #4 - 2023-11-3"), Some((ForkKind::Checkpoint, None)));
        assert_eq!(kind("A Branch #2"), None);
        assert_eq!(kind("A - Branch #"), None);
    }
}
