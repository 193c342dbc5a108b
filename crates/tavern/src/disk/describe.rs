//! Values that disk errors pass to scripts.

use std::io;
use std::path::Path;

pub fn shown(path: &Path) -> String {
    path.display().to_string()
}

/// The kind of error, such as `PermissionDenied` or `StorageFull`.
pub fn kind(error: &io::Error) -> String {
    format!("{:?}", error.kind())
}
