//! Takes operations back, byte for byte, and never at the cost of later work.

use std::io;
use std::path::Path;

use forklore_core::digest::{Algorithm, Digest};

use crate::disk::parent_of;
use crate::disk::write::{create_new, temp_beside};
use crate::transaction::operation::{Operation, OperationStep, tag};
use crate::transaction::{CommitError, Transaction};

/// Where a step's file stands now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepState {
    /// As the step left it.
    Done,
    /// As it was before the step: not done yet, or taken back already.
    NotDone,
    /// Something else: somebody went on from there.
    Other,
}

/// What taking an operation back would do.
#[derive(Clone, Debug)]
pub struct UndoPlan {
    pub operation: Operation,
    pub standings: Vec<StepState>,
}

impl UndoPlan {
    /// The first file on which somebody has worked since.
    pub fn later_work(&self) -> Option<&str> {
        let at = self.standings.iter().position(|standing| *standing == StepState::Other)?;
        Some(&self.operation.steps[at].path)
    }

    /// Whether some of its steps were done and others not: it was interrupted.
    pub fn is_half_done(&self) -> bool {
        self.standings.contains(&StepState::Done) && self.standings.contains(&StepState::NotDone)
    }
}

impl Transaction<'_> {
    /// All operations on record, oldest first, without those that were taken back.
    pub fn operations(&self) -> Result<Vec<Operation>, CommitError> {
        let folder = self.places.operations();
        let names = self.io("list", &folder, self.disk.list(&folder))?;
        let names: Vec<String> = names.iter().map(|n| n.to_string_lossy().into_owned()).collect();
        let mut operations = Vec::new();
        for name in &names {
            let Some(stem) = name.strip_suffix(".json") else { continue };
            if names.contains(&format!("{stem}.undone")) {
                continue;
            }
            let path = folder.join(name);
            let bytes = self.io("read", &path, self.disk.read(&path))?;
            operations.extend(Operation::read(&bytes));
        }
        operations.sort_by_key(|operation| operation.id);
        Ok(operations)
    }

    /// How the last operation would be taken back; `None` when there is none.
    pub fn plan_undo(&self) -> Result<Option<UndoPlan>, CommitError> {
        let Some(operation) = self.operations()?.pop() else { return Ok(None) };
        Ok(Some(self.standing(operation)?))
    }

    pub fn standing(&self, operation: Operation) -> Result<UndoPlan, CommitError> {
        let standings = operation.steps.iter().map(|step| self.standing_of(step));
        let standings = standings.collect::<Result<_, _>>()?;
        Ok(UndoPlan { operation, standings })
    }

    fn standing_of(&self, step: &OperationStep) -> Result<StepState, CommitError> {
        let path = self.absolute(&step.path)?;
        let algorithms = [step.after, step.before].map(|digest| Some(digest?.algorithm()));
        let algorithm = algorithms[0].or(algorithms[1]).unwrap_or_default();
        let mut now = self.digest_now(&path, algorithm)?;
        if now == step.after {
            return Ok(StepState::Done);
        }
        if let Some(other) = algorithms[1].filter(|other| *other != algorithm) {
            now = self.digest_now(&path, other)?;
        }
        Ok(if now == step.before { StepState::NotDone } else { StepState::Other })
    }

    /// The digest of what is at `path`; `None` where nothing is.
    fn digest_now(&self, path: &Path, algorithm: Algorithm) -> Result<Option<Digest>, CommitError> {
        match self.disk.digest(path, algorithm) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            digest => self.io("read", path, digest.map(Some)),
        }
    }

    /// Takes an operation back. Interrupted half-way, it can simply be called again.
    pub fn undo(&self, plan: &UndoPlan) -> Result<(), CommitError> {
        if let Some(path) = plan.later_work() {
            let (id, path) = (plan.operation.id, path.to_owned());
            return Err(CommitError::LaterWork { id, path });
        }
        self.take_back(&plan.operation)
    }

    /// Undoes every step that was done, the last one first: what refers to a file goes before it.
    pub(crate) fn take_back(&self, operation: &Operation) -> Result<(), CommitError> {
        let UndoPlan { standings, .. } = self.standing(operation.clone())?;
        for (step, standing) in standings.into_iter().enumerate().rev() {
            if standing == StepState::Done {
                self.take_back_step(operation, step)?;
            }
        }
        let marker = self.places.undone(operation.id);
        match create_new(self.disk, &marker, &tag(operation.id, 0), None, &[]) {
            Err(error) if matches!(error.source, crate::disk::write::WriteCause::Exists) => Ok(()),
            made => Ok(made?),
        }
    }

    fn take_back_step(&self, operation: &Operation, number: usize) -> Result<(), CommitError> {
        let (id, step) = (operation.id, &operation.steps[number]);
        let path = self.absolute(&step.path)?;
        let tag = format!("{}-undo", tag(id, number));
        let temp = temp_beside(&path, &tag);
        if self.io("look at", &temp, self.disk.stat(&temp))?.is_some() {
            // Undoing was interrupted before.
            self.set_leftover_aside(id, &temp)?;
        }
        let place = self.places.kept(id, number);
        self.folders.data_root.check_no_link(self.disk, &place)?;
        let kept = || match self.disk.read(&place) {
            Ok(bytes) if step.before.is_some_and(|before| before.is_of(&bytes)) => Ok(bytes),
            Ok(_) => Err(CommitError::TrashEmptied { id }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Err(CommitError::TrashEmptied { id })
            }
            Err(source) => Err(CommitError::Io { doing: "read", path: place.clone(), source }),
        };
        match (step.before, step.after) {
            (None, Some(after)) => {
                let made = self.io("read", &path, self.disk.read(&path))?;
                if !after.is_of(&made) {
                    return Err(CommitError::ChangedMeanwhile { path });
                }
                self.move_aside(&path, &self.places.unmade(id, number), id, &made)
            }
            (Some(_), None) => {
                let bytes = kept()?;
                Ok(create_new(self.disk, &path, &tag, self.neighbour(&path).as_deref(), &[&bytes])?)
            }
            (Some(_), Some(after)) => {
                let bytes = kept()?;
                let now = self.io("read", &path, self.disk.read(&path))?;
                if !after.is_of(&now) {
                    return Err(CommitError::ChangedMeanwhile { path });
                }
                self.replace(&path, id, &tag, &[&bytes], &now)
            }
            (None, None) => Ok(()),
        }
    }

    /// A file beside `path`, to take permissions from.
    pub(crate) fn neighbour(&self, path: &std::path::Path) -> Option<std::path::PathBuf> {
        let folder = parent_of(path);
        let extension = path.extension()?;
        let names = self.disk.list(folder).ok()?;
        names.into_iter().map(|name| folder.join(name)).find(|other| {
            other.extension() == Some(extension)
                && matches!(self.disk.stat(other), Ok(Some(look)) if look.kind == crate::disk::FileType::File)
        })
    }

    /// After a failure, what the operation had made moments ago is of no use to anyone.
    pub(crate) fn discard_unmade(&self, operation: &Operation) -> Result<(), CommitError> {
        for number in 0..operation.steps.len() {
            let path = self.places.unmade(operation.id, number);
            match self.disk.remove(&path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                removed => self.io("remove", &path, removed)?,
            }
        }
        Ok(())
    }
}
