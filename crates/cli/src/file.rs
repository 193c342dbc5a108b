//! Reading and writing files named on the command line.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use forklore_tavern::disk::Disk;

use crate::error::CommandError;
use crate::objection::Objection;

/// Whether a name stands for standard input or output.
pub(crate) fn is_standard_stream(file: &Path) -> bool {
    file == Path::new("-")
}

/// Reads a whole file. It may also be a pipe, such as `<(age --decrypt last.age)`, which [`Disk`]
/// refuses to read.
pub(crate) fn read(file: &Path) -> Result<Vec<u8>, CommandError> {
    let cannot = |error| CommandError::new(Objection::NotRead { path: file.to_owned(), error });
    fs::read(file).map_err(cannot)
}

/// Writes the whole file or nothing, and never overwrites.
pub(crate) fn write(disk: &dyn Disk, file: &Path, whole: &[u8]) -> Result<(), CommandError> {
    let cannot = |error: io::Error| match error.kind() {
        io::ErrorKind::AlreadyExists => CommandError::new(Objection::AlreadyThere(file.to_owned()))
            .hinted("Choose a name that is not taken."),
        _ => CommandError::new(Objection::NotWritten { path: file.to_owned(), error }),
    };
    let mut part = file.as_os_str().to_owned();
    part.push(".part");
    let part = PathBuf::from(part);
    if disk.stat(file).map_err(cannot)?.is_some() {
        return Err(cannot(io::ErrorKind::AlreadyExists.into()));
    }
    // Left by an earlier run that crashed.
    if disk.stat(&part).map_err(cannot)?.is_some() {
        disk.remove(&part).map_err(cannot)?;
    }
    disk.write_new(&part, None, &[whole]).map_err(cannot)?;
    disk.publish(&part, file).map_err(cannot)
}
