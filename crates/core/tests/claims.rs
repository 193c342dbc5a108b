//! How exact the lore of a message is claimed to be, and what makes the claim weaker.
#![expect(clippy::unwrap_used, reason = "helpers of tests are tests too")]

use forklore_core::journal::{FIELD, Limits, Record, Writer};
use forklore_core::plan::fork::{ForkRequest, Policy, Timestamp, plan};
use forklore_core::sillytavern::chat::{Chat, ChatKind};
use forklore_core::sillytavern::names::ForkKind;
use forklore_core::timeline::claim::TodaySource;
use forklore_core::timeline::exactness::{Exactness, Source};
use forklore_core::timeline::moment::BoundChat;
use forklore_core::timeline::moment::{
    BookFile, BookThen, BoundBook, MomentOptions, RecordedPast, moment,
};
use forklore_json::{Json, Object};

/// A page that records a chat: each message with its record, and the current lore.
struct Page {
    writer: Writer,
    messages: Vec<Json>,
    lore: String,
    limits: Limits,
}

impl Page {
    fn new() -> Self {
        Self::within(Limits::default())
    }

    fn within(limits: Limits) -> Self {
        let mut writer = Writer::new(limits, "page");
        writer.open([None]);
        let mut page = Self { writer, messages: vec![message(0, None)], lore: "a".into(), limits };
        page.observe();
        page
    }

    fn set(&mut self, record: Option<Record>) {
        let earlier = self.messages.iter().rev().skip(1);
        let gap = earlier.take_while(|message| message.get(FIELD).is_none()).count();
        if let (Some(mut record), Some(Json::Object(last))) = (record, self.messages.last_mut()) {
            record.gap = gap as i64;
            last.insert(FIELD, record.to_json());
        }
    }

    fn observe(&mut self) {
        self.writer.observe_book(Some("Lore"), Some(book(&self.lore))).unwrap();
        self.writer.observe_metadata(&Json::Null);
        let record = self.writer.record();
        self.set(record);
    }

    /// The next message arrives. The book's file is checked and matches the page.
    fn next(&mut self) {
        self.observe();
        let record = self.writer.arrive().map(|mut record| {
            if let Some(arrival) = &mut record.arrival {
                arrival.file = Some(true);
            }
            self.writer.amend(&record);
            record
        });
        self.messages.push(message(self.messages.len(), None));
        self.set(record);
    }

    fn lore(&mut self, lore: &str) {
        lore.clone_into(&mut self.lore);
        self.observe();
    }

    /// The lore changes and messages arrive while the extension is off.
    fn change_while_off(&mut self, lore: &str, messages: usize) {
        lore.clone_into(&mut self.lore);
        for _ in 0..messages {
            self.messages.push(message(self.messages.len(), None));
        }
        let records = self.messages.iter().map(|message| Record::from_json(message.get(FIELD)?));
        let records: Vec<Option<Record>> = records.collect();
        self.writer = Writer::new(self.limits, "again");
        self.writer.open(records);
        self.observe();
    }

    fn file(&self) -> Vec<u8> {
        let mut lines = vec![br#"{"chat_metadata":{"world_info":"Lore"}}"#.to_vec()];
        lines.extend(self.messages.iter().map(Json::stringify));
        lines.join(&b'\n')
    }

    fn claim_at(&self, m: usize) -> String {
        claim_at(&self.file(), &self.lore, m, None)
    }
}

fn message(number: usize, scene: Option<&str>) -> Json {
    let mut message = Object::new();
    message.insert("mes", format!("message {number}"));
    if let Some(lore) = scene {
        let entry = format!(r#"{{"uid":0,"comment":"c","content":"{lore}"}}"#);
        let memory = format!(
            r#"{{"auto_recap_memory":{{"scene_break":true,"scene_recap_metadata":{{"1":{{"timestamp":1,"chatLorebookName":"Lore","allEntries":[{entry}]}}}}}}}}"#
        );
        message.insert("extra", Json::parse(memory.as_bytes()).unwrap());
    }
    message.into()
}

fn book(lore: &str) -> Vec<u8> {
    format!(r#"{{"entries":{{"0":{{"uid":0,"comment":"c","content":"{lore}"}}}}}}"#).into_bytes()
}

/// The claim about the book, and the lore.
fn claim_at(file: &[u8], today: &str, m: usize, past: Option<&RecordedPast>) -> String {
    let today = book(today);
    let chat = Chat::read(file, ChatKind::Solo);
    let bound = BoundBook::read(Some("Lore".into()), Some(&today));
    let found =
        moment(&chat, &bound, past, m, MomentOptions { settled: true, ..MomentOptions::default() });
    let BookThen::Known { part, content, .. } = &found.book else { return "nothing".into() };
    let value = forklore_core::plan::book_copy::book_value(content);
    let lore = value.at(&["entries", "0", "content"]).and_then(Json::as_str).unwrap().into_owned();
    let claim = match part.exactness {
        Exactness::Exact => "exact".to_owned(),
        Exactness::Snapshot(k) => format!("as of {k}"),
        Exactness::Settled(k) => format!("settled at {k}"),
        Exactness::Live => "live".to_owned(),
    };
    let source = if part.source == Source::Journal { "" } else { part.source.word() };
    format!("{claim} {lore} {source}").trim_end().to_owned()
}

/// Four messages. The lore became b, c and d while messages 1, 2 and 3 were the last.
fn story() -> Page {
    let mut page = Page::new();
    for lore in ["b", "c", "d"] {
        page.next();
        page.lore(lore);
    }
    page
}

#[test]
fn what_was_watched_is_exact() {
    let page = story();
    let claims: Vec<String> = (0..4).map(|m| page.claim_at(m)).collect();
    assert_eq!(claims, ["exact a", "exact b", "exact c", "exact d files"]);
}

#[test]
fn the_message_before_a_gap_is_as_it_was_last_seen() {
    for messages in [1, 2] {
        let mut page = Page::new();
        page.next();
        page.change_while_off("changed", messages);
        page.next();
        assert_eq!(page.claim_at(1), "as of 1 a");
        assert_eq!(page.claim_at(1 + messages), "exact changed");
    }
}

#[test]
fn a_torn_end_is_no_last_message() {
    let mut file = story().file();
    let cut = file.len() - 40;
    file.truncate(cut);
    assert_eq!(claim_at(&file, "d", 2, None), "as of 2 c");
    // If the file ends at the end of a line, as in a restored backup, the record itself shows it.
    let lines: Vec<&[u8]> = file.split(|byte| *byte == b'\n').take(4).collect();
    assert_eq!(claim_at(&lines.join(&b'\n'), "d", 2, None), "as of 2 c");
}

#[test]
fn a_line_that_cannot_be_read_proves_nothing_about_the_message_before_it() {
    let file = String::from_utf8(story().file()).unwrap();
    let mut lines: Vec<&str> = file.lines().collect();
    lines.insert(3, "{\"mes\":");
    assert_eq!(claim_at(lines.join("\n").as_bytes(), "d", 1, None), "as of 1 b");
    assert_eq!(claim_at(lines.join("\n").as_bytes(), "d", 0, None), "exact a");
}

#[test]
fn records_that_were_moved_or_copied_claim_nothing() {
    let mut page = story();
    page.messages.swap(0, 1);
    assert_eq!([page.claim_at(0), page.claim_at(1)], ["live d files", "live d files"]);
    assert_eq!(page.claim_at(3), "exact d files");
    let mut page = story();
    let copy = page.messages[2].get(FIELD).unwrap().clone();
    page.messages[1].as_object_mut().unwrap().insert(FIELD, copy);
    assert_eq!(page.claim_at(1), "as of 0 a");
    assert_eq!(page.claim_at(0), "as of 0 a");
}

#[test]
fn a_message_deleted_while_nobody_looked_costs_one_claim() {
    let mut page = story();
    page.messages.remove(1);
    assert_eq!(page.claim_at(0), "as of 0 a");
    assert_eq!(page.claim_at(2), "exact d files");
}

#[test]
fn a_book_that_nobody_looked_at_afterwards_is_not_exact() {
    for file in [None, Some(false)] {
        let mut page = story();
        let field = page.messages[2].as_object_mut().unwrap().get_mut(FIELD).unwrap();
        let arrival =
            field.as_object_mut().unwrap().get_mut("came").unwrap().as_object_mut().unwrap();
        arrival.remove("file");
        if let Some(file) = file {
            arrival.insert("file", file);
        }
        assert_eq!(page.claim_at(1), "as of 1 b");
    }
}

#[test]
fn a_book_too_large_to_keep_is_exact_where_some_version_has_its_digest() {
    let mut page = Page::within(Limits { largest_book: 10 });
    page.next();
    page.next();
    assert_eq!(page.claim_at(0), "exact a unchanged");
    page.lore("b");
    assert_eq!(page.claim_at(0), "live b files");
    let past = |lore: &str| {
        let testified = Some(BookFile { name: "Lore".to_owned(), bytes: book(lore) });
        claim_at(&page.file(), "b", 0, Some(&RecordedPast { testified, ..RecordedPast::default() }))
    };
    assert_eq!(past("a"), "exact a history");
    assert_eq!(past("other"), "live b files");
}

#[test]
fn a_scene_break_gives_what_its_recap_left_under_its_own_claim() {
    let mut page = Page::new();
    let record = page.messages[0].get(FIELD).unwrap().clone();
    page.messages[0] = message(0, Some("recapped"));
    page.messages[0].as_object_mut().unwrap().insert(FIELD, record);
    page.next();
    page.next();
    page.lore("recapped");
    page.next();
    assert_eq!(page.claim_at(0), "settled at 2 recapped");
    assert_eq!(page.claim_at(1), "exact a");
}

#[test]
fn a_fresh_child_agrees_with_its_seal() {
    let page = story();
    let (file, today) = (page.file(), book(&page.lore));
    let chat = Chat::read(&file, ChatKind::Solo);
    let bound = BoundBook::read(Some("Lore".into()), Some(&today));
    let request = ForkRequest {
        kind: ForkKind::Branch,
        message: 2,
        child: "Child".into(),
        book: "Child - Lore".into(),
        title: None,
        integrity: "slug".into(),
        now: Timestamp { iso: String::new() },
        policy: Policy::default(),
        memory_books: forklore_core::memory_books::MemoryBooksState::default(),
        character_book: None,
        remarks: Vec::new(),
    };
    let made =
        plan(BoundChat { name: "P", chat: &chat, bound: &bound, past: None }, &request).unwrap();
    let (child, lore) = (made.file.to_vec(), made.book.unwrap().bytes);
    let chat = Chat::read(&child, ChatKind::Solo);
    let bound = BoundBook::read(Some("Child - Lore".into()), Some(&lore));
    let found = moment(&chat, &bound, None, 2, MomentOptions::default());
    let BookThen::Known { part, .. } = found.book else { panic!("it has a book") };
    assert_eq!((part.exactness, part.source), (Exactness::Exact, Source::Files));
    assert_eq!(found.metadata.part.exactness, Exactness::Exact);
}

#[test]
fn in_a_page_the_last_message_is_what_the_page_holds() {
    let page = story();
    let (file, today) = (page.file(), book("not recorded yet"));
    let chat = Chat::read(&file, ChatKind::Solo);
    let bound = BoundBook::read(Some("Lore".into()), Some(&today));
    let exactness = |today| {
        let found =
            moment(&chat, &bound, None, 3, MomentOptions { today, ..MomentOptions::default() });
        let BookThen::Known { part, .. } = found.book else { panic!("it has a book") };
        part.exactness
    };
    assert_eq!(exactness(TodaySource::Page), Exactness::Exact);
    assert_eq!(exactness(TodaySource::Files), Exactness::Snapshot(3));
}

#[test]
fn records_of_format_1_are_as_of_their_message() {
    let file = br#"{"chat_metadata":{}}
{"mes":"0","forklore":{"v":1,"id":"9f5365b124bc5da8","whole":{"book":null,"metadata":{}}}}
{"mes":"1","forklore":{"v":1,"id":"9f5365b124bc5da8"}}
{"mes":"2"}"#;
    let chat = Chat::read(file, ChatKind::Solo);
    let found = moment(&chat, &BoundBook::None, None, 1, MomentOptions::default());
    let BookThen::None(part) = found.book else { panic!("it had none") };
    assert_eq!(part.exactness, Exactness::Snapshot(1));
}
