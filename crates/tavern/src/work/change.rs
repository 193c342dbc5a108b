//! Changes an existing chat or its book: only if no page may overwrite the result, the book first,
//! and as a single operation.

use std::path::Path;
use std::time::SystemTime;

use forklore_core::finding::{Obstacle, Remark};
use forklore_core::plan::fork::pending_work;
use forklore_core::plan::repair::CannotRepair;
use forklore_core::sillytavern::names::book_key;
use forklore_core::timeline::exactness::Knowledge;

use crate::folder::headers::Headers;
use crate::folder::library::{ChatFile, Library};
use crate::folder::open_chats::{MayBeOpen, may_be_open, written_recently};
use crate::folder::references::settings_places;
use crate::transaction::{CommitError, Task, Transaction};
use crate::work::tavern::{LoadedChat, ReadError, Tavern};

/// New content for a chat's book, for the chat itself, or for both.
#[derive(Debug, Default)]
pub(crate) struct LoreChange<'c> {
    pub(crate) book: Option<NewContent<'c>>,
    pub(crate) chat: Option<Vec<&'c [u8]>>,
}

#[derive(Debug)]
pub(crate) struct NewContent<'c> {
    pub(crate) name: &'c str,
    pub(crate) bytes: &'c [u8],
    /// Whether it replaces the book that the chat is bound to.
    pub(crate) replaces: bool,
}

#[derive(Clone, Copy, Debug, Default)]
pub struct ChangeOptions {
    /// The user asserts that no page has the chat or the book open.
    pub is_closed: bool,
    pub dry_run: bool,
}

/// The changes made to a chat and its book, or planned in a dry run.
#[derive(Debug)]
pub struct ChangedChat {
    pub chat: String,
    pub book: Option<ChangedBook>,
    pub chat_changed: bool,
    pub part: Option<Knowledge>,
    pub remarks: Vec<Remark>,
    pub operation: Option<u64>,
}

#[derive(Debug)]
pub struct ChangedBook {
    pub name: String,
    pub entries: usize,
    pub replaced: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum ChangeError {
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error(transparent)]
    Cannot(#[from] CannotRepair),
    #[error("cannot go back to that message of {chat:?}")]
    Message { chat: String, source: Obstacle },
    #[error("{0}")]
    Busy(Obstacle),
    #[error("{what} may be open in SillyTavern: {why}")]
    MayBeOpen { what: String, why: MayBeOpen },
    #[error("there is no lorebook {0:?}")]
    NoSuchBook(String),
    #[error("the lorebook {name:?} cannot be read")]
    BookUnreadable { name: String, source: forklore_core::sillytavern::book::BookError },
    #[error("{0:?} does not share its lorebook with another chat")]
    NotShared(String),
    #[error("{0:?} has no journal")]
    NoJournal(String),
    #[error(transparent)]
    CarryOut(#[from] CommitError),
}

const MAX_TRIES: usize = 20;

impl Tavern<'_> {
    /// Commits a change, or only checks it if there is no transaction. Returns the operation's
    /// number.
    pub(crate) fn change(
        &self,
        transaction: Option<&Transaction<'_>>,
        (command, summary): (&str, &str),
        library: &Library,
        loaded: &LoadedChat,
        change: &LoreChange<'_>,
        options: ChangeOptions,
    ) -> Result<Option<u64>, ChangeError> {
        let mut tasks = Vec::new();
        if let Some(book) = &change.book {
            match loaded.book.as_ref().filter(|_| book.replaces) {
                Some(old) => {
                    if let Some(name) = &loaded.timeline.book {
                        self.check_book_closed(library, name, &old.path, options)?;
                    }
                    let (path, expected) = (old.path.clone(), old.bytes.as_slice());
                    tasks.push(Task::Replace { path, expected, parts: vec![book.bytes] });
                }
                None => {
                    let path = self.folders.worlds.join(format!("{}.json", book.name));
                    let like = library.books.first().map(|book| book.path.clone());
                    tasks.push(Task::Create { path, like, parts: vec![book.bytes] });
                }
            }
        }
        if let Some(parts) = &change.chat {
            self.check_chat_closed(library, &loaded.file, options)?;
            let (path, expected) = (loaded.file.path.clone(), loaded.bytes.as_slice());
            tasks.push(Task::Replace { path, expected, parts: parts.clone() });
        }
        let Some(transaction) = transaction else { return Ok(None) };
        Ok(Some(transaction.commit(command, summary, &tasks)?.id))
    }

    pub(crate) fn retry_on_race<T>(
        &self,
        work: impl Fn() -> Result<T, ChangeError>,
    ) -> Result<T, ChangeError> {
        let mut tries = 0;
        loop {
            tries += 1;
            match work() {
                Err(ChangeError::CarryOut(error)) if error.is_race() && tries < MAX_TRIES => {}
                other => return other,
            }
        }
    }

    /// Fails if the book has operations of ST-Auto-Recap that have not run, which would be lost or
    /// meet other entries than they expect.
    pub(crate) fn check_idle(
        &self,
        loaded: &LoadedChat,
        options: ChangeOptions,
    ) -> Result<(), ChangeError> {
        let metadata = loaded.chat().metadata_value();
        let work = pending_work(&metadata, loaded.bound().book(), 0);
        if work.is_pending() && !options.is_closed {
            return Err(ChangeError::Busy(Obstacle::QueueBusy(work)));
        }
        Ok(())
    }

    /// Fails if a page may have the chat open.
    pub fn check_chat_closed(
        &self,
        library: &Library,
        chat: &ChatFile,
        options: ChangeOptions,
    ) -> Result<(), ChangeError> {
        if options.is_closed {
            return Ok(());
        }
        match may_be_open(self.disk, &self.folders, library, chat, self.clock.now()) {
            Some(why) => Err(ChangeError::MayBeOpen { what: format!("{:?}", chat.label()), why }),
            None => Ok(()),
        }
    }

    /// Fails if a page may have the book open. A page that has any of the book's chats open, or the
    /// book selected for all chats, holds it in memory and would overwrite our version.
    pub fn check_book_closed(
        &self,
        library: &Library,
        name: &str,
        path: &Path,
        options: ChangeOptions,
    ) -> Result<(), ChangeError> {
        if options.is_closed {
            return Ok(());
        }
        let what = format!("the lorebook {name:?}");
        let now: SystemTime = self.clock.now();
        if let Ok(Some(stat)) = self.disk.stat(path)
            && let Some(ago) = written_recently(stat.modified, now)
        {
            return Err(ChangeError::MayBeOpen { what, why: MayBeOpen::WrittenRecently(ago) });
        }
        let key = book_key(name);
        let settings = settings_places(self.disk, &self.folders);
        let why = match settings {
            Err(_) => Some(MayBeOpen::CannotTell("settings.json".into())),
            Ok(places) if places.iter().any(|place| place.book == key) => {
                Some(MayBeOpen::SelectedElsewhere)
            }
            Ok(_) => None,
        };
        if let Some(why) = why {
            return Err(ChangeError::MayBeOpen { what, why });
        }
        let headers = Headers::read(self.disk, library);
        for (chat, timeline) in library.chats.iter().zip(&headers.timelines) {
            if timeline.book.as_deref().map(book_key).as_ref() == Some(&key)
                && let Some(why) = may_be_open(self.disk, &self.folders, library, chat, now)
            {
                return Err(ChangeError::MayBeOpen { what: format!("{:?}", chat.label()), why });
            }
        }
        Ok(())
    }

    /// Other chats that are bound to the same book.
    pub(crate) fn also_used_by(
        &self,
        library: &Library,
        chat: &ChatFile,
        book: &str,
    ) -> Vec<String> {
        let key = book_key(book);
        let headers = Headers::read(self.disk, library);
        let others = library.chats.iter().zip(&headers.timelines).filter(|(other, timeline)| {
            other.path != chat.path && timeline.book.as_deref().map(book_key).as_ref() == Some(&key)
        });
        others.map(|(other, _)| other.label()).collect()
    }
}

forklore_core::diagnostics!(ChangeError {
    Self::Read(error) => [error: ReadError],
    Self::Cannot(error) => [error: CannotRepair],
    Self::Message { source, .. } | Self::Busy(source) => [source: Obstacle],
    Self::MayBeOpen { what, why } => ("may-be-open", what: what.as_str(), why: why.coded().code),
    Self::NoSuchBook(name) => ("no-such-book", name: name.as_str()),
    Self::BookUnreadable { name, .. } => ("book-unreadable", name: name.as_str()),
    Self::NotShared(chat) => ("not-shared", chat: chat.as_str()),
    Self::NoJournal(chat) => ("no-journal", chat: chat.as_str()),
    Self::CarryOut(error) => [error: CommitError],
});
