//! Showing conflicts: both sides of each, and how to settle it.

use forklore_core::plan::merge::{Conflict, ConflictKind, MergePlan};
use forklore_json::Json;
use forklore_tavern::work::compare::BaseKnown;

use super::TypedMerge;
use super::settle::conflict_name;
use crate::lore::{Paint, Row, Span, field_name, plain, say_rows, value_diff};
use crate::text::{Line, Style, sanitize};
use crate::ui::Ui;

pub(super) fn say(ui: &mut Ui<'_>, known: &BaseKnown, plan: &MergePlan) {
    let is_known = !matches!(known, BaseKnown::Unknown { .. });
    let paint = Paint { color: ui.has_color() };
    for conflict in plan.open_conflicts() {
        ui.say("");
        let what = match &conflict.about {
            ConflictKind::Field(field) if is_known => {
                format!("{}, changed in both", field_name(field))
            }
            ConflictKind::Field(field) => format!("{}, different", field_name(field)),
            ConflictKind::RemovedByOurs => "removed in ours, changed in theirs".to_owned(),
            ConflictKind::RemovedByTheirs => "changed in ours, removed in theirs".to_owned(),
        };
        let line = Line::new().add(Style::Bad, "! ").bold(title(conflict));
        ui.say(line.plain(format!("  {what}")));
        let name = quoted(&conflict_name(plan, conflict));
        let mut rows = sides(paint, conflict);
        rows.push(Row {
            name: "resolve".into(),
            text: vec![(Style::Dim, format!("--ours {name}  or  --theirs {name}"))],
        });
        say_rows(ui, 4, &rows);
    }
    if plan.open_conflicts().next().is_some() {
        ui.say("");
    }
}

pub(super) fn title(conflict: &Conflict) -> String {
    match &conflict.key {
        None => "the lorebook".to_owned(),
        Some(key) if conflict.title.trim().is_empty() => {
            format!("(untitled, uid {})", key.to_string_lossy())
        }
        Some(_) => conflict.title.clone(),
    }
}

fn sides(paint: Paint, conflict: &Conflict) -> Vec<Row> {
    let Conflict { base, ours, theirs, .. } = conflict;
    let row = |name: &str, text: Vec<Span>| Row { name: name.into(), text };
    let [base, ours, theirs] = [base, ours, theirs].map(Option::as_ref);
    let content = |entry: Option<&Json>| entry.and_then(|entry| entry.get("content")).cloned();
    match conflict.about {
        ConflictKind::Field(_) if base.is_some() => {
            vec![
                row("ours", value_diff(paint, base, ours)),
                row("theirs", value_diff(paint, base, theirs)),
            ]
        }
        ConflictKind::Field(_) => {
            let alone = ours.map_or_else(|| "not set".to_owned(), plain);
            let alone = vec![(Style::Plain, alone)];
            vec![row("ours", alone), row("theirs", value_diff(paint, ours, theirs))]
        }
        ConflictKind::RemovedByOurs | ConflictKind::RemovedByTheirs => {
            let before = content(base);
            let side = |entry: Option<&Json>| match entry {
                None => vec![(Style::Gone, "removed".to_owned())],
                Some(_) => value_diff(paint, before.as_ref(), content(entry).as_ref()),
            };
            vec![row("ours", side(ours)), row("theirs", side(theirs))]
        }
    }
}

/// The command to run again, with everything that was typed.
pub(super) fn hint(request: &TypedMerge<'_>) -> String {
    let mut command = format!("forklore {} {}", request.command, quoted(request.from));
    if request.command == "pick" {
        for entry in request.entries {
            command += &format!(" {}", quoted(entry));
        }
    }
    command += &format!(" --into {}", quoted(&request.how.into));
    if request.how.base != "auto" {
        command += &format!(" --base {}", quoted(&request.how.base));
    }
    if request.command == "merge" && !request.entries.is_empty() {
        command += " --entries";
        for entry in request.entries {
            command += &format!(" {}", quoted(entry));
        }
    }
    for (flag, names) in [("--ours", &request.how.ours), ("--theirs", &request.how.theirs)] {
        for name in names.iter().filter(|name| !name.is_empty()) {
            command += &format!(" {flag} {}", quoted(name));
        }
    }
    let hint = format!(
        "Run it again with --ours or --theirs for all of them, with the options below each, or with \
         --edit to write them yourself: `{command} --edit`"
    );
    if request.from.starts_with("book=") && request.how.base == "auto" {
        return hint
            + ". If the two lorebooks have nothing in common, --base empty adds every entry as a new one.";
    }
    hint
}

/// Quotes text for a shell, if necessary.
pub(super) fn quoted(text: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./:@=+".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    // What is shown must be what can be typed.
    format!("'{}'", sanitize(text).replace('\'', r"'\''"))
}
