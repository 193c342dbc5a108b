//! `forklore show --version`

use forklore_history::file::FileKind;
use forklore_history::query::lookup::Finder;
use forklore_history::record::scan::home;
use forklore_tavern::disk::describe::shown;
use forklore_tavern::work::tavern::Tavern;

use crate::args::ShowArgs;
use crate::commands::{Histories, Outcome};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::file;
use crate::json::{self, Json};
use crate::objection::Objection;
use crate::text::Line;
use crate::ui::Ui;
use crate::when;

pub(crate) fn run(
    ui: &mut Ui<'_>,
    tavern: &Tavern<'_>,
    histories: &Histories,
    args: &ShowArgs,
    number: u64,
) -> Outcome {
    let history = histories.open_existing(tavern)?;
    let home = home(&tavern.folders);
    let finder = Finder::new(&history, tavern.disk, &home);
    let lineage = finder.find(&args.chat)?;
    let stored = history.version(lineage, number)?;
    let name = finder.name_of(lineage);
    let bytes = history.content(&stored)?;
    let version = &stored.version;
    if let Some(output) = &args.output {
        file::write(tavern.disk, output, &bytes)?;
    }
    if ui.is_json() {
        let text = String::from_utf8(bytes).ok().filter(|_| args.output.is_none());
        ui.answer(&json::answer(
            "show",
            [
                ("file", Json::from(version.file.as_str())),
                ("name", Json::from(name)),
                ("version", Json::from(version.number as usize)),
                ("words", Json::from(version.words.as_str())),
                ("written", Json::from(when::iso(version.written))),
                ("output", Json::from(args.output.as_deref().map(shown))),
                ("text", Json::from(text)),
            ],
        ));
        return Ok(Exit::Fine);
    }
    if args.output.is_none() {
        if lineage.kind == FileKind::Card && ui.is_terminal() {
            return Err(CommandError::new(Objection::Picture(name))
                .hinted("Write it to a file with --output card.png."));
        }
        ui.data(&bytes);
    }
    let said = when::absolute(version.written, tavern.clock.now(), ui.zone());
    ui.note(Line::new().dim(format!("{name:?}, version {number}, {said}: {}", version.words)));
    Ok(Exit::Fine)
}
