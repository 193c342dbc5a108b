//! Bundles in pipes, through another program and back.

use std::fs;
use std::process::{Command, Output};

use forklore_history::version::history::History;
use forklore_tavern::disk::RealDisk;
use forklore_tavern::disk::clock::SystemClock;

use crate::stage::{Stage, chat, printed};

/// Runs a script beside the history `$PLACE/laptop`, which belongs to another machine.
fn shell(stage: &Stage, place: &tempfile::TempDir, script: &str) -> Output {
    let mut shell = Command::new("sh");
    stage.around(shell.args(["-c", script]).env("PLACE", place.path()));
    let output = shell.output().unwrap();
    assert!(output.status.success(), "{script}: {}", printed(&output));
    output
}

fn has_everything(stage: &Stage, place: &tempfile::TempDir) {
    let open = |folder: &std::path::Path| {
        let repository = folder.join("default-user.git");
        History::open_existing(&RealDisk, &SystemClock, repository).unwrap()
    };
    let (here, there) = (open(stage.histories()), open(&place.path().join("laptop")));
    let refs = here.store().refs();
    assert!(refs.len() > 2);
    for (name, id) in refs {
        assert_eq!(there.store().refs().get(name), Some(id), "{name}");
    }
    for lineage in there.lineages().iter() {
        for version in there.versions(&lineage.tip) {
            there.content(&version).unwrap();
        }
    }
}

#[test]
fn a_bundle_passes_through_any_program_and_back() {
    let stage = Stage::new();
    let place = tempfile::tempdir().unwrap();
    stage.write("chats/Ada/Story.jsonl", &chat("Story", None, 300));
    let run = |script: &str| shell(&stage, &place, script);

    // `gzip` stands for a program that encrypts.
    run(r#"forklore record && forklore history bundle - | gzip > "$PLACE/stories.gz""#);
    let stored = fs::read(place.path().join("stories.gz")).unwrap();
    assert!(stored.starts_with(b"\x1f\x8b"));
    let output = run(
        r#"gzip -d < "$PLACE/stories.gz" | forklore --history "$PLACE/laptop" history unbundle -"#,
    );
    assert!(printed(&output).starts_with("Added "), "{}", printed(&output));
    has_everything(&stage, &place);

    // An earlier bundle can be a pipe, too.
    let since = r#"gzip -d < "$PLACE/stories.gz" | forklore history bundle - --since /dev/stdin"#;
    let nothing = run(since);
    assert!(nothing.stdout.is_empty(), "{}", printed(&nothing));
    assert_eq!(printed(&nothing), "There is nothing new to bundle.\n");
    stage.write("chats/Ada/Story.jsonl", &chat("Story", None, 301));
    run("forklore record");
    run(&format!(r#"{since} | forklore --history "$PLACE/laptop" history unbundle -"#));
    has_everything(&stage, &place);
}
