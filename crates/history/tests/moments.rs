//! What the history says of a message is what was true when the next message came, or it does not
//! claim to be exact.
#![expect(clippy::unwrap_used, reason = "helpers of tests are tests too")]

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use fastrand::Rng;
use forklore_core::chat::{Chat, Place};
use forklore_core::json::Json;
use forklore_core::moment::PastBook;
use forklore_history::file::Name;
use forklore_history::history::{History, Seen};
use forklore_history::past::past;
use forklore_tavern::chance::RealChance;
use forklore_tavern::disk::RealDisk;

/// A chat and its book, and what they were while each message was the last.
struct Story {
    random: Rng,
    messages: Vec<String>,
    variable: u32,
    entries: Vec<(u32, String)>,
    clock: u64,
}

impl Story {
    fn new(seed: u64) -> Self {
        Self {
            random: Rng::with_seed(seed),
            messages: vec![r#"{"name":"Mara","mes":"Once upon a time","send_date":0}"#.to_owned()],
            variable: 0,
            entries: vec![(0, "a mill".to_owned())],
            clock: 1_700_000_000_000,
        }
    }

    fn now(&mut self) -> SystemTime {
        self.clock += 1000;
        UNIX_EPOCH + Duration::from_millis(self.clock)
    }

    fn chat(&self) -> Vec<u8> {
        let header = format!(
            r#"{{"chat_metadata":{{"world_info":"Lore","variables":{{"x":{}}}}}}}"#,
            self.variable
        );
        [vec![header], self.messages.clone()].concat().join("\n").into_bytes()
    }

    fn book(&self) -> Vec<u8> {
        let entries = self.entries.iter().map(|(uid, text)| {
            format!("\n        \"{uid}\": {{\n            \"content\": \"{text}\"\n        }}")
        });
        let entries: Vec<String> = entries.collect();
        format!("{{\n    \"entries\": {{{}\n    }}\n}}", entries.join(",")).into_bytes()
    }

    /// Something happens. Returns whether the chat changed, else it was the book.
    fn go_on(&mut self, step: usize) -> bool {
        match self.random.u8(..10) {
            0..=3 => {
                let message =
                    format!(r#"{{"name":"Mara","mes":"then {step}","send_date":{step}}}"#);
                self.messages.push(message);
                true
            }
            4 => {
                let last = self.messages.last_mut().unwrap();
                let (_, date) = last.rsplit_once(',').unwrap();
                *last = format!(r#"{{"name":"Mara","mes":"or {step}",{date}"#);
                true
            }
            5 => {
                self.variable += 1;
                true
            }
            6 if self.messages.len() > 2 => {
                self.messages.pop();
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
        }
    }
}

fn record(history: &mut History<'_>, name: &str, bytes: &[u8], when: SystemTime, seen: Seen) {
    let mut recorder = history.record().unwrap();
    recorder.file(&Name::of_text(name), bytes, when, seen, &|_| true).unwrap();
    recorder.keep().unwrap();
}

const CHAT: &str = "chats/Anna/Story.jsonl";
const BOOK: &str = "worlds/Lore.json";

/// Plays a story. Every `gap`th step nobody watches; what changed then is found at the next step.
fn play(seed: u64, gap: Option<u8>) -> (usize, usize) {
    let folder = tempfile::tempdir().unwrap();
    let mut history =
        History::open(&RealDisk, &RealChance, folder.path().join("u.git"), "pc").unwrap();
    let mut story = Story::new(seed);
    let when = story.now();
    record(&mut history, CHAT, &story.chat(), when, Seen::Later);
    record(&mut history, BOOK, &story.book(), when, Seen::Later);
    let mut saved = vec![(story.messages.len(), story.book(), i64::from(story.variable))];
    let mut unseen = false;
    let mut last = (when, when);
    for step in 0..120 {
        let is_chat = story.go_on(step);
        let when = story.now();
        *(if is_chat { &mut last.0 } else { &mut last.1 }) = when;
        if gap.is_some_and(|gap| story.random.u8(..gap) == 0) {
            unseen = true;
            continue;
        }
        if std::mem::take(&mut unseen) {
            record(&mut history, CHAT, &story.chat(), last.0, Seen::Later);
            record(&mut history, BOOK, &story.book(), last.1, Seen::Later);
        } else if is_chat {
            record(&mut history, CHAT, &story.chat(), when, Seen::AsItHappened);
            saved.push((story.messages.len(), story.book(), i64::from(story.variable)));
        } else {
            record(&mut history, BOOK, &story.book(), when, Seen::AsItHappened);
        }
    }
    let bytes = story.chat();
    let chat = Chat::read(&bytes, Place::Solo);
    let (mut asked, mut known) = (0, 0);
    for m in 0..chat.len() {
        asked += 1;
        let past = past(&history, &Name::of_text(CHAT), &chat, m).unwrap();
        let Some(past) = past.and_then(|past| past.as_of) else { continue };
        assert!(past.message <= m, "seed {seed}: newer than message {m}");
        let PastBook::Known { name, bytes } = past.book else { continue };
        if gap.is_some() || past.message != m {
            continue;
        }
        known += 1;
        assert_eq!(name, "Lore");
        let variable = past.metadata.at(&["variables", "x"]).and_then(Json::as_i64).unwrap();
        let then = (m + 1, bytes, variable);
        assert!(saved.contains(&then), "seed {seed}: never saved with message {m} as the last");
    }
    (asked, known)
}

#[test]
fn watched_without_a_gap_every_message_is_known() {
    for seed in 0..40 {
        let (asked, known) = play(seed, None);
        assert_eq!(known, asked, "seed {seed}");
    }
}

#[test]
fn with_gaps_nothing_newer_than_the_message_is_told() {
    for seed in 0..150 {
        play(seed, Some(4));
    }
}
