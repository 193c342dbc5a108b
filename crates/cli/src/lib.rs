//! The `forklore` command: arguments, words, colours and exit codes.
//!
//! The only crate that prints. What it says comes from values of `forklore_core` and
//! `forklore_tavern`; what to do about an error is said here and nowhere else.

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

/// What the command takes from outside. Tests bring their own.
pub struct Context<'a> {
    pub disk: &'a dyn Disk,
    pub clock: &'a dyn Clock,
    pub environment: Environment,
    /// The command that opens a file for editing.
    pub editor: Option<OsString>,
}

/// Runs with the process's own arguments, files and terminal.
pub fn main() -> ExitCode {
    completing::answer();
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
    let mut ui =
        Ui::new(Box::new(stdout), Box::new(stderr), terminal).living_in(TimeZone::system());
    let context = Context {
        disk: &RealDisk,
        clock: &SystemClock,
        environment: environment(),
        editor: editor(),
    };
    ExitCode::from(run(&mut ui, context, std::env::args_os()))
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

/// `history verify`
fn name_of(matches: &ArgMatches) -> String {
    match matches.subcommand() {
        Some((name, matches)) => format!("{name} {}", name_of(matches)).trim_end().to_owned(),
        None => String::new(),
    }
}

/// Runs one command and answers with its exit code: 0, 1 (something was found or differs), 2 (it failed or was refused) or
/// 64 (wrong usage).
pub fn run(
    ui: &mut Ui<'_>,
    context: Context<'_>,
    args: impl IntoIterator<Item = impl Into<OsString> + Clone>,
) -> u8 {
    let cli = help::command()
        .try_get_matches_from(args)
        .and_then(|matches| Ok((Cli::from_arg_matches(&matches)?, name_of(&matches))));
    let exit = match cli {
        Ok((cli, command)) => {
            ui.settle(cli.color, cli.json, cli.chosen());
            match commands::run(ui, context, &cli) {
                Ok(exit) => exit,
                Err(error) => error.end(ui, &command),
            }
        }
        // `--help` arrives here too; it is what was asked for, and belongs on stdout.
        Err(error) => ui.usage(&error),
    };
    ui.end(exit).code()
}
