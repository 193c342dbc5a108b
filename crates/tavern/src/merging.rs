//! Bringing lore from one timeline into another: prepared, shown, then carried out.

use forklore_core::book::Book;
use forklore_core::fork::Remark;
use forklore_core::json::{Change as Edit, Json};
use forklore_core::merge::{self, Chats, Choices, MergePlan, follow};
use forklore_core::moment::BoundBook;
use forklore_core::names::book_key;
use forklore_core::pieces::Pieces;
use forklore_core::repair::CannotRepair;
use forklore_core::rewrite::{self, Rewrite};

use crate::changing::{Change, NewContent};
use crate::comparing::{Base, BaseKnown, CompareError, Lore, LoreOf, Point, message_of};
use crate::heads::head;
use crate::library::{ChatFile, Library};
use crate::mending::{MendError, MendOptions, Mended, MendedBook};
use crate::tavern::{Loaded, ReadError, Tavern};
use crate::workshop::CarryOutError;

/// What both sides are said to have begun as.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MergeBase {
    /// What the timelines themselves tell.
    Auto,
    /// Nobody knows.
    Unknown,
    /// There was nothing.
    Empty,
    Timeline(Point),
}

/// Whether a moment of the common past has anything to bring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Past {
    /// It is what both began as.
    IsNothingNew,
    /// It is wanted back.
    ComesBack,
}

/// Everything that a merge is planned from.
#[derive(Debug)]
pub struct Prepared {
    library: Library,
    loaded: Loaded,
    book_name: String,
    pub theirs: Lore,
    pub base: Base,
    /// Other chats that are bound to the book that changes.
    pub also_used_by: Vec<String>,
}

#[derive(Debug, thiserror::Error)]
pub enum MergeError {
    #[error(transparent)]
    Compare(#[from] CompareError),
    #[error(transparent)]
    Mend(#[from] MendError),
    #[error("{0:?} has no lorebook to bring anything into")]
    NoBook(String),
    #[error("{0:?} has no lorebook to bring anything from")]
    NothingThere(String),
    #[error("{from:?} and {into:?} share the lorebook {book:?}")]
    OneBook { from: String, into: String, book: String },
}

impl From<ReadError> for MergeError {
    fn from(error: ReadError) -> Self {
        Self::Mend(error.into())
    }
}

impl Prepared {
    /// The chat whose book changes, as commands take it.
    pub fn label(&self) -> String {
        self.loaded.file.label()
    }

    pub fn book_name(&self) -> &str {
        &self.book_name
    }

    /// The book that changes.
    pub fn ours(&self) -> Option<Book<'_>> {
        Book::read(&self.loaded.book.as_ref()?.bytes).ok()
    }

    /// What both began as; `None` where nobody knows, or where there was nothing.
    pub fn began_as(&self) -> Option<Book<'_>> {
        match self.base.known {
            BaseKnown::Left => self.ours(),
            BaseKnown::Right => self.theirs.book(),
            _ => self.base.book(),
        }
    }

    pub fn plan(&self, choices: &Choices) -> MergePlan {
        let (Some(ours), Some(theirs)) = (self.ours(), self.theirs.book()) else {
            return MergePlan::default();
        };
        let began_as = self.began_as();
        let base = match self.base.known {
            BaseKnown::Unknown { .. } => merge::Base::Unknown,
            _ => merge::Base::Known(began_as.as_ref()),
        };
        merge::plan(base, &ours, &theirs, choices)
    }
}

impl Tavern<'_> {
    /// Reads all that a merge of `from` into the book of `into` needs.
    pub fn prepare_merge(
        &self,
        from: &LoreOf,
        into: &ChatFile,
        base: &MergeBase,
        past: Past,
    ) -> Result<Prepared, MergeError> {
        let (library, into) = self.library_around(into)?;
        let loaded = self.load(&library, &into)?;
        let label = into.label();
        let book_name = match loaded.bound() {
            BoundBook::There { name, .. } => name,
            BoundBook::None => return Err(MergeError::NoBook(label)),
            BoundBook::Missing { .. } | BoundBook::Unreadable { .. } => {
                self.lore(&loaded, None)?;
                return Err(MergeError::NoBook(label));
            }
        };
        let (theirs, found) = match from {
            LoreOf::Timeline(point) => self.their_lore(&library, &loaded, point)?,
            LoreOf::Book(name) => {
                let base = Base::of(BaseKnown::Unknown { parting: None });
                (self.lore_of_book(&library, name)?, base)
            }
        };
        let Some(their_book) = theirs.book_name.as_deref().filter(|_| theirs.book().is_some())
        else {
            return Err(MergeError::NothingThere(theirs.label));
        };
        if theirs.message.is_none() && book_key(their_book) == book_key(&book_name) {
            return Err(MergeError::OneBook { from: theirs.label, into: label, book: book_name });
        }
        let base = match base {
            MergeBase::Auto if found.known == BaseKnown::Right && past == Past::ComesBack => {
                Base::of(BaseKnown::Left)
            }
            MergeBase::Auto => found,
            MergeBase::Unknown => Base::of(BaseKnown::Unknown { parting: None }),
            MergeBase::Empty => Base::of(BaseKnown::Empty),
            MergeBase::Timeline(point) => Base::chosen(self.lore_at(&library, point)?),
        };
        let also_used_by = self.also_used_by(&library, &into, &book_name);
        Ok(Prepared { library, loaded, book_name, theirs, base, also_used_by })
    }

    fn their_lore(
        &self,
        library: &Library,
        ours: &Loaded,
        point: &Point,
    ) -> Result<(Lore, Base), MergeError> {
        if point.chat.path == ours.file.path {
            let theirs = self.lore(ours, message_of(ours, point.at)?)?;
            return Ok((theirs, Base::of(BaseKnown::Right)));
        }
        let loaded = self.load(library, &point.chat)?;
        let at = message_of(&loaded, point.at)?;
        let base = self.base_of(library, (ours, None), (&loaded, at))?;
        Ok((self.lore(&loaded, at)?, base))
    }

    /// Somebody may have thought about conflicts for a while.
    fn check_still_bound(&self, loaded: &Loaded) -> Result<(), MergeError> {
        let path = &loaded.file.path;
        let (now, _) = head(self.disk, &loaded.file)
            .map_err(|source| ReadError::Io { path: path.clone(), source })?;
        if now.book == loaded.timeline.book {
            return Ok(());
        }
        Err(MendError::from(CarryOutError::ChangedMeanwhile { path: path.clone() }).into())
    }

    /// Carries out what was planned, if the book is still the one it was planned for.
    pub fn merge(
        &self,
        command: &str,
        prepared: &Prepared,
        plan: &MergePlan,
        options: MendOptions,
    ) -> Result<Mended, MergeError> {
        let Prepared { loaded, book_name, .. } = prepared;
        let label = loaded.file.label();
        let Some(ours) = prepared.ours() else { return Err(MergeError::NoBook(label)) };
        let merged = plan.apply(&ours);
        let entries = Book::read(&merged).map_or(0, |book| book.entries().count());
        let chat = followed(prepared, plan, &merged)?;
        let change = Change {
            book: Some(NewContent { name: book_name, bytes: &merged, replaces: true }),
            chat: chat.as_ref().map(Pieces::slices),
        };
        let from = &prepared.theirs.label;
        let summary = format!("brought lore of {from} into {book_name:?}, the lorebook of {label}");
        let said = (command, summary.as_str());
        let workshop = if options.dry_run { None } else { Some(self.workshop()) };
        let workshop = workshop.transpose().map_err(MendError::from)?;
        if workshop.is_some() {
            self.check_still_bound(loaded)?;
        }
        let library = &prepared.library;
        let operation = self.change(workshop.as_ref(), said, library, loaded, &change, options)?;
        let others = prepared.also_used_by.clone();
        Ok(Mended {
            chat: label,
            book: Some(MendedBook { name: book_name.clone(), entries, replaced: true }),
            chat_changed: chat.is_some(),
            part: None,
            remarks: (!others.is_empty())
                .then_some(Remark::AlsoUsedBy(others))
                .into_iter()
                .collect(),
            operation,
        })
    }
}

/// The chat with what it keeps about entries brought after the merged book.
fn followed<'p>(
    prepared: &'p Prepared,
    plan: &MergePlan,
    merged: &[u8],
) -> Result<Option<Pieces<'p>>, MendError> {
    let chat = prepared.loaded.chat();
    if chat.metadata().is_none() {
        return Ok(None);
    }
    let ours = chat.metadata_value();
    // What ran at a message of the past has run out.
    let theirs = prepared.theirs.metadata.as_ref().filter(|_| prepared.theirs.message.is_none());
    let chats = Chats {
        our_book: &prepared.book_name,
        ours: &ours,
        their_book: prepared.theirs.book_name.as_deref().unwrap_or_default(),
        theirs,
    };
    let Some(metadata) = Book::read(merged).ok().and_then(|merged| follow(plan, &merged, chats))
    else {
        return Ok(None);
    };
    if !chat.is_sound_to_fork() {
        return Err(CannotRepair::NoHeader(prepared.loaded.file.name.clone()).into());
    }
    let changed: Vec<(String, Json)> = metadata
        .members()
        .filter(|(key, value)| ours.get(key) != Some(*value))
        .map(|(key, value)| (key.into_owned(), value.clone()))
        .collect();
    let edits: Vec<(&str, Edit)> =
        changed.iter().map(|(key, value)| (key.as_str(), Edit::Set(value.clone()))).collect();
    let header = Some(rewrite::header(&chat, &edits));
    Ok(Some(Rewrite { header, ..Rewrite::default() }.of(&chat, None)))
}

forklore_core::sayings!(MergeError {
    Self::Compare(error) => [error: CompareError],
    Self::Mend(error) => [error: MendError],
    Self::NoBook(chat) => ("no-book-to-merge-into", chat: chat.as_str()),
    Self::NothingThere(chat) => ("no-book-to-merge-from", chat: chat.as_str()),
    Self::OneBook { from, into, book } => (
        "one-book",
        from: from.as_str(),
        into: into.as_str(),
        book: book.as_str(),
    ),
});
