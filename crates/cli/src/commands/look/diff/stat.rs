//! The short diff: one line per entry.

use forklore_core::compare::diff::{ChangedBy, Difference, EntryDifference, LoreDiff};
use forklore_json::Json;
use forklore_tavern::work::compare::Comparison;

use super::entries::SideLabels;
use super::say::say_head;
use crate::lore::{field_name, tally};
use crate::text::{Line, padded, width};
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

/// Shows the differences, one line per entry.
pub(super) fn say_compared(ui: &mut Ui<'_>, labels: &SideLabels, compared: &LoreDiff) {
    let headings: Vec<_> = compared.entries.iter().map(|entry| labels.heading(entry)).collect();
    let column = headings.iter().map(|heading| width(&heading.title)).max().unwrap_or(0);
    let column = column.min(ui.columns() / 2);
    for (entry, heading) in compared.entries.iter().zip(&headings) {
        let about = match heading.by {
            None if !entry.fields.is_empty() => by_whom(labels, entry),
            _ => labelled(&heading.who, &fields(entry.fields.iter())),
        };
        let line = Line::new().add(heading.sign.style(), format!("{} ", heading.sign.text()));
        ui.say(if about.is_empty() {
            line.plain(&heading.title)
        } else {
            line.plain(padded(&heading.title, column)).dim(format!("  {about}"))
        });
    }
    ui.say(Line::new().dim(labels.totals(compared)));
}

/// Which side changed which fields, if both changed some.
fn by_whom(labels: &SideLabels, entry: &EntryDifference) -> String {
    let [left, right] = &labels.names;
    let groups = [
        (ChangedBy::Both, "changed in both".to_owned()),
        (ChangedBy::Left, format!("changed in {left}")),
        (ChangedBy::Right, format!("changed in {right}")),
    ];
    let groups = groups.map(|(by, who)| {
        let fields = fields(entry.fields.iter().filter(|field| field.by == by));
        if fields.is_empty() { fields } else { labelled(&who, &fields) }
    });
    groups.into_iter().filter(|group| !group.is_empty()).collect::<Vec<_>>().join("; ")
}

fn labelled(who: &str, what: &str) -> String {
    let parts: Vec<&str> = [who, what].into_iter().filter(|text| !text.is_empty()).collect();
    parts.join(": ")
}

fn fields<'f>(fields: impl Iterator<Item = &'f Difference>) -> String {
    let shown = fields.map(|field| {
        let name = field_name(&field.name);
        let text = |value: &Option<Json>| match value {
            Some(Json::Text(text)) => Some(text.to_string_lossy().into_owned()),
            _ => None,
        };
        let (before, after) = match field.by {
            ChangedBy::Left => (&field.base, &field.left),
            ChangedBy::Right => (&field.base, &field.right),
            ChangedBy::Both | ChangedBy::Unknown => (&field.left, &field.right),
        };
        match (text(before), text(after)) {
            (Some(before), Some(after)) => {
                let (gone, new) = tally(&before, &after);
                format!("{name} (+{new} -{gone} words)")
            }
            _ => name,
        }
    });
    shown.collect::<Vec<_>>().join(", ")
}
