//! The output of `forklore watch`, especially at the end.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use forklore_json::Json;

use crate::stage::{Stage, chat, printed};

pub(crate) struct Watcher {
    pub(crate) child: Child,
    words: Receiver<String>,
    said: Vec<String>,
}

impl Watcher {
    fn start(stage: &Stage) -> Self {
        Self::run(stage, &["watch"])
    }

    pub(crate) fn run(stage: &Stage, args: &[&str]) -> Self {
        let mut command = stage.command(args);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (sender, words) = channel();
        let outputs: [Box<dyn std::io::Read + Send>; 2] =
            [Box::new(child.stdout.take().unwrap()), Box::new(child.stderr.take().unwrap())];
        for output in outputs {
            let sender = sender.clone();
            std::thread::spawn(move || {
                for line in BufReader::new(output).lines().map_while(Result::ok) {
                    let _ = sender.send(line);
                }
            });
        }
        Self { child, words, said: Vec::new() }
    }

    pub(crate) fn until(&mut self, words: &str) {
        while !self.said.iter().any(|line| line.contains(words)) {
            match self.words.recv_timeout(Duration::from_secs(60)) {
                Ok(line) => self.said.push(line),
                Err(_) => panic!("it never said {words:?}, only {:#?}", self.said),
            }
        }
    }

    /// Stops it as a service manager would. Returns its exit code and output.
    pub(crate) fn stop(mut self) -> (Option<i32>, String) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
        let code = self.child.wait().unwrap().code();
        self.said.extend(self.words.iter());
        (code, self.said.join("\n"))
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_program_is_told_of_every_version_in_a_line_of_its_own() {
    let stage = Stage::new();
    let mut watcher = Watcher::run(&stage, &["--json", "watch"]);
    watcher.until(r#""event":"watching""#);
    stage.write("chats/Ada/Story.jsonl", &chat("Story", None, 3));
    watcher.until("Story.jsonl");
    let (code, said) = watcher.stop();
    assert_eq!(code, Some(0), "{said}");
    let lines: Vec<Json> = said.lines().map(|line| Json::parse(line.as_bytes()).unwrap()).collect();
    for line in &lines {
        assert_eq!(line.get("format"), Some(&Json::from(2_usize)), "{said}");
        assert_eq!(line.get("command"), Some(&Json::from("watch")), "{said}");
    }
    let story = Json::from("chats/Ada/Story.jsonl");
    let recorded = lines.iter().find(|line| line.get("file") == Some(&story)).unwrap();
    assert_eq!(recorded.get("event"), Some(&Json::from("recorded")), "{said}");
    let end = lines.last().unwrap();
    assert_eq!(end.get("event"), Some(&Json::from("stopped")), "{said}");
    assert_eq!(end.get("recorded"), Some(&Json::Bool(true)), "{said}");
}

#[test]
fn a_watch_that_recorded_everything_says_so() {
    let stage = Stage::new();
    let mut watcher = Watcher::start(&stage);
    watcher.until("Watching the stories.");
    let (code, said) = watcher.stop();
    assert!(said.contains("Stopped. Everything seen so far is recorded."), "{said}");
    assert_eq!(code, Some(0));
}

#[test]
fn a_second_watch_of_the_same_files_says_that_there_is_one() {
    let stage = Stage::new();
    let mut first = Watcher::start(&stage);
    first.until("Watching the stories.");
    let mut second = Watcher::start(&stage);
    second.until("another `forklore watch` is already recording the files of default-user");
    assert_eq!(second.child.wait().unwrap().code(), Some(2));
    // A killed process holds no lock.
    drop(first);
    Watcher::start(&stage).until("Watching the stories.");
}

#[test]
fn a_watch_of_all_users_goes_ahead_although_one_of_them_is_watched() {
    let stage = Stage::new();
    stage.write("../ada/chats/Mara/Story.jsonl", &chat("Story", None, 3));
    let mut first = Watcher::run(&stage, &["--user", "default-user", "watch"]);
    first.until("Watching the stories.");
    let mut all = Watcher::run(&stage, &["watch", "--all-users"]);
    all.until("another `forklore watch` is already recording the files of default-user");
    all.until("Watching the stories of 2 users.");
    let log = stage.command(&["--user", "ada", "log", "Story"]).output().unwrap();
    assert!(printed(&log).contains("Mara/Story"), "{}", printed(&log));
    let mut third = Watcher::run(&stage, &["watch", "--all-users"]);
    third.until("another `forklore watch` is already recording the files of ada");
    assert_eq!(third.child.wait().unwrap().code(), Some(2));
}

#[test]
fn a_watch_that_can_record_nothing_does_not_end_well() {
    let stage = Stage::new();
    // A file is in the way where the history would be.
    fs::write(stage.histories().join("default-user.git"), "in the way").unwrap();
    let mut watcher = Watcher::start(&stage);
    watcher.until("Watching the stories");
    let (code, said) = watcher.stop();
    assert!(!said.contains("Everything seen so far is recorded"), "{said}");
    assert!(said.contains("Watching the stories, but nothing can be recorded yet."), "{said}");
    assert!(said.contains("Stopped. Not everything is recorded:"), "{said}");
    assert_eq!(code, Some(2), "{said}");
}

#[test]
fn a_watch_names_the_files_that_it_could_not_record() {
    let stage = Stage::new();
    stage.write("chats/Ada/Story.jsonl", &chat("Story", None, 3));
    // Links out of the data folder are not followed.
    std::os::unix::fs::symlink("/etc/hostname", stage.path("chats/Ada/Elsewhere.jsonl")).unwrap();
    let mut watcher = Watcher::start(&stage);
    watcher.until("Watching the stories");
    let (code, said) = watcher.stop();
    let end = said.split("Stopped. ").nth(1).unwrap_or_else(|| panic!("{said}"));
    assert!(end.starts_with("Not everything is recorded:"), "{said}");
    assert!(end.contains("Elsewhere.jsonl"), "{said}");
    assert_eq!(code, Some(2), "{said}");
}

#[test]
fn a_watch_that_sees_a_folder_of_chats_vanish_says_how_they_come_back() {
    let stage = Stage::new();
    for name in ["One", "Two", "Three"] {
        stage.write(&format!("chats/Ada/{name}.jsonl"), &chat(name, None, 4));
    }
    let mut watcher = Watcher::start(&stage);
    watcher.until("Watching the stories.");
    fs::remove_dir_all(stage.path("chats/Ada")).unwrap();
    watcher.until("3 chats of Ada are gone, with 12 messages");
    let (_, said) = watcher.stop();
    assert!(said.contains("`forklore undelete \"Ada\" --lost` brings them back"), "{said}");
}

/// The lines that are alarms.
fn alarms(said: &str) -> Vec<&str> {
    said.lines().filter(|line| line.starts_with("  ! ")).collect()
}

#[test]
fn a_user_whose_folder_goes_is_one_loss_and_is_watched_again_when_it_is_back() {
    let stage = Stage::new();
    for at in 0..30 {
        let name = format!("Story {at}");
        stage.write(&format!("chats/Ada/{name}.jsonl"), &chat(&name, None, 8));
    }
    let (home, away) = (stage.path(""), stage.scene.root().join("away"));
    let mut watcher = Watcher::start(&stage);
    watcher.until("Ctrl-C");
    fs::rename(&home, &away).unwrap();
    watcher.until("the folder of default-user is gone");
    fs::rename(&away, &home).unwrap();
    watcher.until("is back");
    stage.write("chats/Ada/Story 3.jsonl", &chat("Story 3", None, 9));
    watcher.until("Ada/Story 3: message 8");
    let (code, said) = watcher.stop();
    assert_eq!((code, alarms(&said).len()), (Some(0), 1), "{said}");

    let copy = tempfile::tempdir().unwrap();
    let there = copy.path().join("there");
    let copied = Command::new("cp").arg("-r").arg(&home).arg(&there).status().unwrap();
    assert!(copied.success());
    let mut watcher = Watcher::start(&stage);
    watcher.until("Ctrl-C");
    fs::remove_dir_all(&home).unwrap();
    watcher.until("the folder of default-user is gone");
    // File by file, so that for a while some are missing.
    fs::create_dir_all(home.join("chats/Ada")).unwrap();
    watcher.until("is back");
    let copied = Command::new("cp").arg("-r").arg(there.join(".")).arg(&home).status().unwrap();
    assert!(copied.success());
    stage.write("chats/Ada/Story 3.jsonl", &chat("Story 3", None, 10));
    watcher.until("Ada/Story 3: message 9");
    let (code, said) = watcher.stop();
    assert_eq!((code, alarms(&said).len()), (Some(0), 1), "{said}");
    assert!(!said.contains("chat deleted"), "{said}");
}

#[test]
fn what_fails_again_in_the_same_way_is_said_once() {
    let stage = Stage::new();
    stage.write("chats/Ada/Story.jsonl", &chat("Story", None, 3));
    let mut watcher = Watcher::start(&stage);
    watcher.until("Ctrl-C");
    let own = stage.histories().join("default-user.git/forklore");
    let away = stage.histories().join("away");
    fs::rename(&own, &away).unwrap();
    fs::write(&own, b"in the way").unwrap();
    stage.write("chats/Ada/Story.jsonl", &chat("Story", None, 4));
    watcher.until("not recorded, will try again soon");
    let doctor = || {
        let age = std::time::SystemTime::now() - Duration::from_secs(60);
        let story = stage.path("chats/Ada/Story.jsonl");
        fs::File::options().write(true).open(story).unwrap().set_modified(age).unwrap();
        stage.printed(&["doctor"])
    };
    assert!(!doctor().contains("everything that is saved is being recorded"));
    fs::remove_file(&own).unwrap();
    fs::rename(&away, &own).unwrap();
    watcher.until("Ada/Story: message 3");
    assert!(doctor().contains("everything that is saved is being recorded"));
    let (code, said) = watcher.stop();
    assert_eq!((code, alarms(&said).len()), (Some(0), 1), "{said}");
}
