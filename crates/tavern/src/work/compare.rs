//! Compares the lore of two moments, and finds their merge base.

use forklore_core::compare::diff::{self, LoreDiff, LoreSide};
use forklore_core::finding::Obstacle;
use forklore_core::plan::book_copy::book_value;
use forklore_core::plan::fork::resolve_message;
use forklore_core::sillytavern::book::{Book, BookError};
use forklore_core::sillytavern::names::book_key;
use forklore_core::timeline::exactness::{Knowledge, Source};
use forklore_core::timeline::family::{self, Timeline};
use forklore_core::timeline::merge_base::{BaseEvidence, SealedBase, find_merge_base};
use forklore_core::timeline::moment::BoundChat;
use forklore_core::timeline::moment::{
    BookContent, BookThen, BoundBook, MomentOptions, RecordedPast, memory_then, moment,
};
use forklore_json::Json;

use crate::disk::Disk;
use crate::folder::headers::Headers;
use crate::folder::library::{ChatFile, FindError, Library};
use crate::folder::similar_names::like;
use crate::work::tavern::{LoadedChat, ReadError, Tavern};

/// A chat, now or at one of its messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChatPoint {
    pub chat: ChatFile,
    pub at: Option<i64>,
}

/// The timeline or book whose lore is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoreOf {
    Timeline(ChatPoint),
    /// A lorebook, regardless of who uses it.
    Book(String),
}

impl Library {
    /// Resolves `CHAT`, `CHAT@M` or `book=NAME`. A bare name also finds a lorebook if no chat
    /// matches.
    pub fn find_lore(&self, disk: &dyn Disk, wanted: &str) -> Result<LoreOf, FindError> {
        if let Some(name) = wanted.strip_prefix("book=") {
            return Ok(LoreOf::Book(name.to_owned()));
        }
        match self.find_point(disk, wanted) {
            Ok(point) => Ok(LoreOf::Timeline(point)),
            Err(FindError::Unknown { .. }) if self.book(wanted).is_some() => {
                Ok(LoreOf::Book(wanted.to_owned()))
            }
            Err(error) => Err(error),
        }
    }

    /// Resolves `CHAT` or `CHAT@M`. A chat whose whole name matches takes precedence, because the
    /// names that SillyTavern gives contain `@`.
    pub fn find_point(&self, disk: &dyn Disk, wanted: &str) -> Result<ChatPoint, FindError> {
        let unknown = match self.find(disk, wanted) {
            Ok(chat) => return Ok(ChatPoint { chat: chat.clone(), at: None }),
            Err(error) => error,
        };
        let split = wanted.rsplit_once('@');
        match split.and_then(|(name, at)| Some((name, at.parse().ok()?))) {
            Some((name, at)) if matches!(unknown, FindError::Unknown { .. }) => {
                Ok(ChatPoint { chat: self.find(disk, name)?.clone(), at: Some(at) })
            }
            _ => Err(unknown),
        }
    }
}

/// The lore of a chat at one moment.
#[derive(Debug)]
pub struct LoreAt {
    /// The chat as commands accept it, or the book's name if the lore is not a chat's.
    pub label: String,
    /// `None` means now.
    pub message: Option<usize>,
    pub book_name: Option<String>,
    /// The book's content; `None` if there was no book.
    bytes: Option<Vec<u8>>,
    pub metadata: Option<Json>,
    pub known: Knowledge,
}

impl LoreAt {
    pub fn book(&self) -> Option<Book<'_>> {
        self.bytes.as_deref().and_then(|bytes| Book::read(bytes).ok())
    }
}

/// The merge base of two moments, as far as it is known.
#[derive(Debug)]
pub struct CommonBase {
    pub known: BaseKnown,
    bytes: Option<Vec<u8>>,
    metadata: Option<Json>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BaseKnown {
    /// One of the two is the base of the other.
    Left,
    Right,
    /// The state at `message`; the timelines fork at message `fork_point`.
    Found {
        how: BaseEvidence,
        message: usize,
        fork_point: usize,
    },
    /// Chosen by the user.
    Chosen(String),
    /// The user declared the base empty.
    Empty,
    /// The fork point, if it is known, but not the state there.
    Unknown {
        fork_point: Option<usize>,
    },
}

impl CommonBase {
    pub(crate) fn of(known: BaseKnown) -> Self {
        Self { known, bytes: None, metadata: None }
    }

    pub(crate) fn chosen(lore: LoreAt) -> Self {
        let label = match lore.message {
            Some(message) => format!("{}@{message}", lore.label),
            None => lore.label,
        };
        Self { known: BaseKnown::Chosen(label), bytes: lore.bytes, metadata: lore.metadata }
    }

    pub(crate) fn book(&self) -> Option<Book<'_>> {
        self.bytes.as_deref().and_then(|bytes| Book::read(bytes).ok())
    }
}

/// Two sides and their merge base.
#[derive(Debug)]
pub struct Comparison {
    pub left: LoreAt,
    pub right: LoreAt,
    pub base: CommonBase,
}

impl Comparison {
    pub fn compared(&self, internal: bool) -> LoreDiff {
        let books = [self.left.book(), self.right.book(), self.base.book()];
        let [left, right, base] = &books;
        let left = LoreSide { book: left.as_ref(), metadata: self.left.metadata.as_ref() };
        let right = LoreSide { book: right.as_ref(), metadata: self.right.metadata.as_ref() };
        let base = match &self.base.known {
            BaseKnown::Left => Some(left),
            BaseKnown::Right => Some(right),
            BaseKnown::Found { .. } | BaseKnown::Chosen(_) | BaseKnown::Empty => {
                Some(LoreSide { book: base.as_ref(), metadata: self.base.metadata.as_ref() })
            }
            BaseKnown::Unknown { .. } => None,
        };
        diff::compare(base, left, right, internal)
    }

    /// The book that both are currently bound to.
    pub fn shared_book(&self) -> Option<&str> {
        // The lore of a book alone has no metadata.
        let is_now = |lore: &LoreAt| lore.message.is_none() && lore.metadata.is_some();
        let (left, right) = (self.left.book_name.as_deref()?, self.right.book_name.as_deref()?);
        let are_now = is_now(&self.left) && is_now(&self.right);
        (are_now && book_key(left) == book_key(right)).then_some(left)
    }
}

#[derive(Debug, thiserror::Error)]
pub enum CompareError {
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error("cannot use that message of {chat:?}")]
    Message { chat: String, source: Obstacle },
    #[error("the lorebook {book:?} of {chat:?} does not exist")]
    BookMissing { chat: String, book: String },
    #[error("the lorebook {book:?} of {chat:?} cannot be read: {why}")]
    BookUnreadable { chat: String, book: String, why: BookError },
    #[error("nothing recorded the lorebook of {chat:?} at message {message}")]
    NotKnown { chat: String, message: usize },
    #[error("there is no lorebook {name:?}")]
    NoSuchBook { name: String, like: Vec<String> },
    #[error("the lorebook {book:?} cannot be read")]
    Unreadable { book: String, source: BookError },
}

impl Tavern<'_> {
    /// Compares two moments. Two messages of the same chat are put in story order.
    pub fn compare(&self, left: &LoreOf, right: &LoreOf) -> Result<Comparison, CompareError> {
        let library = self.library();
        let (LoreOf::Timeline(left), LoreOf::Timeline(right)) = (left, right) else {
            // A lorebook alone has no variables or notes to compare.
            let lore =
                |of| self.lore_of(&library, of).map(|lore| LoreAt { metadata: None, ..lore });
            let (left, right) = (lore(left)?, lore(right)?);
            let base = CommonBase::of(BaseKnown::Unknown { fork_point: None });
            return Ok(Comparison { left, right, base });
        };
        let one = self.load(&library, &left.chat)?;
        let left_at = message_of(&one, left.at)?;
        if left.chat.path == right.chat.path {
            let mut moments = [left_at, message_of(&one, right.at)?];
            moments.sort_by_key(|at| at.unwrap_or(usize::MAX));
            let [left, right] = moments;
            let (left, right) = (self.lore(&one, left)?, self.lore(&one, right)?);
            return Ok(Comparison { left, right, base: CommonBase::of(BaseKnown::Left) });
        }
        let other = self.load(&library, &right.chat)?;
        let right_at = message_of(&other, right.at)?;
        let base = self.base_of(&library, (&one, left_at), (&other, right_at))?;
        let (left, right) = (self.lore(&one, left_at)?, self.lore(&other, right_at)?);
        Ok(Comparison { left, right, base })
    }

    /// The merge base of two moments of different timelines.
    pub(crate) fn base_of(
        &self,
        library: &Library,
        (one, left_at): (&LoadedChat, Option<usize>),
        (other, right_at): (&LoadedChat, Option<usize>),
    ) -> Result<CommonBase, ReadError> {
        let headers = Headers::read(self.disk, library);
        let at = |loaded: &LoadedChat| library.position(&loaded.file);
        let parted =
            at(one).zip(at(other)).and_then(|(a, b)| family::fork_point(&headers.nodes, a, b));
        let (one_chat, other_chat) = (one.chat(), other.chat());
        let recorded = parted.as_ref().and_then(|parted| parted.message);
        let fork_point = recorded.or_else(|| family::common_prefix(&one_chat, &other_chat));
        let Some(message) = fork_point else {
            return Ok(CommonBase::of(BaseKnown::Unknown { fork_point: None }));
        };
        // A moment before the fork point is in the past of both.
        let past = |at: Option<usize>| at.filter(|at| *at < message);
        match (past(left_at), past(right_at)) {
            (Some(left), Some(right)) if right < left => {
                return Ok(CommonBase::of(BaseKnown::Right));
            }
            (Some(_), _) => return Ok(CommonBase::of(BaseKnown::Left)),
            (None, Some(_)) => return Ok(CommonBase::of(BaseKnown::Right)),
            (None, None) => {}
        }
        let cut = parted.as_ref().and_then(|parted| parted.cut);
        let sealed = cut.map_or(SealedBase::Unknown, |cut| sealed(&headers.timelines[cut]));
        let ancestor = parted.and_then(|parted| parted.ancestor).map(|at| &library.chats[at]);
        let third = ancestor.filter(|a| a.path != one.file.path && a.path != other.file.path);
        let third = third.map(|file| self.load(library, file)).transpose()?;
        let third_chat = third.as_ref().map(LoadedChat::chat);
        let (one_bound, other_bound) = (one.bound(), other.bound());
        let third_bound = third.as_ref().map(LoadedChat::bound);
        let mut witnesses = vec![
            BoundChat { name: &one.file.name, chat: &one_chat, bound: &one_bound, past: None },
            BoundChat {
                name: &other.file.name,
                chat: &other_chat,
                bound: &other_bound,
                past: None,
            },
        ];
        if let (Some(third), Some(chat), Some(bound)) = (&third, &third_chat, &third_bound) {
            witnesses.push(BoundChat { name: &third.file.name, chat, bound, past: None });
        }
        let found = find_merge_base(&witnesses, message, sealed);
        let is_proved = found.as_ref().is_some_and(|found| found.evidence == BaseEvidence::Sealed);
        if let (SealedBase::Book(digest), false) = (sealed, is_proved) {
            let books = [Some(one), Some(other), third.as_ref()];
            let books =
                books.into_iter().flatten().filter_map(|loaded| loaded.timeline.book.as_deref());
            let books: Vec<&str> = books.collect();
            let sealed_bytes = self.pasts.and_then(|pasts| pasts.sealed(&books, digest));
            if let Some(bytes) = sealed_bytes {
                let known =
                    BaseKnown::Found { how: BaseEvidence::Sealed, message, fork_point: message };
                let metadata =
                    found.filter(|found| found.message == message).and_then(|found| found.metadata);
                return Ok(CommonBase { known, bytes: Some(bytes), metadata });
            }
        }
        Ok(match found {
            Some(found) => CommonBase {
                known: BaseKnown::Found {
                    how: found.evidence,
                    message: found.message,
                    fork_point: message,
                },
                bytes: found.book.map(|book| book.stringify()),
                metadata: found.metadata,
            },
            None => CommonBase::of(BaseKnown::Unknown { fork_point: Some(message) }),
        })
    }

    fn lore_of(&self, library: &Library, of: &LoreOf) -> Result<LoreAt, CompareError> {
        match of {
            LoreOf::Timeline(point) => self.lore_at(library, point),
            LoreOf::Book(name) => self.lore_of_book(library, name),
        }
    }

    pub(crate) fn lore_of_book(
        &self,
        library: &Library,
        name: &str,
    ) -> Result<LoreAt, CompareError> {
        let file = library.book(name).ok_or_else(|| CompareError::NoSuchBook {
            name: name.to_owned(),
            like: like(name, library.books.iter().map(|book| book.stem.clone())),
        })?;
        let bytes = self.read(&file.path)?;
        Book::read(&bytes)
            .map_err(|source| CompareError::Unreadable { book: file.stem.clone(), source })?;
        Ok(LoreAt {
            label: file.stem.clone(),
            message: None,
            book_name: Some(file.stem.clone()),
            bytes: Some(bytes),
            metadata: None,
            known: Knowledge::EXACT_FROM_FILES,
        })
    }

    pub(crate) fn lore_at(
        &self,
        library: &Library,
        point: &ChatPoint,
    ) -> Result<LoreAt, CompareError> {
        let loaded = self.load(library, &point.chat)?;
        self.lore(&loaded, message_of(&loaded, point.at)?)
    }
}

fn sealed(cut: &Timeline) -> SealedBase {
    match cut.seal.as_ref().map(|seal| &seal.book) {
        Some(Some(book)) => SealedBase::Book(book.digest),
        Some(None) => SealedBase::NoBook,
        None => SealedBase::Unknown,
    }
}

/// Resolves a message index as SillyTavern counts; `None` means now.
pub(crate) fn message_of(
    loaded: &LoadedChat,
    at: Option<i64>,
) -> Result<Option<usize>, CompareError> {
    let Some(at) = at else { return Ok(None) };
    let found = resolve_message(Some(at), loaded.chat().len());
    let chat = || loaded.file.label();
    found.map(Some).map_err(|source| CompareError::Message { chat: chat(), source })
}

impl Tavern<'_> {
    /// The lore of a chat, now or at a message.
    pub(crate) fn lore(
        &self,
        loaded: &LoadedChat,
        at: Option<usize>,
    ) -> Result<LoreAt, CompareError> {
        let past = at.and_then(|message| self.past(loaded, message));
        lore(loaded, at, past.as_ref())
    }
}

fn lore(
    loaded: &LoadedChat,
    at: Option<usize>,
    past: Option<&RecordedPast>,
) -> Result<LoreAt, CompareError> {
    let (chat, bound) = (loaded.chat(), loaded.bound());
    let label = loaded.file.label();
    let live = || loaded.book.as_ref().map(|book| book.bytes.clone());
    let Some(message) = at else {
        let bytes = match bound {
            BoundBook::None => None,
            BoundBook::There { .. } => live(),
            BoundBook::Missing { name } => {
                return Err(CompareError::BookMissing { chat: label, book: name });
            }
            BoundBook::Unreadable { name, error } => {
                return Err(CompareError::BookUnreadable { chat: label, book: name, why: error });
            }
        };
        return Ok(LoreAt {
            label,
            message: None,
            book_name: loaded.timeline.book.clone(),
            bytes,
            metadata: Some(memory_then(&chat, chat.len().saturating_sub(1), None)),
            known: Knowledge::EXACT_FROM_FILES,
        });
    };
    let terms = MomentOptions { settled: true, ..MomentOptions::default() };
    let then = moment(&chat, &bound, past, message, terms);
    let metadata = Some(memory_then(&chat, message, then.metadata.values.as_ref()));
    let (book_name, bytes, known) = match &then.book {
        BookThen::None(part) => (None, None, *part),
        BookThen::Known { part, name, content } => {
            let bytes = match content {
                BookContent::Bytes(_) if part.source == Source::Files => live(),
                BookContent::Bytes(book) => Some(book.root().bytes().to_vec()),
                other => Some(book_value(other).stringify()),
            };
            (Some(name.clone()), bytes, *part)
        }
        BookThen::Unknown => return Err(CompareError::NotKnown { chat: label, message }),
    };
    Ok(LoreAt { label, message: Some(message), book_name, bytes, metadata, known })
}

forklore_core::diagnostics!(CompareError {
    Self::NoSuchBook { name, .. } => ("no-such-book", name: name.as_str()),
    Self::Unreadable { book, .. } => ("book-unreadable", name: book.as_str()),
    Self::Read(error) => [error: ReadError],
    Self::Message { source, .. } => [source: Obstacle],
    Self::BookMissing { chat, book } => (
        "book-missing",
        chat: chat.as_str(),
        name: book.as_str(),
    ),
    Self::BookUnreadable { chat, book, .. } => (
        "book-unreadable",
        chat: chat.as_str(),
        name: book.as_str(),
    ),
    Self::NotKnown { chat, message } => (
        "book-not-recorded",
        chat: chat.as_str(),
        message: *message,
    ),
});
