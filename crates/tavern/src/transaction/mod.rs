//! Commits changes: one operation at a time, recorded first, never left half done.
//!
//! Before a file is replaced, a copy of its bytes is put into the trash; a removed file is moved
//! there. Before the first file is changed, the operation's record is on disk with the old and new
//! digest of each file. So after a crash at any point, the record shows which steps were done, and
//! [`crate::transaction::undo`] can undo them. No state ever needs a person to unlock it.

pub mod operation;
pub mod undo;

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use forklore_core::digest::Digest;

use crate::disk::clock::{Clock, timestamp};
use crate::disk::data_root::EscapesDataRoot;
use crate::disk::describe::{kind, shown};
use crate::disk::lock::{LockError, UserLock};
use crate::disk::write::{
    self, ReplaceCause, ReplaceError, WriteCause, WriteError, create_new, replace_checked,
};
use crate::disk::{Disk, parent_of};
use crate::folder::layout::UserFolders;
use operation::{Operation, OperationFolders, OperationStep, tag};

/// How long to wait for another Forklore process.
const PATIENCE: Duration = Duration::from_secs(30);

/// One change to one file, or a check between two changes.
pub enum Task<'a> {
    /// Creates a new file with the permissions of `like`.
    Create { path: PathBuf, like: Option<PathBuf>, parts: Vec<&'a [u8]> },
    /// Replaces a file if it still holds `expected`.
    Replace { path: PathBuf, expected: &'a [u8], parts: Vec<&'a [u8]> },
    /// Moves a file to the trash if it still holds `expected`.
    Remove { path: PathBuf, expected: &'a [u8] },
    /// Aborts the operation unless this returns true.
    Check(&'a dyn Fn() -> io::Result<bool>),
}

/// Exclusive access for changing a user's files, until dropped.
pub struct Transaction<'t> {
    pub(crate) disk: &'t dyn Disk,
    pub(crate) folders: &'t UserFolders,
    pub(crate) places: OperationFolders,
    pub(crate) clock: &'t dyn Clock,
    _lock: UserLock,
}

/// An operation failed; the steps already done were rolled back.
#[derive(Debug, thiserror::Error)]
pub enum CommitError {
    #[error(transparent)]
    Lock(#[from] LockError),
    /// Start over from the current state.
    #[error("`{}` changed in the meantime", path.display())]
    ChangedMeanwhile { path: PathBuf },
    /// The plan is based on a state that has changed.
    #[error("the files changed while the new ones were being written")]
    PlanOutdated,
    #[error(transparent)]
    Write(#[from] WriteError),
    #[error(transparent)]
    Replace(ReplaceError),
    #[error("could not {doing} `{}`", path.display())]
    Io { doing: &'static str, path: PathBuf, source: io::Error },
    #[error(transparent)]
    Outside(#[from] EscapesDataRoot),
    /// The only error that leaves an operation half done; its record shows which steps.
    #[error("{failed}, and rolling back failed too: {rollback}")]
    RollbackFailed { failed: Box<CommitError>, rollback: Box<CommitError> },
    #[error("`{path}` was changed again after operation {id}")]
    LaterWork { id: u64, path: String },
    #[error("what operation {id} replaced is no longer in the trash")]
    TrashEmptied { id: u64 },
}

impl<'t> Transaction<'t> {
    pub fn open(
        disk: &'t dyn Disk,
        folders: &'t UserFolders,
        clock: &'t dyn Clock,
    ) -> Result<Self, CommitError> {
        let ours = folders.data_root.resolve(disk, &folders.ours)?;
        let lock = UserLock::acquire(disk, &folders.lock(), PATIENCE, &|time| clock.sleep(time))?;
        let transaction =
            Self { disk, folders, places: OperationFolders::new(&ours), clock, _lock: lock };
        for folder in [transaction.places.operations(), transaction.places.all_trash()] {
            folders.data_root.resolve(disk, &folder)?;
        }
        let operations = transaction.places.operations();
        transaction.io("make", &operations, disk.make_dirs(&operations))?;
        // Forklore's own half-written records: the operations they describe had not started.
        for name in transaction.io("list", &operations, disk.list(&operations))? {
            if write::is_our_temp(&name.to_string_lossy()) {
                let temp = operations.join(&name);
                transaction.io("remove", &temp, disk.remove(&temp))?;
            }
        }
        Ok(transaction)
    }

    /// Performs `tasks` in order. If one fails, the tasks before it are rolled back.
    pub fn commit(
        &self,
        command: &str,
        summary: &str,
        tasks: &[Task<'_>],
    ) -> Result<Operation, CommitError> {
        let id = self.next_id()?;
        let operation = Operation {
            id,
            command: command.to_owned(),
            summary: summary.to_owned(),
            when: timestamp(self.clock.now()).iso,
            steps: tasks.iter().filter_map(|task| self.step_of(task)).collect::<Result<_, _>>()?,
        };
        for task in tasks {
            if let Task::Create { path, .. }
            | Task::Replace { path, .. }
            | Task::Remove { path, .. } = task
            {
                // A link that leads outside, or nowhere, is refused before anything is changed.
                self.folders.data_root.resolve(self.disk, path)?;
                let parent = self.folders.data_root.resolve(self.disk, parent_of(path))?;
                self.io("make", &parent, self.disk.make_dirs(&parent))?;
                self.move_leftovers_to_trash(id, &parent)?;
            }
        }
        self.store_copies(id, tasks)?;
        let record = self.places.record(id);
        if let Err(error) =
            create_new(self.disk, &record, &tag(id, 0), None, &[&operation.to_bytes()])
        {
            let is_in_place = matches!(error.source, WriteCause::Unconfirmed(_));
            let failed = error.into();
            return Err(if is_in_place { self.rollback_after(&operation, failed) } else { failed });
        }

        let mut step = 0;
        for task in tasks {
            if let Err(failed) = self.perform(task, id, step) {
                return Err(self.rollback_after(&operation, failed));
            }
            step += usize::from(!matches!(task, Task::Check(_)));
        }
        Ok(operation)
    }

    fn rollback_after(&self, operation: &Operation, failed: CommitError) -> CommitError {
        match self.roll_back(operation).and_then(|()| self.discard_unmade(operation)) {
            Ok(()) => failed,
            Err(rollback) => CommitError::RollbackFailed {
                failed: Box::new(failed),
                rollback: Box::new(rollback),
            },
        }
    }

    fn step_of(&self, task: &Task<'_>) -> Option<Result<OperationStep, CommitError>> {
        let digest = |parts: &[&[u8]]| Some(Digest::of_parts(parts.iter().copied()));
        let (path, before, after) = match task {
            Task::Create { path, parts, .. } => (path, None, digest(parts)),
            Task::Replace { path, expected, parts } => (path, digest(&[expected]), digest(parts)),
            Task::Remove { path, expected } => (path, digest(&[expected]), None),
            Task::Check(_) => return None,
        };
        Some(self.relative(path).map(|path| OperationStep { path, before, after }))
    }

    /// The path as stored in a record: relative, because the data folder may be moved.
    fn relative(&self, path: &Path) -> Result<String, CommitError> {
        let root = self.folders.data_root.root();
        let outside = || {
            let (path, root) = (path.to_owned(), root.to_owned());
            CommitError::Outside(EscapesDataRoot::Elsewhere { path, root })
        };
        let below = path.strip_prefix(root).map_err(|_| outside())?;
        let names: Option<Vec<&str>> = below.iter().map(|name| name.to_str()).collect();
        Ok(names.ok_or_else(outside)?.join("/"))
    }

    /// The absolute form of a path in a record, validated as untrusted input.
    pub(crate) fn absolute(&self, path: &str) -> Result<PathBuf, CommitError> {
        let parts: Vec<&str> = path.split('/').collect();
        let path = self.folders.data_root.join(&parts)?;
        Ok(self.folders.data_root.resolve(self.disk, &path)?)
    }

    /// The trash folder of an operation, created if needed.
    fn trash_folder(&self, id: u64) -> Result<PathBuf, CommitError> {
        let trash = self.places.trash(id);
        self.folders.data_root.resolve(self.disk, &trash)?;
        self.io("make", &trash, self.disk.make_dirs(&trash))?;
        Ok(trash)
    }

    fn store_copies(&self, id: u64, tasks: &[Task<'_>]) -> Result<(), CommitError> {
        let changes = tasks.iter().filter(|task| !matches!(task, Task::Check(_)));
        for (step, task) in changes.enumerate() {
            if let Task::Replace { expected, .. } = task {
                self.trash_folder(id)?;
                create_new(
                    self.disk,
                    &self.places.displaced(id, step),
                    &tag(id, step),
                    None,
                    &[expected],
                )?;
            }
        }
        Ok(())
    }

    fn perform(&self, task: &Task<'_>, id: u64, step: usize) -> Result<(), CommitError> {
        match task {
            Task::Create { path, like, parts } => {
                Ok(create_new(self.disk, path, &tag(id, step), like.as_deref(), parts)?)
            }
            Task::Replace { path, expected, parts } => {
                self.replace(path, id, &tag(id, step), parts, expected)
            }
            Task::Remove { path, expected } => self.move_to_trash(path, id, step, expected),
            Task::Check(holds) => match holds() {
                Ok(true) => Ok(()),
                Ok(false) => Err(CommitError::PlanOutdated),
                Err(source) => {
                    let path = self.folders.data_root.root().to_owned();
                    Err(CommitError::Io { doing: "re-examine", path, source })
                }
            },
        }
    }

    pub(crate) fn replace(
        &self,
        path: &Path,
        id: u64,
        tag: &str,
        parts: &[&[u8]],
        expected: &[u8],
    ) -> Result<(), CommitError> {
        let Err(error) = replace_checked(self.disk, path, tag, parts, expected) else {
            return Ok(());
        };
        match error.source {
            ReplaceCause::ChangedMeanwhile { displaced } => {
                self.store_displaced(id, &displaced)?;
                Err(CommitError::ChangedMeanwhile { path: path.to_owned() })
            }
            ReplaceCause::Stranded { temp, displaced, source } => {
                self.store_displaced(id, &displaced)?;
                let source = ReplaceCause::Stranded { temp, displaced, source };
                Err(CommitError::Replace(ReplaceError { path: error.path, source }))
            }
            source => Err(CommitError::Replace(ReplaceError { path: error.path, source })),
        }
    }

    /// Stores versions that others saved, and then overwrote, while we were exchanging files.
    fn store_displaced(&self, id: u64, displaced: &[Vec<u8>]) -> Result<(), CommitError> {
        if displaced.is_empty() {
            return Ok(());
        }
        let trash = self.trash_folder(id)?;
        let mut number = 0;
        for bytes in displaced {
            // Undoing a step may displace other versions than doing it did.
            loop {
                let path = trash.join(format!("displaced-{number}"));
                number += 1;
                match create_new(self.disk, &path, &format!("{id:08}-displaced"), None, &[bytes]) {
                    Err(error) if matches!(error.source, WriteCause::Exists) => {}
                    stored => break stored?,
                }
            }
        }
        Ok(())
    }

    /// Moves by renaming, so that the trash gets whatever was last saved at that instant.
    pub(crate) fn move_to_trash(
        &self,
        path: &Path,
        id: u64,
        step: usize,
        expected: &[u8],
    ) -> Result<(), CommitError> {
        self.move_aside(path, &self.places.displaced(id, step), id, expected)
    }

    pub(crate) fn move_aside(
        &self,
        path: &Path,
        to: &Path,
        id: u64,
        expected: &[u8],
    ) -> Result<(), CommitError> {
        let trash = self.trash_folder(id)?;
        let mut published = self.disk.publish(path, to);
        if published.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::AlreadyExists)
            && self.io("read", to, self.disk.matches(to, &[expected]))?
        {
            // A power cut came between the two syncs below: the file has both names.
            self.io("remove", to, self.disk.remove(to))?;
            published = self.disk.publish(path, to);
        }
        match published {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
                create_new(self.disk, to, &format!("{id:08}-aside"), None, &[expected])?;
                if !self.io("read", path, self.disk.matches(path, &[expected]))? {
                    return Err(CommitError::ChangedMeanwhile { path: path.to_owned() });
                }
                self.io("remove", path, self.disk.remove(path))?;
                return self.io("confirm", parent_of(path), self.disk.sync_dir(parent_of(path)));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(CommitError::ChangedMeanwhile { path: path.to_owned() });
            }
            Err(source) => {
                return Err(CommitError::Io {
                    doing: "move to the trash",
                    path: path.to_owned(),
                    source,
                });
            }
        }
        let is_expected = self.io("read", to, self.disk.matches(to, &[expected]));
        if !matches!(is_expected, Ok(true)) {
            // Another program saved the file. Put it back, unless it was saved yet again; in that
            // case the older version stays in the trash.
            let back = self.disk.publish(to, path);
            if back.as_ref().is_err_and(|error| error.kind() != io::ErrorKind::AlreadyExists) {
                self.io("put back", path, back)?;
            }
            is_expected?;
            return Err(CommitError::ChangedMeanwhile { path: path.to_owned() });
        }
        // Sync the new name first: a power cut between the two syncs may leave the file under both
        // names, but never under none.
        self.io("confirm", &trash, self.disk.sync_dir(&trash))?;
        self.io("confirm", parent_of(path), self.disk.sync_dir(parent_of(path)))
    }

    /// Moves temporary files left by a crash to the trash: they may hold the only copy of
    /// something. None of them is in use, since we hold the lock.
    fn move_leftovers_to_trash(&self, id: u64, folder: &Path) -> Result<(), CommitError> {
        for name in self.io("list", folder, self.disk.list(folder))? {
            let name = name.to_string_lossy().into_owned();
            if write::is_our_temp(&name) {
                self.move_leftover_to_trash(id, &folder.join(&name))?;
            }
        }
        Ok(())
    }

    pub(crate) fn move_leftover_to_trash(&self, id: u64, temp: &Path) -> Result<(), CommitError> {
        let trash = self.trash_folder(id)?;
        let name = temp.file_name().unwrap_or_default().to_string_lossy();
        // Repeated interruptions leave the same name each time.
        for number in 0_u64.. {
            let to = trash.join(format!("leftover-{number}{name}"));
            match self.disk.publish(temp, &to) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                moved => return self.io("move to the trash", temp, moved),
            }
        }
        Ok(())
    }

    fn next_id(&self) -> Result<u64, CommitError> {
        let mut last = 0;
        for folder in [self.places.operations(), self.places.all_trash()] {
            for name in self.io("list", &folder, self.disk.list(&folder))? {
                let digits = name.to_string_lossy();
                let digits = digits.split('.').next().unwrap_or_default();
                last = last.max(digits.parse().unwrap_or(0));
            }
        }
        Ok(last + 1)
    }

    pub(crate) fn io<T>(
        &self,
        doing: &'static str,
        path: &Path,
        result: io::Result<T>,
    ) -> Result<T, CommitError> {
        result.map_err(|source| CommitError::Io { doing, path: path.to_owned(), source })
    }
}

impl CommitError {
    /// Whether starting over from the current state may help.
    pub fn is_race(&self) -> bool {
        match self {
            Self::ChangedMeanwhile { .. } | Self::PlanOutdated => true,
            Self::Write(error) => matches!(error.source, WriteCause::Exists),
            _ => false,
        }
    }
}

forklore_core::diagnostics!(CommitError {
    Self::Lock(error) => [error: LockError],
    Self::ChangedMeanwhile { path } => ("changed-meanwhile", path: shown(path)),
    Self::PlanOutdated => ("files-changed"),
    Self::Write(error) => [error: WriteError],
    Self::Replace(error) => [error: ReplaceError],
    Self::Io { path, source, .. } => ("io", path: shown(path), kind: kind(source)),
    Self::Outside(error) => [error: EscapesDataRoot],
    Self::RollbackFailed { failed, .. } => ("not-taken-back", reason: failed.coded().code),
    Self::LaterWork { id, path } => ("later-work", operation: *id, path: path.as_str()),
    Self::TrashEmptied { id } => ("trash-emptied", operation: *id),
});
