//! The commands: each in the file of its name, in the folder of its group in `forklore --help`.

mod fork;
mod history;
pub(crate) mod look;
mod combine;
mod keep;
pub(crate) mod recover;
mod setup;
pub(crate) mod shared;
pub(crate) mod tidy;

use forklore_tavern::work::tavern::{PastSource as _, Tavern};

use crate::Context;
use crate::args::{Cli, Command, RecordArgs, WatchArgs};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::text::{Line, Style};
use crate::ui::Ui;

use shared::damage::PastUnread;
pub(crate) use shared::histories::{Histories, HistoryPast};
use shared::place::Place;

pub(crate) type Outcome = Result<Exit, CommandError>;

pub(crate) fn run(ui: &mut Ui<'_>, context: Context<'_>, cli: &Cli) -> Outcome {
    match &cli.command {
        Command::Completions { shell } => return setup::completions::run(ui, *shell),
        Command::Man { command } => return setup::man::run(ui, command),
        Command::Run(args) => return keep::run::run(ui, cli, args),
        _ => {}
    }
    let editor = context.editor.clone();
    let histories = Histories::new(&context, cli);
    if let Command::Doctor = &cli.command {
        return setup::doctor::run(ui, &context, cli, &histories);
    }
    if let Command::Service(args) = &cli.command {
        return setup::service::run(ui, &context, cli, &histories, &args.command);
    }
    if let Command::Record(RecordArgs { all_users: true })
    | Command::Watch(WatchArgs { all_users: true, .. }) = &cli.command
    {
        return keep::for_all(ui, &context, cli, &histories);
    }
    let place = Place::find(&context, cli, &histories)?;
    let handle = place.user(cli)?;
    if place.has_several_users() {
        ui.set_user(Some(&handle));
    }
    let tavern = place.tavern(&context, &handle)?;
    let pasts = HistoryPast::new(&tavern, &histories);
    let tavern = Tavern { pasts: Some(&pasts), ..tavern };
    let outcome = match &cli.command {
        Command::Status => look::status::run(ui, &tavern, &histories, &place.users),
        Command::Tree(args) => look::tree::run(ui, &tavern, args),
        Command::Check(args) => look::check::run(ui, &tavern, args),
        Command::Checkpoint(args) => fork::checkpoint::run(ui, &tavern, args),
        Command::Branch(args) => fork::branch::run(ui, &tavern, args),
        Command::Show(args) => look::show::run(ui, &tavern, &histories, args),
        Command::Diff(args) => look::diff::run(ui, &tavern, &histories, args),
        Command::Merge(args) => combine::merge::run(ui, &tavern, args, editor.as_deref()),
        Command::Pick(args) => combine::pick::run(ui, &tavern, args, editor.as_deref()),
        Command::Verify(args) => look::verify::run(ui, &tavern, args),
        Command::Repair(args) => tidy::repair::run(ui, &tavern, args),
        Command::Split(args) => tidy::split::run(ui, &tavern, args),
        Command::Restore(args) => recover::restore::run(ui, &tavern, &histories, args),
        Command::Clean(args) => tidy::clean::run(ui, &tavern, args),
        Command::Trash(args) => recover::trash::run(ui, &tavern, args),
        Command::Undo(args) => recover::undo::run(ui, &tavern, args),
        Command::Strip(args) => tidy::strip::run(ui, &tavern, args),
        Command::Record(_) => keep::record::run(ui, &[tavern], &histories),
        Command::Watch(args) => keep::watch::run(ui, &[tavern], &histories, args),
        Command::Log(args) => look::log::run(ui, &tavern, &histories, args),
        Command::Undelete(args) => recover::undelete::run(ui, &tavern, &histories, args),
        Command::Rescue(args) => recover::rescue::run(ui, &tavern, &histories, args),
        Command::History(args) => history::run(ui, &tavern, &histories, args),
        Command::Completions { .. }
        | Command::Doctor
        | Command::Man { .. }
        | Command::Run(_)
        | Command::Service(_) => Ok(Exit::Fine),
    };
    if pasts.is_damaged() {
        ui.note(Line::new().add(Style::Bad, "  ! ").plain(PastUnread.to_string()));
    }
    outcome
}
