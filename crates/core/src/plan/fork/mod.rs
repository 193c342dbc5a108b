//! Forking: creates a child timeline at a message, with the book and the metadata of that moment.
//!
//! [`check`] reports whether the fork is possible and how exact it would be. [`plan`] computes
//! every byte of the child and of its book. Nothing is written here.

mod check;
pub mod child_save;
pub mod decision;
mod memory_copies;
pub mod question;
mod rebind;

pub use check::{Policy, QueuePolicy, Readiness, check, pending_work, resolve_message};
use memory_copies::MemoryCopies;
use rebind::ChildMemories;
pub(crate) use rebind::{Rebinding, rebind, rewrite_file};

use crate::diagnostic::Diagnostic;
use crate::finding::{Obstacle, Remark};
use crate::journal::{self, RecordedState};
use crate::memory_books::{BookCopies, MemoryBooksState};
use crate::pieces::Pieces;
use crate::plan::book_copy::{NewBook, book_among, new_book};
use crate::sillytavern::book::Book;
use crate::sillytavern::chat::Chat;
use crate::sillytavern::names::ForkKind;
use crate::timeline::exactness::{Knowledge, Source};
use crate::timeline::mark::Mark;
use crate::timeline::moment::BoundChat;
use crate::timeline::moment::{BookContent, BookThen, Moment};
use crate::timeline::seal::{self, LeftOut, Seal, SealedBook, SealedState};
use forklore_json::{Edit, Json};

/// The current time, passed in by the caller.
#[derive(Clone, Debug)]
pub struct Timestamp {
    pub iso: String,
}

/// The parameters of a fork, apart from the parent.
#[derive(Clone, Debug)]
pub struct ForkRequest {
    pub kind: ForkKind,
    pub message: usize,
    /// The names of the child and of its book: valid and not in use.
    pub child: String,
    pub book: String,
    /// The child's title, beside its name.
    pub title: Option<String>,
    /// A new integrity slug for the child.
    pub integrity: String,
    pub now: Timestamp,
    pub policy: Policy,
    pub memory_books: MemoryBooksState,
    /// A lorebook of the character, in case that the child has no other lore.
    pub character_book: Option<CharacterBook>,
    /// The caller's own remarks, which the plan passes on.
    pub remarks: Vec<Remark>,
}

/// A lorebook that all chats with a character share.
#[derive(Clone, Debug)]
pub struct CharacterBook {
    pub name: String,
    /// `None` if the child shares it, too.
    pub bytes: Option<Vec<u8>>,
}

/// A fork that is ready to be carried out: write the books first, then the child.
#[derive(Clone, Debug)]
pub struct ForkPlan<'a> {
    pub kind: ForkKind,
    pub parent: String,
    pub message: usize,
    pub child: String,
    pub file: Pieces<'a>,
    pub book: Option<NewBook>,
    /// Copies of the other books that Memory Books names.
    pub memories: Vec<NewBook>,
    /// Books that Memory Books names and that are not in the request. The child names none in their
    /// place, unless it is planned again with them.
    pub unread: Vec<String>,
    pub seal: Seal,
    pub remarks: Vec<Remark>,
}

impl ForkPlan<'_> {
    /// The plan without its file, for callers that have already put it where it belongs.
    fn without_file(self) -> ForkPlan<'static> {
        ForkPlan {
            file: Pieces::default(),
            kind: self.kind,
            parent: self.parent,
            message: self.message,
            child: self.child,
            book: self.book,
            memories: self.memories,
            unread: self.unread,
            seal: self.seal,
            remarks: self.remarks,
        }
    }
}

/// Why a fork was refused.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{parent:?} cannot be forked at message {message}")]
pub struct Refusal {
    pub parent: String,
    pub message: usize,
    pub obstacles: Vec<Obstacle>,
    pub remarks: Vec<Remark>,
}

pub fn plan<'a>(parent: BoundChat<'a>, request: &ForkRequest) -> Result<ForkPlan<'a>, Refusal> {
    let readiness = check(parent, request.message, request.policy);
    let Readiness { obstacles, mut remarks, moment, .. } = readiness;
    remarks.extend(request.remarks.iter().cloned());
    let Some(moment) = moment.filter(|_| obstacles.is_empty()) else {
        return Err(Refusal {
            parent: parent.name.to_owned(),
            message: request.message,
            obstacles,
            remarks,
        });
    };
    let has_none = request.policy.leave_book.is_none() && matches!(moment.book, BookThen::None(_));
    let shared = if has_none { request.character_book.as_ref() } else { None };
    let own = shared.and_then(|book| copy_of_characters(parent, request, book));
    let instead = own.as_ref().and(shared).map(|book| book.name.as_str());
    if own.is_some() {
        remarks.retain(|remark| !matches!(remark, Remark::NoBookAsOf { .. }));
    }
    remarks.extend(shared.map(|book| match &own {
        Some(_) => Remark::OwnCopy(book.name.clone()),
        None => Remark::SharesBook(book.name.clone()),
    }));
    let mut copies = MemoryCopies::of(parent, request, &moment);
    let clone = clone_book(parent, request, &moment, &copies.names).or(own);
    if let Some((clone, part)) = &clone
        && clone.drained
    {
        remarks.push(if part.source == Source::Files {
            Remark::QueueDrained
        } else {
            Remark::PastQueueDrained
        });
    }
    // At the last message, the messages of today are those of the fork.
    if request.message + 1 < parent.chat.len() {
        let names = journal::keys_on_messages(parent.chat, request.message);
        remarks.extend((!names.is_empty()).then_some(Remark::MessagesAreLive(names)));
    }
    remarks.append(&mut copies.remarks);
    let memories = copies.copied(parent, request);
    let book_name = clone.as_ref().map(|(book, _)| book.name.as_str());
    let rebinding = Rebinding {
        name: &request.child,
        main_chat: Some(parent.name),
        integrity: Some(&request.integrity),
        title: request.title.as_deref(),
        from: old_book_names(parent, &moment),
        instead,
        book: book_name,
        entries: clone.as_ref().map(|(book, _)| &book.values),
        last: Some(request.message),
        metadata: moment.metadata.values.as_ref(),
        live_other_keys: &moment.metadata.live_other_keys,
        memory_books: Some(ChildMemories {
            is_installed: request.memory_books.is_installed,
            copies: &copies.names,
            entries: clone
                .iter()
                .map(|(book, _)| book)
                .chain(&memories)
                .map(|book| &book.values)
                .collect(),
        }),
        drain: true,
    };
    let rebound = rebind(parent.chat, &rebinding);
    remarks.extend(rebound.remarks);
    if request.policy.is_recap_gone {
        remarks.retain(|remark| !remark.is_about_recaps());
    }

    let seal = Seal {
        kind: request.kind,
        integrity: Some(request.integrity.clone()),
        parent: parent.name.to_owned(),
        parent_integrity: metadata_text(parent.chat, "integrity"),
        message: request.message,
        made: request.now.iso.clone(),
        book: clone.as_ref().map(|(book, part)| SealedBook {
            name: book.name.clone(),
            from: book_name_then(&moment).or(instead.map(str::to_owned)).unwrap_or_default(),
            entries: book.entries,
            digest: book.digest,
            lore: Some(book.lore),
            part: *part,
        }),
        no_book: match moment.book {
            BookThen::None(part) if instead.is_none() && !remarks.iter().any(is_without_book) => {
                Some(part)
            }
            _ => None,
        },
        left_out: remarks.iter().find_map(|remark| match remark {
            Remark::WithoutBook(name, _) => Some(LeftOut { name: name.clone(), failed: false }),
            _ => None,
        }),
        metadata: moment.metadata.claim(),
        state: sealed_state(parent, request, &rebound.changes, clone.as_ref()),
        running_recap: rebound.running_recap,
        combined_recap: rebound.combined_recap,
        warnings: remarks.iter().map(ToString::to_string).collect(),
    };
    let mut changes = rebound.changes;
    changes.push((seal::KEY.to_owned(), Edit::Set(seal.to_json())));
    let file = rewrite_file(parent.chat, Some(request.message), &changes, rebound.lines);
    Ok(ForkPlan {
        kind: request.kind,
        parent: parent.name.to_owned(),
        message: request.message,
        child: request.child.clone(),
        file,
        book: clone.map(|(book, _)| book),
        memories,
        unread: copies.unread,
        seal,
        remarks,
    })
}

/// The child's state, if its last message carries a journal record: that record describes the
/// parent, not the child.
fn sealed_state(
    parent: BoundChat<'_>,
    request: &ForkRequest,
    changes: &[(String, Edit)],
    clone: Option<&(NewBook, Knowledge)>,
) -> Option<SealedState> {
    let line = parent.chat.line(request.message)?;
    memchr::memmem::find(line, journal::FIELD.as_bytes())?;
    let mut metadata = metadata_value(parent.chat);
    let object = metadata.as_object_mut()?;
    for (key, change) in changes {
        match change {
            Edit::Set(value) => object.insert(key.as_str(), value.clone()),
            Edit::Remove => drop(object.remove(key)),
        }
    }
    let mut state = RecordedState::of(&metadata, None);
    if let Some((clone, _)) = clone {
        state.book = RecordedState::of_book(&clone.name, &Book::read(&clone.bytes).ok()?)?.book;
    }
    Some(SealedState::of(&state))
}

fn clone_book(
    parent: BoundChat<'_>,
    request: &ForkRequest,
    moment: &Moment<'_>,
    copies: &BookCopies,
) -> Option<(NewBook, Knowledge)> {
    let BookThen::Known { part, name, content } = &moment.book else { return None };
    let mark = mark_of(parent, request, name.clone(), *part);
    let is_today = matches!(part.source, Source::Files | Source::Unchanged);
    let policy = request.policy;
    let drain = policy.queue == QueuePolicy::Drain || policy.is_recap_gone || !is_today;
    Some((book_among(copies, &request.book, content, drain, &mark), *part))
}

/// Whether the book was left out, so that its absence says nothing about the message.
fn is_without_book(remark: &Remark) -> bool {
    matches!(remark, Remark::WithoutBook(..))
}

/// The mark of a copy that is made for the child.
fn mark_of(parent: BoundChat<'_>, request: &ForkRequest, from: String, part: Knowledge) -> Mark {
    Mark {
        chat: request.child.clone(),
        integrity: Some(request.integrity.clone()),
        from_book: Some(from),
        from_chat: Some(parent.name.to_owned()),
        message: Some(request.message),
        made: request.now.iso.clone(),
        part: Some(part),
    }
}

/// A copy of the character's book for the child. It was not recorded, so that it is today's.
fn copy_of_characters(
    parent: BoundChat<'_>,
    request: &ForkRequest,
    shared: &CharacterBook,
) -> Option<(NewBook, Knowledge)> {
    let book = Book::read(shared.bytes.as_deref()?).ok()?;
    let part = Knowledge::LIVE;
    let mark = mark_of(parent, request, shared.name.clone(), part);
    Some((new_book(&request.book, &BookContent::Bytes(book), true, &mark), part))
}

fn book_name_then(moment: &Moment<'_>) -> Option<String> {
    match &moment.book {
        BookThen::Known { name, .. } => Some(name.clone()),
        BookThen::None(_) | BookThen::Unknown => None,
    }
}

/// All names by which the child's metadata and messages may refer to the parent's book.
fn old_book_names(parent: BoundChat<'_>, moment: &Moment<'_>) -> Vec<String> {
    let mut names: Vec<String> = book_name_then(moment).into_iter().collect();
    names.extend(parent.bound.name().map(str::to_owned).filter(|name| Some(name) != names.first()));
    names
}

pub(crate) fn metadata_text(chat: &Chat<'_>, key: &str) -> Option<String> {
    chat.metadata()?.get(key)?.text().map(|text| text.into_owned()).filter(|text| !text.is_empty())
}

pub(crate) fn metadata_value(chat: &Chat<'_>) -> Json {
    chat.metadata_value()
}

crate::diagnostics!(Refusal {
    Self { parent, message, obstacles, .. } => (
        "fork-refused",
        chat: parent.as_str(),
        message: *message,
        obstacles: obstacles.iter().map(Diagnostic::to_json).collect::<Vec<_>>(),
    ),
});

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::memory_books::{self, NamedBook};
    use crate::sillytavern::chat::ChatKind;
    use crate::timeline::exactness::{Allow, Exactness};
    use crate::timeline::moment::BoundBook;

    pub(super) fn request(child: &str) -> ForkRequest {
        ForkRequest {
            kind: ForkKind::Branch,
            message: 0,
            child: child.to_owned(),
            book: format!("{child} - Lore"),
            title: None,
            integrity: format!("slug of {child}"),
            now: Timestamp { iso: "2026-11-15T00:00:00.000Z".to_owned() },
            policy: Policy::default(),
            memory_books: MemoryBooksState::default(),
            character_book: None,
            remarks: Vec::new(),
        }
    }

    fn forked(parent: &str, file: &[u8], child: &str) -> (Seal, Vec<u8>) {
        let chat = Chat::read(file, ChatKind::Solo);
        let parent = BoundChat { name: parent, chat: &chat, bound: &BoundBook::None, past: None };
        let plan = plan(parent, &request(child)).unwrap();
        (plan.seal, plan.file.slices().concat())
    }

    #[test]
    fn what_other_extensions_keep_goes_back_in_a_child() {
        let json = |text: &str| Json::parse(text.as_bytes()).unwrap();
        let early = json(r#"{"counter":1,"quests":{"open":["lamp"]}}"#);
        let late = json(r#"{"counter":2,"fresh":[1],"chat_id_hash":7}"#);
        let (then, now) = (RecordedState::of(&early, None), RecordedState::of(&late, None));
        let first = journal::record(None, &then, journal::Limits::default());
        let second = journal::record(Some((&first.id, &then)), &now, journal::Limits::default());
        let message = |record: journal::Record| {
            Json::object([("mes", "x".into()), (journal::FIELD, record.to_json())]).stringify()
        };
        let header = Json::object([("chat_metadata", late)]).stringify();
        let file = [header, message(first), message(second)].join(&b'\n');

        let (_, child) = forked("Main", &file, "Child");

        let metadata = metadata_value(&Chat::read(&child, ChatKind::Solo));
        for key in ["counter", "quests"] {
            assert_eq!(metadata.get(key), early.get(key), "{key}");
        }
        assert_eq!(metadata.get("fresh"), None);
        assert_eq!(metadata.get("chat_id_hash"), Some(&Json::from(7_usize)), "of no moment");
    }

    /// A message whose record says that these were the notes of Memory Books when it was the last.
    fn told(mes: &str, metadata: &str) -> Json {
        let state = RecordedState::of(&Json::parse(metadata.as_bytes()).unwrap(), None);
        let record = journal::record(None, &state, journal::Limits::default());
        Json::object([("mes", mes.into()), (journal::FIELD, record.to_json())])
    }

    fn named(books: &[(&str, Option<&str>)]) -> Vec<NamedBook> {
        let named = |(name, book): &(&str, Option<&str>)| NamedBook {
            name: (*name).to_owned(),
            bytes: book.map(|book| book.as_bytes().to_vec()),
        };
        books.iter().map(named).collect()
    }

    const MEMORIES: &str = r#"{"entries":{
        "0":{"uid":0,"STMB_end":0,"STMB_chatId":"Main","STMB_canonicalLorebook":"Told"},
        "1":{"uid":1,"STMB_end":2,"STMB_chatId":"Main","STMB_canonicalLorebook":"Gone"}}}"#;

    #[test]
    fn every_book_of_memory_books_is_copied_without_memories_of_later_messages() {
        let notes = r#"{"manualLorebook":"Told","manualCharacterLorebooks":{"a":"Ada","b":"ada","c":"Gone"}}"#;
        let header = format!(r#"{{"chat_metadata":{{"STMemoryBooks":{notes}}}}}"#);
        let file = [&header, r#"{"mes":"x"}"#, r#"{"mes":"y"}"#].join("\n");
        let chat = Chat::read(file.as_bytes(), ChatKind::Solo);
        let parent = BoundChat { name: "Main", chat: &chat, bound: &BoundBook::None, past: None };
        let books = named(&[("Told", Some(MEMORIES)), ("Ada", Some(MEMORIES)), ("Gone", None)]);
        let memory_books = MemoryBooksState {
            books,
            taken: vec!["Child - Ada".into()],
            ..MemoryBooksState::default()
        };
        let fork_at = |message| {
            let request =
                ForkRequest { message, memory_books: memory_books.clone(), ..request("Child") };
            plan(parent, &request).unwrap()
        };

        let early = fork_at(0);
        let names: Vec<&str> = early.memories.iter().map(|book| book.name.as_str()).collect();
        assert_eq!(names, ["Child - Told", "Child - Ada (2)"]);
        for book in &early.memories {
            let entries = Json::Object(book.values.clone());
            assert_eq!(book.entries, 1, "the other memory is of a later message");
            assert_eq!(entries.at(&["0", "STMB_chatId"]), Some(&"Child".into()));
            assert_eq!(entries.at(&["0", "STMB_canonicalLorebook"]), Some(&"Child - Told".into()));
        }
        let live = |name: &str| Remark::MemoriesAreLive(name.into());
        let left = Remark::MemoriesLeft("Gone".into());
        for remark in [live("Told"), live("Ada"), left.clone()] {
            assert!(early.remarks.contains(&remark), "{:?}", early.remarks);
        }
        let metadata = metadata_value(&Chat::read(&early.file.to_vec(), ChatKind::Solo));
        assert_eq!(memory_books::books(&metadata), names);

        let now = fork_at(1);
        let kept = Json::Object(now.memories[0].values.clone());
        assert_eq!(now.memories[0].entries, 2, "the books of the last message are those of today");
        assert_eq!(kept.at(&["1", "STMB_canonicalLorebook"]), Some(&"".into()), "it is not copied");
        assert_eq!(now.remarks.iter().filter(|remark| **remark == live("Told")).count(), 0);
        assert!(now.remarks.contains(&left));
    }

    #[test]
    fn the_books_of_a_moment_are_those_that_were_named_then() {
        let header = r#"{"chat_metadata":{"STMemoryBooks":{"manualLorebook":"New"}}}"#;
        let then = r#"{"STMemoryBooks":{"manualLorebook":"Told"}}"#;
        let now = r#"{"STMemoryBooks":{"manualLorebook":"New"}}"#;
        let messages = [told("x", then).stringify(), told("y", now).stringify()];
        let file = [header.as_bytes(), &messages[0], &messages[1]].join(&b'\n');
        let chat = Chat::read(&file, ChatKind::Solo);
        let parent = BoundChat { name: "Main", chat: &chat, bound: &BoundBook::None, past: None };
        let mut request = request("Child");
        request.memory_books.books = named(&[("New", Some(MEMORIES))]);
        let first = plan(parent, &request).unwrap();
        assert_eq!((first.memories.len(), &first.unread[..]), (0, &["Told".to_owned()][..]));
        request.memory_books.books.extend(named(&[("Told", Some(MEMORIES))]));
        let second = plan(parent, &request).unwrap();
        assert_eq!((second.memories[0].name.as_str(), second.unread.len()), ("Child - Told", 0));
        assert!(second.unread.is_empty());

        // A fork of that child at the same message names the parent's book in its record, and has
        // a copy of it.
        let child = second.file.to_vec();
        let chat = Chat::read(&child, ChatKind::Solo);
        let parent = BoundChat { name: "Child", chat: &chat, bound: &BoundBook::None, past: None };
        request.child = "Grandchild".into();
        request.memory_books.books = named(&[("Child - Told", Some(MEMORIES))]);
        let third = plan(parent, &request).unwrap();
        assert_eq!((third.memories[0].name.as_str(), third.unread.len()), ("Grandchild - Told", 0));
        let metadata = metadata_value(&Chat::read(&third.file.to_vec(), ChatKind::Solo));
        let mapping = metadata.at(&["STMemoryBooks", "branchLorebookCopies", "mappings"]).unwrap();
        let text = String::from_utf8(mapping.stringify()).unwrap();
        assert_eq!(
            text,
            r#"[{"sourceName":"Child - Told","rootName":"Told","copyName":"Grandchild - Told"}]"#
        );
    }

    #[test]
    fn metadata_with_a_value_that_was_not_recorded_is_not_known() {
        let metadata = |big: Option<usize>| {
            let big = big.map(|size| ("big", Json::from("x".repeat(size))));
            Json::object([("counter", Json::from(1_i64))].into_iter().chain(big))
        };
        let known = |then: usize, now: Option<usize>, allow: Allow| {
            let recorded = RecordedState::of(&metadata(Some(then)), None);
            let record = journal::record(None, &recorded, journal::Limits::default());
            let message = Json::object([("mes", "x".into()), (journal::FIELD, record.to_json())]);
            let header = Json::object([("chat_metadata", metadata(now))]).stringify();
            let later = br#"{"mes":"y"}"#.to_vec();
            let file = [header, message.stringify(), later].join(&b'\n');
            let chat = Chat::read(&file, ChatKind::Solo);
            let parent = BoundChat { name: "P", chat: &chat, bound: &BoundBook::None, past: None };
            let policy = Policy { allow, ..Policy::default() };
            let plan = plan(parent, &ForkRequest { policy, ..request("Child") });
            plan.map(|plan| {
                let remarks = plan.remarks.iter().map(|remark| remark.coded().code);
                (plan.seal.metadata.exactness, remarks.collect::<Vec<_>>())
            })
            .map_err(|refusal| refusal.obstacles)
        };
        let (small, large, other) = (9, 40_000, 50_000);
        let as_of = Exactness::Snapshot(0);
        let live = Exactness::Live;
        assert_eq!(known(small, Some(large), Allow::Live), Ok((as_of, vec![])));
        assert_eq!(known(large, Some(large), Allow::Live), Ok((as_of, vec![])), "unchanged");
        assert_eq!(known(large, Some(other), Allow::Message), Ok((live, vec!["others-live"])));
        assert_eq!(known(large, None, Allow::Message), Ok((live, vec!["others-lost"])));
        let refused = known(large, None, Allow::Exact).unwrap_err();
        assert_eq!(refused.last(), Some(&Obstacle::MetadataNotExact(live)));
    }

    #[test]
    fn a_fork_of_a_fork_has_a_seal_of_its_own() {
        let main = b"{\"chat_metadata\":{}}\n{\"mes\":\"x\"}";
        let (first, child) = forked("Main", main, "Child");
        let (second, grandchild) = forked("Child", &child, "Grandchild");
        let sealed = |file: &[u8]| Seal::of(&Chat::read(file, ChatKind::Solo));
        assert_eq!(sealed(&child), Some(first));
        assert_eq!(sealed(&grandchild), Some(second.clone()));
        assert_eq!(second.parent, "Child");
    }
}
