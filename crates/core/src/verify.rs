//! Is a timeline what it should be?

use std::cell::LazyCell;
use std::collections::HashMap;
use std::fmt;

use crate::book::{Book, BookError, Entry, lore_digest_of, uid_text};
use crate::chat::{Chat, Damage};
use crate::digest::Digest;
use crate::family::{Descent, Node, Timeline};
use crate::fork::metadata_value;
use crate::json::{Json, Raw};
use crate::names::book_key;
use crate::recap::queue::{self, PastTheEnd};
use crate::recap::registry::{self, Flaw};
use crate::recap::{combined, older_seal, running};
use crate::seal::{Seal, SealedBook};

/// Something found when looking at a timeline.
#[derive(Clone, Debug, PartialEq)]
pub enum Finding {
    Damage(Damage),
    BookMissing(String),
    BookUnreadable {
        name: String,
        error: BookError,
    },
    /// SillyTavern cannot read it, though we can.
    BookWithByteOrderMark(String),
    /// Other timelines of the family are bound to the same book.
    BookShared {
        name: String,
        with: Vec<String>,
    },
    /// Chats of other families are bound to the same book, perhaps on purpose.
    BookUsedElsewhere {
        name: String,
        by: Vec<String>,
    },
    /// It is bound to another book than the one it was sealed with.
    AnotherBook {
        sealed: String,
        bound: Option<String>,
    },
    /// It has fewer messages than when it was cut.
    CutShort {
        sealed: usize,
        messages: usize,
    },
    /// Nothing was said since the fork, and yet the book is another.
    BookEdited {
        sealed: usize,
        entries: usize,
    },
    RunningVersionMissing(i64),
    /// A version that the seal knows is gone, or the whole recap is.
    RunningVersionGone(i64),
    /// A version that the seal knows says something else.
    RunningVersionChanged(i64),
    /// Nothing was said since the fork, and yet another version is in force.
    AnotherRunningVersion {
        sealed: i64,
        current: Option<i64>,
    },
    /// A version is about a scene that the chat does not have.
    RunningVersionPastTheEnd {
        version: i64,
        scene: usize,
    },
    CombinedRecapChanged {
        sealed: usize,
        found: Option<usize>,
    },
    Registry(Flaw),
    QueuePastTheEnd(PastTheEnd),
    ParentMissing(String),
    Cycle(String),
    /// Made before Forklore, or by hand: nothing to check it against.
    NoSeal,
    /// A group chat that no group lists; SillyTavern does not show it.
    Unlisted,
}

impl Finding {
    /// Whether something is wrong, rather than worth knowing.
    pub fn is_problem(&self) -> bool {
        !matches!(
            self,
            Self::AnotherBook { .. }
                | Self::BookUsedElsewhere { .. }
                | Self::BookEdited { .. }
                | Self::RunningVersionChanged(_)
                | Self::AnotherRunningVersion { .. }
                | Self::Registry(Flaw::AnotherName { .. })
                | Self::CombinedRecapChanged { .. }
                | Self::ParentMissing(_)
                | Self::NoSeal
        )
    }
}

/// What verifying needs to know of the timeline's surroundings.
#[derive(Clone, Debug)]
pub struct Surroundings<'a> {
    pub timeline: &'a Timeline,
    pub node: &'a Node,
    /// Other timelines of the family bound to the same book.
    pub sharing: Vec<String>,
    /// Chats of other families bound to the same book.
    pub elsewhere: Vec<String>,
    pub is_listed: bool,
}

/// What verifying needs to know of a chat, so that its bytes need not be kept.
#[derive(Clone, Debug)]
pub struct ChatFacts {
    pub messages: usize,
    damage: Vec<Damage>,
    metadata: Json,
}

impl ChatFacts {
    pub fn of(chat: &Chat<'_>) -> Self {
        Self {
            messages: chat.len(),
            damage: chat.damage().to_vec(),
            metadata: metadata_value(chat),
        }
    }

    /// Of a chat that SillyTavern has read, so that what it could not read is gone already.
    pub fn loaded(messages: usize, metadata: Json) -> Self {
        Self { messages, damage: Vec::new(), metadata }
    }

    pub fn metadata(&self) -> &Json {
        &self.metadata
    }
}

/// What verifying needs to know of a book, worked out once for all timelines bound to it.
#[derive(Clone, Debug)]
pub struct BookFacts {
    pub entries: usize,
    /// Of the digests that were asked for, those of seals that this book is as they say.
    digests: Vec<Digest>,
    flaws: Vec<Flaw>,
    queues: Vec<String>,
    has_byte_order_mark: bool,
}

impl BookFacts {
    /// `sealed` are the digests that seals expect of this book, as [`Expected`] knows them.
    pub fn of(book: &Book<'_>, sealed: &[SealedDigests]) -> Self {
        let mut listing = Vec::new();
        let mut queues = Vec::new();
        let has_recap_data = book.mentions(registry::PREFIX) || book.mentions(queue::COMMENT);
        // Most books have neither registries nor a queue, and need not be read entry by entry.
        let looked_at = has_recap_data.then(|| book.entries()).into_iter().flatten();
        for entry in looked_at {
            let EntryFacts { uid, comment, content } = EntryFacts::of(&entry);
            let text =
                || content.and_then(|content| content.text()).unwrap_or_default().into_owned();
            if comment == queue::COMMENT {
                queues.push(text());
            }
            let content = registry::kind_of(&comment).map(|_| text()).unwrap_or_default();
            listing.push((uid, comment, content));
        }
        Self {
            entries: book.entries().count(),
            digests: those_of(book, sealed),
            flaws: registry::flaws(&listing),
            queues,
            has_byte_order_mark: book.has_byte_order_mark(),
        }
    }
}

/// The digests that seals expect of books, where nothing was said since the seal was made. Gathered
/// before the books are read, so that no other book is hashed.
#[derive(Clone, Debug, Default)]
pub struct Expected(HashMap<String, Vec<SealedDigests>>);

/// What a seal says of a book: its digest, and that of what its entries mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SealedDigests {
    digest: Digest,
    lore: Option<Digest>,
}

impl Expected {
    /// Adds what the seal of a timeline with this many messages expects.
    pub fn add(&mut self, timeline: &Timeline, messages: usize) {
        let Some(sealed) = timeline.seal.as_ref().and_then(|seal| untouched_book(seal, messages))
        else {
            return;
        };
        let digests = self.0.entry(book_key(&sealed.name)).or_default();
        let sealed = SealedDigests { digest: sealed.digest, lore: sealed.lore };
        if !digests.contains(&sealed) {
            digests.push(sealed);
        }
    }

    /// What is expected of the book with this [key](book_key).
    pub fn of(&self, key: &str) -> &[SealedDigests] {
        self.0.get(key).map_or(&[], Vec::as_slice)
    }
}

/// The book that must still be as it was sealed: once the story has gone on, its lore is expected to
/// have, too.
fn untouched_book(seal: &Seal, messages: usize) -> Option<&SealedBook> {
    seal.book.as_ref().filter(|_| messages == seal.message + 1)
}

fn those_of(book: &Book<'_>, sealed: &[SealedDigests]) -> Vec<Digest> {
    if sealed.is_empty() {
        return Vec::new();
    }
    let digested = book.digested();
    // Most books are as they were made, byte for byte.
    let lore = LazyCell::new(|| book.root().json().ok().as_ref().map(lore_digest_of));
    let is_kept = |sealed: &&SealedDigests| {
        sealed.digest.is_of(&digested) || (sealed.lore.is_some() && sealed.lore == *lore)
    };
    sealed.iter().filter(is_kept).map(|sealed| sealed.digest).collect()
}

/// An entry's fields in one pass: books are long, and verifying reads them all.
struct EntryFacts<'a> {
    uid: String,
    comment: String,
    content: Option<Raw<'a>>,
}

impl<'a> EntryFacts<'a> {
    fn of(entry: &Entry<'a>) -> Self {
        let mut facts = Self { uid: String::new(), comment: String::new(), content: None };
        for member in entry.value().members() {
            match member.key.text().as_deref() {
                Some("uid") => facts.uid = uid_text(member.value).unwrap_or_default(),
                Some("comment") => {
                    facts.comment = member.value.text().unwrap_or_default().into_owned();
                }
                Some("content") => facts.content = Some(member.value),
                _ => {}
            }
        }
        facts
    }
}

/// The book a timeline is bound to, as far as verifying goes.
#[derive(Clone, Debug)]
pub enum BoundFacts<'a> {
    None,
    Missing(&'a str),
    Unreadable { name: &'a str, error: &'a BookError },
    There { name: &'a str, facts: &'a BookFacts },
}

impl BoundFacts<'_> {
    fn name(&self) -> Option<&str> {
        match self {
            Self::None => None,
            Self::Missing(name) | Self::Unreadable { name, .. } | Self::There { name, .. } => {
                Some(name)
            }
        }
    }

    fn facts(&self) -> Option<&BookFacts> {
        match self {
            Self::There { facts, .. } => Some(facts),
            _ => None,
        }
    }

    fn another_than(&self, sealed: &str) -> Option<Finding> {
        let same = self.name().map(book_key) == Some(book_key(sealed));
        (!same).then(|| Finding::AnotherBook {
            sealed: sealed.to_owned(),
            bound: self.name().map(str::to_owned),
        })
    }
}

/// Everything found about one timeline.
pub fn verify(
    chat: &ChatFacts,
    bound: &BoundFacts<'_>,
    surroundings: &Surroundings<'_>,
) -> Vec<Finding> {
    let mut findings: Vec<Finding> = chat.damage.iter().cloned().map(Finding::Damage).collect();
    match &surroundings.node.descent {
        Descent::Missing(name) => findings.push(Finding::ParentMissing(name.clone())),
        Descent::Cycle(name) => findings.push(Finding::Cycle(name.clone())),
        Descent::Main | Descent::Said(_) | Descent::Inferred(_) => {}
    }
    if !surroundings.is_listed {
        findings.push(Finding::Unlisted);
    }
    look_at_book(chat, bound, surroundings, &mut findings);
    look_at_memory(chat, bound, surroundings, &mut findings);
    findings
}

fn look_at_book(
    chat: &ChatFacts,
    bound: &BoundFacts<'_>,
    surroundings: &Surroundings<'_>,
    findings: &mut Vec<Finding>,
) {
    match bound {
        BoundFacts::None => {}
        BoundFacts::Missing(name) => findings.push(Finding::BookMissing((*name).to_owned())),
        BoundFacts::Unreadable { name, error } => {
            let (name, error) = ((*name).to_owned(), (*error).clone());
            findings.push(Finding::BookUnreadable { name, error });
        }
        BoundFacts::There { name, facts } => {
            if facts.has_byte_order_mark {
                findings.push(Finding::BookWithByteOrderMark((*name).to_owned()));
            }
            findings.extend(facts.flaws.iter().cloned().map(Finding::Registry));
            let past =
                facts.queues.iter().flat_map(|queue| queue::past_the_end(queue, chat.messages));
            findings.extend(past.map(Finding::QueuePastTheEnd));
        }
    }
    if let (Some(name), false) = (bound.name(), surroundings.sharing.is_empty()) {
        let with = surroundings.sharing.clone();
        findings.push(Finding::BookShared { name: name.to_owned(), with });
    }
    if let (Some(name), false) = (bound.name(), surroundings.elsewhere.is_empty()) {
        let by = surroundings.elsewhere.clone();
        findings.push(Finding::BookUsedElsewhere { name: name.to_owned(), by });
    }
}

fn look_at_memory(
    chat: &ChatFacts,
    bound: &BoundFacts<'_>,
    surroundings: &Surroundings<'_>,
    findings: &mut Vec<Finding>,
) {
    let metadata = &chat.metadata;
    let recap = metadata.get(running::KEY);
    if let Some(state) = recap.map(running::state)
        && !state.exists
    {
        findings.push(Finding::RunningVersionMissing(state.version.unwrap_or(0)));
    }
    let past = recap.into_iter().flat_map(|recap| running::past_the_end(recap, chat.messages));
    findings
        .extend(past.map(|(version, scene)| Finding::RunningVersionPastTheEnd { version, scene }));
    let combined = metadata.at(&combined::PATH);
    if let Some(seal) = &surroundings.timeline.seal {
        look_at_seal(chat, bound, seal, findings);
        findings.extend(look_at_running_recap(chat, recap, seal));
        if let Some(sealed) = &seal.combined_recap
            && !combined.is_some_and(|recap| sealed.digest.is_of(&recap.stringify()))
        {
            let found = combined.and_then(combined::message_count);
            findings.push(Finding::CombinedRecapChanged { sealed: sealed.messages, found });
        }
    } else if let Some(older) = older_seal::read(metadata) {
        findings.extend(older.book.and_then(|sealed| bound.another_than(&sealed)));
        if let Some(version) = older.running_version
            && recap.and_then(|recap| running::version(recap, version)).is_none()
        {
            findings.push(Finding::RunningVersionMissing(version));
        }
        let found = combined.and_then(combined::message_count);
        if older.combined_messages > 0 && found != Some(older.combined_messages) {
            findings.push(Finding::CombinedRecapChanged { sealed: older.combined_messages, found });
        }
    } else if surroundings.node.descent != Descent::Main {
        findings.push(Finding::NoSeal);
    }
}

/// Whether the running recap is still the one that the timeline was made with.
fn look_at_running_recap(chat: &ChatFacts, recap: Option<&Json>, seal: &Seal) -> Option<Finding> {
    let recorded = seal.running_recap.as_ref()?;
    let (sealed, digest) = (recorded.version?, recorded.digest?);
    let Some(version) = recap.and_then(|recap| running::version(recap, sealed)) else {
        return Some(Finding::RunningVersionGone(sealed));
    };
    if !digest.is_of(&version.stringify()) {
        return Some(Finding::RunningVersionChanged(sealed));
    }
    // That the one in force does not exist is said otherwise.
    let state = recap.map(running::state).filter(|state| state.exists)?;
    let current = state.version;
    let is_untouched = chat.messages == seal.message + 1;
    (is_untouched && current != Some(sealed))
        .then_some(Finding::AnotherRunningVersion { sealed, current })
}

fn look_at_seal(
    chat: &ChatFacts,
    bound: &BoundFacts<'_>,
    seal: &Seal,
    findings: &mut Vec<Finding>,
) {
    if chat.messages <= seal.message {
        findings.push(Finding::CutShort { sealed: seal.message, messages: chat.messages });
    }
    let Some(sealed) = &seal.book else { return };
    if let Some(another) = bound.another_than(&sealed.name) {
        findings.push(another);
        return;
    }
    if let Some(sealed) = untouched_book(seal, chat.messages)
        && let Some(facts) = bound.facts()
        && !facts.digests.contains(&sealed.digest)
    {
        findings.push(Finding::BookEdited { sealed: sealed.entries, entries: facts.entries });
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Damage(damage) => damage.fmt(out),
            Self::BookMissing(name) => write!(out, "its lorebook {name:?} does not exist"),
            Self::BookUnreadable { name, error } => {
                write!(out, "its lorebook {name:?} cannot be read: {error}")
            }
            Self::BookWithByteOrderMark(name) => write!(
                out,
                "its lorebook {name:?} begins with a byte-order mark; SillyTavern cannot read it"
            ),
            Self::BookShared { name, with } => {
                write!(out, "shares its lorebook {name:?} with {}", quoted(with))
            }
            Self::BookUsedElsewhere { name, by } => {
                write!(out, "its lorebook {name:?} is also used by {}", quoted(by))
            }
            Self::AnotherBook { sealed, bound: Some(bound) } => {
                write!(out, "was made with the lorebook {sealed:?} and is bound to {bound:?} now")
            }
            Self::AnotherBook { sealed, bound: None } => {
                write!(out, "was made with the lorebook {sealed:?} and is bound to none now")
            }
            Self::CutShort { sealed, messages } => write!(
                out,
                "was made with messages 0 to {sealed} and has only {messages} of them now"
            ),
            Self::BookEdited { sealed, entries } => write!(
                out,
                "its lorebook was edited since the fork, before any new message ({sealed} entries then, {entries} now)"
            ),
            Self::RunningVersionMissing(version) => {
                write!(out, "its running recap has no version {version}, though that one is in use")
            }
            Self::RunningVersionGone(version) => {
                write!(
                    out,
                    "version {version} of its running recap, which it was made with, is gone"
                )
            }
            Self::RunningVersionChanged(version) => {
                write!(
                    out,
                    "version {version} of its running recap is not the one it was made with"
                )
            }
            Self::AnotherRunningVersion { sealed, current: Some(current) } => write!(
                out,
                "version {current} of its running recap is in use; it was made with {sealed}"
            ),
            Self::AnotherRunningVersion { sealed, current: None } => {
                write!(out, "no version of its running recap is in use; it was made with {sealed}")
            }
            Self::RunningVersionPastTheEnd { version, scene } => write!(
                out,
                "version {version} of its running recap is about message {scene}, which it does not have"
            ),
            Self::CombinedRecapChanged { sealed, found } => match found {
                Some(found) => {
                    write!(out, "its combined recap covers {found} messages, not {sealed}")
                }
                None => write!(out, "its combined recap of {sealed} messages is gone"),
            },
            Self::Registry(flaw) => flaw.fmt(out),
            Self::QueuePastTheEnd(found) => write!(
                out,
                "a waiting operation ({}) points at message {}, which the chat does not have",
                found.operation, found.message
            ),
            Self::ParentMissing(name) => write!(out, "its parent {name:?} is not there"),
            Self::Cycle(name) => write!(out, "its parent {name:?} descends from itself"),
            Self::NoSeal => {
                out.write_str("an older timeline: nothing was recorded when it was made")
            }
            Self::Unlisted => {
                out.write_str("no group lists this chat, so SillyTavern does not show it")
            }
        }
    }
}

fn quoted(names: &[String]) -> String {
    names.iter().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ")
}

crate::sayings!(Finding {
    Self::Damage(damage) => [damage: Damage],
    Self::BookMissing(name) => ("book-missing", name: name.as_str()),
    Self::BookUnreadable { name, error } => (
        "book-unreadable",
        name: name.as_str(),
        reason: error.said().code,
    ),
    Self::BookWithByteOrderMark(name) => ("book-bom", name: name.as_str()),
    Self::BookShared { name, with } => ("book-shared", name: name.as_str(), with: with.clone()),
    Self::BookUsedElsewhere { name, by } => (
        "book-elsewhere",
        name: name.as_str(),
        by: by.clone(),
    ),
    Self::AnotherBook { sealed, bound } => (
        "another-book",
        sealed: sealed.as_str(),
        bound: bound.clone(),
    ),
    Self::CutShort { sealed, messages } => ("cut-short", sealed: *sealed, messages: *messages),
    Self::BookEdited { sealed, entries } => ("book-edited", sealed: *sealed, entries: *entries),
    Self::RunningVersionMissing(version) => ("running-missing", version: *version),
    Self::RunningVersionGone(version) => ("running-gone", version: *version),
    Self::RunningVersionChanged(version) => ("running-changed", version: *version),
    Self::AnotherRunningVersion { sealed, current } => (
        "running-another",
        sealed: *sealed,
        current: *current,
    ),
    Self::RunningVersionPastTheEnd { version, scene } => (
        "running-past-the-end",
        version: *version,
        message: *scene,
    ),
    Self::CombinedRecapChanged { sealed, found } => (
        "combined-changed",
        sealed: *sealed,
        found: *found,
    ),
    Self::Registry(flaw) => [flaw: Flaw],
    Self::QueuePastTheEnd(found) => (
        "queue-past-end",
        operation: found.operation.as_str(),
        message: found.message,
    ),
    Self::ParentMissing(name) => ("parent-missing", name: name.as_str()),
    Self::Cycle(name) => ("cycle", name: name.as_str()),
    Self::NoSeal => ("no-seal"),
    Self::Unlisted => ("unlisted"),
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::book::digest_of;
    use crate::exactness::Part;
    use crate::family::{Home, families};
    use crate::names::ForkKind;
    use crate::seal::{self, SealedBook};

    const MARK: &str = r#""extensions":{"forklore":{"format":1}}"#;

    /// Whether a child, nothing having been said in it yet, is found to have an edited book.
    fn is_edited(sealed: &str, now: &str, knows_lore: bool) -> bool {
        let [sealed, now] =
            [sealed, now].map(|entry| format!(r#"{{"entries":{{"0":{entry}}},{MARK}}}"#));
        let value = Json::parse(sealed.as_bytes()).unwrap();
        let book = SealedBook {
            name: "Lore".into(),
            from: "Parent lore".into(),
            entries: 1,
            digest: digest_of(&value),
            lore: knows_lore.then(|| lore_digest_of(&value)),
            part: Part::LIVE,
        };
        let seal = Seal {
            kind: ForkKind::Branch,
            parent: "Story".into(),
            parent_integrity: None,
            message: 0,
            made: String::new(),
            book: Some(book),
            metadata: Part::LIVE,
            state: None,
            running_recap: None,
            combined_recap: None,
            warnings: Vec::new(),
        };
        let metadata =
            Json::object([("world_info", Json::from("Lore")), (seal::KEY, seal.to_json())]);
        let timelines = [Timeline::of(Home::Character("Ada".into()), "Child".into(), &metadata)];
        let nodes = families(&timelines);
        let surroundings = Surroundings {
            timeline: &timelines[0],
            node: &nodes[0],
            sharing: Vec::new(),
            elsewhere: Vec::new(),
            is_listed: true,
        };
        let mut expected = Expected::default();
        expected.add(&timelines[0], 1);
        let facts =
            BookFacts::of(&Book::read(now.as_bytes()).unwrap(), expected.of(&book_key("Lore")));
        let bound = BoundFacts::There { name: "Lore", facts: &facts };
        let found = verify(&ChatFacts::loaded(1, metadata), &bound, &surroundings);
        found.iter().any(|finding| matches!(finding, Finding::BookEdited { .. }))
    }

    #[test]
    fn a_book_that_was_only_shown_in_the_editor_is_not_edited() {
        let sparse = r#"{"uid":0,"content":"A captain."}"#;
        let shown = r#"{"uid":0,"content":"A captain.","order":100,"role":null,"displayIndex":0,
            "characterFilter":{"isExclude":false,"names":[],"tags":[]}}"#;
        assert!(!is_edited(sparse, sparse, true));
        assert!(!is_edited(sparse, shown, true));
        assert!(is_edited(sparse, &shown.replace("captain", "king"), true));
        assert!(is_edited(sparse, &shown.replace("100", "5"), true));
        // A seal of old knows only the digest of all of it.
        assert!(is_edited(sparse, shown, false));
    }
}
