//! `forklore merge`

use std::ffi::OsStr;

use forklore_tavern::work::tavern::Tavern;

use super::TypedMerge;
use crate::args::MergeArgs;
use crate::commands::Outcome;
use crate::ui::Ui;

pub(crate) fn run(
    ui: &mut Ui<'_>,
    tavern: &Tavern<'_>,
    args: &MergeArgs,
    editor: Option<&OsStr>,
) -> Outcome {
    let MergeArgs { from, entries, how } = args;
    super::run(ui, tavern, &TypedMerge { command: "merge", from, entries, how }, editor)
}
