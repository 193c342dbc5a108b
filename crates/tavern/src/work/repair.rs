//! Repair, split, restore and strip: commands that change existing files.

use forklore_core::finding::Remark;
use forklore_core::journal::rewrite::stripped;
use forklore_core::pieces::Pieces;
use forklore_core::plan::fork::resolve_message;
use forklore_core::plan::repair::{self, BookPlan, RepairSource};
use forklore_core::sillytavern::book::Book;
use forklore_core::sillytavern::chat::Chat;
use forklore_core::sillytavern::names::{self, book_key};
use forklore_core::timeline::family::{self, Home};
use forklore_core::timeline::moment::BoundChat;

use crate::disk::clock::timestamp;
use crate::disk::parent_of;
use crate::folder::headers::Headers;
use crate::folder::library::{ChatFile, Library, UnreadFile};
use crate::transaction::Task;
use crate::work::change::{
    ChangeError, ChangeOptions, ChangedBook, ChangedChat, LoreChange, NewContent,
};
use crate::work::tavern::{LoadedChat, ReadError, Tavern};

/// The source that a lost book should be repaired from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WantedSource {
    Journal,
    Recap,
    Copy(String),
    Empty,
    Detach,
}

impl Tavern<'_> {
    pub fn repair(
        &self,
        chat: &ChatFile,
        source: &WantedSource,
        options: ChangeOptions,
    ) -> Result<ChangedChat, ChangeError> {
        self.rebind("repair", chat, options, None, |library, loaded, subject, now| {
            let copied;
            let source = match source {
                WantedSource::Journal => RepairSource::Journal,
                WantedSource::Recap => RepairSource::Recap,
                WantedSource::Empty => RepairSource::Empty,
                WantedSource::Detach => RepairSource::Detach,
                WantedSource::Copy(name) => {
                    let file =
                        library.book(name).ok_or_else(|| ChangeError::NoSuchBook(name.clone()))?;
                    copied = self.read(&file.path)?;
                    let book = Book::read(&copied).map_err(|source| {
                        ChangeError::BookUnreadable { name: name.clone(), source }
                    })?;
                    RepairSource::Copy { name: file.stem.clone(), book }
                }
            };
            let free = self.free_book_name(library, &loaded.file);
            Ok(repair::repair(subject, &source, &free, now)?)
        })
    }

    /// The parent's book, for a repair that copies it.
    pub fn parents_book(&self, library: &Library, chat: &ChatFile) -> Option<String> {
        let headers = Headers::read(self.disk, library);
        let at = library.position(chat)?;
        let parent = headers.nodes[at].parent()?;
        headers.timelines[parent].book.clone()
    }

    /// Gives a timeline a book of its own. With `must_share`, fails if it already has one.
    pub fn split(
        &self,
        chat: &ChatFile,
        must_share: bool,
        options: ChangeOptions,
    ) -> Result<ChangedChat, ChangeError> {
        self.rebind("split", chat, options, None, |library, loaded, subject, now| {
            if must_share && !self.is_sharing(library, chat)? {
                return Err(ChangeError::NotShared(chat.label()));
            }
            let name = self.free_book_name(library, chat);
            let fork_point = self.fork_point(library, loaded, subject.chat)?;
            Ok(repair::split(subject, &name, fork_point, now)?)
        })
    }

    /// Timelines that share a book within their family, except the one that keeps it.
    pub fn needing_split(&self, library: &Library) -> Vec<ChatFile> {
        let headers = Headers::read(self.disk, library);
        let shared = family::shared_books(&headers.timelines, &headers.nodes);
        let mut found: Vec<usize> = shared
            .values()
            .flat_map(|users| {
                let keeper = family::keeper(&headers.nodes, users);
                users.iter().copied().filter(move |user| Some(*user) != keeper)
            })
            .collect();
        found.sort_unstable();
        found.into_iter().map(|at| library.chats[at].clone()).collect()
    }

    fn is_sharing(&self, library: &Library, chat: &ChatFile) -> Result<bool, ReadError> {
        let headers = Headers::read(self.disk, library);
        if let Some(at) = library.position(chat)
            && let Some(book) = &headers.timelines[at].book
        {
            let key = book_key(book);
            let mut others = headers.timelines.iter().enumerate().filter(|(other, _)| *other != at);
            let is_same = |name: &String| book_key(name) == key;
            if others.any(|(_, other)| other.book.as_ref().is_some_and(is_same)) {
                return Ok(true);
            }
        }
        // A relative whose header cannot be read may be sharing the book.
        let is_nearby = |unread: &&UnreadFile| parent_of(&unread.path) == parent_of(&chat.path);
        match headers.unread.iter().find(is_nearby) {
            Some(unread) => Err(ReadError::from(unread)),
            None => Ok(false),
        }
    }

    fn fork_point(
        &self,
        library: &Library,
        loaded: &LoadedChat,
        child: &Chat<'_>,
    ) -> Result<Option<usize>, ReadError> {
        if let Some(seal) = &loaded.timeline.seal {
            return Ok(Some(seal.message));
        }
        let headers = Headers::read(self.disk, library);
        let parent = library.position(&loaded.file).and_then(|at| headers.nodes[at].parent());
        let Some(parent) = parent.map(|at| &library.chats[at]) else { return Ok(None) };
        let bytes = self.read(&parent.path)?;
        Ok(family::common_prefix(child, &Chat::read(&bytes, parent.place())))
    }

    pub fn restore(
        &self,
        chat: &ChatFile,
        at: Option<i64>,
        fill: bool,
        options: ChangeOptions,
    ) -> Result<ChangedChat, ChangeError> {
        self.rebind("restore", chat, options, at, |_, loaded, subject, now| {
            self.check_idle(loaded, options)?;
            let message = resolve_message(at, subject.chat.len())
                .map_err(|source| ChangeError::Message { chat: chat.label(), source })?;
            Ok(repair::restore(subject, message, fill, now)?)
        })
    }

    /// Removes the journal from a chat. Returns the number of records removed.
    pub fn strip(
        &self,
        chat: &ChatFile,
        options: ChangeOptions,
    ) -> Result<(usize, Option<u64>), ChangeError> {
        self.retry_on_race(|| {
            let transaction = if options.dry_run { None } else { Some(self.transaction()?) };
            let (library, chat) = &self.library_around(chat)?;
            let loaded = self.load(library, chat)?;
            let parsed = loaded.chat();
            let (rewrite, count) = stripped(&parsed);
            if count == 0 {
                return Err(ChangeError::NoJournal(chat.label()));
            }
            self.check_chat_closed(library, chat, options)?;
            let Some(transaction) = transaction else { return Ok((count, None)) };
            let file = rewrite.of(&parsed, None);
            let path = chat.path.clone();
            let task = Task::Replace { path, expected: &loaded.bytes, parts: file.slices() };
            let summary = format!("removed {count} journal records from {}", chat.label());
            Ok((count, Some(transaction.commit("strip", &summary, &[task])?.id)))
        })
    }

    fn rebind(
        &self,
        command: &str,
        chat: &ChatFile,
        options: ChangeOptions,
        at: Option<i64>,
        plan: impl for<'a> Fn(
            &Library,
            &LoadedChat,
            BoundChat<'a>,
            &forklore_core::plan::fork::Timestamp,
        ) -> Result<BookPlan<'a>, ChangeError>,
    ) -> Result<ChangedChat, ChangeError> {
        self.retry_on_race(|| {
            let transaction = if options.dry_run { None } else { Some(self.transaction()?) };
            let (library, chat) = &self.library_around(chat)?;
            let loaded = self.load(library, chat)?;
            let (parsed, bound) = (loaded.chat(), loaded.bound());
            let message = at.and_then(|at| resolve_message(Some(at), parsed.len()).ok());
            let past = message.and_then(|message| self.past(&loaded, message));
            let past = past.as_ref();
            let subject = BoundChat { name: &chat.name, chat: &parsed, bound: &bound, past };
            let mut plan = plan(library, &loaded, subject, &timestamp(self.clock.now()))?;
            if let Some(book) = &plan.book {
                let others = self.also_used_by(library, chat, &book.name);
                plan.remarks.extend((!others.is_empty()).then_some(Remark::AlsoUsedBy(others)));
            }
            let replaces = plan.replaces;
            let book = plan.book.as_ref();
            let change = LoreChange {
                book: book.map(|book| NewContent {
                    name: &book.name,
                    bytes: &book.bytes,
                    replaces,
                }),
                chat: plan.chat.as_ref().map(Pieces::slices),
            };
            let summary = summary_of(command, chat, &plan);
            let description = (command, summary.as_str());
            let operation =
                self.change(transaction.as_ref(), description, library, &loaded, &change, options)?;
            Ok(ChangedChat {
                chat: chat.label(),
                book: plan.book.as_ref().map(|book| ChangedBook {
                    name: book.name.clone(),
                    entries: book.entries,
                    replaced: plan.replaces,
                }),
                chat_changed: plan.chat.is_some(),
                part: plan.part,
                remarks: plan.remarks,
                operation,
            })
        })
    }

    fn free_book_name(&self, library: &Library, chat: &ChatFile) -> String {
        let mut taken = library.book_names();
        if chat.home != Home::Loose {
            taken.extend(self.books_named_nearby(library, &chat.home));
        }
        names::for_book(&chat.name, &taken)
    }
}

fn summary_of(command: &str, chat: &ChatFile, plan: &BookPlan<'_>) -> String {
    let chat = chat.label();
    match (command, &plan.book) {
        (_, None) => format!("detached {chat} from its lorebook"),
        ("split", Some(book)) => format!("gave {chat} its own lorebook {:?}", book.name),
        ("restore", Some(book)) => {
            format!("returned {:?}, the lorebook of {chat}, to an earlier message", book.name)
        }
        (_, Some(book)) => format!("repaired {:?}, the lorebook of {chat}", book.name),
    }
}
