//! Maps the descriptors of each process to files.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use super::op::Inode;

/// An open file description: shared, with its offset, by duplicated and inherited descriptors.
#[derive(Clone, Debug)]
pub(super) struct OpenFile {
    pub(super) target: OpenTarget,
    pub(super) offset: usize,
    pub(super) appends: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum OpenTarget {
    /// A file or folder inside the traced folder.
    Inside(Inode),
    Outside(PathBuf),
    StandardOutput,
}

#[derive(Default)]
pub(super) struct Processes {
    opened: Vec<OpenFile>,
    tables: Vec<BTreeMap<i32, Slot>>,
    folders: Vec<PathBuf>,
    running: HashMap<u32, Process>,
}

#[derive(Clone, Copy)]
struct Slot {
    opened: usize,
    closes_on_exec: bool,
}

/// Threads of a process share the descriptor table and the working directory.
#[derive(Clone, Copy, Default)]
struct Process {
    table: usize,
    folder: usize,
}

impl Processes {
    pub(super) fn start(&mut self, pid: u32, folder: &Path) {
        let target = OpenTarget::StandardOutput;
        self.opened.push(OpenFile { target, offset: 0, appends: false });
        self.tables.push(BTreeMap::from([(1, Slot { opened: 0, closes_on_exec: false })]));
        self.folders.push(folder.to_owned());
        self.running.insert(pid, Process { table: 0, folder: 0 });
    }

    pub(super) fn fork(&mut self, parent: u32, child: u32, shares_table: bool, shares_fs: bool) {
        let mut process = self.process(parent);
        if !shares_table {
            self.tables.push(self.tables[process.table].clone());
            process.table = self.tables.len() - 1;
        }
        if !shares_fs {
            self.folders.push(self.folders[process.folder].clone());
            process.folder = self.folders.len() - 1;
        }
        self.running.insert(child, process);
    }

    pub(super) fn execute(&mut self, pid: u32) {
        self.fork(pid, pid, false, false);
        let table = self.table(pid);
        table.retain(|_, slot| !slot.closes_on_exec);
    }

    pub(super) fn open(&mut self, pid: u32, number: i32, opened: OpenFile, closes_on_exec: bool) {
        self.opened.push(opened);
        let opened = self.opened.len() - 1;
        self.table(pid).insert(number, Slot { opened, closes_on_exec });
    }

    pub(super) fn close(&mut self, pid: u32, number: i32) {
        self.table(pid).remove(&number);
    }

    pub(super) fn close_range(&mut self, pid: u32, first: i64, last: i64, only_on_exec: bool) {
        let is_meant = |number: i32| (first..=last).contains(&i64::from(number));
        let table = self.table(pid);
        if only_on_exec {
            let meant = table.iter_mut().filter(|(number, _)| is_meant(**number));
            meant.for_each(|(_, slot)| slot.closes_on_exec = true);
        } else {
            table.retain(|number, _| !is_meant(*number));
        }
    }

    pub(super) fn duplicate(&mut self, pid: u32, from: i32, to: i32, closes_on_exec: bool) {
        let table = self.table(pid);
        match table.get(&from).copied() {
            Some(slot) => table.insert(to, Slot { closes_on_exec, ..slot }),
            // A pipe or the like, which is not tracked.
            None => table.remove(&to),
        };
    }

    pub(super) fn set_closes_on_exec(&mut self, pid: u32, number: i32, closes_on_exec: bool) {
        if let Some(slot) = self.table(pid).get_mut(&number) {
            slot.closes_on_exec = closes_on_exec;
        }
    }

    pub(super) fn opened(&mut self, pid: u32, number: i32) -> Option<&mut OpenFile> {
        let slot = *self.table(pid).get(&number)?;
        self.opened.get_mut(slot.opened)
    }

    pub(super) fn folder(&mut self, pid: u32) -> &mut PathBuf {
        let process = self.process(pid);
        &mut self.folders[process.folder]
    }

    fn table(&mut self, pid: u32) -> &mut BTreeMap<i32, Slot> {
        let process = self.process(pid);
        &mut self.tables[process.table]
    }

    /// Every process except the first was forked by a known one.
    fn process(&self, pid: u32) -> Process {
        self.running.get(&pid).copied().unwrap_or_default()
    }
}
