//! Where histories are stored, and the history as a source of past states.

use std::cell::Cell;
use std::path::{Path, PathBuf};

use forklore_core::digest::Digest;
use forklore_core::sillytavern::chat::Chat;
use forklore_core::timeline::moment::RecordedPast;
use forklore_history::HistoryError;
use forklore_history::file::FileName;
use forklore_history::query::past::{past, sealed};
use forklore_history::record::missing_files::missing;
use forklore_history::record::scan::home;
use forklore_history::store::place;
use forklore_history::version::history::History;
use forklore_tavern::disk::Disk;
use forklore_tavern::disk::clock::Clock;
use forklore_tavern::folder::layout::UserFolders;
use forklore_tavern::folder::library::ChatFile;
use forklore_tavern::work::tavern::{DeletedChat, PastSource, Tavern};

use crate::Context;
use crate::args::Cli;
use crate::error::CommandError;

/// Where histories are stored.
pub(crate) struct Histories {
    chosen_folder: Option<PathBuf>,
    /// Whether the data folder was written out in the command. Only then is a missing one made: it
    /// may be on a disk that is not mounted.
    pub(crate) is_data_named: bool,
    pub(crate) host: String,
}

impl Histories {
    pub(crate) fn new(context: &Context<'_>, cli: &Cli) -> Self {
        let environment = &context.environment;
        let chosen_folder = cli.history.clone().or_else(|| environment.forklore_history.clone());
        let is_data_named = cli.data.is_some() || environment.flag.is_some();
        Self { chosen_folder, is_data_named, host: environment.host.clone() }
    }

    /// The users with a history, whether or not they have a folder in this data folder.
    pub(crate) fn handles(&self, disk: &dyn Disk, root: &Path) -> Vec<String> {
        place::handles(disk, &self.folder_for(root))
    }

    pub(crate) fn folder(&self, tavern: &Tavern<'_>) -> PathBuf {
        self.folder_for(tavern.folders.data_root.root())
    }

    /// The folder that holds all histories of a data folder.
    pub(crate) fn folder_for(&self, root: &Path) -> PathBuf {
        place::folder(root, self.chosen_folder.as_deref())
    }

    pub(crate) fn repository(&self, tavern: &Tavern<'_>) -> PathBuf {
        place::repository(&self.folder(tavern), &tavern.folders.handle)
    }

    /// Opens the user's history, creating it if necessary.
    pub(crate) fn open<'d>(&self, tavern: &Tavern<'d>) -> Result<History<'d>, CommandError> {
        place::make(tavern.disk, &self.folder(tavern))?;
        Ok(History::open(tavern.disk, tavern.clock, self.repository(tavern), &self.host)?)
    }

    /// Opens the user's history, if there is one.
    pub(crate) fn open_existing<'d>(
        &self,
        tavern: &Tavern<'d>,
    ) -> Result<History<'d>, CommandError> {
        Ok(History::open_existing(tavern.disk, tavern.clock, self.repository(tavern))?)
    }
}

/// The history as a source of past states. It is opened on each request.
pub(crate) struct HistoryPast<'d> {
    disk: &'d dyn Disk,
    clock: &'d dyn Clock,
    home: PathBuf,
    folders: UserFolders,
    repository: PathBuf,
    is_damaged: Cell<bool>,
}

impl<'d> HistoryPast<'d> {
    pub(crate) fn new(tavern: &Tavern<'d>, histories: &Histories) -> Self {
        Self {
            disk: tavern.disk,
            clock: tavern.clock,
            home: home(&tavern.folders),
            folders: tavern.folders.clone(),
            repository: histories.repository(tavern),
            is_damaged: Cell::new(false),
        }
    }

    /// What `ask` finds in the history, as far as that can be read.
    fn ask<T>(
        &self,
        ask: impl FnOnce(&History<'_>) -> Result<Option<T>, HistoryError>,
    ) -> Option<T> {
        let history = match History::open_existing(self.disk, self.clock, &self.repository) {
            Ok(history) => history,
            Err(HistoryError::NoHistory(_)) => return None,
            Err(_) => {
                self.is_damaged.set(true);
                return None;
            }
        };
        let found = ask(&history);
        if found.is_err() || history.store().met_damage() {
            self.is_damaged.set(true);
        }
        found.ok().flatten()
    }
}

impl PastSource for HistoryPast<'_> {
    fn past(&self, file: &ChatFile, chat: &Chat<'_>, message: usize) -> Option<RecordedPast> {
        let name = FileName::of_path(file.path.strip_prefix(&self.home).ok()?);
        self.ask(|history| past(history, &name, chat, message))
    }

    fn sealed(&self, books: &[&str], digest: Digest) -> Option<Vec<u8>> {
        self.ask(|history| sealed(history, books, digest))
    }

    fn is_damaged(&self) -> bool {
        self.is_damaged.get()
    }

    fn deleted_chats(&self) -> Result<Vec<DeletedChat>, String> {
        let why = |error: HistoryError| CommandError::from(error).to_line();
        let history = match History::open_existing(self.disk, self.clock, &self.repository) {
            Ok(history) => history,
            // Nothing has been recorded.
            Err(HistoryError::NoHistory(_)) => return Ok(Vec::new()),
            Err(error) => return Err(why(error)),
        };
        let is_there =
            |name: &FileName| !matches!(self.disk.stat(&self.home.join(name.to_path())), Ok(None));
        let missing = missing(&history, self.disk, &self.folders).map_err(why)?;
        let books = history.books_of_deleted(&missing, &is_there).map_err(why)?;
        Ok(books.into_iter().map(|(label, book)| DeletedChat { label, book }).collect())
    }
}
