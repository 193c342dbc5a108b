//! Verifies timelines in parallel.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io;
use std::path::Path;

use forklore_core::finding::Finding;
use forklore_core::plan::cleanup::OurBook;
use forklore_core::plan::verify::{
    BookFacts, BoundFacts, ChatFacts, ExpectedDigests, VerifyContext, verify,
};
use forklore_core::sillytavern::book::{Book, BookError};
use forklore_core::sillytavern::chat::Chat;
use forklore_core::sillytavern::names::book_key;
use forklore_core::timeline::book_users::BookUsers;
use forklore_core::timeline::exactness::Knowledge;
use forklore_core::timeline::family::{self, Home, Node, Timeline};
use forklore_core::timeline::references::References;

use crate::disk::parallel::in_parallel;
use crate::folder::headers;
use crate::folder::library::{ChatFile, Library, UnreadFile};
use crate::folder::references;
use crate::work::tavern::Tavern;

/// The result for one timeline.
#[derive(Debug)]
pub struct CheckedTimeline {
    pub chat: ChatFile,
    pub timeline: Timeline,
    pub node: Node,
    /// The name of its parent, if the parent exists.
    pub parent: Option<String>,
    pub messages: usize,
    /// Number of entries in its book, if it has a readable one.
    pub entries: Option<usize>,
    pub findings: Vec<Finding>,
}

/// The results for all verified timelines.
#[derive(Debug, Default)]
pub struct Verified {
    pub checked: Vec<CheckedTimeline>,
    pub unread: Vec<UnreadFile>,
    pub bytes: u64,
}

impl CheckedTimeline {
    /// How well its book was known when the book was made for it; `None` if another book was bound
    /// later.
    pub fn book_known(&self) -> Option<Knowledge> {
        let sealed = self.timeline.seal.as_ref()?.book.as_ref()?;
        let is_bound = book_key(&sealed.name) == book_key(self.timeline.book.as_deref()?);
        is_bound.then_some(sealed.part)
    }
}

impl Verified {
    pub fn problems(&self) -> usize {
        let findings = self.checked.iter().flat_map(|checked| &checked.findings);
        findings.filter(|finding| finding.is_problem()).count() + self.unread.len()
    }
}

impl Tavern<'_> {
    /// Verifies the chats selected by `wanted`. All chats of the same homes are read, since sharing
    /// a book involves several. Calls `tick` for every file read.
    pub fn verify(
        &self,
        library: &Library,
        wanted: impl Fn(&ChatFile) -> bool,
        tick: &(dyn Fn() + Sync),
    ) -> Verified {
        self.verify_and_inspect(library, wanted, tick, |_, _, _| ()).0
    }

    /// Verifies every chat and gathers all references on the way, so that each chat is read only
    /// once. Also returns the books that carry Forklore's mark.
    pub fn survey(
        &self,
        library: &Library,
        tick: &(dyn Fn() + Sync),
    ) -> (Verified, References, Vec<OurBook>) {
        let (verified, of_chats) =
            self.verify_and_inspect(library, |_| true, tick, references::of_chat);
        let (mut references, ours) =
            references::gather_outside_chats(self.disk, &self.folders, library);
        for of_chat in of_chats {
            references.found.extend(of_chat.found);
            references.unread.extend(of_chat.unread);
        }
        let chats: HashSet<&Path> = library.chats.iter().map(|chat| &*chat.path).collect();
        let unread = verified.unread.iter().filter(|unread| chats.contains(&*unread.path));
        let unread = library.unread.iter().chain(unread);
        references.unread.extend(unread.map(|unread| unread.path.display().to_string()));
        (verified, references, ours)
    }

    /// Verifies, and also applies `inspect` to every readable chat.
    fn verify_and_inspect<T: Send>(
        &self,
        library: &Library,
        wanted: impl Fn(&ChatFile) -> bool,
        tick: &(dyn Fn() + Sync),
        inspect: impl Fn(&ChatFile, &Chat<'_>, &[u8]) -> T + Sync,
    ) -> (Verified, Vec<T>) {
        let homes: HashSet<&Home> =
            library.chats.iter().filter(|chat| wanted(chat)).map(|chat| &chat.home).collect();
        let chats: Vec<&ChatFile> =
            library.chats.iter().filter(|chat| homes.contains(&chat.home)).collect();
        let mut verified = Verified { unread: library.unread.clone(), ..Verified::default() };

        let read = in_parallel(&chats, tick, |file, buffer| -> io::Result<_> {
            self.disk.read_into(&file.path, buffer)?;
            let chat = Chat::read(buffer, file.place());
            let facts = ChatFacts::of(&chat);
            let timeline = headers::timeline_of(file, facts.metadata(), Some(facts.messages));
            Ok((timeline, facts, inspect(file, &chat, buffer)))
        });
        let mut inspected = Vec::with_capacity(chats.len());
        let mut readable: Vec<(&ChatFile, Timeline, ChatFacts)> = Vec::with_capacity(chats.len());
        for (chat, read) in chats.into_iter().zip(read) {
            verified.bytes += chat.len;
            match read {
                Ok((timeline, facts, result)) => {
                    readable.push((chat, timeline, facts));
                    inspected.push(result);
                }
                Err(error) => {
                    verified
                        .unread
                        .push(UnreadFile { path: chat.path.clone(), why: error.to_string() });
                }
            }
        }
        let timelines: Vec<Timeline> =
            readable.iter().map(|(_, timeline, _)| timeline.clone()).collect();
        let nodes = family::families(&timelines);
        let users = BookUsers::of(&timelines, &nodes);
        let labels: Vec<&ChatFile> = readable.iter().map(|(chat, _, _)| *chat).collect();
        let mut expected = ExpectedDigests::default();
        for (_, timeline, facts) in &readable {
            expected.add(timeline, facts.messages);
        }
        let books = self.book_facts(library, &timelines, &expected, &mut verified, tick);

        verified.checked.reserve(readable.len());
        for (at, (chat, timeline, facts)) in readable.into_iter().enumerate() {
            if !wanted(chat) {
                continue;
            }
            let bound = BoundFacts::of(&timeline, &books);
            let context = VerifyContext {
                elsewhere: users.strangers(at).map(|user| labels[user].label()).collect(),
                ..VerifyContext::of(&users, at, chat.home != Home::Group(None))
            };
            let findings = verify(&facts, &bound, &context);
            let entries = match bound {
                BoundFacts::There { facts, .. } => Some(facts.entries),
                _ => None,
            };
            verified.checked.push(CheckedTimeline {
                chat: chat.clone(),
                parent: nodes[at].parent().map(|parent| timelines[parent].name.clone()),
                node: nodes[at].clone(),
                messages: facts.messages,
                entries,
                findings,
                timeline,
            });
        }
        (verified, inspected)
    }

    fn book_facts(
        &self,
        library: &Library,
        timelines: &[Timeline],
        expected: &ExpectedDigests,
        verified: &mut Verified,
        tick: &(dyn Fn() + Sync),
    ) -> HashMap<String, Result<BookFacts, BookError>> {
        let by_key: HashMap<String, &crate::folder::layout::ListedFile> =
            library.books.iter().map(|file| (book_key(&file.stem), file)).collect();
        let named = timelines.iter().filter_map(|timeline| timeline.book.as_deref()).map(book_key);
        let wanted: BTreeMap<String, &crate::folder::layout::ListedFile> =
            named.filter_map(|key| Some((key.clone(), *by_key.get(&key)?))).collect();
        let files: Vec<_> = wanted.iter().collect();
        let read = in_parallel(&files, tick, |(key, file), buffer| {
            self.disk.read_into(&file.path, buffer)?;
            let book = Book::read(buffer);
            Ok::<_, io::Error>(book.map(|book| BookFacts::of(&book, expected.of(key))))
        });
        let mut facts = HashMap::new();
        for ((key, file), read) in wanted.into_iter().zip(read) {
            verified.bytes += file.len;
            match read {
                Ok(read) => drop(facts.insert(key, read)),
                Err(error) => {
                    verified
                        .unread
                        .push(UnreadFile { path: file.path.clone(), why: error.to_string() });
                }
            }
        }
        facts
    }
}
