//! `forklore undelete`

use std::cmp::Reverse;
use std::time::SystemTime;

use forklore_history::query::lookup::Finder;
use forklore_history::query::versions::LookupError;
use forklore_history::record::scan::home;
use forklore_history::restore::undelete;
use forklore_history::version::history::History;
use forklore_history::version::lineage::Lineage;
use forklore_tavern::work::tavern::Tavern;
use jiff::tz::TimeZone;

use super::rescue::check_root;
use super::restore::version as restore;
use crate::args::UndeleteArgs;
use crate::commands::shared::lines::{self, LogLine};
use crate::commands::shared::{gone, ways_back};
use crate::commands::{Histories, Outcome};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::json::{self, Json};
use crate::text::{Line, Style, bytes};
use crate::ui::Ui;
use crate::when;

pub(crate) fn run(
    ui: &mut Ui<'_>,
    tavern: &Tavern<'_>,
    histories: &Histories,
    args: &UndeleteArgs,
) -> Outcome {
    let history = histories.open_existing(tavern)?;
    let wanted = match &args.file {
        _ if args.lost => find_lost(tavern, &history, args.file.as_deref())?,
        Some(wanted) => wanted_files(tavern, &history, wanted)?,
        None => return list(ui, tavern, &history),
    };
    drop(history);
    if !args.dry_run {
        check_root(tavern, histories)?;
    }
    if let ([only], false) = (&wanted[..], args.lost) {
        let mut history = histories.open(tavern)?;
        let brought = bring_back(ui, tavern, &mut history, only, args.dry_run)?;
        ui.answer(&json::answer("undelete", brought));
        return Ok(Exit::Fine);
    }
    bring_all_back(ui, tavern, histories, &wanted, args.dry_run)
}

/// The files reported as gone: all of them, or those that match a file or a character.
fn find_lost(
    tavern: &Tavern<'_>,
    history: &History<'_>,
    wanted: Option<&str>,
) -> Result<Vec<Lineage>, CommandError> {
    let lost = gone::find_all(tavern, history)?.into_iter().flat_map(|vanished| vanished.files);
    let mut lost: Vec<Lineage> = lost.collect();
    if let Some(wanted) = wanted {
        let home = home(&tavern.folders);
        let finder = Finder::new(history, tavern.disk, &home);
        let found = finder.find_among(wanted, &|lineage| is_among(&lost, lineage));
        let found = found.map(|found| found.reference.clone()).ok();
        lost.retain(|lineage| {
            Some(&lineage.reference) == found.as_ref() || gone::belongs_to(lineage, wanted)
        });
    }
    Ok(lost)
}

fn is_among(lineages: &[Lineage], lineage: &Lineage) -> bool {
    lineages.iter().any(|other| other.reference == lineage.reference)
}

/// The file with this name, or all deleted chats of a character.
fn wanted_files(
    tavern: &Tavern<'_>,
    history: &History<'_>,
    wanted: &str,
) -> Result<Vec<Lineage>, CommandError> {
    let home = home(&tavern.folders);
    let finder = Finder::new(history, tavern.disk, &home);
    let is_gone = |lineage: &Lineage| !gone::is_there(tavern, lineage.file());
    match finder.find_among(wanted, &is_gone) {
        Ok(found) => return Ok(vec![found.clone()]),
        Err(LookupError::Unknown { .. }) => {}
        Err(error) => return Err(error.into()),
    }
    let own = history.lineages().own(history.machine());
    let chats: Vec<Lineage> = own
        .filter(|lineage| gone::belongs_to(lineage, wanted) && is_gone(lineage))
        .cloned()
        .collect();
    match chats.is_empty() {
        // Reports the right error if there is no such file either.
        true => Ok(vec![finder.find(wanted)?.clone()]),
        false => Ok(chats),
    }
}

fn bring_all_back(
    ui: &mut Ui<'_>,
    tavern: &Tavern<'_>,
    histories: &Histories,
    wanted: &[Lineage],
    dry_run: bool,
) -> Outcome {
    if wanted.is_empty() {
        ui.say("Nothing is reported as gone.");
        ui.answer(&json::answer("undelete", [("files", Json::Array(Vec::new()))]));
        return Ok(Exit::Fine);
    }
    let mut history = histories.open(tavern)?;
    let (mut brought, mut refused) = (Vec::new(), Vec::new());
    for lineage in wanted {
        match bring_back(ui, tavern, &mut history, lineage, dry_run) {
            Ok(members) => brought.push(Json::object(members)),
            Err(error) => refused.push((lineage.file().label(), error)),
        }
    }
    if !ui.is_json() {
        for (label, error) in &refused {
            ui.note(Line::new().add(Style::Bad, "  ! ").bold(label).plain(" was not brought back"));
            error.report(ui);
        }
    }
    let exit = Exit::failed_if(!refused.is_empty());
    let refused = refused.iter().map(|(label, error)| {
        Json::object([("name", Json::from(label.as_str())), ("error", error.to_json(ui))])
    });
    ui.answer(&json::answer(
        "undelete",
        [("files", Json::Array(brought)), ("refused", Json::Array(refused.collect()))],
    ));
    Ok(exit)
}

/// Restores one file and reports it.
fn bring_back(
    ui: &mut Ui<'_>,
    tavern: &Tavern<'_>,
    history: &mut History<'_>,
    lineage: &Lineage,
    dry_run: bool,
) -> Result<restore::Members, CommandError> {
    let home = home(&tavern.folders);
    let name = Finder::new(history, tavern.disk, &home).name_of(lineage);
    let losses = history.losses_of(lineage)?;
    let (restored, version) = undelete(history, tavern, lineage, dry_run)?;
    let verb = if restored.operation.is_some() { "Brought back" } else { "Would bring back" };
    ui.say(Line::new().add(Style::Good, format!("{verb} ")).bold(&name));
    restore::say(ui, &restored, &version, None);
    for loss in &losses {
        let line = Line::new().add(Style::Bad, "  ! ").plain("it once had more: ");
        ui.say(line.plain(ways_back::restore_hint(tavern, &name, loss)));
    }
    Ok(restore::members(&name, &restored, &version, None))
}

/// A file that is gone, and since when, if known.
pub(crate) struct GoneFile<'h> {
    pub(crate) lineage: &'h Lineage,
    pub(crate) when: Option<SystemTime>,
}

fn list(ui: &mut Ui<'_>, tavern: &Tavern<'_>, history: &History<'_>) -> Outcome {
    let home = home(&tavern.folders);
    let finder = Finder::new(history, tavern.disk, &home);
    let gone = all_gone(tavern, history);
    let now = tavern.clock.now();
    if gone.is_empty() {
        ui.say("The history knows of no deleted files.");
    }
    for (machine, files) in gone::not_here(tavern, history) {
        ui.say(Line::new().dim(gone::not_here_hint(&machine, files)));
    }
    let zone = ui.zone().clone();
    let log_lines: Vec<LogLine> =
        gone.iter().map(|gone| line_for(&finder, gone, now, &zone)).collect();
    lines::say(ui, &log_lines);
    if !gone.is_empty() {
        ui.say(Line::new().dim("`forklore undelete FILE` brings one back."));
    }
    let files = gone.iter().map(|gone| {
        let version = &gone.lineage.tip.version;
        Json::object([
            ("file", Json::from(version.file.as_str())),
            ("name", Json::from(finder.name_of(gone.lineage))),
            ("kind", Json::from(gone.lineage.kind.word())),
            ("deleted", Json::from(gone.when.map(when::iso))),
            ("count", Json::from(version.count.map(|count| count as usize))),
            ("bytes", Json::from(version.bytes as usize)),
        ])
    });
    ui.answer(&json::answer("undelete", [("files", Json::Array(files.collect()))]));
    Ok(Exit::Fine)
}

/// This machine's files that no longer exist, including those whose deletion is not recorded yet.
pub(crate) fn all_gone<'h>(tavern: &Tavern<'_>, history: &'h History<'_>) -> Vec<GoneFile<'h>> {
    let mut gone: Vec<GoneFile<'h>> = history
        .lineages()
        .own(history.machine())
        .filter(|lineage| !gone::is_there(tavern, lineage.file()))
        .map(|lineage| {
            let when = lineage.is_deleted().then_some(lineage.tip.version.written);
            GoneFile { lineage, when }
        })
        .collect();
    gone.sort_by_key(|gone| Reverse((gone.when.is_none(), gone.lineage.tip.version.order)));
    gone
}

fn line_for(
    finder: &Finder<'_, '_>,
    gone: &GoneFile<'_>,
    now: SystemTime,
    zone: &TimeZone,
) -> LogLine {
    let version = &gone.lineage.tip.version;
    let about = [
        gone.lineage.kind.word().to_owned(),
        ways_back::size(gone.lineage.kind, version),
        bytes(version.bytes),
    ];
    let about: Vec<String> = about.into_iter().filter(|part| !part.is_empty()).collect();
    LogLine {
        sign: None,
        number: None,
        when: gone
            .when
            .map_or_else(|| "not recorded yet".to_owned(), |when| when::absolute(when, now, zone)),
        text: vec![
            (Style::Bold, finder.name_of(gone.lineage)),
            (Style::Dim, format!("  {}", about.join(", "))),
        ],
    }
}
