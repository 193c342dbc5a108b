//! SillyTavern's endpoints, one method each.

use std::io;

use super::Answer;
use super::body::Body;
use super::session::Session;

/// A client for a running server.
#[derive(Debug)]
pub struct Api {
    session: Session,
}

/// Whether a save may overwrite a chat with a different `integrity`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Force {
    Yes,
    No,
}

/// Whether a list of chats includes each one's `chat_metadata`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metadata {
    With,
    Without,
}

/// Characters. SillyTavern identifies a character by its `avatar`, the name of its card file.
impl Api {
    /// Returns the new character's avatar. A duplicate name gets a number.
    #[track_caller]
    pub fn create_character(&self, name: &str, first_message: &str) -> String {
        let body = Body::new().text("ch_name", name).text("first_mes", first_message);
        self.post("/api/characters/create", body).ok().body
    }

    /// Makes `chat` the one that opens with the character.
    pub fn set_current_chat(&self, avatar: &str, chat: &str) -> Answer {
        let body = Body::new().text("avatar", avatar).text("chat", chat);
        self.post("/api/characters/merge-attributes", body)
    }
}

/// Solo chats. Names have no `.jsonl`; `lines` are JSON text, header first.
impl Api {
    pub fn save_chat(
        &self,
        avatar: &str,
        name: &str,
        lines: &[impl AsRef<str>],
        force: Force,
    ) -> Answer {
        let body = Body::new()
            .text("avatar_url", avatar)
            .text("file_name", name)
            .list("chat", lines)
            .flag("force", force == Force::Yes);
        self.post("/api/chats/save", body)
    }

    pub fn get_chat(&self, avatar: &str, name: &str) -> Answer {
        let body = Body::new().text("avatar_url", avatar).text("file_name", name);
        self.post("/api/chats/get", body)
    }

    pub fn delete_chat(&self, avatar: &str, name: &str) -> Answer {
        let body = Body::new().text("avatar_url", avatar).text("chatfile", &file(name));
        self.post("/api/chats/delete", body)
    }

    pub fn rename_chat(&self, avatar: &str, from: &str, to: &str) -> Answer {
        let body = Body::new()
            .flag("is_group", false)
            .text("avatar_url", avatar)
            .text("original_file", &file(from))
            .text("renamed_file", &file(to));
        self.post("/api/chats/rename", body)
    }

    pub fn list_chats(&self, avatar: &str, metadata: Metadata) -> Answer {
        let body =
            Body::new().text("avatar_url", avatar).flag("metadata", metadata == Metadata::With);
        self.post("/api/characters/chats", body)
    }
}

/// Groups. All their chats are in one folder, so a group chat is identified by its name alone.
impl Api {
    /// Returns the new group's id. It is a timestamp in milliseconds, so two groups created in the
    /// same millisecond would collide; over HTTP that has not been seen.
    #[track_caller]
    pub fn create_group(&self, name: &str, members: &[&str], chat: &str) -> String {
        let body = Body::new()
            .text("name", name)
            .texts("members", members)
            .text("chat_id", chat)
            .texts("chats", &[chat]);
        let group = self.post("/api/groups/create", body).ok().json();
        group["id"].as_str().expect("SillyTavern gives a group an id").to_owned()
    }

    pub fn all_groups(&self) -> Answer {
        self.post("/api/groups/all", Body::new())
    }

    /// Writes a group's file; `group` is the JSON text of the whole object.
    pub fn edit_group(&self, group: &str) -> Answer {
        self.post_text("/api/groups/edit", group)
    }

    pub fn save_group_chat(&self, name: &str, lines: &[impl AsRef<str>], force: Force) -> Answer {
        let body =
            Body::new().text("id", name).list("chat", lines).flag("force", force == Force::Yes);
        self.post("/api/chats/group/save", body)
    }

    pub fn get_group_chat(&self, name: &str) -> Answer {
        self.post("/api/chats/group/get", Body::new().text("id", name))
    }

    pub fn delete_group_chat(&self, name: &str) -> Answer {
        self.post("/api/chats/group/delete", Body::new().text("id", name))
    }
}

/// Books.
impl Api {
    pub fn edit_book(&self, name: &str, book: &str) -> Answer {
        self.post("/api/worldinfo/edit", Body::new().text("name", name).raw("data", book))
    }

    /// For a book that does not exist, the answer is 200 with no entries.
    pub fn get_book(&self, name: &str) -> Answer {
        self.post("/api/worldinfo/get", Body::new().text("name", name))
    }

    pub fn list_books(&self) -> Answer {
        self.post("/api/worldinfo/list", Body::new())
    }

    pub fn delete_book(&self, name: &str) -> Answer {
        self.post("/api/worldinfo/delete", Body::new().text("name", name))
    }
}

/// Settings.
impl Api {
    /// In the answer, `settings` is the user's settings as a JSON string.
    pub fn get_settings(&self) -> Answer {
        self.post("/api/settings/get", Body::new())
    }

    /// Writes `settings.json`; `settings` is the JSON text of the whole object.
    pub fn save_settings(&self, settings: &str) -> Answer {
        self.post_text("/api/settings/save", settings)
    }
}

/// Everything else.
impl Api {
    pub(super) fn new(session: Session) -> Self {
        Self { session }
    }

    /// Posts JSON text to any endpoint.
    #[track_caller]
    pub fn post_text(&self, path: &str, json: &str) -> Answer {
        let posted = self.session.post(path, json).or_else(|error| match error {
            // An idle connection is closed after a while, sometimes just as we reuse it.
            ureq::Error::Io(error) if error.kind() == io::ErrorKind::ConnectionReset => {
                self.session.post(path, json)
            }
            error => Err(error),
        });
        posted.unwrap_or_else(|error| panic!("SillyTavern did not answer {path}: {error}"))
    }

    /// Posts as another site would: with our cookies, but without our token.
    #[track_caller]
    pub fn forge(&self, path: &str, json: &str) -> Answer {
        self.session
            .forge(path, json)
            .unwrap_or_else(|error| panic!("SillyTavern did not answer {path}: {error}"))
    }

    #[track_caller]
    fn post(&self, path: &str, body: Body) -> Answer {
        self.post_text(path, &body.finish())
    }
}

/// A name that contains a dot must have the extension; for other names it is optional.
fn file(name: &str) -> String {
    format!("{name}.jsonl")
}
