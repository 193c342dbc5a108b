//! Checks a timeline against its seal, its book and its family.

use std::cell::LazyCell;
use std::collections::HashMap;

use crate::digest::Digest;
use crate::finding::Finding;
use crate::plan::fork::metadata_value;
use crate::recap::queue;
use crate::recap::registry::{self, RegistryFlaw};
use crate::recap::{combined, older_seal, running};
use crate::sillytavern::book::{Book, BookError, Entry, lore_digest_of, uid_text};
use crate::sillytavern::chat::{Chat, Damage};
use crate::sillytavern::names::book_key;
use crate::timeline::book_users::BookUsers;
use crate::timeline::books_named::replaced_books;
use crate::timeline::family::{Node, Parentage, Timeline};
use crate::timeline::seal::{Seal, SealedBook};
use forklore_json::{Json, Raw};

/// The facts about a timeline's family and book that verifying needs.
#[derive(Clone, Debug)]
pub struct VerifyContext<'a> {
    pub timeline: &'a Timeline,
    pub node: &'a Node,
    /// Other timelines of the family bound to the same book.
    pub sharing: Vec<String>,
    /// Chats of other families bound to the same book.
    pub elsewhere: Vec<String>,
    /// The books in which Memory Books keeps its memories and those of other timelines of the family.
    pub memories: Vec<(String, Vec<String>)>,
    pub is_listed: bool,
}

impl<'a> VerifyContext<'a> {
    /// The context of the timeline number `at` of all those whose books `users` lists.
    pub fn of(users: &BookUsers<'a>, at: usize, is_listed: bool) -> Self {
        let (timelines, nodes) = (users.timelines(), users.nodes());
        let name = |other: usize| timelines[other].name.clone();
        Self {
            timeline: &timelines[at],
            node: &nodes[at],
            sharing: users.relatives(at).map(name).collect(),
            elsewhere: users.strangers(at).map(name).collect(),
            memories: users
                .shared_memories(at)
                .into_iter()
                .map(|(book, with)| (book, with.into_iter().map(name).collect()))
                .collect(),
            is_listed,
        }
    }
}

/// The facts about a chat that verifying needs, so that its bytes can be dropped.
#[derive(Clone, Debug)]
pub struct ChatFacts {
    pub messages: usize,
    damage: Vec<Damage>,
    metadata: Json,
    /// Whether `metadata` is all of it.
    is_whole: bool,
}

impl ChatFacts {
    pub fn of(chat: &Chat<'_>) -> Self {
        Self {
            messages: chat.len(),
            damage: chat.damage().to_vec(),
            metadata: metadata_value(chat),
            is_whole: true,
        }
    }

    /// For a chat loaded by SillyTavern, which has already dropped everything it could not read.
    pub fn loaded(messages: usize, metadata: Json) -> Self {
        Self { messages, damage: Vec::new(), metadata, is_whole: true }
    }

    /// For a chat of which only the [`HEADER_KEYS`](crate::timeline::family::HEADER_KEYS) are
    /// known. Its recaps are not checked; see [`recap_findings`].
    pub fn indexed(messages: usize, metadata: Json) -> Self {
        Self { is_whole: false, ..Self::loaded(messages, metadata) }
    }

    pub fn metadata(&self) -> &Json {
        &self.metadata
    }
}

/// The facts about a book that verifying needs, computed once for all timelines bound to it.
#[derive(Clone, Debug)]
pub struct BookFacts {
    pub entries: usize,
    /// The expected digests that this book matches.
    digests: Vec<Digest>,
    flaws: Vec<RegistryFlaw>,
    queues: Vec<String>,
    has_byte_order_mark: bool,
}

impl BookFacts {
    /// `sealed` are the digests that seals expect of this book, from [`ExpectedDigests`].
    pub fn of(book: &Book<'_>, sealed: &[SealedDigests]) -> Self {
        let mut listing = Vec::new();
        let mut queues = Vec::new();
        let has_recap_data = book.mentions(registry::PREFIX) || book.mentions(queue::COMMENT);
        // Most books have neither registries nor a queue, so their entries need not be read.
        let entries = has_recap_data.then(|| book.entries()).into_iter().flatten();
        for entry in entries {
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
            digests: matching_digests(book, sealed),
            flaws: registry::flaws(&listing),
            queues,
            has_byte_order_mark: book.has_byte_order_mark(),
        }
    }
}

/// The digests that seals expect of books, for chats without new messages since the seal was made.
/// They are collected before the books are read, so that no other book is hashed.
#[derive(Clone, Debug, Default)]
pub struct ExpectedDigests(HashMap<String, Vec<SealedDigests>>);

/// The digest of a book in a seal, and the digest of the meaning of its entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SealedDigests {
    digest: Digest,
    lore: Option<Digest>,
}

impl ExpectedDigests {
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

    /// The digests expected of the book with this [key](book_key).
    pub fn of(&self, key: &str) -> &[SealedDigests] {
        self.0.get(key).map_or(&[], Vec::as_slice)
    }
}

/// The sealed book, if it must still be unchanged. Once the chat has new messages, its lore is
/// expected to change as well.
fn untouched_book(seal: &Seal, messages: usize) -> Option<&SealedBook> {
    seal.book.as_ref().filter(|_| messages == seal.message + 1)
}

fn matching_digests(book: &Book<'_>, sealed: &[SealedDigests]) -> Vec<Digest> {
    if sealed.is_empty() {
        return Vec::new();
    }
    let digested = book.digest_input();
    // Lazy, because most books still match byte for byte.
    let lore = LazyCell::new(|| book.root().json().ok().as_ref().map(lore_digest_of));
    let is_match = |sealed: &&SealedDigests| {
        sealed.digest.is_of(&digested) || (sealed.lore.is_some() && sealed.lore == *lore)
    };
    sealed.iter().filter(is_match).map(|sealed| sealed.digest).collect()
}

/// An entry's fields, read in one pass, because verifying reads every entry of long books.
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

/// The book that a timeline is bound to.
#[derive(Clone, Debug)]
pub enum BoundFacts<'a> {
    None,
    Missing(&'a str),
    /// It exists, but it has not been read yet.
    NotRead(&'a str),
    Unreadable {
        name: &'a str,
        error: &'a BookError,
    },
    There {
        name: &'a str,
        facts: &'a BookFacts,
    },
}

impl<'a> BoundFacts<'a> {
    /// The book of `timeline`, if `books` are all that exist, by [key](book_key).
    pub fn of(
        timeline: &'a Timeline,
        books: &'a HashMap<String, Result<BookFacts, BookError>>,
    ) -> Self {
        let Some(name) = timeline.book.as_deref() else { return Self::None };
        match books.get(&book_key(name)) {
            None => Self::Missing(name),
            Some(Err(error)) => Self::Unreadable { name, error },
            Some(Ok(facts)) => Self::There { name, facts },
        }
    }
}

impl BoundFacts<'_> {
    fn name(&self) -> Option<&str> {
        match self {
            Self::None => None,
            Self::Missing(name)
            | Self::NotRead(name)
            | Self::Unreadable { name, .. }
            | Self::There { name, .. } => Some(name),
        }
    }

    pub(crate) fn facts(&self) -> Option<&BookFacts> {
        match self {
            Self::There { facts, .. } => Some(facts),
            _ => None,
        }
    }

    fn check_name(&self, sealed: &str) -> Option<Finding> {
        let same = self.name().map(book_key) == Some(book_key(sealed));
        (!same).then(|| Finding::AnotherBook {
            sealed: sealed.to_owned(),
            bound: self.name().map(str::to_owned),
        })
    }
}

/// Returns all findings about one timeline.
pub fn verify(
    chat: &ChatFacts,
    bound: &BoundFacts<'_>,
    context: &VerifyContext<'_>,
) -> Vec<Finding> {
    let mut findings: Vec<Finding> = chat.damage.iter().cloned().map(Finding::Damage).collect();
    match &context.node.parentage {
        Parentage::Missing(name) => findings.push(Finding::ParentMissing(name.clone())),
        Parentage::Cycle(name) => findings.push(Finding::Cycle(name.clone())),
        Parentage::Main | Parentage::Declared(_) | Parentage::Inferred(_) => {}
    }
    if !context.is_listed {
        findings.push(Finding::Unlisted);
    }
    check_book(chat, bound, context, &mut findings);
    check_memory(chat, bound, context, &mut findings);
    findings
}

fn check_book(
    chat: &ChatFacts,
    bound: &BoundFacts<'_>,
    context: &VerifyContext<'_>,
    findings: &mut Vec<Finding>,
) {
    match bound {
        BoundFacts::None => {
            let seal = context.timeline.seal.as_ref();
            findings.extend(seal.and_then(|seal| seal.left_out.as_ref()).map(|left_out| {
                let name = left_out.name.clone();
                if left_out.failed { Finding::BookFailed(name) } else { Finding::BookLeftOut(name) }
            }));
        }
        BoundFacts::NotRead(_) => {}
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
    if let (Some(name), false) = (bound.name(), context.sharing.is_empty()) {
        let with = context.sharing.clone();
        findings.push(Finding::BookShared { name: name.to_owned(), with });
    }
    if let (Some(name), false) = (bound.name(), context.elsewhere.is_empty()) {
        let by = context.elsewhere.clone();
        findings.push(Finding::BookUsedElsewhere { name: name.to_owned(), by });
    }
    let shared = context.memories.iter().cloned();
    findings.extend(shared.map(|(name, with)| Finding::MemoriesShared { name, with }));
    let left_out = match bound {
        // Until the book is back, the page leaves nothing out.
        BoundFacts::Missing(_) => return,
        BoundFacts::None => Finding::LeavesOutNothing,
        _ => Finding::LeavesOut,
    };
    findings.extend(replaced_books(&chat.metadata).into_iter().map(left_out));
}

fn check_memory(
    chat: &ChatFacts,
    bound: &BoundFacts<'_>,
    context: &VerifyContext<'_>,
    findings: &mut Vec<Finding>,
) {
    if chat.is_whole {
        check_current_recap(chat, findings);
    }
    if let Some(seal) = &context.timeline.seal {
        check_seal(chat, bound, seal, findings);
    } else if let Some(older) = older_seal::read(&chat.metadata) {
        findings.extend(older.book.and_then(|sealed| bound.check_name(&sealed)));
    } else if context.node.parentage != Parentage::Main {
        findings.push(Finding::NoSeal);
    }
    if chat.is_whole {
        check_sealed_recaps(chat, context.timeline.seal.as_ref(), findings);
    }
}

/// The findings about a chat's recaps. They need all of its metadata, but no book and no family, so
/// an index that drops the metadata can keep them instead.
pub fn recap_findings(chat: &ChatFacts, timeline: &Timeline) -> Vec<Finding> {
    let mut findings = Vec::new();
    check_current_recap(chat, &mut findings);
    check_sealed_recaps(chat, timeline.seal.as_ref(), &mut findings);
    findings
}

/// Checks the running recap by itself.
fn check_current_recap(chat: &ChatFacts, findings: &mut Vec<Finding>) {
    let Some(recap) = chat.metadata.get(running::KEY) else { return };
    let state = running::state(recap);
    if !state.exists {
        findings.push(Finding::RunningVersionMissing(state.version.unwrap_or(0)));
    }
    let past = running::past_the_end(recap, chat.messages).into_iter();
    findings
        .extend(past.map(|(version, scene)| Finding::RunningVersionPastTheEnd { version, scene }));
}

/// Checks both recaps against the seal, or against an older one.
fn check_sealed_recaps(chat: &ChatFacts, seal: Option<&Seal>, findings: &mut Vec<Finding>) {
    let recap = chat.metadata.get(running::KEY);
    let combined = chat.metadata.at(&combined::PATH);
    let found = combined.and_then(combined::message_count);
    if let Some(seal) = seal {
        findings.extend(check_running_recap(chat, recap, seal));
        if let Some(sealed) = &seal.combined_recap
            && !combined.is_some_and(|recap| sealed.digest.is_of(&recap.stringify()))
        {
            findings.push(Finding::CombinedRecapChanged { sealed: sealed.messages, found });
        }
    } else if let Some(older) = older_seal::read(&chat.metadata) {
        if let Some(version) = older.running_version
            && recap.and_then(|recap| running::version(recap, version)).is_none()
        {
            findings.push(Finding::RunningVersionMissing(version));
        }
        if older.combined_messages > 0 && found != Some(older.combined_messages) {
            findings.push(Finding::CombinedRecapChanged { sealed: older.combined_messages, found });
        }
    }
}

/// Checks that the running recap is still the one that the timeline was created with.
fn check_running_recap(chat: &ChatFacts, recap: Option<&Json>, seal: &Seal) -> Option<Finding> {
    let recorded = seal.running_recap.as_ref()?;
    let (sealed, digest) = (recorded.version?, recorded.digest?);
    let is_untouched = chat.messages == seal.message + 1;
    // A missing current version is reported as `RunningVersionMissing`.
    let state = recap.map(running::state).filter(|state| state.exists);
    let Some(version) = recap.and_then(|recap| running::version(recap, sealed)) else {
        // ST-Auto-Recap itself removes the versions of a scene that is deleted or loses its recap,
        // and then chooses a current one that exists. It never removes the whole recap.
        let is_plausible = !is_untouched || state.is_some();
        return Some(Finding::RunningVersionGone { version: sealed, is_plausible });
    };
    if !digest.is_of(&version.stringify()) {
        return Some(Finding::RunningVersionChanged(sealed));
    }
    let current = state?.version;
    (is_untouched && current != Some(sealed))
        .then_some(Finding::AnotherRunningVersion { sealed, current })
}

fn check_seal(chat: &ChatFacts, bound: &BoundFacts<'_>, seal: &Seal, findings: &mut Vec<Finding>) {
    if chat.messages <= seal.message {
        findings.push(Finding::CutShort { sealed: seal.message, messages: chat.messages });
    }
    let Some(sealed) = &seal.book else { return };
    if let Some(another) = bound.check_name(&sealed.name) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::Diagnostic as _;
    use crate::sillytavern::book::digest_of;
    use crate::sillytavern::names::ForkKind;
    use crate::timeline::exactness::Knowledge;
    use crate::timeline::family::{Home, families};
    use crate::timeline::seal::{self, SealedBook, SealedRecap};

    const MARK: &str = r#""extensions":{"forklore":{"format":1}}"#;

    fn bare_seal() -> Seal {
        Seal {
            kind: ForkKind::Branch,
            integrity: None,
            parent: "Story".into(),
            parent_integrity: None,
            message: 0,
            made: String::new(),
            book: None,
            no_book: None,
            left_out: None,
            metadata: Knowledge::LIVE,
            state: None,
            running_recap: None,
            combined_recap: None,
            warnings: Vec::new(),
        }
    }

    /// Whether verifying a child without new messages reports its book as edited.
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
            part: Knowledge::LIVE,
        };
        let seal = Seal { book: Some(book), ..bare_seal() };
        let metadata =
            Json::object([("world_info", Json::from("Lore")), (seal::KEY, seal.to_json())]);
        let home = Home::Character("Ada".into());
        let timelines = [Timeline::of(home, "Child".into(), &metadata, Some(1))];
        let nodes = families(&timelines);
        let context = VerifyContext {
            timeline: &timelines[0],
            node: &nodes[0],
            sharing: Vec::new(),
            elsewhere: Vec::new(),
            memories: Vec::new(),
            is_listed: true,
        };
        let mut expected = ExpectedDigests::default();
        expected.add(&timelines[0], 1);
        let facts =
            BookFacts::of(&Book::read(now.as_bytes()).unwrap(), expected.of(&book_key("Lore")));
        let bound = BoundFacts::There { name: "Lore", facts: &facts };
        let found = verify(&ChatFacts::loaded(1, metadata), &bound, &context);
        found.iter().any(|finding| matches!(finding, Finding::BookEdited { .. }))
    }

    /// Whether `running-gone` is reported of a child at message 6, and whether as a problem.
    fn is_gone(recap: &str, messages: usize) -> Option<bool> {
        let version = Json::parse(br#"{"version":1,"new_scene_index":6}"#).unwrap();
        let recap_then = Json::object([
            ("current_version", Json::from(1_i64)),
            ("versions", Json::Array(vec![version])),
        ]);
        let seal = Seal {
            message: 6,
            running_recap: Some(SealedRecap {
                version: Some(1),
                count: 2,
                scenes: Some(2),
                digest: running::version_digest(&recap_then, 1),
            }),
            ..bare_seal()
        };
        let recap = Json::parse(recap.as_bytes()).unwrap();
        let metadata = Json::object([(running::KEY, recap), (seal::KEY, seal.to_json())]);
        let timeline = Timeline::of(Home::Character("Ada".into()), "Child".into(), &metadata, None);
        let found = recap_findings(&ChatFacts::loaded(messages, metadata), &timeline);
        let gone = found.iter().find(|found| found.coded().code == "running-gone");
        gone.map(Finding::is_problem)
    }

    /// What is left when scene 6 is gone, whose version was the current one.
    const AFTER_SCENE: &str =
        r#"{"current_version":0,"versions":[{"version":0,"new_scene_index":2}]}"#;

    #[test]
    fn delete_scene_of_st_auto_recap_is_no_problem() {
        let whole = AFTER_SCENE.replace("}]", r#"},{"version":1,"new_scene_index":6}]"#);
        assert_eq!(is_gone(&whole, 7), None, "before");
        assert_eq!(is_gone(AFTER_SCENE, 7), Some(false));
        assert_eq!(is_gone(AFTER_SCENE, 17), Some(false));
    }

    #[test]
    fn a_deleted_last_message_of_a_scene_is_no_problem() {
        assert_eq!(is_gone(AFTER_SCENE, 6), Some(false));
    }

    #[test]
    fn clear_all_recaps_of_st_auto_recap_is_no_problem() {
        let cleared = r#"{"current_version":0,"versions":[]}"#;
        assert_eq!([7, 8].map(|messages| is_gone(cleared, messages)), [Some(false); 2]);
    }

    #[test]
    fn a_version_that_st_auto_recap_cannot_have_removed_is_a_problem_until_the_story_goes_on() {
        let dangling = AFTER_SCENE.replace(r#""current_version":0"#, r#""current_version":1"#);
        for recap in [dangling.as_str(), r#"{"versions":[{}]}"#] {
            assert_eq!(is_gone(recap, 7), Some(true), "{recap}");
            assert_eq!(is_gone(recap, 8), Some(false), "{recap}");
        }
    }

    #[test]
    fn a_chat_leaves_a_book_out_only_if_it_has_another() {
        let metadata = |book: &str, names: &str| {
            let text = format!(r#"{{"world_info":"{book}","forklore_instead":{names}}}"#);
            Json::parse(text.as_bytes()).unwrap()
        };
        let found = |book: &str, names: &str, bound: &BoundFacts<'_>| {
            let metadata = metadata(book, names);
            let home = Home::Character("Ada".into());
            let timelines = [Timeline::of(home, "Story".into(), &metadata, None)];
            let nodes = families(&timelines);
            let users = BookUsers::of(&timelines, &nodes);
            let context = VerifyContext::of(&users, 0, true);
            // An index has all that is needed.
            let header = crate::timeline::family::header(&metadata);
            let findings = verify(&ChatFacts::indexed(1, header), bound, &context);
            findings.iter().map(|f| (f.coded().code, f.is_problem())).collect::<Vec<_>>()
        };
        let names = r#"["Eldoria"]"#;
        assert_eq!(found("Copy", names, &BoundFacts::NotRead("Copy")), [("leaves-out", false)]);
        assert_eq!(found("", names, &BoundFacts::None), [("leaves-out-nothing", true)]);
        assert_eq!(found("Copy", names, &BoundFacts::Missing("Copy")), [("book-missing", true)]);
        let copied = |bound: &str| format!(r#"["Eldoria"],"forklore_copy":"{bound}""#);
        let not_read = BoundFacts::NotRead("Copy");
        assert_eq!(found("Copy", &copied("copy"), &not_read), [("leaves-out", false)]);
        assert_eq!(found("Copy", &copied("Another"), &not_read), [], "that was bound before");
        assert_eq!(found("", &copied("Copy"), &BoundFacts::None), [("leaves-out-nothing", true)]);
        for odd in ["null", "7", r#""Eldoria""#, "{}", r#"[null, 7, "", ["Eldoria"]]"#] {
            assert_eq!(found("Copy", odd, &BoundFacts::NotRead("Copy")), [], "{odd}");
        }
    }

    #[test]
    fn a_fork_without_the_book_that_it_should_have_says_so() {
        let found = |more: &str| {
            let text = format!(
                r#"{{"main_chat":"Story","forklore":{{"kind":"branch","parent":{{"chat":"Story","message":0}}{more}}}}}"#
            );
            let metadata = Json::parse(text.as_bytes()).unwrap();
            let timelines = [
                Timeline::of(Home::Loose, "Child".into(), &metadata, Some(1)),
                Timeline::of(Home::Loose, "Story".into(), &Json::Null, None),
            ];
            let nodes = families(&timelines);
            let users = BookUsers::of(&timelines, &nodes);
            let context = VerifyContext::of(&users, 0, true);
            let findings = verify(&ChatFacts::loaded(1, metadata), &BoundFacts::None, &context);
            findings.iter().map(|f| (f.coded().code, f.is_problem())).collect::<Vec<_>>()
        };
        assert_eq!(found(""), [], "there was none to copy");
        assert_eq!(found(r#","left_out":"Lore","failed":true"#), [("book-failed", true)]);
        assert_eq!(found(r#","left_out":"Lore","failed":false"#), [("book-left-out", false)]);
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
        // An older seal has only the digest of the whole book.
        assert!(is_edited(sparse, shown, false));
    }
}
