//! `forklore undo`

use forklore_tavern::transaction::operation::Operation;
use forklore_tavern::transaction::undo::StepState;
use forklore_tavern::transaction::{CommitError, Transaction};
use forklore_tavern::work::tavern::Tavern;

use crate::args::UndoArgs;
use crate::commands::Outcome;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::json::{self, Json};
use crate::objection::Objection;
use crate::text::{Line, Style};
use crate::ui::Ui;

pub(crate) fn run(ui: &mut Ui<'_>, tavern: &Tavern<'_>, args: &UndoArgs) -> Outcome {
    let nothing = || CommandError::new(Objection::NothingToUndo);
    if !tavern.has_history() {
        return Err(nothing());
    }
    let transaction = tavern.transaction()?;
    let plan = match args.operation {
        None => transaction.plan_undo()?,
        Some(id) => {
            let found = transaction.operations()?.into_iter().find(|it| it.id == id);
            let found = found.ok_or_else(|| CommandError::new(Objection::NoOperation(id)))?;
            Some(transaction.undo_plan(found)?)
        }
    };
    let plan = plan.ok_or_else(nothing)?;
    if !args.dry_run
        && let Err(error) = transaction.undo(&plan)
    {
        let is_blocked = matches!(error, CommitError::LaterWork { .. });
        let earlier = if is_blocked { earlier(&transaction, plan.operation.id)? } else { None };
        let error = CommandError::from(error);
        return Err(match earlier {
            Some(earlier) => error.hinted(format!(
                "`forklore undo {}` undoes an earlier one: {}.",
                earlier.id, earlier.summary
            )),
            None => error,
        });
    }
    let verb = if args.dry_run { "Would undo: " } else { "Undone: " };
    ui.say(Line::new().add(Style::Good, verb).plain(&plan.operation.summary));
    for (step, state) in plan.operation.steps.iter().zip(&plan.states) {
        let what = match (state, step.before, step.after) {
            (StepState::NotDone, _, _) => "had not been touched",
            (StepState::Other, _, _) => "has changed since, so this cannot be undone",
            (StepState::Done, None, _) => "goes to the trash",
            (StepState::Done, Some(_), None) => "comes back from the trash",
            (StepState::Done, Some(_), Some(_)) => "is as it was before",
        };
        ui.say(Line::new().plain(format!("  {} ", step.path)).dim(what));
    }
    let files = plan.operation.steps.iter().map(|step| Json::from(step.path.as_str())).collect();
    ui.answer(&json::answer(
        "undo",
        [
            ("operation", Json::from(plan.operation.id as usize)),
            ("summary", Json::from(plan.operation.summary.as_str())),
            ("files", Json::Array(files)),
            ("done", Json::from(!args.dry_run)),
        ],
    ));
    Ok(Exit::failed_if(args.dry_run && plan.later_work().is_some()))
}

/// The newest operation before this one that can be undone.
fn earlier(transaction: &Transaction<'_>, before: u64) -> Result<Option<Operation>, CommandError> {
    let operations = transaction.operations()?;
    for operation in operations.into_iter().rev().filter(|operation| operation.id < before) {
        let plan = transaction.undo_plan(operation)?;
        if plan.later_work().is_none() && plan.states.contains(&StepState::Done) {
            return Ok(Some(plan.operation));
        }
    }
    Ok(None)
}
