//! The plan of a merge, and its result.

use forklore_core::plan::merge::{Choice, EntryStep, KeptOurs, MergePlan, Pick, StepKind};
use forklore_json::{JsText, Json};
use forklore_tavern::work::change::ChangedChat;
use forklore_tavern::work::compare::BaseKnown;
use forklore_tavern::work::merge::PreparedMerge;

use super::conflicts;
use crate::commands::shared::exactness::describe;
use crate::lore::{Candidate, Named, Row, describe_base, field_name, full_name, say_rows};
use crate::text::{Line, Style, count};
use crate::ui::Ui;

/// Shows the whole plan.
pub(super) fn plan(ui: &mut Ui<'_>, prepared: &PreparedMerge, plan: &MergePlan) {
    let (ours, theirs) = (prepared.label(), full_name(&prepared.theirs));
    ui.say(Line::new().plain("Merging lore of ").bold(&theirs).plain(" into ").bold(&ours));
    let mut rows = vec![Row {
        name: "lorebook".into(),
        text: vec![(Style::Plain, format!("{:?}", prepared.book_name()))],
    }];
    // An entry brought back from an earlier message is compared with the current one, so the base
    // is not worth showing.
    if !matches!(prepared.base.known, BaseKnown::Left)
        && let Some(words) = describe_base(&prepared.base.known, &ours, &theirs)
    {
        rows.push(Row { name: "base".into(), text: vec![(Style::Plain, words)] });
    }
    if let Some(message) = prepared.theirs.message {
        let known = describe(prepared.theirs.known, message);
        rows.push(Row { name: "theirs".into(), text: vec![(Style::Plain, known)] });
    }
    for other in &prepared.also_used_by {
        let words = format!("also used by {other}, where it changes too");
        rows.push(Row { name: "shared".into(), text: vec![(Style::Note, words)] });
    }
    say_rows(ui, 2, &rows);
    for step in &plan.steps {
        ui.say(step_line(step));
    }
    for (name, _) in &plan.fields {
        ui.say(Line::new().add(Style::Note, "~ ").plain("the lorebook's ").bold(field_name(name)));
    }
    say_notes(ui, prepared, plan);
}

fn step_line(step: &EntryStep) -> Line {
    let (sign, style) = match step.what {
        StepKind::Add => ("+ ", Style::Good),
        StepKind::Change => ("~ ", Style::Note),
        StepKind::Remove => ("- ", Style::Bad),
    };
    let line = Line::new().add(style, sign).bold(title(step));
    let mut about = Vec::new();
    if step.is_internal {
        about.push("updated to match".to_owned());
    } else if step.what == StepKind::Change {
        about.push(step.fields.iter().map(field_name).collect::<Vec<_>>().join(", "));
    }
    if step.what == StepKind::Add && step.to != step.key {
        let [key, to] = [&step.key, &step.to].map(JsText::to_string_lossy);
        about.push(format!("uid {key} becomes {to}"));
    }
    if about.is_empty() { line } else { line.dim(format!("  {}", about.join(", "))) }
}

fn title(step: &EntryStep) -> String {
    let entry = step.after.as_ref().or(step.before.as_ref());
    let title = entry.and_then(|entry| entry.get("comment")).and_then(Json::as_str);
    match title.filter(|title| !title.trim().is_empty()) {
        Some(title) => title.into_owned(),
        None => format!("(untitled, uid {})", step.to.to_string_lossy()),
    }
}

fn say_notes(ui: &mut Ui<'_>, prepared: &PreparedMerge, plan: &MergePlan) {
    let note = |ui: &mut Ui<'_>, text: String| {
        ui.say(Line::new().add(Style::Note, "  - ").plain(text));
    };
    for pair in &plan.namesakes {
        let [ours, theirs] = [&pair.ours, &pair.theirs].map(JsText::to_string_lossy);
        let title = &pair.title;
        note(ui, format!("two entries are now called {title:?}: uid {ours} and {theirs}"));
    }
    for KeptOurs { key, field } in &plan.kept {
        let entry = ours_title(prepared, key);
        let what = field.as_ref().map_or_else(|| "it".to_owned(), field_name);
        note(ui, format!("{entry}: {what} stays as it is, because both changed it"));
    }
    for conflict in &plan.conflicts {
        let with = match &conflict.settled {
            None => continue,
            Some(Choice::Take(Pick::Ours)) => "ours",
            Some(Choice::Take(Pick::Theirs)) => "theirs",
            Some(Choice::Value(_)) => "what you wrote",
        };
        let title = conflicts::title(conflict);
        let what = conflict.about.field().map(|field| format!(", {}", field_name(field)));
        note(ui, format!("{title}{}: resolved with {with}", what.unwrap_or_default()));
    }
}

fn ours_title(prepared: &PreparedMerge, key: &JsText) -> String {
    let book = prepared.ours();
    let mut entries = book.iter().flat_map(|book| book.entries());
    let entry = entries.find(|entry| *key == *entry.key());
    let title = entry.map(|entry| entry.comment().into_owned()).unwrap_or_default();
    if title.trim().is_empty() {
        format!("(untitled, uid {})", key.to_string_lossy())
    } else {
        title
    }
}

/// Explains, for each named entry that the plan does not touch, why not.
pub(super) fn unchanged(
    ui: &mut Ui<'_>,
    prepared: &PreparedMerge,
    plan: &MergePlan,
    picked: &[(Named, Candidate)],
) {
    for (named, candidate) in picked {
        let key = &named.key;
        let is_touched = plan.steps.iter().any(|step| step.key == *key)
            || plan.conflicts.iter().any(|conflict| conflict.key.as_ref() == Some(key));
        if is_touched {
            continue;
        }
        let why = match plan.moved.iter().find(|(from, _)| from == key) {
            Some((_, to)) => format!("is already here, as uid {}", to.to_string_lossy()),
            None if is_same(prepared, key) => "is the same in both".to_owned(),
            None => {
                let theirs = &prepared.theirs.label;
                format!(
                    "has not changed in {theirs} since the fork point; --base none compares the two as they are"
                )
            }
        };
        ui.say(Line::new().dim("= ").bold(&candidate.title).dim(format!("  {why}")));
    }
}

fn is_same(prepared: &PreparedMerge, key: &JsText) -> bool {
    let books = [prepared.ours(), prepared.theirs.book()];
    let [ours, theirs] = books.each_ref().map(|book| {
        let mut entries = book.iter().flat_map(|book| book.entries());
        let entry = entries.find(|entry| *key == *entry.key())?;
        entry.value().json().ok()
    });
    ours == theirs
}

/// Explains why there is nothing to merge.
pub(super) fn nothing(ui: &mut Ui<'_>, prepared: &PreparedMerge, picked: &[(Named, Candidate)]) {
    let (ours, theirs) = (prepared.label(), full_name(&prepared.theirs));
    if !picked.is_empty() {
        ui.say("Nothing to merge.");
    } else if prepared.base.known == BaseKnown::Right {
        ui.say(format!("Nothing to merge: {ours} descends from {theirs}."));
        ui.say(Line::new().dim(
            "`forklore pick --help` explains how to bring back single entries, `forklore restore --help` how to bring back all.",
        ));
    } else if prepared.theirs.metadata.is_none() {
        ui.say(format!("Nothing to merge: {ours} already has everything in {theirs}."));
    } else {
        ui.say(format!("Nothing to merge: {ours} already has every lore change of {theirs}."));
    }
}

pub(super) fn done(ui: &mut Ui<'_>, plan: &MergePlan, merged: &ChangedChat) {
    let number = |what: StepKind| {
        plan.steps.iter().filter(|step| step.what == what && !step.is_internal).count()
    };
    let counted =
        [(StepKind::Add, "added"), (StepKind::Change, "changed"), (StepKind::Remove, "removed")];
    let mut parts: Vec<String> = counted
        .into_iter()
        .map(|(what, word)| (number(what), word))
        .filter(|(number, _)| *number > 0)
        .map(|(number, word)| format!("{} {word}", count(number, "entry", "entries")))
        .collect();
    if !plan.fields.is_empty() {
        parts.push(count(plan.fields.len(), "field of the lorebook", "fields of the lorebook"));
    }
    let verb = if merged.operation.is_some() { "Done: " } else { "Dry run: " };
    ui.say(Line::new().add(Style::Good, verb).plain(parts.join(", ")));
    if let Some(book) = merged.book.as_ref().filter(|_| merged.operation.is_some()) {
        let row = |name: &str, text: &str| Row {
            name: name.into(),
            text: vec![(Style::Plain, text.to_owned())],
        };
        let now = format!("{:?}, {}", book.name, count(book.entries, "entry", "entries"));
        let mut rows = vec![row("lorebook", &now)];
        rows.push(row("before", "in the trash; `forklore undo` brings it back"));
        if merged.chat_changed {
            rows.push(row("chat", "its running effects and index were updated to match"));
        }
        rows.push(row("page", "reload SillyTavern's page before you continue this chat"));
        say_rows(ui, 2, &rows);
    }
}
