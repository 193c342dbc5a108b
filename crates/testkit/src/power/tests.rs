//! Scripts for which every state is known.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use super::disk::View;
use super::snapshot::disk_of;
use super::{Found, Materialiser, Policy, State, Trace, Tree};
use crate::tree::temporary_folder;

/// Runs a script in a folder that contains a file `old` with the content `before`.
#[track_caller]
fn trace(script: &str) -> Trace {
    let folder = temporary_folder();
    fs::write(folder.path().join("old"), "before").unwrap();
    let mut command = Command::new("sh");
    command.args(["-e", "-c", script]).current_dir(folder.path());
    let trace = Trace::record(folder.path(), &command).unwrap();
    assert!(trace.status.success(), "{}", String::from_utf8_lossy(&trace.stderr));
    trace
}

fn shown(tree: &Tree) -> String {
    let one = |(path, found): (&std::path::PathBuf, &Found)| match found {
        Found::File(content) => {
            format!("{}={}", path.display(), String::from_utf8_lossy(content))
        }
        Found::Folder => format!("{}/", path.display()),
        Found::Symlink(target) => format!("{}->{}", path.display(), target.display()),
    };
    tree.iter().map(one).collect::<Vec<_>>().join(" ")
}

#[track_caller]
fn check(trace: &Trace, policy: Policy, expected: &[&str]) {
    let found: BTreeSet<String> = trace.states(&[policy]).map(|state| shown(&state.tree)).collect();
    let expected: BTreeSet<String> = expected.iter().map(|&state| state.to_owned()).collect();
    assert_eq!(found, expected, "{policy:?} of {:#?}", trace.labels());
}

#[test]
fn a_file_that_is_synced_and_moved() {
    let trace = trace("printf new > x; sync x; mv x old; sync .; echo done");
    check(&trace, Policy::Kept, &["old=before", "old=before x=", "old=before x=new", "old=new"]);
    check(
        &trace,
        Policy::ContentLost,
        &["old=before", "old=before x=", "old=before x=new", "old=new"],
    );
    check(&trace, Policy::ContentTorn, &["old=before x=\0\0\0"]);
    check(&trace, Policy::NamesLost, &["old=before", "old=before x=new", "old=new"]);
    check(&trace, Policy::NamesLostOfOne, &["old=before", "old=before x=new", "old=new"]);
    check(&trace, Policy::NamesLate, &["old=before", "old=before x=new"]);
    assert_eq!(trace.syncs(), 2);
}

#[test]
fn a_file_that_is_moved_and_never_synced() {
    let trace = trace("printf new > x; mv x old");
    check(&trace, Policy::Kept, &["old=before", "old=before x=", "old=before x=new", "old=new"]);
    check(&trace, Policy::ContentLost, &["old=before", "old=before x=", "old="]);
    check(&trace, Policy::ContentTorn, &["old=before x=\0\0\0", "old=\0\0\0"]);
    check(
        &trace,
        Policy::NamesLost,
        &["old=before", "old=before x=", "old=before x=new", "old=new", "old="],
    );
}

#[test]
fn a_file_that_is_written_in_place() {
    let trace = trace("printf after > old; printf more >> old; sync old");
    check(&trace, Policy::Kept, &["old=before", "old=", "old=after", "old=aftermore"]);
    // The file was truncated first: either only that reached the disk, or nothing did.
    check(&trace, Policy::ContentLost, &["old=before", "old=", "old=aftermore"]);
}

#[test]
fn what_was_said_goes_with_what_was_done() {
    let trace = trace("echo begin; printf new > x; (echo end)");
    let said: Vec<(String, String)> = trace
        .states(&[Policy::Kept])
        .map(|state| (state.stdout.to_string(), shown(&state.tree)))
        .collect();
    let expected = [
        ("", "old=before"),
        ("begin\n", "old=before"),
        ("begin\n", "old=before x="),
        ("begin\n", "old=before x=new"),
        ("begin\nend\n", "old=before x=new"),
    ];
    assert_eq!(said, expected.map(|(said, tree)| (said.to_owned(), tree.to_owned())));
}

#[test]
fn names_of_one_folder_say_nothing_of_those_of_another() {
    let trace = trace("mkdir d; sync .; printf new > d/x; sync d/x; mv d/x y; sync .");
    check(
        &trace,
        Policy::NamesLost,
        &[
            "old=before",
            "d/ old=before",
            "d/ d/x=new old=before",
            "d/ old=before y=new",
            // The new name is synced, but the removal of the old one is not.
            "d/ d/x=new old=before y=new",
        ],
    );
}

#[test]
fn all_kinds_of_calls_are_understood() {
    // `Trace::record` itself compares the result with the folder.
    let trace = trace(
        "mkdir -p a/b; cp old a/b/copy; ln old a/hard; ln -s b a/soft; printf 1 > a/soft/one
         cd a; mv soft/one ../two; rm hard; (printf 1; printf 2; printf 3) > three; cd ..
         dd if=old of=a/three bs=1 count=2 seek=1 conv=notrunc status=none
         truncate -s 9 a/three; rm -r a/b; mv a c; cat old; sync -f old",
    );
    assert_eq!(trace.stdout, b"before");
    let end = "c/ c/soft->b c/three=1be\0\0\0\0\0\0 old=before two=1";
    assert_eq!(shown(&trace.states(&[Policy::Kept]).last().unwrap().tree), end);
    for policy in [Policy::ContentLost, Policy::NamesLost] {
        let is_end = |state: State| shown(&state.tree) == end;
        assert!(trace.states(&[policy]).any(is_end), "all is safe in the end");
    }
}

#[test]
fn a_folder_shows_one_state_after_another() {
    let trace =
        trace("mkdir a; printf 1 > a/x; mv a b; ln -s b l; printf 2 > b/x; rm old; mv b/x old");
    let states: Vec<State> = trace.states(&Policy::ALL).collect();
    let mut materialiser = Materialiser::new();
    for (number, state) in states.iter().chain(states.iter().rev()).enumerate() {
        let folder = materialiser.show(state).unwrap();
        let other = temporary_folder();
        state.materialise(other.path()).unwrap();
        assert_eq!(tree(folder), state.tree, "{state}");
        assert_eq!(tree(other.path()), state.tree, "{state}");
        // A test may leave anything behind.
        spoil(folder, state, number);
    }
}

fn tree(folder: &Path) -> Tree {
    disk_of(folder).unwrap().tree(&View::default())
}

fn spoil(folder: &Path, state: &State, number: usize) {
    for (path, found) in &state.tree {
        // Some are in a folder that was just removed.
        let _ = match found {
            Found::File(content) if number.is_multiple_of(2) => {
                fs::write(folder.join(path), vec![b'#'; content.len()])
            }
            Found::Folder if number.is_multiple_of(3) => fs::remove_dir_all(folder.join(path)),
            _ => fs::write(folder.join(format!("left{number}")), ""),
        };
    }
}

/// Covers the remaining calls with a multi-threaded program: this test binary, run again.
#[test]
fn a_program_with_threads_is_understood() {
    let folder = temporary_folder();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "power::tests::program_with_threads", "--ignored"]);
    command.env("POWER_FOLDER", folder.path());
    let trace = Trace::record(folder.path(), &command).unwrap();
    assert!(trace.status.success(), "{}", String::from_utf8_lossy(&trace.stdout));
    let end = trace.states(&[Policy::ContentLost]).last().unwrap().tree;
    let len = |path: &str| match &end[Path::new(path)] {
        Found::File(content) => content.len(),
        other => panic!("{other:?}"),
    };
    assert_eq!(len("log"), 4 * 50 * 7, "every thread synced what it wrote");
    assert_eq!((len("b"), len("a")), (1, 0), "only one of them was synced");
    assert_eq!(len("late"), 3, "by the name that it got in the end");
}

#[test]
#[ignore = "run by another test"]
fn program_with_threads() {
    use std::io::{IoSlice, Read as _, Seek as _, SeekFrom, Write as _};

    use rustix::fs::{AtFlags, CWD, Mode, OFlags, RenameFlags};

    let Some(folder) = std::env::var_os("POWER_FOLDER").map(std::path::PathBuf::from) else {
        return;
    };
    let folder = folder.as_path();
    let turns = &std::sync::Mutex::new(());
    std::thread::scope(|scope| {
        for number in 0..4 {
            scope.spawn(move || {
                let log = fs::File::options().append(true).create(true).open(folder.join("log"));
                let mut log = log.unwrap();
                for line in 0..50 {
                    // Serialised, because strace cannot show the order of concurrent writes.
                    let turn = turns.lock().unwrap();
                    log.write_all(format!("{number}-{line:04}").as_bytes()).unwrap();
                    log.write_all(b"\n").unwrap();
                    drop(turn);
                    log.sync_data().unwrap();
                    let (temp, name) = (format!("{number}.tmp"), format!("{number}"));
                    fs::write(folder.join(&temp), &name).unwrap();
                    fs::rename(folder.join(&temp), folder.join(&name)).unwrap();
                }
            });
        }
    });

    fs::write(folder.join("a"), "a").unwrap();
    fs::write(folder.join("b"), "").unwrap();
    fs::File::open(folder.join("a")).unwrap().sync_all().unwrap();
    fs::write(folder.join("b"), "b").unwrap();
    let (a, b) = (folder.join("a"), folder.join("b"));
    rustix::fs::renameat_with(CWD, &a, CWD, &b, RenameFlags::EXCHANGE).unwrap();

    let nameless = OFlags::TMPFILE | OFlags::RDWR;
    let file = rustix::fs::open(folder, nameless, Mode::from_bits_truncate(0o600)).unwrap();
    let mut late = fs::File::from(file);
    assert_eq!(late.write_vectored(&[IoSlice::new(b"12"), IoSlice::new(b"3")]).unwrap(), 3);
    late.sync_all().unwrap();
    let number = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&late));
    rustix::fs::linkat(CWD, number, CWD, folder.join("late"), AtFlags::SYMLINK_FOLLOW).unwrap();

    fs::copy(folder.join("log"), folder.join("copy")).unwrap();
    let mut file = fs::File::options().read(true).write(true).open(folder.join("copy")).unwrap();
    file.read_exact(&mut [0; 10]).unwrap();
    file.write_all(b"after what was read").unwrap();
    file.seek(SeekFrom::End(-2)).unwrap();
    file.try_clone().unwrap().write_all(b"past the end").unwrap();
    file.set_len(1000).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&file, b"beyond", 1100).unwrap();
}

#[test]
fn what_cannot_be_followed_is_an_error() {
    let folder = temporary_folder();
    let mut command = Command::new("sh");
    let other = temporary_folder();
    fs::write(other.path().join("x"), "").unwrap();
    let move_in = format!("mv {}/x {}/x", other.path().display(), folder.path().display());
    command.args(["-e", "-c", &move_in]);
    Trace::record(folder.path(), &command).unwrap_err();
}
