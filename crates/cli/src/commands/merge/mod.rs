//! `forklore merge` and `forklore pick`

mod conflicts;
mod edit;
mod editor;
mod json;
mod say;
mod settle;

use std::ffi::OsStr;

use forklore_core::merge::Choices;
use forklore_tavern::library::Library;
use forklore_tavern::mending::MendOptions;
use forklore_tavern::merging::{MergeBase, Past};
use forklore_tavern::tavern::Tavern;

use super::Outcome;
use crate::args::{CombineArgs, MergeArgs, PickArgs};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::objection::Objection;
use crate::ui::Ui;

/// What somebody typed.
struct Wish<'a> {
    command: &'static str,
    from: &'a str,
    entries: &'a [String],
    how: &'a CombineArgs,
}

pub(crate) fn merge(
    ui: &mut Ui<'_>,
    tavern: &Tavern<'_>,
    args: &MergeArgs,
    editor: Option<&OsStr>,
) -> Outcome {
    let MergeArgs { from, entries, how } = args;
    run(ui, tavern, &Wish { command: "merge", from, entries, how }, editor)
}

pub(crate) fn pick(
    ui: &mut Ui<'_>,
    tavern: &Tavern<'_>,
    args: &PickArgs,
    editor: Option<&OsStr>,
) -> Outcome {
    let PickArgs { from, entries, how } = args;
    run(ui, tavern, &Wish { command: "pick", from, entries, how }, editor)
}

fn run(ui: &mut Ui<'_>, tavern: &Tavern<'_>, wish: &Wish<'_>, editor: Option<&OsStr>) -> Outcome {
    let how = wish.how;
    let library = tavern.library();
    let into = library.find(tavern.disk, &how.into)?;
    let from = library.find_lore(tavern.disk, wish.from)?;
    let base = base_of(tavern, &library, &how.base)?;
    let past = if wish.entries.is_empty() { Past::IsNothingNew } else { Past::ComesBack };
    let prepared = tavern.prepare_merge(&from, into, &base, past)?;

    let picked = settle::picked(&prepared, wish.entries)?;
    let only = (!picked.is_empty()).then(|| settle::wanted(&picked));
    let mut choices = Choices { only, ..Choices::default() };
    let unsettled = prepared.plan(&choices);
    settle::choose(&mut choices, &unsettled, &how.ours, &how.theirs)?;
    let mut plan = prepared.plan(&choices);
    if how.edit && plan.open_conflicts().next().is_some() {
        let names = [prepared.label(), prepared.theirs.label.clone()];
        let conflicts: Vec<_> = plan.open_conflicts().collect();
        let settled = edit::settle(&conflicts, &names, editor)?;
        settle::add(&mut choices, settled);
        plan = prepared.plan(&choices);
    }

    say::plan(ui, &prepared, &plan);
    say::unmoved(ui, &prepared, &plan, &picked);
    let open = plan.open_conflicts().count();
    if open > 0 {
        conflicts::say(ui, &prepared.base.known, &plan);
        if !ui.is_json() {
            CommandError::new(Objection::NotSettled(open)).hinted(conflicts::hint(wish)).report(ui);
        }
        ui.answer(&json::answer(wish.command, &prepared, &plan, None));
        return Ok(Exit::Failed);
    }
    if plan.is_empty() {
        say::nothing(ui, &prepared, &picked);
        ui.answer(&json::answer(wish.command, &prepared, &plan, None));
        return Ok(Exit::Fine);
    }
    let options = MendOptions { is_closed: how.mend.closed, dry_run: how.mend.dry_run };
    let merged = tavern.merge(wish.command, &prepared, &plan, options)?;
    say::done(ui, &plan, &merged);
    ui.answer(&json::answer(wish.command, &prepared, &plan, Some(&merged)));
    Ok(Exit::Fine)
}

fn base_of(tavern: &Tavern<'_>, library: &Library, base: &str) -> Result<MergeBase, CommandError> {
    Ok(match base {
        "auto" => MergeBase::Auto,
        "none" => MergeBase::Unknown,
        "empty" => MergeBase::Empty,
        chat => MergeBase::Timeline(library.find_point(tavern.disk, chat)?),
    })
}
