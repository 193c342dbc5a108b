//! The trash: everything that an operation displaced, until its owner empties it.

use std::io;

use forklore_core::digest::Digest;

use crate::operation::{Operation, Step};
use crate::workshop::{CarryOutError, Task, Workshop};

/// Something in the trash.
#[derive(Clone, Debug)]
pub struct Trashed {
    /// `<operation>.<step>`, as a person types it.
    pub id: String,
    pub operation: Operation,
    pub step: Step,
    pub bytes: u64,
    /// Made by the operation and put here by undoing it, rather than displaced by it.
    pub was_unmade: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum TrashError {
    #[error("there is nothing {0:?} in the trash")]
    Unknown(String),
    #[error("`{0}` is there again, as another file")]
    InTheWay(String),
    #[error(transparent)]
    CarryOut(#[from] CarryOutError),
}

impl Workshop<'_> {
    /// What is in the trash, newest first.
    pub fn trash(&self) -> Result<Vec<Trashed>, CarryOutError> {
        let mut found = Vec::new();
        for operation in self.all_operations()?.into_iter().rev() {
            for (number, step) in operation.steps.iter().enumerate() {
                let places = [
                    (self.places.kept(operation.id, number), false),
                    (self.places.unmade(operation.id, number), true),
                ];
                for (path, was_unmade) in places {
                    if let Some(look) = self.io("look at", &path, self.disk.look(&path))? {
                        found.push(Trashed {
                            id: format!("{}.{number}", operation.id),
                            operation: operation.clone(),
                            step: step.clone(),
                            bytes: look.len,
                            was_unmade,
                        });
                    }
                }
            }
        }
        Ok(found)
    }

    /// Operations on record, taken back or not.
    fn all_operations(&self) -> Result<Vec<Operation>, CarryOutError> {
        let folder = self.places.operations();
        let mut operations = Vec::new();
        for name in self.io("list", &folder, self.disk.list(&folder))? {
            if name.to_string_lossy().ends_with(".json") {
                let path = folder.join(&name);
                let bytes = self.io("read", &path, self.disk.read(&path))?;
                operations.extend(Operation::read(&bytes));
            }
        }
        operations.sort_by_key(|operation| operation.id);
        Ok(operations)
    }

    /// Puts a copy of something in the trash back where it was. It stays in the trash as well.
    pub fn restore_from_trash(&self, id: &str) -> Result<Trashed, TrashError> {
        let unknown = || TrashError::Unknown(id.to_owned());
        let wanted = if id.contains('.') { id.to_owned() } else { format!("{id}.0") };
        let mut matching: Vec<Trashed> =
            self.trash()?.into_iter().filter(|found| found.id == wanted).collect();
        matching.sort_by_key(|found| found.was_unmade);
        let found = matching.into_iter().next().ok_or_else(unknown)?;
        let number: usize =
            wanted.rsplit('.').next().and_then(|number| number.parse().ok()).ok_or_else(unknown)?;
        let kept = if found.was_unmade {
            self.places.unmade(found.operation.id, number)
        } else {
            self.places.kept(found.operation.id, number)
        };
        let bytes = self.io("read", &kept, self.disk.read(&kept))?;
        let path = self.absolute(&found.step)?;
        match self.disk.read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Ok(there) if Digest::of(&there) == Digest::of(&bytes) => return Ok(found),
            Ok(_) => return Err(TrashError::InTheWay(found.step.path)),
            Err(source) => {
                return Err(CarryOutError::Io { doing: "read", path, source }.into());
            }
        }
        let like = self.neighbour(&path);
        let summary = format!("put {} back from the trash", found.step.path);
        self.carry_out(
            "trash restore",
            &summary,
            &[Task::Create { path, like, parts: vec![&bytes] }],
        )?;
        Ok(found)
    }

    /// Removes for good what is in the trash. This cannot be taken back.
    pub fn empty_trash(&self) -> Result<(usize, u64), CarryOutError> {
        let (mut files, mut bytes) = (0, 0);
        let all = self.places.all_trash();
        for operation in self.io("list", &all, self.disk.list(&all))? {
            let folder = all.join(operation);
            for name in self.io("list", &folder, self.disk.list(&folder))? {
                let path = folder.join(name);
                let look = self.io("look at", &path, self.disk.look(&path))?;
                self.io("remove", &path, self.disk.remove(&path))?;
                files += 1;
                bytes += look.map_or(0, |look| look.len);
            }
        }
        Ok((files, bytes))
    }
}
