//! `forklore undelete`

use forklore_tavern::tavern::Tavern;

use super::{Histories, Outcome};
use crate::args::UndeleteArgs;
use crate::ui::Ui;

pub(crate) fn run(
    _ui: &mut Ui<'_>,
    tavern: &Tavern<'_>,
    histories: &Histories,
    _args: &UndeleteArgs,
) -> Outcome {
    histories.open_existing(tavern)?;
    Ok(0)
}
