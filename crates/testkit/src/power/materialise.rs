//! Writes states to disk as folders.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::snapshot::{Found, Tree};
use super::state::State;
use crate::tree::temporary_folder;

impl State {
    /// Writes the state into a folder that is empty or does not exist.
    pub fn materialise(&self, into: &Path) -> io::Result<()> {
        fs::create_dir_all(into)?;
        let mut made = 0;
        self.tree
            .iter()
            .try_for_each(|(path, found)| make(&into.join(path), found, &mut made).map(drop))
    }
}

/// One folder that shows one state after another, rewriting only the differences.
///
/// The caller may change the folder: changes are detected and reverted before the next state. Files
/// are always recreated, never written in place.
#[derive(Debug)]
pub struct Materialiser {
    folder: tempfile::TempDir,
    shown: Tree,
    /// Identifies the files that are still as we wrote them.
    marks: BTreeMap<PathBuf, Mark>,
    made: u64,
}

/// The modification time is far in the past, and different for each file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Mark {
    inode: u64,
    time: (i64, i64),
    len: u64,
}

impl Materialiser {
    #[expect(clippy::new_without_default, reason = "it makes a folder, which is not nothing")]
    pub fn new() -> Self {
        let (shown, marks) = (Tree::new(), BTreeMap::new());
        Self { folder: temporary_folder(), shown, marks, made: 0 }
    }

    /// The folder, containing exactly this state.
    pub fn show(&mut self, state: &State) -> io::Result<&Path> {
        let mut unchanged = Tree::new();
        self.clear(Path::new(""), &state.tree, &mut unchanged)?;
        let root = self.folder.path();
        for (path, found) in &state.tree {
            if !unchanged.contains_key(path)
                && let Some(mark) = make(&root.join(path), found, &mut self.made)?
            {
                self.marks.insert(path.clone(), mark);
            }
        }
        self.shown = state.tree.clone();
        Ok(root)
    }

    /// Removes everything that differs from `wanted`, and collects the rest in `unchanged`.
    fn clear(&self, relative: &Path, wanted: &Tree, unchanged: &mut Tree) -> io::Result<()> {
        let root = self.folder.path();
        for entry in fs::read_dir(root.join(relative))? {
            let relative = relative.join(entry?.file_name());
            let path = root.join(&relative);
            let metadata = path.symlink_metadata()?;
            let found = wanted.get(&relative);
            let is_right = match found {
                Some(Found::Folder) => metadata.is_dir(),
                Some(Found::File(_)) => {
                    found == self.shown.get(&relative)
                        && self.marks.get(&relative) == Some(&Mark::of(&metadata))
                }
                Some(Found::Symlink(target)) => {
                    metadata.is_symlink() && fs::read_link(&path)? == *target
                }
                None => false,
            };
            if let Some(found) = found.filter(|_| is_right) {
                if metadata.is_dir() {
                    self.clear(&relative, wanted, unchanged)?;
                }
                unchanged.insert(relative, found.clone());
            } else if metadata.is_dir() {
                fs::remove_dir_all(path)?;
            } else {
                fs::remove_file(path)?;
            }
        }
        Ok(())
    }
}

fn make(path: &Path, found: &Found, made: &mut u64) -> io::Result<Option<Mark>> {
    match found {
        Found::Folder => fs::create_dir(path).map(|()| None),
        Found::Symlink(target) => symlink(target, path).map(|()| None),
        Found::File(content) => {
            *made += 1;
            let mut file = fs::File::create_new(path)?;
            file.write_all(content)?;
            file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(*made))?;
            Ok(Some(Mark::of(&file.metadata()?)))
        }
    }
}

impl Mark {
    fn of(metadata: &fs::Metadata) -> Self {
        let time = (metadata.mtime(), metadata.mtime_nsec());
        Self { inode: metadata.ino(), time, len: metadata.len() }
    }
}
