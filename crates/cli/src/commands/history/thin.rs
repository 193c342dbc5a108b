//! `forklore history thin`

use forklore_history::upkeep::thin::{ThinPlan, ThinRules, plan, thin};
use forklore_tavern::work::tavern::Tavern;

use super::{Histories, Outcome};
use crate::args::ThinArgs;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::json::{self, Json};
use crate::objection::Objection;
use crate::text::{Line, Style, bytes, count};
use crate::ui::Ui;

/// At most this many files are listed.
const MAX_LISTED: usize = 20;

pub(super) fn run(
    ui: &mut Ui<'_>,
    tavern: &Tavern<'_>,
    histories: &Histories,
    args: &ThinArgs,
) -> Outcome {
    let mut history = histories.open_existing(tavern)?;
    let rules = ThinRules {
        all_for: args.keep_all_for,
        hourly_for: args.hourly_for,
        daily_for: args.daily_for,
    };
    let plan = plan(&history, rules, tavern.clock.now())?;
    say(ui, &plan);
    if args.dry_run || plan.dropped == 0 {
        ui.answer(&answer(&plan, None));
        return Ok(Exit::Fine);
    }
    if !args.yes {
        if !ui.can_ask() {
            return Err(CommandError::new(Objection::NobodyToAsk {
                undone: "nothing was thinned",
            })
            .hinted("Use --yes to confirm. Removed versions cannot be brought back."));
        }
        if !ui.confirm("Remove them for good?") {
            return Ok(Exit::Failed);
        }
    }
    let packing = thin(&mut history, &plan)?;
    ui.say(Line::new().add(Style::Good, "Done: ").plain(format!(
        "{} instead of {}.",
        bytes(packing.bytes_after),
        bytes(packing.bytes_before)
    )));
    ui.answer(&answer(&plan, Some(packing.bytes_after)));
    Ok(Exit::Fine)
}

fn say(ui: &mut Ui<'_>, plan: &ThinPlan) {
    if plan.dropped == 0 {
        return ui.say(format!(
            "Nothing to thin: all {} stay.",
            count(plan.kept, "version", "versions")
        ));
    }
    ui.say(format!(
        "To remove: {} of {}. To keep: {}.",
        count(plan.dropped, "version", "versions"),
        count(plan.files.len(), "file", "files"),
        plan.kept,
    ));
    for file in plan.files.iter().take(MAX_LISTED) {
        ui.say(Line::new().plain("  ").bold(file.file.label()).plain(format!(
            ": remove {}, keep {}",
            file.dropped.len(),
            file.kept
        )));
    }
    if plan.files.len() > MAX_LISTED {
        ui.say(Line::new().dim(format!("  and {} more", plan.files.len() - MAX_LISTED)));
    }
}

fn answer(plan: &ThinPlan, bytes: Option<u64>) -> Json {
    let files = plan.files.iter().map(|file| {
        let dropped = file.dropped.iter().map(|number| Json::from(*number as usize));
        Json::object([
            ("file", Json::from(file.file.as_str())),
            ("kept", Json::from(file.kept)),
            ("dropped", Json::Array(dropped.collect())),
        ])
    });
    json::answer(
        "history thin",
        [
            ("done", Json::from(bytes.is_some())),
            ("kept", Json::from(plan.kept)),
            ("dropped", Json::from(plan.dropped)),
            ("files", Json::Array(files.collect())),
            ("bytes", bytes.map_or(Json::Null, |bytes| Json::from(bytes as usize))),
        ],
    )
}
