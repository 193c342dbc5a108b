//! A history that is readable but not writable: a failing disk, a backup, another user's.

use forklore_testkit::faulty::{Fault, FaultyDisk};

use crate::history::with_history;
use crate::stage::Stage;

#[test]
fn a_history_that_cannot_be_written_can_be_read() {
    let stage = with_history(Stage::new());
    let _ = stage.run(["clean", "--yes"]);
    let disk = FaultyDisk::new(Fault::ReadOnly);
    for args in [
        &["log"][..],
        &["log", "The mill"],
        &["show", "Mill", "--version", "1"],
        &["diff", "Mill", "--version", "1"],
        &["undelete"],
        &["trash"],
        &["status"],
        &["tree"],
        &["verify", "--all"],
        &["check", "Story", "--at", "1"],
        &["show", "Story", "--at", "1"],
        &["history", "verify"],
        &["--json", "status"],
    ] {
        let mut said = stage.run_on(&disk, args.iter().copied());
        if args == ["status"] {
            let is_about = |line: &&str| {
                !line.starts_with("Could not tell whether the last change was completed")
            };
            assert!(said.contains("Read-only file system"), "{said}");
            said = said.lines().filter(is_about).map(|line| format!("{line}\n")).collect();
        }
        assert_eq!(said, stage.run(args.iter().copied()), "{args:?}");
    }
    // Commands that write report what prevents them.
    let said = stage.run_on(&disk, ["record"]);
    assert!(said.contains("because Read-only") && said.contains("-- exit 2 --"), "{said}");
}

#[test]
fn a_history_that_cannot_be_read_says_why() {
    let stage = with_history(Stage::new());
    let journal = stage.histories().join("default-user.git/forklore/journal");
    std::fs::remove_file(&journal).unwrap();
    std::fs::create_dir(&journal).unwrap();
    let said = stage.run(["status"]);
    let line = said.lines().find(|line| line.contains("the history cannot be read")).unwrap();
    assert!(line.contains("could not read") && line.contains("regular file"), "{line}");
}
