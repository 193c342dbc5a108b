//! A host: many users, each with a few chats and books.

use std::fs;
use std::path::{Path, PathBuf};

use crate::bench::history::stories::{Lore, Shape, Story, save};

/// What each user has.
pub(crate) const CHARACTERS: usize = 2;
pub(crate) const CHATS: usize = 3;
pub(crate) const MESSAGES: usize = 60;
pub(crate) const BOOKS: usize = 2;
pub(crate) const ENTRIES: usize = 40;

/// Different stories. Users share them, but for a line that is their own.
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
            // Each user's own name is in it somewhere.
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

    /// A chat as the user has it at first.
    pub(crate) fn chat(&self, user: usize, chat: usize) -> Vec<u8> {
        let mut bytes = self.stories[(user * CHATS + chat) % STORIES].clone();
        bytes.extend(line(user, 0));
        bytes
    }

    /// A file as it is after `saves` saves.
    pub(crate) fn saved(&self, user: usize, chat: usize, saves: usize) -> Vec<u8> {
        let mut bytes = self.chat(user, chat);
        (1..=saves).for_each(|save| bytes.extend(line(user, save)));
        bytes
    }

    /// Adds the message of a save to a chat, as SillyTavern does: by writing all of it.
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

/// A message that no other user has: as long as messages are, and as hard to deflate.
fn line(user: usize, save: usize) -> Vec<u8> {
    let mut story = Story::new((user * 1_000 + save) as u64 + 7, "");
    story.add_shaped(save % 2 == 1, Shape { prose: 700, reasoning: 200, swipes: 1 });
    story.last_line().to_vec()
}

/// Bytes, as the disk counts them, and files below a folder.
pub(crate) fn taken(folder: &Path) -> anyhow::Result<Taken> {
    use std::os::unix::fs::MetadataExt as _;
    let mut taken = Taken::default();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            // What is being replaced right now need not be there any more.
            let Ok(meta) = entry.metadata() else { continue };
            taken.inodes += 1;
            taken.allocated += meta.blocks() * 512;
            if meta.is_dir() {
                folders.push(entry.path());
            } else {
                taken.files += 1;
                taken.bytes += meta.len();
            }
        }
    }
    Ok(taken)
}

#[derive(Clone, Copy, Default)]
pub(crate) struct Taken {
    pub(crate) files: u64,
    /// Files and folders.
    pub(crate) inodes: u64,
    pub(crate) bytes: u64,
    pub(crate) allocated: u64,
}
