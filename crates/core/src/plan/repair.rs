//! Gives a chat its lost book back, a book of its own, or an earlier state of its book.

use crate::finding::Remark;
use crate::journal;
use crate::journal::rewrite::{self, Rewrite};
use crate::pieces::Pieces;
use crate::plan::book_copy::{NewBook, empty_book, new_book};
use crate::plan::fork::{Rebinding, Timestamp, metadata_text, metadata_value, rebind};
use crate::recap::snapshot;
use crate::sillytavern::names::{self, NamedFile};
use crate::timeline::exactness::{Exactness, Knowledge, Source};
use crate::timeline::mark::Mark;
use crate::timeline::moment::{BookContent, BookThen, BoundBook, BoundChat, MomentOptions, moment};
use crate::timeline::seal::{self, Seal, SealedBook};
use forklore_json::{Edit, Json, Object};

/// Where to take a lost book from.
#[derive(Clone, Debug)]
pub enum RepairSource<'a> {
    Journal,
    Recap,
    /// A copy of this book in its current state.
    Copy {
        name: String,
        book: crate::sillytavern::book::Book<'a>,
    },
    Empty,
    /// No book: the chat is unbound.
    Detach,
}

/// The files to write: the book first, then the chat, if it has to change at all.
#[derive(Clone, Debug)]
pub struct BookPlan<'a> {
    pub book: Option<NewBook>,
    /// Whether a file of that name exists and has to go to the trash.
    pub replaces: bool,
    pub chat: Option<Pieces<'a>>,
    pub part: Option<Knowledge>,
    pub remarks: Vec<Remark>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CannotRepair {
    #[error("{0:?} has no journal to take the lorebook from")]
    NoJournal(String),
    #[error("{0:?} had no lorebook when its journal was last written")]
    NoBookInJournal(String),
    #[error("no scene break of {0:?} has a complete copy of the lorebook")]
    NoSnapshot(String),
    #[error("{0:?} is not bound to a lorebook")]
    NotBound(String),
    #[error("SillyTavern cannot read the header of {0:?}")]
    NoHeader(String),
    #[error("nothing recorded the lorebook of {chat:?} at message {message}")]
    NotRecorded { chat: String, message: usize },
    #[error("message {0} is the last one, so there is nothing to restore")]
    NothingToRestore(usize),
}

/// Plans a repair. `free_name` is used if the chat names no book, or a name that no file can have.
pub fn repair<'a>(
    subject: BoundChat<'a>,
    source: &RepairSource<'_>,
    free_name: &str,
    now: &Timestamp,
) -> Result<BookPlan<'a>, CannotRepair> {
    if !subject.chat.is_sound_to_fork() {
        return Err(CannotRepair::NoHeader(subject.name.to_owned()));
    }
    if let RepairSource::Detach = source {
        if subject.bound.name().is_none() {
            return Err(CannotRepair::NotBound(subject.name.to_owned()));
        }
        let header = Some(rewrite::header(subject.chat, &[("world_info", Edit::Remove)]));
        let chat = Rewrite { header, ..Rewrite::default() }.of(subject.chat, None);
        return Ok(BookPlan {
            book: None,
            replaces: false,
            chat: Some(chat),
            part: None,
            remarks: Vec::new(),
        });
    }
    let (content, from, part) = repair_content(subject, source)?;
    let bound = subject.bound.name().and_then(|name| {
        names::stem(name, NamedFile::Book).filter(|stem| stem.len() <= names::LONGEST_BOOK)
    });
    let name = bound.clone().unwrap_or_else(|| free_name.to_owned());
    let mark = mark_for(subject, from.clone(), part, now);
    let mut book = match &content {
        Some(content) => new_book(&name, content, true, &mark),
        None => empty_book(&name, &mark),
    };
    if bound.is_some() && !was_made_by_forklore(subject) {
        book.unmark();
    }
    let mut remarks = Vec::new();
    if let Some(BookContent::Rebuilt(rebuilt)) = &content
        && rebuilt.unfilled > 0
    {
        remarks.push(Remark::RecapLostFields(rebuilt.unfilled));
    }
    if book.drained {
        remarks.push(Remark::QueueDrained);
    }
    // Under its old name SillyTavern finds the book again, so the chat does not change.
    let chat = bound
        .is_none()
        .then(|| rebound_chat(subject, &book, from.into_iter().collect(), Vec::new()));
    let replaces = matches!(subject.bound, BoundBook::There { .. } | BoundBook::Unreadable { .. })
        && bound.is_some();
    Ok(BookPlan { book: Some(book), replaces, chat, part: Some(part), remarks })
}

/// Whether Forklore had made the lost book for this chat. Any other book stays unmarked after a
/// repair, because `clean` may remove books with Forklore's mark.
fn was_made_by_forklore(subject: BoundChat<'_>) -> bool {
    let marked = subject.bound.book().is_some_and(|book| book.mark().is_some());
    let sealed = Seal::read(&metadata_value(subject.chat)).and_then(|seal| seal.book);
    let bound = subject.bound.name().map(names::book_key);
    marked || sealed.is_some_and(|sealed| Some(names::book_key(&sealed.name)) == bound)
}

type FoundBook<'a> = (Option<BookContent<'a>>, Option<String>, Knowledge);

fn repair_content<'a>(
    subject: BoundChat<'a>,
    source: &RepairSource<'a>,
) -> Result<FoundBook<'a>, CannotRepair> {
    let last = subject.chat.len().saturating_sub(1);
    let as_of = |message: usize, source: Source| Knowledge {
        exactness: Exactness::Snapshot(message),
        source,
    };
    match source {
        RepairSource::Journal => {
            let folded = journal::fold(subject.chat, last)
                .ok_or_else(|| CannotRepair::NoJournal(subject.name.to_owned()))?;
            let book = folded
                .state
                .book
                .ok_or_else(|| CannotRepair::NoBookInJournal(subject.name.to_owned()))?;
            let part = as_of(folded.message, Source::Journal);
            Ok((Some(BookContent::Journal(book.content())), Some(book.name), part))
        }
        RepairSource::Recap => {
            let found = snapshot::newest(subject.chat, last)
                .ok_or_else(|| CannotRepair::NoSnapshot(subject.name.to_owned()))?;
            let part = as_of(found.message, Source::RecapSnapshot);
            let rebuilt = found.rebuild(subject.bound.book(), false);
            Ok((Some(BookContent::Rebuilt(rebuilt)), found.book, part))
        }
        RepairSource::Copy { name, book } => {
            let part = Knowledge { exactness: Exactness::Live, source: Source::Chosen };
            Ok((Some(BookContent::Bytes(book.clone())), Some(name.clone()), part))
        }
        RepairSource::Empty | RepairSource::Detach => {
            Ok((None, None, Knowledge { exactness: Exactness::Live, source: Source::Chosen }))
        }
    }
}

/// Gives a chat that shares its book its own book, called `book`.
///
/// The shared file contains the changes of every timeline, so it does not reflect this chat alone.
/// If the chat's journal has a record for its last message, the book is taken from there instead.
pub fn split<'a>(
    subject: BoundChat<'a>,
    book: &str,
    fork_point: Option<usize>,
    now: &Timestamp,
) -> Result<BookPlan<'a>, CannotRepair> {
    if !subject.chat.is_sound_to_fork() {
        return Err(CannotRepair::NoHeader(subject.name.to_owned()));
    }
    let Some(shared) = subject.bound.name() else {
        return Err(CannotRepair::NotBound(subject.name.to_owned()));
    };
    let last = subject.chat.len().saturating_sub(1);
    let recorded = journal::fold(subject.chat, last)
        .filter(|folded| folded.message == last)
        .and_then(|folded| folded.state.book);
    let (content, part) = match (recorded, subject.bound.book()) {
        (Some(recorded), _) => (
            BookContent::Journal(recorded.content()),
            Knowledge { exactness: Exactness::Snapshot(last), source: Source::Journal },
        ),
        (None, Some(live)) => (BookContent::Bytes(live.clone()), Knowledge::LIVE),
        (None, None) => return Err(CannotRepair::NotBound(subject.name.to_owned())),
    };
    let mark = mark_for(subject, Some(shared.to_owned()), part, now);
    // Operations in the shared queue may belong to any of the chats.
    let book = new_book(book, &content, true, &mark);
    let rebound = rebind(
        subject.chat,
        &Rebinding {
            last: Some(last),
            drain: true,
            ..rebinding(subject, &book.name, &book.values, vec![shared.to_owned()])
        },
    );
    let mut chat_changes = rebound.changes;
    let sealed = SealedBook {
        name: book.name.clone(),
        from: shared.to_owned(),
        entries: book.entries,
        digest: book.digest,
        lore: Some(book.lore),
        part,
    };
    // A timeline without a seal gets one now, if its parent and fork point are known.
    if let Some(seal) = Seal::read(&metadata_value(subject.chat)) {
        let seal = Seal { book: Some(sealed), state: None, ..seal };
        chat_changes.push((seal::KEY.to_owned(), Edit::Set(seal.to_json())));
    } else if let (Some(parent), Some(message)) =
        (metadata_text(subject.chat, "main_chat"), fork_point)
    {
        let kind =
            names::descent(subject.name).map_or(names::ForkKind::Branch, |descent| descent.kind);
        let seal = Seal {
            kind,
            parent,
            parent_integrity: None,
            message,
            made: now.iso.clone(),
            book: Some(sealed),
            metadata: Knowledge::LIVE,
            state: None,
            running_recap: rebound.running_recap,
            combined_recap: rebound.combined_recap,
            warnings: Vec::new(),
        };
        chat_changes.push((seal::KEY.to_owned(), Edit::Set(seal.to_json())));
    }
    let chat = crate::plan::fork::rewrite_file(subject.chat, None, &chat_changes, rebound.lines);
    let mut remarks = rebound.remarks;
    if part.exactness == Exactness::Live {
        remarks.push(Remark::BookIsLive);
    }
    if book.drained {
        remarks.push(Remark::QueueDrained);
    }
    Ok(BookPlan { book: Some(book), replaces: false, chat: Some(chat), part: Some(part), remarks })
}

/// Restores the chat's book to its state at message `m`, under the same name.
pub fn restore<'a>(
    subject: BoundChat<'a>,
    m: usize,
    fill: bool,
    now: &Timestamp,
) -> Result<BookPlan<'a>, CannotRepair> {
    let Some(name) = subject.bound.name() else {
        return Err(CannotRepair::NotBound(subject.name.to_owned()));
    };
    let name = names::stem(name, NamedFile::Book)
        .ok_or_else(|| CannotRepair::NotBound(subject.name.to_owned()))?;
    let is_there = matches!(subject.bound, BoundBook::There { .. });
    if m + 1 == subject.chat.len() && is_there {
        return Err(CannotRepair::NothingToRestore(m));
    }
    let not_recorded = || CannotRepair::NotRecorded { chat: subject.name.to_owned(), message: m };
    let options = MomentOptions { fill, settled: true, ..MomentOptions::default() };
    let moment = moment(subject.chat, subject.bound, subject.past, m, options);
    let BookThen::Known { part, content, .. } = &moment.book else { return Err(not_recorded()) };
    if part.exactness == Exactness::Live {
        return Err(not_recorded());
    }
    // Ownership does not change: a marked book keeps its mark, an unmarked book does not get one.
    let mark = subject.bound.book().and_then(|book| book.mark()).and_then(Mark::read);
    let placeholder = mark_for(subject, Some(name.clone()), *part, now);
    let mut book = new_book(&name, content, true, mark.as_ref().unwrap_or(&placeholder));
    if mark.is_none() {
        book.unmark();
    }
    let mut remarks = Vec::new();
    if let BookContent::Rebuilt(rebuilt) = content {
        if rebuilt.unfilled > 0 {
            remarks.push(Remark::RecapLostFields(rebuilt.unfilled));
        }
        if rebuilt.filled > 0 {
            remarks.push(Remark::FieldsFilled(rebuilt.filled));
        }
    }
    if book.drained {
        remarks.push(Remark::PastQueueDrained);
    }
    let replaces = !matches!(subject.bound, BoundBook::Missing { .. });
    Ok(BookPlan { book: Some(book), replaces, chat: None, part: Some(*part), remarks })
}

/// Updates all references in the chat after its book was renamed to `name`. In `subject`, the book
/// has the name that the chat still uses.
pub fn follow<'a>(subject: BoundChat<'a>, name: &str) -> Result<BookPlan<'a>, CannotRepair> {
    let (Some(old), Some(book)) = (subject.bound.name(), subject.bound.book()) else {
        return Err(CannotRepair::NotBound(subject.name.to_owned()));
    };
    let value = book.root().json().unwrap_or(Json::Null);
    let entries = value.get("entries").and_then(Json::as_object).cloned().unwrap_or_default();
    let mut changes = Vec::new();
    if let Some(mut seal) = Seal::read(&metadata_value(subject.chat))
        && let Some(sealed) = &mut seal.book
        && names::book_key(&sealed.name) == names::book_key(old)
    {
        sealed.name = name.to_owned();
        changes.push((seal::KEY.to_owned(), Edit::Set(seal.to_json())));
    }
    let chat = rebound_chat_to(subject, name, &entries, vec![old.to_owned()], changes);
    Ok(BookPlan { book: None, replaces: false, chat: Some(chat), part: None, remarks: Vec::new() })
}

fn mark_for(
    subject: BoundChat<'_>,
    from: Option<String>,
    part: Knowledge,
    now: &Timestamp,
) -> Mark {
    Mark {
        chat: subject.name.to_owned(),
        integrity: metadata_text(subject.chat, "integrity"),
        from_book: from,
        from_chat: Some(subject.name.to_owned()),
        message: subject.chat.len().checked_sub(1),
        made: now.iso.clone(),
        part: Some(part),
    }
}

/// The chat bound to `book`, with `more` changes to its metadata.
fn rebound_chat<'a>(
    subject: BoundChat<'a>,
    book: &NewBook,
    from: Vec<String>,
    more: Vec<(String, Edit)>,
) -> Pieces<'a> {
    rebound_chat_to(subject, &book.name, &book.values, from, more)
}

fn rebound_chat_to<'a>(
    subject: BoundChat<'a>,
    book: &str,
    entries: &Object,
    from: Vec<String>,
    more: Vec<(String, Edit)>,
) -> Pieces<'a> {
    let rebound = rebind(subject.chat, &rebinding(subject, book, entries, from));
    let mut changes = rebound.changes;
    changes.extend(more);
    crate::plan::fork::rewrite_file(subject.chat, None, &changes, rebound.lines)
}

/// A rebinding that changes nothing except the book.
fn rebinding<'a>(
    subject: BoundChat<'a>,
    book: &'a str,
    entries: &'a Object,
    from: Vec<String>,
) -> Rebinding<'a> {
    Rebinding {
        name: subject.name,
        from,
        book: Some(book),
        entries: Some(entries),
        ..Rebinding::default()
    }
}

crate::diagnostics!(CannotRepair {
    Self::NoJournal(chat) => ("no-journal", chat: chat.as_str()),
    Self::NoBookInJournal(chat) => ("no-book-in-journal", chat: chat.as_str()),
    Self::NoSnapshot(chat) => ("no-snapshot", chat: chat.as_str()),
    Self::NotBound(chat) => ("not-bound", chat: chat.as_str()),
    Self::NoHeader(chat) => ("header-unreadable", chat: chat.as_str()),
    Self::NotRecorded { chat, message } => (
        "book-not-recorded",
        chat: chat.as_str(),
        message: *message,
    ),
    Self::NothingToRestore(message) => ("nothing-to-restore", message: *message),
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::fork::{ForkRequest, Policy, plan};
    use crate::recap::{queue, running};
    use crate::sillytavern::book::Book;
    use crate::sillytavern::chat::Chat;
    use crate::sillytavern::chat::ChatKind;
    use crate::sillytavern::names::ForkKind;
    use crate::timeline::moment::BoundChat;
    use crate::timeline::moment::{AsOf, BookFile, RecordedPast};

    const BOOK: &[u8] = br#"{"entries":{"0":{"uid":0}}}"#;

    fn now() -> Timestamp {
        Timestamp { iso: "2026-11-15T00:00:00.000Z".into() }
    }

    fn request(message: usize) -> ForkRequest {
        ForkRequest {
            kind: ForkKind::Checkpoint,
            message,
            child: "Before the storm".into(),
            book: "Own".into(),
            title: None,
            integrity: "j".into(),
            now: now(),
            policy: Policy::default(),
            memory_books: None,
            remarks: Vec::new(),
        }
    }

    /// A checkpoint with an unusual name, forked from a chat with a book.
    fn checkpoint() -> (Vec<u8>, Vec<u8>) {
        let main =
            b"{\"chat_metadata\":{\"integrity\":\"i\",\"world_info\":\"Lore\"}}\n{\"mes\":\"x\"}";
        let chat = Chat::read(main, ChatKind::Solo);
        let bound = BoundBook::read(Some("Lore".into()), Some(BOOK));
        let parent = BoundChat { name: "Main", chat: &chat, bound: &bound, past: None };
        let plan = plan(parent, &request(0)).unwrap();
        (plan.file.to_vec(), plan.book.unwrap().bytes)
    }

    #[test]
    fn a_split_timeline_keeps_what_its_seal_knew() {
        let (child, book) = checkpoint();
        let chat = Chat::read(&child, ChatKind::Solo);
        let bound = BoundBook::read(Some("Own".into()), Some(&book));
        let subject =
            BoundChat { name: "Before the storm", chat: &chat, bound: &bound, past: None };
        let plan = split(subject, "New", None, &now()).unwrap();
        let written = plan.chat.unwrap().to_vec();
        let seal =
            |file: &[u8]| Seal::read(&metadata_value(&Chat::read(file, ChatKind::Solo))).unwrap();
        let (before, after) = (seal(&child), seal(&written));
        assert_eq!(after.book.as_ref().unwrap().name, "New");
        assert_eq!(Seal { book: None, ..after }, Seal { book: None, ..before });
    }

    /// A book whose queue contains a pending operation.
    fn busy_book() -> Vec<u8> {
        let queue = r#"{"queue":[{"id":"o","type":"combine","status":"pending"}]}"#;
        let entry = Json::object([
            ("uid", Json::from(1_usize)),
            ("comment", Json::from(queue::COMMENT)),
            ("content", Json::from(queue)),
        ]);
        let entries = Json::object([("1", entry)]);
        Json::object([("entries", entries)]).stringify()
    }

    fn is_busy(book: &[u8]) -> bool {
        let book = Book::read(book).unwrap();
        let mut work = queue::PendingWork::default();
        book.entries().for_each(|entry| work.add_queue(&entry.content()));
        work.is_pending()
    }

    #[test]
    fn a_fork_from_the_history_leaves_waiting_operations_behind() {
        let main =
            b"{\"chat_metadata\":{\"world_info\":\"Lore\"}}\n{\"mes\":\"x\"}\n{\"mes\":\"y\"}";
        let chat = Chat::read(main, ChatKind::Solo);
        let bound = BoundBook::read(Some("Lore".into()), Some(BOOK));
        let then = BookFile { name: "Lore".into(), bytes: busy_book() };
        let past = RecordedPast {
            book: Some(AsOf { message: 0, value: Some(then) }),
            ..RecordedPast::default()
        };
        let parent = BoundChat { name: "Main", chat: &chat, bound: &bound, past: Some(&past) };
        let plan = plan(parent, &request(0)).unwrap();
        assert!(!is_busy(&plan.book.unwrap().bytes));
        assert!(plan.remarks.contains(&Remark::PastQueueDrained), "{:?}", plan.remarks);
    }

    #[test]
    fn a_split_takes_no_waiting_operations_along_and_no_recap_of_what_it_does_not_have() {
        let recap = r#"{"chat_id":"Main","current_version":1,"versions":[
            {"version":0,"new_scene_index":0,"content":"a"},
            {"version":1,"new_scene_index":7,"content":"b"}]}"#;
        let pending = r#"{"pendingOps":{"a":{"timestamp":1}}}"#;
        let child = format!(
            r#"{{"chat_metadata":{{"main_chat":"Main","world_info":"Lore","autoLorebooks":{pending},"{}":{recap}}}}}"#,
            running::KEY
        );
        let child = format!("{}\n{{\"mes\":\"x\"}}", child.replace('\n', " "));
        let chat = Chat::read(child.as_bytes(), ChatKind::Solo);
        let shared = busy_book();
        let bound = BoundBook::read(Some("Lore".into()), Some(&shared));
        let subject = BoundChat { name: "Branch", chat: &chat, bound: &bound, past: None };
        let plan = split(subject, "New", Some(0), &now()).unwrap();
        assert!(!is_busy(&plan.book.unwrap().bytes));
        assert!(plan.remarks.contains(&Remark::QueueDrained), "{:?}", plan.remarks);
        assert!(plan.remarks.contains(&Remark::RunningVersionsDropped(1)), "{:?}", plan.remarks);
        let written = plan.chat.unwrap().to_vec();
        let metadata = metadata_value(&Chat::read(&written, ChatKind::Solo));
        let recap = metadata.get(running::KEY).unwrap();
        assert_eq!(running::state(recap).version, Some(0));
        assert_eq!(recap.get("chat_id"), Some(&Json::from("Branch")));
        assert_eq!(metadata.at(&["autoLorebooks", "pendingOps"]), Some(&Object::new().into()));
        assert_eq!(Seal::read(&metadata).unwrap().running_recap.unwrap().version, Some(0));
    }

    #[test]
    fn a_seal_follows_its_book_to_another_name() {
        let (child, book) = checkpoint();
        let chat = Chat::read(&child, ChatKind::Solo);
        let bound = BoundBook::read(Some("Own".into()), Some(&book));
        let subject =
            BoundChat { name: "Before the storm", chat: &chat, bound: &bound, past: None };
        let written = follow(subject, "Renamed").unwrap().chat.unwrap().to_vec();
        let metadata = metadata_value(&Chat::read(&written, ChatKind::Solo));
        assert_eq!(metadata.get("world_info"), Some(&Json::from("Renamed")));
        assert_eq!(Seal::read(&metadata).unwrap().book.unwrap().name, "Renamed");
    }

    #[test]
    fn a_repaired_book_is_marked_only_if_it_was_ours() {
        let repaired = |file: &[u8], name: &str| {
            let chat = Chat::read(file, ChatKind::Solo);
            let bound = BoundBook::read(Some(name.into()), None);
            let subject = BoundChat { name: "C", chat: &chat, bound: &bound, past: None };
            let plan = repair(subject, &RepairSource::Empty, "free", &now()).unwrap();
            plan.book.unwrap().bytes
        };
        let (child, _) = checkpoint();
        assert!(Book::read(&repaired(&child, "Own")).unwrap().mark().is_some());
        let theirs = b"{\"chat_metadata\":{\"world_info\":\"Theirs\"}}\n{\"mes\":\"x\"}";
        assert_eq!(repaired(theirs, "Theirs"), b"{\n    \"entries\": {}\n}");
    }
}
