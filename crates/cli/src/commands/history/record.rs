//! `forklore record`

use forklore_history::history::Recorded;
use forklore_history::scan::{Remembered, Scan, scan};
use forklore_history::version::Why;
use forklore_tavern::tavern::Tavern;

use super::alarm::{Alarm, alarms};
use super::{Histories, Outcome};
use crate::error::CommandError;
use crate::json::{self, Json};
use crate::text::{Line, Style, count};
use crate::ui::Ui;

pub(crate) fn run(ui: &mut Ui<'_>, taverns: &[Tavern<'_>], histories: &Histories) -> Outcome {
    let mut answers = Vec::new();
    let mut is_bad = false;
    for tavern in taverns {
        let (scan, alarms) = record(ui, tavern, histories)?;
        is_bad |= !scan.unread.is_empty() || !alarms.is_empty();
        say(ui, tavern, &scan, &alarms, taverns.len() > 1);
        answers.push(answer(tavern, &scan, alarms));
    }
    ui.answer(&json::answer("record", [("users", Json::Array(answers))]));
    Ok(u8::from(is_bad))
}

fn record(
    ui: &mut Ui<'_>,
    tavern: &Tavern<'_>,
    histories: &Histories,
) -> Result<(Scan, Vec<Alarm>), CommandError> {
    let mut history = histories.open(tavern)?;
    let mut remembered = Remembered::load(&history);
    let scan = {
        let progress = ui.progress(0, "Recording");
        scan(&mut history, tavern.disk, &tavern.folders, &mut remembered, &|_, of| {
            progress.tick_of(of);
        })?
    };
    history.record()?.flush()?;
    remembered.save(&mut history)?;
    let alarms = alarms(tavern, &history, &scan.recorded)?;
    Ok((scan, alarms))
}

fn say(ui: &mut Ui<'_>, tavern: &Tavern<'_>, scan: &Scan, alarms: &[Alarm], several: bool) {
    let whose = if several { format!("{}: ", tavern.folders.handle) } else { String::new() };
    if scan.recorded.is_empty() {
        ui.say(format!("{whose}nothing changed in {}.", count(scan.files, "file", "files")));
    } else {
        let changes = count(scan.recorded.len(), "change", "changes");
        ui.say(format!("{whose}recorded {changes} in {}.", count(scan.files, "file", "files")));
    }
    for recorded in scan.recorded.iter().filter(|recorded| is_worth_a_line(recorded)).take(20) {
        ui.say(line_of(recorded));
    }
    alarms.iter().for_each(|alarm| alarm.say(ui));
    for unread in &scan.unread {
        let path = unread.path.display().to_string();
        let line = Line::new().add(Style::Bad, "  ! ").bold(path).plain(": ").plain(&unread.why);
        ui.note(line);
    }
}

/// The first look at a thousand files is not news about each of them.
fn is_worth_a_line(recorded: &Recorded) -> bool {
    let version = &recorded.kept.version;
    version.collapse.is_none() && (version.number > 1 || !matches!(version.why, Why::Found))
}

/// A version in one line.
pub(super) fn line_of(recorded: &Recorded) -> Line {
    let version = &recorded.kept.version;
    Line::new().plain("  ").bold(version.file.label()).plain(": ").plain(&version.words)
}

fn answer(tavern: &Tavern<'_>, scan: &Scan, alarms: Vec<Alarm>) -> Json {
    let versions = scan.recorded.iter().map(|recorded| {
        let version = &recorded.kept.version;
        Json::object([
            ("file", Json::from(version.file.as_str())),
            ("version", Json::from(version.number as usize)),
            ("words", Json::from(version.words.as_str())),
            ("loss", Json::from(version.collapse.clone())),
        ])
    });
    Json::object([
        ("user", Json::from(tavern.folders.handle.as_str())),
        ("files", Json::from(scan.files)),
        ("recorded", Json::Array(versions.collect())),
        ("gone", Json::Array(alarms.into_iter().filter_map(|alarm| alarm.json).collect())),
        ("unread", json::texts(scan.unread.iter().map(|unread| unread.path.display()))),
    ])
}
