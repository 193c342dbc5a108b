//! Every command printed as a hint works when pasted.

use std::fs;
use std::process::Command;

use crate::stage::{Stage, book, chat, printed};

/// The commands in some output, ready to paste.
pub(crate) fn hints(said: &str) -> Vec<String> {
    let mut hints = Vec::new();
    let mut rest = said;
    while let Some(start) = rest.find("`forklore ") {
        rest = &rest[start + 1..];
        // A name in single quotes may have a backtick in it.
        let mut quote = None;
        let end = rest.char_indices().find(|(_, c)| {
            match (quote, *c) {
                (None, '\'' | '"') => quote = Some(*c),
                (Some(open), c) if c == open => quote = None,
                _ => {}
            }
            *c == '`' && quote.is_none()
        });
        let end = end.unwrap_or_else(|| panic!("a hint without an end: {said}")).0;
        assert!(!rest[..end].contains('\n'), "a hint in two lines: {said}");
        hints.push(rest[..end].to_owned());
        rest = &rest[end + 1..];
    }
    hints
}

/// The commands without placeholders in capitals.
fn pasteable(said: &str) -> Vec<String> {
    let stands_for = ["CHAT", "FILE", "NAME", "REMOTE", "...", "--version N"];
    let mut hints = hints(said);
    hints.retain(|hint| {
        hint != "forklore watch" && !stands_for.iter().any(|word| hint.contains(word))
    });
    hints
}

fn paste(stage: &Stage, hint: &str) -> std::process::Output {
    let mut shell = Command::new("sh");
    stage.around(shell.args(["-c", hint]));
    shell.output().unwrap()
}

/// Names with characters that are special to a shell.
const NAMES: [&str; 8] = [
    "The harbour",
    "It's",
    "cost $HOME",
    "a `date` b",
    "say \"hi\"!",
    "-n",
    "--version 1",
    "50% \\ & ; # ~ *",
];

/// Damage to a chat that the command should give a hint about.
type Accident = (&'static str, fn(&Stage, &str));

const ACCIDENTS: [Accident; 5] = [
    ("the chat is cut down to its greeting", |stage, name| {
        stage.write(&format!("chats/{name}/{name}.jsonl"), &chat(name, None, 1));
    }),
    ("the lorebook is emptied", |stage, name| {
        stage.write(&format!("worlds/{name}.json"), b"{\n    \"entries\": {}\n}");
    }),
    ("the lorebook is deleted", |stage, name| {
        fs::remove_file(stage.path(&format!("worlds/{name}.json"))).unwrap();
    }),
    ("the chats are deleted", |stage, name| {
        fs::remove_dir_all(stage.path(&format!("chats/{name}"))).unwrap();
    }),
    ("the settings are reset", |stage, _| stage.write("settings.json", b"{}")),
];

#[test]
fn every_hint_works_when_it_is_pasted() {
    let mut pasted = 0;
    for name in NAMES {
        for (accident, happens) in ACCIDENTS {
            let stage = Stage::new();
            let (story, more) =
                (format!("chats/{name}/{name}.jsonl"), format!("chats/{name}/2.jsonl"));
            stage.write(&story, &chat(name, Some(name), 6));
            stage.write(&more, &chat("2", Some(name), 6));
            stage.write(&format!("worlds/{name}.json"), &book(&["One", "Two", "Three"]));
            stage.age(&story);
            stage.age(&more);
            assert!(stage.run(&["record"]).status.success());
            let before = stage.scene.visible();
            happens(&stage, name);

            let mut shown = vec![stage.printed(&["status"]), stage.printed(&["record"])];
            shown.push(stage.printed(&["status"]));
            shown.push(stage.printed(&["undelete"]));
            shown.push(stage.printed(&["verify", "--all"]));
            shown.push(stage.printed(&["log", "--", name]));
            shown.push(stage.printed(&["log", "--", &format!("book:{name}")]));
            let mut hints: Vec<String> = shown.iter().flat_map(|said| pasteable(said)).collect();
            hints.sort();
            hints.dedup();
            // Commands that only read do not restore anything.
            let restores = |hint: &&String| {
                ["forklore restore", "forklore undelete"].iter().any(|way| hint.starts_with(way))
            };
            let commands: Vec<String> = hints.iter().filter(restores).cloned().collect();
            assert!(!commands.is_empty(), "{name}, {accident}: {shown:#?}");
            for way in &commands {
                let output = paste(&stage, way);
                let is_back =
                    output.status.success() || printed(&output).contains("already as it was");
                assert!(is_back, "{name}, {accident}: {way}\n{}", printed(&output));
                pasted += 1;
            }
            let status = stage.run(&["status"]);
            assert_eq!(status.status.code(), Some(0), "{name}, {accident}: {}", printed(&status));
            let after = stage.scene.visible();
            let is_there = |bytes: &Vec<u8>| after.values().any(|there| there == bytes);
            assert!(before.values().all(is_there), "{name}, {accident}: not everything is back");
            for hint in hints.iter().filter(|hint| !restores(hint)) {
                let output = paste(&stage, hint);
                assert_ne!(
                    output.status.code(),
                    Some(64),
                    "{name}, {accident}: {hint}\n{}",
                    printed(&output)
                );
            }
        }
    }
    assert!(pasted >= NAMES.len() * ACCIDENTS.len(), "only {pasted} were pasted");
}
