//! `forklore log`

use std::time::SystemTime;

use forklore_core::sillytavern::names::folded;
use forklore_history::file::FileKind;
use forklore_history::query::all_versions::AnyVersion;
use forklore_history::query::lookup::Finder;
use forklore_history::query::versions::LookupError;
use forklore_history::record::scan::home;
use forklore_history::version::commit::{Origin, StoredVersion, Version};
use forklore_history::version::history::History;
use forklore_history::version::lineage::Lineage;
use forklore_tavern::work::tavern::Tavern;
use jiff::tz::TimeZone;

use crate::args::LogArgs;
use crate::commands::shared::ways_back::{restore_hint, size};
use crate::commands::shared::{damage, lines};
use crate::commands::{Histories, Outcome};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::json::{self, Json};
use crate::lore::Span;
use crate::text::{Line, Style, command, count, grouped};
use crate::ui::Ui;
use crate::when::{self, TypedTime};

pub(crate) fn run(
    ui: &mut Ui<'_>,
    tavern: &Tavern<'_>,
    histories: &Histories,
    args: &LogArgs,
) -> Outcome {
    let history = histories.open_existing(tavern)?;
    let home = home(&tavern.folders);
    let finder = Finder::new(&history, tavern.disk, &home);
    let limit = if args.all { usize::MAX } else { args.count };
    let now = tavern.clock.now();
    let at = |moment: Option<TypedTime>| moment.map(|moment| moment.resolve(now, ui.zone()));
    let (since, before) = (at(args.since), at(args.before));
    let log = Log { tavern, history: &history, finder: &finder, now, limit, since, before };
    let Some(wanted) = &args.file else {
        log.log_many(ui, None)?;
        return Ok(Exit::Fine);
    };
    match finder.find(wanted) {
        // A character's name refers to its chats rather than to its card.
        Ok(lineage) if lineage.kind == FileKind::Card && log.has_chats(wanted) => {
            log.log_many(ui, Some(wanted))?;
        }
        Err(LookupError::Unknown { .. }) if log.has_chats(wanted) => {
            log.log_many(ui, Some(wanted))?
        }
        found => log.log_file(ui, found?)?,
    }
    Ok(Exit::Fine)
}

/// Consecutive versions of one file: the newest, and how many there are.
struct Run<'l> {
    lineage: &'l Lineage,
    newest: StoredVersion,
    time: SystemTime,
    oldest: u64,
    versions: usize,
}

impl Run<'_> {
    /// Adds the next older version to the run, if it needs no line of its own.
    fn absorb(&mut self, lineage: &Lineage, stored: &StoredVersion) -> bool {
        let is_plain =
            |version: &Version| version.why == Origin::Saved && version.collapse.is_none();
        let is_absorbed = self.lineage.reference == lineage.reference
            && is_plain(&self.newest.version)
            && is_plain(&stored.version)
            // The first version gets its own line.
            && stored.version.number > 1;
        if is_absorbed {
            self.oldest = stored.version.number;
            self.versions += 1;
        }
        is_absorbed
    }
}

/// Whether a file belongs to a character: its card, or one of its chats.
fn belongs_to(lineage: &Lineage, character: &str) -> bool {
    let label = lineage.file().label();
    let owner = match lineage.kind {
        FileKind::Card => Some(&*label),
        FileKind::Chat => label.rsplit_once('/').map(|(owner, _)| owner),
        _ => None,
    };
    owner.is_some_and(|owner| folded(owner) == folded(character))
}

struct Log<'l, 'd> {
    tavern: &'l Tavern<'l>,
    history: &'l History<'d>,
    finder: &'l Finder<'l, 'd>,
    now: SystemTime,
    limit: usize,
    since: Option<SystemTime>,
    before: Option<SystemTime>,
}

impl Log<'_, '_> {
    fn log_file(&self, ui: &mut Ui<'_>, lineage: &Lineage) -> Result<(), CommandError> {
        let (shown, times, older) = self.select(lineage);
        let pins = self.history.pins(lineage);
        let losses = self.history.losses_of(lineage)?;
        let name = self.finder.name_of(lineage);
        let all = shown.len() + older;
        let about = [
            lineage.kind.word().to_owned(),
            size(lineage.kind, &lineage.tip.version),
            if self.has_time_range() { String::new() } else { count(all, "version", "versions") },
        ];
        let about: Vec<String> = about.into_iter().filter(|part| !part.is_empty()).collect();
        let gone = if lineage.is_deleted() { ", deleted" } else { "" };
        let theirs = self.machine_note(lineage);
        let about = format!("  {}{gone}{theirs}", about.join(", "));
        lines::say_wrapped(ui, &[(Style::Bold, name.clone()), (Style::Dim, about)]);

        let after = self.after(lineage, &shown)?;
        let mut log_lines = Vec::new();
        for ((stored, after), time) in shown.iter().zip(&after).zip(times.iter().copied()) {
            let version = &stored.version;
            let mut text = vec![(Style::Plain, version.words.clone())];
            text.extend(after.clone().map(|after| (Style::Dim, format!(", {after}"))));
            if version.file != *lineage.file() {
                text.push((Style::Dim, format!(" (as {})", version.file.label())));
            }
            if pins.contains(&version.number) {
                text.push((Style::Good, " (last good version)".to_owned()));
            }
            log_lines.push(lines::LogLine {
                sign: sign(version),
                number: Some(version.number),
                when: when::absolute(time, self.now, ui.zone()),
                text,
            });
        }
        lines::say(ui, &log_lines);
        self.say_end(ui, shown.iter().map(|stored| &stored.version).zip(times), older as u64);
        self.say_elsewhere(ui, lineage);
        let is_whole = older == 0 && !self.has_time_range();
        let oldest = if is_whole { shown.last() } else { None };
        let before = oldest.and_then(|oldest| self.history.before(oldest));
        if let Some(before) = &before {
            let (file, number) = (before.version.file.label(), before.version.number);
            ui.say(Line::new().dim(format!(
                "It started as {file}, version {number}: {} continues there.",
                command("log", &file, "")
            )));
        }
        if let Some(backups) = self.history.lineages().backups_of(lineage) {
            let all = count(backups.versions() as usize, "version", "versions");
            let log = command("log", &self.finder.name_of(backups), "");
            let words = format!("{all} from SillyTavern's own backups: {log}.");
            ui.say(Line::new().dim(words));
        }
        for loss in &losses {
            ui.say(Line::new().dim(restore_hint(self.tavern, &name, loss)));
        }
        let versions = shown.iter().zip(&after).map(|(stored, after)| {
            let is_pinned = pins.contains(&stored.version.number);
            version_json(self.history, lineage, stored, is_pinned, after.as_deref())
        });
        ui.answer(&json::answer(
            "log",
            [
                ("file", Json::from(lineage.file().as_str())),
                ("name", Json::from(name.as_str())),
                ("versions", Json::Array(versions.collect())),
                ("older", Json::from(older)),
                (
                    "began_as",
                    before.map_or(Json::Null, |before| {
                        Json::object([
                            ("file", Json::from(before.version.file.as_str())),
                            ("version", Json::from(before.version.number as usize)),
                        ])
                    }),
                ),
            ],
        ));
        Ok(())
    }

    /// The versions of a file to show, when each was made, and how many more there are.
    fn select(&self, lineage: &Lineage) -> (Vec<StoredVersion>, Vec<SystemTime>, usize) {
        let mut versions = self.history.own_versions(lineage);
        let limit = if self.has_time_range() { usize::MAX } else { self.limit };
        let shown: Vec<StoredVersion> = versions.by_ref().take(limit).collect();
        let times = self.times(&shown);
        let wanted = shown.into_iter().zip(times).filter(|(_, time)| self.is_in_range(*time));
        let mut wanted: Vec<(StoredVersion, SystemTime)> = wanted.collect();
        let older = wanted.len().saturating_sub(self.limit) + versions.count();
        wanted.truncate(self.limit);
        let (shown, times) = wanted.into_iter().unzip();
        (shown, times, older)
    }

    fn has_time_range(&self) -> bool {
        self.since.is_some() || self.before.is_some()
    }

    /// Whether a version was made within `--since` and `--before`.
    fn is_in_range(&self, time: SystemTime) -> bool {
        self.since.is_none_or(|since| time >= since)
            && self.before.is_none_or(|before| time < before)
    }

    /// When each version of a file was made.
    fn times(&self, shown: &[StoredVersion]) -> Vec<SystemTime> {
        let oldest = shown.last().and_then(|oldest| self.history.before(oldest));
        let before = shown.iter().skip(1).chain(&oldest).map(|before| Some(&before.version));
        let before = before.chain([None]);
        shown
            .iter()
            .zip(before)
            .map(|(stored, before)| stored.version.effective_time(before))
            .collect()
    }

    fn has_chats(&self, character: &str) -> bool {
        let is_chat =
            |lineage: &Lineage| lineage.kind == FileKind::Chat && belongs_to(lineage, character);
        self.history.lineages().iter().any(is_chat)
    }

    /// The log of all files, or of a character's.
    fn log_many(&self, ui: &mut Ui<'_>, character: Option<&str>) -> Result<(), CommandError> {
        let is_wanted =
            |lineage: &Lineage| character.is_none_or(|character| belongs_to(lineage, character));
        let mut runs: Vec<Run<'_>> = Vec::new();
        let mut shown = Vec::new();
        let (mut counted, mut more) = (0_u64, 0_u64);
        let is_in_range = |found: &AnyVersion<'_>| self.is_in_range(found.time);
        let mut everything = self.history.all_versions(is_wanted).filter(is_in_range);
        for found in everything.by_ref() {
            let AnyVersion { lineage, stored, time } = found;
            if !runs.last_mut().is_some_and(|run| run.absorb(lineage, &stored)) {
                if runs.len() == self.limit {
                    more = 1;
                    break;
                }
                let (newest, oldest) = (stored.clone(), stored.version.number);
                runs.push(Run { lineage, newest, time, oldest, versions: 1 });
            }
            counted += 1;
            // A run can be long, and only `--json` lists every version.
            if shown.len() < self.limit {
                shown.push((lineage, stored));
            }
        }
        let seen = self.history.lineages().iter().filter(|lineage| !lineage.is_imported());
        let seen = seen.filter(|lineage| is_wanted(lineage));
        let recorded: u64 = seen.map(Lineage::versions).sum();
        let all = match self.has_time_range() {
            true => counted + more + everything.count() as u64,
            false => recorded,
        };
        if recorded == 0 {
            ui.say("Nothing has been recorded yet.");
        } else if all == 0 {
            ui.say("Nothing was recorded in that time.");
        }
        let log_lines: Vec<lines::LogLine> =
            runs.iter().map(|run| self.line(run, ui.zone())).collect();
        lines::say(ui, &log_lines);
        let newest = runs.iter().map(|run| (&run.newest.version, run.time));
        self.say_end(ui, newest, all.saturating_sub(counted));
        let versions = shown.iter().map(|(lineage, stored)| {
            let is_pinned = self.history.pins(lineage).contains(&stored.version.number);
            version_json(self.history, lineage, stored, is_pinned, None)
        });
        let versions: Vec<Json> = versions.collect();
        let older = all.saturating_sub(versions.len() as u64);
        ui.answer(&json::answer(
            "log",
            [
                ("file", Json::Null),
                ("name", Json::from(character.map(str::to_owned))),
                ("versions", Json::Array(versions)),
                ("older", Json::from(older as usize)),
                ("began_as", Json::Null),
            ],
        ));
        Ok(())
    }

    fn line(&self, run: &Run<'_>, zone: &TimeZone) -> lines::LogLine {
        let version = &run.newest.version;
        let numbers = match run.versions {
            1 => format!(" ({}): ", version.number),
            _ => format!(" ({} to {}): ", run.oldest, version.number),
        };
        let mut text = vec![
            (Style::Bold, self.finder.name_of(run.lineage)),
            (Style::Dim, numbers),
            (Style::Plain, version.words.clone()),
        ];
        if run.versions > 1 {
            let before = count(run.versions - 1, "change", "changes");
            text.push((Style::Dim, format!(", after {before}")));
        }
        let when = when::absolute(run.time, self.now, zone);
        lines::LogLine { sign: sign(version), number: None, when, text }
    }

    /// Mentions what other machines recorded of the same file.
    fn say_elsewhere(&self, ui: &mut Ui<'_>, lineage: &Lineage) {
        let others = self.history.lineages().iter().filter(|other| {
            other.machine != lineage.machine
                && other.file() == lineage.file()
                && !other.is_imported()
        });
        for other in others {
            let versions = count(other.versions() as usize, "version", "versions");
            let log = command("log", &format!("{}:{}", other.machine, other.file().label()), "");
            ui.say(Line::new().dim(format!("{versions} recorded on {}: {log}.", other.machine)));
        }
    }

    fn machine_note(&self, lineage: &Lineage) -> String {
        match lineage.machine == self.history.machine() {
            true => String::new(),
            false => format!(", recorded on {}", lineage.machine),
        }
    }

    fn say_end<'v>(
        &self,
        ui: &mut Ui<'_>,
        shown: impl IntoIterator<Item = (&'v Version, SystemTime)>,
        older: u64,
    ) {
        let shown: Vec<(&Version, SystemTime)> = shown.into_iter().collect();
        let mut end = Vec::new();
        if older > 0 {
            end.push(format!("{} more: --all shows them.", grouped(older)));
        }
        if !end.is_empty() {
            ui.say(Line::new().dim(end.join(" ")));
        }
        damage::say(ui, self.history);
        if shown.iter().any(|(version, _)| is_unwatched(version)) {
            let words = "not watched before this: versions may be missing.";
            let words = format!("{} {words}", lines::LogLine::UNWATCHED);
            lines::say_wrapped(ui, &[(Style::Dim, words)]);
        }
    }

    /// For each version of a lorebook, the chat message it followed, if known.
    fn after(
        &self,
        lineage: &Lineage,
        shown: &[StoredVersion],
    ) -> Result<Vec<Option<String>>, CommandError> {
        let mut after = vec![None; shown.len()];
        let is_ours = lineage.machine == self.history.machine();
        let Some(oldest) = shown.last() else { return Ok(after) };
        if lineage.kind != FileKind::Book || !is_ours {
            return Ok(after);
        }
        let mut newest: Vec<Option<u64>> = vec![None; shown.len()];
        for chat in self.history.chats_of(lineage)? {
            let name = chat.file().label();
            for stored in self.history.own_versions(chat) {
                let version = stored.version;
                for (at, book) in shown.iter().enumerate() {
                    let was_seen = book.version.why == Origin::Saved;
                    let is_newer = newest[at].is_none_or(|order| order < version.order);
                    if was_seen && version.order < book.version.order && is_newer {
                        newest[at] = Some(version.order);
                        let last = version.count.and_then(|count| count.checked_sub(1));
                        after[at] = last.map(|last| format!("after message {last} of {name}"));
                    }
                }
                if version.order < oldest.version.order {
                    break;
                }
            }
        }
        Ok(after)
    }
}

fn sign(version: &Version) -> Option<Span> {
    match &version.collapse {
        Some(_) => Some((Style::Bad, "!".to_owned())),
        None => is_unwatched(version).then(|| (Style::Dim, lines::LogLine::UNWATCHED.to_owned())),
    }
}

/// Whether earlier versions may have gone unrecorded.
fn is_unwatched(version: &Version) -> bool {
    matches!(version.why, Origin::Found | Origin::Late) && version.number > 1
}

fn version_json(
    history: &History<'_>,
    lineage: &Lineage,
    stored: &StoredVersion,
    is_pinned: bool,
    after: Option<&str>,
) -> Json {
    let version = &stored.version;
    let (why, from) = match &version.why {
        Origin::Saved => ("saved", Json::Null),
        Origin::Late => ("late", Json::Null),
        Origin::Found => ("found", Json::Null),
        Origin::Renamed { from } => ("renamed", Json::from(from.as_str())),
        Origin::Copied { from } => ("copied", Json::from(from.as_str())),
        Origin::Deleted => ("deleted", Json::Null),
        Origin::Restored { version } => ("restored", Json::from(*version as usize)),
        Origin::Imported => ("imported", Json::Null),
    };
    let is_ours = lineage.machine == history.machine();
    Json::object([
        ("file", Json::from(version.file.as_str())),
        ("kind", Json::from(lineage.kind.word())),
        ("machine", Json::from(lineage.machine.as_str())),
        ("ours", Json::from(is_ours)),
        ("version", Json::from(version.number as usize)),
        ("words", Json::from(version.words.as_str())),
        ("after", Json::from(after.map(str::to_owned))),
        ("why", Json::from(why)),
        ("from", from),
        ("written", Json::from(when::iso(version.written))),
        ("recorded", Json::from(when::iso(version.recorded))),
        ("count", Json::from(version.count.map(|count| count as usize))),
        ("bytes", Json::from(version.bytes as usize)),
        ("loss", Json::from(version.collapse.clone())),
        ("pinned", Json::from(is_pinned)),
        ("id", Json::from(stored.id.to_string())),
    ])
}
