//! The save of a new child: SillyTavern's page sends it while the parent is open.
//!
//! The request holds the child as SillyTavern makes it, bound to its parent's book. It is held back
//! until it has been rewritten.

use std::borrow::Cow;

use super::rebind::{rewrite_header, unbind};
use super::{CharacterBook, ForkPlan, ForkRequest, Policy, Refusal, Timestamp, plan};
use crate::digest::Digest;
use crate::finding::Remark;
use crate::journal::rewrite;
use crate::memory_books::{self, MemoryBooksState, NamedBook};
use crate::sillytavern::book::lore_digest_of;
use crate::sillytavern::chat::{Chat, ChatKind};
use crate::sillytavern::names::{self, ForkKind, book_key};
use crate::sillytavern::save_request::{self, NotASave, SaveRequest, written};
use crate::timeline::claim::TodaySource;
use crate::timeline::exactness::Knowledge;
use crate::timeline::moment::{BoundBook, BoundChat};
use crate::timeline::seal::{self, LeftOut, Seal};
use forklore_json::{Edit, Json, Raw, SyntaxError};

/// The chat that is open in the page.
#[derive(Clone, Debug)]
pub struct OpenChat {
    pub name: String,
    pub kind: ChatKind,
    pub integrity: Option<String>,
    pub book: Option<String>,
}

impl OpenChat {
    /// Whether the save of this chat is one of the open chat.
    pub fn is_saved_as(&self, name: &str, kind: ChatKind) -> bool {
        self.name == name && self.kind == kind
    }
}

/// The save of a child that needs a book of its own.
#[derive(Clone, Debug)]
pub struct ChildSave<'a> {
    request: SaveRequest<'a>,
    /// The open chat is converted to a group chat, which would keep the book.
    pub is_conversion: bool,
    pub parent: String,
    /// Whether the parent is the open chat.
    pub is_of_open: bool,
    parent_integrity: Option<String>,
    /// The child's own integrity slug; `None` if it has its parent's, as before SillyTavern 1.19.
    pub integrity: Option<String>,
    pub book: Option<String>,
    /// The other books that Memory Books names.
    pub memory_books: Vec<String>,
}

/// What the page knows when it saves a child.
#[derive(Clone, Debug)]
pub struct SaveContext<'a> {
    pub kind: ForkKind,
    /// The names of all books.
    pub books: Vec<String>,
    /// The parent's book, if it exists.
    pub book: Option<&'a [u8]>,
    /// The other books that Memory Books names.
    pub memories: Vec<NamedBook>,
    /// The page's copy of the parent's book, if it is not the same text.
    pub page_book: Option<String>,
    pub has_memory_books: bool,
    /// A lorebook of the character, which the parent shares with all her chats.
    pub character_book: Option<CharacterBook>,
    pub title: Option<String>,
    pub integrity: String,
    pub now: Timestamp,
    pub policy: Policy,
    pub remarks: Vec<Remark>,
}

/// A fork that is ready to be carried out: write the books, then send the body.
#[derive(Clone, Debug)]
pub struct SavePlan {
    pub body: Vec<u8>,
    /// Its file is in the body.
    pub fork: ForkPlan<'static>,
}

#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CannotPlanSave {
    #[error(transparent)]
    NotASave(#[from] NotASave),
    #[error("the request saves no child of the open chat")]
    NotAChild,
    #[error("the new chat has no messages")]
    NoMessages,
    #[error("the later messages are not JSON: {0}")]
    Later(SyntaxError),
}

impl<'a> ChildSave<'a> {
    /// `None` if another chat is saved, or a child that already has a book of its own.
    ///
    /// `lost` is the open chat's lost book, if another one is bound in its place: the replacement
    /// is not the story's lore.
    pub fn of(request: SaveRequest<'a>, open: &OpenChat, lost: Option<String>) -> Option<Self> {
        let metadata = request.metadata()?;
        let text = |key: &str| metadata.get(key).and_then(written).filter(|text| !text.is_empty());
        let (main_chat, integrity) = (text("main_chat"), text("integrity"));
        let bound = text("world_info");
        let is_conversion = main_chat.is_none();
        let takes_the_book = bound.is_some() && bound == open.book;
        let is_same_chat = integrity.is_some() && integrity == open.integrity;
        let becomes_group = request.kind() == ChatKind::Group && open.kind == ChatKind::Solo;
        if is_conversion && !(becomes_group && takes_the_book && is_same_chat) {
            return None;
        }
        let is_of_open = main_chat.as_ref().is_none_or(|parent| *parent == open.name);
        if is_of_open && bound.is_some() && !is_same_book(bound.as_deref(), open.book.as_deref()) {
            return None;
        }
        let notes = metadata.get(memory_books::KEY).and_then(|notes| notes.json().ok());
        let mut memory_books = notes.as_ref().map_or(Vec::new(), memory_books::books_in);
        let book = lost.or(bound);
        memory_books.retain(|name| !is_same_book(Some(name), book.as_deref()));
        Some(Self {
            request,
            is_conversion,
            parent: main_chat.unwrap_or_else(|| open.name.clone()),
            is_of_open,
            parent_integrity: open.integrity.clone().filter(|_| is_of_open),
            integrity: integrity.filter(|own| Some(own) != open.integrity.as_ref()),
            memory_books,
            book,
        })
    }

    /// Rewrites the request so that the child gets its own book.
    ///
    /// `later` is an array of the parent's messages after the child's last one.
    pub fn plan(
        &self,
        later: &[u8],
        context: SaveContext<'_>,
    ) -> Result<Result<SavePlan, Refusal>, CannotPlanSave> {
        let (file, end) = self.parent_file(later)?;
        let chat = Chat::read(&file, self.request.kind());
        let message = chat.len_until(end).checked_sub(1).ok_or(CannotPlanSave::NoMessages)?;
        let bound = BoundBook::read(self.book.clone(), context.book);
        let parent = BoundChat { name: &self.parent, chat: &chat, bound: &bound, past: None };
        Ok(plan(parent, &self.fork_request(message, context))
            .map(|plan| SavePlan { body: self.body(&plan), fork: plan.without_file() }))
    }

    /// The last resort when a fork fails: the same save, bound to no book rather than to the
    /// parent's.
    pub fn without_book(&self, new_integrity: &str, kind: ForkKind, now: &Timestamp) -> Vec<u8> {
        let line = self.request.header().map_or(Cow::default(), save_request::on_one_line);
        let header = Chat::read_header(&line, self.request.kind());
        let integrity = self.integrity.as_deref().unwrap_or(new_integrity);
        let mut changes = unbind(&header, integrity);
        if let Some(seal) = self.seal_of_failure(integrity, kind, now) {
            changes.retain(|(key, _)| key != seal::KEY);
            changes.push((seal::KEY.to_owned(), Edit::Set(seal.to_json())));
        }
        self.request.with_header(&rewrite_header(&header, &changes))
    }

    /// Says of a child without a book that it should have one.
    fn seal_of_failure(&self, integrity: &str, kind: ForkKind, now: &Timestamp) -> Option<Seal> {
        let name = self.book.clone()?;
        Some(Seal {
            kind,
            integrity: Some(integrity.to_owned()),
            parent: self.parent.clone(),
            parent_integrity: self.parent_integrity.clone(),
            message: self.request.messages().checked_sub(1)?,
            made: now.iso.clone(),
            book: None,
            no_book: None,
            left_out: Some(LeftOut { name, failed: true }),
            metadata: Knowledge::LIVE,
            state: None,
            running_recap: None,
            combined_recap: None,
            warnings: Vec::new(),
        })
    }

    /// The parent's file, put together from the child and the parent's later messages, and where in
    /// it the child ends.
    fn parent_file(&self, later: &[u8]) -> Result<(Vec<u8>, usize), CannotPlanSave> {
        // The page has already put the child's slug into the header.
        let slug = self.parent_integrity.clone().map_or(Edit::Remove, |it| Edit::Set(it.into()));
        let mut file = self.with_metadata(self.request.file(), ("integrity", slug));
        let end = file.len();
        let later = Raw::document(later).map_err(CannotPlanSave::Later)?;
        let lines = save_request::lines(later);
        if !lines.is_empty() {
            file.push(b'\n');
            file.extend_from_slice(&lines);
        }
        Ok((file, end))
    }

    fn fork_request(&self, message: usize, context: SaveContext<'_>) -> ForkRequest {
        let child = self.request.name();
        let is_other = |(page, file): (&String, &[u8])| lore(page.as_bytes()) != lore(file);
        let is_behind = context.page_book.as_ref().zip(context.book).is_some_and(is_other);
        let today = if self.is_of_open { TodaySource::Page } else { TodaySource::Files };
        ForkRequest {
            kind: context.kind,
            message,
            book: names::for_book(&child, &context.books),
            child,
            title: context.title,
            integrity: self.integrity.clone().unwrap_or(context.integrity),
            now: context.now,
            policy: Policy { today, is_behind, ..context.policy },
            memory_books: MemoryBooksState {
                is_installed: context.has_memory_books,
                books: context.memories,
                taken: context.books,
            },
            character_book: context.character_book,
            remarks: context.remarks,
        }
    }

    fn body(&self, plan: &ForkPlan<'_>) -> Vec<u8> {
        let file = plan.file.to_vec();
        // A chat converted to a group chat leaves its family: SillyTavern drops the link, too.
        let file = if self.is_conversion {
            self.with_metadata(file, ("main_chat", Edit::Remove))
        } else {
            file
        };
        self.request.with(&file)
    }

    /// The file with one member of its metadata changed, if it has metadata.
    fn with_metadata(&self, mut file: Vec<u8>, change: (&str, Edit)) -> Vec<u8> {
        let chat = Chat::read_header(&file, self.request.kind());
        let place = chat.header_range().filter(|_| chat.metadata().is_some());
        if let Some(place) = place {
            let header = rewrite::header(&chat, &[change]);
            file.splice(place, header);
        }
        file
    }
}

/// What the entries of a book mean.
fn lore(book: &[u8]) -> Option<Digest> {
    Some(lore_digest_of(&Json::parse(book).ok()?))
}

fn is_same_book(one: Option<&str>, other: Option<&str>) -> bool {
    one.zip(other).is_some_and(|(one, other)| book_key(one) == book_key(other))
}
