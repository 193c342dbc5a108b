//! Stories that could mislead a history, and what it may say about them.

use std::time::{Duration, SystemTime};

use forklore_core::sillytavern::chat::{Chat, ChatKind};
use forklore_core::timeline::moment::RecordedPast;
use forklore_history::file::FileName;
use forklore_history::query::past::past;
use forklore_history::record::recorder::Observed;
use forklore_history::record::scan::{SeenFiles, scan};
use forklore_history::version::history::History;
use forklore_json::Json;
use forklore_tavern::disk::RealDisk;
use forklore_tavern::disk::clock::Clock;
use forklore_tavern::folder::layout::UserFolders;
use tempfile::TempDir;

use crate::clock::MovedClock;

const CHAT: &str = "chats/Ada/Main.jsonl";
const BOOK: &str = "worlds/Lore.json";

struct Stage {
    _folder: TempDir,
    history: History<'static>,
    messages: Vec<String>,
    hp: i64,
    clock: &'static MovedClock,
}

/// A message by its number, which is also its date, later than every save.
fn message(number: usize, text: &str) -> String {
    let date = format!("2030-01-01T{:02}:{:02}:00Z", number / 60, number % 60);
    format!(r#"{{"name":"Ada","mes":"{text}","send_date":"{date}"}}"#)
}

/// A message as SillyTavern dates it.
fn sent(when: SystemTime, text: &str) -> String {
    let date = jiff::Timestamp::try_from(when).unwrap();
    format!(r#"{{"name":"Ada","mes":"{text}","send_date":"{date}"}}"#)
}

impl Stage {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let repository = folder.path().join("u.git");
        let clock = MovedClock::new();
        let history = History::open(&RealDisk, clock, repository, "pc").unwrap();
        Self { _folder: folder, history, messages: Vec::new(), hp: 1, clock }
    }

    fn tick(&self) -> SystemTime {
        self.clock.tick()
    }

    fn record(&mut self, name: &str, bytes: &[u8], when: SystemTime, seen: Observed) {
        let mut recorder = self.history.record().unwrap();
        recorder.file(&FileName::of_text(name), bytes, when, seen, &|_| true).unwrap();
        recorder.persist().unwrap();
    }

    fn content(&self) -> Vec<u8> {
        let metadata = format!(r#"{{"world_info":"Lore","variables":{{"hp":{}}}}}"#, self.hp);
        let header = format!(r#"{{"user_name":"u","chat_metadata":{metadata}}}"#);
        [vec![header], self.messages.clone()].concat().join("\n").into_bytes()
    }

    fn save(&mut self) {
        let (bytes, when) = (self.content(), self.tick());
        self.record(CHAT, &bytes, when, Observed::AsItHappened);
    }

    /// Records a file some time after it was written.
    fn find(&mut self, name: &str, bytes: &[u8]) {
        let when = self.tick();
        self.tick();
        self.record(name, bytes, when, Observed::Later);
    }

    fn delete(&mut self) {
        let mut recorder = self.history.record().unwrap();
        recorder.deleted(&FileName::of_text(CHAT)).unwrap();
        recorder.persist().unwrap();
    }

    fn lore(&mut self, text: &str) {
        let (bytes, when) = (book(text), self.tick());
        self.record(BOOK, &bytes, when, Observed::AsItHappened);
    }

    fn say(&mut self, number: usize, text: &str) {
        self.messages.push(message(number, text));
        self.save();
    }

    /// What is known about the lorebook: at which message, and its content.
    fn book(&self, m: usize) -> Option<(usize, String)> {
        let book = self.past(m)?.book?;
        let content = book.value.map(|file| {
            let book = Json::parse(&file.bytes).unwrap();
            let content = book.at(&["entries", "0", "content"]).and_then(Json::as_str);
            content.unwrap().into_owned()
        });
        Some((book.message, content.unwrap_or_default()))
    }

    /// The same for the variable.
    fn hp(&self, m: usize) -> Option<(usize, i64)> {
        let metadata = self.past(m)?.metadata?;
        let hp = metadata.value.at(&["variables", "hp"]).and_then(Json::as_i64);
        Some((metadata.message, hp.unwrap()))
    }

    fn past(&self, m: usize) -> Option<RecordedPast> {
        let bytes = self.content();
        let chat = Chat::read(&bytes, ChatKind::Solo);
        past(&self.history, &FileName::of_text(CHAT), &chat, m).unwrap()
    }

    fn knows(&self, m: usize, message: usize, book: &str) {
        assert_eq!(self.book(m), Some((message, book.to_owned())), "asked for {m}");
    }
}

fn book(text: &str) -> Vec<u8> {
    format!(
        "{{\n    \"entries\": {{\n        \"0\": {{\n            \"uid\": 0,\n            \
         \"content\": \"{text}\"\n        }}\n    }}\n}}"
    )
    .into_bytes()
}

/// A story in which the lore is edited after every message.
fn edited_after_each(messages: usize, text: impl Fn(usize) -> String) -> Stage {
    let mut stage = Stage::new();
    stage.lore("lore before");
    for number in 0..messages {
        stage.say(number, &text(number));
        stage.lore(&format!("lore after {number}"));
        stage.save_variable(number);
    }
    stage
}

impl Stage {
    /// Saves the chat again, so that it was saved with the lore of its last message.
    fn save_variable(&mut self, number: usize) {
        self.hp = 100 + number as i64;
        self.save();
    }
}

#[test]
fn after_a_deletion_in_the_middle_a_message_is_followed_to_its_old_place() {
    let continued = |number: usize| match number % 2 {
        1 => "Continue.".to_owned(),
        _ => format!("message {number}"),
    };
    let mut stage = edited_after_each(12, continued);
    stage.messages.drain(1..3);
    stage.save();
    for now in 1..9 {
        let was = now + 2;
        stage.knows(now, now, &format!("lore after {was}"));
        assert_eq!(stage.hp(now), Some((now, 100 + was as i64)));
    }
    stage.knows(0, 0, "lore after 0");
}

#[test]
fn texts_and_minutes_that_repeat_are_not_taken_for_each_other() {
    let mut stage = Stage::new();
    let minute = |text: &str| {
        format!(r#"{{"name":"You","mes":"{text}","send_date":"November 15, 2026 10:48pm"}}"#)
    };
    stage.save();
    for (lore, text) in [("a", "Hello"), ("b", "Continue."), ("c", "Once"), ("d", "Continue.")] {
        stage.lore(lore);
        stage.messages.push(minute(text));
        stage.save();
    }
    stage.lore("e");
    stage.messages.push(minute("The end"));
    stage.save();
    stage.knows(1, 1, "b");
    // The remaining message is the second of the two identical ones.
    stage.messages.drain(1..3);
    stage.save();
    assert!(stage.book(1) != Some((1, "b".to_owned())), "the lore of the one that was deleted");
    stage.knows(0, 0, "a");
}

#[test]
fn another_direction_that_shares_the_greeting_knows_only_the_greeting() {
    let mut stage = edited_after_each(8, |number| format!("first direction {number}"));
    stage.messages.truncate(1);
    for number in 100..108 {
        stage.messages.push(message(number, "second direction"));
    }
    stage.lore("second lore");
    let (bytes, when) = (stage.content(), stage.tick());
    stage.record(CHAT, &bytes, when, Observed::Later);
    for m in 1..8 {
        stage.knows(m, 0, "lore after 0");
    }
}

#[test]
fn another_chat_under_the_name_of_a_deleted_one_has_its_own_past() {
    let mut stage = edited_after_each(6, |number| format!("old {number}"));
    stage.delete();
    stage.lore("new story lore");
    stage.messages.truncate(1);
    stage.messages.extend((50..58).map(|number| message(number, "new")));
    stage.save();
    for m in 0..8 {
        assert!(stage.past(m).is_none(), "{m}");
    }
}

#[test]
fn a_chat_that_was_deleted_and_came_back_keeps_its_past() {
    let mut stage = edited_after_each(6, |number| format!("message {number}"));
    stage.delete();
    stage.say(6, "there again");
    stage.knows(3, 3, "lore after 3");
}

#[test]
fn a_book_that_was_saved_after_the_chat_is_not_the_chats() {
    // Edited while message 0 was the last, and written a second or an hour after message 1.
    let mut stage = Stage::new();
    stage.lore("old");
    stage.say(0, "zero");
    stage.say(1, "one");
    stage.lore("edited at 0");
    stage.say(2, "two");
    stage.knows(0, 0, "old");
    stage.knows(1, 1, "old");
    stage.knows(2, 2, "edited at 0");
}

#[test]
fn what_is_edited_while_a_reply_streams_is_not_of_the_message_before() {
    let mut stage = Stage::new();
    stage.lore("v1");
    stage.say(0, "zero");
    stage.say(1, "one");
    stage.lore("v2, while 2 was streaming");
    stage.say(2, "two");
    stage.say(3, "three");
    stage.knows(1, 1, "v1");
}

#[test]
fn the_variables_are_those_of_the_last_save_at_the_message() {
    let mut stage = Stage::new();
    stage.lore("v1");
    stage.say(0, "zero");
    stage.say(1, "one");
    stage.hp = 3;
    stage.say(2, "two");
    stage.knows(1, 1, "v1");
    assert_eq!(stage.hp(1), Some((1, 1)));
    stage.knows(2, 2, "v1");
    assert_eq!(stage.hp(2), Some((2, 3)));
}

#[test]
fn a_book_that_was_found_late_is_not_put_before_the_chat() {
    let mut stage = Stage::new();
    stage.lore("v1");
    stage.say(0, "zero");
    let later = stage.tick() + Duration::from_secs(60);
    // A scan by another process records the last write before the watch records the chat.
    stage.record(BOOK, &book("v3"), later, Observed::Later);
    stage.say(1, "one");
    stage.knows(1, 0, "v1");
}

#[test]
fn over_a_version_of_the_book_that_nobody_saw_an_older_state_is_given() {
    let mut stage = Stage::new();
    stage.lore("v1");
    stage.say(0, "zero");
    // A version between the two was missed: the next one was found by a scan.
    stage.tick();
    let before = stage.tick();
    stage.say(1, "one");
    stage.record(BOOK, &book("v3"), before, Observed::Later);
    stage.say(2, "two");
    stage.knows(0, 0, "v1");
    stage.knows(1, 0, "v1");
    stage.knows(2, 2, "v3");
}

#[test]
fn a_clock_that_was_set_back_proves_nothing() {
    let mut stage = Stage::new();
    stage.lore("v1");
    stage.say(0, "zero");
    stage.messages.push(message(1, "one"));
    let (bytes, when) = (stage.content(), stage.tick());
    stage.tick();
    stage.record(CHAT, &bytes, when, Observed::Later);
    let hour = Duration::from_secs(3600);
    stage.tick();
    stage.record(BOOK, &book("v2, an hour later by the sun"), when - hour, Observed::Later);
    stage.say(2, "two");
    assert_eq!(stage.book(1), None);
}

#[test]
fn a_page_that_was_behind_does_not_carry_the_lore_of_the_next_message() {
    let mut stage = Stage::new();
    stage.lore("v1");
    stage.say(0, "zero");
    stage.say(1, "one");
    stage.lore("v2, of message 1");
    // Another tab with an older state saves, and then the first one again.
    let one = stage.messages.pop().unwrap();
    stage.hp = 2;
    stage.save();
    stage.messages.push(one);
    stage.say(2, "two");
    stage.knows(0, 0, "v1");
    assert_eq!(stage.hp(0), Some((0, 1)));
}

#[test]
fn a_regenerated_reply_leaves_the_newer_state_to_the_message_before() {
    let mut stage = Stage::new();
    stage.lore("v1");
    stage.say(0, "zero");
    stage.say(1, "one");
    stage.messages.pop();
    stage.lore("v2, of the reply that is gone");
    stage.save_variable(0);
    stage.say(7, "another one");
    stage.knows(0, 0, "v2, of the reply that is gone");
    assert_eq!(stage.hp(0), Some((0, 100)));
}

#[test]
fn what_is_found_by_scans_alone_is_known_as_far_as_times_prove_it() {
    let mut stage = Stage::new();
    for round in 0..4 {
        let lore = stage.tick();
        stage.messages.push(sent(stage.tick(), "found"));
        let (bytes, when) = (stage.content(), stage.tick());
        stage.tick();
        stage.record(BOOK, &book(&format!("v{round}")), lore, Observed::Later);
        stage.record(CHAT, &bytes, when, Observed::Later);
    }
    for round in 0..4 {
        stage.knows(round, round, &format!("v{round}"));
    }
}

#[test]
fn a_version_with_a_message_that_comes_later_today_says_nothing_of_the_one_before() {
    let mut stage = Stage::new();
    stage.lore("lore of both");
    stage.messages.push(message(0, "zero"));
    stage.say(1, "one");
    stage.knows(1, 1, "lore of both");
    // They swap places, and one of them is edited as well.
    stage.messages = vec![message(1, "one"), message(0, "zero, edited")];
    stage.save();
    assert_eq!((stage.book(0), stage.hp(0)), (None, None));
}

/// A clock that advances whenever it is read.
#[derive(Debug)]
struct Restless(&'static MovedClock);

impl Clock for Restless {
    fn now(&self) -> SystemTime {
        self.0.tick()
    }

    fn slug(&self) -> String {
        self.0.slug()
    }

    fn sleep(&self, _: Duration) {}
}

#[test]
fn a_book_that_the_same_look_finds_gone_is_not_the_chats() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("data/default-user");
    let write = |name: &str, bytes: &[u8]| {
        let path = home.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    };
    let mut stage = Stage::new();
    let clock = Restless(MovedClock::starting_at(SystemTime::now() + Duration::from_secs(3600)));
    let clock: &'static Restless = Box::leak(Box::new(clock));
    let repository = folder.path().join("u.git");
    stage.history = History::open(&RealDisk, clock, repository, "pc").unwrap();
    let look = |stage: &mut Stage| {
        let folders = UserFolders::new(folder.path().join("data"), "default-user").unwrap();
        let mut remembered = SeenFiles::default();
        scan(&mut stage.history, &RealDisk, &folders, &mut remembered, &|_, _| {}).unwrap();
    };
    write(BOOK, &book("then"));
    stage.messages.push(message(0, "zero"));
    write(CHAT, &stage.content());
    look(&mut stage);
    stage.knows(0, 0, "then");

    std::fs::remove_file(home.join(BOOK)).unwrap();
    stage.messages.push(sent(SystemTime::now() + Duration::from_secs(1), "one"));
    write(CHAT, &stage.content());
    look(&mut stage);
    stage.knows(1, 0, "then");
}

#[test]
fn a_message_that_another_page_brings_back_came_before_what_was_found_without_it() {
    let mut stage = Stage::new();
    stage.find(BOOK, &book("then"));
    stage.messages.push(sent(stage.tick(), "zero"));
    let alone = stage.content();
    stage.find(CHAT, &alone);
    // One comes while nothing is recorded, and a page deletes it again; then the lore changes.
    stage.messages.push(sent(stage.tick(), "one"));
    stage.find(BOOK, &book("changed after one"));
    let saved = String::from_utf8(alone).unwrap().replace("zero", "zero, edited");
    stage.find(CHAT, saved.as_bytes());
    // Another page still has it, and saves.
    stage.messages[0] = stage.messages[0].replace("zero", "zero, edited");
    stage.find(CHAT, &stage.content());
    stage.knows(0, 0, "then");
}

#[test]
fn without_any_book_the_metadata_is_known() {
    let mut stage = Stage::new();
    stage.say(0, "zero");
    stage.say(1, "one");
    assert_eq!((stage.book(0), stage.hp(0)), (None, Some((0, 1))));
}

#[test]
fn a_file_that_appears_with_messages_may_have_had_more_of_them_before() {
    let mut stage = Stage::new();
    stage.lore("then");
    stage.messages.push(sent(stage.tick(), "zero"));
    let one = sent(stage.tick(), "one");
    stage.lore("changed after one");
    // A copy without the newest message is put in the place of the chat, before the first recording.
    stage.save();
    stage.messages.push(one);
    stage.save();
    assert_eq!(stage.book(0), None);
}
