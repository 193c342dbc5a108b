//! A small hand-made data folder with one chat for each typical situation.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use forklore_core::journal::{self, Arrival, Limits, Record, RecordId, RecordedState, StatePart};
use forklore_core::timeline::mark::Mark;
use forklore_json::{Indent, Json};
use forklore_tavern::disk::Disk;
use forklore_tavern::disk::clock::Clock;
use forklore_tavern::disk::write::is_our_temp;
use forklore_tavern::folder::layout::UserFolders;
use forklore_tavern::work::tavern::Tavern;

pub use crate::fixed_clock::Stopped;

/// The user that the folder belongs to.
pub const USER: &str = "default-user";

/// A chat of Alice's with a journal, bound to `Lore`.
pub const STORY: &str = "Alice/Story";
/// A group chat with a journal, bound to `Quest lore`.
pub const QUEST: &str = "group:Quest";
/// A chat and its older branch, both bound to `Shared`.
pub const OLD_TALE: &str = "Alice/Old tale";
pub const OLD_BRANCH: &str = "Alice/Old tale - Branch #1";
/// A chat whose book `Lost` is missing, but recorded in its journal.
pub const BEREFT: &str = "Alice/Bereft";
/// A chat whose book `Garbled` cannot be read.
pub const GARBLED: &str = "Alice/Garbled tale";

/// Files by path relative to some folder, separated by `/`.
pub type Tree = BTreeMap<String, Vec<u8>>;

/// A temporary data root, deleted on drop.
#[derive(Debug)]
pub struct Scene {
    folder: tempfile::TempDir,
}

impl Scene {
    /// The folder described in the module documentation.
    pub fn new() -> Self {
        Self::of(&default_files())
    }

    /// A data root with these files. In memory if possible: tests that create thousands of them do
    /// not need a real disk.
    pub fn of(tree: &Tree) -> Self {
        let memory = Path::new("/dev/shm");
        let folder =
            if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
        let scene = Self { folder: folder.expect("temporary folders can be made") };
        for (path, bytes) in tree {
            scene.write(path, bytes);
        }
        scene
    }

    /// Same as [`Scene::of`], but on a real disk, where syncing takes time.
    pub fn on_disk(tree: &Tree) -> Self {
        let scene = Self { folder: tempfile::tempdir().expect("temporary folders can be made") };
        for (path, bytes) in tree {
            scene.write(path, bytes);
        }
        scene
    }

    pub fn root(&self) -> &Path {
        self.folder.path()
    }

    pub fn folders(&self) -> UserFolders {
        UserFolders::new(self.root(), USER).expect("the user's name is a name")
    }

    pub fn tavern<'d>(&self, disk: &'d dyn Disk, clock: &'d dyn Clock) -> Tavern<'d> {
        Tavern { disk, clock, folders: self.folders(), pasts: None }
    }

    /// Writes a file, given its path relative to the data root.
    pub fn write(&self, path: &str, bytes: &[u8]) {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().expect("a file is in a folder")).expect("it can be made");
        fs::write(path, bytes).expect("it can be written");
    }

    /// Every file below the data root, including Forklore's own.
    pub fn all(&self) -> Tree {
        read_tree(self.root())
    }

    /// Every file of the user except Forklore's temporary files, which SillyTavern does not list.
    pub fn visible(&self) -> Tree {
        self.below_user(|name| !is_our_temp(name))
    }

    /// Forklore's temporary files in the user's folders.
    pub fn temps(&self) -> Tree {
        self.below_user(is_our_temp)
    }

    pub fn trash(&self) -> Tree {
        read_tree(&self.folders().ours.join("trash"))
    }

    fn below_user(&self, wanted: impl Fn(&str) -> bool) -> Tree {
        let mut tree = read_tree(&self.root().join(USER));
        tree.retain(|path, _| wanted(path.rsplit('/').next().unwrap_or(path)));
        tree
    }
}

impl Default for Scene {
    fn default() -> Self {
        Self::new()
    }
}

pub fn read_tree(folder: &Path) -> Tree {
    let mut tree = Tree::new();
    let Ok(entries) = fs::read_dir(folder) else { return tree };
    for entry in entries {
        let entry = entry.expect("the folder can be listed");
        let name = entry.file_name().into_string().expect("names here are Unicode");
        if entry.path().is_dir() {
            let below = read_tree(&entry.path());
            tree.extend(below.into_iter().map(|(path, bytes)| (format!("{name}/{path}"), bytes)));
        } else {
            tree.insert(name, fs::read(entry.path()).expect("the file can be read"));
        }
    }
    tree
}

fn default_files() -> Tree {
    let lore = |last: usize| book((0..=last).map(|uid| (uid, format!("lore {uid}"))));
    let mut files: Vec<(String, Vec<u8>)> = vec![
        ("characters/Alice.png".into(), card("Alice", "Elsewhere", "Common")),
        ("settings.json".into(), settings("Common")),
        ("groups/1700.json".into(), group()),
        ("worlds/Common.json".into(), written(&lore(0))),
        ("worlds/Lore.json".into(), written(&lore(5))),
        ("worlds/Shared.json".into(), written(&lore(1))),
        ("worlds/Quest lore.json".into(), written(&lore(3))),
        ("worlds/Garbled.json".into(), b"{\"entries\": {\"0\": {".to_vec()),
        ("worlds/Gone - Lore.json".into(), orphan("Gone", &lore(2))),
        ("worlds/Gone too - Lore.json".into(), orphan("Gone too", &lore(0))),
    ];
    let books = |last: usize| (0..=last).map(lore).collect::<Vec<_>>();
    let chats = [
        ("chats/Alice/Story", journalled("Lore", &books(5))),
        ("chats/Alice/Bereft", journalled("Lost", &books(2))),
        ("group chats/Quest", journalled("Quest lore", &books(3))),
        ("chats/Alice/Old tale", plain(&[("world_info", "Shared")], 4)),
        (
            "chats/Alice/Old tale - Branch #1",
            plain(&[("main_chat", "Old tale"), ("world_info", "Shared")], 3),
        ),
        ("chats/Alice/Garbled tale", plain(&[("world_info", "Garbled")], 2)),
        ("chats/Alice/Elsewhere", plain(&[], 1)),
        ("group chats/Meeting", plain(&[], 1)),
        ("backups/chat_alice_20260101-101010", plain(&[("world_info", "Lore")], 2)),
    ];
    files.extend(chats.into_iter().map(|(path, chat)| (format!("{path}.jsonl"), chat)));
    files.into_iter().map(|(path, bytes)| (format!("{USER}/{path}"), bytes)).collect()
}

pub fn book(entries: impl IntoIterator<Item = (usize, String)>) -> Json {
    let entries = entries.into_iter().map(|(uid, content)| {
        let comment = format!("entry {uid}");
        let entry = Json::object([
            ("uid", Json::from(uid)),
            ("key", Json::from(vec![comment.as_str()])),
            ("comment", Json::from(comment.as_str())),
            ("content", Json::from(content)),
        ]);
        (uid.to_string(), entry)
    });
    Json::object([("entries", Json::object(entries))])
}

/// The bytes of a lorebook, as SillyTavern writes them.
pub fn written(book: &Json) -> Vec<u8> {
    book.stringify_with(Indent::BOOK)
}

fn orphan(chat: &str, book: &Json) -> Vec<u8> {
    let mark = Mark {
        chat: chat.into(),
        integrity: None,
        from_book: Some("Lore".into()),
        from_chat: Some("Story".into()),
        message: Some(1),
        made: "2026-01-01T00:00:00.000Z".into(),
        part: None,
    };
    let bytes = written(book);
    let book = forklore_core::sillytavern::book::Book::read(&bytes).expect("it was just written");
    book.with_mark(Some(&mark.to_json()))
}

/// The first line of a chat, without its line ending.
pub fn header(metadata: &Json) -> Vec<u8> {
    let header = Json::object([
        ("user_name", Json::from("User")),
        ("character_name", Json::from("Alice")),
        ("create_date", Json::from("2026-1-1@10h10m10s")),
        ("chat_metadata", metadata.clone()),
    ]);
    header.stringify()
}

/// The line of a message, without its line ending.
pub fn message(number: usize, record: Option<Json>) -> Vec<u8> {
    let is_user = !number.is_multiple_of(2);
    let mut fields = vec![
        ("name", Json::from(if is_user { "User" } else { "Alice" })),
        ("is_user", Json::from(is_user)),
        ("send_date", Json::from("January 1, 2026 10:10am")),
        ("mes", Json::from(format!("message {number}"))),
        ("extra", Json::object::<&str>([])),
    ];
    fields.extend(record.map(|record| (journal::FIELD, record)));
    Json::object(fields).stringify()
}

fn metadata(fields: &[(&str, &str)]) -> Json {
    let mut fields: Vec<(&str, Json)> =
        fields.iter().map(|(key, value)| (*key, Json::from(*value))).collect();
    fields.push(("integrity", Json::from("0000aaaa-0000-4000-8000-000000000000")));
    fields.push(("note_prompt", Json::from("a note")));
    Json::object(fields)
}

fn plain(fields: &[(&str, &str)], messages: usize) -> Vec<u8> {
    let mut lines = vec![header(&metadata(fields))];
    lines.extend((0..messages).map(|number| message(number, None)));
    lines.join(&b'\n')
}

/// A chat whose message n has the record of the nth book.
fn journalled(name: &str, books: &[Json]) -> Vec<u8> {
    let metadata = metadata(&[("world_info", name)]);
    let mut lines = vec![header(&metadata)];
    let mut before: Option<(Record, RecordedState)> = None;
    for (number, book) in books.iter().enumerate() {
        let state = RecordedState::of(&metadata, Some((name, book)));
        let record = watched(number as u64, before.as_ref(), &state);
        lines.push(message(number, Some(record.to_json())));
        before = Some((record, state));
    }
    lines.join(&b'\n')
}

/// The record of a message that a page observed arriving; afterwards the state became `now`.
pub fn watched(
    number: u64,
    before: Option<&(Record, RecordedState)>,
    now: &RecordedState,
) -> Record {
    let came = before.and_then(|(record, state)| {
        Some(Arrival {
            after: record.uid.clone()?,
            book: Some(state.digest(StatePart::Book)),
            metadata: Some(state.digest(StatePart::Metadata)),
            assumed: false,
            file: Some(true),
        })
    });
    let previous = before.map(|(record, state)| (record.id.as_str(), state));
    journal::record(previous, now, Limits::default()).with(RecordId::new(number + 1, "t"), came)
}

fn group() -> Vec<u8> {
    let group = Json::object([
        ("id", Json::from("1700")),
        ("name", Json::from("Company")),
        ("members", Json::from(vec!["Alice.png"])),
        ("chat_id", Json::from("Meeting")),
        ("chats", Json::from(vec!["Quest", "Meeting"])),
    ]);
    group.stringify_with(Indent::BOOK)
}

fn settings(book: &str) -> Vec<u8> {
    let selected = Json::object([("globalSelect", Json::from(vec![book]))]);
    let world_info = Json::object([("world_info", selected)]);
    Json::object([("world_info_settings", world_info)]).stringify_with(Indent::BOOK)
}

/// A character card: a PNG with only a text chunk and the end chunk. Programs that read the
/// character ignore the image.
pub fn card(name: &str, chat: &str, world: &str) -> Vec<u8> {
    let extensions = Json::object([("world", Json::from(world))]);
    let data = Json::object([("name", Json::from(name)), ("extensions", extensions)]);
    let character =
        Json::object([("name", Json::from(name)), ("chat", Json::from(chat)), ("data", data)]);
    let text = format!("chara\0{}", BASE64.encode(character.stringify()));
    let mut png = b"\x89PNG\r\n\x1a\n".to_vec();
    for (kind, data) in [(b"tEXt", text.as_bytes()), (b"IEND", b"")] {
        let length = u32::try_from(data.len()).expect("a card is small");
        png.extend(length.to_be_bytes());
        png.extend(kind);
        png.extend(data);
        // The checksum is not verified here.
        png.extend([0; 4]);
    }
    png
}
