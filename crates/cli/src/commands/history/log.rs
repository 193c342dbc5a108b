//! `forklore log`

use forklore_tavern::tavern::Tavern;

use super::{Histories, Outcome};
use crate::args::LogArgs;
use crate::ui::Ui;

pub(crate) fn run(
    _ui: &mut Ui<'_>,
    tavern: &Tavern<'_>,
    histories: &Histories,
    _args: &LogArgs,
) -> Outcome {
    histories.open_existing(tavern)?;
    Ok(0)
}
