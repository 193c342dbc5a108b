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
        let stage = if host == "pc" { &self.pc } else { &self.laptop };
        let history = self.path(host);
        let args: Vec<String> =
            args.iter().map(|arg| arg.replace('@', &(self.path("") + "/"))).collect();
        let all = ["--history", &history].into_iter().chain(args.iter().map(String::as_str));
        let place = self.place.path().display().to_string();
        stage.run(all).replace(&format!("{place}//"), "$PLACE/").replace(&place, "$PLACE")
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
    Hint: If this history is a copy of another machine's, remove its file `forklore/machine`, so that it records under its own name.
    Hint: If they were purged here, `forklore --history "$PLACE/laptop" history push REMOTE --prune` makes the remote match.
    -- exit 1 --
    "#);
    assert_snapshot!(two.run("laptop", &["history", "pull", "@stick.git"]), @"
    Nothing new.
    -- stderr --
      ! The remote has versions of 1 file of this machine that are not here. They were left alone.
    Hint: If this history is a copy of another machine's, remove its file `forklore/machine`, so that it records under its own name.
    ");
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

#[test]
fn in_a_file_and_back() {
    let two = TwoMachines::new();
    let _ = two.run("pc", &["record"]);
    let without_size = |said: String| {
        let words = said.split(", ").map(|part| {
            if part.contains(" KB") {
                part.split(" KB").fold(String::new(), |_, end| format!("N KB{end}"))
            } else {
                part.to_owned()
            }
        });
        words.collect::<Vec<_>>().join(", ")
    };
    assert_snapshot!(without_size(two.run("pc", &["history", "bundle", "@a.bundle"])), @"
    Wrote $PLACE/a.bundle: 18 files, N KB.
    -- stderr --
      ! Anyone with this file can read it. Encrypt it with --passphrase-file or --recipient.
    ");
    assert_snapshot!(two.run("pc", &["history", "bundle", "@a.bundle"]), @"
    -- stderr --
    Error: `$PLACE/a.bundle` already exists
    Hint: Choose a name that is not taken.
    -- exit 2 --
    ");
    assert_snapshot!(two.run("pc", &["history", "bundle", "@b.bundle", "--since", "@a.bundle"]), @"There is nothing new to bundle.");
    two.write("phrase", "a lighthouse in the fog\n");
    two.write("wrong", "a lighthouse in the sun\n");
    two.write("empty", "\n");
    let seal = ["history", "bundle", "@a.bundle", "--passphrase-file"];
    let with = |file| [&seal[..], &[file]].concat();
    assert_snapshot!(two.run("pc", &with("@empty")), @"
    -- stderr --
    Error: the passphrase is empty
    Hint: Write a passphrase into the file, on one line.
    -- exit 2 --
    ");
    assert_snapshot!(without_size(two.run("pc", &with("@phrase"))), @"Wrote $PLACE/a.bundle.age: 18 files, N KB, encrypted.");
    let recipient = ["history", "bundle", "@c.bundle", "--recipient", "anna"];
    assert_snapshot!(two.run("pc", &recipient), @r#"
    -- stderr --
    Error: "anna" is not a recipient
    Hint: A recipient starts with age1; `age-keygen` makes one.
    -- exit 2 --
    "#);

    let open = ["history", "unbundle", "@a.bundle.age"];
    assert_snapshot!(two.run("laptop", &open), @"
    -- stderr --
    Error: could not unbundle `$PLACE/a.bundle.age`
      because it is encrypted
    Hint: Open it with --passphrase-file FILE or --identity FILE.
    -- exit 2 --
    ");
    let with = |option, file| [&open[..], &[option, file]].concat();
    assert_snapshot!(two.run("laptop", &with("--passphrase-file", "@wrong")), @"
    -- stderr --
    Error: could not unbundle `$PLACE/a.bundle.age`
      because it was not encrypted for this key or passphrase
    Hint: Without the right one it cannot be opened, not even by Forklore.
    -- exit 2 --
    ");
    assert_snapshot!(two.run("laptop", &with("--identity", "@phrase")), @"
    -- stderr --
    Error: could not unbundle `$PLACE/a.bundle.age`
      because it is encrypted with a passphrase
    Hint: Open it with --passphrase-file FILE.
    -- exit 2 --
    ");
    assert_snapshot!(two.run("laptop", &with("--passphrase-file", "@phrase")), @"Added 18 versions of 18 files from pc-1.");
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
    assert_snapshot!(two.run("laptop", &["history", "unbundle", "@phrase"]), @r#"
    -- stderr --
    Error: could not unbundle `$PLACE/phrase`
      because it is not a bundle
    Hint: `forklore --history "$PLACE/laptop" history bundle FILE` makes one.
    -- exit 2 --
    "#);
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
