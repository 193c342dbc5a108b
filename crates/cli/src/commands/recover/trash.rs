//! `forklore trash`

use std::time::SystemTime;

use forklore_tavern::work::tavern::Tavern;
use forklore_tavern::work::trash::{TrashItem, TrashReason};
use jiff::tz::TimeZone;

use crate::args::{TrashArgs, TrashCommand};
use crate::commands::Outcome;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::json::{self, Json};
use crate::objection::Objection;
use crate::text::{Line, Style, bytes, count};
use crate::ui::Ui;
use crate::when;

pub(crate) fn run(ui: &mut Ui<'_>, tavern: &Tavern<'_>, args: &TrashArgs) -> Outcome {
    match args.command.as_ref().unwrap_or(&TrashCommand::List) {
        TrashCommand::List => list(ui, tavern),
        TrashCommand::Restore { id } => restore(ui, tavern, id),
        TrashCommand::Empty { yes } => empty(ui, tavern, *yes),
    }
}

fn list(ui: &mut Ui<'_>, tavern: &Tavern<'_>) -> Outcome {
    let trash = if tavern.has_history() { tavern.trash()? } else { Vec::new() };
    if trash.is_empty() {
        ui.say("The trash is empty.");
    }
    for item in &trash {
        let origin = item.origin.as_deref().unwrap_or("(unknown origin)");
        ui.say(Line::new().bold(format!("{:>6}  ", item.id)).plain(origin).dim(format!(
            "  {}, {}",
            bytes(item.bytes),
            why(item, tavern.clock.now(), ui.zone())
        )));
    }
    let items = trash.iter().map(|item| {
        let operation = item.operation.as_ref();
        Json::object([
            ("id", Json::from(item.id.as_str())),
            ("path", Json::from(item.origin.clone())),
            ("bytes", Json::from(item.bytes as usize)),
            ("when", Json::from(operation.map(|operation| operation.when.clone()))),
            ("command", Json::from(operation.map(|operation| operation.command.clone()))),
            ("summary", Json::from(operation.map(|operation| operation.summary.clone()))),
            ("undone", Json::from(item.why == TrashReason::Unmade)),
        ])
    });
    ui.answer(&json::answer("trash", [("items", Json::Array(items.collect()))]));
    Ok(Exit::Fine)
}

/// How an item came to be in the trash.
fn why(item: &TrashItem, now: SystemTime, zone: &TimeZone) -> String {
    let (when, summary) = match &item.operation {
        Some(operation) => (when::from_iso(&operation.when, now, zone), operation.summary.as_str()),
        None => ("at an unknown time".to_owned(), "nothing was recorded"),
    };
    match item.why {
        TrashReason::Displaced => format!("{when}, {summary}"),
        TrashReason::Unmade => format!("{when}, undone: {summary}"),
        TrashReason::SavedMeanwhile => format!("{when}, saved by SillyTavern meanwhile: {summary}"),
        TrashReason::Leftover => {
            format!("{when}, left by a crash, set aside when Forklore {summary}")
        }
    }
}

fn restore(ui: &mut Ui<'_>, tavern: &Tavern<'_>, id: &str) -> Outcome {
    let restored = tavern.transaction()?.restore_from_trash(id)?;
    ui.say(Line::new().add(Style::Good, "Put back ").bold(&restored));
    ui.answer(&json::answer("trash", [("restored", Json::from(restored.as_str()))]));
    Ok(Exit::Fine)
}

fn empty(ui: &mut Ui<'_>, tavern: &Tavern<'_>, yes: bool) -> Outcome {
    let transaction = tavern.transaction()?;
    let items = transaction.trash()?;
    let bytes: u64 = items.iter().map(|item| item.bytes).sum();
    ui.say(format!("The trash holds {} ({bytes} bytes).", count(items.len(), "file", "files")));
    if !yes {
        if !ui.can_ask() {
            return Err(CommandError::new(Objection::NobodyToAsk {
                undone: "the trash was not emptied",
            })
            .hinted(
                "Use --yes to empty it. Neither this nor any earlier operation can be undone afterwards.",
            ));
        }
        if !ui.confirm(
            "Remove them for good? Neither this nor any earlier operation can be undone afterwards.",
        ) {
            return Ok(Exit::Failed);
        }
    }
    let (files, bytes) = transaction.empty_trash()?;
    ui.say(Line::new().add(Style::Good, format!("Removed {}.", count(files, "file", "files"))));
    ui.answer(&json::answer(
        "trash",
        [("removed", Json::from(files)), ("bytes", Json::from(bytes as usize))],
    ));
    Ok(Exit::Fine)
}
