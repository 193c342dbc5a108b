//! Input and output: data goes to stdout, everything else to stderr.

use std::io::{self, BufRead as _, Read, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use jiff::tz::TimeZone;

use crate::args::Color;
use crate::exit::Exit;
use crate::json::Json;
use crate::text::{Line, Style, quoted, sanitize};

/// Which streams are terminals, and what the terminal can do.
#[derive(Clone, Copy, Debug, Default)]
pub struct Terminal {
    pub out: bool,
    pub err: bool,
    pub input: bool,
    pub color: bool,
    /// Its width, if known.
    pub columns: Option<usize>,
}

/// Narrower terminals are treated as if they had this width.
const MIN_COLUMNS: usize = 40;
/// Used when the width is unknown.
const DEFAULT_COLUMNS: usize = 80;

pub struct Ui<'a> {
    out: Box<dyn Write + 'a>,
    err: Box<dyn Write + 'a>,
    /// Data from another program.
    input: Box<dyn Read + 'a>,
    terminal: Terminal,
    json: bool,
    /// The first write that failed.
    write_error: Option<io::Error>,
    /// The folders that were named, repeated in every command that is printed as a hint.
    folder_options: String,
    /// The user that such a command has to name.
    user: Option<String>,
    /// Before every line, where a person may read it hours later.
    stamp: String,
    /// The time zone for displayed times.
    zone: TimeZone,
}

/// Whether a command, of which this is the rest of the line, names its user.
fn names_user(rest: &str) -> bool {
    rest.split('`').next().is_some_and(|command| command.contains("--user "))
}

impl<'a> Ui<'a> {
    pub fn new(out: Box<dyn Write + 'a>, err: Box<dyn Write + 'a>, terminal: Terminal) -> Self {
        Self {
            out,
            err,
            input: Box::new(io::empty()),
            terminal,
            json: false,
            write_error: None,
            folder_options: String::new(),
            user: None,
            stamp: String::new(),
            zone: TimeZone::UTC,
        }
    }

    /// Reads data from here. The default is no data.
    pub fn with_input(mut self, input: Box<dyn Read + 'a>) -> Self {
        self.input = input;
        self
    }

    /// Shows times in this zone. The default is UTC.
    pub fn with_zone(mut self, zone: TimeZone) -> Self {
        self.zone = zone;
        self
    }

    pub(crate) fn zone(&self) -> &TimeZone {
        &self.zone
    }

    pub(crate) fn configure(&mut self, color: Color, json: bool, folder_options: String) {
        self.json = json;
        self.folder_options = folder_options;
        match color {
            Color::Auto => {}
            Color::Always => self.terminal.color = true,
            Color::Never => self.terminal.color = false,
        }
    }

    /// The user whose files are being talked about, if a command has to name one.
    pub(crate) fn set_user(&mut self, user: Option<&str>) {
        self.user = user.map(str::to_owned);
    }

    /// What every line begins with from now on.
    pub(crate) fn set_stamp(&mut self, stamp: String) {
        self.stamp = stamp;
    }

    pub(crate) fn is_json(&self) -> bool {
        self.json
    }

    pub(crate) fn has_color(&self) -> bool {
        self.terminal.color
    }

    /// Whether a person reads the output.
    pub(crate) fn is_terminal(&self) -> bool {
        self.terminal.out
    }

    /// Whether a person types the input.
    pub(crate) fn is_input_terminal(&self) -> bool {
        self.terminal.input
    }

    /// Reads all the data that another program passes on stdin.
    pub(crate) fn read_input(&mut self) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.input.read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// Maximum width of running text. Output for another program is not wrapped.
    pub(crate) fn columns(&self) -> usize {
        match self.terminal.out {
            true => self.terminal.columns.unwrap_or(DEFAULT_COLUMNS).max(MIN_COLUMNS),
            false => usize::MAX,
        }
    }

    pub(crate) fn can_ask(&self) -> bool {
        self.terminal.input && self.terminal.err && !self.json
    }

    /// Prints a line to stdout. Does nothing with `--json`, where the output is an object instead.
    pub(crate) fn say(&mut self, line: impl Into<Line>) {
        if !self.json {
            let text = self.render(line.into(), self.terminal.color);
            let written = writeln!(self.out, "{text}");
            self.remember_failure(written);
        }
    }

    /// Prints a line to stderr.
    pub(crate) fn note(&mut self, line: impl Into<Line>) {
        let text = self.render(line.into(), self.terminal.color && self.terminal.err);
        let written = writeln!(self.err, "{text}");
        self.remember_failure(written);
    }

    fn render(&self, line: Line, color: bool) -> String {
        let line = if self.stamp.is_empty() {
            line
        } else {
            Line::new().dim(&self.stamp).plain(" ").followed_by(line)
        };
        self.pasteable(&line.render(color))
    }

    /// Adds the folders and the user to every command in a text, so that it can be pasted. A
    /// command that names its user keeps that one.
    pub(crate) fn pasteable(&self, text: &str) -> String {
        const COMMAND: &str = "`forklore ";
        let mut parts = text.split(COMMAND);
        let mut whole = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            whole += COMMAND;
            if !self.folder_options.is_empty() {
                whole += &format!("{} ", sanitize(&self.folder_options));
            }
            if !names_user(part)
                && let Some(user) = &self.user
            {
                whole += &format!("--user {} ", sanitize(&quoted(user)));
            }
            whole += part;
        }
        whole
    }

    /// A closed pipe means that the reader has seen enough. The first other error is remembered and
    /// reported at the end.
    fn remember_failure(&mut self, written: io::Result<()>) {
        match written {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                self.write_error.get_or_insert(error);
            }
            _ => {}
        }
    }

    /// Flushes stdout and returns the exit code. A command whose output could not be written has
    /// failed.
    pub(crate) fn finish(&mut self, exit: Exit) -> Exit {
        let flushed = self.out.flush();
        self.remember_failure(flushed);
        match self.write_error.take() {
            None => exit,
            Some(error) => {
                self.note(
                    Line::new()
                        .add(Style::Bad, "Error: ")
                        .plain(format!("could not write the output: {error}")),
                );
                exit.max(Exit::Failed)
            }
        }
    }

    /// Suggests what to do about the preceding message.
    pub(crate) fn hint(&mut self, text: &str) {
        self.note(Line::new().add(Style::Good, "Hint: ").plain(text));
    }

    pub(crate) fn answer(&mut self, json: &Json) {
        if self.json {
            let mut bytes =
                json.stringify_with(forklore_json::Indent::By { unit: b"  ", depth: 0 });
            bytes.push(b'\n');
            let written = self.out.write_all(&bytes);
            self.remember_failure(written);
        }
    }

    /// Prints one JSON object on its own line and flushes at once, because a reader is waiting for
    /// it.
    pub(crate) fn emit(&mut self, json: &Json) {
        let mut bytes = json.stringify();
        bytes.push(b'\n');
        let written = self.out.write_all(&bytes).and_then(|()| self.out.flush());
        self.remember_failure(written);
    }

    /// Writes data: byte for byte unless stdout is a terminal.
    pub(crate) fn data(&mut self, bytes: &[u8]) {
        let written = if self.terminal.out {
            let text = String::from_utf8_lossy(bytes);
            let mut lines = text.lines();
            lines.try_for_each(|line| writeln!(self.out, "{}", sanitize(line)))
        } else {
            self.out.write_all(bytes)
        };
        let flushed = written.and_then(|()| self.out.flush());
        self.remember_failure(flushed);
    }

    /// Asks a question whose default answer is no.
    pub(crate) fn confirm(&mut self, question: &str) -> bool {
        let _ = write!(self.err, "{} [y/N] ", sanitize(question));
        let _ = self.err.flush();
        let mut answer = String::new();
        let read = io::stdin().lock().read_line(&mut answer);
        read.is_ok() && matches!(answer.trim(), "y" | "Y" | "yes" | "Yes")
    }

    pub(crate) fn usage(&mut self, error: &clap::Error) -> Exit {
        let rendered = error.render();
        let text = if self.terminal.color {
            rendered.ansi().to_string()
        } else {
            // The message echoes what was typed.
            rendered.to_string().lines().map(|line| sanitize(line) + "\n").collect()
        };
        let (written, exit) = match error.use_stderr() {
            true => (write!(self.err, "{text}"), Exit::Usage),
            false => (write!(self.out, "{text}"), Exit::Fine),
        };
        self.remember_failure(written);
        exit
    }

    pub(crate) fn progress(&self, total: usize, what: &'static str) -> Progress {
        let template = "{msg} {bar:30} {human_pos} of {human_len}, {eta} left";
        Progress::new(total as u64, what, template, self.terminal.err && !self.json)
    }

    /// Progress of work whose size in bytes is known only once it has started.
    pub(crate) fn progress_in_bytes(&self, what: &'static str) -> Progress {
        let template = "{msg} {bar:30} {decimal_bytes} of {decimal_total_bytes}, {decimal_bytes_per_sec}, {eta} left";
        Progress::new(0, what, template, self.terminal.err && !self.json)
    }
}

/// A progress bar on stderr. It appears only on a terminal, and only if the work takes a while.
pub(crate) struct Progress {
    bar: ProgressBar,
    is_enabled: bool,
    began: Instant,
    done: AtomicUsize,
}

const SHOW_AFTER: Duration = Duration::from_millis(250);

impl Progress {
    fn new(total: u64, what: &'static str, template: &str, is_enabled: bool) -> Self {
        let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::hidden());
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.set_message(what);
        Self { bar, is_enabled, began: Instant::now(), done: AtomicUsize::new(0) }
    }

    pub(crate) fn tick(&self) {
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        self.show(done as u64);
    }

    fn show(&self, done: u64) {
        if !self.is_enabled {
            return;
        }
        if self.bar.is_hidden() && self.began.elapsed() > SHOW_AFTER {
            self.bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(15));
        }
        self.bar.set_position(done);
    }

    /// Sets the progress and the total.
    pub(crate) fn set(&self, done: u64, total: u64) {
        if self.is_enabled && self.bar.length() != Some(total) {
            self.bar.set_length(total);
        }
        self.show(done);
    }

    /// Like [`tick`](Self::tick), for a total that is known only once the work has started.
    pub(crate) fn tick_of(&self, total: usize) {
        if self.is_enabled && self.bar.length() != Some(total as u64) {
            self.bar.set_length(total as u64);
        }
        self.tick();
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
