use std::io;
use std::path::{Path, PathBuf};

use forklore_tavern::disk::lock::LockError;

use crate::git::object::{Collision, Id};
use crate::git::packs::PackError;
use forklore_tavern::disk::describe::{kind, shown};

/// The result of reading or writing a history.
pub type Result<T, E = HistoryError> = std::result::Result<T, E>;

/// The history could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    #[error("could not {doing} `{}`", path.display())]
    Io { doing: &'static str, path: PathBuf, source: io::Error },
    #[error(transparent)]
    Lock(#[from] LockError),
    #[error(transparent)]
    Pack(#[from] PackError),
    #[error(transparent)]
    Collision(#[from] Collision),
    /// An object that another object refers to does not exist.
    #[error("object {0} is missing from the history")]
    Missing(Id),
    #[error("object {id} of the history is not {expected}")]
    Misshapen { id: Id, expected: &'static str },
    /// No ref leads to the versions of this file.
    #[error("the ref to the versions of `{0}` is lost")]
    LostRef(String),
    /// The operation is refused because this file is damaged.
    #[error("`{}` is damaged", .0.display())]
    Damaged(PathBuf),
    #[error("there is no history at `{}`", .0.display())]
    NoHistory(PathBuf),
    /// The file with this machine's name is damaged, and nothing else tells it.
    #[error("under which name this machine records is no longer known; recorded so far: {}", .0.join(", "))]
    WhichMachine(Vec<String>),
    #[error("`{}` is not a history", .0.display())]
    NotOurs(PathBuf),
}

impl HistoryError {
    /// Whether something in the history is damaged, and the rest may be intact.
    pub fn is_damage(&self) -> bool {
        matches!(self, Self::Pack(_) | Self::Missing(_) | Self::Misshapen { .. })
    }
}

pub(crate) trait IfReadable<T> {
    /// `None` where the history is damaged. Any other error stays one.
    fn if_readable(self) -> Result<Option<T>>;
}

impl<T> IfReadable<T> for Result<T> {
    fn if_readable(self) -> Result<Option<T>> {
        match self {
            Ok(value) => Ok(Some(value)),
            Err(error) if error.is_damage() => Ok(None),
            Err(error) => Err(error),
        }
    }
}

pub(crate) trait Doing<T> {
    fn doing(self, doing: &'static str, path: &Path) -> Result<T>;
}

impl<T> Doing<T> for io::Result<T> {
    fn doing(self, doing: &'static str, path: &Path) -> Result<T> {
        self.map_err(|source| HistoryError::Io { doing, path: path.to_owned(), source })
    }
}

forklore_core::diagnostics!(HistoryError {
    Self::Io { path, source, .. } => ("history-io", path: shown(path), kind: kind(source)),
    Self::Lock(error) => [error: LockError],
    Self::Pack(PackError::Open { path, .. }) => ("pack-damaged", path: shown(path)),
    Self::Pack(PackError::Object { id, pack, .. }) => (
        "object-damaged",
        object: id.to_string(),
        path: shown(pack),
    ),
    Self::Collision(_) => ("hash-collision"),
    Self::Missing(id) => ("object-missing", object: id.to_string()),
    Self::Misshapen { id, .. } => ("object-misshapen", object: id.to_string()),
    Self::LostRef(file) => ("lost-ref", file: file.as_str()),
    Self::Damaged(path) => ("history-damaged", path: shown(path)),
    Self::NoHistory(path) => ("no-history", path: shown(path)),
    Self::WhichMachine(machines) => ("which-machine", machines: machines.clone()),
    Self::NotOurs(path) => ("not-a-history", path: shown(path)),
});
