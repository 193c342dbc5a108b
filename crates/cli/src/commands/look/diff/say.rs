//! The full diff.

use forklore_core::compare::diff::{ChangedBy, Difference, EntryDifference, LoreDiff};
use forklore_core::timeline::exactness::Exactness;
use forklore_json::Json;
use forklore_tavern::work::compare::{BaseKnown, Comparison};

use super::entries::{Heading, SideLabels, Sign};
use crate::commands::shared::exactness::describe;
use crate::lore::{
    Paint, Row, Span, describe_base, field_name, full_name, plain, say_rows, side_names, value_diff,
};
use crate::text::{Line, Style, command};
use crate::ui::Ui;

pub(super) fn say(ui: &mut Ui<'_>, comparison: &Comparison, compared: &LoreDiff) {
    let labels = SideLabels::of(comparison, compared);
    say_head(ui, comparison, compared);
    if compared.is_empty() {
        ui.say("Both have the same lore.");
        return;
    }
    say_compared(ui, &labels, compared);
}

/// Shows the differences, entry by entry.
pub(super) fn say_compared(ui: &mut Ui<'_>, labels: &SideLabels, compared: &LoreDiff) {
    let paint = Paint { color: ui.has_color() };
    if !compared.entries.is_empty() {
        say_section(ui, "Entries");
    }
    for (at, entry) in compared.entries.iter().enumerate() {
        if at > 0 {
            ui.say("");
        }
        let heading = labels.heading(entry);
        ui.say(heading.line());
        say_rows(ui, 4, &entry_rows(paint, labels, entry, &heading));
    }
    let sections = [
        ("Lorebook", &compared.book),
        ("Recap", &compared.recap),
        ("Variables", &compared.variables),
        ("Other", &compared.other),
    ];
    for (title, list) in sections.into_iter().filter(|(_, list)| !list.is_empty()) {
        say_section(ui, title);
        let rows: Vec<Row> =
            list.iter().map(|difference| row(paint, labels, difference, None)).collect();
        say_rows(ui, 2, &rows);
    }
    ui.say("");
    ui.say(Line::new().dim(labels.totals(compared)));
}

pub(super) fn say_section(ui: &mut Ui<'_>, title: &str) {
    ui.say("");
    ui.say(Line::new().bold(title));
}

/// Shows what is compared, and how exactly each side is known.
pub(super) fn say_head(ui: &mut Ui<'_>, comparison: &Comparison, compared: &LoreDiff) {
    let Comparison { left, right, base } = comparison;
    let [one, other] = side_names(left, right);
    let is_one_chat = left.label == right.label;
    let line = Line::new().plain("Comparing ").bold(full_name(left)).plain(" with ");
    ui.say(line.bold(if is_one_chat { other.clone() } else { full_name(right) }));
    let mut rows = Vec::new();
    if !is_one_chat && let Some(words) = describe_base(&base.known, &one, &other) {
        let is_unknown = matches!(base.known, BaseKnown::Unknown { .. });
        let style = if is_unknown { Style::Note } else { Style::Plain };
        rows.push(Row { name: "base".into(), text: vec![(style, words)] });
        if is_unknown && !compared.is_empty() {
            let paint = Paint { color: ui.has_color() };
            let text = vec![paint.removed(&one), (Style::Plain, " ".into()), paint.added(&other)];
            rows.push(Row { name: "marks".into(), text });
        }
    }
    for (lore, name) in [(left, &one), (right, &other)] {
        if let Some(message) = lore.message {
            let is_live = lore.known.exactness == Exactness::Live;
            let style = if is_live { Style::Note } else { Style::Plain };
            let words = format!("{name}: {}", describe(lore.known, message));
            rows.push(Row { name: "lorebook".into(), text: vec![(style, words)] });
        }
    }
    if let Some(book) = comparison.shared_book() {
        let split = command("split", &right.label, "");
        let words = format!("both use {book:?}, so it cannot differ; {split} separates them");
        rows.push(Row { name: "lorebook".into(), text: vec![(Style::Note, words)] });
    }
    say_rows(ui, 2, &rows);
}

fn entry_rows(
    paint: Paint,
    labels: &SideLabels,
    entry: &EntryDifference,
    heading: &Heading,
) -> Vec<Row> {
    match (&entry.left.entry, &entry.right.entry) {
        (Some(_), Some(_)) => {
            let fields = entry.fields.iter();
            fields.map(|field| row(paint, labels, field, heading.by)).collect()
        }
        (Some(one), None) | (None, Some(one)) => {
            let style = match heading.sign {
                Sign::Added => Style::Good,
                Sign::Removed => Style::Gone,
                Sign::Changed => Style::Plain,
            };
            whole(one, style)
        }
        (None, None) => Vec::new(),
    }
}

/// The fields of an entry that people read.
fn whole(entry: &Json, style: Style) -> Vec<Row> {
    let fields = ["key", "content"].into_iter().filter_map(|name| {
        let text = entry.get(name).map(plain).filter(|text| !text.is_empty())?;
        Some(Row { name: field_name(&name.into()), text: vec![(style, text)] })
    });
    fields.collect()
}

/// One value that differs. Names the side that changed it, unless the heading already did.
fn row(paint: Paint, labels: &SideLabels, difference: &Difference, said: Option<ChangedBy>) -> Row {
    let Difference { name, by, base, left, right } = difference;
    let [base, left, right] = [base, left, right].map(Option::as_ref);
    let says = |name: &str| -> Span { (Style::Dim, format!("{name}: ")) };
    let mut text = Vec::new();
    match by {
        ChangedBy::Unknown => text = value_diff(paint, left, right),
        ChangedBy::Left | ChangedBy::Right => {
            if let Some(name) = labels.by(*by).filter(|_| said != Some(*by)) {
                text.push(says(name));
            }
            text.extend(value_diff(paint, base, if *by == ChangedBy::Left { left } else { right }));
        }
        ChangedBy::Both => {
            text.push(says(&labels.names[0]));
            text.extend(value_diff(paint, base, left));
            text.push((Style::Plain, "\n".to_owned()));
            text.push(says(&labels.names[1]));
            text.extend(value_diff(paint, base, right));
        }
    }
    Row { name: field_name(name), text }
}
