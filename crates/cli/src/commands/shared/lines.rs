//! Versions on a terminal: when, and what happened, with the sign of what looks like a loss.

use crate::lore::{Span, wrap};
use crate::text::{Line, Style, padded, width};
use crate::ui::Ui;

/// One version, or one file.
pub(crate) struct LogLine {
    pub(crate) sign: Option<Span>,
    pub(crate) number: Option<u64>,
    pub(crate) when: String,
    pub(crate) text: Vec<Span>,
}

/// A narrower column is not worth having.
const LEAST_ROOM: usize = 30;

impl LogLine {
    pub(crate) const UNWATCHED: &str = "…";
}

/// A line that may be longer than the screen is wide.
pub(crate) fn say_wrapped(ui: &mut Ui<'_>, text: &[Span]) {
    for line in wrap(text, ui.columns()) {
        ui.say(line);
    }
}

pub(crate) fn say(ui: &mut Ui<'_>, told: &[LogLine]) {
    let number = |told: &LogLine| told.number.map(|number| number.to_string()).unwrap_or_default();
    let numbers = told.iter().map(|told| number(told).len()).max().unwrap_or(0);
    let whens = told.iter().map(|told| width(&told.when)).max().unwrap_or(0);
    let gap = if numbers > 0 { 2 } else { 0 };
    let beside = 2 + numbers + gap + whens + 2;
    let is_beside = ui.columns() >= beside + LEAST_ROOM;
    for told in told {
        let (style, sign) = told.sign.clone().unwrap_or((Style::Plain, " ".to_owned()));
        let place = " ".repeat(numbers.saturating_sub(number(told).len()));
        let lead = Line::new().add(style, &sign).plain(format!(
            " {place}{}{}",
            number(told),
            " ".repeat(gap)
        ));
        let (mut lead, under) = if is_beside {
            (lead.dim(padded(&told.when, whens)).plain("  "), " ".repeat(beside))
        } else {
            ui.say(lead.dim(&told.when));
            (Line::new().plain("    "), "    ".to_owned())
        };
        for line in wrap(&told.text, ui.columns().saturating_sub(under.len())) {
            ui.say(lead.followed_by(line));
            lead = Line::new().plain(&under);
        }
    }
}
