//! Tracks the changes that a power cut would revert.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use forklore_tavern::disk::{Disk, RealDisk};

/// Name changes, oldest first, and which of them have been synced since.
#[derive(Default)]
pub(super) struct Unsynced {
    changes: Vec<Change>,
    /// Holds a hard link to every removed file, so that it can be restored.
    removed_files: Option<tempfile::TempDir>,
}

enum Change {
    Created(Name),
    Moved {
        from: Name,
        to: Name,
    },
    /// Within one folder.
    Swapped {
        a: Name,
        b: PathBuf,
    },
    Removed {
        name: Name,
        link: PathBuf,
    },
}

struct Name {
    path: PathBuf,
    is_synced: bool,
}

impl Unsynced {
    pub(super) fn created(&mut self, path: &Path) {
        self.changes.push(Change::Created(Name::new(path)));
    }

    pub(super) fn moved(&mut self, from: &Path, to: &Path) {
        self.changes.push(Change::Moved { from: Name::new(from), to: Name::new(to) });
    }

    pub(super) fn swapped(&mut self, a: &Path, b: &Path) {
        self.changes.push(Change::Swapped { a: Name::new(a), b: b.to_owned() });
    }

    /// Must be called before a file is removed or replaced.
    pub(super) fn before_removal(&mut self, path: &Path) -> io::Result<()> {
        if !path.is_file() {
            return Ok(());
        }
        if self.removed_files.is_none() {
            // On the same file system, in a place that neither SillyTavern nor Forklore reads.
            let root = path.ancestors().find(|folder| folder.join("_forklore").is_dir());
            self.removed_files = Some(match root.and_then(Path::parent) {
                Some(beside) => tempfile::tempdir_in(beside)?,
                None => tempfile::tempdir()?,
            });
        }
        let Some(removed_files) = &self.removed_files else { return Ok(()) };
        let link = removed_files.path().join(self.changes.len().to_string());
        fs::hard_link(path, &link)?;
        self.changes.push(Change::Removed { name: Name::new(path), link });
        Ok(())
    }

    pub(super) fn mark_synced(&mut self, folder: &Path) {
        for change in &mut self.changes {
            match change {
                Change::Created(name)
                | Change::Swapped { a: name, .. }
                | Change::Removed { name, .. } => name.mark_synced(folder),
                Change::Moved { from, to } => {
                    from.mark_synced(folder);
                    to.mark_synced(folder);
                }
            }
        }
    }

    /// Reverts the changes, newest first. Errors are ignored: a name that no longer exists needs no
    /// revert.
    pub(super) fn revert(&mut self) {
        for change in self.changes.drain(..).rev() {
            let _ = match change {
                Change::Created(name) if !name.is_synced => fs::remove_file(&name.path),
                Change::Removed { name, link } if !name.is_synced => fs::rename(&link, &name.path),
                Change::Swapped { a, b } if !a.is_synced => RealDisk.exchange(&a.path, &b),
                Change::Moved { from, to } => match (from.is_synced, to.is_synced) {
                    (false, false) => fs::rename(&to.path, &from.path),
                    (false, true) => fs::hard_link(&to.path, &from.path),
                    (true, false) => fs::remove_file(&to.path),
                    (true, true) => Ok(()),
                },
                _ => Ok(()),
            };
        }
    }
}

impl Name {
    fn new(path: &Path) -> Self {
        Self { path: path.to_owned(), is_synced: false }
    }

    fn mark_synced(&mut self, folder: &Path) {
        self.is_synced |= self.path.parent() == Some(folder);
    }
}
