//! What must hold for a folder after a command was interrupted in it.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;

use forklore_core::finding::Finding;
use forklore_core::sillytavern::book::Book;
use forklore_tavern::disk::RealDisk;
use forklore_testkit::faulty::{Call, Fault, FaultyDisk};
use forklore_testkit::scene::{Scene, Stopped, Tree, USER};

use crate::cases::{Case, undo};

/// A case with its results when nothing fails.
pub(crate) struct Baseline {
    pub(crate) case: Case,
    pub(crate) calls: Vec<Call>,
    old: Tree,
    new: Tree,
    old_findings: Findings,
    new_findings: Findings,
}

type Findings = BTreeMap<String, Vec<String>>;

/// The outcome of a run with a fault.
pub(crate) struct Outcome<'k> {
    baseline: &'k Baseline,
    scene: Scene,
    fault: Fault,
    power_was_cut: bool,
    result: Result<(), Box<dyn Error>>,
    wrong: RefCell<Vec<String>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Power {
    Stays,
    IsCut,
}

impl Baseline {
    pub(crate) fn of(case: Case) -> Self {
        let scene = Scene::of(&case.start);
        let (old, old_findings) = (scene.visible(), findings(&scene));
        let disk = FaultyDisk::new(Fault::None);
        case.run(&scene.tavern(&disk, &Stopped)).unwrap();
        let (new, new_findings) = (scene.visible(), findings(&scene));
        assert_ne!(old, new, "{} does something", case.name);
        assert!(scene.temps().is_empty());
        Self { case, calls: disk.calls(), old, new, old_findings, new_findings }
    }

    /// Runs the case with a fault, in a folder of its own.
    pub(crate) fn run_with(&self, fault: Fault, power: Power) -> Outcome<'_> {
        let scene = Scene::of(&self.case.start);
        let disk = FaultyDisk::new(fault);
        let result = self.case.run(&scene.tavern(&disk, &Stopped));
        let power_was_cut = power == Power::IsCut;
        if power_was_cut {
            disk.cut_power();
        }
        let wrong = RefCell::default();
        Outcome { baseline: self, scene, fault, power_was_cut, result, wrong }
    }
}

impl Outcome<'_> {
    /// All violations found, in the order of the checks.
    pub(crate) fn check(self) -> Vec<String> {
        self.check_files();
        self.check_nothing_is_lost();
        self.check_findings();
        self.check_answer();
        self.check_going_on();
        self.wrong.into_inner()
    }

    fn require(&self, is_met: bool, what: &str) {
        if is_met {
            return;
        }
        let Self { baseline, fault, power_was_cut, result, .. } = self;
        let call = match *fault {
            Fault::None | Fault::ReadOnly => None,
            Fault::Kill { at, .. } | Fault::Error { at, .. } | Fault::Full { at } => {
                baseline.calls.get(at).map(|call| call.name)
            }
        };
        let name = &baseline.case.name;
        let cut = if *power_was_cut { ", power cut" } else { "" };
        let wrong = format!("{name}, {fault:?} ({call:?}){cut}, {result:?}: {what}");
        self.wrong.borrow_mut().push(wrong);
    }

    /// Every file is entirely old or entirely new, and there are no others.
    fn check_files(&self) {
        let Baseline { old, new, .. } = self.baseline;
        let now = self.scene.visible();
        let paths: BTreeSet<&String> = old.keys().chain(new.keys()).chain(now.keys()).collect();
        for path in paths {
            let found = now.get(path);
            self.require(
                found == old.get(path) || found == new.get(path),
                &format!(
                    "{path} is neither old nor new: {:?}",
                    found.map(|f| String::from_utf8_lossy(f))
                ),
            );
        }
    }

    fn check_nothing_is_lost(&self) {
        let Baseline { case, old, new, .. } = self.baseline;
        let (now, trash) = (self.scene.visible(), self.scene.trash());
        for (path, bytes) in old {
            // An undo replaces Forklore's own version, made from the one that it restores.
            let is_our_version = case.is_undo && new.contains_key(path);
            let is_there =
                now.get(path) == Some(bytes) || trash.values().any(|stored| stored == bytes);
            self.require(is_there || is_our_version, &format!("{path} is lost"));
        }
        if case.is_undo {
            for (path, bytes) in new {
                let is_there = now.get(path) == Some(bytes) || trash.values().any(|b| b == bytes);
                self.require(is_there, &format!("what {path} was is lost"));
            }
        }
    }

    /// Verifying finds the same as before or as after the command. In between, there may only be
    /// files that nothing refers to: a marked book, or a group chat that its group does not list
    /// yet.
    fn check_findings(&self) {
        let Baseline { old, new, old_findings, new_findings, .. } = self.baseline;
        let mut found = findings(&self.scene);
        found.retain(|label, findings| {
            old_findings.contains_key(label) && new_findings.contains_key(label)
                || !findings.contains(&unlisted())
        });
        self.require(
            found == *old_findings || found == *new_findings,
            &format!("verifying finds {found:?}"),
        );
        let now = self.scene.visible();
        if now == *old || now == *new {
            return;
        }
        for path in
            now.keys().filter(|path| !old.contains_key(*path) && path.starts_with("worlds/"))
        {
            let is_marked = Book::read(&now[path]).is_ok_and(|book| book.mark().is_some());
            self.require(is_marked, &format!("{path} has no mark"));
        }
    }

    /// The error of a failed command names a path, and its completed steps were rolled back.
    fn check_answer(&self) {
        let Baseline { case, old, new, .. } = self.baseline;
        let now = self.scene.visible();
        let Err(error) = &self.result else {
            return self.require(now == *new, "it succeeded with another result");
        };
        let Fault::Error { .. } = self.fault else { return };
        let root = self.scene.root().display().to_string();
        self.require(chain(error.as_ref()).contains(&root), "the error names no path");
        if !case.is_undo {
            self.require(now == *old, "it failed, and was not taken back");
            let is_pending = operations(&self.scene) > earlier_operations(&case.start);
            self.require(!is_pending, "it failed, and left an operation to be undone");
        }
    }

    /// No unlocking or cleanup is needed: undo leads to the old state, however often it is
    /// repeated, and the command can be run again.
    fn check_going_on(&self) {
        let Baseline { case, old, new, .. } = self.baseline;
        let tavern = self.scene.tavern(&RealDisk, &Stopped);
        let (original, result) = if case.is_undo { (new, old) } else { (old, new) };
        let undo = |times: &str| {
            let undone = undo(&tavern);
            self.require(undone.is_ok(), &format!("{times} undo failed: {undone:?}"));
        };
        let earlier = earlier_operations(&case.start) - usize::from(case.is_undo);
        if operations(&self.scene) > earlier {
            undo("the first");
        }
        self.require(self.scene.visible() == *original, "undoing did not lead back");
        if earlier == 0 {
            undo("another");
            self.require(self.scene.visible() == *original, "undoing again led elsewhere");
        }
        if case.is_undo {
            return;
        }
        let again = case.run(&tavern);
        self.require(again.is_ok(), &format!("it cannot be done again: {again:?}"));
        self.require(self.scene.visible() == *result, "doing it again led elsewhere");
        self.require(self.scene.temps().is_empty(), "a temporary file was left");
        undo("the last");
        self.require(self.scene.visible() == *original, "undoing at the end did not lead back");
    }
}

/// The number of operations that can be undone.
fn operations(scene: &Scene) -> usize {
    earlier_operations(&scene.all())
}

fn earlier_operations(all: &Tree) -> usize {
    let folder = format!("_forklore/{USER}/operations/");
    let records = all.keys().filter_map(|path| path.strip_prefix(&folder)?.strip_suffix(".json"));
    records.filter(|id| !all.contains_key(&format!("{folder}{id}.undone"))).count()
}

fn findings(scene: &Scene) -> Findings {
    let tavern = scene.tavern(&RealDisk, &Stopped);
    let verified = tavern.verify(&tavern.library(), |_| true, &|| {});
    assert!(verified.unread.is_empty(), "{:?}", verified.unread);
    let findings = |found: Vec<Finding>| found.iter().map(|f| format!("{f:?}")).collect();
    verified
        .checked
        .into_iter()
        .map(|checked| (checked.chat.label(), findings(checked.findings)))
        .collect()
}

fn unlisted() -> String {
    format!("{:?}", Finding::Unlisted)
}

fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        text = format!("{text}: {error}");
        source = error.source();
    }
    text
}
