//! Merging lore: what `merge` and `pick` have in common.

mod conflicts;
mod edit;
mod editor;
mod json;
pub(super) mod merge;
pub(super) mod pick;
mod say;
mod settle;

use std::ffi::OsStr;

use forklore_core::plan::merge::Choices;
use forklore_tavern::folder::library::Library;
use forklore_tavern::work::change::ChangeOptions;
use forklore_tavern::work::merge::{PastLore, WantedBase};
use forklore_tavern::work::tavern::Tavern;

use super::Outcome;
use crate::args::CombineArgs;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::objection::Objection;
use crate::ui::Ui;

/// The request as typed.
struct TypedMerge<'a> {
    command: &'static str,
    from: &'a str,
    entries: &'a [String],
    how: &'a CombineArgs,
}

fn run(
    ui: &mut Ui<'_>,
    tavern: &Tavern<'_>,
    request: &TypedMerge<'_>,
    editor: Option<&OsStr>,
) -> Outcome {
    let how = request.how;
    let library = tavern.library();
    let into = library.find(tavern.disk, &how.into)?;
    let from = library.find_lore(tavern.disk, request.from)?;
    let base = base_of(tavern, &library, &how.base)?;
    let past = if request.entries.is_empty() { PastLore::IsBase } else { PastLore::BringBack };
    let prepared = tavern.prepare_merge(&from, into, &base, past)?;

    let picked = settle::picked(&prepared, request.entries)?;
    let only = (!picked.is_empty()).then(|| settle::wanted(&picked));
    let mut choices = Choices { only, ..Choices::default() };
    let unsettled = prepared.plan(&choices);
    settle::apply_flags(&mut choices, &unsettled, &how.ours, &how.theirs)?;
    let mut plan = prepared.plan(&choices);
    if how.edit && plan.open_conflicts().next().is_some() {
        let names = [prepared.label(), prepared.theirs.label.clone()];
        let conflicts: Vec<_> = plan.open_conflicts().collect();
        let settled = edit::settle(&conflicts, &names, editor)?;
        settle::add_choices(&mut choices, settled);
        plan = prepared.plan(&choices);
    }

    say::plan(ui, &prepared, &plan);
    say::unchanged(ui, &prepared, &plan, &picked);
    let open = plan.open_conflicts().count();
    if open > 0 {
        conflicts::say(ui, &prepared.base.known, &plan);
        if !ui.is_json() {
            CommandError::new(Objection::NotSettled(open))
                .hinted(conflicts::hint(request))
                .report(ui);
        }
        ui.answer(&json::answer(request.command, &prepared, &plan, None));
        return Ok(Exit::Failed);
    }
    if plan.is_empty() {
        say::nothing(ui, &prepared, &picked);
        ui.answer(&json::answer(request.command, &prepared, &plan, None));
        return Ok(Exit::Fine);
    }
    let options = ChangeOptions { is_closed: how.change.closed, dry_run: how.change.dry_run };
    let merged = tavern.merge(request.command, &prepared, &plan, options)?;
    say::done(ui, &plan, &merged);
    ui.answer(&json::answer(request.command, &prepared, &plan, Some(&merged)));
    Ok(Exit::Fine)
}

fn base_of(tavern: &Tavern<'_>, library: &Library, base: &str) -> Result<WantedBase, CommandError> {
    Ok(match base {
        "auto" => WantedBase::Auto,
        "none" => WantedBase::Unknown,
        "empty" => WantedBase::Empty,
        chat => WantedBase::Timeline(library.find_point(tavern.disk, chat)?),
    })
}
