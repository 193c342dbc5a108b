//! Data folders to measure on.

use std::fs;
use std::path::{Path, PathBuf};

use forklore_json::{Indent, Json, Object};
use tempfile::TempDir;

/// A data folder with one user, removed when dropped.
pub(crate) struct Folder(TempDir);

impl Folder {
    /// Creates it under `target`, so that it is on disk even if the system's temporary folder is in
    /// memory.
    pub(crate) fn new() -> anyhow::Result<Self> {
        let target = std::env::current_exe()?.with_file_name("bench");
        fs::create_dir_all(&target)?;
        let folder = Self(TempDir::new_in(target)?);
        for name in ["chats", "worlds", "groups", "group chats", "characters", "backups"] {
            fs::create_dir_all(folder.user().join(name))?;
        }
        Ok(folder)
    }

    pub(crate) fn root(&self) -> &Path {
        self.0.path()
    }

    fn user(&self) -> PathBuf {
        self.root().join("default-user")
    }

    pub(crate) fn chat_path(&self, character: &str, name: &str) -> PathBuf {
        self.user().join("chats").join(character).join(format!("{name}.jsonl"))
    }

    pub(crate) fn book_path(&self, name: &str) -> PathBuf {
        self.user().join("worlds").join(format!("{name}.json"))
    }

    /// Every chat and book.
    pub(crate) fn files(&self) -> anyhow::Result<Vec<PathBuf>> {
        let mut files = Vec::new();
        let mut folders = vec![self.user().join("chats"), self.user().join("worlds")];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder)? {
                let path = entry?.path();
                if path.is_dir() { folders.push(path) } else { files.push(path) }
            }
        }
        Ok(files)
    }

    /// Writes a chat of `messages` messages of about `size` bytes each, in realistic proportions:
    /// most of a message is not its text.
    pub(crate) fn chat(
        &self,
        character: &str,
        name: &str,
        messages: usize,
        size: usize,
        book: Option<&str>,
    ) -> anyhow::Result<()> {
        let mut metadata = Object::new();
        metadata.insert("integrity", "5f3c9a52-0000-4000-8000-000000000000");
        metadata.insert("note_prompt", "");
        if let Some(book) = book {
            metadata.insert("world_info", book);
        }
        let header = Json::object([
            ("chat_metadata", metadata.into()),
            ("user_name", Json::from("unused")),
            ("character_name", Json::from("unused")),
        ]);
        let mut text = header.stringify();
        for number in 0..messages {
            text.push(b'\n');
            text.extend(message(number, size).stringify());
        }
        let path = self.chat_path(character, name);
        fs::create_dir_all(path.parent().unwrap_or(Path::new(".")))?;
        Ok(fs::write(path, text)?)
    }

    pub(crate) fn book(&self, name: &str, entries: usize) -> anyhow::Result<()> {
        Ok(fs::write(self.book_path(name), book(entries).stringify_with(Indent::BOOK))?)
    }
}

fn message(number: usize, size: usize) -> Json {
    let prose = |bytes: usize| -> String {
        let words = ["the ", "harbour ", "was ", "quiet, ", "and “Mara” ", "waited — ", "rain… "];
        (0..)
            .map(|word| words[(word * 7 + number) % words.len()])
            .scan(0, |length, word| {
                *length += word.len();
                (*length < bytes).then_some(word)
            })
            .collect()
    };
    let quarter = size / 4;
    let swipe = || Json::from(prose(quarter));
    Json::object([
        ("name", Json::from(if number.is_multiple_of(2) { "Ada" } else { "You" })),
        ("is_user", Json::from(number % 2 == 1)),
        (
            "send_date",
            Json::from(format!("2026-01-01T00:{:02}:{:02}.000Z", number / 60 % 60, number % 60)),
        ),
        ("mes", swipe()),
        ("extra", Json::object([("api", Json::from("none")), ("reasoning", swipe())])),
        ("swipe_id", Json::from(0_usize)),
        ("swipes", Json::Array(vec![swipe(), swipe()])),
    ])
}

pub(crate) fn book(entries: usize) -> Json {
    let entries: Object = (0..entries).map(|uid| (uid.to_string(), entry(uid))).collect();
    Json::object([("entries", entries.into())])
}

pub(crate) fn entry(uid: usize) -> Json {
    Json::object([
        ("uid", Json::from(uid)),
        ("key", Json::from(vec![format!("key {uid}")])),
        ("keysecondary", Json::Array(Vec::new())),
        ("comment", Json::from(format!("character-Person {uid}"))),
        ("content", Json::from(format!("Person {uid} lives in the harbour. ").repeat(12))),
        ("constant", Json::Bool(false)),
        ("selective", Json::Bool(true)),
        ("order", Json::from(100_usize)),
        ("position", Json::from(0_usize)),
        ("disable", Json::Bool(false)),
        ("depth", Json::from(4_usize)),
        ("displayIndex", Json::from(uid)),
    ])
}
