//! `forklore undelete`

use std::cmp::Reverse;
use std::time::SystemTime;

use forklore_history::finding::Finder;
use forklore_history::history::History;
use forklore_history::lineage::Lineage;
use forklore_history::looking::LookError;
use forklore_history::restoring::undelete;
use forklore_history::scan::home;
use forklore_tavern::tavern::Tavern;

use super::lines::{self, Told};
use super::{Histories, Outcome, log, pack, restore};
use crate::args::UndeleteArgs;
use crate::json::{self, Json};
use crate::text::{Line, Style};
use crate::ui::Ui;
use crate::when;

pub(crate) fn run(
    ui: &mut Ui<'_>,
    tavern: &Tavern<'_>,
    histories: &Histories,
    args: &UndeleteArgs,
) -> Outcome {
    let history = histories.open_existing(tavern)?;
    match &args.file {
        Some(wanted) => {
            drop(history);
            bring_back(ui, tavern, histories, wanted, args.dry_run)
        }
        None => list(ui, tavern, &history),
    }
}

fn bring_back(
    ui: &mut Ui<'_>,
    tavern: &Tavern<'_>,
    histories: &Histories,
    wanted: &str,
    dry_run: bool,
) -> Outcome {
    let mut history = histories.open(tavern)?;
    let home = home(&tavern.folders);
    let finder = Finder::new(&history, tavern.disk, &home);
    let lineage = finder
        .find_among(wanted, &|lineage| !is_there(tavern, lineage))
        .or_else(|error| match error {
            LookError::Unknown { .. } => finder.find(wanted),
            other => Err(other),
        })?
        .clone();
    let name = finder.name_of(&lineage);
    let losses = history.losses_of(&lineage)?;
    let (restored, version) = undelete(&mut history, tavern, &lineage, dry_run)?;
    let verb = if restored.operation.is_some() { "Brought back" } else { "Would bring back" };
    ui.say(Line::new().add(Style::Good, format!("{verb} ")).bold(&name));
    restore::say(ui, &restored, &version, None);
    for loss in &losses {
        let line = Line::new().add(Style::Bad, "  ! ").plain("there was more of it: ");
        ui.say(line.plain(log::way_back(&name, loss)));
    }
    ui.answer(&restore::answer("undelete", &name, &restored, &version, None));
    Ok(0)
}

/// A file that is gone, and since when if that is known.
struct Gone<'h> {
    lineage: &'h Lineage,
    when: Option<SystemTime>,
}

fn list(ui: &mut Ui<'_>, tavern: &Tavern<'_>, history: &History<'_>) -> Outcome {
    let home = home(&tavern.folders);
    let finder = Finder::new(history, tavern.disk, &home);
    let gone = gone(tavern, history);
    let now = tavern.chance.now();
    if gone.is_empty() {
        ui.say("Nothing that the history knows is deleted.");
    }
    let told: Vec<Told> = gone.iter().map(|gone| told(&finder, gone, now)).collect();
    lines::say(ui, &told);
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
    Ok(0)
}

/// Files of this machine that are not there; also those whose absence nobody has recorded yet.
fn gone<'h>(tavern: &Tavern<'_>, history: &'h History<'_>) -> Vec<Gone<'h>> {
    let mut gone: Vec<Gone<'h>> = history
        .lineages()
        .own(history.machine())
        .filter(|lineage| !is_there(tavern, lineage))
        .map(|lineage| {
            let when = lineage.is_deleted().then_some(lineage.tip.version.written);
            Gone { lineage, when }
        })
        .collect();
    gone.sort_by_key(|gone| Reverse((gone.when.is_none(), gone.lineage.tip.version.order)));
    gone
}

/// What cannot be looked at is not known to be gone.
fn is_there(tavern: &Tavern<'_>, lineage: &Lineage) -> bool {
    let path = home(&tavern.folders).join(lineage.file().to_path());
    !matches!(tavern.disk.look(&path), Ok(None))
}

fn told(finder: &Finder<'_, '_>, gone: &Gone<'_>, now: SystemTime) -> Told {
    let version = &gone.lineage.tip.version;
    let about = [
        gone.lineage.kind.word().to_owned(),
        log::size(gone.lineage.kind, version),
        pack::bytes(version.bytes),
    ];
    let about: Vec<String> = about.into_iter().filter(|part| !part.is_empty()).collect();
    Told {
        sign: None,
        number: None,
        when: gone.when.map_or_else(|| "not recorded yet".to_owned(), |when| when::said(when, now)),
        text: vec![
            (Style::Bold, finder.name_of(gone.lineage)),
            (Style::Dim, format!("  {}", about.join(", "))),
        ],
    }
}
