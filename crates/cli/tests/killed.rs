//! The real command, killed by the kernel at every system call that changes a file.
//!
//! `crates/tavern/tests/crash` tests the same in process and more thoroughly. This test confirms
//! that the real command behaves alike. Needs `strace`.
#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a helper outside a test function is still a test")]

use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, Output};

use forklore_testkit::scene::{OLD_TALE, QUEST, STORY, Scene};

const FORKLORE: &str = env!("CARGO_BIN_EXE_forklore");

/// Every system call with which the command changes the disk.
const CALLS: &str = "write,fsync,renameat2,rename,linkat,unlink,unlinkat,mkdir";

#[test]
fn killed_at_any_system_call_it_leaves_the_old_state_or_the_new_and_can_go_on() {
    for args in [
        &["checkpoint", STORY, "--at", "2", "--closed"][..],
        &["restore", STORY, "--at", "1", "--closed"],
        &["merge", QUEST, "--into", OLD_TALE, "--base", "empty", "--closed"],
        &["clean", "--yes"],
    ] {
        let kills = kill_everywhere(args);
        assert!(kills > 10, "{args:?} was killed {kills} times only");
    }
}

/// Runs the command repeatedly, killing it one call later each time, until it completes.
fn kill_everywhere(args: &[&str]) -> usize {
    let before = Scene::new().visible();
    let after = {
        let scene = Scene::new();
        assert!(forklore(scene.root(), args).status.success());
        scene.visible()
    };
    let mut kills = 0;
    loop {
        let scene = Scene::new();
        let inject = format!("inject={CALLS}:signal=SIGKILL:when={}", kills + 1);
        let output = Command::new("strace")
            .args(["-qq", "-f", "-o", "/dev/null", "-e", &format!("trace={CALLS}"), "-e", &inject])
            .arg(FORKLORE)
            .arg("--data")
            .arg(scene.root())
            .args(args)
            .output()
            .expect("strace is installed, as .ci/run does it");
        if output.status.success() {
            return kills;
        }
        assert_eq!(output.status.signal(), Some(9), "{output:?}");
        kills += 1;

        let there = scene.visible();
        for (path, bytes) in &there {
            let known = before.get(path) == Some(bytes) || is_of(&after, path, bytes);
            assert!(known, "{args:?}, call {kills}: `{path}` is neither old nor new");
        }
        let lost = before.keys().filter(|path| !there.contains_key(*path));
        for path in lost {
            let kept = scene.trash().values().any(|bytes| *bytes == before[path]);
            assert!(kept, "{args:?}, call {kills}: `{path}` is lost");
        }
        let undone = forklore(scene.root(), &["undo"]);
        let nothing = String::from_utf8_lossy(&undone.stderr).contains("nothing to undo");
        assert!(undone.status.success() || nothing, "{args:?}, call {kills}: {undone:?}");
        assert_eq!(scene.visible(), before, "{args:?}, call {kills}: after undo");
        let again = forklore(scene.root(), args);
        assert!(again.status.success(), "{args:?}, call {kills}, again: {again:?}");
    }
}

/// Compares a new file by path and length only: its slug and date differ on every run.
fn is_of(after: &forklore_testkit::scene::Tree, path: &str, bytes: &[u8]) -> bool {
    after.get(path).is_some_and(|expected| expected.len() == bytes.len())
}

fn forklore(root: &Path, args: &[&str]) -> Output {
    Command::new(FORKLORE).arg("--data").arg(root).args(args).output().unwrap()
}
