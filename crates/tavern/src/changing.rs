//! What changes a chat that exists, or its book: only where no page can lose by it, the book first,
//! and as one operation.

use std::path::Path;
use std::time::SystemTime;

use forklore_core::names::book_key;

use crate::heads::Heads;
use crate::library::{ChatFile, Library};
use crate::mending::{MendError, MendOptions};
use crate::open::{MayBeOpen, may_be_open, written_recently};
use crate::references::settings_places;
use crate::tavern::{Loaded, Tavern};
use crate::workshop::{Task, Workshop};

/// New content for a chat's book, for the chat itself, or for both.
#[derive(Debug, Default)]
pub(crate) struct Change<'c> {
    pub(crate) book: Option<NewContent<'c>>,
    pub(crate) chat: Option<Vec<&'c [u8]>>,
}

#[derive(Debug)]
pub(crate) struct NewContent<'c> {
    pub(crate) name: &'c str,
    pub(crate) bytes: &'c [u8],
    /// Whether it takes the place of the book that the chat is bound to.
    pub(crate) replaces: bool,
}

const MOST_TRIES: usize = 20;

impl Tavern<'_> {
    /// Carries a change out, or without a workshop only looks. Answers with the operation's number.
    pub(crate) fn change(
        &self,
        workshop: Option<&Workshop<'_>>,
        (command, summary): (&str, &str),
        library: &Library,
        loaded: &Loaded,
        change: &Change<'_>,
        options: MendOptions,
    ) -> Result<Option<u64>, MendError> {
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
        let Some(workshop) = workshop else { return Ok(None) };
        Ok(Some(workshop.carry_out(command, summary, &tasks)?.id))
    }

    pub(crate) fn again_while_racing<T>(
        &self,
        work: impl Fn() -> Result<T, MendError>,
    ) -> Result<T, MendError> {
        let mut tries = 0;
        loop {
            tries += 1;
            match work() {
                Err(MendError::CarryOut(error)) if error.is_a_race() && tries < MOST_TRIES => {}
                other => return other,
            }
        }
    }

    /// Refuses where a page may have the chat open.
    pub fn check_chat_closed(
        &self,
        library: &Library,
        chat: &ChatFile,
        options: MendOptions,
    ) -> Result<(), MendError> {
        if options.is_closed {
            return Ok(());
        }
        match may_be_open(self.disk, &self.folders, library, chat, self.chance.now()) {
            Some(why) => Err(MendError::MayBeOpen { what: format!("{:?}", chat.label()), why }),
            None => Ok(()),
        }
    }

    /// A page that has any chat of the book open, or the book selected for all chats, keeps it in
    /// memory and would write that over ours.
    pub fn check_book_closed(
        &self,
        library: &Library,
        name: &str,
        path: &Path,
        options: MendOptions,
    ) -> Result<(), MendError> {
        if options.is_closed {
            return Ok(());
        }
        let what = format!("the lorebook {name:?}");
        let now: SystemTime = self.chance.now();
        if let Ok(Some(look)) = self.disk.look(path)
            && let Some(ago) = written_recently(look.modified, now)
        {
            return Err(MendError::MayBeOpen { what, why: MayBeOpen::WrittenRecently(ago) });
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
            return Err(MendError::MayBeOpen { what, why });
        }
        let heads = Heads::read(self.disk, library);
        for (chat, timeline) in library.chats.iter().zip(&heads.timelines) {
            if timeline.book.as_deref().map(book_key).as_ref() == Some(&key)
                && let Some(why) = may_be_open(self.disk, &self.folders, library, chat, now)
            {
                return Err(MendError::MayBeOpen { what: format!("{:?}", chat.label()), why });
            }
        }
        Ok(())
    }

    /// Chats, other than this one, that are bound to the book of this name.
    pub(crate) fn also_used_by(
        &self,
        library: &Library,
        chat: &ChatFile,
        book: &str,
    ) -> Vec<String> {
        let key = book_key(book);
        let heads = Heads::read(self.disk, library);
        let others = library.chats.iter().zip(&heads.timelines).filter(|(other, timeline)| {
            other.path != chat.path && timeline.book.as_deref().map(book_key).as_ref() == Some(&key)
        });
        others.map(|(other, _)| other.label()).collect()
    }
}
