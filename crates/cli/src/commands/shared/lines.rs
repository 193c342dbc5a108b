//! Log lines on a terminal: when, what happened, and a sign for apparent losses.

use crate::lore::{Span, wrap};
use crate::text::{Line, Style, padded, width};
use crate::ui::Ui;

/// A line about one version or one file.
pub(crate) struct LogLine {
    pub(crate) sign: Option<Span>,
    pub(crate) number: Option<u64>,
    pub(crate) when: String,
    pub(crate) text: Vec<Span>,
}

/// A narrower text column would be unreadable.
const MIN_TEXT_WIDTH: usize = 30;

impl LogLine {
    pub(crate) const UNWATCHED: &str = "…";
}

/// Prints text that may be wider than the screen.
pub(crate) fn say_wrapped(ui: &mut Ui<'_>, text: &[Span]) {
    for line in wrap(text, ui.columns()) {
        ui.say(line);
    }
}

pub(crate) fn say(ui: &mut Ui<'_>, lines: &[LogLine]) {
    let number =
        |entry: &LogLine| entry.number.map(|number| number.to_string()).unwrap_or_default();
    let numbers = lines.iter().map(|entry| number(entry).len()).max().unwrap_or(0);
    let whens = lines.iter().map(|entry| width(&entry.when)).max().unwrap_or(0);
    let gap = if numbers > 0 { 2 } else { 0 };
    let beside = 2 + numbers + gap + whens + 2;
    let is_beside = ui.columns() >= beside + MIN_TEXT_WIDTH;
    for entry in lines {
        let (style, sign) = entry.sign.clone().unwrap_or((Style::Plain, " ".to_owned()));
        let place = " ".repeat(numbers.saturating_sub(number(entry).len()));
        let lead = Line::new().add(style, &sign).plain(format!(
            " {place}{}{}",
            number(entry),
            " ".repeat(gap)
        ));
        let (mut lead, under) = if is_beside {
            (lead.dim(padded(&entry.when, whens)).plain("  "), " ".repeat(beside))
        } else {
            ui.say(lead.dim(&entry.when));
            (Line::new().plain("    "), "    ".to_owned())
        };
        for line in wrap(&entry.text, ui.columns().saturating_sub(under.len())) {
            ui.say(lead.followed_by(line));
            lead = Line::new().plain(&under);
        }
    }
}
