//! `forklore run`: starts SillyTavern, and records as long as it runs.
//!
//! What records is a process of its own. Whatever becomes of it, SillyTavern goes on; and it ends when its input is
//! closed, so it never outlives this one, however that ends.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use forklore_tavern::disk::RealDisk;
use forklore_tavern::locate::root::find_root;

use crate::args::{Cli, RunArgs};
use crate::commands::Outcome;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::objection::Objection;
use crate::ui::Ui;

/// How often is looked whether the recorder still runs, or the data folder is there.
const LOOK: Duration = Duration::from_millis(500);
/// How long the recorder may take for its last versions.
const LAST: Duration = Duration::from_secs(20);
/// Before it is started again, the first time; each time twice as long.
const PAUSE: Duration = Duration::from_secs(5);
const STARTS: u32 = 5;

pub(crate) fn run(ui: &mut Ui<'_>, cli: &Cli, args: &RunArgs) -> Outcome {
    let recording = Recording::new(cli, &args.command);
    let program = args.command[0].to_string_lossy();
    let mut tavern = start(&args.command).map_err(|error| not_started(&program, error))?;
    pass_signals(&tavern);
    let (runs, ended) = channel::<()>();
    let tavern = thread::spawn(move || {
        let status = tavern.wait();
        drop(runs);
        status
    });
    recording.keep_up(ui, &ended);
    let status = tavern.join().unwrap_or_else(|_| Err(io::ErrorKind::Other.into()));
    let status = status.map_err(|error| not_started("SillyTavern", error))?;
    Ok(Exit::Passed(code_of(status)))
}

fn not_started(program: &str, error: io::Error) -> CommandError {
    CommandError::new(Objection::NotStarted { program: program.to_owned(), error })
}

/// On Windows `npm` is a script, which has to be called by its whole name.
fn start(command: &[OsString]) -> io::Result<Child> {
    let start = |program: &OsStr| Command::new(program).args(&command[1..]).spawn();
    let started = start(&command[0]);
    match started {
        Err(error) if cfg!(windows) && error.kind() == io::ErrorKind::NotFound => {
            let mut script = command[0].clone();
            script.push(".cmd");
            start(&script).map_err(|_| error)
        }
        other => other,
    }
}

/// What a shell would say of it.
fn code_of(status: ExitStatus) -> u8 {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return u8::try_from(128 + signal).unwrap_or(u8::MAX);
    }
    status.code().map_or(u8::MAX, |code| u8::try_from(code).unwrap_or(u8::MAX))
}

/// Ctrl-C reaches everything in the terminal, and it is SillyTavern that decides. What is said to us alone is said on.
#[cfg(unix)]
fn pass_signals(tavern: &Child) {
    use rustix::process::{Pid, Signal, kill_process};
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    let Some(tavern) = Pid::from_raw(tavern.id().cast_signed()) else { return };
    if let Ok(mut signals) = signal_hook::iterator::Signals::new([SIGINT, SIGTERM, SIGHUP]) {
        thread::spawn(move || {
            for signal in signals.forever() {
                let passed = match signal {
                    SIGINT if io::IsTerminal::is_terminal(&io::stdin()) => continue,
                    SIGINT => Signal::INT,
                    SIGHUP => Signal::HUP,
                    _ => Signal::TERM,
                };
                let _ = kill_process(tavern, passed);
            }
        });
    }
}

/// Ctrl-C reaches everything in the console, and it is SillyTavern that decides.
#[cfg(not(unix))]
fn pass_signals(_: &Child) {
    let _ = ctrlc::set_handler(|| ());
}

/// How to start what records.
struct Recording {
    data: Option<PathBuf>,
    options: Vec<OsString>,
}

impl Recording {
    fn new(cli: &Cli, command: &[OsString]) -> Self {
        let data = cli.data.clone().or_else(|| data_root(command));
        let mut options: Vec<OsString> = Vec::new();
        let mut add = |name: &str, value: Option<OsString>| {
            options.extend(value.into_iter().flat_map(|value| [name.into(), value]));
        };
        add("--data", data.clone().map(Into::into));
        add("--history", cli.history.clone().map(Into::into));
        add("--user", cli.user.clone().map(Into::into));
        options.extend(["watch", "--quiet", "--until-closed"].map(OsString::from));
        if cli.user.is_none() {
            options.push("--all-users".into());
        }
        Self { data, options }
    }

    /// Records until `ended` is.
    fn keep_up(&self, ui: &mut Ui<'_>, ended: &Receiver<()>) {
        let mut pause = PAUSE;
        for _ in 0..STARTS {
            // SillyTavern makes its folder when it starts for the first time.
            while !self.has_data() {
                if has_ended(ended, LOOK) {
                    return;
                }
            }
            if self.record(ui, ended) || has_ended(ended, pause) {
                return;
            }
            pause *= 2;
        }
        ui.note("Forklore: nothing is recorded any more. SillyTavern goes on.");
    }

    fn has_data(&self) -> bool {
        let around = crate::environment().given(self.data.as_deref());
        find_root(&RealDisk, &around).is_ok()
    }

    /// Returns whether there is no more to do; otherwise what records has failed.
    fn record(&self, ui: &mut Ui<'_>, ended: &Receiver<()>) -> bool {
        let recorder = std::env::current_exe()
            .and_then(|us| Command::new(us).args(&self.options).stdin(Stdio::piped()).spawn());
        let mut recorder = match recorder {
            Ok(recorder) => recorder,
            Err(error) => {
                ui.note(format!("Forklore: nothing is recorded: {error}"));
                return false;
            }
        };
        while !has_ended(ended, LOOK) {
            if let Ok(Some(status)) = recorder.try_wait() {
                // Somebody else records already.
                return status.success();
            }
        }
        drop(recorder.stdin.take());
        let end = Instant::now() + LAST;
        while Instant::now() < end {
            if recorder.try_wait().is_ok_and(|status| status.is_some()) {
                return true;
            }
            thread::sleep(LOOK / 10);
        }
        let _ = recorder.kill();
        let _ = recorder.wait();
        true
    }
}

/// Waits a while for the end.
fn has_ended(ended: &Receiver<()>, wait: Duration) -> bool {
    matches!(ended.recv_timeout(wait), Err(RecvTimeoutError::Disconnected))
}

/// The data folder that SillyTavern is told to take.
fn data_root(command: &[OsString]) -> Option<PathBuf> {
    let mut words = command.iter();
    while let Some(word) = words.next() {
        match word.to_str() {
            Some("--dataRoot") => return words.next().map(PathBuf::from),
            Some(word) => {
                if let Some(root) = word.strip_prefix("--dataRoot=") {
                    return Some(PathBuf::from(root));
                }
            }
            None => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_sillytavern_is_told_to_take_is_ours_too() {
        let root = |words: &[&str]| {
            let words: Vec<OsString> = words.iter().map(OsString::from).collect();
            data_root(&words)
        };
        assert_eq!(root(&["node", "server.js"]), None);
        assert_eq!(root(&["node", "server.js", "--dataRoot", "/x y"]), Some("/x y".into()));
        assert_eq!(root(&["node", "server.js", "--dataRoot=/x"]), Some("/x".into()));
        assert_eq!(root(&["node", "server.js", "--dataRoot"]), None);
    }
}
