//! Forks: checks whether one is possible, and rewrites the request that saves the child.

use forklore_core::finding::{Obstacle, Remark, Unfinished};
use forklore_core::memory_books::NamedBook;
use forklore_core::plan::fork::child_save::{CannotPlanSave, ChildSave, SaveContext};
use forklore_core::plan::fork::decision::{
    self, CharacterLore, Choice, Decision, ForkSettings, Step,
};
use forklore_core::plan::fork::question::{Offer, Topic};
use forklore_core::plan::fork::{self, CharacterBook, ForkPlan, Policy, Readiness, Refusal};
use forklore_core::recap::queue::PendingWork;
use forklore_core::sillytavern::book::Book;
use forklore_core::sillytavern::chat::Chat;
use forklore_core::sillytavern::names::{self, NamedFile};
use forklore_core::sillytavern::save_request::{self, NotASave, SaveRequest};
use forklore_core::timeline::exactness::{Exactness, Knowledge};
use forklore_core::timeline::moment::{BookThen, BoundChat};
use forklore_json::{Json, Object};
use wasm_bindgen::JsError;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::boundary::answer::Answer;
use crate::boundary::ask::{Ask, chat_file};
use crate::boundary::diagnostics;
use crate::cleanup::place;

/// What is asked about a request that saves a chat, and what else to fork it.
const SAVE: [&str; 3] = ["path", "open", "lost"];
const FORK: [&str; 13] = [
    "newIntegrity",
    "kind",
    "title",
    "books",
    "selected",
    "underWay",
    "hasMemoryBooks",
    "pageBook",
    "lore",
    "now",
    "settings",
    "decision",
    "choice",
];

/// What is asked about a message that may not be final, and what else to check it.
const UNFINISHED: [&str; 5] = ["message", "last", "isWriting", "edited", "opens"];
const CHECK: [&str; 8] =
    ["parent", "group", "isOpen", "bookName", "underWay", "settings", "whenReady", "lore"];

/// Whether a request saves the open chat, as far as its start tells.
#[wasm_bindgen]
pub fn saves_open(ask: &[u8], start: &[u8]) -> Result<bool, JsError> {
    let ask = Ask::read(ask, &SAVE)?;
    let kind = ask.save_kind()?;
    let name = save_request::name_at_start(start, kind);
    Ok(ask.open()?.zip(name).is_some_and(|(open, name)| open.is_saved_as(&name, kind)))
}

/// What a request saves: the open chat, a child of it that needs a book, or another chat.
#[wasm_bindgen]
pub fn read_save(ask: &[u8], body: &[u8]) -> Result<Answer, JsError> {
    let ask = Ask::read(ask, &SAVE)?;
    let mut answer = Object::new();
    let request = match SaveRequest::read(body, ask.save_kind()?) {
        Err(NotASave::NoChat) => return Ok(Answer::of(&Json::object([("kind", "other".into())]))),
        request => request.map_err(error)?,
    };
    let (name, open) = (request.name(), ask.open()?);
    answer.insert("name", name.as_str());
    answer.insert("group", request.is_group());
    answer.insert("avatar", request.avatar());
    answer.insert("messages", request.messages());
    let is_open = open.as_ref().is_some_and(|open| open.is_saved_as(&name, request.kind()));
    let lost = ask.optional_text("lost")?;
    let child = open.filter(|_| !is_open).and_then(|open| ChildSave::of(request, &open, lost));
    answer.insert(
        "kind",
        match &child {
            None if is_open => "open",
            None => "other",
            Some(child) if child.is_conversion => "conversion",
            Some(_) => "child",
        },
    );
    if let Some(child) = child {
        answer.insert("stem", names::stem(&name, NamedFile::Chat));
        answer.insert("parent", child.parent);
        answer.insert("isOfOpen", child.is_of_open);
        answer.insert("integrity", child.integrity);
        answer.insert("book", child.book);
        answer.insert("memoryBooks", child.memory_books);
    }
    Ok(Answer::of(&answer.into()))
}

/// Books that the page has looked for by name.
#[wasm_bindgen]
#[derive(Default)]
pub struct NamedBooks(Vec<NamedBook>);

#[wasm_bindgen]
impl NamedBooks {
    #[wasm_bindgen(constructor)]
    pub fn new() -> Self {
        Self::default()
    }

    pub fn add(&mut self, name: &[u8], bytes: Option<Vec<u8>>) {
        self.0.push(NamedBook { name: String::from_utf8_lossy(name).into_owned(), bytes });
    }
}

/// Rewrites the request with which the page saves a child, so that the child gets its own book.
///
/// `later` is an array of the parent's messages after the child's last one. `memories` are the
/// other books that Memory Books names, `shared` the character's book that the child may get a
/// copy of.
#[wasm_bindgen]
pub fn fork(
    ask: &[u8],
    body: &[u8],
    later: &[u8],
    book: Option<Vec<u8>>,
    memories: NamedBooks,
    shared: Option<Vec<u8>>,
) -> Result<Answer, JsError> {
    let ask = Ask::read(ask, &[&SAVE[..], &FORK].concat())?;
    let child = child_save(&ask, body)?;
    let (settings, decision) = (ask.settings()?, ask.decision()?);
    let selected = ask.list("selected")?.iter();
    let selected = selected.map(|reference| Ok(Remark::AlsoSelected(place(reference)?)));
    let character_book = lore(&ask)?.map(|(name, always)| {
        let is_own = decision.character_lore(always) == CharacterLore::Own;
        CharacterBook { name, bytes: if is_own { shared } else { None } }
    });
    let context = SaveContext {
        character_book,
        kind: ask.fork_kind()?,
        books: ask.names("books")?,
        book: book.as_deref(),
        memories: memories.0,
        page_book: ask.optional_text("pageBook")?,
        has_memory_books: ask.flag("hasMemoryBooks")?,
        title: ask.optional_text("title")?,
        integrity: ask.text("newIntegrity")?,
        now: ask.now()?,
        policy: decision.policy(settings, ask.optional_number("underWay")?),
        remarks: selected.collect::<Result<_, JsError>>()?,
    };
    match child.plan(later, context).map_err(error)? {
        Ok(plan) => Ok(Answer::of(&plan_json(&plan.fork))
            .with_body(plan.body)
            .with_memories(plan.fork.memories.into_iter().map(|book| book.bytes).collect())
            .with_book(plan.fork.book.map(|book| book.bytes))),
        Err(refusal) => {
            let step = decision.at_save(&refusal.obstacles, settings);
            Ok(Answer::of(&refusal_json(&refusal, step, settings)))
        }
    }
}

/// The character's book that a fork shares if it has no other lore, and what is always wanted for
/// it.
fn lore(ask: &Ask<'_>) -> Result<Option<(String, Option<CharacterLore>)>, JsError> {
    let Some(lore) = ask.optional("lore")? else { return Ok(None) };
    let lore = Ask::of(lore, &["book", "always"])?;
    let always = lore.optional("always")?.map(|_| lore.word("always", CharacterLore::of));
    Ok(Some((lore.text("book")?, always.transpose()?)))
}

/// The request that saves a child bound to no book, for the case that its fork fails.
#[wasm_bindgen]
pub fn save_without_book(ask: &[u8], body: &[u8]) -> Result<Vec<u8>, JsError> {
    let ask = Ask::read(ask, &[&SAVE[..], &["newIntegrity", "kind", "now"]].concat())?;
    let (integrity, kind, now) = (ask.text("newIntegrity")?, ask.fork_kind()?, ask.now()?);
    Ok(child_save(&ask, body)?.without_book(&integrity, kind, &now))
}

fn child_save<'a>(ask: &Ask<'_>, body: &'a [u8]) -> Result<ChildSave<'a>, JsError> {
    let request = SaveRequest::read(body, ask.save_kind()?).map_err(error)?;
    let (open, lost) = (ask.open()?, ask.optional_text("lost")?);
    let child = open.and_then(|open| ChildSave::of(request, &open, lost));
    child.ok_or_else(|| error(CannotPlanSave::NotAChild))
}

fn error(error: impl std::error::Error) -> JsError {
    JsError::new(&error.to_string())
}

fn plan_json(plan: &ForkPlan<'_>) -> Json {
    let mut report = Object::new();
    report.insert("made", true);
    report.insert("kind", plan.kind.word());
    report.insert("parent", plan.parent.as_str());
    report.insert("child", plan.child.as_str());
    report.insert("message", plan.message);
    let book = plan.book.as_ref().map(|book| {
        Json::object([("name", book.name.as_str().into()), ("entries", book.entries.into())])
    });
    report.insert("book", book);
    let part = plan.seal.book.as_ref().map(|sealed| sealed.part).or(plan.seal.no_book);
    let part = part.map(|part| part.to_json_at(plan.message));
    let memories = plan.memories.iter().map(|book| book.name.as_str());
    report.insert("memories", memories.collect::<Vec<_>>());
    report.insert("unread", plan.unread.iter().map(String::as_str).collect::<Vec<_>>());
    report.insert("part", part);
    report.insert("metadata", plan.seal.metadata.to_json_at(plan.message));
    let recap = plan.seal.running_recap.as_ref().map(|recap| {
        Json::object([("version", recap.version.into()), ("scenes", recap.scenes.into())])
    });
    report.insert("recap", recap);
    report.insert("combined", plan.seal.combined_recap.as_ref().map(|recap| recap.messages));
    report.insert("remarks", diagnostics::list(&plan.remarks, diagnostics::to_json));
    report.into()
}

fn refusal_json(refusal: &Refusal, step: Step, settings: ForkSettings) -> Json {
    let exactness = decision::exactness_in_question(&refusal.obstacles);
    let part = Knowledge { exactness, ..Knowledge::LIVE };
    let mut answer = step_json(Some(step));
    write_question(&refusal.obstacles, &[], Some(exactness), settings, &mut answer);
    answer.insert("made", false);
    answer.insert("obstacles", diagnostics::list(&refusal.obstacles, diagnostics::to_json));
    answer.insert("remarks", diagnostics::list(&refusal.remarks, diagnostics::to_json));
    answer.insert("part", part.to_json());
    answer.into()
}

/// What the question is about that the user may be asked, and the answers to offer.
fn write_question(
    obstacles: &[Obstacle],
    unfinished: &[Unfinished],
    known: Option<Exactness>,
    settings: ForkSettings,
    answer: &mut Object,
) {
    let offers = Offer::all(obstacles, unfinished, known, settings);
    answer.insert("topic", Topic::of(obstacles, unfinished).word());
    answer.insert("choices", offers.into_iter().map(Offer::word).collect::<Vec<_>>());
}

/// What to do next, and the decision to pass when the fork goes on.
fn step_json(step: Option<Step>) -> Object {
    let (word, decision) = match step {
        Some(Step::Go(decision)) => ("go", decision),
        Some(Step::Wait(decision)) => ("wait", decision),
        Some(Step::Ask(decision)) => ("ask", decision),
        Some(Step::GiveUp) | None => ("stop", Decision::default()),
    };
    let mut json = Object::new();
    json.insert("step", word);
    json.insert("decision", decision.words());
    json
}

/// What follows from the user's answer to a question before a fork.
#[wasm_bindgen]
pub fn fork_choice(choice: &str) -> Answer {
    Answer::of(&step_json(Choice::of(choice).before_fork()).into())
}

/// What is not final yet about a message.
#[wasm_bindgen]
pub fn unfinished(ask: &[u8]) -> Result<Answer, JsError> {
    let found = unfinished_of(&Ask::read(ask, &UNFINISHED)?)?;
    Ok(Answer::of(&diagnostics::list(&found, diagnostics::to_json)))
}

fn unfinished_of(ask: &Ask<'_>) -> Result<Vec<Unfinished>, JsError> {
    let (message, last) = (ask.number("message")?, ask.number("last")?);
    let (is_writing, edited) = (ask.flag("isWriting")?, ask.optional_number("edited")?);
    Ok(Unfinished::of(message, last, is_writing, edited, ask.flag("opens")?))
}

/// Checks whether the chat can be forked at this message, and how exact the fork would be.
#[wasm_bindgen]
pub fn check(ask: &[u8], chat: &[u8], book: Option<Vec<u8>>) -> Result<Answer, JsError> {
    let ask = Ask::read(ask, &[&UNFINISHED[..], &CHECK].concat())?;
    let file = chat_file(chat)?;
    let chat = Chat::read(&file, ask.chat_kind()?);
    let bound = ask.bound(book.as_deref())?;
    let name = ask.text("parent")?;
    let parent = BoundChat { name: &name, chat: &chat, bound: &bound, past: None };
    let settings = ask.settings()?;
    let policy = Decision::default().policy(settings, ask.optional_number("underWay")?);
    let policy = Policy { today: ask.today()?, ..policy };
    let found = fork::check(parent, ask.number("message")?, policy);
    let unfinished = unfinished_of(&ask)?;
    let when_ready = ask.flag("whenReady")?;
    let step = decision::before_fork(&found.obstacles, &unfinished, settings, when_ready);
    let mut answer = step_json(Some(step));
    let asks_for_lore = lore(&ask)?.is_some_and(|(_, always)| always.is_none());
    answer.insert("asksForLore", asks_for_lore && found.has_no_lore());
    write_readiness(&found, &unfinished, settings, &mut answer);
    Ok(Answer::of(&answer.into()))
}

fn write_readiness(
    readiness: &Readiness<'_>,
    unfinished: &[Unfinished],
    settings: ForkSettings,
    answer: &mut Object,
) {
    let obstacles = unfinished.iter().map(diagnostics::to_json);
    let obstacles = obstacles.chain(readiness.obstacles.iter().map(diagnostics::to_json));
    let moment = readiness.moment.as_ref();
    let book = moment.and_then(|moment| match &moment.book {
        BookThen::Known { part, .. } | BookThen::None(part) => Some(*part),
        BookThen::Unknown => None,
    });
    let metadata = moment.map(|moment| moment.metadata.claim());
    let asked = moment.map(|moment| moment.metadata.part);
    let part = if decision::is_about_metadata(&readiness.obstacles) { asked } else { book };
    let known = part.map(|part| part.exactness);
    write_question(&readiness.obstacles, unfinished, known, settings, answer);
    let json = |part: Option<Knowledge>| {
        part.zip(moment).map(|(part, moment)| part.to_json_at(moment.message))
    };
    answer.insert("part", json(part));
    answer.insert("obstacles", obstacles.collect::<Vec<_>>());
    answer.insert("remarks", diagnostics::list(&readiness.remarks, diagnostics::to_json));
    answer.insert("book", json(book));
    answer.insert("metadata", json(metadata));
    answer.insert("busy", readiness.work.is_pending());
    answer.insert("operations", readiness.work.operations());
}

/// The work that ST-Auto-Recap has not finished, according to a chat's metadata, its book's queue
/// and the extension itself.
#[wasm_bindgen]
pub fn pending_work(ask: &[u8], book: &[u8]) -> Result<Answer, JsError> {
    let ask = Ask::read(ask, &["metadata", "underWay"])?;
    let book = Book::read(book).ok();
    let metadata = ask.member("metadata")?;
    let work = ask.optional_number("underWay")?.map_or_else(PendingWork::default, |under_way| {
        fork::pending_work(metadata, book.as_ref(), under_way)
    });
    Ok(Answer::of(&Json::object([
        ("busy", work.is_pending().into()),
        ("paused", work.is_paused.into()),
        ("operations", work.operations().into()),
    ])))
}
