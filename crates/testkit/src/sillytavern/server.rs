use std::fs::{self, File};
use std::net::TcpListener;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use super::install::Install;
use super::session::Session;
use super::{Api, Options, seed};

/// A cold start on a busy machine has taken two minutes.
const START_LIMIT: Duration = Duration::from_secs(300);
const STOP_LIMIT: Duration = Duration::from_secs(10);
const POLL: Duration = Duration::from_millis(50);

/// Makes node exit when its input ends, so that a killed test leaves no server behind. Worker
/// threads load this file too, but their input is at its end from the start.
const LIFELINE: &str = "\
if (require('node:worker_threads').isMainThread) {
    process.stdin.resume().on('end', () => process.kill(process.pid, 'SIGTERM'));
}
";

/// A running SillyTavern. Dropping it stops the server; the data root stays.
#[derive(Debug)]
pub struct Server {
    api: Api,
    process: Process,
    data_root: PathBuf,
    install: PathBuf,
}

/// A part of a test, with the name reported on failure.
pub type Scene<'a> = (&'a str, fn(&Server));

impl Server {
    /// Starts SillyTavern on a data root, which may be empty or already contain chats.
    ///
    /// No second server may run on the same data root: SillyTavern takes no locks.
    #[track_caller]
    pub fn start(data_root: &Path) -> Self {
        Self::start_with(data_root, Options::default())
    }

    #[track_caller]
    pub fn start_with(data_root: &Path, options: Options) -> Self {
        let install = Install::locate();
        seed::data_root(data_root, &install)
            .unwrap_or_else(|error| panic!("could not prepare {}: {error}", data_root.display()));
        let data_root = data_root.canonicalize().expect("it was just prepared");

        // One start at a time, across processes: two would compile into the same cache at once.
        let turn = File::create(install.folder.join(".start.lock")).expect("install is writable");
        turn.lock().expect("a lock can be waited for");

        // SillyTavern binds its port seconds after we chose it, so another process may have taken
        // it.
        for _ in 0..3 {
            match Process::spawn(&install, &data_root, options).wait_until_ready() {
                Ok((process, session)) => {
                    let (api, install) = (Api::new(session), install.folder);
                    return Self { api, process, data_root, install };
                }
                Err(failed) if failed.log.contains("is already in use") => (),
                Err(failed) => {
                    panic!("{}; its log ends with:\n{}", failed.what, last_lines(&failed.log))
                }
            }
        }
        panic!("SillyTavern found its port taken three times");
    }

    pub fn api(&self) -> &Api {
        &self.api
    }

    /// The folder that contains the users' folders.
    pub fn data_root(&self) -> &Path {
        &self.data_root
    }

    /// The folder that contains `server.js`, for tests that call SillyTavern's own code.
    pub fn install(&self) -> &Path {
        &self.install
    }

    /// The URL for a browser.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.process.port)
    }

    /// For tests that tamper with the process.
    pub fn process_id(&self) -> u32 {
        self.process.child.id()
    }

    /// Everything SillyTavern has printed so far.
    pub fn log(&self) -> String {
        self.process.log()
    }

    /// Runs scenes that share this server, then fails with the names of all that failed.
    ///
    /// Nextest runs each test in its own process, so tests cannot share a server. A scene should
    /// create its own characters and books, because earlier scenes leave theirs behind.
    #[track_caller]
    pub fn play(&self, scenes: &[Scene<'_>]) {
        let failed: Vec<&str> = scenes
            .iter()
            .filter(|(_, scene)| catch_unwind(AssertUnwindSafe(|| scene(self))).is_err())
            .map(|(name, _)| *name)
            .collect();
        assert!(failed.is_empty(), "failed scenes: {}", failed.join(", "));
    }
}

/// The node process with its config and log, before and after it is ready.
#[derive(Debug)]
struct Process {
    child: Child,
    port: u16,
    run_folder: TempDir,
}

struct FailedStart {
    what: String,
    log: String,
}

impl Process {
    fn spawn(install: &Install, data_root: &Path, options: Options) -> Self {
        let run_folder = TempDir::new().expect("a temporary folder can be made");
        let port = free_port();
        let path = |name: &str| run_folder.path().join(name);
        fs::write(path("config.yaml"), seed::config(port, options)).expect("the folder is new");
        fs::write(path("lifeline.cjs"), LIFELINE).expect("the folder is new");
        let log = File::create(log_path(&run_folder)).expect("the folder is new");

        let mut node = Command::new("node");
        node.arg("--require")
            .arg(path("lifeline.cjs"))
            .arg(install.folder.join("server.js"))
            .arg("--configPath")
            .arg(path("config.yaml"))
            .arg("--dataRoot")
            .arg(data_root)
            .current_dir(&install.folder)
            .stdin(Stdio::piped())
            .stdout(log.try_clone().expect("a file handle can be copied"))
            .stderr(log);
        // These would override the config file.
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("SILLYTAVERN_") {
                node.env_remove(name);
            }
        }
        // Inside a checkout, SillyTavern would take that checkout's revision for its own and
        // recompile after every commit.
        if let Some(parent) = install.folder.parent() {
            node.env("GIT_CEILING_DIRECTORIES", parent);
        }
        let child = node.spawn().unwrap_or_else(|error| panic!("could not run node: {error}"));
        Self { child, port, run_folder }
    }

    /// Waits until our own process listens: another SillyTavern on the port would answer as well.
    fn wait_until_ready(mut self) -> Result<(Self, Session), FailedStart> {
        let started = Instant::now();
        loop {
            if let Some(status) = self.exited() {
                let what = format!("SillyTavern ended while starting ({status})");
                return Err(FailedStart { what, log: self.log() });
            }
            if started.elapsed() > START_LIMIT {
                let what = format!("SillyTavern did not start within {START_LIMIT:?}");
                return Err(FailedStart { what, log: self.log() });
            }
            if self.log().contains("SillyTavern is listening")
                && let Some(session) = Session::open(self.port)
            {
                return Ok((self, session));
            }
            sleep(POLL);
        }
    }

    fn log(&self) -> String {
        let bytes = fs::read(log_path(&self.run_folder)).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    fn exited(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().expect("a child can be asked for its status")
    }

    /// Sends SIGTERM, as a service manager would, so that it can finish its writes.
    fn stop(&mut self) {
        if self.exited().is_some() {
            return;
        }
        let pid = Pid::from_child(&self.child);
        if kill_process(pid, Signal::TERM).is_ok() {
            let asked = Instant::now();
            while asked.elapsed() < STOP_LIMIT {
                if self.exited().is_some() {
                    return;
                }
                sleep(POLL);
            }
        }
        // Nothing more can be done if the process survives this.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Process {
    #[expect(clippy::print_stderr, reason = "the log explains why the test failed")]
    fn drop(&mut self) {
        self.stop();
        if std::thread::panicking() {
            eprintln!("SillyTavern's log ends with:\n{}", last_lines(&self.log()));
        }
    }
}

fn log_path(run_folder: &TempDir) -> PathBuf {
    run_folder.path().join("log")
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
    listener.local_addr().expect("a bound socket has an address").port()
}

fn last_lines(log: &str) -> String {
    let lines: Vec<&str> = log.lines().collect();
    lines[lines.len().saturating_sub(40)..].join("\n")
}
