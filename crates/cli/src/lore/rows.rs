//! Rows of a name and its text: side by side, or stacked if the terminal is too narrow.

use super::words::Span;
use super::wrap::wrap;
use crate::text::{Line, padded, width};
use crate::ui::Ui;

/// A name and the text beside it.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) text: Vec<Span>,
}

/// A longer name gets a line of its own.
const MAX_NAME_WIDTH: usize = 20;
/// A narrower text column would be unreadable.
const MIN_TEXT_WIDTH: usize = 24;

pub(crate) fn say_rows(ui: &mut Ui<'_>, indent: usize, rows: &[Row]) {
    let names = rows.iter().map(|row| width(&row.name)).filter(|width| *width <= MAX_NAME_WIDTH);
    let column = names.max().unwrap_or(0) + 2;
    let margin = " ".repeat(indent);
    let beside = indent + column;
    for row in rows {
        let is_beside = width(&row.name) + 2 <= column && ui.columns() >= beside + MIN_TEXT_WIDTH;
        let (under, mut lead) = if is_beside {
            (" ".repeat(beside), Line::new().plain(&margin).dim(padded(&row.name, column)))
        } else {
            ui.say(Line::new().plain(&margin).dim(&row.name));
            (" ".repeat(indent + 2), Line::new().plain(&margin).plain("  "))
        };
        let mut is_later = false;
        for line in wrap(&row.text, ui.columns().saturating_sub(under.len())) {
            let is_empty = line.render(false).is_empty();
            ui.say(if is_empty && is_later { Line::new() } else { lead.followed_by(line) });
            is_later = true;
            lead = Line::new().plain(&under);
        }
    }
}
