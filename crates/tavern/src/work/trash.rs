//! The trash: everything that operations displaced, until the user empties it.

use std::io;
use std::path::{Path, PathBuf};

use crate::disk::Disk;
use crate::disk::data_root::DataRoot;
use crate::transaction::operation::{Operation, OperationFolders};
use crate::transaction::{CommitError, Task, Transaction};
use crate::work::tavern::Tavern;

#[derive(Clone, Debug)]
pub struct TrashItem {
    /// `<operation>.<name>`, as typed by the user.
    pub id: String,
    /// The operation that put it there; `None` if its record is lost.
    pub operation: Option<Operation>,
    /// The original path, relative to the data root, if known.
    pub origin: Option<String>,
    pub bytes: u64,
    pub why: TrashReason,
    place: PathBuf,
}

/// Why something is in the trash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrashReason {
    /// The operation replaced or removed it.
    Displaced,
    /// The operation created it and was undone.
    Unmade,
    /// Another program saved it while the operation ran, and then overwrote it.
    SavedMeanwhile,
    /// A crash left it behind.
    Leftover,
}

#[derive(Debug, thiserror::Error)]
pub enum TrashError {
    #[error("there is no {0:?} in the trash")]
    Unknown(String),
    #[error("nothing recorded where {0:?} came from")]
    NoOrigin(String),
    #[error("`{0}` exists again, as another file")]
    InTheWay(String),
    #[error(transparent)]
    CarryOut(#[from] CommitError),
}

impl Tavern<'_> {
    /// Lists the trash, newest first. Needs no lock: files removed in the meantime are skipped.
    pub fn trash(&self) -> Result<Vec<TrashItem>, CommitError> {
        let ours = self.folders.data_root.resolve(self.disk, &self.folders.ours)?;
        list(self.disk, &OperationFolders::new(&ours), &self.folders.data_root)
    }
}

fn list(
    disk: &dyn Disk,
    places: &OperationFolders,
    data_root: &DataRoot,
) -> Result<Vec<TrashItem>, CommitError> {
    let operations = all_operations(disk, places)?;
    let all = places.all_trash();
    let mut found = Vec::new();
    for folder in with_path("list", &all, disk.list(&all))?.into_iter().rev() {
        let folder_name = folder.to_string_lossy().into_owned();
        let number: u64 = folder_name.parse().unwrap_or(0);
        let operation = operations.iter().find(|operation| operation.id == number);
        let folder = all.join(&folder);
        data_root.resolve(disk, &folder)?;
        for name in with_path("list", &folder, disk.list(&folder))? {
            let place = folder.join(&name);
            let Some(stat) = with_path("examine", &place, disk.stat(&place))? else {
                continue;
            };
            let name = name.to_string_lossy().into_owned();
            let (step, why) = match name.strip_suffix("-unmade") {
                Some(step) => (step, TrashReason::Unmade),
                None if name.starts_with("displaced") => ("", TrashReason::SavedMeanwhile),
                None if name.starts_with("leftover") => ("", TrashReason::Leftover),
                None => (name.as_str(), TrashReason::Displaced),
            };
            let step = operation.and_then(|o| o.steps.get(step.parse::<usize>().ok()?));
            found.push(TrashItem {
                id: format!("{number}.{name}"),
                operation: operation.cloned(),
                origin: step.map(|step| step.path.clone()),
                bytes: stat.len,
                why,
                place,
            });
        }
    }
    Ok(found)
}

/// All recorded operations, including undone ones.
fn all_operations(
    disk: &dyn Disk,
    places: &OperationFolders,
) -> Result<Vec<Operation>, CommitError> {
    let folder = places.operations();
    let mut operations = Vec::new();
    for name in with_path("list", &folder, disk.list(&folder))? {
        if name.to_string_lossy().ends_with(".json") {
            let path = folder.join(&name);
            let bytes = with_path("read", &path, disk.read(&path))?;
            operations.extend(Operation::read(&bytes));
        }
    }
    operations.sort_by_key(|operation| operation.id);
    Ok(operations)
}

fn with_path<T>(doing: &'static str, path: &Path, result: io::Result<T>) -> Result<T, CommitError> {
    result.map_err(|source| CommitError::Io { doing, path: path.to_owned(), source })
}

impl Transaction<'_> {
    /// Lists the trash, newest first.
    pub fn trash(&self) -> Result<Vec<TrashItem>, CommitError> {
        list(self.disk, &self.places, &self.folders.data_root)
    }

    /// Restores a copy of a trashed file to its original place. The trash keeps the file as well.
    pub fn restore_from_trash(&self, id: &str) -> Result<String, TrashError> {
        let candidates =
            [id.to_owned(), format!("{id}-unmade"), format!("{id}.0"), format!("{id}.0-unmade")];
        let trash = self.trash()?;
        let found = candidates.iter().find_map(|id| trash.iter().find(|found| found.id == *id));
        let found = found.ok_or_else(|| TrashError::Unknown(id.to_owned()))?;
        let origin = found.origin.clone().ok_or_else(|| TrashError::NoOrigin(found.id.clone()))?;
        self.folders.data_root.resolve(self.disk, &found.place).map_err(CommitError::from)?;
        let bytes = self.io("read", &found.place, self.disk.read(&found.place))?;
        let path = self.absolute(&origin)?;
        match self.disk.read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Ok(there) if there == bytes => return Ok(origin),
            Ok(_) => return Err(TrashError::InTheWay(origin)),
            Err(source) => {
                return Err(CommitError::Io { doing: "read", path, source }.into());
            }
        }
        let like = self.neighbour(&path);
        let summary = format!("put {origin} back from the trash");
        let task = Task::Create { path, like, parts: vec![&bytes] };
        self.commit("trash restore", &summary, &[task])?;
        Ok(origin)
    }

    /// Deletes the trash for good, together with all operation records: without the displaced
    /// files, no operation can be undone.
    pub fn empty_trash(&self) -> Result<(usize, u64), CommitError> {
        let trash = self.trash()?;
        for found in &trash {
            self.io("remove", &found.place, self.disk.remove(&found.place))?;
        }
        let operations = self.places.operations();
        for name in self.io("list", &operations, self.disk.list(&operations))? {
            let record = operations.join(name);
            self.io("remove", &record, self.disk.remove(&record))?;
        }
        Ok((trash.len(), trash.iter().map(|found| found.bytes).sum()))
    }
}

forklore_core::diagnostics!(TrashError {
    Self::Unknown(name) => ("not-in-trash", name: name.as_str()),
    Self::NoOrigin(name) => ("trash-without-origin", name: name.as_str()),
    Self::InTheWay(path) => ("file-in-the-way", path: path.as_str()),
    Self::CarryOut(error) => [error: CommitError],
});
