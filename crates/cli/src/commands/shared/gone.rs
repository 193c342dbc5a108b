//! Files that disappeared in a way that looks like a loss.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::SystemTime;

use forklore_core::sillytavern::names::folded;
use forklore_history::HistoryError;
use forklore_history::file::FileName;
use forklore_history::query::lookup::Finder;
use forklore_history::record::missing_files::{Vanished, missing, owner};
use forklore_history::record::scan::home;
use forklore_history::store::place;
use forklore_history::version::history::History;
use forklore_history::version::lineage::Lineage;
use forklore_tavern::disk::Disk;
use forklore_tavern::folder::layout::UserFolders;
use forklore_tavern::locate::users::Users;
use forklore_tavern::work::tavern::Tavern;
use jiff::tz::TimeZone;

use super::histories::Histories;
use crate::error::{CommandError, folder_gone_hint};
use crate::json::Json;
use crate::text::{command, count, quoted};
use crate::when;

/// All files that are gone and look lost, whether or not that is recorded yet.
pub(crate) fn find_all(
    tavern: &Tavern<'_>,
    history: &History<'_>,
) -> Result<Vec<Vanished>, HistoryError> {
    let missing = missing(history, tavern.disk, &tavern.folders)?;
    history.vanished(&missing, &|name| is_there(tavern, name))
}

/// A user whose folder is gone, with everything that was recorded of it.
pub(crate) struct GoneUser {
    pub(crate) handle: String,
    pub(crate) text: String,
    /// The data folder, if it is missing as well.
    root: Option<PathBuf>,
}

impl GoneUser {
    /// `None` if nothing that was recorded is missed: it was dismissed, or there never was anything.
    pub(crate) fn of(folders: &UserFolders, history: &History<'_>) -> Option<Self> {
        let files = history.all_as_gone()?.list();
        let text = format!("the folder of {} is gone, and with it {files}", folders.handle);
        Some(Self::new(folders, history.store().disk(), text))
    }

    fn new(folders: &UserFolders, disk: &dyn Disk, text: String) -> Self {
        let root = folders.data_root.root();
        let is_missing = matches!(disk.stat(root), Ok(None));
        let root = is_missing.then(|| root.to_owned());
        Self { handle: folders.handle.clone(), text, root }
    }

    pub(crate) fn to_json(&self) -> Json {
        Json::object([
            ("user", Json::from(self.handle.as_str())),
            ("text", Json::from(self.text.as_str())),
        ])
    }

    pub(crate) fn hint(&self) -> String {
        let user = quoted(&self.handle);
        let dismiss = format!("`forklore --user {user} history dismiss --gone`");
        let back = match &self.root {
            None => folder_gone_hint(&self.handle),
            // It is only made if it is written out.
            Some(root) => {
                let root = quoted(&root.display().to_string());
                format!(
                    "The data folder itself is missing: it may be on a disk that is not mounted. \
                     If it is really gone: `forklore --data {root} --user {user} rescue --all` \
                     brings back what was recorded."
                )
            }
        };
        format!("{back} If you deleted the user: {dismiss}.")
    }
}

/// The users whose folders are gone.
pub(crate) fn users(tavern: &Tavern<'_>, histories: &Histories, users: &Users) -> Vec<GoneUser> {
    let root = tavern.folders.data_root.root();
    let gone = users.without_folder().filter_map(|user| {
        let folders = UserFolders::new(root, &user.handle).ok()?;
        let repository = place::repository(&histories.folder_for(root), &user.handle);
        match History::open_existing(tavern.disk, tavern.clock, repository) {
            Ok(history) => GoneUser::of(&folders, &history),
            Err(error) => {
                let why = CommandError::from(error).to_line();
                let handle = &user.handle;
                let text = format!(
                    "the folder of {handle} is gone, and what was recorded cannot be read: {why}"
                );
                Some(GoneUser::new(&folders, tavern.disk, text))
            }
        }
    });
    gone.collect()
}

/// How many files of each other machine are not in the user's folder.
pub(crate) fn not_here(tavern: &Tavern<'_>, history: &History<'_>) -> BTreeMap<String, usize> {
    let mut missing = BTreeMap::new();
    let others = history.lineages().iter().filter(|lineage| {
        lineage.machine != history.machine() && !lineage.is_imported() && !lineage.is_deleted()
    });
    for lineage in others.filter(|lineage| !is_there(tavern, lineage.file())) {
        *missing.entry(lineage.machine.clone()).or_default() += 1;
    }
    missing
}

/// How to bring back the files of another machine.
pub(crate) fn not_here_hint(machine: &str, files: usize) -> String {
    let (are, them) = if files == 1 { ("is", "it") } else { ("are", "them") };
    let files = count(files, "file", "files");
    let way = format!("`forklore rescue --from {machine} --all`");
    format!("{files} of {machine} {are} not here: {way} brings {them} back.")
}

/// Whether the user's folder itself is gone.
pub(crate) fn is_folder_gone(tavern: &Tavern<'_>) -> bool {
    matches!(tavern.disk.stat(&home(&tavern.folders)), Ok(None))
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
