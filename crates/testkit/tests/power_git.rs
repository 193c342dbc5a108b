//! Git under power cuts: a baseline for comparison, and a check of the model itself.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "the helpers are tests too")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use forklore_testkit::power::{Materialiser, Op, Policy, State, Trace};
use forklore_testkit::tree::temporary_folder;

/// The results for the states of one policy.
#[derive(Debug, Default, PartialEq, Eq)]
struct Tally {
    states: usize,
    /// Damaged, or at neither the old nor the new commit.
    broken: usize,
    /// Intact, but without the commit that git had reported as made.
    taken_back: usize,
    /// A lock file must be removed by hand before git can continue.
    locked: usize,
}

/// A commit on top of another, and all its possible states after a power cut.
struct Case {
    trace: Trace,
    /// The two valid commits.
    old: String,
    new: String,
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
    command.envs(["GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"].map(|name| (name, "1700000000 +0000")));
}

fn printed(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

#[track_caller]
fn run(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    printed(&output)
}

fn head(folder: &Path) -> String {
    printed(&git(folder).args(["rev-parse", "HEAD"]).output().unwrap())
}

/// Text that does not compress well.
fn text(seed: u64, len: usize) -> Vec<u8> {
    let mut random = fastrand::Rng::with_seed(seed);
    std::iter::repeat_with(|| random.alphanumeric() as u8).take(len).collect()
}

impl Case {
    fn with_settings(settings: &[&str]) -> Self {
        let folder = temporary_folder();
        let folder = folder.path();
        run(git(folder).args(["init", "--quiet", "--template="]));
        fs::write(folder.join("story"), text(1, 3000)).unwrap();
        fs::write(folder.join("lore"), text(2, 5000)).unwrap();
        run(git(folder).args(["add", "."]));
        run(git(folder).args(["commit", "--quiet", "--message", "one"]));
        for setting in settings {
            let (name, value) = setting.split_once('=').unwrap();
            run(git(folder).args(["config", name, value]));
        }
        let old = head(folder);

        fs::write(folder.join("story"), text(3, 4000)).unwrap();
        fs::write(folder.join("new"), text(4, 200)).unwrap();
        let mut command = Command::new("sh");
        let script = "git add . && git commit --quiet --message two && echo done";
        isolate(command.args(["-c", script]).current_dir(folder));
        let trace = Trace::record(folder, &command).unwrap();
        assert_eq!(trace.stdout, b"done\n");
        let new = head(folder);
        assert_ne!(old, new);
        Self { trace, old, new }
    }

    /// Checks every state, separately for each policy.
    #[expect(clippy::print_stdout, reason = "the number of states is a result, not a guess")]
    fn judge(&self, name: &str, policies: &[Policy]) -> BTreeMap<Policy, Tally> {
        println!("{name}: {} operations, {} syncs", self.trace.ops().len(), self.trace.syncs());
        let mut materialiser = Materialiser::new();
        let mut tallies = BTreeMap::new();
        for &policy in policies {
            let mut tally = Tally::default();
            let mut shown = Vec::new();
            let mut states = self.trace.states(&[policy]);
            let end = self.trace.ops().len();
            // There are too many of these to try them all in a test.
            let is_tried = |state: &State| policy != Policy::NamesLostOfOne || state.at == end;
            for state in states.by_ref().filter(is_tried) {
                let folder = materialiser.show(&state).unwrap();
                tally.states += 1;
                match self.check(folder, &state) {
                    Ok(true) => {}
                    Ok(false) => tally.taken_back += 1,
                    Err(why) => {
                        tally.broken += 1;
                        shown.push(format!("  {state}: {why}"));
                    }
                }
                let is_lock = |path: &Path| path.extension().is_some_and(|end| end == "lock");
                tally.locked += usize::from(state.tree.keys().any(|path| is_lock(path)));
            }
            let Tally { broken, taken_back, locked, .. } = tally;
            println!(
                "{policy:?}: {} states (of {}), {} tried: {broken} broken, \
                 {taken_back} taken back, {locked} with a lock",
                states.distinct(),
                states.made(),
                tally.states,
            );
            shown.iter().take(3).for_each(|line| println!("{line}"));
            tallies.insert(policy, tally);
        }
        tallies
    }

    /// `Ok(true)` if everything reported as done is done; an error if the repository is damaged.
    fn check(&self, folder: &Path, state: &State) -> Result<bool, String> {
        let output = git(folder).args(["fsck", "--full"]).output().unwrap();
        if !output.status.success() {
            let why = [output.stderr, output.stdout].concat();
            let why = String::from_utf8_lossy(&why);
            return Err(why.lines().next().unwrap_or_default().to_owned());
        }
        match head(folder) {
            head if head == self.new => Ok(true),
            head if head == self.old => Ok(&*state.stdout != "done\n"),
            head => Err(format!("it has commit {head:?}")),
        }
    }
}

#[test]
fn git_as_it_comes_loses_what_it_did_not_sync() {
    let case = Case::with_settings(&[]);
    assert_eq!(case.trace.syncs(), 0);
    let policies = [Policy::Kept, Policy::ContentLost, Policy::ContentTorn];
    let tallies = case.judge("default", &policies);
    assert_eq!(tallies[&Policy::Kept].broken, 0, "to be killed does no harm");
    assert!(tallies[&Policy::Kept].locked > 0, "but to the locks");
    assert!(tallies[&Policy::ContentLost].broken > 0);
    assert!(tallies[&Policy::ContentTorn].broken > 0);
}

/// Git syncs files but not folders. So it relies on names reaching the disk in order, and even then
/// the last rename, which makes the commit, may reach the disk after the commit was reported.
#[test]
fn git_that_syncs_trusts_the_order_of_names_alone() {
    let case = Case::with_settings(&["core.fsync=all", "core.fsyncMethod=fsync"]);
    let ops = case.trace.ops();
    assert!(ops.iter().any(|op| matches!(op, Op::SyncFile { .. })));
    assert!(!ops.iter().any(|op| matches!(op, Op::SyncDir { .. })));
    for (policy, tally) in case.judge("core.fsync=all", &Policy::ALL) {
        let Tally { broken, taken_back, .. } = tally;
        match policy {
            Policy::NamesLost | Policy::NamesLostOfOne => assert!(broken > 0, "{policy:?}"),
            Policy::NamesLate => assert!(broken == 0 && taken_back > 0, "{policy:?}"),
            _ => assert_eq!((broken, taken_back), (0, 0), "{policy:?}"),
        }
    }
}
