//! `forklore rescue`: lists everything that is lost, damaged or deleted, and restores the chosen
//! files.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::time::SystemTime;

use forklore_core::sillytavern::names::folded;
use forklore_history::file::FileKind;
use forklore_history::query::lookup::Finder;
use forklore_history::query::versions::LookupError;
use forklore_history::record::scan::home;
use forklore_history::restore::{RestoreError, RestoreOptions, Restored, restore, undelete};
use forklore_history::version::commit::{Origin, StoredVersion};
use forklore_history::version::history::History;
use forklore_history::version::lineage::Lineage;
use forklore_tavern::folder::groups::read_group;
use forklore_tavern::work::tavern::Tavern;

use super::restore::version as restore_version;
use super::undelete as undelete_command;
use crate::args::RescueArgs;
use crate::commands::keep::record;
use crate::commands::shared::lines::{self, LogLine};
use crate::commands::shared::{damage, gone, ways_back};
use crate::commands::{Histories, Outcome};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::json::{self, Json};
use crate::objection::Objection;
use crate::text::{Line, Style, count, quoted};
use crate::ui::Ui;
use crate::when;

/// A file that can be restored.
struct LostFile {
    /// Its position in the list, from 1.
    number: u64,
    lineage: Lineage,
    /// The name that commands accept.
    name: String,
    /// When the loss was noticed, if known.
    when: Option<SystemTime>,
    /// What happened to the file.
    words: String,
    /// Whether it looks like an accident.
    is_suspicious: bool,
    /// The version to restore. `None` restores the last version of a deleted file.
    good: Option<StoredVersion>,
}

pub(crate) fn run(
    ui: &mut Ui<'_>,
    tavern: &Tavern<'_>,
    histories: &Histories,
    args: &RescueArgs,
) -> Outcome {
    // Fail early: without a history there is nothing to restore from.
    drop(histories.open_existing(tavern)?);
    // Record first, so that recent losses are listed and the current files are saved before
    // anything changes.
    match record::record(ui, tavern, histories) {
        _ if gone::is_folder_gone(tavern) => {
            let home = shown_home(tavern);
            ui.say(Line::new().add(Style::Bad, "! ").plain(format!("The folder {home} is gone.")));
        }
        Ok((scan, _)) => record::say_unread(ui, &scan),
        Err(error) => ui.note(Line::new().add(Style::Note, "  - ").plain(format!(
            "only listing what was recorded earlier, because nothing can be recorded now: {}",
            error.to_line()
        ))),
    }
    let history = histories.open_existing(tavern)?;
    let from = from_machine(&history, args)?;
    let found = match args.as_of {
        Some(then) => {
            let now = tavern.clock.now();
            let then = then.resolve(now, ui.zone());
            if then > now {
                return Err(CommandError::new(Objection::InTheFuture));
            }
            if let Some(began) = began(&history, from).filter(|began| then < *began) {
                let began = when::absolute(began, now, ui.zone());
                return Err(CommandError::new(Objection::BeforeTheHistory(began)));
            }
            find_changed_since(tavern, &history, from, then)?
        }
        None if args.from.is_some() => find_elsewhere(tavern, &history, from),
        None => find_lost(tavern, &history)?,
    };
    let chosen = select(ui, tavern, &history, &found, args)?;
    damage::say(ui, &history);
    let elsewhere =
        if args.from.is_none() { gone::not_here(tavern, &history) } else { BTreeMap::new() };
    drop(history);
    if args.what.is_empty() && !args.all {
        let exit = list(ui, tavern, &chosen, args, &elsewhere);
        say_elsewhere(ui, &elsewhere);
        return Ok(exit);
    }
    if chosen.is_empty() {
        ui.say("There is nothing to bring back.");
        say_elsewhere(ui, &elsewhere);
        ui.answer(&answer(ui, Vec::new(), &Vec::new()));
        return Ok(Exit::Fine);
    }
    rescue(ui, tavern, histories, chosen, args)
}

/// The machine whose files are brought back: this one, unless another was named.
fn from_machine<'a>(
    history: &'a History<'_>,
    args: &'a RescueArgs,
) -> Result<&'a str, CommandError> {
    let Some(wanted) = args.from.as_deref() else { return Ok(history.machine()) };
    let machines: BTreeSet<&str> =
        history.lineages().iter().map(|lineage| &*lineage.machine).collect();
    if machines.contains(wanted) {
        return Ok(wanted);
    }
    let machines: Vec<String> = machines.into_iter().map(str::to_owned).collect();
    Err(CommandError::new(Objection::UnknownMachine { wanted: wanted.to_owned(), machines })
        .hinted("`forklore history pull REMOTE` or `forklore history unbundle FILE` adds others."))
}

/// The files of a machine that are not here as they were there, newest first.
fn find_elsewhere(tavern: &Tavern<'_>, history: &History<'_>, machine: &str) -> Vec<LostFile> {
    let home = home(&tavern.folders);
    let finder = Finder::new(history, tavern.disk, &home);
    let theirs = history.lineages().own(machine).filter(|lineage| !lineage.is_deleted());
    let found = theirs.filter_map(|lineage| {
        let is_here = gone::is_there(tavern, lineage.file());
        let here = history.lineages().live(lineage.file()).filter(|_| is_here);
        if here.is_some_and(|here| here.tip.tree == lineage.tip.tree) {
            return None;
        }
        let size = ways_back::size(lineage.kind, &lineage.tip.version);
        let size = if size.is_empty() { size } else { format!(", {size}") };
        let what = if is_here { "differs here" } else { "not here" };
        Some(LostFile {
            number: 0,
            name: finder.name_of(lineage),
            lineage: lineage.clone(),
            when: Some(lineage.tip.version.written),
            words: format!("{what}: {}{size}", described(history, lineage)),
            is_suspicious: false,
            good: is_here.then(|| lineage.tip.clone()),
        })
    });
    numbered(found.collect())
}

fn say_elsewhere(ui: &mut Ui<'_>, elsewhere: &BTreeMap<String, usize>) {
    for (machine, files) in elsewhere {
        ui.say(Line::new().dim(gone::not_here_hint(machine, *files)));
    }
}

/// When the oldest version of a machine's files was made.
fn began(history: &History<'_>, machine: &str) -> Option<SystemTime> {
    let firsts = history.lineages().own(machine).filter_map(|lineage| {
        let first = history.own_versions(lineage).last()?;
        Some(first.version.effective_time(None))
    });
    firsts.min()
}

/// Files that were different at that time, newest first.
fn find_changed_since(
    tavern: &Tavern<'_>,
    history: &History<'_>,
    machine: &str,
    then: SystemTime,
) -> Result<Vec<LostFile>, CommandError> {
    let home = home(&tavern.folders);
    let finder = Finder::new(history, tavern.disk, &home);
    let mut found = Vec::new();
    for lineage in history.lineages().own(machine) {
        let mut versions = history.own_versions(lineage).peekable();
        while let Some(stored) = versions.next() {
            let before = versions.peek();
            let time = stored.version.effective_time(before.map(|before| &before.version));
            if time > then {
                continue;
            }
            let is_here = gone::is_there(tavern, lineage.file());
            let here = history.lineages().live(lineage.file()).filter(|_| is_here);
            let is_same = here.is_some_and(|here| here.tip.tree == stored.tree);
            if stored.version.why != Origin::Deleted && !is_same {
                let number = stored.version.number;
                found.push(LostFile {
                    number: 0,
                    name: finder.name_of(lineage),
                    lineage: lineage.clone(),
                    when: Some(time),
                    words: format!("was version {number}: {}", stored.version.words),
                    is_suspicious: false,
                    good: Some(stored),
                });
            }
            break;
        }
    }
    Ok(numbered(found))
}

/// Files that are lost, damaged or deleted, newest first.
fn find_lost(tavern: &Tavern<'_>, history: &History<'_>) -> Result<Vec<LostFile>, CommandError> {
    let home = home(&tavern.folders);
    let finder = Finder::new(history, tavern.disk, &home);
    let mut found: Vec<LostFile> = Vec::new();
    for loss in history.losses()? {
        let is_known = found.iter().any(|other| other.lineage.reference == loss.reference);
        let Some(lineage) = history.lineages().get(&loss.reference) else { continue };
        // Losses come newest first; only the latest of each file is listed.
        if !is_known {
            found.push(LostFile {
                number: 0,
                name: finder.name_of(lineage),
                lineage: lineage.clone(),
                when: Some(loss.lost.version.written),
                words: loss.words(),
                is_suspicious: true,
                good: Some(loss.good),
            });
        }
    }
    let vanished: Vec<_> =
        gone::find_all(tavern, history)?.into_iter().flat_map(|vanished| vanished.files).collect();
    for gone in undelete_command::all_gone(tavern, history) {
        let is_same = |other: &Lineage| other.reference == gone.lineage.reference;
        if !found.iter().any(|lost| is_same(&lost.lineage)) {
            let size = ways_back::size(gone.lineage.kind, &gone.lineage.tip.version);
            let size = if size.is_empty() { size } else { format!(", {size}") };
            found.push(LostFile {
                number: 0,
                name: finder.name_of(gone.lineage),
                lineage: gone.lineage.clone(),
                when: gone.when,
                words: format!("deleted {}{size}", described(history, gone.lineage)),
                is_suspicious: vanished.iter().any(is_same),
                good: None,
            });
        }
    }
    Ok(numbered(found))
}

/// The kind of a file and, where its name is only a number, what it is called.
fn described(history: &History<'_>, lineage: &Lineage) -> String {
    let word = lineage.kind.word();
    let name = match lineage.kind {
        FileKind::Group => history.last_there(&lineage.tip).ok().and_then(|(_, bytes)| {
            let group = read_group(&bytes).ok()?;
            Some(group.name).filter(|name| !name.is_empty())
        }),
        _ => None,
    };
    name.map_or_else(|| word.to_owned(), |name| format!("{word} {name:?}"))
}

fn numbered(mut found: Vec<LostFile>) -> Vec<LostFile> {
    found.sort_by_key(|lost| Reverse((lost.when.is_none(), lost.when, lost.name.clone())));
    for (lost, number) in found.iter_mut().zip(1..) {
        lost.number = number;
    }
    found
}

/// The files selected by the arguments.
fn select<'f>(
    ui: &Ui<'_>,
    tavern: &Tavern<'_>,
    history: &History<'_>,
    found: &'f [LostFile],
    args: &RescueArgs,
) -> Result<Vec<&'f LostFile>, CommandError> {
    let now = tavern.clock.now();
    let (since, before) = (
        args.since.map(|time| time.resolve(now, ui.zone())),
        args.before.map(|time| time.resolve(now, ui.zone())),
    );
    let is_in_range = |lost: &&LostFile| {
        let when = lost.when.unwrap_or(now);
        since.is_none_or(|since| when >= since) && before.is_none_or(|before| when < before)
    };
    if args.what.is_empty() {
        return Ok(found.iter().filter(is_in_range).collect());
    }
    let mut chosen: Vec<&LostFile> = Vec::new();
    for wanted in &args.what {
        let matches = find_matches(tavern, history, found, wanted)?;
        chosen.extend(matches.into_iter().filter(is_in_range));
    }
    chosen.sort_by_key(|lost| lost.number);
    chosen.dedup_by_key(|lost| lost.number);
    Ok(chosen)
}

/// Finds files by number in the list, by character, or by name.
fn find_matches<'f>(
    tavern: &Tavern<'_>,
    history: &History<'_>,
    found: &'f [LostFile],
    wanted: &str,
) -> Result<Vec<&'f LostFile>, CommandError> {
    if let Ok(number) = wanted.parse::<u64>() {
        let found: Vec<&LostFile> = found.iter().filter(|lost| lost.number == number).collect();
        return match found.is_empty() {
            true => Err(CommandError::new(Objection::NotInTheList(number))
                .hinted("`forklore rescue` shows the list.")),
            false => Ok(found),
        };
    }
    let has_name = |lost: &&LostFile| folded(&lost.name) == folded(wanted);
    let exact: Vec<&LostFile> = found.iter().filter(has_name).collect();
    if !exact.is_empty() {
        return Ok(exact);
    }
    let theirs: Vec<&LostFile> =
        found.iter().filter(|lost| gone::belongs_to(&lost.lineage, wanted)).collect();
    if !theirs.is_empty() {
        return Ok(theirs);
    }
    let home = home(&tavern.folders);
    let finder = Finder::new(history, tavern.disk, &home);
    let is_lost =
        |lineage: &Lineage| found.iter().any(|lost| lost.lineage.reference == lineage.reference);
    let reference = match finder.find_among(wanted, &is_lost) {
        Ok(lineage) => &lineage.reference,
        // The file exists and is not lost.
        Err(LookupError::Unknown { .. }) if finder.find(wanted).is_ok() => return Ok(Vec::new()),
        Err(error) => return Err(error.into()),
    };
    Ok(found.iter().filter(|lost| lost.lineage.reference == *reference).collect())
}

fn list(
    ui: &mut Ui<'_>,
    tavern: &Tavern<'_>,
    found: &[&LostFile],
    args: &RescueArgs,
    elsewhere: &BTreeMap<String, usize>,
) -> Exit {
    let now = tavern.clock.now();
    let zone = ui.zone().clone();
    let log_lines: Vec<LogLine> = found
        .iter()
        .map(|lost| LogLine {
            sign: lost.is_suspicious.then(|| (Style::Bad, "!".to_owned())),
            number: Some(lost.number),
            when: when_of(lost, now, &zone),
            text: vec![
                (Style::Bold, lost.name.clone()),
                (Style::Plain, format!(": {}", lost.words)),
            ],
        })
        .collect();
    match found.is_empty() {
        true if args.as_of.is_some() => ui.say("Nothing was different then."),
        true if args.from.is_some() => ui.say("Everything that it recorded is here."),
        true if !elsewhere.is_empty() => {
            ui.say("Nothing that this machine recorded is lost, damaged or deleted.");
        }
        true => ui.say("Nothing is lost, damaged or deleted, as far as the history knows."),
        false => {
            lines::say(ui, &log_lines);
            let words = "Choose what to bring back by number, name or character, or use --all; \
                what would be done is shown first.";
            lines::say_wrapped(ui, &[(Style::Dim, words.to_owned())]);
        }
    }
    let files = found.iter().map(|lost| {
        Json::object([
            ("number", Json::from(lost.number)),
            ("name", Json::from(lost.name.as_str())),
            ("file", Json::from(lost.lineage.file().as_str())),
            ("kind", Json::from(lost.lineage.kind.word())),
            ("when", Json::from(lost.when.map(when::iso))),
            ("text", Json::from(lost.words.as_str())),
            ("lost", Json::from(lost.is_suspicious)),
            ("version", Json::from(lost.good.as_ref().map(|good| good.version.number as usize))),
        ])
    });
    ui.answer(&json::answer("rescue", [("files", Json::Array(files.collect()))]));
    Exit::found_if(found.iter().any(|lost| lost.is_suspicious))
}

fn when_of(lost: &LostFile, now: SystemTime, zone: &jiff::tz::TimeZone) -> String {
    lost.when.map_or_else(|| "not recorded yet".to_owned(), |when| when::absolute(when, now, zone))
}

fn rescue(
    ui: &mut Ui<'_>,
    tavern: &Tavern<'_>,
    histories: &Histories,
    mut chosen: Vec<&LostFile>,
    args: &RescueArgs,
) -> Outcome {
    // A group's chat is listed in its group, so groups are restored first.
    chosen.sort_by_key(|lost| match lost.lineage.kind {
        FileKind::Group => 0,
        FileKind::Card => 1,
        FileKind::Chat => 3,
        _ => 2,
    });
    let is_anew = gone::is_folder_gone(tavern);
    if !args.dry_run {
        check_root(tavern, histories)?;
    }
    let mut history = histories.open(tavern)?;
    if !args.yes || args.dry_run {
        let files = count(chosen.len(), "file", "files");
        let line = Line::new().bold(format!("Would bring back {files}:"));
        ui.say(match is_anew {
            true => {
                line.plain(format!(" the folder {} is gone, and made anew", shown_home(tavern)))
            }
            false => line,
        });
        let (would, refused) = bring_back(ui, tavern, &mut history, &chosen, args, true);
        if args.dry_run || would.is_empty() {
            let exit = Exit::failed_if(!refused.is_empty());
            ui.answer(&answer(ui, would, &refused));
            return Ok(exit);
        }
        if !ui.can_ask() {
            return Err(CommandError::new(Objection::NobodyToAsk {
                undone: "nothing was brought back",
            })
            .hinted("Use --yes to bring it back, or --dry-run to only look."));
        }
        if !ui.confirm("Bring it back?") {
            ui.say("Nothing was changed.");
            return Ok(Exit::Failed);
        }
    }
    let (brought, refused) = bring_back(ui, tavern, &mut history, &chosen, args, false);
    let exit = Exit::failed_if(!refused.is_empty());
    if brought.len() > 1 {
        let files = count(brought.len(), "file", "files");
        ui.say(
            Line::new()
                .add(Style::Good, format!("Brought back {files}."))
                .dim(" Reload SillyTavern's page before you continue."),
        );
    }
    if is_anew && !brought.is_empty() {
        ui.say(NOT_RECORDED);
    }
    ui.answer(&answer(ui, brought, &refused));
    Ok(exit)
}

/// Said when everything else that was in the folder is gone as well.
const NOT_RECORDED: &str = "A history holds chats, lorebooks, cards, groups and the settings. Other pictures \
    (sprites, personas, backgrounds), presets, quick replies and API keys are not in it.";

fn shown_home(tavern: &Tavern<'_>) -> String {
    home(&tavern.folders).display().to_string()
}

/// Fails if the data folder itself is missing, unless it was written out in the command.
pub(super) fn check_root(tavern: &Tavern<'_>, histories: &Histories) -> Result<(), CommandError> {
    let root = tavern.folders.data_root.root();
    if histories.is_data_named || !matches!(tavern.disk.stat(root), Ok(None)) {
        return Ok(());
    }
    let way = format!("`forklore --data {} rescue --all`", quoted(&root.display().to_string()));
    Err(CommandError::new(Objection::DataFolderGone(root.to_owned())).hinted(format!(
        "It may be on a disk that is not mounted. If it is really gone: {way} makes it anew."
    )))
}

type Refused = Vec<(String, CommandError)>;

fn answer(ui: &Ui<'_>, brought: Vec<Json>, refused: &Refused) -> Json {
    let refused = refused.iter().map(|(name, error)| {
        Json::object([("name", Json::from(name.as_str())), ("error", error.to_json(ui))])
    });
    json::answer(
        "rescue",
        [("files", Json::Array(brought)), ("refused", Json::Array(refused.collect()))],
    )
}

/// Restores a version or, if it cannot be read, the newest one before it that can.
fn restore_readable(
    history: &mut History<'_>,
    tavern: &Tavern<'_>,
    lineage: &Lineage,
    good: &StoredVersion,
    options: RestoreOptions,
) -> Result<(Restored, StoredVersion), RestoreError> {
    let (version, _) = history.last_there(good)?;
    let restored = restore(history, tavern, lineage, &version, options)?;
    Ok((restored, version))
}

/// Restores the files one by one. A failure does not stop the others.
fn bring_back(
    ui: &mut Ui<'_>,
    tavern: &Tavern<'_>,
    history: &mut History<'_>,
    chosen: &[&LostFile],
    args: &RescueArgs,
    dry_run: bool,
) -> (Vec<Json>, Refused) {
    let options = RestoreOptions { in_place: args.in_place, is_closed: args.closed, dry_run };
    let (mut brought, mut refused) = (Vec::new(), Vec::new());
    for lost in chosen {
        let outcome = match &lost.good {
            None => undelete(history, tavern, &lost.lineage, dry_run),
            Some(good) => restore_readable(history, tavern, &lost.lineage, good, options),
        };
        match outcome {
            Ok((restored, version)) => {
                let verb = if dry_run { "  would come back: " } else { "  came back: " };
                let line = Line::new().plain(verb).bold(&lost.name);
                let label = restored.file.label();
                let line = match label == lost.lineage.file().label() {
                    true => line,
                    false => line.plain(" as ").bold(label),
                };
                let newest = lost.good.as_ref().unwrap_or(&lost.lineage.tip);
                let is_older = version.tree != newest.tree;
                let number = version.version.number;
                ui.say(match is_older {
                    true => line.plain(format!(
                        ", as it was in version {number}: newer ones cannot be read"
                    )),
                    false => line,
                });
                brought.push(Json::object(restore_version::members(
                    &lost.name, &restored, &version, None,
                )));
            }
            Err(error) => {
                let error = CommandError::from(error);
                if !ui.is_json() {
                    let line = Line::new().add(Style::Bad, "  ! ").bold(&lost.name);
                    ui.note(line.plain(if dry_run {
                        " would not come back"
                    } else {
                        " did not come back"
                    }));
                    error.report(ui);
                }
                refused.push((lost.name.clone(), error));
            }
        }
    }
    (brought, refused)
}
