//! A user's chats, books and groups, by name.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use forklore_core::sillytavern::chat::ChatKind;
use forklore_core::sillytavern::names::{self, NamedFile, book_key, folded};
use forklore_core::timeline::family::Home;

use crate::disk::Disk;
use crate::disk::data_root::EscapesDataRoot;
use crate::folder::groups::{Group, read_group};
use crate::folder::layout::{ListedFile, SkipReason, SkippedFile, UserFolders};
use crate::folder::similar_names::like;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChatFile {
    pub home: Home,
    /// The file's stem, which is the name of the chat.
    pub name: String,
    pub path: PathBuf,
    pub len: u64,
    pub modified: SystemTime,
}

#[derive(Clone, Debug)]
pub struct GroupFile {
    pub path: PathBuf,
    pub group: Group,
}

/// A file that could not be read and may refer to anything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnreadFile {
    pub path: PathBuf,
    pub why: String,
}

/// All files of one user. Chats and books are listed but not read.
#[derive(Debug, Default)]
pub struct Library {
    pub chats: Vec<ChatFile>,
    pub books: Vec<ListedFile>,
    pub groups: Vec<GroupFile>,
    pub unread: Vec<UnreadFile>,
    /// The part of `unread` that failed with an I/O error; a retry may succeed.
    pub(crate) failed: Vec<PathBuf>,
}

impl ChatFile {
    pub fn place(&self) -> ChatKind {
        match self.home {
            Home::Group(_) => ChatKind::Group,
            Home::Character(_) | Home::Loose => ChatKind::Solo,
        }
    }

    /// The name shown to people and accepted by commands.
    pub fn label(&self) -> String {
        match &self.home {
            Home::Character(character) => format!("{character}/{}", self.name),
            Home::Group(_) => format!("group:{}", self.name),
            Home::Loose => self.name.clone(),
        }
    }
}

impl Library {
    pub fn list(disk: &dyn Disk, folders: &UserFolders) -> Self {
        let mut library = Self::default();
        library.list_groups(disk, folders);
        let owner_of_chat = library.owners();

        let (characters, skipped) = folders.solo_chats(disk);
        library.add_skipped(skipped);
        for character in characters {
            let home = Home::Character(character.character);
            library.add_skipped(character.chats.skipped);
            library.add_chats(character.chats.files, |_| home.clone());
        }
        let loose = folders.loose_chats(disk);
        library.add_skipped(loose.skipped);
        library.add_chats(loose.files, |_| Home::Loose);
        let group = folders.group_chats(disk);
        library.add_skipped(group.skipped);
        library.add_chats(group.files, |stem| Home::Group(owner_of_chat.get(stem).cloned()));
        let books = folders.books(disk);
        library.add_skipped(books.skipped);
        library.books = books.files;
        library
    }

    fn list_groups(&mut self, disk: &dyn Disk, folders: &UserFolders) {
        let listing = folders.groups(disk);
        self.add_skipped(listing.skipped);
        for file in listing.files {
            match disk.read(&file.path).map(|bytes| read_group(&bytes)) {
                Ok(Ok(group)) => self.groups.push(GroupFile { path: file.path, group }),
                Ok(Err(error)) => self.add_unread(&file.path, &error),
                Err(error) => {
                    self.add_unread(&file.path, &error);
                    self.failed.push(file.path);
                }
            }
        }
    }

    /// Maps the stem of each listed chat to the id of its group.
    fn owners(&self) -> HashMap<String, String> {
        self.groups
            .iter()
            .flat_map(|file| file.group.chats.iter().map(|chat| (chat, &file.group.id)))
            .filter_map(|(chat, id)| Some((names::stem(chat, NamedFile::Chat)?, id.clone())))
            .collect()
    }

    fn add_chats(&mut self, files: Vec<ListedFile>, home: impl Fn(&str) -> Home) {
        self.chats.extend(files.into_iter().map(|file| ChatFile {
            home: home(&file.stem),
            name: file.stem,
            path: file.path,
            len: file.len,
            modified: file.modified,
        }));
    }

    fn add_skipped(&mut self, skipped: Vec<SkippedFile>) {
        for skipped in skipped {
            self.add_unread(&skipped.path, &skipped.why);
            if let SkipReason::Unreadable(_)
            | SkipReason::Outside(EscapesDataRoot::Unreadable { .. }) = skipped.why
            {
                self.failed.push(skipped.path);
            }
        }
    }

    fn add_unread(&mut self, path: &Path, why: &dyn std::fmt::Display) {
        self.unread.push(UnreadFile { path: path.to_owned(), why: why.to_string() });
    }

    /// The file of the book that a chat refers to as `name`: an exact match, or else one that a
    /// case-insensitive file system would find.
    pub fn book(&self, name: &str) -> Option<&ListedFile> {
        let stem = names::stem(name, NamedFile::Book)?;
        self.books
            .iter()
            .find(|book| book.stem == stem)
            .or_else(|| self.books.iter().find(|book| book_key(&book.stem) == book_key(&stem)))
    }

    /// The index of `chat`, even if its file was written since it was listed.
    pub(crate) fn position(&self, chat: &ChatFile) -> Option<usize> {
        self.chats.iter().position(|other| other.path == chat.path)
    }

    /// The first I/O failure at, below or above any of `folders`.
    pub(crate) fn failed_in(&self, folders: &[&Path]) -> Option<&UnreadFile> {
        self.unread.iter().find(|unread| {
            let touches = |folder: &&Path| {
                unread.path.starts_with(folder) || folder.starts_with(&unread.path)
            };
            self.failed.contains(&unread.path) && folders.iter().any(touches)
        })
    }

    pub fn book_names(&self) -> Vec<String> {
        self.books.iter().map(|book| book.stem.clone()).collect()
    }

    pub fn group(&self, id: &str) -> Option<&GroupFile> {
        self.groups.iter().find(|file| file.group.id == id)
    }

    /// Names that a new chat in this home cannot have: existing files, and chats that groups list.
    pub fn chat_names(&self, home: &Home) -> Vec<String> {
        let mut names: Vec<String> = self
            .chats
            .iter()
            .filter(|chat| match (home, &chat.home) {
                // The chats of all groups are in one folder.
                (Home::Group(_), Home::Group(_)) => true,
                (one, other) => one == other,
            })
            .map(|chat| chat.name.clone())
            .collect();
        if let Home::Group(_) = home {
            names.extend(self.groups.iter().flat_map(|file| file.group.chats.iter().cloned()));
        }
        names
    }
}

/// The typed name matches no chat, or several.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FindError {
    #[error("there is no chat {wanted:?}")]
    Unknown { wanted: String, like: Vec<String> },
    #[error("{wanted:?} matches several chats")]
    Ambiguous { wanted: String, found: Vec<String> },
}

impl Library {
    /// Finds the chat `wanted`, given as `Character/chat name`, `group:chat id`, a path to the
    /// file, or a unique name.
    pub fn find(&self, disk: &dyn Disk, wanted: &str) -> Result<&ChatFile, FindError> {
        if let Some(chat) = self.find_path(disk, Path::new(wanted)) {
            return Ok(chat);
        }
        let name = wanted.strip_suffix(".jsonl").unwrap_or(wanted);
        let exact = self.chats.iter().find(|chat| chat.label() == name);
        if let Some(chat) = exact {
            return Ok(chat);
        }
        let key = folded(name);
        let matchers: [&dyn Fn(&&ChatFile) -> bool; 2] = [
            &|chat| {
                chat.name == name || folded(&chat.label()) == key || self.is_raw_name(chat, name)
            },
            &|chat| folded(&chat.name) == key,
        ];
        for matcher in matchers {
            let found: Vec<&ChatFile> = self.chats.iter().filter(matcher).collect();
            match found[..] {
                [chat] => return Ok(chat),
                [] => {}
                _ => {
                    let found = found.iter().map(|chat| chat.label()).collect();
                    return Err(FindError::Ambiguous { wanted: wanted.to_owned(), found });
                }
            }
        }
        let like = like(wanted, self.chats.iter().map(ChatFile::label));
        Err(FindError::Unknown { wanted: wanted.to_owned(), like })
    }

    /// Whether `name` is the chat's name in SillyTavern, before it was sanitised for the file name.
    fn is_raw_name(&self, chat: &ChatFile, name: &str) -> bool {
        let raw = name.strip_prefix("group:").unwrap_or(name);
        let raw = match &chat.home {
            Home::Character(character) => raw.strip_prefix(&format!("{character}/")).unwrap_or(raw),
            Home::Group(_) | Home::Loose => raw,
        };
        names::stem(raw, NamedFile::Chat).is_some_and(|stem| stem == chat.name)
    }

    fn find_path(&self, disk: &dyn Disk, path: &Path) -> Option<&ChatFile> {
        if path.extension().is_none_or(|extension| extension != "jsonl") {
            return None;
        }
        let real = |path: &Path| -> io::Result<PathBuf> { disk.real_path(path) };
        let wanted = real(path).ok()?;
        self.chats.iter().find(|chat| real(&chat.path).is_ok_and(|found| found == wanted))
    }
}

forklore_core::diagnostics!(FindError {
    Self::Unknown { wanted, like } => (
        "unknown-chat",
        wanted: wanted.as_str(),
        like: like.clone(),
    ),
    Self::Ambiguous { wanted, found } => (
        "ambiguous-chat",
        wanted: wanted.as_str(),
        found: found.clone(),
    ),
});
