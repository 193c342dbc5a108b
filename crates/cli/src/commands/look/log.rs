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
use crate::commands::shared::lines;
use crate::commands::shared::ways_back::{size, way_back};
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
    let most = if args.all { usize::MAX } else { args.count };
    let now = tavern.clock.now();
    let at = |moment: Option<TypedTime>| moment.map(|moment| moment.at(now, ui.zone()));
    let (since, before) = (at(args.since), at(args.before));
    let log = Log { tavern, history: &history, finder: &finder, now, most, since, before };
    let Some(wanted) = &args.file else {
        log.of_many(ui, None)?;
        return Ok(Exit::Fine);
    };
    match finder.find(wanted) {
        // Who names a character means the stories.
        Ok(lineage) if lineage.kind == FileKind::Card && log.has_chats(wanted) => {
            log.of_many(ui, Some(wanted))?;
        }
        Err(LookupError::Unknown { .. }) if log.has_chats(wanted) => {
            log.of_many(ui, Some(wanted))?
        }
        found => log.of_file(ui, found?)?,
    }
    Ok(Exit::Fine)
}

/// Versions of one file with nothing between them: the newest, and how many there are.
struct Run<'l> {
    lineage: &'l Lineage,
    newest: StoredVersion,
    came: SystemTime,
    oldest: u64,
    versions: usize,
}

impl Run<'_> {
    /// Whether a version that came just before goes without saying.
    fn takes(&mut self, lineage: &Lineage, kept: &StoredVersion) -> bool {
        let is_plain =
            |version: &Version| version.why == Origin::Saved && version.collapse.is_none();
        let is_one_more = self.lineage.reference == lineage.reference
            && is_plain(&self.newest.version)
            && is_plain(&kept.version)
            // The beginning is worth a line.
            && kept.version.number > 1;
        if is_one_more {
            self.oldest = kept.version.number;
            self.versions += 1;
        }
        is_one_more
    }
}

/// Whether a file is a character's: its card, or one of its chats.
fn is_of(lineage: &Lineage, character: &str) -> bool {
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
    most: usize,
    since: Option<SystemTime>,
    before: Option<SystemTime>,
}

impl Log<'_, '_> {
    fn of_file(&self, ui: &mut Ui<'_>, lineage: &Lineage) -> Result<(), CommandError> {
        let (shown, times, older) = self.shown(lineage)?;
        let pins = self.history.pins(lineage);
        let losses = self.history.losses_of(lineage)?;
        let name = self.finder.name_of(lineage);
        let all = shown.len() + older;
        let about = [
            lineage.kind.word().to_owned(),
            size(lineage.kind, &lineage.tip.version),
            if self.has_limits() { String::new() } else { count(all, "version", "versions") },
        ];
        let about: Vec<String> = about.into_iter().filter(|part| !part.is_empty()).collect();
        let gone = if lineage.is_deleted() { ", deleted" } else { "" };
        let theirs = self.elsewhere(lineage);
        let about = format!("  {}{gone}{theirs}", about.join(", "));
        lines::say_wrapped(ui, &[(Style::Bold, name.clone()), (Style::Dim, about)]);

        let after = self.after(lineage, &shown)?;
        let mut told = Vec::new();
        for ((kept, after), came) in shown.iter().zip(&after).zip(times.iter().copied()) {
            let version = &kept.version;
            let mut text = vec![(Style::Plain, version.words.clone())];
            text.extend(after.clone().map(|after| (Style::Dim, format!(", {after}"))));
            if version.file != *lineage.file() {
                text.push((Style::Dim, format!(" (as {})", version.file.label())));
            }
            if pins.contains(&version.number) {
                text.push((Style::Good, " (the last good one)".to_owned()));
            }
            told.push(lines::LogLine {
                sign: sign(version),
                number: Some(version.number),
                when: when::by_the_clock(came, self.now, ui.zone()),
                text,
            });
        }
        lines::say(ui, &told);
        self.say_end(ui, shown.iter().map(|kept| &kept.version).zip(times), older as u64);
        let is_whole = older == 0 && !self.has_limits();
        let before = shown.last().filter(|_| is_whole).and_then(|oldest| oldest.parent);
        let before =
            before.map(|parent| StoredVersion::read(self.history.store(), parent)).transpose()?;
        if let Some(before) = &before {
            let (file, number) = (before.version.file.label(), before.version.number);
            ui.say(Line::new().dim(format!(
                "It began as {file}, version {number}: {} goes on.",
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
            ui.say(Line::new().dim(way_back(self.tavern, &name, loss)));
        }
        let versions = shown.iter().zip(&after).map(|(kept, after)| {
            let is_pinned = pins.contains(&kept.version.number);
            version_json(self.history, lineage, kept, is_pinned, after.as_deref())
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

    /// The versions of a file that are wanted, when each came about, and how many more there are.
    fn shown(
        &self,
        lineage: &Lineage,
    ) -> Result<(Vec<StoredVersion>, Vec<SystemTime>, usize), CommandError> {
        let mut versions = self.history.own_versions(lineage);
        let most = if self.has_limits() { usize::MAX } else { self.most };
        let shown: Vec<StoredVersion> = versions.by_ref().take(most).collect::<Result<_, _>>()?;
        let times = self.times(&shown);
        let wanted = shown.into_iter().zip(times).filter(|(_, came)| self.is_then(*came));
        let mut wanted: Vec<(StoredVersion, SystemTime)> = wanted.collect();
        let older = wanted.len().saturating_sub(self.most) + versions.count();
        wanted.truncate(self.most);
        let (shown, times) = wanted.into_iter().unzip();
        Ok((shown, times, older))
    }

    fn has_limits(&self) -> bool {
        self.since.is_some() || self.before.is_some()
    }

    /// Whether something came in the time that is asked for.
    fn is_then(&self, came: SystemTime) -> bool {
        self.since.is_none_or(|since| came >= since)
            && self.before.is_none_or(|before| came < before)
    }

    /// When each version of a file came about.
    fn times(&self, shown: &[StoredVersion]) -> Vec<SystemTime> {
        let oldest = shown.last().and_then(|oldest| oldest.parent);
        let oldest =
            oldest.and_then(|parent| StoredVersion::read(self.history.store(), parent).ok());
        let before = shown.iter().skip(1).chain(&oldest).map(|before| Some(&before.version));
        let before = before.chain([None]);
        shown.iter().zip(before).map(|(kept, before)| kept.version.came(before)).collect()
    }

    fn has_chats(&self, character: &str) -> bool {
        let is_chat =
            |lineage: &Lineage| lineage.kind == FileKind::Chat && is_of(lineage, character);
        self.history.lineages().iter().any(is_chat)
    }

    /// Of everything, or of a character.
    fn of_many(&self, ui: &mut Ui<'_>, character: Option<&str>) -> Result<(), CommandError> {
        let is_meant =
            |lineage: &Lineage| character.is_none_or(|character| is_of(lineage, character));
        let mut runs: Vec<Run<'_>> = Vec::new();
        let mut shown = Vec::new();
        let (mut passed, mut more) = (0_u64, 0_u64);
        let is_then = |found: &Result<AnyVersion<'_>, _>| {
            found.as_ref().map_or(true, |told| self.is_then(told.came))
        };
        let mut everything = self.history.everything(is_meant).filter(is_then);
        for found in everything.by_ref() {
            let AnyVersion { lineage, kept, came } = found?;
            if !runs.last_mut().is_some_and(|run| run.takes(lineage, &kept)) {
                if runs.len() == self.most {
                    more = 1;
                    break;
                }
                let (newest, oldest) = (kept.clone(), kept.version.number);
                runs.push(Run { lineage, newest, came, oldest, versions: 1 });
            }
            passed += 1;
            // A run can be long, and only programs are told of each version.
            if shown.len() < self.most {
                shown.push((lineage, kept));
            }
        }
        let seen = self.history.lineages().iter().filter(|lineage| !lineage.is_imported());
        let seen = seen.filter(|lineage| is_meant(lineage));
        let recorded: u64 = seen.map(Lineage::versions).sum();
        let all = match self.has_limits() {
            true => passed + more + everything.count() as u64,
            false => recorded,
        };
        if recorded == 0 {
            ui.say("Nothing has been recorded yet.");
        } else if all == 0 {
            ui.say("Nothing was recorded in that time.");
        }
        let told: Vec<lines::LogLine> = runs.iter().map(|run| self.line(run, ui.zone())).collect();
        lines::say(ui, &told);
        let newest = runs.iter().map(|run| (&run.newest.version, run.came));
        self.say_end(ui, newest, all.saturating_sub(passed));
        let versions = shown.iter().map(|(lineage, kept)| {
            let is_pinned = self.history.pins(lineage).contains(&kept.version.number);
            version_json(self.history, lineage, kept, is_pinned, None)
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
        let when = when::by_the_clock(run.came, self.now, zone);
        lines::LogLine { sign: sign(version), number: None, when, text }
    }

    fn elsewhere(&self, lineage: &Lineage) -> String {
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
        if shown.iter().any(|(version, _)| is_unwatched(version)) {
            let words = "not watched before this: others may have come and gone.";
            let words = format!("{} {words}", lines::LogLine::UNWATCHED);
            lines::say_wrapped(ui, &[(Style::Dim, words)]);
        }
    }

    /// Which message of which chat each version of a lorebook came after, where that is known.
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
            for kept in self.history.own_versions(chat) {
                let version = kept?.version;
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

/// Whether others may have come and gone before it.
fn is_unwatched(version: &Version) -> bool {
    matches!(version.why, Origin::Found | Origin::Late) && version.number > 1
}

fn version_json(
    history: &History<'_>,
    lineage: &Lineage,
    kept: &StoredVersion,
    is_pinned: bool,
    after: Option<&str>,
) -> Json {
    let version = &kept.version;
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
        ("id", Json::from(kept.id.to_string())),
    ])
}
