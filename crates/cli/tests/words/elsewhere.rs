//! `history push`, `pull`, `bundle`, `unbundle`, `import`
#![expect(clippy::unwrap_used, reason = "the stage of two machines is a test too")]

use std::fs;
use std::path::Path;
use std::process::Command;

use insta::assert_snapshot;
use tempfile::TempDir;

use crate::stage::Stage;

/// Two machines with the same stories, and a shared folder.
struct TwoMachines {
    place: TempDir,
    pc: Stage,
    laptop: Stage,
}

impl TwoMachines {
    fn new() -> Self {
        let two =
            Self { place: tempfile::tempdir().unwrap(), pc: Stage::new(), laptop: Stage::new() };
        // The test clock also makes ids deterministic, so both machines would choose the same name.
        for host in ["pc", "laptop"] {
            let ours = two.place.path().join(host).join("default-user.git/forklore");
            fs::create_dir_all(&ours).unwrap();
            fs::write(ours.join("machine"), format!("{host}-1\n")).unwrap();
        }
        two
    }

    fn path(&self, name: &str) -> String {
        self.place.path().join(name).display().to_string()
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.place.path().join(name), text).unwrap();
    }

    #[must_use]
    fn run(&self, host: &str, args: &[&str]) -> String {
        let args = self.args(host, args);
        self.shown(&self.stage(host).run(args.iter().map(String::as_str)))
    }

    /// The output of a command that reads `input`, and what it says beside it.
    #[must_use]
    fn pipe(&self, host: &str, input: &[u8], args: &[&str]) -> (Vec<u8>, String) {
        let args = self.args(host, args);
        let (out, said) = self.stage(host).pipe(input, args.iter().map(String::as_str));
        (out, self.shown(&said))
    }

    fn stage(&self, host: &str) -> &Stage {
        if host == "pc" { &self.pc } else { &self.laptop }
    }

    fn args(&self, host: &str, args: &[&str]) -> Vec<String> {
        let args = args.iter().map(|arg| arg.replace('@', &(self.path("") + "/")));
        ["--history".to_owned(), self.path(host)].into_iter().chain(args).collect()
    }

    fn shown(&self, said: &str) -> String {
        let place = self.place.path().display().to_string();
        said.replace(&format!("{place}//"), "$PLACE/").replace(&place, "$PLACE")
    }
}

#[test]
fn through_a_remote_and_back() {
    let two = TwoMachines::new();
    assert_snapshot!(two.run("pc", &["history", "push", "@stick.git"]), @r#"
    -- stderr --
    Error: there is no history at `$PLACE/pc/default-user.git`
    Hint: `forklore --history "$PLACE/pc" record` starts one, and `forklore --history "$PLACE/pc" watch` keeps it up to date.
    -- exit 2 --
    "#);
    let _ = two.run("pc", &["record"]);
    assert_snapshot!(two.run("pc", &["history", "push", "@stick.git"]), @r#"
    -- stderr --
    Error: `$PLACE/stick.git` does not exist
    Hint: `forklore --history "$PLACE/pc" history push REMOTE --create` creates a repository there.
    -- exit 2 --
    "#);
    assert_snapshot!(two.run("pc", &["history", "push", "@stick.git", "--create"]), @"Sent 18 files of this machine.");
    assert_snapshot!(two.run("pc", &["history", "push", "@stick.git", "--create"]), @"
    -- stderr --
    Error: `$PLACE/stick.git` already exists
    Hint: Leave out --create if it is a repository, or choose another folder.
    -- exit 2 --
    ");
    assert_snapshot!(two.run("pc", &["history", "push", "@stick.git"]), @"Everything is already there.");
    assert_snapshot!(two.run("laptop", &["history", "pull", "@stick.git"]), @"Added 18 versions of 18 files from pc-1.");
    assert_snapshot!(two.run("laptop", &["history", "pull", "@stick.git"]), @"Nothing new.");
    let _ = two.run("laptop", &["record"]);
    assert_snapshot!(two.run("laptop", &["--json", "history", "push", "@stick.git"]), @r#"
    {
      "format": 2,
      "command": "history push",
      "sent": [
        {
          "machine": "laptop-1",
          "files": 18
        }
      ],
      "newer_there": 0,
      "ours_differ": 0,
      "removed": 0,
      "refused": []
    }
    "#);
    assert_snapshot!(two.run("pc", &["--json", "history", "pull", "@stick.git"]), @r#"
    {
      "format": 2,
      "command": "history pull",
      "machines": [
        {
          "machine": "laptop-1",
          "files": 18,
          "versions": 18,
          "rewritten": 0
        }
      ],
      "ours_differ": 0,
      "refused": []
    }
    "#);
}

#[test]
fn a_remote_that_has_more_under_this_name() {
    let two = TwoMachines::new();
    let _ = two.run("pc", &["record"]);
    let _ = two.run("pc", &["history", "push", "@stick.git", "--create"]);
    // The whole history is copied, and both copies continue to record.
    fs::remove_dir_all(two.path("laptop")).unwrap();
    let copied = Command::new("cp").args(["-r", &two.path("pc"), &two.path("laptop")]).status();
    assert!(copied.unwrap().success());
    for (host, stage) in [("laptop", &two.laptop), ("pc", &two.pc)] {
        let story = stage.scene.root().join("default-user/chats/Alice/Story.jsonl");
        let mut text = fs::read_to_string(&story).unwrap();
        text += &format!("\n{{\"name\":\"Alice\",\"mes\":\"On the {host}\"}}");
        fs::write(story, text).unwrap();
        let _ = two.run(host, &["record"]);
    }
    let _ = two.run("pc", &["history", "push", "@stick.git"]);
    assert_snapshot!(two.run("laptop", &["history", "push", "@stick.git"]), @r#"
    -- stderr --
      ! The remote has versions of 1 file of this machine that are not here. They were left alone.
    Hint: If this history is a copy of another machine's, `forklore --history "$PLACE/laptop" history repair --machine new` lets it record under its own name.
    Hint: If they were purged here, `forklore --history "$PLACE/laptop" history push REMOTE --prune` makes the remote match.
    -- exit 1 --
    "#);
    assert_snapshot!(two.run("laptop", &["history", "pull", "@stick.git"]), @r#"
    Nothing new.
    -- stderr --
      ! The remote has versions of 1 file of this machine that are not here. They were left alone.
    Hint: If this history is a copy of another machine's, `forklore --history "$PLACE/laptop" history repair --machine new` lets it record under its own name.
    "#);
}

#[test]
fn what_is_no_remote() {
    let two = TwoMachines::new();
    let _ = two.run("pc", &["record"]);
    assert_snapshot!(two.run("pc", &["history", "pull", "--", "-x"]), @r#"
    -- stderr --
    Error: "-x" is not the address of a remote
    Hint: A remote is a folder, or any address that git accepts: git@host:stories.git
    -- exit 2 --
    "#);
    two.write("not a repository", "x");
    let said = two.run("pc", &["history", "pull", "@not a repository"]);
    assert!(
        said.starts_with("-- stderr --\nError: git could not read \"$PLACE/not a repository\"\n")
    );
    assert!(said.contains("  because git says: fatal: "), "{said}");
}

fn without_size(said: String) -> String {
    let words = said.split(", ").map(|part| {
        if part.contains(" KB") {
            part.split(" KB").fold(String::new(), |_, end| format!("N KB{end}"))
        } else {
            part.to_owned()
        }
    });
    words.collect::<Vec<_>>().join(", ")
}

#[test]
fn in_a_file_and_back() {
    let two = TwoMachines::new();
    let _ = two.run("pc", &["record"]);
    assert_snapshot!(without_size(two.run("pc", &["history", "bundle", "@a.bundle"])), @r#"
    Wrote $PLACE/a.bundle: 18 files, N KB.
    -- stderr --
      ! Anyone with this file can read it.
    Hint: `forklore --history "$PLACE/pc" history bundle - | age --passphrase > stories.age` makes an encrypted one.
    "#);
    assert_snapshot!(two.run("pc", &["history", "bundle", "@a.bundle"]), @"
    -- stderr --
    Error: `$PLACE/a.bundle` already exists
    Hint: Choose a name that is not taken.
    -- exit 2 --
    ");
    assert_snapshot!(two.run("pc", &["history", "bundle", "@b.bundle", "--since", "@a.bundle"]), @"There is nothing new to bundle.");
    assert_snapshot!(two.run("laptop", &["history", "unbundle", "@a.bundle"]), @"Added 18 versions of 18 files from pc-1.");
    assert_snapshot!(two.run("laptop", &["history", "unbundle", "@a.bundle"]), @"Nothing new.");

    let bundle = Path::new(&two.path("a.bundle")).to_owned();
    let whole = fs::read(&bundle).unwrap();
    fs::write(&bundle, &whole[..whole.len() - 1]).unwrap();
    assert_snapshot!(two.run("laptop", &["history", "unbundle", "@a.bundle"]), @"
    -- stderr --
    Error: could not unbundle `$PLACE/a.bundle`
      because the pack in it cannot be used
      because it is cut off or damaged
    Hint: Nothing was added. Copy the file again, or make a new bundle.
    -- exit 2 --
    ");
    two.write("no bundle", "x");
    assert_snapshot!(two.run("laptop", &["history", "unbundle", "@no bundle"]), @r#"
    -- stderr --
    Error: could not unbundle `$PLACE/no bundle`
      because it is not a bundle
    Hint: `forklore --history "$PLACE/laptop" history bundle FILE` makes one.
    -- exit 2 --
    "#);
}

#[test]
fn through_a_pipe_and_back() {
    let two = TwoMachines::new();
    let _ = two.run("pc", &["record"]);
    let (piped, said) = two.pipe("pc", b"", &["history", "bundle", "-"]);
    assert_snapshot!(without_size(said), @"
    -- stderr --
    A bundle of 18 files, N KB.
      ! Anyone who has it can read it, unless the next program encrypts it.
    ");
    let _ = two.run("pc", &["history", "bundle", "@a.bundle"]);
    assert_eq!(piped, fs::read(two.path("a.bundle")).unwrap());
    let (none, said) = two.pipe("pc", b"", &["history", "bundle", "-", "--since", "@a.bundle"]);
    assert!(none.is_empty());
    assert_snapshot!(said, @"
    -- stderr --
    There is nothing new to bundle.
    ");
    assert_snapshot!(two.run("pc", &["--json", "history", "bundle", "-"]), @r#"
    {
      "format": 2,
      "command": "history bundle",
      "error": {
        "code": "output-is-json",
        "values": {},
        "message": "with --json, standard output is for the answer",
        "causes": [],
        "hints": [
          "Name a file, or leave out --json."
        ]
      }
    }
    -- exit 2 --
    "#);

    let unbundle = ["history", "unbundle", "-"];
    // What is left of a pipe in which the program before failed.
    for part in [&[][..], &piped[..piped.len() / 2]] {
        assert!(two.pipe("laptop", part, &unbundle).1.contains("-- exit 2 --"));
    }
    assert_snapshot!(two.pipe("laptop", b"", &unbundle).1, @r#"
    -- stderr --
    Error: could not unbundle `-`
      because it is not a bundle
    Hint: `forklore --history "$PLACE/laptop" history bundle FILE` makes one.
    -- exit 2 --
    "#);
    let (said, errors) = two.pipe("laptop", &piped, &unbundle);
    assert_snapshot!(String::from_utf8(said).unwrap(), @"Added 18 versions of 18 files from pc-1.");
    assert_eq!(errors, "");
    let (said, _) = two.pipe("laptop", &piped, &["--json", "history", "unbundle", "-"]);
    assert_snapshot!(String::from_utf8(said).unwrap(), @r#"
    {
      "format": 2,
      "command": "history unbundle",
      "machines": [],
      "ours_differ": 0,
      "refused": []
    }
    "#);
}

#[test]
fn a_terminal_is_no_pipe() {
    let stage = Stage::new().at_terminal();
    let _ = stage.run(["record"]);
    assert_snapshot!(stage.run(["history", "bundle", "-"]), @"
    -- stderr --
    Error: a bundle cannot be written to a terminal
    Hint: Name a file, or pipe it into another program.
    -- exit 2 --
    ");
    assert_snapshot!(stage.run(["history", "unbundle", "-"]), @"
    -- stderr --
    Error: could not unbundle `-`
      because a bundle cannot be read from a terminal
    Hint: Name a file, or pipe a bundle into this command.
    -- exit 2 --
    ");
}

#[test]
fn backups_become_past() {
    let two = TwoMachines::new();
    let root = two.pc.scene.root().join("default-user");
    let story = fs::read_to_string(root.join("chats/Alice/Story.jsonl")).unwrap();
    let lines: Vec<&str> = story.lines().collect();
    let backup = |name: &str, text: &str| {
        fs::create_dir_all(root.join("backups")).unwrap();
        fs::write(root.join("backups").join(name), text).unwrap();
    };
    backup("chat_alice_20960101-100000.jsonl", &lines[..2].join("\n"));
    backup("chat_alice_20960101-110000.jsonl", &lines[..3].join("\n"));
    backup(
        "chat_alice_20960101-120000.jsonl",
        "{\"chat_metadata\":{}}\n{\"name\":\"Alice\",\"mes\":\"Never seen again\"}",
    );
    assert_snapshot!(two.run("pc", &["history", "import"]), @"Imported 4 backups: 1 for Alice/Garbled tale, 2 for Alice/Story, 1 of chats that are gone.");
    assert_snapshot!(two.run("pc", &["history", "import"]), @"Nothing new in 4 backups.");
    assert_snapshot!(two.run("pc", &["record"]), @"Nothing changed in 18 files.");
}
