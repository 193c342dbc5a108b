//! `forklore history unbundle`

use forklore_history::exchange::bundle;
use forklore_tavern::work::tavern::Tavern;

use super::{Histories, Outcome, pull};
use crate::args::UnbundleArgs;
use crate::error::CommandError;
use crate::file::{self, is_standard_stream};
use crate::objection::Objection;
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
    let whole = match is_standard_stream(&args.file) {
        true => piped(ui),
        false => file::read(&args.file),
    };
    let whole = whole.map_err(cannot)?;
    let mut history = histories.open(tavern)?;
    let joined = bundle::import(&mut history, &whole).map_err(|error| cannot(error.into()))?;
    Ok(pull::say(ui, tavern, &history, "history unbundle", &joined))
}

fn piped(ui: &mut Ui<'_>) -> Result<Vec<u8>, CommandError> {
    if ui.is_input_terminal() {
        return Err(CommandError::new(Objection::InputIsATerminal)
            .hinted("Name a file, or pipe a bundle into this command."));
    }
    let cannot = |error| CommandError::new(Objection::NotRead { path: "-".into(), error });
    ui.read_input().map_err(cannot)
}
