//! `forklore pick`

use std::ffi::OsStr;

use forklore_tavern::work::tavern::Tavern;

use super::TypedMerge;
use crate::args::PickArgs;
use crate::commands::Outcome;
use crate::ui::Ui;

pub(crate) fn run(
    ui: &mut Ui<'_>,
    tavern: &Tavern<'_>,
    args: &PickArgs,
    editor: Option<&OsStr>,
) -> Outcome {
    let PickArgs { from, entries, how } = args;
    super::run(ui, tavern, &TypedMerge { command: "pick", from, entries, how }, editor)
}
