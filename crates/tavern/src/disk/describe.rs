//! What the errors of a disk give to scripts.

use std::io;
use std::path::Path;

pub fn shown(path: &Path) -> String {
    path.display().to_string()
}

/// What sort of error it is: `PermissionDenied`, `StorageFull`.
pub fn kind(error: &io::Error) -> String {
    format!("{:?}", error.kind())
}
