//! `forklore history unbundle`

use forklore_history::exchange::bundle;
use forklore_tavern::work::tavern::Tavern;

use super::bundle::{key, read_bundle};
use super::{Histories, Outcome, pull};
use crate::args::UnbundleArgs;
use crate::error::CommandError;
use crate::ui::Ui;

pub(super) fn run(
    ui: &mut Ui<'_>,
    tavern: &Tavern<'_>,
    histories: &Histories,
    args: &UnbundleArgs,
) -> Outcome {
    let cannot = |error: CommandError| {
        error.while_doing(format!("could not unbundle `{}`", args.file.display()))
    };
    let disk = tavern.disk;
    let key = key(disk, args.passphrase_file.as_deref(), args.identity.as_deref())?;
    let whole = read_bundle(disk, &args.file, key.as_ref()).map_err(cannot)?;
    let mut history = histories.open(tavern)?;
    let joined = bundle::import(&mut history, &whole).map_err(|error| cannot(error.into()))?;
    Ok(pull::say(ui, "history unbundle", &joined))
}
