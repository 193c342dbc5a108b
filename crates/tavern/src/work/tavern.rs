//! One user's SillyTavern, with everything needed to work on it.

use std::io;
use std::path::PathBuf;

use forklore_core::digest::Digest;
use forklore_core::sillytavern::chat::Chat;
use forklore_core::timeline::family::Timeline;
use forklore_core::timeline::moment::{BoundBook, RecordedPast};

use crate::disk::clock::Clock;
use crate::disk::describe::{kind, shown};
use crate::disk::{Disk, Stat, parent_of};
use crate::folder::headers;
use crate::folder::layout::UserFolders;
use crate::folder::library::{ChatFile, Library, UnreadFile};
use crate::transaction::{CommitError, Transaction};

pub struct Tavern<'d> {
    pub disk: &'d dyn Disk,
    pub clock: &'d dyn Clock,
    pub folders: UserFolders,
    /// Versions of the files that are kept elsewhere, where there are any.
    pub pasts: Option<&'d dyn PastSource>,
}

/// Knows chats and books as they were.
pub trait PastSource {
    /// What is known of a message of a chat. `chat` is what the file holds now.
    fn past(&self, file: &ChatFile, chat: &Chat<'_>, message: usize) -> Option<RecordedPast>;

    /// What one of these books once was, by the digest in a seal.
    fn sealed(&self, books: &[&str], digest: Digest) -> Option<Vec<u8>>;

    /// Chats that are gone since a short while, each with the book that it was bound to; or why that
    /// cannot be told.
    fn gone(&self) -> Result<Vec<GoneChat>, String>;
}

/// A chat that is gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GoneChat {
    pub label: String,
    pub book: String,
}

/// A chat and its book, read so that they belong together.
#[derive(Debug)]
pub struct LoadedChat {
    pub file: ChatFile,
    pub bytes: Vec<u8>,
    pub timeline: Timeline,
    pub book: Option<LoadedBook>,
    look: Option<Stat>,
}

#[derive(Debug)]
pub struct LoadedBook {
    pub path: PathBuf,
    pub bytes: Vec<u8>,
}

/// A file could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error("could not read `{}`", path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error("`{}` is being written faster than it can be read", path.display())]
    NeverStill { path: PathBuf },
}

impl From<&UnreadFile> for ReadError {
    fn from(unread: &UnreadFile) -> Self {
        Self::Io { path: unread.path.clone(), source: io::Error::other(unread.why.clone()) }
    }
}

/// A chat and its book are read again when either changed meanwhile; not for ever.
const MOST_READS: usize = 50;

impl<'d> Tavern<'d> {
    pub fn library(&self) -> Library {
        Library::list(self.disk, &self.folders)
    }

    /// What changing `chat` must know of: its neighbours, the books, and who lists it; and the chat
    /// as it is listed now. A book that the disk did not show would be taken for missing, and its
    /// name for free.
    pub(crate) fn library_around(&self, chat: &ChatFile) -> Result<(Library, ChatFile), ReadError> {
        let library = self.library();
        let folders = [&self.folders.worlds, &self.folders.groups, parent_of(&chat.path)];
        match library.failed_in(&folders) {
            Some(unread) => Err(ReadError::from(unread)),
            None => {
                let chat = library.position(chat).map_or(chat, |at| &library.chats[at]).clone();
                Ok((library, chat))
            }
        }
    }

    /// Whether anything was ever done here. Looking is not worth making folders for.
    pub fn has_history(&self) -> bool {
        matches!(self.disk.stat(&self.folders.ours), Ok(Some(_)))
    }

    /// What the history says of a message.
    pub fn past(&self, loaded: &LoadedChat, message: usize) -> Option<RecordedPast> {
        self.pasts?.past(&loaded.file, &loaded.chat(), message)
    }

    pub fn transaction(&self) -> Result<Transaction<'_>, CommitError> {
        Transaction::open(self.disk, &self.folders, self.clock)
    }

    /// Reads a chat and its book as they were together at one instant.
    pub fn load(&self, library: &Library, file: &ChatFile) -> Result<LoadedChat, ReadError> {
        for _ in 0..MOST_READS {
            let look = self.stat(&file.path)?;
            let bytes = self.read(&file.path)?;
            let timeline = headers::timeline(file, &Chat::read_header(&bytes, file.place()));
            let listed = timeline.book.as_deref().and_then(|name| library.book(name));
            let (book, book_look) = match listed {
                Some(listed) => {
                    let look = self.stat(&listed.path)?;
                    match self.disk.read(&listed.path) {
                        Ok(bytes) => (Some(LoadedBook { path: listed.path.clone(), bytes }), look),
                        Err(error) if error.kind() == io::ErrorKind::NotFound => (None, None),
                        Err(source) => {
                            return Err(ReadError::Io { path: listed.path.clone(), source });
                        }
                    }
                }
                None => (None, None),
            };
            let book_now = match &book {
                Some(book) => self.stat(&book.path)?,
                None => None,
            };
            if self.stat(&file.path)? == look && book_now == book_look {
                return Ok(LoadedChat { file: file.clone(), bytes, timeline, book, look });
            }
        }
        Err(ReadError::NeverStill { path: file.path.clone() })
    }

    fn stat(&self, path: &std::path::Path) -> Result<Option<Stat>, ReadError> {
        self.disk.stat(path).map_err(|source| ReadError::Io { path: path.to_owned(), source })
    }

    pub(crate) fn read(&self, path: &std::path::Path) -> Result<Vec<u8>, ReadError> {
        self.disk.read(path).map_err(|source| ReadError::Io { path: path.to_owned(), source })
    }
}

impl LoadedChat {
    pub fn chat(&self) -> Chat<'_> {
        Chat::read(&self.bytes, self.file.place())
    }

    pub fn bound(&self) -> BoundBook<'_> {
        let bytes = self.book.as_ref().map(|book| book.bytes.as_slice());
        BoundBook::read(self.timeline.book.clone(), bytes)
    }

    /// Whether a child cut at `message` from what was read is still a child of what is there now:
    /// the chat has the same messages up to there, and the same book.
    pub(crate) fn still_has(&self, disk: &dyn Disk, message: usize) -> io::Result<bool> {
        if disk.stat(&self.file.path)? == self.look
            && cfg!(unix)
            && self.look.as_ref().is_some_and(|l| l.inode != 0)
        {
            return Ok(true);
        }
        let bytes = disk.read(&self.file.path)?;
        let now = Chat::read(&bytes, self.file.place());
        let then = self.chat();
        let same_book = headers::timeline(&self.file, &now).book == self.timeline.book;
        Ok(same_book && (0..=message).all(|index| now.line(index) == then.line(index)))
    }
}

forklore_core::diagnostics!(ReadError {
    Self::Io { path, source } => ("not-read", path: shown(path), kind: kind(source)),
    Self::NeverStill { path } => ("never-still", path: shown(path)),
});
