//! What a power cut would take back.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use forklore_tavern::disk::{Disk, RealDisk};

/// Changes of names, oldest first, each with what was made sure of since.
#[derive(Default)]
pub(super) struct Unsynced {
    changes: Vec<Change>,
    /// Holds a second name of every file that was removed, so that it can come back.
    graves: Option<tempfile::TempDir>,
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
        grave: PathBuf,
    },
}

struct Name {
    path: PathBuf,
    is_safe: bool,
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

    /// To be called before a file is removed or replaced.
    pub(super) fn will_be_gone(&mut self, path: &Path) -> io::Result<()> {
        if !path.is_file() {
            return Ok(());
        }
        if self.graves.is_none() {
            // Within reach of a rename, and where neither SillyTavern nor we ever look.
            let root = path.ancestors().find(|folder| folder.join("_forklore").is_dir());
            self.graves = Some(match root.and_then(Path::parent) {
                Some(beside) => tempfile::tempdir_in(beside)?,
                None => tempfile::tempdir()?,
            });
        }
        let Some(graves) = &self.graves else { return Ok(()) };
        let grave = graves.path().join(self.changes.len().to_string());
        fs::hard_link(path, &grave)?;
        self.changes.push(Change::Removed { name: Name::new(path), grave });
        Ok(())
    }

    pub(super) fn synced(&mut self, folder: &Path) {
        for change in &mut self.changes {
            match change {
                Change::Created(name)
                | Change::Swapped { a: name, .. }
                | Change::Removed { name, .. } => name.synced(folder),
                Change::Moved { from, to } => {
                    from.synced(folder);
                    to.synced(folder);
                }
            }
        }
    }

    /// Newest first. Names that are not there any more have nothing to be taken back.
    pub(super) fn undo(&mut self) {
        for change in self.changes.drain(..).rev() {
            let _ = match change {
                Change::Created(name) if !name.is_safe => fs::remove_file(&name.path),
                Change::Removed { name, grave } if !name.is_safe => fs::rename(&grave, &name.path),
                Change::Swapped { a, b } if !a.is_safe => RealDisk.exchange(&a.path, &b),
                Change::Moved { from, to } => match (from.is_safe, to.is_safe) {
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
        Self { path: path.to_owned(), is_safe: false }
    }

    fn synced(&mut self, folder: &Path) {
        self.is_safe |= self.path.parent() == Some(folder);
    }
}
