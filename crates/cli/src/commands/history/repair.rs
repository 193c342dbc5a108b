//! `forklore history repair`

use std::collections::BTreeSet;

use forklore_history::upkeep::repair::repair;
use forklore_history::version::history::History;
use forklore_tavern::work::tavern::Tavern;

use super::verify::{answer, live_reader, say};
use super::{Histories, Outcome};
use crate::args::RepairHistoryArgs;
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
    args: &RepairHistoryArgs,
) -> Outcome {
    let repository = histories.repository(tavern);
    let there = tavern.disk.stat(&repository).ok().flatten();
    if there.is_none() {
        // Fails with the usual message that there is no history.
        histories.open_existing(tavern)?;
        return Err(CommandError::new(Objection::NothingToRepair));
    }
    if let Some(wanted) = &args.machine {
        name_machine(ui, tavern, histories, wanted)?;
    }
    // Opening recreates missing parts of the repository layout.
    let mut history = histories.open(tavern)?;
    let repaired = {
        let progress = ui.progress(0, "Reading");
        repair(&mut history, &live_reader(tavern), &|_, of| progress.tick_of(of))?
    };
    let mut actions = Vec::new();
    if repaired.salvaged > 0 {
        actions.push(format!(
            "recovered {} from damaged files",
            count(repaired.salvaged, "object", "objects")
        ));
    }
    if repaired.healed > 0 {
        let healed = count(repaired.healed, "object", "objects");
        actions.push(format!("restored {healed} from SillyTavern's files"));
    }
    if !repaired.refs.is_empty() {
        actions
            .push(format!("found {} again", count(repaired.refs.len(), "lost ref", "lost refs")));
    }
    if !repaired.rescued.is_empty() {
        let runs = count(repaired.rescued.len(), "run", "runs");
        actions.push(format!("reconnected {runs} of older versions"));
    }
    if !repaired.set_aside.is_empty() {
        actions.push(format!("set {} aside", count(repaired.set_aside.len(), "file", "files")));
    }
    match actions.is_empty() {
        true => ui.say("There is nothing to repair."),
        false => ui.say(
            Line::new()
                .add(Style::Good, "Repaired: ")
                .plain(actions.join(", "))
                .plain(". Nothing was deleted."),
        ),
    }
    for path in &repaired.set_aside {
        ui.say(Line::new().dim("  set aside: ").plain(path.display().to_string()));
    }
    say(ui, &repaired.after);
    if !repaired.after.damage.is_empty() {
        ui.hint(
            "If another machine or a remote has this history, `forklore history pull REMOTE` and then `repair` again may recover the rest. If nothing has: `forklore history dismiss --damage` ends the report."
        );
    }
    ui.answer(&json::answer(
        "history repair",
        [
            ("salvaged", Json::from(repaired.salvaged)),
            ("healed", Json::from(repaired.healed)),
            ("refs", json::texts(repaired.refs.iter().map(|lost| &lost.reference))),
            (
                "rescued",
                json::texts(
                    repaired.rescued.iter().map(|(lineage, number)| format!("{lineage}/{number}")),
                ),
            ),
            ("set_aside", json::texts(repaired.set_aside.iter().map(|path| path.display()))),
            ("history", answer(&repaired.after)),
        ],
    ));
    Ok(Exit::found_if(!repaired.after.is_sound()))
}

/// The name that stands for one that does not exist yet.
const NEW: &str = "new";

/// Gives this machine the name that was chosen.
fn name_machine(
    ui: &mut Ui<'_>,
    tavern: &Tavern<'_>,
    histories: &Histories,
    wanted: &str,
) -> Result<(), CommandError> {
    let name = Some(wanted).filter(|wanted| *wanted != NEW);
    let repository = histories.repository(tavern);
    let named =
        History::name_machine(tavern.disk, tavern.clock, repository, &histories.host, name)?;
    match named {
        Some(name) => {
            ui.say(Line::new().plain("This machine records as ").bold(name).plain("."));
            Ok(())
        }
        None => {
            let history = histories.open_existing(tavern)?;
            let machines: BTreeSet<String> =
                history.lineages().iter().map(|lineage| lineage.machine.clone()).collect();
            let (wanted, machines) = (wanted.to_owned(), machines.into_iter().collect());
            Err(CommandError::new(Objection::UnknownMachine { wanted, machines }))
        }
    }
}
