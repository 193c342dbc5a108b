//! `forklore run`: starts SillyTavern and records while it runs.
//!
//! The recorder is a separate process. SillyTavern keeps running whatever happens to it. The
//! recorder stops when its stdin is closed, so it never outlives this process, however that ends.

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

/// How often to check whether the recorder is still running, or whether the data folder exists.
const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// How long the recorder may take to write its last versions.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(20);
/// The delay before the first restart. It doubles each time.
const RESTART_DELAY: Duration = Duration::from_secs(5);
const MAX_STARTS: u32 = 5;

pub(crate) fn run(ui: &mut Ui<'_>, cli: &Cli, args: &RunArgs) -> Outcome {
    let recorder = RecorderCommand::new(cli, &args.command);
    let program = args.command[0].to_string_lossy();
    // Caught before it starts: a signal in between would end only this process, and SillyTavern
    // would not be told.
    let signals = catch_signals();
    let mut tavern = start(&args.command).map_err(|error| not_started(&program, error))?;
    forward(signals, &tavern);
    let (running, ended) = channel::<()>();
    let tavern = thread::spawn(move || {
        let status = tavern.wait();
        drop(running);
        status
    });
    recorder.supervise(ui, &ended);
    let status = tavern.join().unwrap_or_else(|_| Err(io::ErrorKind::Other.into()));
    let status = status.map_err(|error| not_started("SillyTavern", error))?;
    Ok(Exit::Passed(exit_code(status)))
}

fn not_started(program: &str, error: io::Error) -> CommandError {
    CommandError::new(Objection::NotStarted { program: program.to_owned(), error })
}

/// On Windows, `npm` is a script that must be called with its extension.
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

/// The exit code a shell would report.
fn exit_code(status: ExitStatus) -> u8 {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return u8::try_from(128 + signal).unwrap_or(u8::MAX);
    }
    status.code().map_or(u8::MAX, |code| u8::try_from(code).unwrap_or(u8::MAX))
}

#[cfg(unix)]
fn catch_signals() -> Option<signal_hook::iterator::Signals> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    signal_hook::iterator::Signals::new([SIGINT, SIGTERM, SIGHUP]).ok()
}

/// Ctrl-C already reaches every process in the terminal, and SillyTavern decides what to do with
/// it. Signals sent to this process alone are forwarded.
#[cfg(unix)]
fn forward(signals: Option<signal_hook::iterator::Signals>, tavern: &Child) {
    use rustix::process::{Pid, Signal, kill_process};
    use signal_hook::consts::{SIGHUP, SIGINT};
    let Some(tavern) = Pid::from_raw(tavern.id().cast_signed()) else { return };
    let Some(mut signals) = signals else { return };
    thread::spawn(move || {
        for signal in signals.forever() {
            let forwarded = match signal {
                SIGINT if io::IsTerminal::is_terminal(&io::stdin()) => continue,
                SIGINT => Signal::INT,
                SIGHUP => Signal::HUP,
                _ => Signal::TERM,
            };
            let _ = kill_process(tavern, forwarded);
        }
    });
}

/// Ctrl-C already reaches every process in the console, and SillyTavern decides what to do with it.
#[cfg(not(unix))]
fn catch_signals() -> Result<(), ctrlc::Error> {
    ctrlc::set_handler(|| ())
}

#[cfg(not(unix))]
fn forward(_: Result<(), ctrlc::Error>, _: &Child) {}

/// How to start the recorder.
struct RecorderCommand {
    data: Option<PathBuf>,
    options: Vec<OsString>,
}

impl RecorderCommand {
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

    /// Keeps a recorder running until `ended` is disconnected.
    fn supervise(&self, ui: &mut Ui<'_>, ended: &Receiver<()>) {
        let mut delay = RESTART_DELAY;
        for _ in 0..MAX_STARTS {
            // SillyTavern creates its data folder on its first start.
            while !self.has_data() {
                if wait_for_end(ended, POLL_INTERVAL) {
                    return;
                }
            }
            if self.run_recorder(ui, ended) || wait_for_end(ended, delay) {
                return;
            }
            delay *= 2;
        }
        ui.note("Forklore: recording has stopped. SillyTavern keeps running.");
    }

    fn has_data(&self) -> bool {
        let environment = crate::environment().given(self.data.as_deref());
        find_root(&RealDisk, &environment).is_ok()
    }

    /// Returns true if there is nothing left to do, false if the recorder failed.
    fn run_recorder(&self, ui: &mut Ui<'_>, ended: &Receiver<()>) -> bool {
        let recorder = std::env::current_exe()
            .and_then(|us| Command::new(us).args(&self.options).stdin(Stdio::piped()).spawn());
        let mut recorder = match recorder {
            Ok(recorder) => recorder,
            Err(error) => {
                ui.note(format!("Forklore: not recording: {error}"));
                return false;
            }
        };
        while !wait_for_end(ended, POLL_INTERVAL) {
            if let Ok(Some(status)) = recorder.try_wait() {
                // It exits successfully if another process is already recording.
                return status.success();
            }
        }
        drop(recorder.stdin.take());
        let end = Instant::now() + SHUTDOWN_TIMEOUT;
        while Instant::now() < end {
            if recorder.try_wait().is_ok_and(|status| status.is_some()) {
                return true;
            }
            thread::sleep(POLL_INTERVAL / 10);
        }
        let _ = recorder.kill();
        let _ = recorder.wait();
        true
    }
}

/// Waits up to `wait` for SillyTavern to end. Returns whether it has.
fn wait_for_end(ended: &Receiver<()>, wait: Duration) -> bool {
    matches!(ended.recv_timeout(wait), Err(RecvTimeoutError::Disconnected))
}

/// The data folder passed to SillyTavern on its command line.
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
