//! Every command and every way it can end: the exit codes that scripts rely on.

use std::io::{self, Write};

use clap::CommandFactory as _;
use forklore_tavern::disk::RealDisk;
use forklore_testkit::faulty::{Fault, FaultyDisk};

use crate::history::with_history;
use crate::stage::Stage;

/// A command, with arguments for each way it can end.
struct Row {
    command: &'static [&'static str],
    /// Commands to run first.
    after: &'static [&'static [&'static str]],
    /// Arguments for success; `None` if that takes more than a folder.
    fine: Option<&'static [&'static str]>,
    /// Arguments for a problem or difference; `None` for commands that report neither.
    found: Option<&'static [&'static str]>,
    /// Arguments for a refusal or failure; `None` if there is nothing to refuse.
    refused: Option<&'static [&'static str]>,
    /// Whether it works without write permission.
    only_reads: bool,
}

const USUAL: Row = Row {
    command: &[],
    after: &[],
    fine: Some(&[]),
    found: None,
    refused: None,
    only_reads: false,
};

const NOBODY: Option<&[&str]> = Some(&["nobody"]);

const ROWS: &[Row] = &[
    // The default stage contains problems.
    Row { command: &["status"], fine: None, found: Some(&[]), only_reads: true, ..USUAL },
    Row { command: &["tree"], refused: NOBODY, only_reads: true, ..USUAL },
    // `doctor` complains that nothing is being recorded.
    Row { command: &["doctor"], fine: None, found: Some(&[]), only_reads: true, ..USUAL },
    Row { command: &["log"], refused: NOBODY, only_reads: true, ..USUAL },
    Row {
        command: &["show"],
        fine: Some(&["Mill", "--version", "1"]),
        refused: Some(&["nobody", "--at", "1"]),
        only_reads: true,
        ..USUAL
    },
    Row {
        command: &["diff"],
        fine: Some(&["Story", "Story"]),
        found: Some(&["book=Lore", "book=Shared"]),
        refused: Some(&["Story", "nobody"]),
        only_reads: true,
        ..USUAL
    },
    Row {
        command: &["verify"],
        fine: Some(&["Story"]),
        found: Some(&["Bereft"]),
        refused: NOBODY,
        only_reads: true,
        ..USUAL
    },
    Row {
        command: &["check"],
        fine: Some(&["Story"]),
        found: Some(&["Old tale", "--at", "1"]),
        refused: NOBODY,
        only_reads: true,
        ..USUAL
    },
    Row {
        command: &["branch"],
        fine: Some(&["Story"]),
        refused: Some(&["Old tale", "--at", "1"]),
        ..USUAL
    },
    Row { command: &["checkpoint"], fine: Some(&["Story"]), refused: NOBODY, ..USUAL },
    Row {
        command: &["merge"],
        fine: Some(&["Story", "--into", "Old tale", "--base", "empty", "--theirs", "--closed"]),
        refused: Some(&["nobody", "--into", "Story"]),
        ..USUAL
    },
    Row {
        command: &["pick"],
        fine: Some(&["Story", "entry 3", "--into", "Old tale", "--closed"]),
        refused: Some(&["Story", "no entry", "--into", "Old tale"]),
        ..USUAL
    },
    Row {
        command: &["rescue"],
        fine: Some(&["--since", "2099-01-01"]),
        refused: NOBODY,
        only_reads: true,
        ..USUAL
    },
    Row {
        command: &["restore"],
        fine: Some(&["Mill", "--version", "1", "--closed"]),
        refused: Some(&["nobody", "--version", "1"]),
        ..USUAL
    },
    Row { command: &["undelete"], refused: NOBODY, only_reads: true, ..USUAL },
    Row { command: &["undo"], after: &[&["branch", "Story"]], refused: None, ..USUAL },
    Row { command: &["trash"], only_reads: true, ..USUAL },
    Row { command: &["trash", "list"], only_reads: true, ..USUAL },
    Row {
        command: &["trash", "restore"],
        after: &[&["repair", "Garbled tale", "--from", "empty", "--closed"], &["undo"]],
        fine: None,
        refused: Some(&["99"]),
        ..USUAL
    },
    Row { command: &["trash", "empty"], fine: Some(&["--yes"]), ..USUAL },
    Row {
        command: &["repair"],
        fine: Some(&["Bereft", "--from", "journal"]),
        refused: Some(&["nobody", "--from", "empty"]),
        ..USUAL
    },
    Row {
        command: &["split"],
        fine: Some(&["Old tale - Branch #1", "--closed"]),
        refused: NOBODY,
        ..USUAL
    },
    Row { command: &["clean"], fine: Some(&["--yes"]), ..USUAL },
    Row { command: &["strip"], fine: Some(&["Story", "--closed"]), refused: NOBODY, ..USUAL },
    Row { command: &["record"], ..USUAL },
    Row { command: &["history", "pack"], ..USUAL },
    Row { command: &["history", "verify"], only_reads: true, ..USUAL },
    Row { command: &["history", "repair"], ..USUAL },
    Row {
        command: &["history", "purge"],
        fine: Some(&["Mill", "--yes"]),
        refused: Some(&["nobody", "--yes"]),
        ..USUAL
    },
    Row { command: &["history", "dismiss"], fine: Some(&["--gone"]), refused: NOBODY, ..USUAL },
    Row { command: &["history", "push"], fine: None, refused: NOBODY, ..USUAL },
    Row {
        command: &["history", "bundle"],
        fine: Some(&["-"]),
        refused: Some(&["/nowhere/stories.bundle"]),
        only_reads: true,
        ..USUAL
    },
    Row { command: &["history", "pull"], fine: None, refused: NOBODY, ..USUAL },
    Row { command: &["history", "unbundle"], fine: None, refused: NOBODY, ..USUAL },
    Row { command: &["history", "import"], ..USUAL },
    Row { command: &["completions"], fine: Some(&["bash"]), only_reads: true, ..USUAL },
    Row {
        command: &["man"],
        fine: Some(&["history", "verify"]),
        refused: NOBODY,
        only_reads: true,
        ..USUAL
    },
];

/// An output that fails: a full disk, or a reader that has gone away.
struct Failing(io::ErrorKind);

impl Write for Failing {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(self.0.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn stage(row: &Row) -> Stage {
    let stage = with_history(Stage::new());
    for args in row.after {
        let said = stage.run(args.iter().copied());
        assert!(!said.contains("-- exit"), "{args:?}: {said}");
    }
    stage
}

impl Row {
    fn with<'a>(&self, args: &'a [&'a str]) -> Vec<&'a str> {
        self.command.iter().copied().chain(args.iter().copied()).collect()
    }
}

/// Exit codes that are not as promised, by command and case.
fn wrong(row: &Row) -> Vec<String> {
    let real = &RealDisk;
    let read_only = FaultyDisk::new(Fault::ReadOnly);
    let mut wrong = Vec::new();
    let mut check = |case: &str, code: u8, expected: u8| {
        if code != expected {
            wrong.push(format!("{} {case}: {code}, not {expected}", row.command.join(" ")));
        }
    };
    let nowhere = || Box::new(io::sink());
    if let Some(fine) = row.fine {
        let fine = || row.with(fine);
        let failing = |kind| Box::new(Failing(kind));
        let read_only_ends = if row.only_reads { 0 } else { 2 };
        check("fine", stage(row).exit_code(real, nowhere(), fine()), 0);
        check(
            "closed pipe",
            stage(row).exit_code(real, failing(io::ErrorKind::BrokenPipe), fine()),
            0,
        );
        check(
            "full disk",
            stage(row).exit_code(real, failing(io::ErrorKind::StorageFull), fine()),
            2,
        );
        check(
            "read-only folder",
            stage(row).exit_code(&read_only, nowhere(), fine()),
            read_only_ends,
        );
    }
    if let Some(found) = row.found {
        check("found", stage(row).exit_code(real, nowhere(), row.with(found)), 1);
    }
    if let Some(refused) = row.refused {
        let in_json = || [vec!["--json"], row.with(refused)].concat();
        check("refused", stage(row).exit_code(real, nowhere(), row.with(refused)), 2);
        check("refused, --json", stage(row).exit_code(real, nowhere(), in_json()), 2);
    }
    check("usage", stage(row).exit_code(real, nowhere(), row.with(&["--nonsense"])), 64);
    wrong
}

#[test]
fn every_command_ends_as_scripts_are_told() {
    let wrong: Vec<String> = ROWS.iter().flat_map(wrong).collect();
    assert_eq!(wrong, Vec::<String>::new());
}

/// Except `watch`, which runs until it is stopped, `run`, which passes on an exit code, and
/// `service`, which changes the system. The tests of the installed command cover these.
#[test]
fn every_command_is_in_the_table() {
    let command = forklore::Cli::command();
    let mut known: Vec<Vec<&str>> = Vec::new();
    for command in command
        .get_subcommands()
        .filter(|command| !["run", "service", "watch"].contains(&command.get_name()))
    {
        let nested: Vec<&str> = command.get_subcommands().map(|nested| nested.get_name()).collect();
        if command.get_name() != "history" {
            known.push(vec![command.get_name()]);
        }
        known.extend(nested.into_iter().map(|nested| vec![command.get_name(), nested]));
    }
    let mut listed: Vec<Vec<&str>> = ROWS.iter().map(|row| row.command.to_vec()).collect();
    known.sort();
    listed.sort();
    assert_eq!(listed, known);
}
