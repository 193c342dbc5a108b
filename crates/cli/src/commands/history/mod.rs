//! `forklore history`: maintaining the history itself.

mod bundle;
mod dismiss;
mod import;
mod pack;
mod pull;
mod purge;
mod push;
mod repair;
mod unbundle;
mod verify;

use forklore_tavern::work::tavern::Tavern;

use super::{Histories, Outcome};
use crate::args::{HistoryArgs, HistoryCommand};
use crate::ui::Ui;

pub(crate) fn run(
    ui: &mut Ui<'_>,
    tavern: &Tavern<'_>,
    histories: &Histories,
    args: &HistoryArgs,
) -> Outcome {
    match &args.command {
        HistoryCommand::Pack => pack::run(ui, tavern, histories),
        HistoryCommand::Verify => verify::run(ui, tavern, histories),
        HistoryCommand::Repair(args) => repair::run(ui, tavern, histories, args),
        HistoryCommand::Purge(args) => purge::run(ui, tavern, histories, args),
        HistoryCommand::Dismiss(args) => dismiss::run(ui, tavern, histories, args),
        HistoryCommand::Push(args) => push::run(ui, tavern, histories, args),
        HistoryCommand::Pull(args) => pull::run(ui, tavern, histories, args),
        HistoryCommand::Bundle(args) => bundle::run(ui, tavern, histories, args),
        HistoryCommand::Unbundle(args) => unbundle::run(ui, tavern, histories, args),
        HistoryCommand::Import => import::run(ui, tavern, histories),
    }
}
