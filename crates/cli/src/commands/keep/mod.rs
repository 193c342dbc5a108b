//! Recording a history.

pub(crate) mod record;
pub(crate) mod run;
pub(crate) mod watch;

use super::shared::place::Place;
use super::{Histories, Outcome};
use crate::Context;
use crate::args::{Cli, Command};
use crate::ui::Ui;

/// Runs `record` or `watch` for every user.
pub(crate) fn for_all(
    ui: &mut Ui<'_>,
    context: &Context<'_>,
    cli: &Cli,
    histories: &Histories,
) -> Outcome {
    let place = Place::find(context, cli, histories)?;
    // A history without a folder is a loss to be reported.
    let users = place.users.users.iter().filter(|user| user.has_folder || user.has_history);
    let taverns = users.map(|user| place.tavern(context, &user.handle));
    let taverns = taverns.collect::<Result<Vec<_>, _>>()?;
    match &cli.command {
        Command::Watch(args) => watch::run(ui, &taverns, histories, args),
        _ => record::run(ui, &taverns, histories),
    }
}
