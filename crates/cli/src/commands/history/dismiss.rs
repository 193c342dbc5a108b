//! `forklore history dismiss`

use forklore_history::finding::Finder;
use forklore_history::scan::home;
use forklore_tavern::tavern::Tavern;

use super::{Histories, Outcome};
use crate::args::DismissArgs;
use crate::json::{self, Json};
use crate::text::{Line, Style};
use crate::ui::Ui;

pub(super) fn run(
    ui: &mut Ui<'_>,
    tavern: &Tavern<'_>,
    histories: &Histories,
    args: &DismissArgs,
) -> Outcome {
    let mut history = histories.open_existing(tavern)?;
    let home = home(&tavern.folders);
    let lineage = Finder::new(&history, tavern.disk, &home).find(&args.file)?.clone();
    let losses = history.losses_of(&lineage)?;
    let label = lineage.file().label();
    if losses.is_empty() {
        ui.say(Line::new().plain("Nothing in ").bold(&label).plain(" looks like a loss."));
    } else {
        let mut recorder = history.record()?;
        for loss in &losses {
            recorder.dismiss(loss);
        }
        recorder.keep()?;
    }
    for loss in &losses {
        let good = loss.good.version.number;
        ui.say(
            Line::new()
                .add(Style::Good, "Dismissed: ")
                .bold(&label)
                .plain(format!(", version {}: {}.", loss.lost.version.number, loss.words()))
                .dim(format!(" Version {good}, from before it, stays pinned.")),
        );
    }
    let numbers = losses.iter().map(|loss| Json::from(loss.lost.version.number as usize));
    ui.answer(&json::answer(
        "history dismiss",
        [
            ("file", Json::from(lineage.file().as_str())),
            ("dismissed", Json::Array(numbers.collect())),
        ],
    ));
    Ok(0)
}
