//! The data folder and the user that a command works on. Whoever has a history counts as a user:
//! it can be read, and brought back, when the folder is gone.

use std::path::{Path, PathBuf};

use forklore_history::store::place;
use forklore_history::version::history::History;
use forklore_tavern::disk::Disk;
use forklore_tavern::folder::layout::UserFolders;
use forklore_tavern::locate::root::{FoundRoot, RejectReason, RejectedPlace, RootError, find_root};
use forklore_tavern::locate::users::{Needs, Users};
use forklore_tavern::work::tavern::Tavern;

use super::histories::Histories;
use crate::Context;
use crate::args::{Cli, Command, HistoryCommand};
use crate::error::CommandError;

/// A data folder and its users.
pub(crate) struct Place {
    pub(crate) root: PathBuf,
    pub(crate) users: Users,
    /// The user, if the path that was given is a user's folder.
    handle: Option<String>,
}

impl Place {
    pub(crate) fn find(
        context: &Context<'_>,
        cli: &Cli,
        histories: &Histories,
    ) -> Result<Self, CommandError> {
        let disk = context.disk;
        let environment = context.environment.clone().given(cli.data.as_deref());
        let found = find_root(disk, &environment).or_else(|error| {
            let is_enough = needs(&cli.command) == Needs::Nothing;
            match instead(disk, histories, &error, is_enough) {
                Some(found) => Ok(found),
                None => Err(CommandError::from(error)),
            }
        })?;
        let mut users = Users::find(disk, &found.root)?;
        let mut handles = histories.handles(disk, &found.root);
        let has_folder =
            |handle: &str| users.users.iter().any(|user| user.has_folder && user.handle == handle);
        // A user who was deleted on purpose is only one when asked for.
        handles.retain(|handle| {
            has_folder(handle)
                || cli.user.as_ref() == Some(handle)
                || is_missed(context, histories, &found.root, handle)
        });
        users.add_recorded(handles);
        Ok(Self { root: found.root, users, handle: found.handle })
    }

    /// The user that the command works on.
    pub(crate) fn user(&self, cli: &Cli) -> Result<String, CommandError> {
        let wanted = cli.user.as_deref().or(self.handle.as_deref());
        let chosen = self.users.choose(wanted, needs(&cli.command));
        // Nothing else can say what is missing when the folder is.
        let chosen = match (&cli.command, chosen) {
            (Command::Status, Err(_)) => self.users.choose(wanted, Needs::FolderOrHistory),
            (_, chosen) => chosen,
        };
        Ok(chosen?)
    }

    /// Whether a command has to say which user it means.
    pub(crate) fn has_several_users(&self) -> bool {
        self.users.users.iter().filter(|user| user.has_folder || user.has_history).count() > 1
    }

    pub(crate) fn tavern<'d>(
        &self,
        context: &Context<'d>,
        handle: &str,
    ) -> Result<Tavern<'d>, CommandError> {
        let folders = UserFolders::new(&self.root, handle)?;
        Ok(Tavern { disk: context.disk, clock: context.clock, folders, pasts: None })
    }
}

/// Whether anything of a user without a folder is missed, or has never been here: it came from
/// another machine. What cannot be read is missed.
fn is_missed(context: &Context<'_>, histories: &Histories, root: &Path, handle: &str) -> bool {
    let repository = place::repository(&histories.folder_for(root), handle);
    let history = History::open_existing(context.disk, context.clock, repository);
    history.map_or(true, |history| {
        let mut own = history.lineages().own(history.machine());
        own.next().is_none() || history.all_as_gone().is_some()
    })
}

/// What has to be there of the user for a command to do its work.
fn needs(command: &Command) -> Needs {
    match command {
        Command::History(args) => match args.command {
            HistoryCommand::Pull(_) | HistoryCommand::Unbundle(_) => Needs::Nothing,
            _ => Needs::FolderOrHistory,
        },
        Command::Log(_) | Command::Rescue(_) | Command::Undelete(_) | Command::Watch(_) => {
            Needs::FolderOrHistory
        }
        Command::Show(args) if args.version.is_some() => Needs::FolderOrHistory,
        Command::Diff(args) if args.version.is_some() => Needs::FolderOrHistory,
        Command::Restore(args) if args.version.is_some() => Needs::FolderOrHistory,
        _ => Needs::Folder,
    }
}

/// The first place that would be the data folder if it held anything: one with histories beside
/// it or, if an empty one `is_enough`, one that exists or was named.
fn instead(
    disk: &dyn Disk,
    histories: &Histories,
    error: &RootError,
    is_enough: bool,
) -> Option<FoundRoot> {
    let places = error
        .looked
        .iter()
        .filter(|place| matches!(place.why, RejectReason::Absent | RejectReason::NotADataRoot));
    let recorded = places.clone().find_map(|place| recorded_at(disk, histories, place));
    let usable = |place: &&RejectedPlace| {
        matches!(place.why, RejectReason::NotADataRoot) || histories.is_data_named
    };
    if recorded.is_some() || !is_enough {
        return recorded;
    }
    let place = places.into_iter().find(usable)?;
    Some(FoundRoot { root: place.path.clone(), handle: None, how: place.how })
}

fn recorded_at(disk: &dyn Disk, histories: &Histories, place: &RejectedPlace) -> Option<FoundRoot> {
    let RejectedPlace { path, how, .. } = place;
    let handles = |root: &Path| histories.handles(disk, root);
    if let (Some(root), Some(name)) = (path.parent(), path.file_name().and_then(|it| it.to_str()))
        && handles(root).iter().any(|handle| handle == name)
    {
        let (root, handle) = (root.to_owned(), Some(name.to_owned()));
        return Some(FoundRoot { root, handle, how: *how });
    }
    // The folder of a container's volumes contains `data`, but no server.
    let roots = [path.clone(), path.join("data")];
    let root = roots.into_iter().find(|root| !handles(root).is_empty())?;
    Some(FoundRoot { root, handle: None, how: *how })
}
