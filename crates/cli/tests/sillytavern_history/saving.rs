//! Many clients save at once, and every version that SillyTavern wrote is in the history.
//!
//! `FORKLORE_WATCH_SECONDS=600` saves for ten minutes.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use forklore_core::digest::Digest;
use forklore_history::store::place;
use forklore_history::version::commit::Origin;
use forklore_history::version::history::History;
use forklore_tavern::disk::RealDisk;
use forklore_tavern::disk::clock::SystemClock;
use forklore_testkit::sillytavern::{Api, Force, Server};

use crate::watcher::Watcher;

fn seconds() -> u64 {
    std::env::var("FORKLORE_WATCH_SECONDS").ok().and_then(|n| n.parse().ok()).unwrap_or(15)
}

/// What a client edits.
enum Work {
    Chat { avatar: String, name: String },
    Book { name: String },
}

struct Client {
    work: Work,
    path: PathBuf,
    /// The pause between two saves.
    pause: Duration,
    lines: Vec<String>,
    saves: usize,
}

impl Client {
    fn chat(home: &Path, avatar: &str, name: &str, pause: u64) -> Self {
        let folder = avatar.trim_end_matches(".png");
        let path = home.join("chats").join(folder).join(format!("{name}.jsonl"));
        let work = Work::Chat { avatar: avatar.to_owned(), name: name.to_owned() };
        let header = format!(
            r#"{{"chat_metadata":{{"integrity":"{name}"}},"user_name":"U","character_name":"C"}}"#
        );
        let lines = vec![header];
        Self { work, path, pause: Duration::from_millis(pause), lines, saves: 0 }
    }

    fn book(home: &Path, name: &str, pause: u64) -> Self {
        let path = home.join("worlds").join(format!("{name}.json"));
        let work = Work::Book { name: name.to_owned() };
        Self { work, path, pause: Duration::from_millis(pause), lines: Vec::new(), saves: 0 }
    }

    /// Saves once more, and returns the new content of the file.
    fn save(&mut self, api: &Api) -> Vec<u8> {
        self.saves += 1;
        let number = self.saves;
        let file = self.path.file_stem().unwrap().to_string_lossy();
        let text = format!("{file} {number} {}", "the rain went on ".repeat(number % 40));
        match &self.work {
            Work::Chat { avatar, name } => {
                let swiped = number.is_multiple_of(5) && self.lines.len() > 1;
                if swiped {
                    self.lines.pop();
                }
                let line = format!(
                    r#"{{"name":"Mara","is_user":false,"mes":"{text}","swipe_id":{}}}"#,
                    number % 3
                );
                self.lines.push(line);
                api.save_chat(avatar, name, &self.lines, Force::No).ok();
            }
            Work::Book { name } => {
                let uid = self.lines.len();
                let entry = format!(
                    r#""{uid}":{{"uid":{uid},"key":["k{uid}"],"comment":"E{uid}","content":"{text}"}}"#
                );
                self.lines.push(entry);
                let book = format!(r#"{{"entries":{{{}}}}}"#, self.lines.join(","));
                api.edit_book(name, &book).ok();
            }
        }
        fs::read(&self.path).unwrap()
    }
}

fn clients(home: &Path, api: &Api) -> Vec<Client> {
    let ada = api.create_character("Ada", "Hello.");
    let ben = api.create_character("Ben", "Hello.");
    vec![
        Client::chat(home, &ada, "One", 100),
        Client::chat(home, &ada, "Two", 200),
        Client::chat(home, &ben, "Three", 350),
        Client::chat(home, &ben, "Four", 500),
        Client::chat(home, &ben, "Five", 1000),
        Client::book(home, "Lore A", 100),
        Client::book(home, "Lore B", 250),
        Client::book(home, "Lore C", 1000),
    ]
}

/// Digests of every version of every file, by name. Ten minutes of versions do not fit into memory.
fn recorded(data: &Path) -> BTreeMap<String, BTreeSet<Digest>> {
    let repository = place::repository(&place::folder(data, None), "default-user");
    let history = History::open_existing(&RealDisk, &SystemClock, repository).unwrap();
    let mut all: BTreeMap<String, BTreeSet<Digest>> = BTreeMap::new();
    for lineage in history.lineages().iter() {
        for version in history.versions(&lineage.tip) {
            let content = Digest::of(&history.content(&version).unwrap());
            all.entry(version.version.file.as_str().to_owned()).or_default().insert(content);
        }
    }
    all
}

fn name_of(home: &Path, path: &Path) -> String {
    path.strip_prefix(home).unwrap().display().to_string()
}

#[test]
fn sillytavern_every_version_saved_by_eight_clients_is_recorded() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    fs::create_dir(&data).unwrap();
    let server = Server::start(&data);
    let home = data.join("default-user");
    let clients = clients(&home, server.api());
    let watcher = Watcher::start(&data);

    let end = Instant::now() + Duration::from_secs(seconds());
    let written: Mutex<Vec<(String, Digest)>> = Mutex::default();
    std::thread::scope(|scope| {
        for mut client in clients {
            let (written, home, api) = (&written, &home, server.api());
            scope.spawn(move || {
                while Instant::now() < end {
                    let began = Instant::now();
                    let content = Digest::of(&client.save(api));
                    written.lock().unwrap().push((name_of(home, &client.path), content));
                    // Each client has its own pace.
                    std::thread::sleep(client.pause.saturating_sub(began.elapsed()));
                }
            });
        }
    });
    watcher.stop();
    let written = written.into_inner().unwrap();
    let recorded = recorded(&data);
    let missing = written
        .iter()
        .filter(|(name, content)| !recorded.get(name).is_some_and(|known| known.contains(content)))
        .count();
    assert!(written.len() as u64 > seconds() * 5, "{} saves", written.len());
    assert_eq!(missing, 0, "of {} versions", written.len());
    say(&format!(
        "{} versions saved by 8 clients in {} s, {missing} missing",
        written.len(),
        seconds()
    ));
}

#[test]
fn sillytavern_what_changed_while_nobody_watched_is_recorded_as_a_gap() {
    let writes = if seconds() >= 60 { 2000 } else { 160 };
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    fs::create_dir(&data).unwrap();
    let server = Server::start(&data);
    let home = data.join("default-user");
    let mut clients = clients(&home, server.api());
    let mut watcher = Watcher::start(&data);
    for client in &mut clients {
        client.save(server.api());
    }
    watcher.until("Lore C");
    // As in a power failure: nothing is flushed.
    watcher.kill();

    for _ in 0..writes / clients.len() {
        for client in &mut clients {
            client.save(server.api());
        }
    }
    let last: Vec<(String, Vec<u8>)> = clients
        .iter()
        .map(|client| (name_of(&home, &client.path), fs::read(&client.path).unwrap()))
        .collect();
    let watcher = Watcher::start(&data);
    watcher.stop();

    let repository = place::repository(&place::folder(&data, None), "default-user");
    let history = History::open_existing(&RealDisk, &SystemClock, repository).unwrap();
    for (name, bytes) in &last {
        let lineage = history.lineages().iter().find(|l| l.file().as_str() == name).unwrap();
        assert_eq!(&history.content(&lineage.tip).unwrap(), bytes, "{name}");
        assert_eq!(lineage.tip.version.why, Origin::Found, "{name}");
        let before = history.versions(&lineage.tip).nth(1).unwrap();
        assert_eq!(before.version.why, Origin::Saved, "{name}");
    }
    say(&format!(
        "{writes} writes while nobody watched; the last state of {} files found",
        last.len()
    ));
}

#[expect(clippy::print_stderr, reason = "figures for whoever runs this by hand")]
pub(crate) fn say(words: &str) {
    eprintln!("{words}");
}
