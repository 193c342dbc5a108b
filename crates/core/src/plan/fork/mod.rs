//! Forking: creates a child timeline at a message, with the book and the metadata of that moment.
//!
//! [`check`] reports whether the fork is possible and how exact it would be. [`plan`] computes
//! every byte of the child and of its book. Nothing is written here.

mod check;
pub mod child_save;
pub mod decision;
pub mod question;
mod rebind;

pub use check::{Policy, QueuePolicy, Readiness, check, pending_work, resolve_message};
pub(crate) use rebind::{Rebinding, rebind, rewrite_file};

use crate::diagnostic::Diagnostic;
use crate::finding::{Obstacle, Remark};
use crate::journal::{self, RecordedState};
use crate::memory_books;
use crate::pieces::Pieces;
use crate::plan::book_copy::{self, NewBook, new_book};
use crate::sillytavern::book::Book;
use crate::sillytavern::chat::Chat;
use crate::sillytavern::names::ForkKind;
use crate::timeline::exactness::{Knowledge, Source};
use crate::timeline::mark::Mark;
use crate::timeline::moment::BoundChat;
use crate::timeline::moment::{BookThen, Moment};
use crate::timeline::seal::{self, Seal, SealedBook, SealedState};
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
    /// `None` if Memory Books is not installed.
    pub memory_books: Option<memory_books::MemoryBooksState>,
    /// The caller's own remarks, which the plan passes on.
    pub remarks: Vec<Remark>,
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
    /// A copy of the separate book of Memory Books' manual mode.
    pub memories: Option<NewBook>,
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
    let clone = clone_book(parent, request, &moment);
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
    let memories = copy_memories(parent, request);
    if let Some((from, _)) = &memories {
        remarks.push(Remark::MemoriesAreLive(from.clone()));
    }
    let book_name = clone.as_ref().map(|(book, _)| book.name.as_str());
    let rebinding = Rebinding {
        name: &request.child,
        main_chat: Some(parent.name),
        integrity: Some(&request.integrity),
        title: request.title.as_deref(),
        from: old_book_names(parent, &moment),
        book: book_name,
        entries: clone.as_ref().map(|(book, _)| &book.values),
        last: Some(request.message),
        metadata: moment.metadata.values.as_ref(),
        live_other_keys: &moment.metadata.live_other_keys,
        memory_books: request.memory_books.is_some(),
        memories: memories.as_ref().map(|(from, book)| (from.as_str(), book)),
        drain: true,
    };
    let rebound = rebind(parent.chat, &rebinding);
    remarks.extend(rebound.remarks);

    let seal = Seal {
        kind: request.kind,
        parent: parent.name.to_owned(),
        parent_integrity: metadata_text(parent.chat, "integrity"),
        message: request.message,
        made: request.now.iso.clone(),
        book: clone.as_ref().map(|(book, part)| SealedBook {
            name: book.name.clone(),
            from: book_name_then(&moment).unwrap_or_default(),
            entries: book.entries,
            digest: book.digest,
            lore: Some(book.lore),
            part: *part,
        }),
        metadata: moment.metadata.part,
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
        memories: memories.map(|(_, book)| book),
        seal,
        remarks,
    })
}

/// Copies the separate book of Memory Books' manual mode, and returns its name with the copy. That
/// book is not recorded, so the copy is today's book without memories of messages that the child
/// does not have.
fn copy_memories(parent: BoundChat<'_>, request: &ForkRequest) -> Option<(String, NewBook)> {
    let manual = request.memory_books.as_ref()?.manual.as_ref()?;
    let book = Book::read(&manual.bytes).ok()?;
    let mark = Mark {
        chat: request.child.clone(),
        integrity: Some(request.integrity.clone()),
        from_book: Some(manual.name.clone()),
        from_chat: Some(parent.name.to_owned()),
        message: Some(request.message),
        made: request.now.iso.clone(),
        part: Some(Knowledge::LIVE),
    };
    let copy = book_copy::memories_until(request.message, &manual.copy, &book, &mark);
    Some((manual.name.clone(), copy))
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
) -> Option<(NewBook, Knowledge)> {
    let BookThen::Known { part, name, content } = &moment.book else { return None };
    let mark = Mark {
        chat: request.child.clone(),
        integrity: Some(request.integrity.clone()),
        from_book: Some(name.clone()),
        from_chat: Some(parent.name.to_owned()),
        message: Some(request.message),
        made: request.now.iso.clone(),
        part: Some(*part),
    };
    let is_today = matches!(part.source, Source::Files | Source::Unchanged);
    let drain = request.policy.queue == QueuePolicy::Drain || !is_today;
    Some((new_book(&request.book, content, drain, &mark), *part))
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
mod tests {
    use super::*;
    use crate::sillytavern::chat::ChatKind;
    use crate::timeline::moment::BoundBook;

    fn request(child: &str) -> ForkRequest {
        ForkRequest {
            kind: ForkKind::Branch,
            message: 0,
            child: child.to_owned(),
            book: format!("{child} - Lore"),
            title: None,
            integrity: format!("slug of {child}"),
            now: Timestamp { iso: "2026-11-15T00:00:00.000Z".to_owned() },
            policy: Policy::default(),
            memory_books: None,
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

    #[test]
    fn a_fork_of_a_fork_has_a_seal_of_its_own() {
        let main = b"{\"chat_metadata\":{}}\n{\"mes\":\"x\"}";
        let (first, child) = forked("Main", main, "Child");
        let (second, grandchild) = forked("Child", &child, "Grandchild");
        let sealed = |file: &[u8]| Seal::read(&metadata_value(&Chat::read(file, ChatKind::Solo)));
        assert_eq!(sealed(&child), Some(first));
        assert_eq!(sealed(&grandchild), Some(second.clone()));
        assert_eq!(second.parent, "Child");
    }
}
