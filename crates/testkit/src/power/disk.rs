//! A model file system that tracks what has been synced.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::path::{Component, Path, PathBuf};

use super::content::{Change, Content};
use super::op::{Inode, Op, Place};
use super::snapshot::{Found, Tree};

pub(super) type Names = BTreeMap<OsString, Inode>;

#[derive(Clone, Debug)]
pub(super) struct Disk {
    nodes: Vec<Node>,
    /// Name changes that no sync of their folder covers, oldest first.
    edits: Vec<Edit>,
    /// How many operations were applied.
    count: usize,
    /// How many of them were covered by any sync at all.
    journalled: usize,
}

#[derive(Clone, Debug)]
pub(super) enum Node {
    File(File),
    Dir { now: Names, synced: Names },
    Symlink(PathBuf),
}

#[derive(Clone, Debug)]
pub(super) struct File {
    pub(super) now: Content,
    pub(super) synced: Content,
    /// The changes that lead from `synced` to `now`, each with the index of its operation.
    pub(super) pending: Vec<(usize, Change)>,
}

#[derive(Clone, Debug)]
pub(super) struct Edit {
    /// The index of the operation that it is part of.
    pub(super) op: usize,
    at: Place,
    to: Option<Inode>,
}

/// Overrides for the current names and contents.
#[derive(Clone, Default)]
pub(super) struct View {
    pub(super) names: BTreeMap<Inode, Names>,
    pub(super) contents: BTreeMap<Inode, Content>,
}

impl Disk {
    /// An empty root folder.
    pub(super) fn new() -> Self {
        let root = Node::Dir { now: Names::new(), synced: Names::new() };
        Self { nodes: vec![root], edits: Vec::new(), count: 0, journalled: 0 }
    }

    pub(super) fn count(&self) -> usize {
        self.count
    }

    pub(super) fn journalled(&self) -> usize {
        self.journalled
    }

    pub(super) fn edits(&self) -> &[Edit] {
        &self.edits
    }

    /// The inode that the next created object will get.
    pub(super) fn next(&self) -> Inode {
        Inode(self.nodes.len())
    }

    pub(super) fn node(&self, inode: Inode) -> &Node {
        &self.nodes[inode.0]
    }

    pub(super) fn file(&self, inode: Inode) -> Option<&File> {
        match self.node(inode) {
            Node::File(file) => Some(file),
            Node::Dir { .. } | Node::Symlink(_) => None,
        }
    }

    /// The files whose content is not fully synced.
    pub(super) fn unsynced(&self) -> impl Iterator<Item = (Inode, &File)> {
        let all = self.nodes.iter().enumerate();
        all.filter_map(|(number, node)| match node {
            Node::File(file) if !file.pending.is_empty() => Some((Inode(number), file)),
            _ => None,
        })
    }

    /// Those of them that currently have a name.
    pub(super) fn unsynced_and_named(&self) -> impl Iterator<Item = (Inode, &File)> {
        let named: BTreeSet<Inode> = self.nodes.iter().flat_map(Node::named).collect();
        self.unsynced().filter(move |(inode, _)| named.contains(inode))
    }

    pub(super) fn lookup(&self, dir: Inode, name: &OsStr) -> Option<Inode> {
        match self.node(dir) {
            Node::Dir { now, .. } => now.get(name).copied(),
            Node::File(_) | Node::Symlink(_) => None,
        }
    }

    /// Does not follow links.
    pub(super) fn find(&self, path: &Path) -> Option<Inode> {
        path.components().try_fold(Inode::ROOT, |dir, part| match part {
            Component::Normal(name) => self.lookup(dir, name),
            Component::CurDir => Some(dir),
            _ => None,
        })
    }

    /// One of its paths.
    pub(super) fn path_of(&self, inode: Inode) -> Option<PathBuf> {
        let is_dir = |(_, node): &(usize, &Node)| matches!(node, Node::Dir { .. });
        let mut path = PathBuf::new();
        let mut inode = inode;
        while inode != Inode::ROOT {
            let mut dirs = self.nodes.iter().enumerate().filter(is_dir);
            let (dir, name) = dirs.find_map(|(dir, node)| match node {
                Node::Dir { now, .. } => {
                    let (name, _) = now.iter().find(|(_, found)| **found == inode)?;
                    Some((Inode(dir), name))
                }
                Node::File(_) | Node::Symlink(_) => None,
            })?;
            path =
                if path.as_os_str().is_empty() { name.into() } else { Path::new(name).join(path) };
            inode = dir;
        }
        Some(path)
    }

    pub(super) fn apply(&mut self, op: &Op) {
        match op {
            Op::Create { at, inode } => {
                self.push(Node::File(File::new()));
                self.edit(at, Some(*inode));
            }
            Op::CreateNameless { .. } => self.push(Node::File(File::new())),
            Op::Symlink { at, inode, target } => {
                self.push(Node::Symlink(target.clone()));
                self.edit(at, Some(*inode));
            }
            Op::Mkdir { at, inode } => {
                self.push(Node::Dir { now: Names::new(), synced: Names::new() });
                self.edit(at, Some(*inode));
            }
            Op::Write { inode, offset, bytes } => {
                self.change(*inode, Change::Write { offset: *offset, bytes: bytes.clone() });
            }
            Op::Truncate { inode, len } => self.change(*inode, Change::Truncate(*len)),
            Op::Link { inode, at } => self.edit(at, Some(*inode)),
            Op::Rename { from, to } => {
                let (moved, replaced) = (self.at(from), self.at(to));
                // Both are names of the same file: POSIX keeps both.
                if moved != replaced {
                    self.edit(from, None);
                    self.edit(to, moved);
                }
            }
            Op::Exchange { a, b } => {
                let (was_a, was_b) = (self.at(a), self.at(b));
                self.edit(a, was_b);
                self.edit(b, was_a);
            }
            Op::Unlink { at } | Op::Rmdir { at } => self.edit(at, None),
            Op::SyncFile { inode, covers } => self.sync_file(*inode, *covers),
            Op::SyncDir { dir, covers } => self.sync_names(*covers, |at| at.dir == *dir),
            Op::SyncAll { covers } => {
                (0..self.nodes.len()).for_each(|number| self.sync_file(Inode(number), *covers));
                self.sync_names(*covers, |_| true);
            }
            Op::Print { .. } => {}
        }
        self.journalled = self.journalled.max(op.covers().unwrap_or(0));
        self.count += 1;
    }

    fn push(&mut self, node: Node) {
        self.nodes.push(node);
    }

    fn at(&self, place: &Place) -> Option<Inode> {
        self.lookup(place.dir, &place.name)
    }

    fn edit(&mut self, at: &Place, to: Option<Inode>) {
        if let Node::Dir { now, .. } = &mut self.nodes[at.dir.0] {
            set(now, &at.name, to);
            self.edits.push(Edit { op: self.count, at: at.clone(), to });
        }
    }

    fn change(&mut self, inode: Inode, change: Change) {
        if let Node::File(file) = &mut self.nodes[inode.0] {
            let mut bytes = file.now.to_vec();
            change.apply(&mut bytes);
            file.now = Content::new(bytes);
            file.pending.push((self.count, change));
        }
    }

    fn sync_file(&mut self, inode: Inode, covers: usize) {
        let Node::File(file) = &mut self.nodes[inode.0] else { return };
        let covered = file.pending.partition_point(|(op, _)| *op < covers);
        file.synced = if covered == file.pending.len() {
            file.now.clone()
        } else {
            replayed(&file.synced, &file.pending[..covered])
        };
        file.pending.drain(..covered);
    }

    fn sync_names(&mut self, covers: usize, is_meant: impl Fn(&Place) -> bool) {
        let edits = std::mem::take(&mut self.edits);
        for edit in edits {
            match &mut self.nodes[edit.at.dir.0] {
                Node::Dir { synced, .. } if edit.op < covers && is_meant(&edit.at) => {
                    set(synced, &edit.at.name, edit.to);
                }
                _ => self.edits.push(edit),
            }
        }
    }

    /// Marks everything as synced.
    pub(super) fn settle(&mut self) {
        self.apply(&Op::SyncAll { covers: self.count });
        (self.count, self.journalled) = (0, 0);
    }

    /// The names if only these edits had reached the disk.
    pub(super) fn names_with(&self, has_arrived: impl Fn(&Edit) -> bool) -> BTreeMap<Inode, Names> {
        let mut names = BTreeMap::new();
        for edit in &self.edits {
            let Node::Dir { synced, .. } = self.node(edit.at.dir) else { continue };
            let names = names.entry(edit.at.dir).or_insert_with(|| synced.clone());
            if has_arrived(edit) {
                set(names, &edit.at.name, edit.to);
            }
        }
        names
    }

    pub(super) fn tree(&self, view: &View) -> Tree {
        let mut tree = Tree::new();
        // If a half-done move left a folder with two names, only the first one counts.
        let mut seen = BTreeSet::from([Inode::ROOT]);
        let mut folders = vec![(PathBuf::new(), Inode::ROOT)];
        while let Some((path, dir)) = folders.pop() {
            let Node::Dir { now, .. } = self.node(dir) else { continue };
            for (name, &inode) in view.names.get(&dir).unwrap_or(now) {
                let path = path.join(name);
                let found = match self.node(inode) {
                    Node::File(file) => {
                        let content = view.contents.get(&inode).unwrap_or(&file.now);
                        Found::File(content.clone())
                    }
                    Node::Symlink(target) => Found::Symlink(target.clone()),
                    Node::Dir { .. } if seen.insert(inode) => {
                        folders.push((path.clone(), inode));
                        Found::Folder
                    }
                    Node::Dir { .. } => continue,
                };
                tree.insert(path, found);
            }
        }
        tree
    }
}

impl Node {
    fn named(&self) -> impl Iterator<Item = Inode> {
        let names = match self {
            Self::Dir { now, .. } => Some(now.values().copied()),
            Self::File(_) | Self::Symlink(_) => None,
        };
        names.into_iter().flatten()
    }
}

impl File {
    fn new() -> Self {
        let empty = Content::new(Vec::new());
        Self { now: empty.clone(), synced: empty, pending: Vec::new() }
    }

    /// The content if, of the pending changes, only the truncation had reached the disk.
    pub(super) fn truncated(&self) -> Content {
        let lens = self.pending.iter().filter_map(|(_, change)| match change {
            Change::Truncate(len) => Some(*len),
            Change::Write { .. } => None,
        });
        match lens.min() {
            Some(len) if len < self.synced.len() => Content::new(self.synced[..len].to_vec()),
            _ => self.synced.clone(),
        }
    }
}

fn replayed(from: &Content, changes: &[(usize, Change)]) -> Content {
    let mut bytes = from.to_vec();
    changes.iter().for_each(|(_, change)| change.apply(&mut bytes));
    Content::new(bytes)
}

fn set(names: &mut Names, name: &OsStr, to: Option<Inode>) {
    match to {
        Some(inode) => names.insert(name.to_owned(), inode),
        None => names.remove(name),
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sync_does_not_cover_what_was_written_meanwhile() {
        let mut disk = Disk::new();
        let inode = disk.next();
        let write = |offset, bytes: &[u8]| Op::Write { inode, offset, bytes: bytes.into() };
        disk.apply(&Op::Create { at: Place { dir: Inode::ROOT, name: "x".into() }, inode });
        disk.apply(&write(0, b"before"));
        disk.apply(&write(6, b" after"));
        disk.apply(&Op::SyncFile { inode, covers: 2 });
        disk.apply(&Op::SyncDir { dir: Inode::ROOT, covers: 0 });
        assert_eq!(&*disk.file(inode).unwrap().synced, b"before");
        assert_eq!(&*disk.file(inode).unwrap().now, b"before after");
        assert_eq!(disk.edits().len(), 1);
    }
}
