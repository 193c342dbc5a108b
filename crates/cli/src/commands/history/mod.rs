//! The commands that keep and read a history.

mod alarm;
mod bundle;
mod dismiss;
mod gone;
mod import;
pub(crate) mod log;
mod lines;
mod pack;
mod pull;
mod purge;
mod push;
pub(crate) mod record;
mod repair;
pub(crate) mod rescue;
pub(crate) mod restore;
pub(crate) mod show;
pub(crate) mod standing;
mod thin;
pub(crate) mod undelete;
mod verify;
pub(crate) mod watch;

use std::path::{Path, PathBuf};

use forklore_core::chat::Chat;
use forklore_core::digest::Digest;
use forklore_core::moment::Past;
use forklore_history::HistoryError;
use forklore_history::file::Name;
use forklore_history::history::History;
use forklore_history::past::{past, sealed};
use forklore_history::place;
use forklore_history::scan::home;
use forklore_history::vanishing::missing;
use forklore_tavern::chance::Chance;
use forklore_tavern::disk::Disk;
use forklore_tavern::folders::UserFolders;
use forklore_tavern::library::ChatFile;
use forklore_tavern::root::find_root;
use forklore_tavern::tavern::{GoneChat, Pasts, Tavern};
use forklore_tavern::users::Users;

use super::Outcome;
use crate::Outside;
use crate::args::{Cli, Command, HistoryArgs, HistoryCommand};
use crate::error::CommandError;
use crate::ui::Ui;

/// Where histories are kept.
pub(crate) struct Histories {
    chosen: Option<PathBuf>,
    host: String,
}

impl Histories {
    pub(crate) fn new(outside: &Outside<'_>, cli: &Cli) -> Self {
        let surroundings = &outside.surroundings;
        let chosen = cli.history.clone().or_else(|| surroundings.forklore_history.clone());
        Self { chosen, host: surroundings.host.clone() }
    }

    fn folder(&self, tavern: &Tavern<'_>) -> PathBuf {
        self.of_root(tavern.folders.inside.root())
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
        Ok(History::open(tavern.disk, tavern.chance, self.repository(tavern), &self.host)?)
    }

    /// The user's history, if there is one.
    pub(crate) fn open_existing<'d>(
        &self,
        tavern: &Tavern<'d>,
    ) -> Result<History<'d>, CommandError> {
        Ok(History::open_existing(tavern.disk, tavern.chance, self.repository(tavern))?)
    }
}

/// The history as a source of moments, opened when it is asked.
pub(crate) struct Versions<'d> {
    disk: &'d dyn Disk,
    chance: &'d dyn Chance,
    home: PathBuf,
    folders: UserFolders,
    repository: PathBuf,
}

impl<'d> Versions<'d> {
    pub(crate) fn new(tavern: &Tavern<'d>, histories: &Histories) -> Self {
        Self {
            disk: tavern.disk,
            chance: tavern.chance,
            home: home(&tavern.folders),
            folders: tavern.folders.clone(),
            repository: histories.repository(tavern),
        }
    }
}

impl Pasts for Versions<'_> {
    fn past(&self, file: &ChatFile, chat: &Chat<'_>, message: usize) -> Option<Past> {
        let name = Name::of_path(file.path.strip_prefix(&self.home).ok()?);
        // What cannot be read says nothing; `forklore history verify` says why.
        let history = History::open_existing(self.disk, self.chance, &self.repository).ok()?;
        past(&history, &name, chat, message).ok()?
    }

    fn sealed(&self, books: &[&str], digest: Digest) -> Option<Vec<u8>> {
        let history = History::open_existing(self.disk, self.chance, &self.repository).ok()?;
        sealed(&history, books, digest).ok()?
    }

    fn gone(&self) -> Result<Vec<GoneChat>, String> {
        let why = |error: HistoryError| CommandError::from(error).in_a_line();
        let history = match History::open_existing(self.disk, self.chance, &self.repository) {
            Ok(history) => history,
            // Nobody has kept anything.
            Err(HistoryError::NoHistory(_)) => return Ok(Vec::new()),
            Err(error) => return Err(why(error)),
        };
        let is_there =
            |name: &Name| !matches!(self.disk.look(&self.home.join(name.to_path())), Ok(None));
        let missing = missing(&history, self.disk, &self.folders).map_err(why)?;
        let books = history.books_of_gone(&missing, &is_there).map_err(why)?;
        Ok(books.into_iter().map(|(label, book)| GoneChat { label, book }).collect())
    }
}

/// `record` and `watch` for every user.
pub(crate) fn for_all(
    ui: &mut Ui<'_>,
    outside: Outside<'_>,
    cli: &Cli,
    histories: &Histories,
) -> Outcome {
    let Outside { disk, chance, surroundings, editor: _ } = outside;
    let surroundings = surroundings.given(cli.data.as_deref());
    let found = find_root(disk, &surroundings)?;
    let users = Users::find(disk, &found.root)?;
    let mut taverns = Vec::new();
    for user in users.users.iter().filter(|user| user.has_folder) {
        let folders = UserFolders::new(&found.root, &user.handle)?;
        taverns.push(Tavern { disk, chance, folders, pasts: None });
    }
    match &cli.command {
        Command::Watch(args) => watch::run(ui, &taverns, histories, args),
        _ => record::run(ui, &taverns, histories),
    }
}

/// `forklore history ...`
pub(crate) fn run(
    ui: &mut Ui<'_>,
    tavern: &Tavern<'_>,
    histories: &Histories,
    args: &HistoryArgs,
) -> Outcome {
    match &args.command {
        HistoryCommand::Pack => pack::run(ui, tavern, histories),
        HistoryCommand::Verify => verify::run(ui, tavern, histories),
        HistoryCommand::Repair => repair::run(ui, tavern, histories),
        HistoryCommand::Thin(args) => thin::run(ui, tavern, histories, args),
        HistoryCommand::Purge(args) => purge::run(ui, tavern, histories, args),
        HistoryCommand::Dismiss(args) => dismiss::run(ui, tavern, histories, args),
        HistoryCommand::Push(args) => push::run(ui, tavern, histories, args),
        HistoryCommand::Pull(args) => pull::run(ui, tavern, histories, args),
        HistoryCommand::Bundle(args) => bundle::make(ui, tavern, histories, args),
        HistoryCommand::Unbundle(args) => bundle::take_in(ui, tavern, histories, args),
        HistoryCommand::Import => import::run(ui, tavern, histories),
    }
}
