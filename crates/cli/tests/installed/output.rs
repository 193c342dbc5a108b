//! What happens to output that cannot be written.

use std::fs::File;

use crate::stage::{Stage, chat};

/// Everything that goes to a stream goes through the same few lines, so these stand for all.
const COMMANDS: [&[&str]; 9] = [
    &["status"],
    &["--json", "status"],
    &["log"],
    &["--json", "log"],
    &["show", "Ada/Story", "--version", "1"],
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
        assert_eq!(output.status.code(), Some(1), "{args:?}: {errors}");
        assert!(errors.contains("could not write the output"), "{args:?}: {errors}");
        assert!(errors.contains("No space left"), "{args:?}: {errors}");
    }
}

#[test]
fn a_reader_that_has_seen_enough_is_no_failure() {
    let stage = stage();
    for args in COMMANDS {
        // `show` says on the other stream what it shows.
        let errors = stage.run(args).stderr;
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = stage.command(args).stdout(writer).output().unwrap();
        assert_eq!((output.status.code(), output.stderr), (Some(0), errors), "{args:?}");
    }
}
