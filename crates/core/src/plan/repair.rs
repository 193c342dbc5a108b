//! Gives a chat its lost book back, a book of its own, or an earlier state of its book.

use crate::finding::Remark;
use crate::journal::rewrite::{self, Rewrite};
use crate::journal::{self, Folded};
use crate::pieces::Pieces;
use crate::plan::book_copy::{NewBook, empty_book, new_book};
use crate::plan::fork::{
    Rebinding, Timestamp, metadata_text, metadata_value, pending_work, rebind,
};
use crate::recap::{notes, snapshot};
use crate::sillytavern::chat::Chat;
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
    let sealed = Seal::of(subject.chat).and_then(|seal| seal.book);
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
            // A fork that failed has its parent's records, up to the one that says it has no book.
            let folded = match subject.bound {
                BoundBook::None => newest_with_book(subject.chat, folded),
                _ => folded,
            };
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

/// The newest of the last recorded states that has a book; `last` if none has.
fn newest_with_book(chat: &Chat<'_>, last: Folded) -> Folded {
    const MOST: usize = 100;
    let before = last.message.saturating_sub(MOST)..last.message;
    let has_book = |folded: &Folded| folded.state.book.is_some();
    if has_book(&last) {
        return last;
    }
    before.rev().find_map(|m| journal::fold(chat, m).filter(has_book)).unwrap_or(last)
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
    if let Some(seal) = Seal::of(subject.chat) {
        let seal = Seal { book: Some(sealed), no_book: None, left_out: None, state: None, ..seal };
        chat_changes.push((seal::KEY.to_owned(), Edit::Set(seal.to_json())));
    } else if let (Some(parent), Some(message)) =
        (metadata_text(subject.chat, "main_chat"), fork_point)
    {
        let kind =
            names::descent(subject.name).map_or(names::ForkKind::Branch, |descent| descent.kind);
        let seal = Seal {
            kind,
            integrity: metadata_text(subject.chat, "integrity"),
            parent,
            parent_integrity: None,
            message,
            made: now.iso.clone(),
            book: Some(sealed),
            no_book: None,
            left_out: None,
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
    let metadata = metadata_value(subject.chat);
    if pending_work(&metadata, subject.bound.book(), 0).is_pending() {
        remarks.push(Remark::QueueDrained);
    }
    // ST-Auto-Recap also lists the entries in the chat, and would write those that are gone back.
    let notes = metadata.get(notes::KEY).and_then(|notes| notes::reindexed(notes, &book.values));
    let chat = match notes {
        Some(notes) if subject.chat.is_sound_to_fork() => {
            let header = rewrite::header(subject.chat, &[(notes::KEY, Edit::Set(notes))]);
            let rewrite = Rewrite { header: Some(header), ..Rewrite::default() };
            Some(rewrite.of(subject.chat, None))
        }
        _ => None,
    };
    let replaces = !matches!(subject.bound, BoundBook::Missing { .. });
    Ok(BookPlan { book: Some(book), replaces, chat, part: Some(*part), remarks })
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
    if let Some(mut seal) = Seal::of(subject.chat)
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
    use crate::journal::RecordedState;
    use crate::plan::fork::{ForkRequest, Policy, metadata_value, plan};
    use crate::recap::{queue, running};
    use crate::sillytavern::book::Book;
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
            memory_books: crate::memory_books::MemoryBooksState::default(),
            character_book: None,
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
        let seal = |file: &[u8]| Seal::of(&Chat::read(file, ChatKind::Solo)).unwrap();
        let (before, after) = (seal(&child), seal(&written));
        assert_eq!(after.book.as_ref().unwrap().name, "New");
        assert_eq!(Seal { book: None, ..after }, Seal { book: None, ..before });
    }

    #[test]
    fn a_fork_that_failed_gets_the_book_of_its_parents_records() {
        let book = Json::parse(BOOK).unwrap();
        let with = RecordedState::of(&Json::Null, Some(("Lore", &book)));
        let without = RecordedState::of(&Json::Null, None);
        let first = journal::record(None, &with, journal::Limits::default());
        let last = journal::record(Some((&first.id, &with)), &without, journal::Limits::default());
        let message = |record: journal::Record| {
            Json::object([("mes", "x".into()), (journal::FIELD, record.to_json())]).stringify()
        };
        let header = br#"{"chat_metadata":{}}"#.to_vec();
        let file = [header, message(first), message(last)].join(&b'\n');
        let chat = Chat::read(&file, ChatKind::Solo);
        let repaired = |bound: BoundBook<'_>| {
            let subject = BoundChat { name: "Child", chat: &chat, bound: &bound, past: None };
            let plan = repair(subject, &RepairSource::Journal, "Child - Lore", &now())?;
            let written = plan.chat.map(|file| file.to_vec()).unwrap_or_default();
            let bound = Chat::read(&written, ChatKind::Solo).metadata_value();
            Ok((plan.part, plan.book.map(|book| book.name), bound.get("world_info").cloned()))
        };
        let name = "Child - Lore";
        let part = Knowledge { exactness: Exactness::Snapshot(0), source: Source::Journal };
        let expected = (Some(part), Some(name.to_owned()), Some(name.into()));
        assert_eq!(repaired(BoundBook::None), Ok(expected));
        let lost = repaired(BoundBook::Missing { name: "Lore".into() });
        let says_none = CannotRepair::NoBookInJournal("Child".into());
        assert_eq!(lost, Err(says_none), "a chat that names a book has records of it");
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
    fn a_restored_book_takes_the_list_of_its_entries_in_the_chat_back_with_it() {
        let entry = |uid: &str, comment: &str, content: &str| {
            let fields = [("uid", uid), ("comment", comment), ("content", content)];
            (uid.to_owned(), Json::object(fields.map(|(key, text)| (key, Json::from(text)))))
        };
        let book = |lines: &str, names: &[(&str, &str)]| {
            let registry =
                entry("1", "_registry_location", &format!("[Registry: location]\n{lines}"));
            let named = names.iter().map(|(uid, name)| entry(uid, &format!("location-{name}"), ""));
            let entries: Object = std::iter::once(registry).chain(named).collect();
            Json::object([("entries", Json::Object(entries))]).stringify()
        };
        let reef = "- uid: 9 | name: Reef | aliases: — | synopsis: —";
        let mill = "- uid: 2 | name: Mill | aliases: — | synopsis: —";
        let then = book(mill, &[("2", "Mill")]);
        let today = book(&format!("{mill}\n{reef}"), &[("2", "Mill"), ("9", "Reef")]);
        let index = r#"{"2":{"uid":"2","type":"location"},"9":{"uid":"9","type":"location"}}"#;
        let main = format!(
            "{{\"chat_metadata\":{{\"world_info\":\"Lore\",\"auto_lorebooks\":{{\"registry\":{{\"index\":{index}}}}}}}}}\n{{\"mes\":\"x\"}}\n{{\"mes\":\"y\"}}"
        );
        let chat = Chat::read(main.as_bytes(), ChatKind::Solo);
        let bound = BoundBook::read(Some("Lore".into()), Some(&today));
        let file = BookFile { name: "Lore".into(), bytes: then };
        let past = RecordedPast {
            book: Some(AsOf { message: 0, value: Some(file) }),
            ..RecordedPast::default()
        };
        let subject = BoundChat { name: "P", chat: &chat, bound: &bound, past: Some(&past) };
        let plan = restore(subject, 0, false, &now()).unwrap();
        let file = plan.chat.expect("the index changes").to_vec();
        let metadata = metadata_value(&Chat::read(&file, ChatKind::Solo));
        let listed = metadata.at(&[notes::KEY, "registry", "index"]).and_then(Json::as_object);
        let listed: Vec<_> =
            listed.unwrap().keys().map(|uid| uid.to_string_lossy().into_owned()).collect();
        assert_eq!(listed, ["2"]);
        let same = BoundBook::read(Some("Lore".into()), Some(BOOK));
        let bare = Chat::read(b"{\"chat_metadata\":{}}\n{}\n{}", ChatKind::Solo);
        let subject = BoundChat { name: "P", chat: &bare, bound: &same, past: Some(&past) };
        assert!(restore(subject, 0, false, &now()).unwrap().chat.is_none(), "no index");
    }

    #[test]
    fn operations_that_a_restored_book_has_lost_are_told() {
        let main =
            b"{\"chat_metadata\":{\"world_info\":\"Lore\"}}\n{\"mes\":\"x\"}\n{\"mes\":\"y\"}";
        let chat = Chat::read(main, ChatKind::Solo);
        let file = BookFile { name: "Lore".into(), bytes: BOOK.to_vec() };
        let past = RecordedPast {
            book: Some(AsOf { message: 0, value: Some(file) }),
            ..RecordedPast::default()
        };
        let told = |today: &[u8]| {
            let bound = BoundBook::read(Some("Lore".into()), Some(today));
            let subject = BoundChat { name: "P", chat: &chat, bound: &bound, past: Some(&past) };
            restore(subject, 0, false, &now()).unwrap().remarks
        };
        assert_eq!(told(&busy_book()), [Remark::QueueDrained]);
        assert_eq!(told(br#"{"entries":{"0":{"uid":0,"comment":"a"}}}"#), []);
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
        assert_eq!(Seal::of_chat(&metadata, None).unwrap().running_recap.unwrap().version, Some(0));
    }

    #[test]
    fn the_memories_of_a_split_timeline_go_into_its_own_book() {
        let child = b"{\"chat_metadata\":{\"main_chat\":\"Main\",\"world_info\":\"Lore\",\"STMemoryBooks\":{\"manualLorebook\":\"lore\",\"manualCharacterLorebooks\":{\"a\":\"Ada\"}}}}\n{\"mes\":\"x\"}";
        let chat = Chat::read(child, ChatKind::Solo);
        let bound = BoundBook::read(Some("Lore".into()), Some(BOOK));
        let subject = BoundChat { name: "Branch", chat: &chat, bound: &bound, past: None };
        let written = split(subject, "New", Some(0), &now()).unwrap().chat.unwrap().to_vec();
        let metadata = metadata_value(&Chat::read(&written, ChatKind::Solo));
        assert_eq!(crate::memory_books::books(&metadata), ["New", "Ada"]);
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
        assert_eq!(Seal::of_chat(&metadata, None).unwrap().book.unwrap().name, "Renamed");
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
