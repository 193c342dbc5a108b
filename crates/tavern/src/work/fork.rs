//! Forks on disk: first the book, then the child, then the references to it.

use forklore_core::finding::Obstacle;
use forklore_core::finding::Remark;
use forklore_core::journal::rewrite::{Rewrite, linked};
use forklore_core::memory_books::{self, MemoryBooksState, NamedBook};
use forklore_core::plan::fork::{self, ForkPlan, ForkRequest, Policy, Refusal, resolve_message};
use forklore_core::sillytavern::chat::Chat;
use forklore_core::sillytavern::group;
use forklore_core::sillytavern::names::{self, ForkKind, NameError, NamedFile};
use forklore_core::timeline::family::Home;
use forklore_core::timeline::moment::BoundChat;
use forklore_core::timeline::references::ReferencePlace;
use forklore_core::timeline::seal::Seal;
use forklore_json::JsonKind;

use crate::disk::clock::timestamp;
use crate::folder::cards::{Card, read_card};
use crate::folder::headers::Headers;
use crate::folder::library::{ChatFile, Library};
use crate::folder::open_chats::{MayBeOpen, may_be_open};
use crate::folder::references::settings_places;
use crate::transaction::{CommitError, Task};
use crate::work::tavern::{LoadedChat, ReadError, Tavern};

#[derive(Clone, Debug)]
pub struct ForkOptions {
    pub kind: ForkKind,
    /// Counted from 0, or from the end if negative; `None` means the last message.
    pub at: Option<i64>,
    pub name: Option<String>,
    pub policy: Policy,
    /// The user asserts that no page has the parent open.
    pub parent_is_closed: bool,
    /// Only report what would be done.
    pub dry_run: bool,
}

/// A fork that was made, or planned in a dry run.
#[derive(Clone, Debug)]
pub struct Forked {
    pub kind: ForkKind,
    pub parent: String,
    pub message: usize,
    /// The name that commands accept.
    pub label: String,
    pub child: String,
    pub bytes: usize,
    pub seal: Seal,
    pub remarks: Vec<Remark>,
    pub link: CheckpointLink,
    /// The group that now lists the child.
    pub group: Option<String>,
    pub operation: Option<u64>,
}

/// The link from the parent's message to a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckpointLink {
    /// Branches have no link.
    NotWanted,
    Written,
    /// The message already links to this checkpoint.
    Taken(String),
    /// The parent may be open in a page, which would overwrite the link, or lose work because of
    /// it.
    ParentMayBeOpen(MayBeOpen),
    /// The parent was being written.
    ParentIsBusy,
    /// The message is not an object, so it cannot hold a link.
    NoPlace,
}

#[derive(Debug, thiserror::Error)]
pub enum ForkError {
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error("could not name the new chat {name:?}")]
    Name { name: String, source: NameError },
    #[error("cannot fork {chat:?} at that message")]
    Message { chat: String, source: Obstacle },
    #[error(transparent)]
    Refused(#[from] Refusal),
    #[error("{0:?} belongs to no character or group, so SillyTavern cannot fork it")]
    Loose(String),
    #[error(transparent)]
    CarryOut(#[from] CommitError),
}

/// How often a fork is retried when the parent changes.
const MAX_TRIES: usize = 20;

impl Tavern<'_> {
    pub fn fork(&self, chat: &ChatFile, options: &ForkOptions) -> Result<Forked, ForkError> {
        if chat.home == Home::Loose {
            return Err(ForkError::Loose(chat.name.clone()));
        }
        let mut may_link = true;
        let mut tries = 0;
        loop {
            tries += 1;
            match self.try_fork(chat, options, may_link) {
                Err(ForkError::CarryOut(error)) if error.is_race() && tries < MAX_TRIES => {
                    // The link is a convenience; the child should not wait for it.
                    may_link = tries < 3;
                }
                other => return other,
            }
        }
    }

    fn try_fork(
        &self,
        chat: &ChatFile,
        options: &ForkOptions,
        may_link: bool,
    ) -> Result<Forked, ForkError> {
        // Locked before the names are chosen, so that no other command can take them.
        let transaction = if options.dry_run { None } else { Some(self.transaction()?) };
        let (library, chat) = &self.library_around(chat)?;
        let loaded = self.load(library, chat)?;
        let parsed = loaded.chat();
        let bound = loaded.bound();
        let message = resolve_message(options.at, parsed.len())
            .map_err(|source| ForkError::Message { chat: chat.label(), source })?;
        let past = self.past(&loaded, message);
        let past = past.as_ref();
        let parent = BoundChat { name: &chat.name, chat: &parsed, bound: &bound, past };
        let mut request = self.request(library, &loaded, &parsed, options, message)?;
        let mut plan = fork::plan(parent, &request)?;
        if !plan.unread.is_empty() {
            // At that message, Memory Books named other books than today.
            request.memory_books.books.extend(self.read_named(library, plan.unread));
            plan = fork::plan(parent, &request)?;
        }

        let link = self.plan_link(library, &loaded, &parsed, &plan, options, may_link);
        let linked_file = match link {
            CheckpointLink::Written => linked(&parsed, message, &plan.child).map(|line| {
                Rewrite { header: None, messages: [(message, line)].into() }.of(&parsed, None)
            }),
            _ => None,
        };
        let group = self.plan_listing(library, chat, &plan.child)?;
        let child_path = chat.path.with_file_name(format!("{}.jsonl", plan.child));

        let mut tasks = Vec::new();
        for book in plan.book.iter().chain(&plan.memories) {
            let path = self.folders.worlds.join(format!("{}.json", book.name));
            let like = loaded.book.as_ref().map(|book| book.path.clone());
            tasks.push(Task::Create { path, like, parts: vec![&book.bytes] });
        }
        let is_unchanged = || loaded.is_unchanged_until(self.disk, message);
        tasks.push(Task::Check(&is_unchanged));
        let like = Some(chat.path.clone());
        tasks.push(Task::Create { path: child_path, like, parts: plan.file.slices() });
        if let Some(listing) = &group {
            let path = listing.path.clone();
            tasks.push(Task::Replace {
                path,
                expected: &listing.before,
                parts: vec![&listing.after],
            });
        }
        if let Some(file) = &linked_file {
            let path = chat.path.clone();
            tasks.push(Task::Replace { path, expected: &loaded.bytes, parts: file.slices() });
        }
        let summary = format!(
            "made the {} {:?} of {} at message {message}",
            plan.kind.word(),
            plan.child,
            chat.label()
        );
        let operation = match &transaction {
            Some(transaction) => Some(transaction.commit(plan.kind.word(), &summary, &tasks)?.id),
            None => None,
        };
        Ok(Forked {
            kind: plan.kind,
            parent: chat.label(),
            message,
            label: ChatFile { name: plan.child.clone(), ..chat.clone() }.label(),
            bytes: plan.file.len(),
            child: plan.child,
            seal: plan.seal,
            remarks: plan.remarks,
            link,
            group: group.map(|listing| listing.name),
            operation,
        })
    }

    fn request(
        &self,
        library: &Library,
        loaded: &LoadedChat,
        chat: &Chat<'_>,
        options: &ForkOptions,
        message: usize,
    ) -> Result<ForkRequest, ForkError> {
        let file = &loaded.file;
        let home = &file.home;
        let mut taken = library.chat_names(home);
        // A stale link to a deleted checkpoint must not lead to the new chat.
        taken.extend(chat.links());
        let child = match &options.name {
            Some(name) => {
                names::check(name, NamedFile::Chat, &taken)
                    .map_err(|source| ForkError::Name { name: name.clone(), source })?;
                name.clone()
            }
            None => names::for_child(&file.name, options.kind, &taken),
        };
        let mut books = library.book_names();
        books.extend(self.books_named_nearby(library, home));
        Ok(ForkRequest {
            kind: options.kind,
            message,
            book: names::for_book(&child, &books),
            child,
            title: None,
            integrity: self.clock.slug(),
            now: timestamp(self.clock.now()),
            policy: options.policy,
            memory_books: MemoryBooksState {
                // Whether it is installed matters only in a page.
                is_installed: false,
                books: self.read_named(library, memory_books::books(&chat.metadata_value())),
                taken: books,
            },
            character_book: None,
            remarks: self.also_selected(library, loaded),
        })
    }

    /// The books of these names, as they are today.
    fn read_named(&self, library: &Library, names: Vec<String>) -> Vec<NamedBook> {
        let read = |name: String| {
            let book = library.book(&name);
            let bytes = book.and_then(|book| self.read(&book.path).ok());
            NamedBook { name, bytes }
        };
        names.into_iter().map(read).collect()
    }

    /// Books named by chats of the same home, existing or not. A chat whose book was lost must not
    /// be bound to a new book of that name.
    pub(crate) fn books_named_nearby(&self, library: &Library, home: &Home) -> Vec<String> {
        let nearby = Library {
            chats: library.chats.iter().filter(|chat| chat.home == *home).cloned().collect(),
            ..Library::default()
        };
        let headers = Headers::read(self.disk, &nearby);
        headers.timelines.into_iter().filter_map(|timeline| timeline.book).collect()
    }

    /// A book that is also selected elsewhere stays active beside its copy.
    fn also_selected(&self, library: &Library, loaded: &LoadedChat) -> Vec<Remark> {
        let Some(name) = &loaded.timeline.book else { return Vec::new() };
        let key = names::book_key(name);
        let settings = settings_places(self.disk, &self.folders).unwrap_or_default();
        let selected = settings
            .into_iter()
            .filter(|reference| reference.book == key)
            .map(|reference| reference.place);
        let cards = self.cards_of(library, &loaded.file.home);
        let on_cards = cards
            .into_iter()
            .filter(|(_, card)| card.worlds.iter().any(|world| names::book_key(world) == key))
            .map(|(character, _)| ReferencePlace::Card(character));
        selected.chain(on_cards).map(Remark::AlsoSelected).collect()
    }

    /// The cards of the characters in a chat.
    fn cards_of(&self, library: &Library, home: &Home) -> Vec<(String, Card)> {
        let characters: Vec<String> = match home {
            Home::Character(character) => vec![character.clone()],
            Home::Group(Some(id)) => library.group(id).map_or(Vec::new(), |file| {
                let stem = |avatar: &String| avatar.strip_suffix(".png").map(str::to_owned);
                file.group.members.iter().filter_map(stem).collect()
            }),
            Home::Group(None) | Home::Loose => Vec::new(),
        };
        characters
            .into_iter()
            .filter_map(|character| {
                let path = self.folders.characters.join(format!("{character}.png"));
                let path = self.folders.data_root.resolve(self.disk, &path).ok()?;
                let card = read_card(&self.disk.read(&path).ok()?).ok()?;
                Some((character, card))
            })
            .collect()
    }

    fn plan_link(
        &self,
        library: &Library,
        loaded: &LoadedChat,
        chat: &Chat<'_>,
        plan: &ForkPlan<'_>,
        options: &ForkOptions,
        may_link: bool,
    ) -> CheckpointLink {
        if plan.kind == ForkKind::Branch {
            return CheckpointLink::NotWanted;
        }
        if chat.message(plan.message).is_none_or(|message| message.kind() != JsonKind::Object) {
            return CheckpointLink::NoPlace;
        }
        let there =
            chat.message(plan.message).and_then(|message| message.at(&["extra", "bookmark_link"]));
        if let Some(name) = there.and_then(|link| link.text()).filter(|name| !name.is_empty()) {
            return CheckpointLink::Taken(name.into_owned());
        }
        if !options.parent_is_closed
            && let Some(why) =
                may_be_open(self.disk, &self.folders, library, &loaded.file, self.clock.now())
        {
            return CheckpointLink::ParentMayBeOpen(why);
        }
        if may_link { CheckpointLink::Written } else { CheckpointLink::ParentIsBusy }
    }

    /// The parent's group file before and after adding the child.
    fn plan_listing(
        &self,
        library: &Library,
        chat: &ChatFile,
        child: &str,
    ) -> Result<Option<GroupListing>, ReadError> {
        let Home::Group(Some(id)) = &chat.home else { return Ok(None) };
        let Some(file) = library.group(id) else { return Ok(None) };
        let before = self.read(&file.path)?;
        let listed = group::listed(&before, child).ok().flatten();
        Ok(listed.map(|after| GroupListing {
            path: file.path.clone(),
            name: file.group.name.clone(),
            before,
            after,
        }))
    }
}

struct GroupListing {
    path: std::path::PathBuf,
    name: String,
    before: Vec<u8>,
    after: Vec<u8>,
}

forklore_core::diagnostics!(ForkError {
    Self::Read(error) => [error: ReadError],
    Self::Name { name, source } => ("name-refused", name: name.as_str(), reason: source.coded().code),
    Self::Message { source, .. } => [source: Obstacle],
    Self::Refused(refusal) => [refusal: Refusal],
    Self::Loose(chat) => ("loose-chat", chat: chat.as_str()),
    Self::CarryOut(error) => [error: CommitError],
});
