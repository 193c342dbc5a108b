//! Times and ratios.

use std::fmt;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use super::{megabytes, milliseconds};

/// Two figures of one run, and the bound on their ratio.
pub(crate) struct Measured {
    pub(crate) what: String,
    ours: String,
    against: String,
    ratio: f64,
    bound: Bound,
}

#[derive(Clone, Copy)]
enum Bound {
    AtMost(f64),
    AtLeast(f64),
}

impl Measured {
    /// Ours may take at most `bound` times as long as the other.
    pub(crate) fn slower(
        what: String,
        ours: Duration,
        than: &str,
        other: Duration,
        bound: f64,
    ) -> Self {
        let ratio = ours.as_secs_f64() / other.as_secs_f64();
        let (ours, other) = (milliseconds(ours), milliseconds(other));
        Self { what, ours, against: against(than, &other), ratio, bound: Bound::AtMost(bound) }
    }

    /// Ours must be at least `bound` times as fast as the other.
    pub(crate) fn faster(
        what: String,
        ours: Duration,
        than: &str,
        other: Duration,
        bound: f64,
    ) -> Self {
        let slower = Self::slower(what, ours, than, other, bound);
        Self { ratio: 1.0 / slower.ratio, bound: Bound::AtLeast(bound), ..slower }
    }

    /// Ours may take at most `bound` times as many bytes as the other.
    pub(crate) fn memory(what: String, ours: u64, than: &str, other: u64, bound: f64) -> Self {
        let ratio = ours as f64 / other as f64;
        let (ours, other) = (megabytes(ours), megabytes(other));
        Self { what, ours, against: against(than, &other), ratio, bound: Bound::AtMost(bound) }
    }

    pub(crate) fn holds(&self) -> bool {
        match self.bound {
            Bound::AtMost(bound) => self.ratio <= bound,
            Bound::AtLeast(bound) => self.ratio >= bound,
        }
    }
}

impl fmt::Display for Measured {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bound = match self.bound {
            Bound::AtMost(bound) => format!("at most {bound}"),
            Bound::AtLeast(bound) => format!("at least {bound}"),
        };
        let verdict = if self.holds() { "" } else { " MISSED" };
        write!(
            out,
            "| {} | {} | {} | {:.2} | {bound}{verdict} |",
            self.what, self.ours, self.against, self.ratio
        )
    }
}

fn against(what: &str, figure: &str) -> String {
    format!("{what}: {figure}")
}

pub(crate) fn timed(work: impl FnOnce() -> anyhow::Result<()>) -> anyhow::Result<Duration> {
    let start = Instant::now();
    work()?;
    Ok(start.elapsed())
}

pub(crate) fn median_of(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

/// Copies a file so that the copy survives a power cut.
pub(crate) fn durable_copy(from: &Path, to: &Path) -> anyhow::Result<()> {
    let bytes = fs::read(from)?;
    let beside = to.with_extension("beside");
    let mut file = File::create_new(&beside)?;
    file.write_all(&bytes)?;
    file.sync_all()?;
    fs::rename(&beside, to)?;
    if let Some(folder) = to.parent() {
        File::open(folder)?.sync_all()?;
    }
    Ok(())
}

/// Flushes all writes to disk, so that they do not disturb the measurement.
pub(crate) fn settle() -> anyhow::Result<()> {
    let synced = std::process::Command::new("sync").status()?;
    anyhow::ensure!(synced.success(), "could not sync");
    Ok(())
}
