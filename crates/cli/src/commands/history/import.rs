//! `forklore history import`

use forklore_history::exchange::backups::{Imported, import};
use forklore_history::record::scan::{SeenFiles, scan};
use forklore_tavern::work::tavern::Tavern;

use super::{Histories, Outcome};
use crate::exit::Exit;
use crate::json::{self, Json};
use crate::text::{Line, Style, count};
use crate::ui::Ui;

/// More files than this are not listed by name.
const MAX_LISTED: usize = 5;

pub(super) fn run(ui: &mut Ui<'_>, tavern: &Tavern<'_>, histories: &Histories) -> Outcome {
    let mut history = histories.open(tavern)?;
    {
        // Record first: backups are matched against the chats in the history.
        let progress = ui.progress_in_bytes("Recording");
        let mut remembered = SeenFiles::load(&history);
        scan(&mut history, tavern.disk, &tavern.folders, &mut remembered, &|done, of| {
            progress.set(done, of);
        })?;
        history.record()?.flush()?;
        remembered.save(&mut history)?;
    }
    let imported = {
        let progress = ui.progress(0, "Importing");
        import(&mut history, tavern.disk, &tavern.folders, &|_, of| {
            progress.tick_of(of);
        })?
    };
    ui.say(words(&imported));
    for unread in &imported.unread {
        let path = unread.path.display().to_string();
        ui.note(Line::new().add(Style::Bad, "  ! ").bold(path).plain(": ").plain(&unread.why));
    }
    let taken = imported.taken.iter().map(|taken| {
        Json::object([
            ("file", Json::from(taken.name.as_str())),
            ("backups", Json::from(taken.backups)),
            ("gone", Json::from(taken.is_gone)),
        ])
    });
    ui.answer(&json::answer(
        "history import",
        [
            ("backups", Json::from(imported.backups)),
            ("known", Json::from(imported.known)),
            ("taken", Json::Array(taken.collect())),
            ("unread", json::texts(imported.unread.iter().map(|unread| unread.path.display()))),
        ],
    ));
    Ok(Exit::failed_if(!imported.unread.is_empty()))
}

fn words(imported: &Imported) -> String {
    let all: usize = imported.taken.iter().map(|taken| taken.backups).sum();
    if imported.backups == 0 {
        return "There are no backups to import.".to_owned();
    }
    if all == 0 {
        let backups = count(imported.backups, "backup", "backups");
        return format!("Nothing new in {backups}.");
    }
    let there: Vec<_> = imported.taken.iter().filter(|taken| !taken.is_gone).collect();
    let gone: usize = imported.taken.iter().filter(|it| it.is_gone).map(|it| it.backups).sum();
    let mut parts: Vec<String> = there
        .iter()
        .take(MAX_LISTED)
        .map(|taken| format!("{} for {}", taken.backups, taken.name.label()))
        .collect();
    let more: usize = there.iter().skip(MAX_LISTED).map(|taken| taken.backups).sum();
    if more > 0 {
        parts.push(format!("{more} for {}", count(there.len() - MAX_LISTED, "other", "others")));
    }
    if gone > 0 {
        parts.push(format!("{gone} of chats that are gone"));
    }
    format!("Imported {}: {}.", count(all, "backup", "backups"), parts.join(", "))
}
