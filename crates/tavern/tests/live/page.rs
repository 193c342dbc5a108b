//! A simulated SillyTavern page: it holds a chat and its book in memory, and every save replaces
//! one whole file, whatever is there.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex};
use std::time::Duration;

use forklore_core::journal::{Record, RecordedState};
use forklore_json::Json;
use forklore_tavern::disk::{Disk, RealDisk};
use forklore_testkit::scene::{self, Scene, USER};

/// Everything the page saved, and the versions that each save replaced.
#[derive(Default)]
pub(crate) struct Saved {
    /// The line of every message, newest last.
    pub(crate) lines: Vec<Vec<u8>>,
    /// The number of entries in the book when each message arrived.
    pub(crate) entries_at: Vec<usize>,
    /// Counts of messages and entries that were on disk together.
    pub(crate) together: BTreeSet<(usize, usize)>,
    pub(crate) versions: Vec<Version>,
    /// The content that each version replaced.
    pub(crate) displaced: Vec<Vec<u8>>,
}

pub(crate) struct Version {
    pub(crate) path: PathBuf,
    pub(crate) bytes: Vec<u8>,
}

/// Synchronises the page with a test running beside it.
pub(crate) struct PageSync {
    state: Mutex<SyncState>,
    changed: Condvar,
}

#[derive(Default)]
struct SyncState {
    saves: usize,
    messages: usize,
    /// The test is waiting until the page has saved this often.
    wanted: usize,
    is_over: bool,
}

impl PageSync {
    pub(crate) fn with(page: &Page) -> Self {
        let state = SyncState { messages: page.saved.lines.len(), ..SyncState::default() };
        Self { state: Mutex::new(state), changed: Condvar::new() }
    }

    /// The number of messages that the page has saved.
    pub(crate) fn messages(&self) -> usize {
        self.state.lock().unwrap().messages
    }

    /// Waits until the page has saved both its files again.
    pub(crate) fn wait_for_both(&self) {
        let mut state = self.state.lock().unwrap();
        // One save of either file may have started already.
        state.wanted = state.saves + 3;
        self.changed.notify_all();
        while state.saves < state.wanted && !state.is_over {
            state = self.changed.wait(state).unwrap();
        }
    }

    pub(crate) fn finish(&self) {
        self.state.lock().unwrap().is_over = true;
        self.changed.notify_all();
    }

    /// Pauses, unless the test is waiting. Returns whether to continue.
    fn pause(&self, pause: Duration) -> bool {
        let state = self.state.lock().unwrap();
        let is_quiet = |state: &mut SyncState| state.saves >= state.wanted && !state.is_over;
        let (state, _) = self.changed.wait_timeout_while(state, pause, is_quiet).unwrap();
        !state.is_over
    }

    fn report_save(&self, messages: usize) {
        let mut state = self.state.lock().unwrap();
        state.saves += 1;
        state.messages = messages;
        self.changed.notify_all();
    }
}

pub(crate) const CHAT: &str = "Story";
pub(crate) const BOOK: &str = "Lore";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum File {
    Chat,
    Book,
}

/// How often the page saves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pace {
    /// More than any person or model could write.
    FiftyASecond,
    /// One or two saves collide with each command.
    FiveHundredASecond,
}

/// A page with a non-empty chat and book on disk.
pub(crate) struct Page {
    chat: PathBuf,
    book: PathBuf,
    header: Vec<u8>,
    metadata: Json,
    entries: usize,
    before: Option<(Record, RecordedState)>,
    saved: Saved,
}

impl Page {
    pub(crate) fn new(scene: &Scene) -> Self {
        let user = scene.root().join(USER);
        let metadata = Json::object([
            ("world_info", Json::from(BOOK)),
            ("integrity", Json::from("0000aaaa-0000-4000-8000-000000000000")),
        ]);
        let mut page = Self {
            chat: user.join(format!("chats/Alice/{CHAT}.jsonl")),
            book: user.join(format!("worlds/{BOOK}.json")),
            header: scene::header(&metadata),
            metadata,
            entries: 1,
            before: None,
            saved: Saved::default(),
        };
        for path in [&page.chat, &page.book] {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, b"").unwrap();
        }
        page.save_book();
        for _ in 0..3 {
            page.say_something();
        }
        page.saved.together.clear();
        page.saved.together.insert((page.saved.lines.len(), page.entries));
        page
    }

    /// Saves until told to stop: bursts of quick saves with pauses in between.
    pub(crate) fn write(mut self, sync: &PageSync, pace: Pace) -> Saved {
        loop {
            let number = self.saved.versions.len();
            let pause = match (pace, number % 16) {
                (Pace::FiftyASecond, 0) => 200_000,
                (Pace::FiftyASecond, _) => number * 7_919 % 11_000,
                (Pace::FiveHundredASecond, 0) => 20_000,
                (Pace::FiveHundredASecond, _) => number * 7_919 % 1_100,
            };
            let pause = Duration::from_micros(pause as u64);
            if !sync.pause(pause) {
                return self.saved;
            }
            self.save_one(if number.is_multiple_of(2) { File::Chat } else { File::Book });
            sync.report_save(self.saved.lines.len());
        }
    }

    /// Adds something to one of its files and saves it.
    pub(crate) fn save_one(&mut self, file: File) {
        match file {
            File::Chat => self.say_something(),
            File::Book => {
                self.entries += 1;
                self.save_book();
            }
        }
        self.saved.together.insert((self.saved.lines.len(), self.entries));
    }

    pub(crate) fn into_saved(self) -> Saved {
        self.saved
    }

    /// Adds a message, with a record of the current book.
    fn say_something(&mut self) {
        let state = RecordedState::of(&self.metadata, Some((BOOK, &book_of(self.entries))));
        let number = self.saved.lines.len();
        let record = scene::watched(number as u64, self.before.as_ref(), &state);
        self.saved.lines.push(scene::message(number, Some(record.to_json())));
        self.saved.entries_at.push(self.entries);
        self.before = Some((record, state));
        let mut lines = vec![&self.header[..]];
        lines.extend(self.saved.lines.iter().map(Vec::as_slice));
        let bytes = lines.join(&b'\n');
        self.save(self.chat.clone(), bytes);
    }

    fn save_book(&mut self) {
        self.save(self.book.clone(), scene::written(&book_of(self.entries)));
    }

    /// Atomic, like SillyTavern's rename, but keeps the replaced version.
    fn save(&mut self, path: PathBuf, bytes: Vec<u8>) {
        let temp = temp_beside(&path, self.saved.versions.len());
        fs::write(&temp, &bytes).unwrap();
        RealDisk.exchange(&temp, &path).unwrap();
        self.saved.displaced.push(fs::read(&temp).unwrap());
        fs::remove_file(&temp).unwrap();
        self.saved.versions.push(Version { path, bytes });
    }
}

/// The book with this many entries.
pub(crate) fn book_of(entries: usize) -> Json {
    scene::book((0..entries).map(|uid| (uid, format!("lore {uid}"))))
}

fn temp_beside(path: &Path, number: usize) -> PathBuf {
    let mut temp = path.as_os_str().to_owned();
    temp.push(format!(".{}", 1_000_000 + number));
    temp.into()
}
