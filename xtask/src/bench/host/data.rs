//! Generates a host: many users, each with a few chats and books.

use std::fs;
use std::path::{Path, PathBuf};

use crate::bench::history::stories::{Lore, Shape, Story, save};

/// The data of each user.
pub(crate) const CHARACTERS: usize = 2;
pub(crate) const CHATS: usize = 3;
pub(crate) const MESSAGES: usize = 60;
pub(crate) const BOOKS: usize = 2;
pub(crate) const ENTRIES: usize = 40;

/// The number of different stories. Users share them, except for one line of their own.
const STORIES: usize = 16;

pub(crate) struct Host {
    pub(crate) root: PathBuf,
    stories: Vec<Vec<u8>>,
    books: Vec<Vec<u8>>,
}

impl Host {
    /// Writes the folders of all users.
    pub(crate) fn make(root: PathBuf, users: usize) -> anyhow::Result<Self> {
        let stories = (0..STORIES as u64).map(|seed| Story::of(seed, "Lore 0", MESSAGES).bytes);
        let books = (0..STORIES as u64).map(|seed| Lore::new(seed + 100, ENTRIES).bytes());
        let host = Self { root, stories: stories.collect(), books: books.collect() };
        for user in 0..users {
            host.make_user(user)?;
        }
        Ok(host)
    }

    fn make_user(&self, user: usize) -> anyhow::Result<()> {
        let home = self.home(user);
        for folder in ["worlds", "groups", "group chats", "characters", "backups", "themes"] {
            fs::create_dir_all(home.join(folder))?;
        }
        for character in 0..CHARACTERS {
            fs::create_dir_all(home.join(format!("chats/Character {character}")))?;
            let card = format!("not really a picture of {character}");
            fs::write(home.join(format!("characters/Character {character}.png")), card)?;
        }
        for chat in 0..CHATS {
            fs::write(self.chat_path(user, chat), self.chat(user, chat))?;
        }
        for book in 0..BOOKS {
            let text = &self.books[(user * BOOKS + book) % STORIES];
            // Makes the book different for each user.
            let text = String::from_utf8_lossy(text).replacen("Person 7", &handle(user), 1);
            fs::write(home.join(format!("worlds/Lore {book}.json")), text)?;
        }
        let settings = format!(
            "{{\n    \"username\": \"{}\",\n    \"active\": \"Character 0\",\n    \"zoom\": 1\n}}",
            handle(user)
        );
        Ok(fs::write(home.join("settings.json"), settings)?)
    }

    pub(crate) fn home(&self, user: usize) -> PathBuf {
        self.root.join(handle(user))
    }

    pub(crate) fn chat_path(&self, user: usize, chat: usize) -> PathBuf {
        let character = chat % CHARACTERS;
        self.home(user).join(format!("chats/Character {character}/Story {chat}.jsonl"))
    }

    /// The initial content of a chat.
    pub(crate) fn chat(&self, user: usize, chat: usize) -> Vec<u8> {
        let mut bytes = self.stories[(user * CHATS + chat) % STORIES].clone();
        bytes.extend(line(user, 0));
        bytes
    }

    /// The content of a chat after `saves` saves.
    pub(crate) fn saved(&self, user: usize, chat: usize, saves: usize) -> Vec<u8> {
        let mut bytes = self.chat(user, chat);
        (1..=saves).for_each(|save| bytes.extend(line(user, save)));
        bytes
    }

    /// Adds the message of a save to a chat as SillyTavern does, by rewriting the whole file.
    pub(crate) fn save(&self, user: usize, chat: usize, number: usize) -> anyhow::Result<()> {
        let path = self.chat_path(user, chat);
        let mut bytes = fs::read(&path)?;
        bytes.extend(line(user, number));
        save(&path, &bytes)
    }
}

pub(crate) fn handle(user: usize) -> String {
    format!("user-{user:06}")
}

/// A message that no other user has, with a realistic length and compressibility.
fn line(user: usize, save: usize) -> Vec<u8> {
    let mut story = Story::new((user * 1_000 + save) as u64 + 7, "");
    story.add_shaped(save % 2 == 1, Shape { prose: 700, reasoning: 200, swipes: 1 });
    story.last_line().to_vec()
}

/// Measures the disk usage of a folder.
pub(crate) fn disk_usage(folder: &Path) -> anyhow::Result<DiskUsage> {
    use std::os::unix::fs::MetadataExt as _;
    let mut usage = DiskUsage::default();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            // A file that is just being replaced may be gone.
            let Ok(meta) = entry.metadata() else { continue };
            usage.inodes += 1;
            usage.allocated += meta.blocks() * 512;
            if meta.is_dir() {
                folders.push(entry.path());
            } else {
                usage.files += 1;
                usage.bytes += meta.len();
            }
        }
    }
    Ok(usage)
}

#[derive(Clone, Copy, Default)]
pub(crate) struct DiskUsage {
    pub(crate) files: u64,
    /// Files and folders.
    pub(crate) inodes: u64,
    pub(crate) bytes: u64,
    pub(crate) allocated: u64,
}
