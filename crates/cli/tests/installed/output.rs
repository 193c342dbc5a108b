//! Output that cannot be written.

use std::fs::File;

use crate::stage::{Stage, chat};

/// All output goes through the same few functions, so these commands stand for all.
const COMMANDS: [&[&str]; 10] = [
    &["status"],
    &["--json", "status"],
    &["log"],
    &["--json", "log"],
    &["show", "Ada/Story", "--version", "1"],
    &["history", "bundle", "-"],
    &["tree"],
    &["completions", "bash"],
    &["man"],
    &["--help"],
];

fn stage() -> Stage {
    let stage = Stage::new();
    stage.write("chats/Ada/Story.jsonl", &chat("Story", None, 3));
    assert!(stage.run(&["record"]).status.success());
    stage
}

#[cfg(target_os = "linux")]
#[test]
fn output_that_a_full_disk_swallowed_is_no_success() {
    let stage = stage();
    for args in COMMANDS {
        assert!(stage.run(args).status.success(), "{args:?}");
        let full = File::options().write(true).open("/dev/full").unwrap();
        let output = stage.command(args).stdout(full).output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{args:?}: {errors}");
        assert!(errors.contains("could not write the output"), "{args:?}: {errors}");
        assert!(errors.contains("No space left"), "{args:?}: {errors}");
    }
}

#[test]
fn what_is_shown_can_be_written_into_a_file_and_never_over_one() {
    let stage = stage();
    let printed = stage.run(&["show", "Story", "--version", "1"]).stdout;
    let file = stage.path("saved.jsonl");
    let output = ["show", "Story", "--version", "1", "--output", file.to_str().unwrap()];
    let written = stage.run(&output);
    assert!(written.status.success() && written.stdout.is_empty());
    assert_eq!(std::fs::read(&file).unwrap(), printed);
    let again = stage.run(&output);
    assert_eq!(again.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&again.stderr).contains("already exists"));
    assert_eq!(std::fs::read(&file).unwrap(), printed);
}

#[test]
fn a_reader_that_has_seen_enough_is_no_failure() {
    let stage = stage();
    for args in COMMANDS {
        // `show` describes its output on stderr.
        let errors = stage.run(args).stderr;
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = stage.command(args).stdout(writer).output().unwrap();
        assert_eq!((output.status.code(), output.stderr), (Some(0), errors), "{args:?}");
    }
}

#[test]
fn a_shell_completes_the_names_of_chats_and_lorebooks() {
    let stage = stage();
    stage.write("chats/Bo/The $5 tale.jsonl", &chat("Tale", None, 1));
    let offered = |typed: &str| {
        let mut command = stage.command(&["--", "forklore", "branch", typed]);
        command
            .env("FORKLORE_COMPLETE", "bash")
            .env("_CLAP_COMPLETE_INDEX", "2")
            .env("_CLAP_IFS", "\n");
        let output = command.output().unwrap();
        String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(offered("ad"), ["Ada/Story"]);
    assert_eq!(offered("sto"), ["Ada/Story"]);
    assert_eq!(offered("Com"), ["Common"]);
    assert_eq!(offered("--al"), ["--allow"]);
    assert_eq!(offered("the"), ["Bo/The $5 tale"]);
}

#[test]
fn a_time_zone_that_stands_for_none_is_named() {
    let stage = stage();
    let note = |zone: &str| {
        let output = stage.command(&["log"]).env("TZ", zone).output().unwrap();
        assert!(output.status.success(), "{zone}");
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(note("Nowhere/Bad").contains("\"Nowhere/Bad\" in TZ is not known here"));
    for known in ["UTC", "UTC0", "CET-1CEST,M3.5.0,M10.5.0/3", ":/etc/localtime", ""] {
        assert_eq!(note(known), "", "{known}");
    }
}
