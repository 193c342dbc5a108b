//! Runs `forklore watch` as a child process and reads its resource usage from the kernel.

use std::fs;
use std::io::{BufRead as _, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};

/// A running `forklore watch`, killed when dropped.
pub(crate) struct Watching {
    child: Child,
    output: Arc<Output>,
    /// The time until it watched everything.
    pub(crate) start: Duration,
}

/// A summary of its output so far.
#[derive(Default)]
struct Output {
    is_watching: AtomicBool,
    lines: AtomicU64,
    complaints: AtomicU64,
}

impl Watching {
    pub(crate) fn start(forklore: &Path, root: &Path, patience: Duration) -> anyhow::Result<Self> {
        let began = Instant::now();
        let mut child = Command::new(forklore)
            .arg("--data")
            .arg(root)
            .args(["watch", "--all-users"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .with_context(|| format!("could not run {}", forklore.display()))?;
        let output = Arc::<Output>::default();
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        listen(stdout.context("it has an output")?, Arc::clone(&output));
        listen(stderr.context("it has an output")?, Arc::clone(&output));
        let mut watching = Self { child, output, start: Duration::ZERO };
        while !watching.output.is_watching.load(Ordering::Relaxed) {
            ensure!(began.elapsed() < patience, "`forklore watch` does not begin");
            ensure!(watching.child.try_wait()?.is_none(), "`forklore watch` ended");
            std::thread::sleep(Duration::from_millis(5));
        }
        watching.start = began.elapsed();
        watching.output.lines.store(0, Ordering::Relaxed);
        Ok(watching)
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// The number of versions that it reported as recorded since it started watching.
    pub(crate) fn recorded(&self) -> u64 {
        self.output.lines.load(Ordering::Relaxed)
    }

    /// The number of lines about problems.
    pub(crate) fn complaints(&self) -> u64 {
        self.output.complaints.load(Ordering::Relaxed)
    }

    pub(crate) fn usage(&self) -> anyhow::Result<Usage> {
        Usage::of(self.child.id())
    }

    /// Terminates it and returns how long that took.
    pub(crate) fn stop(mut self) -> anyhow::Result<Duration> {
        let began = Instant::now();
        Command::new("kill").arg(self.child.id().to_string()).status()?;
        ensure!(self.child.wait()?.success(), "`forklore watch` failed");
        Ok(began.elapsed())
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn listen(stream: impl Read + Send + 'static, output: Arc<Output>) {
    std::thread::spawn(move || {
        for line in BufReader::new(stream).lines().map_while(Result::ok) {
            if line.starts_with("Watching the stories") {
                output.is_watching.store(true, Ordering::Relaxed);
            } else if line.trim_start().starts_with(['!', 'H']) {
                output.complaints.fetch_add(1, Ordering::Relaxed);
            } else {
                output.lines.fetch_add(1, Ordering::Relaxed);
            }
        }
    });
}

/// The resource usage of a process.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Usage {
    /// Resident memory, now and at its highest, in bytes.
    pub(crate) memory: u64,
    pub(crate) most_memory: u64,
    pub(crate) threads: u64,
    pub(crate) open_files: u64,
    pub(crate) watches: u64,
    pub(crate) processor: Duration,
    /// Bytes sent to the disk.
    pub(crate) written: u64,
}

impl Usage {
    pub(crate) fn of(process: u32) -> anyhow::Result<Self> {
        let place = Path::new("/proc").join(process.to_string());
        let status = fs::read_to_string(place.join("status")).context("this needs Linux")?;
        let number = |text: &str, name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name));
            line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or(0)
        };
        let io = fs::read_to_string(place.join("io")).unwrap_or_default();
        let mut usage = Self {
            memory: number(&status, "VmRSS:") * 1024,
            most_memory: number(&status, "VmHWM:") * 1024,
            threads: number(&status, "Threads:"),
            written: number(&io, "write_bytes:"),
            ..Self::default()
        };
        let stat = fs::read_to_string(place.join("stat"))?;
        // The process name in parentheses may contain anything.
        let after = stat.rsplit_once(')').map_or("", |(_, after)| after);
        let ticks: u64 =
            after.split_whitespace().skip(11).take(2).flat_map(str::parse::<u64>).sum();
        usage.processor = Duration::from_millis(ticks * 10);
        for file in fs::read_dir(place.join("fdinfo"))?.flatten() {
            usage.open_files += 1;
            let info = fs::read_to_string(file.path()).unwrap_or_default();
            usage.watches +=
                info.lines().filter(|line| line.starts_with("inotify ")).count() as u64;
        }
        Ok(usage)
    }
}

/// Counts the syncs of a process during `work`, with `strace`; `None` if that is not available.
pub(crate) fn syncs(
    process: u32,
    work: impl FnOnce() -> anyhow::Result<()>,
) -> anyhow::Result<Option<u64>> {
    let folder = tempfile::tempdir()?;
    let report = folder.path().join("syncs");
    let strace = Command::new("strace")
        .args(["-f", "-c", "-e", "trace=fsync,fdatasync", "-o"])
        .arg(&report)
        .arg("-p")
        .arg(process.to_string())
        .stderr(Stdio::null())
        .spawn();
    let Ok(mut strace) = strace else { return Ok(None) };
    std::thread::sleep(Duration::from_millis(500));
    let done = work();
    Command::new("kill").args(["-INT", &strace.id().to_string()]).status()?;
    strace.wait()?;
    done?;
    let report = fs::read_to_string(report).unwrap_or_default();
    let calls = |name: &str| {
        let line = report.lines().find(|line| line.trim_end().ends_with(name))?;
        line.split_whitespace().nth(3)?.parse::<u64>().ok()
    };
    let (whole, data) = (calls(" fsync"), calls(" fdatasync"));
    Ok((whole.is_some() || data.is_some()).then(|| whole.unwrap_or(0) + data.unwrap_or(0)))
}
