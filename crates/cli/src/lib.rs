//! The `forklore` command: arguments, output, colours and exit codes.
//!
//! This is the only crate that prints. Messages are built from values of the other crates; the
//! hints on how to fix an error exist only here.

mod args;
mod codes;
mod commands;
mod completing;
mod error;
mod exit;
mod file;
mod help;
mod json;
mod lore;
mod objection;
mod text;
mod ui;
mod when;

use std::ffi::OsString;
use std::io::IsTerminal as _;
use std::process::ExitCode;

use clap::{ArgMatches, FromArgMatches as _};
use forklore_tavern::disk::clock::{Clock, SystemClock};
use forklore_tavern::disk::{Disk, RealDisk};
use forklore_tavern::locate::environment::{Environment, Os};
use jiff::tz::TimeZone;

pub use args::Cli;
pub use codes::codes;
pub use ui::{Terminal, Ui};

/// The command's environment. Tests supply their own.
pub struct Context<'a> {
    pub disk: &'a dyn Disk,
    pub clock: &'a dyn Clock,
    pub environment: Environment,
    /// The command that opens a file for editing.
    pub editor: Option<OsString>,
}

/// Runs with the process's own arguments, files and terminal.
pub fn main() -> ExitCode {
    completing::respond();
    let (stdout, stderr) = (std::io::stdout(), std::io::stderr());
    let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    let terminal = Terminal {
        out: stdout.is_terminal(),
        err: stderr.is_terminal(),
        input: std::io::stdin().is_terminal(),
        color: stdout.is_terminal() && !no_color && !is_dumb,
        columns: columns(),
    };
    let mut ui = Ui::new(Box::new(stdout), Box::new(stderr), terminal)
        .with_input(Box::new(std::io::stdin()))
        .with_zone(TimeZone::system());
    if let Some(zone) = unknown_zone() {
        ui.note(format!("The time zone {zone:?} in TZ is not known here: times are in UTC."));
    }
    let context = Context {
        disk: &RealDisk,
        clock: &SystemClock,
        environment: environment(),
        editor: editor(),
    };
    ExitCode::from(run(&mut ui, context, std::env::args_os()))
}

/// The zone in `TZ`, if it is a name that stands for none.
fn unknown_zone() -> Option<String> {
    let name = std::env::var("TZ").ok().filter(|name| !name.is_empty())?;
    // A path, or rules as POSIX has them, is not a name.
    let is_name = !name.starts_with([':', '/']) && TimeZone::posix(&name).is_err();
    (is_name && TimeZone::get(&name).is_err()).then_some(name)
}

fn columns() -> Option<usize> {
    let terminal = terminal_size::terminal_size().map(|(columns, _)| usize::from(columns.0));
    terminal.or_else(|| std::env::var("COLUMNS").ok()?.parse().ok())
}

fn editor() -> Option<OsString> {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    set("VISUAL").or_else(|| set("EDITOR"))
}

fn environment() -> Environment {
    let working_folder = std::env::current_dir().unwrap_or_default();
    Environment::new(None, working_folder, Os::CURRENT, |name| std::env::var_os(name))
}

/// The command as typed, such as `history verify`.
fn command_path(matches: &ArgMatches) -> String {
    match matches.subcommand() {
        Some((name, matches)) => format!("{name} {}", command_path(matches)).trim_end().to_owned(),
        None => String::new(),
    }
}

/// Runs one command and returns its exit code: 0, 1 (found a problem or a difference), 2 (failed or
/// was refused) or 64 (usage error).
pub fn run(
    ui: &mut Ui<'_>,
    context: Context<'_>,
    args: impl IntoIterator<Item = impl Into<OsString> + Clone>,
) -> u8 {
    let cli = help::command()
        .try_get_matches_from(args)
        .and_then(|matches| Ok((Cli::from_arg_matches(&matches)?, command_path(&matches))));
    let exit = match cli {
        Ok((cli, command)) => {
            ui.configure(cli.color, cli.json, cli.folder_options());
            ui.set_user(cli.user.as_deref());
            match commands::run(ui, context, &cli) {
                Ok(exit) => exit,
                Err(error) => error.finish(ui, &command),
            }
        }
        // `--help` also arrives as an error, but belongs on stdout.
        Err(error) => ui.usage(&error),
    };
    ui.finish(exit).code()
}
