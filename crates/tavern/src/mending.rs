//! Repair, split, restore and strip: what changes files that exist.

use forklore_core::book::Book;
use forklore_core::chat::Chat;
use forklore_core::exactness::Part;
use forklore_core::family::{self, Home};
use forklore_core::fork::{Obstacle, Remark, resolve_message};
use forklore_core::names;
use forklore_core::pieces::Pieces;
use forklore_core::repair::{self, BookPlan, CannotRepair, RepairSource, Subject};
use forklore_core::rewrite::stripped;

use crate::chance::now_of;
use crate::changing::{Change, NewContent};
use crate::disk::parent_of;
use crate::heads::Heads;
use crate::library::{ChatFile, Library, Unread};
use crate::open::MayBeOpen;
use crate::tavern::{Loaded, ReadError, Tavern};
use crate::workshop::{CarryOutError, Task};

/// Where someone wants a lost book to come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MendSource {
    Journal,
    Recap,
    Copy(String),
    Empty,
    Detach,
}

#[derive(Clone, Copy, Debug, Default)]
pub struct MendOptions {
    /// Its owner says that no page has the chat or the book open.
    pub is_closed: bool,
    pub dry_run: bool,
}

/// What was done to a chat and its book, or would be.
#[derive(Debug)]
pub struct Mended {
    pub chat: String,
    pub book: Option<MendedBook>,
    pub chat_changed: bool,
    pub part: Option<Part>,
    pub remarks: Vec<Remark>,
    pub operation: Option<u64>,
}

#[derive(Debug)]
pub struct MendedBook {
    pub name: String,
    pub entries: usize,
    pub replaced: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum MendError {
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error(transparent)]
    Cannot(#[from] CannotRepair),
    #[error("could not go back there in {chat:?}")]
    Message { chat: String, source: Obstacle },
    #[error("{what} may be open in SillyTavern: {why}")]
    MayBeOpen { what: String, why: MayBeOpen },
    #[error("there is no lorebook {0:?}")]
    NoSuchBook(String),
    #[error("the lorebook {name:?} cannot be read")]
    BookUnreadable { name: String, source: forklore_core::book::BookError },
    #[error("{0:?} shares its lorebook with no other timeline of its family")]
    NotShared(String),
    #[error("{0:?} has no journal")]
    NoJournal(String),
    #[error(transparent)]
    CarryOut(#[from] CarryOutError),
}

impl Tavern<'_> {
    pub fn repair(
        &self,
        chat: &ChatFile,
        source: &MendSource,
        options: MendOptions,
    ) -> Result<Mended, MendError> {
        self.mend("repair", chat, options, None, |library, loaded, subject, now| {
            let copied;
            let source = match source {
                MendSource::Journal => RepairSource::Journal,
                MendSource::Recap => RepairSource::Recap,
                MendSource::Empty => RepairSource::Empty,
                MendSource::Detach => RepairSource::Detach,
                MendSource::Copy(name) => {
                    let file =
                        library.book(name).ok_or_else(|| MendError::NoSuchBook(name.clone()))?;
                    copied = self.read(&file.path)?;
                    let book = Book::read(&copied).map_err(|source| MendError::BookUnreadable {
                        name: name.clone(),
                        source,
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
        let heads = Heads::read(self.disk, library);
        let at = library.position(chat)?;
        let parent = heads.nodes[at].parent()?;
        heads.timelines[parent].book.clone()
    }

    /// Gives a timeline a book of its own. `must_share` refuses for one that has it already.
    pub fn split(
        &self,
        chat: &ChatFile,
        must_share: bool,
        options: MendOptions,
    ) -> Result<Mended, MendError> {
        self.mend("split", chat, options, None, |library, loaded, subject, now| {
            if must_share && !self.is_sharing(library, chat)? {
                return Err(MendError::NotShared(chat.label()));
            }
            let name = self.free_book_name(library, chat);
            let fork_point = self.fork_point(library, loaded, subject.chat)?;
            Ok(repair::split(subject, &name, fork_point, now)?)
        })
    }

    /// Timelines that share a book within their family and are not the one that keeps it.
    pub fn to_be_split(&self, library: &Library) -> Vec<ChatFile> {
        let heads = Heads::read(self.disk, library);
        let shared = family::shared_books(&heads.timelines, &heads.nodes);
        let mut found: Vec<usize> = shared
            .values()
            .flat_map(|users| {
                let keeper = family::keeper(&heads.nodes, users);
                users.iter().copied().filter(move |user| Some(*user) != keeper)
            })
            .collect();
        found.sort_unstable();
        found.into_iter().map(|at| library.chats[at].clone()).collect()
    }

    fn is_sharing(&self, library: &Library, chat: &ChatFile) -> Result<bool, ReadError> {
        let heads = Heads::read(self.disk, library);
        let shared = family::shared_books(&heads.timelines, &heads.nodes);
        let at = library.position(chat);
        if shared.values().any(|users| at.is_some_and(|at| users.contains(&at))) {
            return Ok(true);
        }
        // A relative whose header cannot be read may be the one that shares.
        let is_nearby = |unread: &&Unread| parent_of(&unread.path) == parent_of(&chat.path);
        match heads.unread.iter().find(is_nearby) {
            Some(unread) => Err(ReadError::from(unread)),
            None => Ok(false),
        }
    }

    fn fork_point(
        &self,
        library: &Library,
        loaded: &Loaded,
        child: &Chat<'_>,
    ) -> Result<Option<usize>, ReadError> {
        if let Some(seal) = &loaded.timeline.seal {
            return Ok(Some(seal.message));
        }
        let heads = Heads::read(self.disk, library);
        let parent = library.position(&loaded.file).and_then(|at| heads.nodes[at].parent());
        let Some(parent) = parent.map(|at| &library.chats[at]) else { return Ok(None) };
        let bytes = self.read(&parent.path)?;
        Ok(family::common_prefix(child, &Chat::read(&bytes, parent.place())))
    }

    pub fn restore(
        &self,
        chat: &ChatFile,
        at: Option<i64>,
        fill: bool,
        options: MendOptions,
    ) -> Result<Mended, MendError> {
        self.mend("restore", chat, options, at, |_, _, subject, now| {
            let message = resolve_message(at, subject.chat.len())
                .map_err(|source| MendError::Message { chat: chat.label(), source })?;
            Ok(repair::restore(subject, message, fill, now)?)
        })
    }

    /// Removes the journal from a chat; the answer says how many records that were.
    pub fn strip(
        &self,
        chat: &ChatFile,
        options: MendOptions,
    ) -> Result<(usize, Option<u64>), MendError> {
        self.again_while_racing(|| {
            let workshop = if options.dry_run { None } else { Some(self.workshop()?) };
            let (library, chat) = &self.library_around(chat)?;
            let loaded = self.load(library, chat)?;
            let parsed = loaded.chat();
            let (rewrite, count) = stripped(&parsed);
            if count == 0 {
                return Err(MendError::NoJournal(chat.label()));
            }
            self.check_chat_closed(library, chat, options)?;
            let Some(workshop) = workshop else { return Ok((count, None)) };
            let file = rewrite.of(&parsed, None);
            let path = chat.path.clone();
            let task = Task::Replace { path, expected: &loaded.bytes, parts: file.slices() };
            let summary = format!("removed {count} journal records from {}", chat.label());
            Ok((count, Some(workshop.carry_out("strip", &summary, &[task])?.id)))
        })
    }

    fn mend(
        &self,
        command: &str,
        chat: &ChatFile,
        options: MendOptions,
        at: Option<i64>,
        plan: impl for<'a> Fn(
            &Library,
            &Loaded,
            Subject<'a>,
            &forklore_core::fork::Now,
        ) -> Result<BookPlan<'a>, MendError>,
    ) -> Result<Mended, MendError> {
        self.again_while_racing(|| {
            let workshop = if options.dry_run { None } else { Some(self.workshop()?) };
            let (library, chat) = &self.library_around(chat)?;
            let loaded = self.load(library, chat)?;
            let (parsed, bound) = (loaded.chat(), loaded.bound());
            let message = at.and_then(|at| resolve_message(Some(at), parsed.len()).ok());
            let past = message.and_then(|message| self.past(&loaded, message));
            let past = past.as_ref();
            let subject = Subject { name: &chat.name, chat: &parsed, bound: &bound, past };
            let mut plan = plan(library, &loaded, subject, &now_of(self.chance.now()))?;
            if let Some(book) = &plan.book {
                let others = self.also_used_by(library, chat, &book.name);
                plan.remarks.extend((!others.is_empty()).then_some(Remark::AlsoUsedBy(others)));
            }
            let replaces = plan.replaces;
            let book = plan.book.as_ref();
            let change = Change {
                book: book.map(|book| NewContent {
                    name: &book.name,
                    bytes: &book.bytes,
                    replaces,
                }),
                chat: plan.chat.as_ref().map(Pieces::slices),
            };
            let summary = summary_of(command, chat, &plan);
            let said = (command, summary.as_str());
            let operation =
                self.change(workshop.as_ref(), said, library, &loaded, &change, options)?;
            Ok(Mended {
                chat: chat.label(),
                book: plan.book.as_ref().map(|book| MendedBook {
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
        ("split", Some(book)) => format!("gave {chat} the lorebook {:?} of its own", book.name),
        ("restore", Some(book)) => {
            format!("put {:?}, the lorebook of {chat}, back in time", book.name)
        }
        (_, Some(book)) => format!("repaired {:?}, the lorebook of {chat}", book.name),
    }
}

forklore_core::sayings!(MendError {
    Self::Read(error) => [error: ReadError],
    Self::Cannot(error) => [error: CannotRepair],
    Self::Message { source, .. } => [source: Obstacle],
    Self::MayBeOpen { what, why } => ("may-be-open", what: what.as_str(), why: why.said().code),
    Self::NoSuchBook(name) => ("no-such-book", name: name.as_str()),
    Self::BookUnreadable { name, .. } => ("book-unreadable", name: name.as_str()),
    Self::NotShared(chat) => ("not-shared", chat: chat.as_str()),
    Self::NoJournal(chat) => ("no-journal", chat: chat.as_str()),
    Self::CarryOut(error) => [error: CarryOutError],
});
