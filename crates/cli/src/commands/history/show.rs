//! `forklore show --version`

use forklore_history::file::Kind;
use forklore_history::finding::Finder;
use forklore_history::scan::home;
use forklore_tavern::tavern::Tavern;

use super::{Histories, Outcome};
use crate::error::CommandError;
use crate::json::{self, Json};
use crate::text::Line;
use crate::ui::Ui;
use crate::when;

pub(crate) fn run(
    ui: &mut Ui<'_>,
    tavern: &Tavern<'_>,
    histories: &Histories,
    wanted: &str,
    number: u64,
) -> Outcome {
    let history = histories.open_existing(tavern)?;
    let home = home(&tavern.folders);
    let finder = Finder::new(&history, tavern.disk, &home);
    let lineage = finder.find(wanted)?;
    let kept = history.version(lineage, number)?;
    let name = finder.name_of(lineage);
    let bytes = history.content(&kept)?;
    let version = &kept.version;
    if ui.is_json() {
        ui.answer(&json::answer(
            "show",
            [
                ("file", Json::from(version.file.as_str())),
                ("name", Json::from(name)),
                ("version", Json::from(version.number as usize)),
                ("words", Json::from(version.words.as_str())),
                ("written", Json::from(when::iso(version.written))),
                ("text", Json::from(String::from_utf8(bytes).ok())),
            ],
        ));
        return Ok(0);
    }
    if lineage.kind == Kind::Card && ui.is_read() {
        return Err(CommandError::new(format!("{name:?} is a picture"))
            .hinted("Write it into a file: `forklore show ... > card.png`."));
    }
    ui.data(&bytes);
    let said = when::said(version.written, tavern.chance.now());
    ui.note(Line::new().dim(format!("{name:?}, version {number}, {said}: {}", version.words)));
    Ok(0)
}
