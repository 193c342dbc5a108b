//! Laws of the guard: pages that edit one book, with their requests in any order.
//!
//! `FORKLORE_PAGES` sets the number of stories. A failure names its seed (see
//! `forklore_testkit::cases`).

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use fastrand::Rng;
use forklore_core::guard::{Action, CopyId, Event, Guard, JobId};
use forklore_core::plan::merge::{Conflict, Pick, Settlement};
use forklore_json::{Json, Object};
use forklore_testkit::cases;

const BOOK: &str = "Lore";
/// More events than any story needs.
const ENOUGH: usize = 20_000;

fn stories() -> usize {
    cases::count_from("FORKLORE_PAGES", 1_000)
}

/// A page: a cache, an editor with its own copy, and saves that wait for each other.
struct Page {
    guard: Guard,
    copies: BTreeMap<CopyId, Json>,
    last_copy: CopyId,
    cache: Option<CopyId>,
    editor: CopyId,
    jobs: VecDeque<Job>,
    rechecks: Vec<JobId>,
}

struct Job {
    id: JobId,
    text: Vec<u8>,
    written: Vec<u8>,
    step: Step,
}

/// What a job waits for.
enum Step {
    Turn,
    Read,
    Write(Vec<u8>),
    Event(Event),
}

struct World {
    server: Vec<u8>,
    pages: Vec<Page>,
    /// The page that holds the lock, if pages have one in common.
    lock: Option<usize>,
    has_locks: bool,
    /// Whether pages edit only entries of their own.
    is_apart: bool,
    trash: Vec<Vec<u8>>,
    questions: usize,
    /// The content of each entry by its tag; `None` if a page has deleted it.
    expected: BTreeMap<String, Option<String>>,
    tags: usize,
}

fn entry(uid: usize, tag: &str, title: &str, content: &str) -> Json {
    Json::object([
        ("uid", uid.into()),
        ("key", Json::Array(Vec::new())),
        ("comment", title.into()),
        ("content", content.into()),
        ("tag", tag.into()),
    ])
}

fn entries(book: &Json) -> &Object {
    book.get("entries").and_then(Json::as_object).expect("a book has entries")
}

fn text_of(value: &Json, field: &str) -> String {
    value.get(field).and_then(Json::as_str).unwrap_or_default().into_owned()
}

/// Contents by tag.
fn contents(text: &[u8]) -> BTreeMap<String, String> {
    let book = Json::parse(text).expect("it is JSON");
    let all = entries(&book).iter();
    all.map(|(_, entry)| (text_of(entry, "tag"), text_of(entry, "content"))).collect()
}

impl World {
    fn new(rng: &mut Rng, has_locks: bool, is_apart: bool) -> Self {
        let count = rng.usize(0..6);
        let tags: Vec<String> = (0..count).map(|at| format!("start{at}")).collect();
        let all = tags.iter().enumerate();
        let lore: Object =
            all.map(|(uid, tag)| (uid.to_string(), entry(uid, tag, tag, "as it was"))).collect();
        let mut book = Object::new();
        book.insert("entries", lore);
        if rng.bool() {
            let form =
                |uid: usize| Json::object([("uid", uid.into()), ("content", "as it was".into())]);
            let forms: Vec<Json> = (0..count).map(form).collect();
            book.insert("originalData", Json::object([("entries", forms.into())]));
        }
        let server = Json::from(book).stringify();
        let expected = tags.into_iter().map(|tag| (tag, Some("as it was".to_owned()))).collect();
        let page = || Page {
            guard: Guard::default(),
            copies: BTreeMap::new(),
            last_copy: 0,
            cache: None,
            editor: 0,
            jobs: VecDeque::new(),
            rechecks: Vec::new(),
        };
        let mut world = Self {
            server,
            pages: (0..rng.usize(2..4)).map(|_| page()).collect(),
            lock: None,
            has_locks,
            is_apart,
            trash: Vec::new(),
            questions: 0,
            expected,
            tags: 0,
        };
        for page in &mut world.pages {
            page.editor = page.load(&world.server);
        }
        world
    }

    /// A page edits one of its copies and saves it.
    fn edit(&mut self, at: usize, rng: &mut Rng) {
        let pages = self.pages.len();
        let page = &mut self.pages[at];
        let copy = match rng.u8(0..4) {
            0 => page.load(&self.server),
            1 => {
                page.editor = page.load(&self.server);
                page.editor
            }
            _ => page.editor,
        };
        let book = page.copies.get_mut(&copy).expect("the page has it");
        let owner = |tag: &str| tag.bytes().last().map_or(0, |last| usize::from(last) % pages);
        let mine: Vec<String> = entries(book)
            .iter()
            .filter(|(_, entry)| !self.is_apart || owner(&text_of(entry, "tag")) == at)
            .map(|(key, _)| key.to_string_lossy().into_owned())
            .collect();
        let key = rng.choice(&mine).cloned();
        self.tags += 1;
        let written = format!("edit {} by page {at}", self.tags);
        match (rng.u8(0..8), key) {
            (0 | 1, Some(key)) => self.expected.extend([(delete(book, &key), None)]),
            (2..6, Some(key)) => {
                let tag = change(book, &key, &written);
                let expected = self.expected.entry(tag).or_default();
                *expected = expected.is_some().then_some(written);
            }
            _ => {
                let owned = (b'a'..=b'z').find(|last| usize::from(*last) % pages == at);
                let tag = format!("new{}{}", self.tags, char::from(owned.unwrap_or(b'a')));
                let title = if rng.bool() { tag.as_str() } else { "" };
                add(book, &tag, title, &written);
                self.expected.insert(tag, Some(written));
            }
        }
        page.save(copy);
        if copy != page.editor {
            // Like SillyTavern's own commands after a save.
            page.editor = page.load(&self.server);
        }
        page.collect_garbage();
    }

    /// The pages that can go on.
    fn ready(&self) -> Vec<usize> {
        let is_free = |at: usize| !self.has_locks || self.lock.is_none_or(|holder| holder == at);
        let can_go_on = |at: &usize| match self.pages[*at].jobs.front() {
            Some(Job { step: Step::Turn, .. }) => is_free(*at),
            Some(_) => true,
            None => false,
        };
        (0..self.pages.len()).filter(can_go_on).collect()
    }

    fn step(&mut self, at: usize, rng: &mut Rng) {
        let page = &mut self.pages[at];
        let Some(job) = page.jobs.front_mut() else { return };
        match std::mem::replace(&mut job.step, Step::Turn) {
            Step::Turn => {
                self.lock = self.has_locks.then_some(at);
                self.happens(at, Event::Turn, rng);
            }
            Step::Read => job.step = Step::Event(Event::Read(self.server.clone())),
            Step::Write(text) => {
                self.server.clone_from(&text);
                job.written = text;
                job.step = Step::Event(Event::Sent(true));
            }
            Step::Event(event) => self.happens(at, event, rng),
        }
    }

    fn happens(&mut self, at: usize, event: Event, rng: &mut Rng) {
        let page = &mut self.pages[at];
        let Some(job) = page.jobs.front_mut() else { return };
        let mut next = matches!(event, Event::Answered(_)).then_some(Step::Turn);
        for action in page.guard.next(job.id, event).expect("all books can be read") {
            next = match action {
                Action::Read => Some(Step::Read),
                Action::List => Some(Step::Event(Event::Listed(true))),
                Action::Keep(overwritten) => {
                    let texts = overwritten.versions.iter().map(|version| version.text.to_vec());
                    self.trash.extend(texts);
                    Some(Step::Event(Event::Kept))
                }
                Action::Ask(conflicts) => {
                    self.questions += 1;
                    self.lock = None;
                    let settled =
                        rng.bool().then(|| conflicts.iter().map(|it| answer(it, rng)).collect());
                    Some(Step::Event(Event::Answered(settled)))
                }
                Action::Send(text) => {
                    Some(Step::Write(text.map_or_else(|| job.text.clone(), |it| it.to_vec())))
                }
                Action::Write(text) => Some(Step::Write(text.to_vec())),
                Action::Report => {
                    page.guard.take_news();
                    None
                }
                Action::Recheck(id) => {
                    page.rechecks.push(id);
                    None
                }
                Action::UpdatePage { .. } => {
                    let is_unedited =
                        page.cache.is_some_and(|it| page.copies[&it].stringify() == job.text);
                    if is_unedited {
                        page.last_copy += 1;
                        let book = Json::parse(&job.written).expect("it is JSON");
                        page.copies.insert(page.last_copy, book);
                        page.guard.replaced(BOOK, page.last_copy, &job.written);
                        page.cache = Some(page.last_copy);
                    }
                    None
                }
            };
        }
        match next {
            Some(step) => job.step = step,
            None => {
                page.jobs.pop_front();
                self.lock = self.lock.filter(|holder| *holder != at);
            }
        }
    }

    /// Lets everything come to its end, in any order.
    fn settle(&mut self, rng: &mut Rng) {
        for _ in 0..ENOUGH {
            // A page looks again long after the others' requests have arrived.
            let is_quiet = self.pages.iter().all(|page| page.jobs.is_empty());
            let waiting: Vec<usize> = (0..self.pages.len())
                .filter(|at| is_quiet && !self.pages[*at].rechecks.is_empty())
                .collect();
            if let Some(at) = rng.choice(waiting) {
                let page = &mut self.pages[at];
                let id = page.rechecks.remove(0);
                page.jobs.push_back(Job::new(id, Vec::new()));
            }
            match rng.choice(self.ready()) {
                Some(at) => self.step(at, rng),
                None => return,
            }
        }
        panic!("it does not end");
    }

    fn check_numbers(&self) {
        let book = Json::parse(&self.server).expect("it is JSON");
        for (key, entry) in entries(&book).iter() {
            let uid = entry.get("uid").and_then(Json::as_usize).map(|uid| uid.to_string());
            assert_eq!(uid.as_deref(), Some(&*key.to_string_lossy()));
        }
    }

    /// The card's form of an entry is that of the entry.
    fn check_forms(&self) {
        let book = Json::parse(&self.server).expect("it is JSON");
        let forms = book.at(&["originalData", "entries"]).and_then(Json::as_array);
        for form in forms.unwrap_or_default() {
            let uid = form.get("uid").and_then(Json::as_usize).expect("it has a number");
            let entry = entries(&book).get(&uid.to_string()).expect("its entry is there");
            assert_eq!(text_of(form, "content"), text_of(entry, "content"));
        }
    }

    /// Every page saves what it shows, without an edit. That changes nothing.
    fn check_agreement(&mut self, rng: &mut Rng) {
        for at in 0..self.pages.len() {
            let before = contents(&self.server);
            let page = &mut self.pages[at];
            page.save(page.editor);
            self.settle(rng);
            assert_eq!(contents(&self.server), before, "an old copy changes nothing");
            let page = &self.pages[at];
            let cached = page.cache.map(|it| page.copies[&it].stringify()).unwrap_or_default();
            assert_eq!(contents(&cached), before, "the page has what the server has");
        }
    }
}

impl Job {
    fn new(id: JobId, text: Vec<u8>) -> Self {
        Self { id, written: text.clone(), text, step: Step::Turn }
    }
}

impl Page {
    /// Like SillyTavern's `loadWorldInfo`: the first caller gets the cache's own copy.
    fn load(&mut self, server: &[u8]) -> CopyId {
        self.last_copy += 1;
        let copy = self.last_copy;
        if let Some(cache) = self.cache {
            let book = self.copies[&cache].clone();
            let text = self.guard.may_be_edited(cache).then(|| book.stringify());
            self.guard.copied(cache, copy, text.as_deref());
            self.copies.insert(copy, book);
        } else {
            self.guard.remember(BOOK, server);
            self.guard.cached(BOOK, copy, None);
            self.copies.insert(copy, Json::parse(server).expect("it is JSON"));
            self.cache = Some(copy);
        }
        copy
    }

    /// Like SillyTavern's `saveWorldInfo`.
    fn save(&mut self, copy: CopyId) {
        let text = self.copies[&copy].stringify();
        let read_twice = self.guard.was_read_twice(BOOK);
        self.guard.cached(BOOK, copy, read_twice.then_some(&text));
        self.cache = Some(copy);
        let id = self.guard.begin(BOOK, Some(copy), &text);
        self.jobs.push_back(Job::new(id, text));
    }

    fn collect_garbage(&mut self) {
        let used = [Some(self.editor), self.cache];
        let unused: Vec<CopyId> =
            self.copies.keys().copied().filter(|copy| !used.contains(&Some(*copy))).collect();
        for copy in unused {
            self.copies.remove(&copy);
            self.guard.release(copy);
        }
    }
}

fn lore_of(book: &mut Json) -> &mut Object {
    let lore = book.as_object_mut().and_then(|book| book.get_mut("entries"));
    lore.and_then(Json::as_object_mut).expect("a book has entries")
}

/// SillyTavern's editor writes to the card's form as well, if there is one.
fn with_forms(book: &mut Json, step: impl FnOnce(&mut Vec<Json>)) {
    let data = book.as_object_mut().and_then(|book| book.get_mut("originalData"));
    let forms = data.and_then(Json::as_object_mut).and_then(|data| data.get_mut("entries"));
    if let Some(Json::Array(forms)) = forms {
        step(forms);
    }
}

fn is_form_of(form: &Json, key: &str) -> bool {
    form.get("uid").and_then(Json::as_usize).map(|uid| uid.to_string()).as_deref() == Some(key)
}

fn delete(book: &mut Json, key: &str) -> String {
    let entry = lore_of(book).remove(key).expect("it is there");
    with_forms(book, |forms| forms.retain(|form| !is_form_of(form, key)));
    text_of(&entry, "tag")
}

fn change(book: &mut Json, key: &str, content: &str) -> String {
    let entry = lore_of(book).get_mut(key).and_then(Json::as_object_mut).expect("it is there");
    entry.insert("content", content);
    let tag = text_of(&Json::Object(entry.clone()), "tag");
    with_forms(book, |forms| {
        let form = forms.iter_mut().find(|form| is_form_of(form, key));
        if let Some(form) = form.and_then(Json::as_object_mut) {
            form.insert("content", content);
        }
    });
    tag
}

/// SillyTavern gives a new entry the lowest free number.
fn add(book: &mut Json, tag: &str, title: &str, content: &str) {
    let lore = lore_of(book);
    let uid = (0..).find(|uid: &usize| !lore.contains(&uid.to_string())).unwrap_or_default();
    lore.insert(uid.to_string(), entry(uid, tag, title, content));
}

fn answer(conflict: &Conflict, rng: &mut Rng) -> (forklore_json::JsText, Settlement) {
    let pick = if rng.bool() { Pick::Ours } else { Pick::Theirs };
    (conflict.key.clone().unwrap_or_default(), Settlement::Whole(pick))
}

/// Pages that share a lock never lose anything, however their requests mix.
#[test]
fn no_edit_is_lost_of_entries_that_only_one_page_edits() {
    cases::run("apart", stories(), |rng| {
        let mut world = World::new(rng, true, true);
        for _ in 0..rng.usize(4..24) {
            let at = rng.usize(0..world.pages.len());
            world.edit(at, rng);
            for _ in 0..rng.usize(0..8) {
                if let Some(at) = rng.choice(world.ready()) {
                    world.step(at, rng);
                }
            }
            if rng.u8(0..3) == 0 {
                world.settle(rng);
            }
        }
        world.settle(rng);
        let expected: BTreeMap<String, String> = world
            .expected
            .iter()
            .filter_map(|(tag, it)| Some((tag.clone(), it.clone()?)))
            .collect();
        assert_eq!(contents(&world.server), expected);
        assert_eq!(world.questions, 0, "there was nothing to ask");
        world.check_numbers();
        world.check_forms();
        world.check_agreement(rng);
    });
}

/// Where pages edit the same entries, the user decides, and what loses is in the trash.
#[test]
fn an_entry_that_nobody_deleted_stays_and_every_last_edit_is_somewhere() {
    let asked = std::sync::atomic::AtomicUsize::new(0);
    cases::run("together", stories(), |rng| {
        let mut world = World::new(rng, true, false);
        for _ in 0..rng.usize(4..24) {
            let at = rng.usize(0..world.pages.len());
            world.edit(at, rng);
            for _ in 0..rng.usize(0..8) {
                if let Some(at) = rng.choice(world.ready()) {
                    world.step(at, rng);
                }
            }
        }
        world.settle(rng);
        let there = contents(&world.server);
        let kept: BTreeSet<String> =
            world.trash.iter().flat_map(|it| contents(it).into_keys()).collect();
        for (tag, content) in &world.expected {
            let is_lost = content.is_some() && !there.contains_key(tag) && !kept.contains(tag);
            assert!(!is_lost, "{tag} is nowhere");
        }
        world.check_numbers();
        asked.fetch_add(world.questions, std::sync::atomic::Ordering::Relaxed);
    });
    assert!(cases::seed().is_some() || asked.into_inner() > 10, "some stories have conflicts");
}

/// Devices share no lock. Saves at the same moment are put back by looking again.
#[test]
fn devices_that_save_at_the_same_moment_lose_nothing() {
    cases::run("devices", stories(), |rng| {
        let mut world = World::new(rng, false, true);
        for _ in 0..rng.usize(1..4) {
            for at in 0..world.pages.len() {
                if rng.bool() {
                    world.edit(at, rng);
                }
            }
            world.settle(rng);
        }
        let there = contents(&world.server);
        let kept: BTreeMap<String, String> =
            world.trash.iter().flat_map(|it| contents(it)).collect();
        for (tag, content) in &world.expected {
            let is_lost = content.is_some() && !there.contains_key(tag) && !kept.contains_key(tag);
            assert!(!is_lost, "{tag} is nowhere");
        }
        world.check_numbers();
    });
}
