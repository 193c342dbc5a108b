//! The copies of the books that Memory Books names in the parent, for the child.

use super::{ForkRequest, book_name_then};
use crate::finding::Remark;
use crate::memory_books::{self, BookCopies, BookCopy, Lineage};
use crate::plan::book_copy::{self, NewBook};
use crate::plan::fork::rebind;
use crate::sillytavern::book::Book;
use crate::sillytavern::names::{self, book_key};
use crate::timeline::exactness::Knowledge;
use crate::timeline::mark::Mark;
use crate::timeline::moment::{BoundChat, Moment};

/// What the copies are called, and the books to copy.
#[derive(Debug, Default)]
pub(super) struct MemoryCopies<'a> {
    pub names: BookCopies,
    /// Each with its place among the names.
    books: Vec<(usize, Book<'a>)>,
    /// Named books that nobody has looked for yet.
    pub unread: Vec<String>,
    pub remarks: Vec<Remark>,
}

impl<'a> MemoryCopies<'a> {
    pub(super) fn of(parent: BoundChat<'_>, request: &'a ForkRequest, moment: &Moment<'_>) -> Self {
        let today = parent.chat.metadata().and_then(|metadata| metadata.get(memory_books::KEY));
        let today = today.and_then(|notes| notes.json().ok());
        let recorded = rebind::recorded_other(moment.metadata.values.as_ref(), memory_books::KEY);
        let is_recorded = recorded.is_some();
        let notes = recorded.unwrap_or(today.as_ref());
        if notes.is_none() && !request.memory_books.is_installed {
            return Self::default();
        }
        let lineage = Lineage::of(today.as_ref());
        let mut copies = Self::default();
        copies.add_bound(parent, request, moment, &lineage, is_recorded);
        for name in notes.map_or(Vec::new(), memory_books::books_in) {
            // A record of a message before the parent's own fork names the book of that time.
            let own = if is_recorded { lineage.own(&name) } else { None };
            let source = own.unwrap_or(name.as_str()).to_owned();
            copies.add(name, source, request, &lineage);
        }
        if request.message + 1 < parent.chat.len() {
            for (at, _) in &copies.books {
                let source = copies.names.0[*at].source.clone();
                copies.remarks.push(Remark::MemoriesAreLive(source));
            }
        }
        copies
    }

    /// The bound book, which the notes may name as well.
    fn add_bound(
        &mut self,
        parent: BoundChat<'_>,
        request: &ForkRequest,
        moment: &Moment<'_>,
        lineage: &Lineage,
        is_recorded: bool,
    ) {
        let then = book_name_then(moment);
        let copy = then.is_some().then(|| request.book.clone());
        // Notes of then mean the book of then.
        let today = if then.is_some() && is_recorded { None } else { parent.bound.name() };
        let names: Vec<String> = then.into_iter().chain(today.map(str::to_owned)).collect();
        if let Some(source) = names.first().cloned() {
            let root = lineage.root(&source);
            self.names.0.push(BookCopy { names, source, root, copy });
        }
    }

    fn add(&mut self, name: String, source: String, request: &'a ForkRequest, lineage: &Lineage) {
        if self.names.of(&name).is_some() {
            return;
        }
        let key = book_key(&source);
        if let Some(same) = self.names.0.iter_mut().find(|copy| book_key(&copy.source) == key) {
            same.names.push(name);
            return;
        }
        let state = &request.memory_books;
        let found = state.books.iter().find(|book| book_key(&book.name) == key);
        let bytes = found.and_then(|book| book.bytes.as_deref());
        let book = bytes.and_then(|bytes| Book::read(bytes).ok());
        let root = lineage.root(&source);
        let copy = book.is_some().then(|| {
            let chosen = self.names.0.iter().filter_map(|copy| copy.copy.clone());
            let taken = state.taken.iter().cloned().chain(chosen).chain([request.book.clone()]);
            names::for_copy(&request.child, &root, &taken.collect::<Vec<_>>())
        });
        if found.is_none() {
            self.unread.push(source.clone());
        }
        if copy.is_none() {
            self.remarks.push(Remark::MemoriesLeft(source.clone()));
        }
        self.books.extend(book.map(|book| (self.names.0.len(), book)));
        self.names.0.push(BookCopy { names: vec![name], source, root, copy });
    }

    /// These books are not recorded, so the copies are today's books, before the last message
    /// without memories of messages that the child does not have.
    pub(super) fn copied(&self, parent: BoundChat<'_>, request: &ForkRequest) -> Vec<NewBook> {
        let is_last = request.message + 1 == parent.chat.len();
        let last = (!is_last).then_some(request.message);
        let copied = self.books.iter().filter_map(|(at, book)| {
            let BookCopy { source, copy, .. } = &self.names.0[*at];
            let mark = Mark {
                chat: request.child.clone(),
                integrity: Some(request.integrity.clone()),
                from_book: Some(source.clone()),
                from_chat: Some(parent.name.to_owned()),
                message: Some(request.message),
                made: request.now.iso.clone(),
                part: Some(Knowledge::LIVE),
            };
            let name = copy.as_deref()?;
            Some(book_copy::memories_until(last, &self.names, name, book, &mark))
        });
        copied.collect()
    }
}
