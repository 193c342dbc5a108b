//! Random stories, with and without gaps in what was observed.

use std::collections::HashMap;
use std::time::{SystemTime, UNIX_EPOCH};

use fastrand::Rng;
use forklore_core::sillytavern::chat::{Chat, ChatKind};
use forklore_core::timeline::moment::BookFile;
use forklore_history::file::FileName;
use forklore_history::query::past::past;
use forklore_history::record::recorder::Observed;
use forklore_history::version::history::History;
use forklore_json::Json;
use forklore_tavern::disk::RealDisk;

use crate::clock::MovedClock;

/// A lorebook and a variable.
type State = (Vec<u8>, i64);

/// A chat and its lorebook, and their states while each message was the last.
struct Story {
    random: Rng,
    /// The date of each message in milliseconds, which is unique, and its text.
    messages: Vec<(i64, String)>,
    variable: i64,
    entries: Vec<(u32, String)>,
    /// By the date of the last message at that time.
    then: HashMap<i64, Vec<State>>,
    clock: &'static MovedClock,
}

impl Story {
    fn new(seed: u64) -> Self {
        Self {
            random: Rng::with_seed(seed),
            messages: vec![(1, "Once upon a time".to_owned())],
            variable: 0,
            entries: vec![(0, "a mill".to_owned())],
            then: HashMap::new(),
            clock: MovedClock::new(),
        }
    }

    fn chat(&self) -> Vec<u8> {
        let header = format!(
            r#"{{"chat_metadata":{{"world_info":"Lore","variables":{{"x":{}}}}}}}"#,
            self.variable
        );
        let messages = self.messages.iter().map(|(date, text)| {
            let date = jiff::Timestamp::from_millisecond(*date).unwrap();
            format!(r#"{{"name":"Mara","mes":"{text}","send_date":"{date}"}}"#)
        });
        [header].into_iter().chain(messages).collect::<Vec<_>>().join("\n").into_bytes()
    }

    fn book(&self) -> Vec<u8> {
        let entries = self.entries.iter().map(|(uid, text)| {
            format!("\n        \"{uid}\": {{\n            \"content\": \"{text}\"\n        }}")
        });
        let entries: Vec<String> = entries.collect();
        format!("{{\n    \"entries\": {{{}\n    }}\n}}", entries.join(",")).into_bytes()
    }

    fn note(&mut self) {
        let state = (self.book(), self.variable);
        self.then.entry(self.messages.last().unwrap().0).or_default().push(state);
    }

    fn while_last(&self, message: usize) -> &[State] {
        &self.then[&self.messages[message].0]
    }

    /// Changes something. Returns whether it was the chat; otherwise it was the lorebook.
    fn go_on(&mut self, step: usize) -> bool {
        let messages = self.messages.len();
        let is_chat = match self.random.u8(..11) {
            0..=3 => {
                let text = match self.random.bool() {
                    true => "Continue.".to_owned(),
                    false => format!("then {step}"),
                };
                let sent = self.clock.tick().duration_since(UNIX_EPOCH).unwrap();
                self.messages.push((sent.as_millis() as i64, text));
                true
            }
            4 => {
                self.messages.last_mut().unwrap().1 = format!("or {step}");
                true
            }
            5 => {
                self.variable += 1;
                true
            }
            6 if messages > 2 => {
                self.messages.pop();
                true
            }
            7 if messages > 3 => {
                let first = self.random.usize(1..messages - 1);
                let last = self.random.usize(first..messages - 1);
                self.messages.drain(first..=last);
                true
            }
            _ => {
                let at = self.random.usize(..self.entries.len());
                match self.random.bool() {
                    true => self.entries[at].1 = format!("changed {step}"),
                    false => {
                        let uid = self.entries.last().unwrap().0 + 1;
                        self.entries.push((uid, format!("new {step}")));
                    }
                }
                false
            }
        };
        self.note();
        is_chat
    }
}

fn record(history: &mut History<'_>, name: &str, bytes: &[u8], when: SystemTime, seen: Observed) {
    let mut recorder = history.record().unwrap();
    recorder.file(&FileName::of_text(name), bytes, when, seen, &|_| true).unwrap();
    recorder.persist().unwrap();
}

const CHAT: &str = "chats/Anna/Story.jsonl";
const BOOK: &str = "worlds/Lore.json";

/// How many messages were queried, and for how many of them their own state was known.
#[derive(Default)]
struct Known {
    asked: usize,
    known: usize,
}

/// Plays a story. Every `gap`th step is not observed, and is found at the next step.
fn play(seed: u64, gap: Option<u8>) -> Known {
    let folder = tempfile::tempdir().unwrap();
    let mut story = Story::new(seed);
    let clock = story.clock;
    let mut history = History::open(&RealDisk, clock, folder.path().join("u.git"), "pc").unwrap();
    let when = clock.tick();
    clock.tick();
    record(&mut history, BOOK, &story.book(), when, Observed::Later);
    let when = clock.tick();
    clock.tick();
    record(&mut history, CHAT, &story.chat(), when, Observed::Later);
    story.note();
    let mut unseen = false;
    let mut last = (when, when);
    for step in 0..120 {
        let is_chat = story.go_on(step);
        let when = clock.tick();
        *(if is_chat { &mut last.0 } else { &mut last.1 }) = when;
        if gap.is_some_and(|gap| story.random.u8(..gap) == 0) {
            unseen = true;
            continue;
        }
        if std::mem::take(&mut unseen) {
            clock.tick();
            record(&mut history, BOOK, &story.book(), last.1, Observed::Later);
            record(&mut history, CHAT, &story.chat(), last.0, Observed::Later);
        } else if is_chat {
            record(&mut history, CHAT, &story.chat(), when, Observed::AsItHappened);
        } else {
            record(&mut history, BOOK, &story.book(), when, Observed::AsItHappened);
        }
    }
    let bytes = story.chat();
    let chat = Chat::read(&bytes, ChatKind::Solo);
    let mut known = Known::default();
    for m in 0..chat.len() {
        known.asked += 1;
        let Some(past) = past(&history, &FileName::of_text(CHAT), &chat, m).unwrap() else {
            continue;
        };
        let metadata = past.metadata.unwrap();
        assert!(metadata.message <= m, "seed {seed}: newer than message {m}");
        let variable = metadata.value.at(&["variables", "x"]).and_then(Json::as_i64).unwrap();
        let then = story.while_last(metadata.message);
        assert!(then.iter().any(|state| state.1 == variable), "seed {seed}, variable at {m}");
        let Some(book) = past.book else { continue };
        assert!(book.message <= metadata.message, "seed {seed}: newer than message {m}");
        known.known += usize::from(book.message == m);
        let BookFile { name, bytes } = book.value.unwrap();
        assert_eq!(name, "Lore");
        let then = story.while_last(book.message);
        assert!(
            then.iter().any(|state| state.0 == bytes),
            "seed {seed}, message {m} as of {}",
            book.message
        );
    }
    known
}

#[test]
fn watched_without_a_gap_something_is_known_of_every_message() {
    for seed in 0..60 {
        let Known { asked, known } = play(seed, None);
        assert_eq!(asked, known, "seed {seed}");
    }
}

#[test]
fn over_gaps_nothing_is_claimed_that_was_not_in_the_files() {
    let (mut asked, mut known) = (0, 0);
    for seed in 0..200 {
        let more = play(seed, Some(4));
        asked += more.asked;
        known += more.known;
    }
    assert!(known > asked / 3 && known < asked, "{known} of {asked}");
}
