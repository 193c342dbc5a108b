//! Where words go: data to stdout, the rest to stderr.

use std::io::{self, BufRead as _, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use jiff::tz::TimeZone;

use crate::args::Color;
use crate::exit::Exit;
use crate::json::Json;
use crate::text::{Line, Style, harmless};

/// What is at the other ends.
#[derive(Clone, Copy, Debug, Default)]
pub struct Terminal {
    pub out: bool,
    pub err: bool,
    pub input: bool,
    pub color: bool,
    /// How wide it is, where that is known.
    pub columns: Option<usize>,
}

/// Shorter lines hold nothing.
const LEAST_COLUMNS: usize = 40;
/// Where it is not known how wide the terminal is.
const USUAL_COLUMNS: usize = 80;

pub struct Ui<'a> {
    out: Box<dyn Write + 'a>,
    err: Box<dyn Write + 'a>,
    terminal: Terminal,
    json: bool,
    /// Why something could not be written.
    unwritten: Option<io::Error>,
    /// What was chosen before the command, which a command that is printed needs as well.
    chosen: String,
    /// Where the reader lives.
    zone: TimeZone,
}

impl<'a> Ui<'a> {
    pub fn new(out: Box<dyn Write + 'a>, err: Box<dyn Write + 'a>, terminal: Terminal) -> Self {
        Self {
            out,
            err,
            terminal,
            json: false,
            unwritten: None,
            chosen: String::new(),
            zone: TimeZone::UTC,
        }
    }

    /// Times are told by the clock of this place; without it, in UTC.
    pub fn living_in(mut self, zone: TimeZone) -> Self {
        self.zone = zone;
        self
    }

    pub(crate) fn zone(&self) -> &TimeZone {
        &self.zone
    }

    pub(crate) fn settle(&mut self, color: Color, json: bool, chosen: String) {
        self.json = json;
        self.chosen = chosen;
        match color {
            Color::Auto => {}
            Color::Always => self.terminal.color = true,
            Color::Never => self.terminal.color = false,
        }
    }

    pub(crate) fn is_json(&self) -> bool {
        self.json
    }

    pub(crate) fn has_color(&self) -> bool {
        self.terminal.color
    }

    /// Whether a person reads the answer.
    pub(crate) fn is_read(&self) -> bool {
        self.terminal.out
    }

    /// How many columns running text may take. What another program reads is not broken into lines.
    pub(crate) fn columns(&self) -> usize {
        match self.terminal.out {
            true => self.terminal.columns.unwrap_or(USUAL_COLUMNS).max(LEAST_COLUMNS),
            false => usize::MAX,
        }
    }

    pub(crate) fn can_ask(&self) -> bool {
        self.terminal.input && self.terminal.err && !self.json
    }

    /// A line of the answer. With `--json` the answer is an object, and lines are not it.
    pub(crate) fn say(&mut self, line: impl Into<Line>) {
        if !self.json {
            let text = self.rendered(line.into(), self.terminal.color);
            let written = writeln!(self.out, "{text}");
            self.note_failure(written);
        }
    }

    /// A line beside the answer.
    pub(crate) fn note(&mut self, line: impl Into<Line>) {
        let text = self.rendered(line.into(), self.terminal.color && self.terminal.err);
        let written = writeln!(self.err, "{text}");
        self.note_failure(written);
    }

    /// With what was chosen in every command that is printed, so that it can be pasted.
    fn rendered(&self, line: Line, color: bool) -> String {
        let text = line.render(color);
        match self.chosen.is_empty() {
            true => text,
            false => text.replace("`forklore ", &format!("`forklore {} ", harmless(&self.chosen))),
        }
    }

    /// A closed pipe is the reader's way of saying that it has seen enough. Anything else is a failure,
    /// of which the first is told at the end.
    fn note_failure(&mut self, written: io::Result<()>) {
        match written {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                self.unwritten.get_or_insert(error);
            }
            _ => {}
        }
    }

    /// Writes what is still held back. Answers with the exit code: nothing that could not be written is
    /// a success.
    pub(crate) fn end(&mut self, exit: Exit) -> Exit {
        let flushed = self.out.flush();
        self.note_failure(flushed);
        match self.unwritten.take() {
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

    /// What to do about what was just said.
    pub(crate) fn hint(&mut self, text: &str) {
        self.note(Line::new().add(Style::Good, "Hint: ").plain(text));
    }

    pub(crate) fn answer(&mut self, json: &Json) {
        if self.json {
            let mut bytes =
                json.stringify_with(forklore_json::Indent::By { unit: b"  ", depth: 0 });
            bytes.push(b'\n');
            let written = self.out.write_all(&bytes);
            self.note_failure(written);
        }
    }

    /// One object of many, in a line of its own, and at once: somebody waits for it.
    pub(crate) fn tell(&mut self, json: &Json) {
        let mut bytes = json.stringify();
        bytes.push(b'\n');
        let written = self.out.write_all(&bytes).and_then(|()| self.out.flush());
        self.note_failure(written);
    }

    /// Data, byte for byte where a program reads it.
    pub(crate) fn data(&mut self, bytes: &[u8]) {
        let written = if self.terminal.out {
            let text = String::from_utf8_lossy(bytes);
            let mut lines = text.lines();
            lines.try_for_each(|line| writeln!(self.out, "{}", harmless(line)))
        } else {
            self.out.write_all(bytes)
        };
        let flushed = written.and_then(|()| self.out.flush());
        self.note_failure(flushed);
    }

    /// Asks a question whose default answer is no.
    pub(crate) fn asks(&mut self, question: &str) -> bool {
        let _ = write!(self.err, "{} [y/N] ", harmless(question));
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
            // What was typed is echoed in the message.
            rendered.to_string().lines().map(|line| harmless(line) + "\n").collect()
        };
        let (written, exit) = match error.use_stderr() {
            true => (write!(self.err, "{text}"), Exit::Usage),
            false => (write!(self.out, "{text}"), Exit::Fine),
        };
        self.note_failure(written);
        exit
    }

    pub(crate) fn progress(&self, total: usize, what: &'static str) -> Progress {
        let template = "{msg} {bar:30} {human_pos} of {human_len}, {eta} left";
        Progress::new(total as u64, what, template, self.terminal.err && !self.json)
    }

    /// Of work whose size is known in bytes once it has begun.
    pub(crate) fn progress_in_bytes(&self, what: &'static str) -> Progress {
        let template = "{msg} {bar:30} {decimal_bytes} of {decimal_total_bytes}, {decimal_bytes_per_sec}, {eta} left";
        Progress::new(0, what, template, self.terminal.err && !self.json)
    }
}

/// A bar on stderr that only shows up when the work takes a while, and only on a terminal.
pub(crate) struct Progress {
    bar: ProgressBar,
    shows: bool,
    began: Instant,
    done: AtomicUsize,
}

const PATIENCE: Duration = Duration::from_millis(250);

impl Progress {
    fn new(total: u64, what: &'static str, template: &str, shows: bool) -> Self {
        let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::hidden());
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.set_message(what);
        Self { bar, shows, began: Instant::now(), done: AtomicUsize::new(0) }
    }

    pub(crate) fn tick(&self) {
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        self.show(done as u64);
    }

    fn show(&self, done: u64) {
        if !self.shows {
            return;
        }
        if self.bar.is_hidden() && self.began.elapsed() > PATIENCE {
            self.bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(15));
        }
        self.bar.set_position(done);
    }

    /// So much is done, of so much.
    pub(crate) fn at(&self, done: u64, total: u64) {
        if self.shows && self.bar.length() != Some(total) {
            self.bar.set_length(total);
        }
        self.show(done);
    }

    /// The same where the total is known only once the work has begun.
    pub(crate) fn tick_of(&self, total: usize) {
        if self.shows && self.bar.length() != Some(total as u64) {
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
