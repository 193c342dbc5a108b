//! Runs the user's editor on a private temporary file.

use std::ffi::OsStr;
use std::io::{self, Write as _};
use std::path::Path;
use std::process::{Command, ExitStatus};

use crate::error::CommandError;
use crate::objection::Objection;

/// Opens `text` in the editor and returns the edited text.
pub(super) fn edit_text(editor: Option<&OsStr>, text: &str) -> Result<String, CommandError> {
    let editor = editor.filter(|editor| !editor.is_empty()).ok_or_else(|| {
        CommandError::new(Objection::NoEditor)
            .hinted("Set VISUAL or EDITOR, or use --ours and --theirs.")
    })?;
    let failed = |doing: &str, error: io::Error| {
        CommandError::new(Objection::NotEdited { doing: doing.to_owned(), error })
    };
    let mut file = tempfile::Builder::new()
        .prefix("forklore-merge-")
        .suffix(".txt")
        .tempfile()
        .map_err(|error| failed("create a file to edit", error))?;
    file.write_all(text.as_bytes()).map_err(|error| failed("write the file to edit", error))?;
    // Closes the file: on Windows, other programs cannot open a file that is still open here.
    let path = file.into_temp_path();
    let status =
        launch(editor, &path).map_err(|error| failed(&format!("start {editor:?}"), error))?;
    if !status.success() {
        return Err(CommandError::new(Objection::EditorFailed(
            editor.to_string_lossy().into_owned(),
            status.to_string(),
        )));
    }
    std::fs::read_to_string(&path).map_err(|error| failed("read the edited file", error))
}

/// The editor setting may contain arguments, so a shell parses it.
#[cfg(unix)]
fn launch(editor: &OsStr, path: &Path) -> io::Result<ExitStatus> {
    let mut line = editor.to_owned();
    line.push(" \"$@\"");
    Command::new("sh").arg("-c").arg(line).arg(editor).arg(path).status()
}

#[cfg(not(unix))]
fn launch(editor: &OsStr, path: &Path) -> io::Result<ExitStatus> {
    let line = editor.to_string_lossy();
    let mut words = line.split_whitespace();
    let program = words.next().unwrap_or_default();
    match Path::new(editor).is_file() {
        true => Command::new(editor).arg(path).status(),
        false => Command::new(program).args(words).arg(path).status(),
    }
}
