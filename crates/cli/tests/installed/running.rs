//! `forklore run`, with a stand-in for SillyTavern.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Output, Stdio};

use crate::stage::{Stage, chat, printed};
use crate::watching::Watcher;

fn run(stage: &Stage, script: &str) -> Output {
    stage.command(&["run", "--", "sh", "-c", script]).stdin(Stdio::null()).output().unwrap()
}

#[test]
fn it_ends_as_sillytavern_ends() {
    let stage = Stage::new();
    for (script, code) in [("exit 0", 0), ("exit 7", 7), ("kill -KILL $$", 137)] {
        let output = run(&stage, script);
        assert_eq!(output.status.code(), Some(code), "{script}: {}", printed(&output));
    }
}

#[test]
fn what_sillytavern_saves_is_recorded_also_if_it_ends_at_once() {
    let stage = Stage::new();
    stage.write("new", &chat("Story", None, 3));
    let (new, story) = (stage.path("new"), stage.path("chats/Ada/Story.jsonl"));
    fs::create_dir_all(story.parent().unwrap()).unwrap();
    let output = run(&stage, &format!("mv '{}' '{}'; echo saved", new.display(), story.display()));
    // It may have ended before the watch begins, or after.
    let said = printed(&output).replace("Watching the stories of 1 user.\n", "");
    assert_eq!(said, "saved\nStopped. Everything seen so far is recorded.\n");
    let log = stage.command(&["log", "Story"]).output().unwrap();
    assert!(printed(&log).contains("Ada/Story"), "{}", printed(&log));
}

#[test]
fn a_history_that_cannot_be_written_does_not_stop_sillytavern() {
    let stage = Stage::new();
    fs::write(stage.histories().join("default-user.git"), "in the way").unwrap();
    let output = run(&stage, "sleep 1; echo still here; exit 5");
    assert_eq!(output.status.code(), Some(5));
    assert!(printed(&output).contains("still here"), "{}", printed(&output));
    assert!(printed(&output).contains("default-user.git"), "it is said: {}", printed(&output));
}

#[test]
fn what_cannot_be_started_is_named() {
    let stage = Stage::new();
    let output = stage.command(&["run", "--", "no-such-tavern"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(
        printed(&output).contains("could not start \"no-such-tavern\""),
        "{}",
        printed(&output)
    );
}

#[test]
fn a_signal_is_passed_on() {
    let stage = Stage::new();
    let script = "trap 'echo told; exit 3' TERM; echo ready; while :; do sleep 0.05; done";
    let mut runner = Watcher::run(&stage, &["run", "--", "sh", "-c", script]);
    runner.until("ready");
    let (code, said) = runner.stop();
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains("told"), "{said}");
}

#[test]
fn where_somebody_else_records_already_that_is_said_once() {
    let stage = Stage::new();
    let mut watcher = Watcher::run(&stage, &["watch"]);
    watcher.until("Watching the stories.");
    let output = run(&stage, "sleep 3; exit 4");
    assert_eq!(output.status.code(), Some(4));
    assert_eq!(
        printed(&output).matches("is already recording the files of default-user").count(),
        1
    );
    let (_, output) = watcher.stop();
    assert!(!output.contains("already"), "{output}");
}

#[test]
fn what_records_ends_with_it_even_if_it_is_killed() {
    let stage = Stage::new();
    let script = "echo ready; exec sleep 600";
    let mut runner = Watcher::run(&stage, &["run", "--", "sh", "-c", script]);
    runner.until("ready");
    // The lock exists as soon as recording has begun.
    let is_recording = || {
        let watching = stage.histories().join("default-user.watching");
        let lock = fs::File::options().read(true).write(true).open(watching);
        lock.is_ok_and(|lock| lock.try_lock().is_err())
    };
    wait_for(&is_recording);
    let pid = runner.child.id().to_string();
    assert!(Command::new("kill").args(["-KILL", &pid]).status().unwrap().success());
    wait_for(&|| !is_recording());
    let _ = Command::new("pkill").args(["-KILL", "-P", &pid]).status();
}

#[test]
fn a_terminal_that_is_closed_does_not_end_what_records_before_sillytavern_ends() {
    let stage = Stage::new();
    let mut watch = stage.command(&["watch", "--until-closed"]);
    let mut watch = watch.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(watch.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("Watching the stories")));
    for signal in ["-HUP", "-INT"] {
        let pid = watch.id().to_string();
        assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
    }
    stage.write("chats/Ada/Story.jsonl", &chat("Story", None, 3));
    assert!(lines.any(|line| line.unwrap().contains("Ada/Story")));
    drop(watch.stdin.take());
    assert_eq!(watch.wait().unwrap().code(), Some(0));
}

#[cfg(target_os = "linux")]
#[test]
fn a_system_that_takes_no_service_is_left_as_it_was() {
    use std::os::unix::fs::PermissionsExt as _;

    let stage = Stage::new();
    let home = tempfile::tempdir().unwrap();
    let service = |args: &[&str]| {
        let mut command = stage.command(&[&["service"], args].concat());
        // A PATH without systemctl.
        let command = command.env("PATH", home.path()).env("HOME", home.path());
        command.env_remove("ANDROID_ROOT").output().unwrap()
    };
    let output = service(&["install", "--yes"]);
    assert_eq!(output.status.code(), Some(2), "{}", printed(&output));
    assert!(printed(&output).contains("systemctl --user daemon-reload"), "{}", printed(&output));
    let unit = home.path().join(".config/systemd/user/forklore.service");
    assert!(!unit.exists());
    assert_eq!(service(&["status"]).status.code(), Some(1));

    // A systemctl that notes what it is asked.
    let noting = format!("#!/bin/sh\necho \"$2\" >> '{}/asked'\n", home.path().display());
    let systemctl = home.path().join("systemctl");
    fs::write(&systemctl, &noting).unwrap();
    fs::set_permissions(&systemctl, fs::Permissions::from_mode(0o700)).unwrap();
    let asked = || {
        let asked = fs::read_to_string(home.path().join("asked")).unwrap_or_default();
        let _ = fs::remove_file(home.path().join("asked"));
        asked.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(service(&["install", "--yes"]).status.code(), Some(0));
    let text = fs::read_to_string(&unit).unwrap();
    assert!(text.contains(&*stage.scene.root().to_string_lossy()), "{text}");
    assert_eq!(asked(), ["daemon-reload", "enable"]);
    assert_eq!(service(&["status"]).status.code(), Some(0));
    // What runs is stopped first, or it would continue with the earlier folders.
    assert_eq!(service(&["install", "--yes"]).status.code(), Some(0));
    assert_eq!(asked(), ["disable", "daemon-reload", "enable"]);
    // SillyTavern may be gone by then.
    assert_eq!(service(&["--data", "/nowhere", "status"]).status.code(), Some(0));
    assert_eq!(service(&["--data", "/nowhere", "remove", "--yes"]).status.code(), Some(0));
    assert_eq!(asked(), ["disable"]);
    assert!(!unit.exists());
    let output = service(&["remove", "--yes"]);
    assert!(printed(&output).contains("It is not installed."), "{}", printed(&output));
    assert_eq!((asked(), output.status.code()), (vec![], Some(0)));

    // It accepts the file, but does not start it.
    fs::write(&systemctl, noting + "[ \"$2\" != enable ]\n").unwrap();
    assert_eq!(service(&["install", "--yes"]).status.code(), Some(2));
    assert_eq!(asked(), ["daemon-reload", "enable", "disable"]);
    assert!(!unit.exists());
}

fn wait_for(is_so: &dyn Fn() -> bool) {
    let end = std::time::Instant::now() + std::time::Duration::from_secs(30);
    while !is_so() {
        assert!(std::time::Instant::now() < end, "waited in vain");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}
