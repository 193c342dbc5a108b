//! Files that disappeared in a way that looks like a loss.

use std::time::SystemTime;

use forklore_core::sillytavern::names::folded;
use forklore_history::HistoryError;
use forklore_history::file::FileName;
use forklore_history::query::lookup::Finder;
use forklore_history::record::missing_files::{Vanished, missing, owner};
use forklore_history::record::scan::home;
use forklore_history::version::history::History;
use forklore_history::version::lineage::Lineage;
use forklore_tavern::work::tavern::Tavern;
use jiff::tz::TimeZone;

use crate::json::Json;
use crate::text::command;
use crate::when;

/// All files that are gone and look lost, whether or not that is recorded yet.
pub(crate) fn find_all(
    tavern: &Tavern<'_>,
    history: &History<'_>,
) -> Result<Vec<Vanished>, HistoryError> {
    let missing = missing(history, tavern.disk, &tavern.folders)?;
    history.vanished(&missing, &|name| is_there(tavern, name))
}

/// A file counts as gone only if that is certain. An unreadable one may still exist.
pub(crate) fn is_there(tavern: &Tavern<'_>, name: &FileName) -> bool {
    let path = home(&tavern.folders).join(name.to_path());
    !matches!(tavern.disk.stat(&path), Ok(None))
}

/// Whether a file is one of the character's chats.
pub(crate) fn belongs_to(lineage: &Lineage, character: &str) -> bool {
    owner(lineage).is_some_and(|owner| folded(&owner) == folded(character))
}

/// How to restore the files, or dismiss the report.
pub(crate) fn hint(finder: &Finder<'_, '_>, vanished: &Vanished) -> String {
    let (undelete, dismiss) = match (&vanished.files[..], vanished.character()) {
        ([only], _) => {
            let name = finder.name_of(only);
            (command("undelete", &name, ""), command("history dismiss", &name, ""))
        }
        (_, Some(character)) => {
            (command("undelete", &character, "--lost"), command("history dismiss", &character, ""))
        }
        _ => (
            "`forklore undelete --lost`".to_owned(),
            "`forklore history dismiss --gone`".to_owned(),
        ),
    };
    let them = if vanished.files.len() == 1 { "it" } else { "them" };
    format!("{undelete} brings {them} back. If you deleted {them}: {dismiss}.")
}

/// When the loss was noticed.
pub(crate) fn noticed(vanished: &Vanished, now: SystemTime, zone: &TimeZone) -> String {
    match vanished.noticed {
        Some(noticed) => format!("noticed {}", when::relative(noticed, now, zone)),
        None => "this loss is not recorded yet".to_owned(),
    }
}

pub(crate) fn to_json(finder: &Finder<'_, '_>, vanished: &Vanished) -> Json {
    let files = vanished.files.iter().map(|file| {
        let version = &file.tip.version;
        Json::object([
            ("file", Json::from(version.file.as_str())),
            ("name", Json::from(finder.name_of(file))),
            ("kind", Json::from(file.kind.word())),
            ("count", Json::from(version.count.map(|count| count as usize))),
            ("bytes", Json::from(version.bytes as usize)),
        ])
    });
    Json::object([
        ("noticed", Json::from(vanished.noticed.map(when::iso))),
        ("text", Json::from(vanished.words())),
        ("files", Json::Array(files.collect())),
    ])
}
