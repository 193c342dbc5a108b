//! `forklore history purge`

use forklore_history::HistoryError;
use forklore_history::query::lookup::Finder;
use forklore_history::record::scan::home;
use forklore_history::upkeep::purge::{OtherCopy, PurgePlan, Purged, copies, finish, plan, purge};
use forklore_history::upkeep::repair::repair;
use forklore_history::version::history::History;
use forklore_tavern::work::tavern::Tavern;

use super::verify::live_reader;
use super::{Histories, Outcome};
use crate::args::PurgeArgs;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::json::{self, Json};
use crate::objection::Objection;
use crate::text::{Line, Style, count};
use crate::ui::Ui;

pub(super) fn run(
    ui: &mut Ui<'_>,
    tavern: &Tavern<'_>,
    histories: &Histories,
    args: &PurgeArgs,
) -> Outcome {
    let mut history = histories.open_existing(tavern)?;
    if !args.dry_run {
        let finished = repairing(ui, tavern, &mut history, &|history| finish(history))?;
        if finished.is_some() {
            ui.note("An earlier purge was interrupted; it is complete now.");
        }
    }
    let home = home(&tavern.folders);
    let lineage = Finder::new(&history, tavern.disk, &home).find(&args.file)?.clone();
    let plan = plan(&history, &lineage)?;
    let copies = copies(&history, tavern.disk, &home, &plan)?;
    ui.say(
        Line::new()
            .plain("All of ")
            .bold(lineage.file().label())
            .plain(format!(" will be removed: {}.", count(plan.versions, "version", "versions"))),
    );
    for name in &plan.cut {
        ui.say(Line::new().plain("  ").bold(name.label()).plain(
            " started as a copy of it: its own versions stay, earlier ones will be removed.",
        ));
    }
    if args.dry_run {
        say_copies(ui, &copies);
        ui.answer(&answer(&plan, None, &copies));
        return Ok(Exit::Fine);
    }
    if !args.yes {
        if !ui.can_ask() {
            return Err(CommandError::new(Objection::NobodyToAsk {
                undone: "nothing was removed",
            })
            .hinted("Use --yes to confirm. This cannot be undone."));
        }
        if !ui.confirm("Remove all of it for good? This cannot be undone.") {
            return Ok(Exit::Failed);
        }
    }
    let purged = repairing(ui, tavern, &mut history, &|history| purge(history, &plan))?;
    say(ui, &purged);
    say_copies(ui, &copies);
    ui.answer(&answer(&plan, Some(&purged), &copies));
    Ok(Exit::failed_if(purged.left > 0))
}

/// Purges, and repairs the history first where it is damaged: what other files have in a damaged
/// pack has to be saved before the pack is removed.
fn repairing<T>(
    ui: &mut Ui<'_>,
    tavern: &Tavern<'_>,
    history: &mut History<'_>,
    purge: &dyn Fn(&mut History<'_>) -> Result<T, HistoryError>,
) -> Result<T, HistoryError> {
    match purge(history) {
        Err(HistoryError::Damaged(_)) => {}
        other => return other,
    }
    let repaired = repair(history, &live_reader(tavern), &|_, _| {})?;
    let files = count(repaired.set_aside.len(), "damaged file", "damaged files");
    ui.note(format!("The history was damaged. It was repaired first; {files} set aside."));
    purge(history)
}

fn say(ui: &mut Ui<'_>, purged: &Purged) {
    let packs = count(purged.packs, "pack", "packs");
    let removed = count(purged.removed, "object", "objects");
    match purged.left {
        0 => ui.say(
            Line::new()
                .add(Style::Good, format!("{removed} removed"))
                .plain(format!("; none is left in {packs}, read to the last byte.")),
        ),
        left => ui.say(
            Line::new()
                .add(Style::Bad, format!("{left} of {removed} are still there"))
                .plain(format!(", in {packs}. Run this again.")),
        ),
    }
    if purged.shared > 0 {
        let pieces = count(purged.shared, "piece (such as a message)", "pieces (such as messages)");
        ui.say(format!("Other files share {pieces} with it; what they share stays."));
    }
    if !purged.set_aside.is_empty() {
        let files = count(purged.set_aside.len(), "damaged file", "damaged files");
        ui.say(format!("Also removed: {files} set aside earlier, which may have held some of it."));
    }
}

/// Lists copies that a purge does not reach.
fn say_copies(ui: &mut Ui<'_>, copies: &[OtherCopy]) {
    ui.say("Not removed, because it is outside this history:");
    for copy in copies {
        let line = Line::new().plain("  ");
        ui.say(match copy {
            OtherCopy::Live(path) => line.plain(format!("the file itself: {}", path.display())),
            OtherCopy::Backup(path) => {
                line.plain(format!("a SillyTavern backup: {}", path.display()))
            }
            OtherCopy::Remote(name) => line.plain(format!("what git sent to its remote {name}")),
        });
    }
    ui.say("  what you pushed or bundled: `forklore history push REMOTE --prune` removes it from a remote, but a host may keep it for a while");
}

fn answer(plan: &PurgePlan, purged: Option<&Purged>, copies: &[OtherCopy]) -> Json {
    let number =
        |of: fn(&Purged) -> usize| purged.map_or(Json::Null, |purged| Json::from(of(purged)));
    json::answer(
        "history purge",
        [
            ("done", Json::from(purged.is_some())),
            ("versions", Json::from(plan.versions)),
            ("names", json::texts(plan.names.iter().map(|name| name.as_str()))),
            ("cut", json::texts(plan.cut.iter().map(|name| name.as_str()))),
            ("removed", number(|purged| purged.removed)),
            ("shared", number(|purged| purged.shared)),
            ("packs_read", number(|purged| purged.packs)),
            ("left", number(|purged| purged.left)),
            (
                "copies",
                json::texts(copies.iter().map(|copy| match copy {
                    OtherCopy::Live(path) | OtherCopy::Backup(path) => path.display().to_string(),
                    OtherCopy::Remote(name) => name.clone(),
                })),
            ),
        ],
    )
}
