//! A separate character or group for each scene, and what SillyTavern returns for its chats.

use std::fs;
use std::path::PathBuf;

use forklore_testkit::sillytavern::{Answer, Api, Force, Server};
use serde_json::Value;

use super::command::{Ran, forklore, run_json};

pub(crate) struct Stage<'a> {
    pub(crate) server: &'a Server,
    name: String,
    home: Home,
}

enum Home {
    Character { avatar: String },
    Group { id: String },
}

/// A fork made by the command.
pub(crate) struct Fork {
    /// The name of its chat.
    pub(crate) chat: String,
    /// The name of its book.
    pub(crate) book: String,
    /// The command's answer.
    pub(crate) said: Value,
}

impl<'a> Stage<'a> {
    pub(crate) fn solo(server: &'a Server, name: &str) -> Self {
        let avatar = server.api().create_character(name, "Hello.");
        assert_eq!(avatar, format!("{name}.png"), "another scene has this name");
        Self { server, name: name.to_owned(), home: Home::Character { avatar } }
    }

    /// A group of two, with chats named after it.
    pub(crate) fn group(server: &'a Server, name: &str) -> Self {
        let one = server.api().create_character(&format!("{name} A"), "Hello.");
        let other = server.api().create_character(&format!("{name} B"), "Hello.");
        let id = server.api().create_group(name, &[&one, &other], &format!("{name} story"));
        Self { server, name: name.to_owned(), home: Home::Group { id } }
    }

    pub(crate) fn api(&self) -> &Api {
        self.server.api()
    }

    /// The name of the stage's first chat.
    pub(crate) fn chat(&self) -> String {
        format!("{} story", self.name)
    }

    /// The name of the stage's first book.
    pub(crate) fn book(&self) -> String {
        format!("{} lore", self.name)
    }

    /// A chat's name as commands accept it.
    pub(crate) fn label(&self, chat: &str) -> String {
        match &self.home {
            Home::Character { .. } => format!("{}/{chat}", self.name),
            Home::Group { .. } => format!("group:{chat}"),
        }
    }

    fn folder(&self) -> PathBuf {
        let user = self.server.data_root().join("default-user");
        match &self.home {
            Home::Character { .. } => user.join("chats").join(&self.name),
            Home::Group { .. } => user.join("group chats"),
        }
    }

    /// The content of a chat's file.
    #[track_caller]
    pub(crate) fn file(&self, chat: &str) -> String {
        let path = self.folder().join(format!("{chat}.jsonl"));
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// The content of a book's file, if it exists.
    pub(crate) fn book_file(&self, book: &str) -> Option<String> {
        let worlds = self.server.data_root().join("default-user/worlds");
        fs::read_to_string(worlds.join(format!("{book}.json"))).ok()
    }

    /// The group's file.
    pub(crate) fn group_file(&self) -> Value {
        let Home::Group { id } = &self.home else { panic!("{} is no group", self.name) };
        let path = self.server.data_root().join(format!("default-user/groups/{id}.json"));
        serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
    }

    pub(crate) fn group_id(&self) -> Option<&str> {
        match &self.home {
            Home::Character { .. } => None,
            Home::Group { id } => Some(id),
        }
    }

    pub(crate) fn avatar(&self) -> &str {
        match &self.home {
            Home::Character { avatar } => avatar,
            Home::Group { .. } => panic!("{} is no character", self.name),
        }
    }
}

/// Reading and writing through SillyTavern.
impl Stage<'_> {
    pub(crate) fn save(&self, chat: &str, lines: &[impl AsRef<str>]) -> Answer {
        match &self.home {
            Home::Character { avatar } => self.api().save_chat(avatar, chat, lines, Force::No),
            Home::Group { .. } => self.api().save_group_chat(chat, lines, Force::No),
        }
    }

    /// A chat as text, as a page gets it.
    #[track_caller]
    pub(crate) fn opened(&self, chat: &str) -> String {
        match &self.home {
            Home::Character { avatar } => self.api().get_chat(avatar, chat).ok().body,
            Home::Group { .. } => self.api().get_group_chat(chat).ok().body,
        }
    }

    #[track_caller]
    pub(crate) fn lines(&self, chat: &str) -> Vec<Value> {
        let Value::Array(lines) = serde_json::from_str(&self.opened(chat)).unwrap() else {
            panic!("{chat} is no list of lines");
        };
        assert!(!lines.is_empty(), "SillyTavern knows no chat {chat}");
        lines
    }

    #[track_caller]
    pub(crate) fn metadata(&self, chat: &str) -> Value {
        self.lines(chat)[0]["chat_metadata"].take()
    }

    /// Saves the chat as a page got it, with one more message. The rest of the text is unchanged.
    #[track_caller]
    pub(crate) fn append(&self, chat: &str, message: &Value) -> Answer {
        let opened = self.opened(chat);
        let inner = opened.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap();
        self.save(chat, &[inner, &message.to_string()])
    }

    /// Saves a chat with changed metadata, as an extension would.
    #[track_caller]
    pub(crate) fn change_metadata(&self, chat: &str, change: impl FnOnce(&mut Value)) {
        let mut lines = self.lines(chat);
        change(&mut lines[0]["chat_metadata"]);
        let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
        self.save(chat, &lines).ok();
    }

    #[track_caller]
    pub(crate) fn delete(&self, chat: &str) {
        self.api().delete_chat(self.avatar(), chat).ok();
    }

    /// The book that SillyTavern would scan for a chat, looked up as SillyTavern does: by the
    /// current name in the header.
    #[track_caller]
    pub(crate) fn scanned(&self, chat: &str) -> String {
        let metadata = self.metadata(chat);
        let book = metadata["world_info"].as_str().unwrap_or_else(|| panic!("{chat} has no book"));
        self.lore(book)
    }

    /// A book as text, as a page gets it.
    #[track_caller]
    pub(crate) fn lore(&self, book: &str) -> String {
        assert!(self.books().contains(&book.to_owned()), "SillyTavern lists no book {book}");
        self.api().get_book(book).ok().body
    }

    /// The stems of all books.
    pub(crate) fn books(&self) -> Vec<String> {
        let listed = self.api().list_books().ok().json();
        let books = listed.as_array().unwrap().iter();
        books.map(|book| book["file_id"].as_str().unwrap().to_owned()).collect()
    }
}

/// Running the command.
impl Stage<'_> {
    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        forklore(self.server, args)
    }

    pub(crate) fn run_json(&self, args: &[&str]) -> (i32, Value) {
        run_json(self.server, args)
    }

    /// Makes a checkpoint or branch of `chat`.
    #[track_caller]
    pub(crate) fn fork(&self, kind: &str, chat: &str, more: &[&str]) -> Fork {
        let label = self.label(chat);
        let (code, said) = self.run_json(&[&[kind, label.as_str()], more].concat());
        assert_eq!((code, said["command"].as_str()), (0, Some(kind)), "{said:#}");
        let child = said["child"].as_str().unwrap();
        Fork {
            chat: child.strip_prefix(&self.label("")).unwrap().to_owned(),
            book: said["book"]["name"].as_str().unwrap_or_default().to_owned(),
            said,
        }
    }

    /// All findings of `verify --all` about one chat: whether each is a problem, and its text.
    #[track_caller]
    pub(crate) fn findings(&self, chat: &str) -> Vec<(bool, String)> {
        let (_, said) = self.run_json(&["verify", "--all"]);
        let label = self.label(chat);
        let timelines = said["timelines"].as_array().unwrap();
        let timeline = timelines.iter().find(|timeline| timeline["chat"] == *label);
        let timeline = timeline.unwrap_or_else(|| panic!("{label} was not verified: {said:#}"));
        let found = timeline["findings"].as_array().unwrap().iter();
        found
            .map(|found| {
                (found["problem"].as_bool().unwrap(), found["text"].as_str().unwrap().to_owned())
            })
            .collect()
    }

    /// Asserts that there are no findings at all about these chats.
    #[track_caller]
    pub(crate) fn assert_no_findings(&self, chats: &[&str]) {
        for chat in chats {
            assert_eq!(self.findings(chat), [], "{chat}");
            let said = self.run(&["verify", &self.label(chat)]).ok();
            assert!(said.starts_with(&format!("ok {}\n", self.label(chat))), "{said}");
        }
    }
}
