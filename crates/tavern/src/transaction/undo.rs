//! Undoes operations byte for byte, and never discards later work.

use std::io;
use std::path::Path;

use forklore_core::digest::{Algorithm, Digest};

use crate::disk::parent_of;
use crate::disk::write::{create_new, temp_beside};
use crate::transaction::operation::{Operation, OperationStep, tag};
use crate::transaction::{CommitError, Transaction};

/// The current state of a step's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepState {
    /// As the step left it.
    Done,
    /// As before the step: not done yet, or already undone.
    NotDone,
    /// Neither: the file was changed later.
    Other,
}

/// The effect of undoing an operation.
#[derive(Clone, Debug)]
pub struct UndoPlan {
    pub operation: Operation,
    pub states: Vec<StepState>,
}

impl UndoPlan {
    /// The first file that was changed since.
    pub fn later_work(&self) -> Option<&str> {
        let at = self.states.iter().position(|state| *state == StepState::Other)?;
        Some(&self.operation.steps[at].path)
    }

    /// Whether only some of the steps were done: the operation was interrupted.
    pub fn is_half_done(&self) -> bool {
        self.states.contains(&StepState::Done) && self.states.contains(&StepState::NotDone)
    }
}

impl Transaction<'_> {
    /// All recorded operations that were not undone, oldest first.
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

    /// How the last operation would be undone; `None` if there is none.
    pub fn plan_undo(&self) -> Result<Option<UndoPlan>, CommitError> {
        let Some(operation) = self.operations()?.pop() else { return Ok(None) };
        Ok(Some(self.undo_plan(operation)?))
    }

    pub fn undo_plan(&self, operation: Operation) -> Result<UndoPlan, CommitError> {
        let states = operation.steps.iter().map(|step| self.step_state(step));
        let states = states.collect::<Result<_, _>>()?;
        Ok(UndoPlan { operation, states })
    }

    fn step_state(&self, step: &OperationStep) -> Result<StepState, CommitError> {
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

    /// The digest of the file at `path`; `None` if there is no file.
    fn digest_now(&self, path: &Path, algorithm: Algorithm) -> Result<Option<Digest>, CommitError> {
        match self.disk.digest(path, algorithm) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            digest => self.io("read", path, digest.map(Some)),
        }
    }

    /// Undoes an operation. If interrupted, it can simply be called again.
    pub fn undo(&self, plan: &UndoPlan) -> Result<(), CommitError> {
        if let Some(path) = plan.later_work() {
            let (id, path) = (plan.operation.id, path.to_owned());
            return Err(CommitError::LaterWork { id, path });
        }
        self.roll_back(&plan.operation)
    }

    /// Undoes every completed step, last one first, so that references to a file are removed before
    /// the file.
    pub(crate) fn roll_back(&self, operation: &Operation) -> Result<(), CommitError> {
        let UndoPlan { states, .. } = self.undo_plan(operation.clone())?;
        for (step, state) in states.into_iter().enumerate().rev() {
            if state == StepState::Done {
                self.undo_step(operation, step)?;
            }
        }
        let marker = self.places.undone(operation.id);
        match create_new(self.disk, &marker, &tag(operation.id, 0), None, &[]) {
            Err(error) if matches!(error.source, crate::disk::write::WriteCause::Exists) => Ok(()),
            made => Ok(made?),
        }
    }

    fn undo_step(&self, operation: &Operation, number: usize) -> Result<(), CommitError> {
        let (id, step) = (operation.id, &operation.steps[number]);
        let path = self.absolute(&step.path)?;
        let tag = format!("{}-undo", tag(id, number));
        let temp = temp_beside(&path, &tag);
        if self.io("examine", &temp, self.disk.stat(&temp))?.is_some() {
            // An earlier undo was interrupted.
            self.move_leftover_to_trash(id, &temp)?;
        }
        let place = self.places.displaced(id, number);
        self.folders.data_root.resolve(self.disk, &place)?;
        let stored = || match self.disk.read(&place) {
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
                let bytes = stored()?;
                Ok(create_new(self.disk, &path, &tag, self.neighbour(&path).as_deref(), &[&bytes])?)
            }
            (Some(_), Some(after)) => {
                let bytes = stored()?;
                let now = self.io("read", &path, self.disk.read(&path))?;
                if !after.is_of(&now) {
                    return Err(CommitError::ChangedMeanwhile { path });
                }
                self.replace(&path, id, &tag, &[&bytes], &now)
            }
            (None, None) => Ok(()),
        }
    }

    /// A file of the same type beside `path`, to copy permissions from.
    pub(crate) fn neighbour(&self, path: &std::path::Path) -> Option<std::path::PathBuf> {
        let folder = parent_of(path);
        let extension = path.extension()?;
        let names = self.disk.list(folder).ok()?;
        names.into_iter().map(|name| folder.join(name)).find(|other| {
            other.extension() == Some(extension)
                && matches!(self.disk.stat(other), Ok(Some(stat)) if stat.kind == crate::disk::FileType::File)
        })
    }

    /// Removes the files that a failed operation had just created: they are of no use to anyone.
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
