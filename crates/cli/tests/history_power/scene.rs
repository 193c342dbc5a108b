//! A small data folder with its history next to it: partly in packs, partly only in the journal.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use forklore_history::file::FileName;
use forklore_history::record::recorder::Observed;
use forklore_history::record::scan::{SeenFiles, scan};
use forklore_history::version::history::History;
use forklore_tavern::disk::RealDisk;
use forklore_tavern::disk::clock::{Clock as _, SystemClock};
use forklore_tavern::folder::layout::UserFolders;
use forklore_testkit::power::{Found, State, Tree};
use forklore_testkit::tree::temporary_folder;

use crate::judge::version_of;

pub(crate) const STORY: &str = "chats/Alice/Story.jsonl";
pub(crate) const TALE: &str = "chats/Alice/Tale.jsonl";
pub(crate) const LORE: &str = "worlds/Lore.json";
pub(crate) const DIARY: &str = "worlds/Diary.json";

const USER: &str = "default-user";

/// Files below the user's folder.
pub(crate) type Files = BTreeMap<PathBuf, Vec<u8>>;

/// The folder that contains `data` and `data-history`.
pub(crate) struct Scene {
    folder: tempfile::TempDir,
}

impl Scene {
    /// Two chats of thirty messages and two lorebooks, not recorded yet.
    pub(crate) fn new() -> Self {
        let scene = Self { folder: temporary_folder() };
        scene.write(STORY, &chat(30, 0));
        scene.write(TALE, &chat(32, 1));
        scene.write(LORE, &book(6, 0));
        scene.write(DIARY, &book(2, 1));
        scene
    }

    /// The same with a history: this many packs, and some versions only in the journal.
    pub(crate) fn with_packs(packs: usize) -> Self {
        let scene = Self::new();
        for turn in 0..packs {
            scene.advance(turn);
            scene.scan();
            scene.history().record().unwrap().flush().unwrap();
        }
        scene.advance(packs);
        scene.keep(4);
        scene
    }

    /// A folder as a power cut left it.
    pub(crate) fn of(state: &State) -> Self {
        let scene = Self { folder: temporary_folder() };
        state.materialise(scene.folder()).unwrap();
        scene
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn history(&self) -> History<'static> {
        history_in(self.folder())
    }

    pub(crate) fn write(&self, file: &str, bytes: &[u8]) {
        let path = home(self.folder()).join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    pub(crate) fn remove(&self, file: &str) {
        fs::remove_file(home(self.folder()).join(file)).unwrap();
    }

    /// Changes files as SillyTavern would.
    pub(crate) fn advance(&self, turn: usize) {
        self.write(STORY, &chat(31 + turn, 0));
        if turn.is_multiple_of(2) {
            self.write(LORE, &book(6 + turn, 0));
        } else {
            self.write(TALE, &chat(32, turn));
        }
    }

    /// Records all changes in the journal.
    pub(crate) fn scan(&self) {
        let folders = UserFolders::new(data(self.folder()), USER).unwrap();
        let mut remembered = SeenFiles::default();
        scan(&mut self.history(), &RealDisk, &folders, &mut remembered, &|_, _| {}).unwrap();
    }

    /// Records this many versions of the diary in the journal, one by one.
    pub(crate) fn keep(&self, versions: usize) {
        let mut history = self.history();
        for turn in 0..versions {
            keep_diary(&mut history, turn);
        }
    }
}

/// The command, run on a folder.
pub(crate) fn forklore(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_forklore"));
    command.arg("--data").arg(data(folder)).args(args);
    command
}

/// Records a version of the diary and returns its name once it is stored.
pub(crate) fn keep_diary(history: &mut History<'_>, turn: usize) -> String {
    let mut recorder = history.record().unwrap();
    let bytes = book(2, 100 + turn);
    let now = SystemClock.now();
    let name = FileName::of_text(DIARY);
    let recorded = recorder.file(&name, &bytes, now, Observed::AsItHappened, &|_| true).unwrap();
    recorder.persist().unwrap();
    version_of(&recorded.expect("it is new").stored)
}

pub(crate) fn history_in(folder: &Path) -> History<'static> {
    History::open(&RealDisk, &SystemClock, repository(folder), "Test PC").unwrap()
}

pub(crate) fn data(folder: &Path) -> PathBuf {
    folder.join("data")
}

pub(crate) fn home(folder: &Path) -> PathBuf {
    data(folder).join(USER)
}

pub(crate) fn repository(folder: &Path) -> PathBuf {
    folder.join("data-history").join(format!("{USER}.git"))
}

/// The files below a folder in a state, such as the user's or the trash.
pub(crate) fn files_in(tree: &Tree, below: &str) -> Files {
    let mut files = Files::new();
    for (path, found) in tree {
        if let (Ok(path), Found::File(content)) = (path.strip_prefix(below), found) {
            files.insert(path.to_owned(), content.to_vec());
        }
    }
    files
}

pub(crate) fn live_in(tree: &Tree) -> Files {
    files_in(tree, &format!("data/{USER}"))
}

/// A chat with this many messages. The last one depends on `turn`.
pub(crate) fn chat(messages: usize, turn: usize) -> Vec<u8> {
    let mut lines = vec![
        r#"{"user_name":"User","character_name":"Alice","create_date":"2026-1-1@10h10m10s","chat_metadata":{"world_info":"Lore"}}"#
            .to_owned(),
    ];
    for number in 0..messages {
        let seed = if number + 1 == messages { number + 1000 * turn } else { number };
        let (is_user, text) = (number % 2 == 1, words(seed, 40));
        let name = if is_user { "User" } else { "Alice" };
        lines.push(format!(
            r#"{{"name":"{name}","is_user":{is_user},"send_date":"January 1, 2026 10:10am","mes":"{text}","extra":{{}}}}"#
        ));
    }
    lines.join("\n").into_bytes()
}

/// A lorebook with this many entries. The first one depends on `turn`.
pub(crate) fn book(entries: usize, turn: usize) -> Vec<u8> {
    let entries = (0..entries).map(|uid| {
        let text = words(if uid == 0 { 5000 + turn } else { uid }, 30);
        format!(
            "        \"{uid}\": {{\n            \"uid\": {uid},\n            \"key\": [\n                \"key {uid}\"\n            ],\n            \"comment\": \"entry {uid}\",\n            \"content\": \"{text}\"\n        }}"
        )
    });
    let entries = entries.collect::<Vec<_>>().join(",\n");
    format!("{{\n    \"entries\": {{\n{entries}\n    }}\n}}").into_bytes()
}

/// Text that does not compress to almost nothing.
fn words(seed: usize, count: usize) -> String {
    let mut state = seed as u64 ^ 0x9e37_79b9_7f4a_7c15;
    let mut word = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        format!("{:x}", state >> 40)
    };
    (0..count).map(|_| word()).collect::<Vec<_>>().join(" ")
}
