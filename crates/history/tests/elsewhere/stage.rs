//! Machines with chats, and remotes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use forklore_history::file::FileName;
use forklore_history::record::recorder::Observed;
use forklore_history::version::history::History;
use forklore_tavern::disk::RealDisk;
use forklore_tavern::disk::clock::SystemClock;
use tempfile::TempDir;

pub(crate) struct Stage {
    folder: TempDir,
}

impl Stage {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The history of a machine, created on first use.
    pub(crate) fn machine(&self, host: &str) -> History<'static> {
        let repository = self.path(&format!("{host}.git"));
        History::open(&RealDisk, &SystemClock, repository, host).unwrap()
    }

    /// The history of a machine that is a copy of another, including its name.
    pub(crate) fn copy(&self, history: History<'_>, host: &str) -> History<'static> {
        let repository = history.store().layout().repository.clone();
        drop(history);
        let copied = Command::new("cp")
            .arg("-r")
            .arg(repository)
            .arg(self.path(&format!("{host}.git")))
            .status();
        assert!(copied.unwrap().success());
        self.machine(host)
    }

    /// An empty bare repository.
    pub(crate) fn remote(&self) -> String {
        let path = self.path("remote.git");
        git(Path::new("/"), &["init", "--quiet", "--bare", path.to_str().unwrap()]);
        path.to_str().unwrap().to_owned()
    }
}

pub(crate) fn now() -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(1_800_000_000)
}

/// A chat with this many messages.
pub(crate) fn chat(words: &str, messages: usize) -> String {
    let mut text =
        String::from(r#"{"chat_metadata":{},"user_name":"unused","character_name":"unused"}"#);
    for number in 0..messages {
        text += &format!(
            "\n{{\"name\":\"Anna\",\"is_user\":false,\"send_date\":\"{words} {number}\",\"mes\":\"{words}, {number}.\"}}"
        );
    }
    text
}

pub(crate) fn save(history: &mut History<'_>, name: &str, text: &str) {
    let mut recorder = history.record().unwrap();
    let name = FileName::of_text(name);
    recorder.file(&name, text.as_bytes(), now(), Observed::AsItHappened, &|_| true).unwrap();
    recorder.persist().unwrap();
}

/// Saves a chat message by message.
pub(crate) fn save_each_message(
    history: &mut History<'_>,
    name: &str,
    words: &str,
    messages: usize,
) {
    for number in 1..=messages {
        save(history, name, &chat(words, number));
    }
}

/// Every version of every file, by machine, file and number.
pub(crate) fn everything(history: &History<'_>) -> BTreeMap<(String, String, u64), Vec<u8>> {
    let mut all = BTreeMap::new();
    assert!(history.lineages().unreadable.is_empty());
    for lineage in history.lineages().iter() {
        for stored in history.own_versions(lineage) {
            let file = stored.version.file.as_str().to_owned();
            let content = history.content(&stored).unwrap();
            all.insert((lineage.machine.clone(), file, stored.version.number), content);
        }
    }
    assert!(!history.store().met_damage());
    all
}

/// Runs git as a user would, but without the user's settings.
pub(crate) fn git(folder: &Path, args: &[&str]) -> String {
    let output = Command::new("git")
        .current_dir(folder)
        .args(args)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git {args:?}: {said}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub(crate) fn fsck(repository: &Path) {
    let output = Command::new("git")
        .arg("--git-dir")
        .arg(repository)
        .args(["fsck", "--strict", "--no-dangling"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned()
        + &String::from_utf8_lossy(&output.stdout);
    let said: Vec<&str> = said.lines().filter(|line| !is_harmless(line)).collect();
    assert!(output.status.success() && said.is_empty(), "{said:?}");
}

/// Our repositories are bare and have no branch `main`.
fn is_harmless(line: &str) -> bool {
    line.starts_with("notice: HEAD points to an unborn branch")
        || line == "notice: No default references"
}
