//! A snapshot of a folder and its contents.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::content::Content;
use super::disk::Disk;
use super::op::{Inode, Op, Place};

/// Sorted by path, so that a folder comes before its contents.
pub type Tree = BTreeMap<PathBuf, Found>;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Found {
    File(Content),
    Folder,
    Symlink(PathBuf),
}

/// The current folder, with everything counted as synced.
pub(super) fn disk_of(root: &Path) -> io::Result<Disk> {
    let mut disk = Disk::new();
    let mut known: HashMap<(u64, u64), Inode> = HashMap::new();
    let mut folders = vec![(root.to_owned(), Inode::ROOT)];
    while let Some((folder, dir)) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let (path, name) = entry.map(|entry| (entry.path(), entry.file_name()))?;
            let at = Place { dir, name };
            let metadata = path.symlink_metadata()?;
            let id = (metadata.dev(), metadata.ino());
            let inode = disk.next();
            if metadata.is_symlink() {
                disk.apply(&Op::Symlink { at, inode, target: fs::read_link(&path)? });
            } else if metadata.is_dir() {
                disk.apply(&Op::Mkdir { at, inode });
                folders.push((path, inode));
            } else if !metadata.is_file() {
                let what = format!("`{}` is not a file, folder or link", path.display());
                return Err(io::Error::new(io::ErrorKind::Unsupported, what));
            } else if let Some(&inode) = known.get(&id) {
                disk.apply(&Op::Link { inode, at });
            } else {
                known.insert(id, inode);
                disk.apply(&Op::Create { at, inode });
                let bytes: Arc<[u8]> = fs::read(&path)?.into();
                disk.apply(&Op::Write { inode, offset: 0, bytes });
            }
        }
    }
    disk.settle();
    Ok(disk)
}
