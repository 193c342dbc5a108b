//! `forklore trash`

use forklore_tavern::tavern::Tavern;

use super::Outcome;
use crate::args::{TrashArgs, TrashCommand};
use crate::error::CommandError;
use crate::json::{self, Json};
use crate::text::{Line, Style, count};
use crate::ui::Ui;

pub(crate) fn run(ui: &mut Ui<'_>, tavern: &Tavern<'_>, args: &TrashArgs) -> Outcome {
    match args.command.as_ref().unwrap_or(&TrashCommand::List) {
        TrashCommand::List => list(ui, tavern),
        TrashCommand::Restore { id } => restore(ui, tavern, id),
        TrashCommand::Empty { yes } => empty(ui, tavern, *yes),
    }
}

fn list(ui: &mut Ui<'_>, tavern: &Tavern<'_>) -> Outcome {
    let trash = tavern.workshop()?.trash()?;
    if trash.is_empty() {
        ui.say("The trash is empty.");
    }
    for item in &trash {
        let why = if item.was_unmade { "undone: " } else { "" };
        ui.say(Line::new().bold(format!("{:>6}  ", item.id)).plain(&item.step.path).dim(format!(
            "  {} bytes, {}, {why}{}",
            item.bytes, item.operation.when, item.operation.summary
        )));
    }
    let items = trash.iter().map(|item| {
        Json::object([
            ("id", Json::from(item.id.as_str())),
            ("path", Json::from(item.step.path.as_str())),
            ("bytes", Json::from(item.bytes as usize)),
            ("when", Json::from(item.operation.when.as_str())),
            ("command", Json::from(item.operation.command.as_str())),
            ("summary", Json::from(item.operation.summary.as_str())),
            ("undone", Json::from(item.was_unmade)),
        ])
    });
    ui.answer(&json::answer("trash", [("items", Json::Array(items.collect()))]));
    Ok(0)
}

fn restore(ui: &mut Ui<'_>, tavern: &Tavern<'_>, id: &str) -> Outcome {
    let restored = tavern.workshop()?.restore_from_trash(id)?;
    ui.say(Line::new().add(Style::Good, "Put back ").bold(&restored.step.path));
    ui.answer(&json::answer("trash", [("restored", Json::from(restored.step.path.as_str()))]));
    Ok(0)
}

fn empty(ui: &mut Ui<'_>, tavern: &Tavern<'_>, yes: bool) -> Outcome {
    let workshop = tavern.workshop()?;
    let items = workshop.trash()?;
    let bytes: u64 = items.iter().map(|item| item.bytes).sum();
    ui.say(format!("The trash holds {} ({bytes} bytes).", count(items.len(), "file", "files")));
    if !yes {
        if !ui.can_ask() {
            return Err(CommandError::new(
                "the trash was not emptied, because nobody can be asked",
            )
            .hinted("Say --yes to empty it. This cannot be undone."));
        }
        if !ui.asks("Remove them for good? This cannot be undone.") {
            return Ok(1);
        }
    }
    let (files, bytes) = workshop.empty_trash()?;
    ui.say(Line::new().add(Style::Good, format!("Removed {}.", count(files, "file", "files"))));
    ui.answer(&json::answer(
        "trash",
        [("removed", Json::from(files)), ("bytes", Json::from(bytes as usize))],
    ));
    Ok(0)
}
