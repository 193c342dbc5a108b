//! Commands that restore something, ready to paste.

use forklore_history::file::{FileKind, FileName};
use forklore_history::query::losses::Loss;
use forklore_history::restore::must_be_closed;
use forklore_history::version::commit::Version;
use forklore_tavern::work::tavern::Tavern;

use crate::text::{command, count};

/// How to undo a loss.
pub(crate) fn restore_hint(tavern: &Tavern<'_>, name: &str, loss: &Loss) -> String {
    let good = loss.good.version.number;
    let kind = loss.file.kind().unwrap_or(FileKind::Settings);
    let what = match size(kind, &loss.good.version) {
        size if size.is_empty() => format!("version {good}"),
        size => format!("its {size}"),
    };
    format!("{} brings back {what}.", restore_command(tavern, name, &loss.file, good))
}

/// The command that restores a version, taking into account whether SillyTavern must be closed
/// first.
pub(crate) fn restore_command(
    tavern: &Tavern<'_>,
    name: &str,
    file: &FileName,
    version: u64,
) -> String {
    let (first, options) = match must_be_closed(tavern, file) {
        true => ("Close every page of SillyTavern; then ", format!("--version {version} --closed")),
        false => ("", format!("--version {version}")),
    };
    format!("{first}{}", command("restore", name, &options))
}

/// The size in words: `212 messages`.
pub(crate) fn size(kind: FileKind, version: &Version) -> String {
    let number = version.count.unwrap_or_default() as usize;
    match (kind, version.count) {
        (FileKind::Chat, Some(_)) => count(number, "message", "messages"),
        (FileKind::Book, Some(_)) => count(number, "entry", "entries"),
        _ => String::new(),
    }
}
