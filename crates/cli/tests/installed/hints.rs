//! Every command printed as a hint works when pasted.

use std::fs;
use std::process::Command;

use crate::disasters::Machine;
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

/// Commands that run until they are stopped, or explain. All others have to be seen and pasted below,
/// but for those with a placeholder.
const NOT_PASTED: [&str; 10] = [
    "",
    "--help",
    "doctor",
    "history bundle",
    "history push",
    "pick --help",
    "restore --help",
    "run -- node server.js",
    "status",
    "watch",
];

fn has_placeholder(command: &str) -> bool {
    let is_placeholder = |word: &str| {
        word == "..." || !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_uppercase())
    };
    shape(command).split(' ').any(is_placeholder)
}

fn is_pasted(shape: &str) -> bool {
    !NOT_PASTED.contains(&shape)
        && !shape.starts_with("watch")
        && !shape.contains("| age")
        && !has_placeholder(shape)
}

/// A command without what differs from case to case: folders, users and quoted names.
fn shape(command: &str) -> String {
    let mut words = Vec::new();
    let mut quote = None;
    let mut word = String::new();
    for letter in command.chars().chain([' ']) {
        match quote {
            Some(open) if letter == open => quote = None,
            Some(_) => {}
            None if matches!(letter, '"' | '\'') => {
                quote = Some(letter);
                word.push('X');
            }
            None if letter == ' ' => words.extend(Some(std::mem::take(&mut word))),
            None => word.push(letter),
        }
    }
    let mut kept: Vec<String> = Vec::new();
    let mut words = words.into_iter().filter(|word| !word.is_empty()).peekable();
    while let Some(word) = words.next() {
        match word.as_str() {
            "forklore" | "X" => {}
            "--data" | "--history" | "--user" | "--from" | "--version" => {
                let value = words.next();
                if matches!(word.as_str(), "--from" | "--version") {
                    kept.push(word);
                    kept.extend(value.filter(|value| value == "N"));
                }
            }
            _ => kept.push(word),
        }
    }
    kept.join(" ")
}

/// The shapes of all commands in the texts of the command's own source.
fn shapes_in_source() -> std::collections::BTreeSet<String> {
    let mut shapes = std::collections::BTreeSet::new();
    let mut folders = vec![std::path::PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let source = fs::read_to_string(&path).unwrap();
            let source = source.split("#[cfg(test)]").next().unwrap();
            for line in source.lines().filter(|line| !line.trim_start().starts_with("//")) {
                // A placeholder of `format!` stands for a quoted name or a number.
                let line = line.replace("\\\"", "\"");
                let mut rest = line.as_str();
                while let Some((_, after)) = rest.split_once("`forklore ") {
                    let Some((command, after)) = after.split_once('`') else { break };
                    rest = after;
                    let plain = command.split(' ').map(|word| match word.starts_with('{') {
                        true => "\"X\"",
                        false => word,
                    });
                    shapes.insert(shape(&plain.collect::<Vec<_>>().join(" ")));
                }
                if let Some((_, call)) = line.split_once("command(\"")
                    && let Some((verb, _)) = call.split_once('"')
                {
                    shapes.insert(verb.to_owned());
                }
            }
        }
    }
    shapes
}

/// What happens, and what then prints commands.
type Case<'c> = (&'c str, fn(&Machine), &'c [&'c [&'c str]]);

#[test]
fn every_command_that_a_text_can_print_runs_on_its_user() {
    let place = tempfile::tempdir().unwrap();
    let mut pasted = std::collections::BTreeSet::new();
    // What happens, and which commands are then printed by what.
    let cases: [Case<'_>; 15] = [
        (
            "nothing",
            |_| (),
            &[
                &["tree", "nobody"],
                &["log", "nobody"],
                &["branch", "nobody"],
                &["log", "Ada/The harbour", "--all"],
                &["restore", "Ada/The harbour", "--version", "99"],
                &["undelete", "Ada/The harbour"],
                &["rescue", "77"],
                &["trash", "restore", "9999"],
                &["diff", "Ada/The harbour", "Ada/-n"],
                &["merge", "Ada/The harbour", "--into", "Ada/-n"],
            ],
        ),
        (
            "no history",
            |it| fs::remove_dir_all(it.repository("bo")).unwrap(),
            &[&["status"], &["log"], &["rescue"]],
        ),
        (
            "a chat is cut",
            |it| it.write("bo", "chats/Ada/The harbour.jsonl", &chat("x", None, 1)),
            &[&["record"], &["status"], &["log", "Ada/The harbour"]],
        ),
        (
            "a lorebook is emptied",
            |it| it.write("bo", "worlds/Lore.json", b"{\"entries\":{}}"),
            &[&["record"], &["status"], &["restore", "Lore", "--version", "2"]],
        ),
        (
            "a lorebook is gone",
            |it| fs::remove_file(it.user("bo").join("worlds/Lore.json")).unwrap(),
            &[
                &["record"],
                &["status"],
                &["branch", "Ada/The harbour"],
                &["show", "Ada/The harbour", "--at", "2"],
                &["log", "Lore"],
            ],
        ),
        (
            "a chat is gone",
            |it| fs::remove_file(it.user("bo").join("chats/Ada/-n.jsonl")).unwrap(),
            &[&["record"], &["status"], &["undelete"]],
        ),
        (
            "a character's chats are gone",
            |it| fs::remove_dir_all(it.user("bo").join("chats/Ada")).unwrap(),
            &[&["status"], &["record"]],
        ),
        (
            "much is gone",
            |it| {
                for folder in ["chats", "worlds", "group chats", "characters"] {
                    fs::remove_dir_all(it.user("bo").join(folder)).unwrap();
                }
                fs::create_dir_all(it.user("bo").join("chats")).unwrap();
            },
            &[&["status"], &["record"]],
        ),
        (
            "a group is gone",
            |it| {
                fs::remove_file(it.user("bo").join("groups/1.json")).unwrap();
                fs::remove_file(it.user("bo").join("group chats/1.jsonl")).unwrap();
            },
            &[&["record"], &["undelete", "group:1"]],
        ),
        (
            "the folder is gone",
            |it| fs::remove_dir_all(it.user("bo")).unwrap(),
            &[&["status"], &["tree"], &["doctor"]],
        ),
        (
            "the data folder is gone",
            |it| fs::remove_dir_all(it.data()).unwrap(),
            &[&["status"], &["rescue", "--all", "--yes"]],
        ),
        (
            "the history is damaged",
            |it| it.lose_a_pack("bo"),
            &[
                &["log", "Ada/The harbour"],
                &["status"],
                &["history", "verify"],
                &["history", "repair"],
                &["show", "Ada/The harbour", "--version", "1"],
                &["branch", "Ada/The harbour", "--at", "3", "--allow", "live"],
            ],
        ),
        ("the machine's name is lost", |it| it.lose_its_name("bo"), &[&["record"], &["doctor"]]),
        ("forks share a lorebook", |it| it.share_a_lorebook("bo"), &[&["status"]]),
        (
            "something was changed",
            |it| {
                assert!(it.run(&["--user", "bo", "branch", "Ada/The harbour"]).status.success());
                let child = "chats/Ada/The harbour - Branch #1.jsonl";
                fs::remove_file(it.user("bo").join(child)).unwrap();
                it.age("bo");
            },
            &[
                &["status"],
                &["merge", "Ada/The harbour", "--into", "group:1"],
                &["restore", "Lore", "--version", "1", "--closed"],
            ],
        ),
    ];
    for (what, happens, printers) in cases {
        let machine = Machine::with_stories(&place, "desk", &["ada", "bo"]);
        let other = Machine::with_stories(&place, "other", &["bo"]);
        let bundle = place.path().join("other's.bundle");
        let bundle = bundle.to_str().unwrap();
        let _ = fs::remove_file(bundle);
        assert!(other.run(&["--user", "bo", "history", "bundle", bundle]).status.success());
        let ada = machine.everything_of("ada");
        happens(&machine);
        let mut said = String::new();
        if what == "nothing" {
            // From another machine, and under names that are taken here.
            fs::remove_dir_all(machine.user("bo").join("group chats")).unwrap();
            said += &machine.printed(&["--user", "bo", "history", "unbundle", bundle]);
        }
        for printer in printers {
            let args: Vec<&str> = ["--user", "bo"].iter().chain(*printer).copied().collect();
            said += &machine.printed(&args);
        }
        let mut ways = hints(&said);
        ways.sort();
        ways.dedup();
        for way in ways {
            let shape = shape(&way);
            if !is_pasted(&shape) {
                continue;
            }
            machine.age("bo");
            let mut output = machine.shell(&way);
            if printed(&output).contains("confirmation needs a terminal") {
                output = machine.shell(&format!("{way} --yes"));
            }
            let code = output.status.code();
            assert!(matches!(code, Some(0 | 1)), "{what}: {way}\n{}", printed(&output));
            if what != "the data folder is gone" {
                assert_eq!(machine.everything_of("ada"), ada, "{what}: {way} is not about bo");
            }
            pasted.insert(shape);
        }
        fs::remove_dir_all(&machine.folder).unwrap();
        fs::remove_dir_all(&other.folder).unwrap();
    }
    let missing: Vec<String> = shapes_in_source()
        .into_iter()
        .filter(|shape| is_pasted(shape) && !pasted.iter().any(|known| known.starts_with(&**shape)))
        .collect();
    assert!(missing.is_empty(), "printed somewhere, and never pasted: {missing:#?}\n{pasted:#?}");
}
