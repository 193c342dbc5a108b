//! Compares the claims of a seal with the truth that the testkit knows.

use forklore_core::journal::{RECORDED_METADATA, RecordedState};
use forklore_core::plan::fork::QueuePolicy;
use forklore_core::recap::queue::{self, PendingWork};
use forklore_core::timeline::exactness::{Exactness, Source};
use forklore_json::{Json, Object};
use forklore_tavern::work::fork::{ForkOptions, Forked};
use forklore_testkit::story::{Message, RECAP_SNAPSHOT_FIELDS, Story};

use crate::child::Facts;

pub(crate) fn check(
    story: &Story,
    facts: &Facts,
    forked: &Forked,
    options: &ForkOptions,
    parent_book: Option<&Vec<u8>>,
) {
    check_metadata(story, facts, forked);
    let Some(sealed) = &forked.seal.book else {
        return check_no_book(story, facts, forked, options);
    };
    let (bytes, value) = facts.book.as_ref().expect("it was read");
    let m = forked.message;
    assert!(options.policy.allow.admits(sealed.part.exactness, m), "less than was asked for");
    match (sealed.part.exactness, sealed.part.source) {
        (Exactness::Exact, Source::Files) => {
            assert!(is_last(facts, m), "files tell of the last message only");
            check_copy(parent_book, bytes, value, options);
        }
        (Exactness::Live, Source::Files) => check_copy(parent_book, bytes, value, options),
        (Exactness::Exact, Source::Journal | Source::Unchanged) => {
            let is_true = is_one_of(value, &story.books_at(m));
            assert!(is_true, "false: exact at {m}, and {}", messages_with_book(story, value));
        }
        (Exactness::Settled(later), Source::Journal) => {
            assert!(later > m);
            let is_true = is_settled_state(value, &story.messages[m]);
            assert!(is_true, "false: settled at {m}, and {}", messages_with_book(story, value));
        }
        (Exactness::Snapshot(k), Source::Journal) => {
            assert!(k <= m);
            assert!(
                is_one_of(value, &story.books_at(k)),
                "false: snapshot of {k}, asked for {m}, and {}",
                messages_with_book(story, value)
            );
        }
        (Exactness::Snapshot(k), Source::RecapSnapshot) => {
            assert!(k <= m);
            let scene = story.messages[k].scene.as_ref().expect("a snapshot is of a scene");
            let then = scene.settled.as_ref().expect("it was taken when the scene had settled");
            check_recap_snapshot(value, then, k);
        }
        other => panic!("nothing can know a book like this: {other:?}"),
    }
    if story.journal_is_whole && !story.book_is_lost && can_be_exact(story, m) {
        let is_best = matches!(sealed.part.exactness, Exactness::Exact | Exactness::Settled(_));
        assert!(is_best, "the journal knew more");
    }
}

/// Whether nothing in the files contradicts the journal: an unreadable line, or a last message
/// whose book is gone or was changed by another program.
pub(crate) fn can_be_exact(story: &Story, m: usize) -> bool {
    let is_other = story.is_last(m) && (story.book_is_lost || story.formatting.odd_members);
    !story.is_torn_after(m) && !is_other
}

/// Whether `m` was the last message of the forked chat.
fn is_last(facts: &Facts, m: usize) -> bool {
    let parent =
        forklore_core::sillytavern::chat::Chat::read(&facts.parent_bytes, facts.parent.place());
    m + 1 == parent.len()
}

fn check_no_book(story: &Story, facts: &Facts, forked: &Forked, options: &ForkOptions) {
    let had_none = |m: usize| story.messages[m].truths.iter().any(|state| state.book.is_none());
    let is_right = options.policy.without_book
        || facts.parent_book().is_none()
        || (0..=forked.message).any(had_none);
    assert!(is_right, "the book was left behind");
    if story.journal_is_whole && !options.policy.without_book && facts.parent.name == story.chat {
        assert!(had_none(forked.message) || story.is_last(forked.message));
    }
}

/// A copy of the current book: all its bytes, Forklore's mark, and perhaps an emptied queue.
fn check_copy(parent: Option<&Vec<u8>>, bytes: &[u8], value: &Object, options: &ForkOptions) {
    let parent = parent.expect("the parent's book is there");
    if options.policy.queue == QueuePolicy::Refuse {
        // A grandchild's book has the mark of its parent's book replaced by its own.
        match single_insertion(parent, bytes) {
            Some(inserted) => assert!(inserted.windows(8).any(|w| w == b"forklore")),
            None => assert!(parent.windows(8).any(|w| w == b"forklore"), "bytes were changed"),
        }
    }
    let mut theirs =
        Json::parse(parent).expect("a book is JSON").as_object().expect("it is").clone();
    if let Some(extensions) = theirs.get_mut("extensions").and_then(Json::as_object_mut) {
        extensions.remove("forklore");
        if extensions.is_empty() {
            theirs.remove("extensions");
        }
    }
    let drained = drained(&theirs);
    assert!(*value == theirs || *value == drained, "a copy that is none");
}

/// The bytes inserted into `shorter` to get `longer`, if that is the only difference.
pub(crate) fn single_insertion<'a>(shorter: &[u8], longer: &'a [u8]) -> Option<&'a [u8]> {
    let added = longer.len().checked_sub(shorter.len())?;
    let same = shorter.iter().zip(longer).take_while(|(one, other)| one == other).count();
    let rest = &shorter[same..];
    (longer.ends_with(rest) && added > 0).then(|| &longer[same..same + added])
}

fn is_one_of(value: &Object, truths: &[Option<Object>]) -> bool {
    truths.iter().flatten().any(|truth| value == truth || *value == drained(truth))
}

/// At a scene break, the book may also be the one in the recap extension's snapshot, or an
/// intermediate state. The queue is ignored: no snapshot contains it, and it belongs to the
/// extension.
fn is_settled_state(value: &Object, message: &Message) -> bool {
    let scene = message.scene.as_ref().filter(|scene| scene.settled.is_some());
    let states = scene.into_iter().flat_map(|scene| &scene.on_the_way);
    let mut books = states.filter_map(|state| Some(state.book.as_ref()?.content()));
    books.any(|book| without_queue(&book) == without_queue(value))
}

fn without_queue(book: &Object) -> Object {
    let mut book = book.clone();
    let Some(entries) = book.get_mut("entries").and_then(Json::as_object_mut) else { return book };
    let found = entries.iter().find(|(_, entry)| queue::is_queue(entry));
    if let Some(key) = found.map(|(key, _)| key.clone()) {
        entries.remove_text(&key);
    }
    book
}

/// The messages that had this book, to help debug a false claim.
fn messages_with_book(story: &Story, value: &Object) -> String {
    let messages: Vec<usize> = (0..story.messages.len())
        .filter(|&message| is_one_of(value, &story.books_at(message)))
        .collect();
    format!("the book is that of messages {messages:?}")
}

/// The book with its pending operations removed, since nothing is left to run them.
fn drained(book: &Object) -> Object {
    let mut book = book.clone();
    let Some(entries) = book.get_mut("entries").and_then(Json::as_object_mut) else { return book };
    let found = entries.iter().find(|(_, entry)| queue::is_queue(entry));
    if let Some((key, entry)) = found.map(|(key, entry)| (key.clone(), entry.clone())) {
        let mut work = PendingWork::default();
        work.add_queue(&entry.get("content").and_then(Json::as_str).unwrap_or_default());
        if work.is_pending() {
            entries.insert(key, queue::emptied_entry(&entry));
        }
    }
    book
}

fn check_recap_snapshot(value: &Object, then: &RecordedState, k: usize) {
    let entries = |book: &Object| -> Vec<Json> {
        let entries = book.get("entries").and_then(Json::as_object).expect("it has entries");
        entries.iter().map(|(_, e)| e.clone()).filter(|e| !queue::is_queue(e)).collect()
    };
    let truth = entries(&then.book.as_ref().expect("a scene settles with a book").content());
    let ours = entries(value);
    assert_eq!(ours.len(), truth.len(), "false: snapshot of {k} by its number of entries");
    for entry in &truth {
        let twin = ours.iter().find(|ours| ours.get("uid") == entry.get("uid"));
        let twin =
            twin.unwrap_or_else(|| panic!("false: snapshot of {k} lacks {:?}", entry.get("uid")));
        for field in RECAP_SNAPSHOT_FIELDS {
            if let Some(value) = entry.get(field) {
                assert_eq!(twin.get(field), Some(value), "false: snapshot of {k}, field {field}");
            }
        }
    }
}

fn check_metadata(story: &Story, facts: &Facts, forked: &Forked) {
    let m = forked.message;
    let ours = recorded(&facts.metadata);
    let today = recorded(&facts.parent_metadata);
    let of = |k: usize| -> Vec<Object> {
        story.messages[k]
            .truths
            .iter()
            .map(|state| recorded(&Json::Object(state.metadata.clone())))
            .collect()
    };
    let part = forked.seal.metadata;
    let is_true = match (part.exactness, part.source) {
        (Exactness::Exact, Source::Files) => is_last(facts, m) && ours == today,
        (Exactness::Live, Source::Files) => ours == today,
        (Exactness::Exact, Source::Journal | Source::Unchanged) => of(m).contains(&ours),
        (Exactness::Snapshot(k), Source::Journal) => k <= m && of(k).contains(&ours),
        _ => false,
    };
    assert!(is_true, "false: metadata {part:?} at {m}");
    if story.journal_is_whole && !story.is_torn_after(m) {
        assert_eq!(part.exactness, Exactness::Exact, "the journal knew more");
    }
}

/// The recorded keys in a fixed order. Timed effects are only counted, because they are tied to the
/// book.
fn recorded(metadata: &Json) -> Object {
    let count = |timed: &Json| {
        Json::Array(timed.members().map(|(_, kind)| Json::from(kind.members().count())).collect())
    };
    RECORDED_METADATA
        .iter()
        .filter_map(|key| {
            let value = metadata.get(key)?;
            Some((*key, if *key == "timedWorldInfo" { count(value) } else { value.clone() }))
        })
        .collect()
}
