//! One user's SillyTavern data, with everything needed to work on it.

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
    /// Recorded earlier versions of the files, if there are any.
    pub pasts: Option<&'d dyn PastSource>,
}

/// Provides earlier versions of chats and books.
pub trait PastSource {
    /// What is recorded about a message of a chat. `chat` is the current content of the file.
    fn past(&self, file: &ChatFile, chat: &Chat<'_>, message: usize) -> Option<RecordedPast>;

    /// An earlier version of one of these books, found by the digest in a seal.
    fn sealed(&self, books: &[&str], digest: Digest) -> Option<Vec<u8>>;

    /// Whether something that was asked for could not be read.
    fn is_damaged(&self) -> bool;

    /// Recently deleted chats, each with the book it was bound to, or the reason why they cannot be
    /// determined.
    fn deleted_chats(&self) -> Result<Vec<DeletedChat>, String>;
}

/// A deleted chat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeletedChat {
    pub label: String,
    pub book: String,
}

/// A chat and its book, read in a consistent state.
#[derive(Debug)]
pub struct LoadedChat {
    pub file: ChatFile,
    pub bytes: Vec<u8>,
    pub timeline: Timeline,
    pub book: Option<LoadedBook>,
    stat: Option<Stat>,
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

/// How often a chat and its book are read again if either changes while being read.
const MAX_READS: usize = 50;

impl<'d> Tavern<'d> {
    pub fn library(&self) -> Library {
        Library::list(self.disk, &self.folders)
    }

    /// Lists everything that a change to `chat` depends on (its neighbours, the books, and its
    /// group), and returns the chat as listed now. Fails on I/O errors: a book that could not be
    /// listed would look missing, and its name free.
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

    /// Whether Forklore has ever been used here. Lets read-only commands avoid creating folders.
    pub fn has_history(&self) -> bool {
        matches!(self.disk.stat(&self.folders.ours), Ok(Some(_)))
    }

    /// What the history records about a message.
    pub fn past(&self, loaded: &LoadedChat, message: usize) -> Option<RecordedPast> {
        self.pasts?.past(&loaded.file, &loaded.chat(), message)
    }

    pub fn transaction(&self) -> Result<Transaction<'_>, CommitError> {
        Transaction::open(self.disk, &self.folders, self.clock)
    }

    /// Reads a chat and its book in a state that both had at one instant.
    pub fn load(&self, library: &Library, file: &ChatFile) -> Result<LoadedChat, ReadError> {
        for _ in 0..MAX_READS {
            let stat = self.stat(&file.path)?;
            let bytes = self.read(&file.path)?;
            let timeline = headers::timeline(file, &Chat::read_header(&bytes, file.place()));
            let listed = timeline.book.as_deref().and_then(|name| library.book(name));
            let (book, book_stat) = match listed {
                Some(listed) => {
                    let stat = self.stat(&listed.path)?;
                    match self.disk.read(&listed.path) {
                        Ok(bytes) => (Some(LoadedBook { path: listed.path.clone(), bytes }), stat),
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
            if self.stat(&file.path)? == stat && book_now == book_stat {
                return Ok(LoadedChat { file: file.clone(), bytes, timeline, book, stat });
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

    /// Whether a fork cut at `message` from the loaded chat is still a fork of the current file: it
    /// has the same messages up to there, and the same book.
    pub(crate) fn is_unchanged_until(&self, disk: &dyn Disk, message: usize) -> io::Result<bool> {
        if disk.stat(&self.file.path)? == self.stat
            && cfg!(unix)
            && self.stat.as_ref().is_some_and(|l| l.inode != 0)
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
