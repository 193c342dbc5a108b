//! Plain git on the same files, for comparison: `git add . && git commit` with default settings.

use std::path::Path;
use std::process::{Command, Output};

use forklore_testkit::power::{Materialiser, Policy, State, Trace};

use crate::judge::{Failure, Tally, step};
use crate::scene::{Scene, home};

/// Every state that a power cut can produce during a second commit, checked against the content of
/// both commits.
pub(crate) fn judge(sample: usize) -> Tally {
    let scene = Scene::new();
    let folder = home(scene.folder());
    run(git(&folder).args(["init", "--quiet", "--template="]));
    run(git(&folder).args(["add", "."]));
    run(git(&folder).args(["commit", "--quiet", "--message", "one"]));
    let old = head(&folder);
    scene.advance(0);
    let mut command = Command::new("sh");
    let script = "git add . && git commit --quiet --message two && echo done";
    isolate(command.args(["-c", script]).current_dir(&folder));
    let trace = Trace::record(&folder, &command).unwrap();
    assert!(trace.status.success());
    let new = head(&folder);
    assert_ne!(old, new);

    let all = trace.states(&Policy::ALL).count();
    let step = step(all, sample);
    let mut tally = Tally { all, ..Tally::default() };
    let mut materialiser = Materialiser::new();
    for state in trace.states(&Policy::ALL).step_by(step) {
        let folder = materialiser.show(&state).unwrap();
        if let Err(failure) = check(folder, &state, &old, &new) {
            tally.add(&state, &failure);
        }
        tally.judged += 1;
    }
    tally
}

fn check(folder: &Path, state: &State, old: &str, new: &str) -> Result<(), Failure> {
    let output = git(folder).args(["fsck", "--full"]).output().unwrap();
    if !output.status.success() {
        let why = [output.stderr, output.stdout].concat();
        let why = String::from_utf8_lossy(&why).lines().next().unwrap_or_default().to_owned();
        return Err(Failure::Unreadable(why));
    }
    let head = head(folder);
    if head != new && (head != old || &*state.stdout == "done\n") {
        return Err(Failure::Lost(format!("it is at {head:?}")));
    }
    let is_lock = |path: &Path| path.extension().is_some_and(|end| end == "lock");
    match state.tree.keys().find(|path| is_lock(path)) {
        Some(lock) => Err(Failure::Stuck(format!("{} is there", lock.display()))),
        None => Ok(()),
    }
}

fn git(folder: &Path) -> Command {
    let mut command = Command::new("git");
    isolate(command.current_dir(folder));
    command
}

fn isolate(command: &mut Command) {
    let who = ["GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"];
    command.envs(who.map(|name| (name, "someone")));
    command.envs(["GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"].map(|name| (name, "/dev/null")));
}

fn printed(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

#[track_caller]
fn run(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

fn head(folder: &Path) -> String {
    printed(&git(folder).args(["rev-parse", "HEAD"]).output().unwrap())
}
