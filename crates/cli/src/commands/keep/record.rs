//! `forklore record`

use forklore_history::record::recorder::Recorded;
use forklore_history::record::scan::{Scan, SeenFiles, scan};
use forklore_history::version::commit::Origin;
use forklore_tavern::work::tavern::Tavern;

use crate::commands::shared::alarm::{Alarm, alarms};
use crate::commands::shared::gone::{self, GoneUser};
use crate::commands::{Histories, Outcome};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::json::{self, Json};
use crate::text::{Line, Style, count};
use crate::ui::Ui;

pub(crate) fn run(ui: &mut Ui<'_>, taverns: &[Tavern<'_>], histories: &Histories) -> Outcome {
    let mut answers = Vec::new();
    let mut worst = Exit::Fine;
    for tavern in taverns {
        if taverns.len() > 1 {
            ui.set_user(Some(&tavern.folders.handle));
        }
        match record_user(ui, tavern, histories, taverns.len() > 1) {
            Ok((exit, answer)) => {
                worst = worst.max(exit);
                answers.push(answer);
            }
            // What is wrong with one user's history is no reason not to record the others.
            Err(error) if taverns.len() > 1 => {
                let user = &tavern.folders.handle;
                let error = error.while_doing(format!("could not record {user}"));
                error.report(ui);
                answers.push(Json::object([
                    ("user", Json::from(user.as_str())),
                    ("error", error.to_json(ui)),
                ]));
                worst = worst.max(Exit::Failed);
            }
            Err(error) => return Err(error),
        }
    }
    ui.answer(&json::answer("record", [("users", Json::Array(answers))]));
    Ok(worst)
}

fn record_user(
    ui: &mut Ui<'_>,
    tavern: &Tavern<'_>,
    histories: &Histories,
    several: bool,
) -> Result<(Exit, Json), CommandError> {
    if gone::is_folder_gone(tavern) {
        let history = histories.open_existing(tavern)?;
        let gone = GoneUser::of(&tavern.folders, &history);
        let alarm = gone.as_ref().map(Alarm::of_user);
        alarm.iter().for_each(|alarm| alarm.say(ui, ""));
        let exit = Exit::found_if(alarm.is_some());
        let scan = Scan::default();
        return Ok((exit, answer(tavern, &scan, alarm.into_iter().collect())));
    }
    let is_first = histories.open_existing(tavern).is_err();
    let (scan, alarms) = record(ui, tavern, histories)?;
    let exit = Exit::failed_if(!scan.unread.is_empty()).max(Exit::found_if(!alarms.is_empty()));
    say(ui, tavern, &scan, &alarms, several);
    if is_first {
        let place = histories.repository(tavern).display().to_string();
        ui.say(Line::new().dim(format!("  The history is in `{place}`.")));
    }
    Ok((exit, answer(tavern, &scan, alarms)))
}

pub(crate) fn record(
    ui: &mut Ui<'_>,
    tavern: &Tavern<'_>,
    histories: &Histories,
) -> Result<(Scan, Vec<Alarm>), CommandError> {
    let mut history = histories.open(tavern)?;
    let mut remembered = SeenFiles::load(&history);
    let scan = {
        let progress = ui.progress_in_bytes("Recording");
        scan(&mut history, tavern.disk, &tavern.folders, &mut remembered, &|done, of| {
            progress.set(done, of);
        })?
    };
    history.record()?.flush()?;
    remembered.save(&mut history)?;
    let alarms = alarms(tavern, &history, &scan.recorded)?;
    Ok((scan, alarms))
}

fn say(ui: &mut Ui<'_>, tavern: &Tavern<'_>, scan: &Scan, alarms: &[Alarm], several: bool) {
    let files = count(scan.files, "file", "files");
    let words = match scan.recorded.len() {
        0 => format!("Nothing changed in {files}."),
        changes => format!("Recorded {} in {files}.", count(changes, "change", "changes")),
    };
    match several {
        true => ui.say(format!("{}: {words}", tavern.folders.handle)),
        false => ui.say(words),
    }
    for recorded in scan.recorded.iter().filter(|recorded| is_worth_a_line(recorded)).take(20) {
        ui.say(line_of(recorded));
    }
    alarms.iter().for_each(|alarm| alarm.say(ui, ""));
    say_unread(ui, scan);
}

/// Reports files that could not be read and were therefore not recorded.
pub(crate) fn say_unread(ui: &mut Ui<'_>, scan: &Scan) {
    for unread in &scan.unread {
        let path = unread.path.display().to_string();
        let line = Line::new().add(Style::Bad, "  ! ").bold(path).plain(": ").plain(&unread.why);
        ui.note(line);
    }
}

/// The first scan of a thousand files is not worth a line for each of them.
fn is_worth_a_line(recorded: &Recorded) -> bool {
    let version = &recorded.stored.version;
    version.collapse.is_none() && (version.number > 1 || !matches!(version.why, Origin::Found))
}

/// A version on one line.
pub(crate) fn line_of(recorded: &Recorded) -> Line {
    let version = &recorded.stored.version;
    Line::new().plain("  ").bold(version.file.label()).plain(": ").plain(&version.words)
}

/// A version as JSON members.
pub(crate) fn members_of(recorded: &Recorded) -> [(&'static str, Json); 4] {
    let version = &recorded.stored.version;
    [
        ("file", Json::from(version.file.as_str())),
        ("version", Json::from(version.number)),
        ("words", Json::from(version.words.as_str())),
        ("loss", Json::from(version.collapse.clone())),
    ]
}

fn answer(tavern: &Tavern<'_>, scan: &Scan, alarms: Vec<Alarm>) -> Json {
    let versions = scan.recorded.iter().map(|recorded| Json::object(members_of(recorded)));
    Json::object([
        ("user", Json::from(tavern.folders.handle.as_str())),
        ("files", Json::from(scan.files)),
        ("recorded", Json::Array(versions.collect())),
        ("gone", Json::Array(alarms.into_iter().filter_map(|alarm| alarm.json).collect())),
        ("unread", json::texts(scan.unread.iter().map(|unread| unread.path.display()))),
    ])
}
