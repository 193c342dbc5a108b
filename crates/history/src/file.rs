//! Which of a user's files have a history, and what the history calls them.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use forklore_tavern::folder::layout::is_sillytavern_temp;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FileKind {
    Chat,
    Book,
    Card,
    Group,
    Settings,
}

impl FileKind {
    pub const ALL: [Self; 5] = [Self::Chat, Self::Book, Self::Card, Self::Group, Self::Settings];

    /// The folder that holds the refs of this kind.
    pub fn folder(self) -> &'static str {
        match self {
            Self::Chat => "chats",
            Self::Book => "books",
            Self::Card => "cards",
            Self::Group => "groups",
            Self::Settings => "settings",
        }
    }

    /// The word that users see.
    pub fn word(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::Book => "lorebook",
            Self::Card => "card",
            Self::Group => "group",
            Self::Settings => "settings",
        }
    }

    pub fn of_folder(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.folder() == name)
    }
}

/// The path of a file relative to its user's folder, as a single line of text:
/// `chats/Anna/Story.jsonl`.
///
/// Characters that do not fit on such a line are percent-encoded, so that every name a disk allows
/// can be represented.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileName(String);

impl FileName {
    /// Encodes a path relative to the user's folder.
    pub fn of_path(path: &Path) -> Self {
        let parts = path.components().map(|part| escaped(part.as_os_str().as_encoded_bytes()));
        Self(parts.collect::<Vec<_>>().join("/"))
    }

    /// Takes a name that is already encoded.
    pub fn of_text(text: &str) -> Self {
        Self(text.to_owned())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The path relative to the user's folder.
    pub fn to_path(&self) -> PathBuf {
        self.0.split('/').map(unescaped).collect()
    }

    /// What SillyTavern stores in a file of this name; `None` if such files have no history.
    pub fn kind(&self) -> Option<FileKind> {
        let parts: Vec<&str> = self.0.split('/').collect();
        let name = parts.last()?;
        if is_sillytavern_temp(name) || name.starts_with('.') {
            return None;
        }
        match parts.as_slice() {
            ["chats", _, name] | ["chats" | "group chats", name] if name.ends_with(".jsonl") => {
                Some(FileKind::Chat)
            }
            ["worlds", name] if name.ends_with(".json") => Some(FileKind::Book),
            ["characters", name] if name.ends_with(".png") => Some(FileKind::Card),
            ["groups", name] if name.ends_with(".json") => Some(FileKind::Group),
            ["settings.json"] => Some(FileKind::Settings),
            _ => None,
        }
    }

    /// The name shown to people: `Anna/Story`, `group:Story`, `Lore`. Control characters and
    /// invalid UTF-8 stay percent-encoded, so that it is safe to print in a terminal.
    pub fn label(&self) -> String {
        let stem = |name: &str| name.rsplit_once('.').map_or(name, |(stem, _)| stem).to_owned();
        let parts: Vec<&str> = self.0.split('/').collect();
        let label = match parts.as_slice() {
            ["chats", character, chat] => format!("{character}/{}", stem(chat)),
            ["group chats", chat] => format!("group:{}", stem(chat)),
            [.., name] => stem(name),
            [] => String::new(),
        };
        label.replace("%5c", "\\").replace("%25", "%")
    }

    /// The same without the character's folder or the `group:` prefix.
    pub fn bare_label(&self) -> String {
        let label = self.label();
        let start = match self.0.split_once('/') {
            Some(("chats", _)) => label.find('/').map_or(0, |at| at + 1),
            Some(("group chats", _)) => label.find(':').map_or(0, |at| at + 1),
            _ => 0,
        };
        label[start..].to_owned()
    }
}

/// Encodes a name that a user typed in the same way as a label.
pub fn encode_typed(typed: &str) -> String {
    let mut text = String::with_capacity(typed.len());
    typed.chars().for_each(|character| add(&mut text, character, character.is_control()));
    text
}

fn escaped(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            let is_special = matches!(character, '%' | '/' | '\\');
            add(&mut text, character, is_special || character.is_control());
        }
        chunk.invalid().iter().for_each(|byte| add_hex(&mut text, *byte));
    }
    text
}

fn add(text: &mut String, character: char, is_escaped: bool) {
    match is_escaped {
        true => character.encode_utf8(&mut [0; 4]).bytes().for_each(|byte| add_hex(text, byte)),
        false => text.push(character),
    }
}

fn add_hex(text: &mut String, byte: u8) {
    text.push('%');
    for digit in [byte >> 4, byte & 15] {
        text.extend(char::from_digit(digit.into(), 16));
    }
}

fn unescaped(text: &str) -> OsString {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let hex = |at: usize| char::from(*after.get(at)?).to_digit(16);
        match (byte, hex(0), hex(1)) {
            (b'%', Some(high), Some(low)) => {
                bytes.push((high * 16 + low) as u8);
                rest = &after[2..];
            }
            _ => {
                bytes.push(byte);
                rest = after;
            }
        }
    }
    os_string(bytes)
}

#[cfg(unix)]
fn os_string(bytes: Vec<u8>) -> OsString {
    use std::os::unix::ffi::OsStringExt;
    OsString::from_vec(bytes)
}

#[cfg(not(unix))]
fn os_string(bytes: Vec<u8>) -> OsString {
    String::from_utf8_lossy(&bytes).into_owned().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_a_history() {
        for (name, kind) in [
            ("chats/Anna/Story.jsonl", Some(FileKind::Chat)),
            ("chats/Loose.jsonl", Some(FileKind::Chat)),
            ("group chats/1.jsonl", Some(FileKind::Chat)),
            ("worlds/Lore.json", Some(FileKind::Book)),
            ("characters/Anna.png", Some(FileKind::Card)),
            ("groups/1.json", Some(FileKind::Group)),
            ("settings.json", Some(FileKind::Settings)),
            ("secrets.json", None),
            ("chats/Anna/Story.jsonl.1234567", None),
            ("worlds/Lore.json.99", None),
            ("worlds/deep/Lore.json", None),
            ("backups/chat_x.jsonl", None),
            ("chats/Anna/.Story.jsonl", None),
        ] {
            assert_eq!(FileName::of_text(name).kind(), kind, "{name}");
        }
    }

    #[test]
    fn every_path_has_a_name_in_one_line_and_comes_back() {
        for path in ["chats/Anna/Story.jsonl", "worlds/50% off\n\u{1b}.json", "worlds/a\\b.json"] {
            let name = FileName::of_path(Path::new(path));
            assert!(!name.as_str().chars().any(char::is_control));
            assert_eq!(name.to_path(), Path::new(path));
        }
        #[cfg(unix)]
        {
            use std::os::unix::ffi::OsStrExt;
            let path = Path::new(std::ffi::OsStr::from_bytes(b"worlds/\xff\xfe.json"));
            assert_eq!(FileName::of_path(path).as_str(), "worlds/%ff%fe.json");
            assert_eq!(FileName::of_path(path).to_path(), path);
        }
    }

    #[test]
    fn people_have_shorter_names() {
        assert_eq!(FileName::of_text("chats/Anna/Story.jsonl").label(), "Anna/Story");
        assert_eq!(FileName::of_text("group chats/7.jsonl").label(), "group:7");
        assert_eq!(FileName::of_text("worlds/Lore.json").label(), "Lore");
        // On Windows a backslash separates folders.
        let odd = if cfg!(windows) { "50%/a b %5c\u{1b}" } else { "50%/a\\b %5c\u{1b}" };
        let name = FileName::of_path(Path::new(&format!("chats/{odd}.jsonl")));
        assert_eq!(name.label(), odd.replace('\u{1b}', "%1b"));
        assert_eq!(encode_typed(odd), name.label());
        for (name, bare) in [
            ("chats/Anna/Story.jsonl", "Story"),
            ("group chats/7: the end.jsonl", "7: the end"),
            ("worlds/a: b.json", "a: b"),
        ] {
            assert_eq!(FileName::of_text(name).bare_label(), bare);
        }
    }
}
