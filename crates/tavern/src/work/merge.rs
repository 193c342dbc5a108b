//! Merges lore from one timeline into another: prepare, show, then commit.

use forklore_core::finding::Remark;
use forklore_core::journal::rewrite::{self, Rewrite};
use forklore_core::pieces::Pieces;
use forklore_core::plan::merge::{self, Choices, MergePlan, MergedChats, follow};
use forklore_core::plan::repair::CannotRepair;
use forklore_core::sillytavern::book::Book;
use forklore_core::sillytavern::names::book_key;
use forklore_core::timeline::moment::BoundBook;
use forklore_json::{Edit, Json};

use crate::folder::headers::read_header;
use crate::folder::library::{ChatFile, Library};
use crate::transaction::CommitError;
use crate::work::change::ChangeError;
use crate::work::change::ChangeOptions;
use crate::work::change::ChangedBook;
use crate::work::change::ChangedChat;
use crate::work::change::{LoreChange, NewContent};
use crate::work::compare::{
    BaseKnown, ChatPoint, CommonBase, CompareError, LoreAt, LoreOf, message_of,
};
use crate::work::tavern::{LoadedChat, ReadError, Tavern};

/// Which merge base to use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WantedBase {
    /// The one that the timelines themselves provide.
    Auto,
    /// Treat the base as unknown.
    Unknown,
    /// An empty book.
    Empty,
    Timeline(ChatPoint),
}

/// How to treat a `from` that is an earlier moment of the target's own past.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PastLore {
    /// It is the merge base, so it contributes nothing.
    IsBase,
    /// Its lore is to be brought back.
    BringBack,
}

/// Everything needed to plan a merge.
#[derive(Debug)]
pub struct PreparedMerge {
    library: Library,
    loaded: LoadedChat,
    book_name: String,
    pub theirs: LoreAt,
    pub base: CommonBase,
    /// Other chats bound to the book that changes.
    pub also_used_by: Vec<String>,
}

#[derive(Debug, thiserror::Error)]
pub enum MergeError {
    #[error(transparent)]
    Compare(#[from] CompareError),
    #[error(transparent)]
    Change(#[from] ChangeError),
    #[error("{0:?} has no lorebook to merge into")]
    NoBook(String),
    #[error("{0:?} has no lorebook to merge from")]
    NothingThere(String),
    #[error("{from:?} and {into:?} share the lorebook {book:?}")]
    OneBook { from: String, into: String, book: String },
}

impl From<ReadError> for MergeError {
    fn from(error: ReadError) -> Self {
        Self::Change(error.into())
    }
}

impl PreparedMerge {
    /// The chat whose book changes, as commands accept it.
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

    /// The merge base; `None` if it is unknown or empty.
    pub fn base_book(&self) -> Option<Book<'_>> {
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
        let base_book = self.base_book();
        let base = match self.base.known {
            BaseKnown::Unknown { .. } => merge::BaseBook::Unknown,
            _ => merge::BaseBook::Known(base_book.as_ref()),
        };
        merge::plan(base, &ours, &theirs, choices)
    }
}

impl Tavern<'_> {
    /// Reads everything needed to merge `from` into the book of `into`.
    pub fn prepare_merge(
        &self,
        from: &LoreOf,
        into: &ChatFile,
        base: &WantedBase,
        past: PastLore,
    ) -> Result<PreparedMerge, MergeError> {
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
                let base = CommonBase::of(BaseKnown::Unknown { fork_point: None });
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
            WantedBase::Auto if found.known == BaseKnown::Right && past == PastLore::BringBack => {
                CommonBase::of(BaseKnown::Left)
            }
            WantedBase::Auto => found,
            WantedBase::Unknown => CommonBase::of(BaseKnown::Unknown { fork_point: None }),
            WantedBase::Empty => CommonBase::of(BaseKnown::Empty),
            WantedBase::Timeline(point) => CommonBase::chosen(self.lore_at(&library, point)?),
        };
        let also_used_by = self.also_used_by(&library, &into, &book_name);
        Ok(PreparedMerge { library, loaded, book_name, theirs, base, also_used_by })
    }

    fn their_lore(
        &self,
        library: &Library,
        ours: &LoadedChat,
        point: &ChatPoint,
    ) -> Result<(LoreAt, CommonBase), MergeError> {
        if point.chat.path == ours.file.path {
            let theirs = self.lore(ours, message_of(ours, point.at)?)?;
            return Ok((theirs, CommonBase::of(BaseKnown::Right)));
        }
        let loaded = self.load(library, &point.chat)?;
        let at = message_of(&loaded, point.at)?;
        let base = self.base_of(library, (ours, None), (&loaded, at))?;
        Ok((self.lore(&loaded, at)?, base))
    }

    /// Resolving conflicts may have taken a while, so the chat may have changed.
    fn check_still_bound(&self, loaded: &LoadedChat) -> Result<(), MergeError> {
        let path = &loaded.file.path;
        let (now, _) = read_header(self.disk, &loaded.file)
            .map_err(|source| ReadError::Io { path: path.clone(), source })?;
        if now.book == loaded.timeline.book {
            return Ok(());
        }
        Err(ChangeError::from(CommitError::ChangedMeanwhile { path: path.clone() }).into())
    }

    /// Commits the plan if the book is still the one it was made for.
    pub fn merge(
        &self,
        command: &str,
        prepared: &PreparedMerge,
        plan: &MergePlan,
        options: ChangeOptions,
    ) -> Result<ChangedChat, MergeError> {
        let PreparedMerge { loaded, book_name, .. } = prepared;
        self.check_idle(loaded, options)?;
        let label = loaded.file.label();
        let Some(ours) = prepared.ours() else { return Err(MergeError::NoBook(label)) };
        let merged = plan.apply(&ours);
        let entries = Book::read(&merged).map_or(0, |book| book.entries().count());
        let chat = chat_following_merge(prepared, plan, &merged)?;
        let change = LoreChange {
            book: Some(NewContent { name: book_name, bytes: &merged, replaces: true }),
            chat: chat.as_ref().map(Pieces::slices),
        };
        let from = &prepared.theirs.label;
        let summary = format!("merged lore of {from} into {book_name:?}, the lorebook of {label}");
        let description = (command, summary.as_str());
        let transaction = if options.dry_run { None } else { Some(self.transaction()) };
        let transaction = transaction.transpose().map_err(ChangeError::from)?;
        if transaction.is_some() {
            self.check_still_bound(loaded)?;
        }
        let library = &prepared.library;
        let operation =
            self.change(transaction.as_ref(), description, library, loaded, &change, options)?;
        let others = prepared.also_used_by.clone();
        Ok(ChangedChat {
            chat: label,
            book: Some(ChangedBook { name: book_name.clone(), entries, replaced: true }),
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

/// The chat, with its metadata about entries updated to match the merged book.
fn chat_following_merge<'p>(
    prepared: &'p PreparedMerge,
    plan: &MergePlan,
    merged: &[u8],
) -> Result<Option<Pieces<'p>>, ChangeError> {
    let chat = prepared.loaded.chat();
    if chat.metadata().is_none() {
        return Ok(None);
    }
    let ours = chat.metadata_value();
    // Timed effects of a past message have expired.
    let theirs = prepared.theirs.metadata.as_ref().filter(|_| prepared.theirs.message.is_none());
    let chats = MergedChats {
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

forklore_core::diagnostics!(MergeError {
    Self::Compare(error) => [error: CompareError],
    Self::Change(error) => [error: ChangeError],
    Self::NoBook(chat) => ("no-book-to-merge-into", chat: chat.as_str()),
    Self::NothingThere(chat) => ("no-book-to-merge-from", chat: chat.as_str()),
    Self::OneBook { from, into, book } => (
        "one-book",
        from: from.as_str(),
        into: into.as_str(),
        book: book.as_str(),
    ),
});
