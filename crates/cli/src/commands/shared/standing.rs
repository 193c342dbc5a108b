//! The state of the history, for `forklore status`.

use std::time::SystemTime;

use forklore_core::sillytavern::names::book_key;
use forklore_history::HistoryError;
use forklore_history::file::{FileKind, FileName};
use forklore_history::query::lookup::Finder;
use forklore_history::query::losses::Loss;
use forklore_history::record::scan::{home, unrecorded};
use forklore_history::version::history::History;
use forklore_history::version::lineage::Lineage;
use forklore_tavern::work::tavern::Tavern;
use jiff::tz::TimeZone;

use super::histories::Histories;
use super::{damage, gone, ways_back};
use crate::error::CommandError;
use crate::json::{self, Json};
use crate::text::{Line, Style, bytes, command, count};
use crate::when;

/// What `status` shows about the history.
pub(crate) struct HistoryStatus {
    summary: Option<Summary>,
    /// Why an existing history cannot be read.
    unreadable: Option<String>,
}

struct Summary {
    versions: u64,
    files: u64,
    bytes: u64,
    newest: Option<SystemTime>,
    /// How many files have changed since they were recorded.
    unrecorded: usize,
    now: SystemTime,
    zone: TimeZone,
    /// Each loss with the name that commands accept, and a hint.
    losses: Vec<(String, Loss, String)>,
    /// Files that are gone: the text, a hint, and the JSON object.
    gone: Vec<(String, String, Json)>,
    /// Chats that are still as they were when they looked like a loss that has been settled, and
    /// how each is made whole.
    settled: Vec<(FileName, String)>,
    /// What could not be read on the way.
    damage: Vec<String>,
    /// Deleted lorebooks: the key to compare names by, and the name that commands accept.
    deleted_books: Vec<(String, String)>,
}

impl HistoryStatus {
    pub(crate) fn of(tavern: &Tavern<'_>, histories: &Histories, zone: &TimeZone) -> Self {
        let place = histories.repository(tavern);
        let opened = History::open_existing(tavern.disk, tavern.clock, place);
        match opened.and_then(|history| Summary::of(tavern, &history, zone)) {
            Ok(summary) => Self { summary: Some(summary), unreadable: None },
            Err(HistoryError::NoHistory(_)) => Self { summary: None, unreadable: None },
            Err(error) => {
                let why = CommandError::from(error).to_line();
                Self { summary: None, unreadable: Some(why) }
            }
        }
    }

    /// A summary on one line, if there is a history.
    pub(crate) fn line(&self) -> Option<String> {
        let summary = self.summary.as_ref()?;
        let newest =
            summary.newest.map(|newest| when::relative(newest, summary.now, &summary.zone));
        let newest = newest.map(|newest| format!(", newest {newest}")).unwrap_or_default();
        let unrecorded = match summary.unrecorded {
            0 => String::new(),
            number => {
                let files = count(number, "file has", "files have");
                format!("; {files} changed since then")
            }
        };
        Some(format!(
            "  {} of {} in the history, {}{newest}{unrecorded}",
            count(summary.versions as usize, "version", "versions"),
            count(summary.files as usize, "file", "files"),
            bytes(summary.bytes),
        ))
    }

    pub(crate) fn problems(&self) -> Vec<Line> {
        let bad = || Line::new().add(Style::Bad, "  ! ");
        let unreadable = self
            .unreadable
            .iter()
            .map(|why| bad().bold("the history").plain(" cannot be read: ").plain(why));
        let losses = self.summary.iter().flat_map(|summary| {
            summary.losses.iter().map(|(name, loss, _)| {
                let when = when::relative(loss.lost.version.written, summary.now, &summary.zone);
                bad()
                    .bold(name)
                    .plain(": ")
                    .plain(loss.words())
                    .plain(format!(" in version {}, {when}", loss.lost.version.number))
            })
        });
        let gone = self.summary.iter().flat_map(|summary| &summary.gone);
        let gone = gone.map(|(words, _, _)| bad().plain(words));
        let damage = self.summary.iter().flat_map(|summary| &summary.damage);
        let damage = damage.map(|words| bad().plain(words));
        unreadable.chain(gone).chain(losses).chain(damage).collect()
    }

    /// How to solve the problems.
    pub(crate) fn hints(&self) -> Vec<String> {
        if self.unreadable.is_some() {
            return vec!["`forklore history verify` shows what is damaged.".to_owned()];
        }
        let gone = self.summary.iter().flat_map(|summary| &summary.gone).map(|(_, hint, _)| hint);
        let losses =
            self.summary.iter().flat_map(|summary| &summary.losses).map(|(_, _, hint)| hint);
        let mut hints: Vec<String> = gone.chain(losses).cloned().collect();
        if self.summary.iter().any(|summary| !summary.damage.is_empty()) {
            hints.push(damage::HINT.to_owned());
        }
        hints
    }

    /// The command that restores a deleted lorebook.
    pub(crate) fn undelete(&self, book: &str) -> Option<String> {
        let key = book_key(book);
        let mut deleted = self.summary.iter().flat_map(|summary| &summary.deleted_books);
        let (_, name) = deleted.find(|(other, _)| *other == key)?;
        Some(format!("{} brings back the lorebook.", command("undelete", name, "")))
    }

    /// How a damaged chat is made whole that has come back under another name.
    pub(crate) fn way_back(&self, chat: &FileName) -> Option<String> {
        let mut settled = self.summary.iter().flat_map(|summary| &summary.settled);
        settled.find(|(file, _)| file == chat).map(|(_, hint)| hint.clone())
    }

    /// Whether a lorebook is among the losses, which already have a hint.
    pub(crate) fn has_lost(&self, book: &str) -> bool {
        let key = book_key(book);
        let mut losses = self.summary.iter().flat_map(|summary| &summary.losses);
        losses.any(|(_, loss, _)| {
            loss.file.kind() == Some(FileKind::Book) && book_key(&loss.file.bare_label()) == key
        })
    }

    /// A suggestion for users who have no history yet.
    pub(crate) fn advice(&self) -> Option<String> {
        let has_none = self.summary.is_none() && self.unreadable.is_none();
        has_none
            .then(|| "`forklore watch` keeps every version of every chat and lorebook.".to_owned())
    }

    pub(crate) fn to_json(&self) -> Json {
        let Some(summary) = &self.summary else { return Json::Null };
        let gone = summary.gone.iter().map(|(_, _, json)| json.clone());
        let losses = summary.losses.iter().map(|(name, loss, _)| {
            Json::object([
                ("file", Json::from(loss.file.as_str())),
                ("name", Json::from(name.as_str())),
                ("version", Json::from(loss.lost.version.number as usize)),
                ("loss", Json::from(loss.lost.version.collapse.clone())),
                ("good", Json::from(loss.good.version.number as usize)),
                ("text", Json::from(loss.words())),
            ])
        });
        Json::object([
            ("versions", Json::from(summary.versions as usize)),
            ("files", Json::from(summary.files as usize)),
            ("bytes", Json::from(summary.bytes as usize)),
            ("newest", Json::from(summary.newest.map(when::iso))),
            ("unrecorded", Json::from(summary.unrecorded)),
            ("losses", Json::Array(losses.collect())),
            ("gone", Json::Array(gone.collect())),
            ("damage", json::texts(&summary.damage)),
        ])
    }
}

impl Summary {
    fn of(
        tavern: &Tavern<'_>,
        history: &History<'_>,
        zone: &TimeZone,
    ) -> Result<Self, HistoryError> {
        let home = home(&tavern.folders);
        let finder = Finder::new(history, tavern.disk, &home);
        let lineages = history.lineages();
        let name = |loss: &Loss| match lineages.get(&loss.reference) {
            Some(lineage) => finder.name_of(lineage),
            None => loss.file.label(),
        };
        let now = tavern.clock.now();
        let losses = history.losses()?.into_iter().map(|loss| {
            let name = name(&loss);
            let hint = ways_back::restore_hint(tavern, &name, &loss);
            (name, loss, hint)
        });
        // A missing folder is reported once, and not file by file.
        let gone = if gone::is_folder_gone(tavern) {
            Vec::new()
        } else {
            gone::find_all(tavern, history)?
        };
        let gone = gone.iter().map(|vanished| {
            let words = format!("{}; {}", vanished.words(), gone::noticed(vanished, now, zone));
            (words, gone::hint(&finder, vanished), gone::to_json(&finder, vanished))
        });
        let deleted = lineages.own(history.machine()).filter(|lineage| lineage.is_deleted());
        let deleted_books = deleted
            .filter(|lineage| lineage.kind == FileKind::Book)
            .map(|lineage| (book_key(&lineage.file().bare_label()), finder.name_of(lineage)));
        let losses: Vec<(String, Loss, String)> = losses.collect();
        let deleted_books = deleted_books.collect();
        let settled = lineages.own(history.machine()).filter_map(|lineage| {
            let is_open = losses.iter().any(|(_, loss, _)| loss.reference == lineage.reference);
            let is_damaged =
                lineage.kind == FileKind::Chat && lineage.tip.version.collapse.is_some();
            if is_open || !is_damaged {
                return None;
            }
            let good = history.pins(lineage).into_iter().next_back()?;
            let options = format!("--version {good} --in-place --closed");
            let restore = command("restore", &finder.name_of(lineage), &options);
            let label = lineage.file().label();
            let hint = format!(
                "Close every page of SillyTavern; then {restore} makes {label} whole again. \
                 If you go on in a copy of it, delete the damaged one in SillyTavern."
            );
            Some((lineage.file().clone(), hint))
        });
        let settled = settled.collect();
        Ok(Self {
            settled,
            damage: damage::all(history),
            deleted_books,
            versions: lineages.iter().map(Lineage::versions).sum(),
            files: lineages.iter().filter(|lineage| !lineage.is_imported()).count() as u64,
            bytes: history.store().bytes(),
            unrecorded: unrecorded(history, tavern.disk, &tavern.folders, now).len(),
            newest: lineages.iter().map(|lineage| lineage.tip.version.recorded).max(),
            now,
            zone: zone.clone(),
            losses,
            gone: gone.collect(),
        })
    }
}
