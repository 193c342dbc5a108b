//! `forklore history dismiss`

use forklore_history::query::lookup::Finder;
use forklore_history::query::versions::LookupError;
use forklore_history::record::scan::home;
use forklore_history::upkeep::fsck::{accept, verify};
use forklore_history::version::history::History;
use forklore_history::version::lineage::Lineage;
use forklore_tavern::work::tavern::Tavern;

use super::verify::live_reader;
use super::{Histories, Outcome};
use crate::args::DismissArgs;
use crate::commands::shared::{damage, gone};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::json::{self, Json};
use crate::objection::Objection;
use crate::text::{Line, Style};
use crate::ui::Ui;

pub(super) fn run(
    ui: &mut Ui<'_>,
    tavern: &Tavern<'_>,
    histories: &Histories,
    args: &DismissArgs,
) -> Outcome {
    let mut history = histories.open_existing(tavern)?;
    if args.damage {
        return dismiss_damage(ui, tavern, &mut history);
    }
    let home = home(&tavern.folders);
    let gone = gone::find_all(tavern, &history)?.into_iter().flat_map(|vanished| vanished.files);
    let mut gone: Vec<Lineage> = gone.collect();
    let found = match &args.file {
        None => None,
        Some(file) => {
            let found = Finder::new(&history, tavern.disk, &home).find(file);
            let of_character = |lineage: &Lineage| gone::belongs_to(lineage, file);
            let has_chats = gone.iter().any(of_character);
            let found = match found {
                Err(LookupError::Unknown { .. } | LookupError::Ambiguous { .. }) if has_chats => {
                    None
                }
                found => Some(found?.clone()),
            };
            gone.retain(|lineage| {
                found.as_ref().is_some_and(|found| found.reference == lineage.reference)
                    || of_character(lineage)
            });
            found
        }
    };
    let losses = match &found {
        Some(lineage) => history.losses_of(lineage)?,
        None => Vec::new(),
    };
    let mut recorder = history.record()?;
    losses.iter().for_each(|loss| recorder.dismiss(loss));
    for lineage in &gone {
        // A deletion has to be recorded before it can be dismissed.
        recorder.deleted(lineage.file())?;
        let deleted = recorder.lineages().get(&lineage.reference).unwrap_or(lineage).clone();
        recorder.dismiss_gone(&deleted);
    }
    recorder.persist()?;
    drop(recorder);

    let label = found.as_ref().map(|lineage| lineage.file().label()).unwrap_or_default();
    if losses.is_empty() && gone.is_empty() {
        match &args.file {
            Some(file) => {
                let label = if label.is_empty() { file } else { &label };
                ui.say(Line::new().plain("Nothing in ").bold(label).plain(" looks like a loss."));
            }
            None => ui.say("Nothing is reported as gone."),
        }
    }
    for loss in &losses {
        let good = loss.good.version.number;
        ui.say(
            Line::new()
                .add(Style::Good, "Dismissed: ")
                .bold(&label)
                .plain(format!(", version {}: {}.", loss.lost.version.number, loss.words()))
                .dim(format!(" Version {good}, before it, stays pinned.")),
        );
    }
    for lineage in &gone {
        ui.say(
            Line::new()
                .add(Style::Good, "Dismissed: ")
                .bold(lineage.file().label())
                .plain(" is gone.")
                .dim(" Its versions stay."),
        );
    }
    let numbers = losses.iter().map(|loss| Json::from(loss.lost.version.number as usize));
    let file = found.as_ref().map(|lineage| lineage.file().as_str().to_owned());
    ui.answer(&json::answer(
        "history dismiss",
        [
            ("file", Json::from(file)),
            ("dismissed", Json::Array(numbers.collect())),
            ("gone", json::texts(gone.iter().map(|lineage| lineage.file().as_str()))),
        ],
    ));
    Ok(Exit::Fine)
}

/// Accepts what is damaged and cannot be repaired.
fn dismiss_damage(ui: &mut Ui<'_>, tavern: &Tavern<'_>, history: &mut History<'_>) -> Outcome {
    let verified = {
        let progress = ui.progress(0, "Reading");
        verify(history, &live_reader(tavern), &|_, of| progress.tick_of(of))?
    };
    if !verified.faults.is_empty() || !verified.lost_refs.is_empty() {
        return Err(CommandError::new(Objection::NotRepaired).hinted(damage::HINT));
    }
    accept(history, &verified.damage)?;
    if verified.damage.is_empty() {
        ui.say("Nothing in the history is reported as damaged.");
    }
    for damage in &verified.damage {
        let line = Line::new().add(Style::Good, "Dismissed: ").bold(damage.to_string());
        ui.say(line.plain(" is lost."));
    }
    let dismissed = verified.damage.iter().map(ToString::to_string);
    ui.answer(&json::answer("history dismiss", [("damage", json::texts(dismissed))]));
    Ok(Exit::Fine)
}
