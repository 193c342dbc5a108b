//! The states in which a folder can be found after a power cut.

use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use super::content::{Change, Content};
use super::disk::{Disk, View};
use super::op::{Inode, Op};
use super::snapshot::Tree;
use super::tear::{Tear, Tears};
use super::trace::Trace;

/// What had reached the disk when the power failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Policy {
    /// Everything: only the program was killed, possibly in the middle of a long write.
    Kept,
    /// All names, but only the synced content of every file: the empty files of ext4.
    ContentLost,
    /// The same for a single unsynced file, and for all but one.
    ContentLostOfOne,
    /// All names, and some sectors of the unsynced content.
    ContentTorn,
    /// Only a sync of a folder preserves its names. The others are lost: all, the first or the
    /// last. A move between two folders counts as two changes. No common file system does this.
    NamesLost,
    /// The same for every single name change. If no folder is synced, the number of states is
    /// quadratic in the number of changes.
    NamesLostOfOne,
    /// As with a journalling file system: name changes reach the disk in order, and any sync
    /// includes all earlier ones.
    NamesLate,
}

impl Policy {
    pub const ALL: [Self; 7] = [
        Self::Kept,
        Self::ContentLost,
        Self::ContentLostOfOne,
        Self::ContentTorn,
        Self::NamesLost,
        Self::NamesLostOfOne,
        Self::NamesLate,
    ];
}

/// A state in which the folder could be found.
#[derive(Clone, Debug)]
pub struct State {
    pub tree: Tree,
    /// The command's standard output up to then.
    pub stdout: Arc<str>,
    /// How many operations had been performed.
    pub at: usize,
    pub policy: Policy,
    /// A human-readable description of when and how.
    description: String,
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.description)
    }
}

/// Iterates over the states, from the first operation to the last. Any two differ in the folder or
/// in the output before it.
pub struct States<'t> {
    trace: &'t Trace,
    policies: Vec<Policy>,
    /// The disk after the operations so far; `None` after the last one.
    disk: Option<Disk>,
    stdout: Vec<u8>,
    ready: VecDeque<State>,
    seen: HashSet<u64>,
    tears: Tears,
    made: usize,
}

/// A killed program stops writing at a page boundary.
const PAGE: usize = 4096;

impl<'t> States<'t> {
    pub(super) fn new(trace: &'t Trace, policies: &[Policy]) -> Self {
        Self {
            trace,
            policies: policies.to_vec(),
            disk: Some(trace.start.clone()),
            stdout: Vec::new(),
            ready: VecDeque::new(),
            seen: HashSet::new(),
            tears: Tears::default(),
            made: 0,
        }
    }

    /// The number of states generated so far, including duplicates.
    pub fn made(&self) -> usize {
        self.made
    }

    /// The number of distinct states so far.
    pub fn distinct(&self) -> usize {
        self.seen.len()
    }

    /// Generates the states after the operations so far, and advances to the next operation.
    fn advance(&mut self, mut disk: Disk) {
        for policy in self.policies.clone() {
            let mut round = Round { states: self, disk: &disk, policy };
            match policy {
                Policy::Kept => round.kept(),
                Policy::ContentLost => round.content_lost(),
                Policy::ContentLostOfOne => round.content_lost_of_one(),
                Policy::ContentTorn => round.content_torn(),
                Policy::NamesLost => round.names_lost(),
                Policy::NamesLostOfOne => round.names_lost_of_one(),
                Policy::NamesLate => round.names_late(),
            }
        }
        if let Some(op) = self.trace.ops.get(disk.count()) {
            if let Op::Print { bytes } = op {
                self.stdout.extend(bytes);
            }
            disk.apply(op);
            self.disk = Some(disk);
        }
    }
}

impl Iterator for States<'_> {
    type Item = State;

    fn next(&mut self) -> Option<State> {
        while self.ready.is_empty() {
            let disk = self.disk.take()?;
            self.advance(disk);
        }
        self.ready.pop_front()
    }
}

/// One policy after one operation.
struct Round<'s, 't, 'd> {
    states: &'s mut States<'t>,
    disk: &'d Disk,
    policy: Policy,
}

impl Round<'_, '_, '_> {
    fn push_if_new(&mut self, view: &View, how: impl FnOnce() -> String) {
        let tree = self.disk.tree(view);
        let states = &mut *self.states;
        states.made += 1;
        let mut hasher = DefaultHasher::new();
        tree.hash(&mut hasher);
        states.stdout.hash(&mut hasher);
        if !states.seen.insert(hasher.finish()) {
            return;
        }
        let at = self.disk.count();
        let last = match at.checked_sub(1) {
            Some(last) => &self.states.trace.labels[last],
            None => "nothing",
        };
        let of = self.states.trace.ops.len();
        let description = format!("{:?}: after {at} of {of} ({last}), {}", self.policy, how());
        let stdout = String::from_utf8_lossy(&self.states.stdout).into();
        self.states.ready.push_back(State { tree, stdout, at, policy: self.policy, description });
    }

    fn kept(&mut self) {
        self.push_if_new(&View::default(), || "nothing lost".into());
        let Some(Op::Write { inode, offset, bytes }) = self.states.trace.ops.get(self.disk.count())
        else {
            return;
        };
        let half = bytes.len() / 2 / PAGE * PAGE;
        if half > 0
            && let Some(file) = self.disk.file(*inode)
        {
            let mut begun = file.now.to_vec();
            Change::Write { offset: *offset, bytes: bytes[..half].into() }.apply(&mut begun);
            let contents = BTreeMap::from([(*inode, Content::new(begun))]);
            let view = View { contents, ..View::default() };
            self.push_if_new(&view, || format!("{half} bytes into the next write"));
        }
    }

    fn content_lost(&mut self) {
        let view = View { contents: self.synced(), ..View::default() };
        self.push_if_new(&view, || "contents as they were synced".into());
        let files = self.disk.unsynced_and_named();
        let contents = files.map(|(inode, file)| (inode, file.truncated())).collect();
        let view = View { contents, ..View::default() };
        self.push_if_new(&view, || "contents as they were synced, but cut short".into());
    }

    fn content_lost_of_one(&mut self) {
        let disk = self.disk;
        let files = disk.unsynced_and_named();
        let synced: BTreeMap<Inode, Content> =
            files.map(|(inode, file)| (inode, file.synced.clone())).collect();
        for (&inode, content) in &synced {
            let contents = BTreeMap::from([(inode, content.clone())]);
            let view = View { contents, ..View::default() };
            self.push_if_new(&view, || format!("without the content of {}", name(disk, inode)));
            let mut contents = synced.clone();
            contents.remove(&inode);
            let view = View { contents, ..View::default() };
            let how = || format!("of unsynced contents, only that of {}", name(disk, inode));
            self.push_if_new(&view, how);
        }
    }

    fn content_torn(&mut self) {
        let last = match self.disk.count().checked_sub(1).map(|at| &self.states.trace.ops[at]) {
            Some(Op::Write { inode, .. }) => Some(*inode),
            _ => None,
        };
        for tear in Tear::ALL {
            let files = self.disk.unsynced_and_named();
            let tears = &mut self.states.tears;
            let torn: BTreeMap<Inode, Content> = files
                .filter_map(|(inode, file)| Some((inode, tears.of(inode, file, tear)?)))
                .collect();
            if let Some(inode) = last
                && let Some(content) = torn.get(&inode)
            {
                let contents = BTreeMap::from([(inode, content.clone())]);
                let view = View { contents, ..View::default() };
                self.push_if_new(&view, || format!("last file: {tear:?}"));
            }
            if !torn.is_empty() {
                let view = View { contents: torn, ..View::default() };
                self.push_if_new(&view, || format!("all files: {tear:?}"));
            }
        }
    }

    fn names_lost(&mut self) {
        let disk = self.disk;
        let ops = || disk.edits().iter().map(|edit| edit.op);
        let (first, last) = (ops().min(), ops().max());
        for contents in [BTreeMap::new(), self.synced()] {
            let names = disk.names_with(|_| false);
            let view = View { names, contents: contents.clone() };
            self.push_if_new(&view, || "no name that was not synced".into());
            for lost in [first, last].into_iter().flatten() {
                self.without(lost, contents.clone());
            }
        }
    }

    fn names_lost_of_one(&mut self) {
        let ops: BTreeSet<usize> = self.disk.edits().iter().map(|edit| edit.op).collect();
        ops.into_iter().for_each(|lost| self.without(lost, BTreeMap::new()));
    }

    fn without(&mut self, lost: usize, contents: BTreeMap<Inode, Content>) {
        let names = self.disk.names_with(|edit| edit.op != lost);
        let label = &self.states.trace.labels[lost];
        self.push_if_new(&View { names, contents }, || format!("only the name lost of: {label}"));
    }

    fn names_late(&mut self) {
        let disk = self.disk;
        let ops = disk.edits().iter().map(|edit| edit.op);
        let late: Vec<usize> = ops.filter(|&op| op >= disk.journalled()).collect();
        let cuts = [late.first(), late.get(late.len() / 2), late.last()];
        for cut in cuts.into_iter().flatten() {
            for contents in [BTreeMap::new(), self.synced()] {
                let names = disk.names_with(|edit| edit.op < *cut);
                let label = &self.states.trace.labels[*cut];
                self.push_if_new(&View { names, contents }, || {
                    format!("names only until: {label}")
                });
            }
        }
    }

    /// The last synced content of every unsynced file.
    fn synced(&self) -> BTreeMap<Inode, Content> {
        self.disk.unsynced().map(|(inode, file)| (inode, file.synced.clone())).collect()
    }
}

fn name(disk: &Disk, inode: Inode) -> String {
    match disk.path_of(inode) {
        Some(path) => path.display().to_string(),
        None => "a file without a name".into(),
    }
}
