//! Versions that could not be read, as far as a command wanted them.

use forklore_core::diagnostics;
use forklore_history::version::history::History;

use crate::text::{Line, Style, count};
use crate::ui::Ui;

/// More files than this are not listed by name.
const MAX_LISTED: usize = 5;

/// What is said to everyone who meets damage.
pub(crate) const HINT: &str =
    "`forklore history repair` saves what can be saved, and deletes nothing.";

/// Something in the history could not be read while a past state was looked for.
#[derive(Debug, thiserror::Error)]
#[error(
    "the history is damaged, so it may know less than was recorded: `forklore history verify` shows what"
)]
pub(crate) struct PastUnread;

diagnostics!(PastUnread {
    Self => ("past-unread"),
});

/// What could not be read so far, one line each.
pub(crate) fn all(history: &History<'_>) -> Vec<String> {
    let lost = history.lost();
    let mut all: Vec<String> = lost.iter().take(MAX_LISTED).map(ToString::to_string).collect();
    if lost.len() > MAX_LISTED {
        let files = count(lost.len() - MAX_LISTED, "other file", "other files");
        all.push(format!("some versions of {files} cannot be read"));
    }
    let lineages = history.lineages();
    let unread = lineages.unreadable.iter();
    let unread: Vec<&String> = unread.map(|(reference, _)| reference).collect();
    for reference in unread.iter().take(MAX_LISTED) {
        // The older versions may be there.
        let file = lineages.get(reference).map(|lineage| lineage.file().label());
        let file = file.unwrap_or_else(|| reference.trim_start_matches("refs/heads/").to_owned());
        all.push(format!("the newest version of {file} cannot be read"));
    }
    if unread.len() > MAX_LISTED {
        let files = count(unread.len() - MAX_LISTED, "other file", "other files");
        all.push(format!("the newest versions of {files} cannot be read"));
    }
    all
}

/// Says what could not be read so far, and what to do.
pub(crate) fn say(ui: &mut Ui<'_>, history: &History<'_>) {
    let all = all(history);
    for words in &all {
        ui.note(Line::new().add(Style::Bad, "  ! ").plain(words));
    }
    if !all.is_empty() {
        ui.hint(HINT);
    }
}
