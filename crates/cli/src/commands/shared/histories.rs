//! Where histories are kept, and what they know of a moment.

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
use forklore_tavern::work::tavern::{GoneChat, PastSource, Tavern};

use crate::Context;
use crate::args::Cli;
use crate::error::CommandError;

/// Where histories are kept.
pub(crate) struct Histories {
    chosen: Option<PathBuf>,
    pub(crate) host: String,
}

impl Histories {
    pub(crate) fn new(context: &Context<'_>, cli: &Cli) -> Self {
        let environment = &context.environment;
        let chosen = cli.history.clone().or_else(|| environment.forklore_history.clone());
        Self { chosen, host: environment.host.clone() }
    }

    pub(crate) fn folder(&self, tavern: &Tavern<'_>) -> PathBuf {
        self.of_root(tavern.folders.data_root.root())
    }

    /// The folder of all histories of a data folder.
    pub(crate) fn of_root(&self, root: &Path) -> PathBuf {
        place::folder(root, self.chosen.as_deref())
    }

    pub(crate) fn repository(&self, tavern: &Tavern<'_>) -> PathBuf {
        place::repository(&self.folder(tavern), &tavern.folders.handle)
    }

    /// The user's history, made where there is none.
    pub(crate) fn open<'d>(&self, tavern: &Tavern<'d>) -> Result<History<'d>, CommandError> {
        place::make(tavern.disk, &self.folder(tavern))?;
        Ok(History::open(tavern.disk, tavern.clock, self.repository(tavern), &self.host)?)
    }

    /// The user's history, if there is one.
    pub(crate) fn open_existing<'d>(
        &self,
        tavern: &Tavern<'d>,
    ) -> Result<History<'d>, CommandError> {
        Ok(History::open_existing(tavern.disk, tavern.clock, self.repository(tavern))?)
    }
}

/// The history as a source of moments, opened when it is asked.
pub(crate) struct Versions<'d> {
    disk: &'d dyn Disk,
    clock: &'d dyn Clock,
    home: PathBuf,
    folders: UserFolders,
    repository: PathBuf,
}

impl<'d> Versions<'d> {
    pub(crate) fn new(tavern: &Tavern<'d>, histories: &Histories) -> Self {
        Self {
            disk: tavern.disk,
            clock: tavern.clock,
            home: home(&tavern.folders),
            folders: tavern.folders.clone(),
            repository: histories.repository(tavern),
        }
    }
}

impl PastSource for Versions<'_> {
    fn past(&self, file: &ChatFile, chat: &Chat<'_>, message: usize) -> Option<RecordedPast> {
        let name = FileName::of_path(file.path.strip_prefix(&self.home).ok()?);
        // What cannot be read says nothing; `forklore history verify` says why.
        let history = History::open_existing(self.disk, self.clock, &self.repository).ok()?;
        past(&history, &name, chat, message).ok()?
    }

    fn sealed(&self, books: &[&str], digest: Digest) -> Option<Vec<u8>> {
        let history = History::open_existing(self.disk, self.clock, &self.repository).ok()?;
        sealed(&history, books, digest).ok()?
    }

    fn gone(&self) -> Result<Vec<GoneChat>, String> {
        let why = |error: HistoryError| CommandError::from(error).in_a_line();
        let history = match History::open_existing(self.disk, self.clock, &self.repository) {
            Ok(history) => history,
            // Nobody has kept anything.
            Err(HistoryError::NoHistory(_)) => return Ok(Vec::new()),
            Err(error) => return Err(why(error)),
        };
        let is_there =
            |name: &FileName| !matches!(self.disk.stat(&self.home.join(name.to_path())), Ok(None));
        let missing = missing(&history, self.disk, &self.folders).map_err(why)?;
        let books = history.books_of_gone(&missing, &is_there).map_err(why)?;
        Ok(books.into_iter().map(|(label, book)| GoneChat { label, book }).collect())
    }
}
