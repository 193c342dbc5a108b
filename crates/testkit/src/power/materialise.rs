//! States as folders on a disk.

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
    /// Writes it into a folder that is empty or not there.
    pub fn materialise(&self, into: &Path) -> io::Result<()> {
        fs::create_dir_all(into)?;
        let mut made = 0;
        self.tree
            .iter()
            .try_for_each(|(path, found)| make(&into.join(path), found, &mut made).map(drop))
    }
}

/// One folder that shows state after state, and is written to only where they differ.
///
/// Whoever looks may change it: that is found out and put right before the next one. Files are
/// written anew, never in place.
#[derive(Debug)]
pub struct Materialiser {
    folder: tempfile::TempDir,
    shown: Tree,
    /// How to tell that a file is still the one that we wrote.
    marks: BTreeMap<PathBuf, Mark>,
    made: u64,
}

/// The time is one that no clock shows any more, and another for each file.
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

    /// The folder, with this state in it and nothing else.
    pub fn show(&mut self, state: &State) -> io::Result<&Path> {
        let mut kept = Tree::new();
        self.clear(Path::new(""), &state.tree, &mut kept)?;
        let root = self.folder.path();
        for (path, found) in &state.tree {
            if !kept.contains_key(path)
                && let Some(mark) = make(&root.join(path), found, &mut self.made)?
            {
                self.marks.insert(path.clone(), mark);
            }
        }
        self.shown = state.tree.clone();
        Ok(root)
    }

    /// Removes what is not as it has to be, and tells what is.
    fn clear(&self, data_root: &Path, wanted: &Tree, kept: &mut Tree) -> io::Result<()> {
        let root = self.folder.path();
        for entry in fs::read_dir(root.join(data_root))? {
            let data_root = data_root.join(entry?.file_name());
            let path = root.join(&data_root);
            let metadata = path.symlink_metadata()?;
            let found = wanted.get(&data_root);
            let is_right = match found {
                Some(Found::Folder) => metadata.is_dir(),
                Some(Found::File(_)) => {
                    found == self.shown.get(&data_root)
                        && self.marks.get(&data_root) == Some(&Mark::of(&metadata))
                }
                Some(Found::Symlink(target)) => {
                    metadata.is_symlink() && fs::read_link(&path)? == *target
                }
                None => false,
            };
            if let Some(found) = found.filter(|_| is_right) {
                if metadata.is_dir() {
                    self.clear(&data_root, wanted, kept)?;
                }
                kept.insert(data_root, found.clone());
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
