//! Runs commands in this process, each on its own folder, with a stopped clock.

use std::ffi::OsString;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, SystemTime};

use forklore::{Context, Terminal, Ui, run};
use forklore_tavern::disk::clock::Clock;
use forklore_tavern::disk::{Disk, RealDisk};
use forklore_tavern::locate::environment::{Environment, Os};
use forklore_testkit::scene::{Scene, Stopped};
use tempfile::TempDir;

/// A stopped clock. It does sleep briefly, though: a lock just released may still be held by a
/// process that another test is about to start.
pub(crate) struct StoppedClock {
    /// How far it is ahead of the default time.
    pub(crate) later: Duration,
}

impl Clock for StoppedClock {
    fn now(&self) -> SystemTime {
        Stopped.now() + self.later
    }

    fn slug(&self) -> String {
        Stopped.slug()
    }

    fn sleep(&self, time: Duration) {
        std::thread::sleep(time.min(Duration::from_millis(2)));
    }
}

pub(crate) struct Stage {
    pub(crate) scene: Scene,
    terminal: Terminal,
    editor: Option<OsString>,
    histories: TempDir,
    later: Duration,
}

impl Stage {
    pub(crate) fn new() -> Self {
        let histories = tempfile::tempdir().expect("temporary folders can be made");
        let (terminal, later) = (Terminal::default(), Duration::ZERO);
        Self { scene: Scene::new(), terminal, editor: None, histories, later }
    }

    /// The folder of all histories.
    pub(crate) fn histories(&self) -> &Path {
        self.histories.path()
    }

    /// With a colour terminal.
    pub(crate) fn in_colour() -> Self {
        let terminal =
            Terminal { out: true, err: true, input: false, color: true, columns: Some(80) };
        Self { terminal, ..Self::new() }
    }

    /// With an editor command.
    pub(crate) fn with_editor(mut self, editor: impl Into<OsString>) -> Self {
        self.editor = Some(editor.into());
        self
    }

    /// After this many seconds.
    pub(crate) fn later(mut self, seconds: u64) -> Self {
        self.later += Duration::from_secs(seconds);
        self
    }

    /// With a terminal of this width.
    pub(crate) fn with_columns(mut self, columns: usize) -> Self {
        self.terminal = Terminal { out: true, columns: Some(columns), ..self.terminal };
        self
    }

    /// With input and output at a terminal.
    pub(crate) fn at_terminal(mut self) -> Self {
        self.terminal = Terminal { out: true, input: true, ..self.terminal };
        self
    }

    /// The output, the errors and the exit code of one command.
    #[must_use = "look at the words, or assert something about them"]
    pub(crate) fn run<'a>(&self, args: impl IntoIterator<Item = &'a str>) -> String {
        self.run_on(&RealDisk, args)
    }

    /// The same, on another disk.
    #[must_use = "look at the words, or assert something about them"]
    pub(crate) fn run_on<'a>(
        &self,
        disk: &dyn Disk,
        args: impl IntoIterator<Item = &'a str>,
    ) -> String {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let code = self.execute(disk, &[], Box::new(&mut out), Box::new(&mut err), args);
        self.shown(out, err, code)
    }

    /// The same for a command in a pipe that reads `input`, with its output kept apart as bytes.
    #[must_use = "look at the words, or assert something about them"]
    pub(crate) fn pipe<'a>(
        &self,
        input: &[u8],
        args: impl IntoIterator<Item = &'a str>,
    ) -> (Vec<u8>, String) {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let code = self.execute(&RealDisk, input, Box::new(&mut out), Box::new(&mut err), args);
        (out, self.shown(Vec::new(), err, code))
    }

    fn shown(&self, out: Vec<u8>, err: Vec<u8>, code: u8) -> String {
        let root = self.scene.root().display().to_string();
        let histories = self.histories.path().display().to_string();
        let text = |bytes: Vec<u8>| {
            let text = String::from_utf8_lossy(&bytes);
            text.replace(&root, "$DATA").replace(&histories, "$HISTORIES")
        };
        let (out, err) = (text(out), text(err));
        let mut shown = out;
        if !err.is_empty() {
            shown += &format!("-- stderr --\n{err}");
        }
        if code != 0 {
            shown += &format!("-- exit {code} --\n");
        }
        shown
    }

    /// Only the exit code, with the output going to a given writer.
    pub(crate) fn exit_code<'a>(
        &self,
        disk: &dyn Disk,
        out: Box<dyn Write + '_>,
        args: impl IntoIterator<Item = &'a str>,
    ) -> u8 {
        self.execute(disk, &[], out, Box::new(std::io::sink()), args)
    }

    fn execute<'a>(
        &self,
        disk: &dyn Disk,
        input: &[u8],
        out: Box<dyn Write + '_>,
        err: Box<dyn Write + '_>,
        args: impl IntoIterator<Item = &'a str>,
    ) -> u8 {
        let root = self.scene.root().to_owned();
        let environment = Environment {
            forklore_history: Some(self.histories.path().to_owned()),
            host: "desk".to_owned(),
            ..Environment::new(Some(root.clone()), root, Os::Linux, |_| None)
        };
        let context = Context {
            disk,
            clock: &StoppedClock { later: self.later },
            environment,
            editor: self.editor.clone(),
        };
        let mut ui = Ui::new(out, err, self.terminal).with_input(Box::new(input));
        run(&mut ui, context, ["forklore"].into_iter().chain(args))
    }
}
