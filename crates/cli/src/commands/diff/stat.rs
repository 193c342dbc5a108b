//! One line for each entry.

use forklore_core::diff::{By, Compared, EntryDifference};
use forklore_core::json::Json;
use forklore_tavern::comparing::Comparison;

use super::entries::Speaker;
use super::say::say_head;
use crate::lore::{field_name, tally};
use crate::text::{Line, padded, width};
use crate::ui::Ui;

pub(super) fn say(ui: &mut Ui<'_>, comparison: &Comparison, compared: &Compared) {
    let speaker = Speaker::of(comparison, compared);
    say_head(ui, comparison, compared);
    if compared.is_empty() {
        ui.say("The lore of both is the same.");
        return;
    }
    say_compared(ui, &speaker, compared);
}

/// What differs, in one line for each entry.
pub(super) fn say_compared(ui: &mut Ui<'_>, speaker: &Speaker, compared: &Compared) {
    let headings: Vec<_> = compared.entries.iter().map(|entry| speaker.heading(entry)).collect();
    let column = headings.iter().map(|heading| width(&heading.title)).max().unwrap_or(0);
    let column = column.min(ui.columns() / 2);
    for (entry, heading) in compared.entries.iter().zip(&headings) {
        let about = [heading.who.clone(), fields(entry)];
        let about: Vec<String> = about.into_iter().filter(|text| !text.is_empty()).collect();
        let line = Line::new().add(heading.sign.style(), format!("{} ", heading.sign.text()));
        ui.say(if about.is_empty() {
            line.plain(&heading.title)
        } else {
            line.plain(padded(&heading.title, column)).dim(format!("  {}", about.join(": ")))
        });
    }
    ui.say(Line::new().dim(speaker.totals(compared)));
}

fn fields(entry: &EntryDifference) -> String {
    let shown = entry.fields.iter().map(|field| {
        let name = field_name(&field.name);
        let text = |value: &Option<Json>| match value {
            Some(Json::Text(text)) => Some(text.to_string_lossy().into_owned()),
            _ => None,
        };
        let (before, after) = match field.by {
            By::Left => (&field.base, &field.left),
            By::Right => (&field.base, &field.right),
            By::Both | By::Unknown => (&field.left, &field.right),
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
