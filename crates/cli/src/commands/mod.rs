//! The commands, each in the file of its name.

mod check;
pub(crate) mod clean;
mod diff;
mod doctor;
mod fork;
pub(crate) mod history;
mod mend;
mod merge;
mod pages;
mod run;
mod service;
mod show;
mod status;
mod strip;
mod trash;
mod tree;
mod undo;
mod verify;

use forklore_tavern::folders::UserFolders;
use forklore_tavern::root::find_root;
use forklore_tavern::tavern::Tavern;
use forklore_tavern::users::Users;

use crate::Outside;
use crate::args::{Cli, Command, RecordArgs, WatchArgs};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::ui::Ui;

pub(crate) use history::Histories;

pub(crate) type Outcome = Result<Exit, CommandError>;

pub(crate) fn run(ui: &mut Ui<'_>, outside: Outside<'_>, cli: &Cli) -> Outcome {
    match &cli.command {
        Command::Completions { shell } => return pages::completions(ui, *shell),
        Command::Man { command } => return pages::man(ui, command),
        Command::Run(args) => return run::run(ui, cli, args),
        _ => {}
    }
    let editor = outside.editor.clone();
    let histories = Histories::new(&outside, cli);
    if let Command::Doctor = &cli.command {
        return doctor::run(ui, &outside, cli, &histories);
    }
    if let Command::Service(args) = &cli.command {
        return service::run(ui, &outside, cli, &histories, &args.command);
    }
    if let Command::Record(RecordArgs { all_users: true })
    | Command::Watch(WatchArgs { all_users: true, .. }) = &cli.command
    {
        return history::for_all(ui, outside, cli, &histories);
    }
    let tavern = open(outside, cli)?;
    let pasts = history::Versions::new(&tavern, &histories);
    let tavern = Tavern { pasts: Some(&pasts), ..tavern };
    match &cli.command {
        Command::Status => status::run(ui, &tavern, &histories),
        Command::Tree(args) => tree::run(ui, &tavern, args),
        Command::Check(args) => check::run(ui, &tavern, args),
        Command::Checkpoint(args) => fork::checkpoint(ui, &tavern, args),
        Command::Branch(args) => fork::branch(ui, &tavern, args),
        Command::Show(args) => show::run(ui, &tavern, &histories, args),
        Command::Diff(args) => diff::run(ui, &tavern, &histories, args),
        Command::Merge(args) => merge::merge(ui, &tavern, args, editor.as_deref()),
        Command::Pick(args) => merge::pick(ui, &tavern, args, editor.as_deref()),
        Command::Verify(args) => verify::run(ui, &tavern, args),
        Command::Repair(args) => mend::repair(ui, &tavern, args),
        Command::Split(args) => mend::split(ui, &tavern, args),
        Command::Restore(args) => mend::restore(ui, &tavern, &histories, args),
        Command::Clean(args) => clean::run(ui, &tavern, args),
        Command::Trash(args) => trash::run(ui, &tavern, args),
        Command::Undo(args) => undo::run(ui, &tavern, args),
        Command::Strip(args) => strip::run(ui, &tavern, args),
        Command::Record(_) => history::record::run(ui, &[tavern], &histories),
        Command::Watch(args) => history::watch::run(ui, &[tavern], &histories, args),
        Command::Log(args) => history::log::run(ui, &tavern, &histories, args),
        Command::Undelete(args) => history::undelete::run(ui, &tavern, &histories, args),
        Command::Rescue(args) => history::rescue::run(ui, &tavern, &histories, args),
        Command::History(args) => history::run(ui, &tavern, &histories, args),
        Command::Completions { .. }
        | Command::Doctor
        | Command::Man { .. }
        | Command::Run(_)
        | Command::Service(_) => Ok(Exit::Fine),
    }
}

/// Finds the data folder and the user meant.
fn open<'a>(outside: Outside<'a>, cli: &Cli) -> Result<Tavern<'a>, CommandError> {
    let Outside { disk, chance, surroundings, editor: _ } = outside;
    let surroundings = surroundings.given(cli.data.as_deref());
    let found = find_root(disk, &surroundings)?;
    let users = Users::find(disk, &found.root)?;
    let wanted = cli.user.as_deref().or(found.handle.as_deref());
    let user = users.choose(wanted)?;
    let folders = UserFolders::new(&found.root, &user.handle)?;
    Ok(Tavern { disk, chance, folders, pasts: None })
}
