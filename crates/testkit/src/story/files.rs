//! Writes a story's files in SillyTavern's layout.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use forklore_core::journal::FIELD;
use forklore_core::sillytavern::names::{self, NamedFile};
use forklore_core::timeline::family::Home;
use forklore_json::{Indent, Json, Object};

use super::{Story, USER};

/// Members that no value type can round-trip, for the start of a line.
const ODD_MEMBERS: &str =
    r#" "odd" : 1.0,"dup":1,"dup":2, "\u0041":"\/ \ud800","big":12345678901234567890,"#;

impl Story {
    /// Writes all files into the data folder `root`.
    pub fn write_to(&self, root: &Path) -> io::Result<()> {
        let user = root.join(USER);
        let chat = user.join(self.chat_path());
        let folder = chat.parent().expect("a chat is in a folder");
        fs::create_dir_all(folder)?;
        fs::create_dir_all(user.join("worlds"))?;
        fs::create_dir_all(user.join("groups"))?;
        fs::write(&chat, self.chat_bytes())?;
        if let Some(last) = self.sharing_branch {
            fs::write(
                folder.join(format!("{}.jsonl", self.branch_name())),
                self.branch_bytes(last),
            )?;
        }
        for (name, book) in &self.books {
            let is_lost = self.book_is_lost && self.bound.as_ref() == Some(name);
            if !is_lost {
                fs::write(user.join(Self::book_path(name)), self.book_bytes(book))?;
            }
        }
        if let Home::Group(Some(id)) = &self.home {
            let mut chats = vec![self.chat.clone()];
            chats.extend(self.sharing_branch.map(|_| self.branch_name()));
            let group = Json::object([
                ("id", Json::from(id.as_str())),
                ("name", Json::from("The group")),
                ("members", Json::from(vec!["Ada.png"])),
                ("chat_id", Json::from("another")),
                ("chats", Json::from(chats)),
                ("fav", Json::Bool(false)),
            ]);
            fs::write(
                user.join("groups").join(format!("{id}.json")),
                group.stringify_with(Indent::BOOK),
            )?;
        }
        fs::write(user.join("settings.json"), b"{}")
    }

    /// The path of the chat's file, relative to the user's folder.
    pub fn chat_path(&self) -> PathBuf {
        let folder = match &self.home {
            Home::Character(character) => Path::new("chats").join(character),
            Home::Group(_) | Home::Loose => PathBuf::from("group chats"),
        };
        folder.join(format!("{}.jsonl", self.chat))
    }

    /// The path of a book's file, relative to the user's folder.
    pub fn book_path(name: &str) -> PathBuf {
        let stem = names::stem(name, NamedFile::Book).expect("stories' books have good names");
        Path::new("worlds").join(format!("{stem}.json"))
    }

    pub fn branch_name(&self) -> String {
        format!("{} - Branch #77", self.chat)
    }

    pub fn chat_bytes(&self) -> Vec<u8> {
        let header = self.header(&self.metadata);
        self.lines_after(header, self.messages.len())
    }

    fn branch_bytes(&self, last: usize) -> Vec<u8> {
        let mut metadata = self.metadata.clone();
        metadata.insert("main_chat", self.chat.as_str());
        metadata.insert("integrity", "bbbbbbbb-bbbb-4bbb-8bbb-bbbbbbbbbbbb");
        let header = self.header(&metadata);
        self.lines_after(header, last + 1)
    }

    fn header(&self, metadata: &Object) -> Vec<u8> {
        let metadata = ("chat_metadata", Json::Object(metadata.clone()));
        let header = if self.formatting.legacy_header {
            Json::object([
                ("user_name", Json::from("Me")),
                ("character_name", Json::from("Ada")),
                ("create_date", Json::from("2024-7-12@01h31m37s")),
                metadata,
            ])
        } else {
            Json::object([
                metadata,
                ("user_name", "unused".into()),
                ("character_name", "unused".into()),
            ])
        };
        header.stringify()
    }

    fn lines_after(&self, header: Vec<u8>, count: usize) -> Vec<u8> {
        let mut lines = vec![header];
        for (index, message) in self.messages.iter().take(count).enumerate() {
            if self.formatting.garbage_before == Some(index) {
                lines.push(b"{\"mes\":\"torn".to_vec());
            }
            let mut value = message.value.clone();
            if let Some(record) = &message.record {
                value.insert(FIELD, record.to_json());
            }
            let mut line = Json::Object(value).stringify();
            if self.formatting.odd_members && index % 2 == 0 {
                line.splice(1..1, ODD_MEMBERS.bytes());
            }
            lines.push(line);
        }
        let mut bytes = lines.join(&b"\r\n"[usize::from(!self.formatting.windows_line_ends)..]);
        if self.formatting.final_newline {
            bytes.push(b'\n');
        }
        bytes
    }

    fn book_bytes(&self, book: &Object) -> Vec<u8> {
        let value = Json::Object(book.clone());
        let mut bytes = if self.formatting.tight_book {
            value.stringify()
        } else {
            value.stringify_with(Indent::BOOK)
        };
        if self.formatting.odd_members {
            bytes.splice(1..1, ODD_MEMBERS.bytes());
        }
        bytes
    }
}
