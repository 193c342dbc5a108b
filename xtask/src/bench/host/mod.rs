//! Measures one `forklore watch` on a host with many users, with a day of their saves in fast
//! motion.

mod data;
mod process;
mod sillytavern;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::ensure;
use forklore_history::file::FileName;
use forklore_history::query::catalog::catalog;
use forklore_history::store::place;
use forklore_history::version::commit::StoredVersion;
use forklore_history::version::history::History;
use forklore_tavern::disk::RealDisk;
use forklore_tavern::disk::clock::SystemClock;
use tempfile::TempDir;

use super::forklore_binary;
use super::history::Table;
use super::measure::settle;
use data::{DiskUsage, Host, disk_usage, handle};
use process::{Watching, syncs};

#[derive(clap::Args)]
pub(crate) struct HostArgs {
    /// How many users the host has
    #[arg(long, default_value_t = 10_000)]
    users: usize,

    /// How many of them are at it at the same time
    #[arg(long, default_value_t = 1_000)]
    active: usize,

    /// How often each of those saves
    #[arg(long, default_value_t = 150)]
    saves: usize,

    /// Where the host is made (default: on the disk of the checkout)
    #[arg(long)]
    folder: Option<PathBuf>,

    /// Saves that may be on their way at any time
    #[arg(long, default_value_t = 200)]
    ahead: u64,

    /// Leave out the comparison that needs a running SillyTavern
    #[arg(long)]
    without_sillytavern: bool,
}

/// A day of one user: 100 messages, and a swipe or a similar save for every second one.
const SAVES_A_DAY: f64 = 150.0;
const START_TIMEOUT: Duration = Duration::from_secs(60 * 60);
/// The number of users whose histories are packed to measure the effect.
const PACKED: usize = 20;

pub(crate) fn run(args: &HostArgs) -> anyhow::Result<()> {
    ensure!(args.active <= args.users, "more users are active than there are");
    let forklore = forklore_binary()?;
    // Under `target`, so that it is on disk even if the temporary folder is in memory.
    let target = std::env::current_exe()?.with_file_name("bench");
    let target = args.folder.clone().unwrap_or(target);
    fs::create_dir_all(&target)?;
    let folder = TempDir::new_in(target)?;
    let host = Host::make(folder.path().join("data"), args.users)?;
    let histories = place::folder(&host.root, None);
    settle()?;
    let mut day =
        Day { args, host, forklore: &forklore, table: Table::new(&["what", "all", "for each"]) };
    day.start(&histories)?;
    day.live(&histories)?;
    if !args.without_sillytavern {
        day.sillytavern()?;
    }
    println!("{} users, {} of them active:\n\n{}", args.users, args.active, day.table);
    Ok(())
}

struct Day<'a> {
    args: &'a HostArgs,
    host: Host,
    forklore: &'a Path,
    table: Table,
}

impl Day<'_> {
    fn row(&mut self, what: &str, all: String, each: String) {
        self.table.add(vec![what.to_owned(), all, each]);
    }

    /// Measures the first start, which records everything.
    fn start(&mut self, histories: &Path) -> anyhow::Result<()> {
        let users = self.args.users;
        let folders = disk_usage(&self.host.root)?;
        self.row("the users' own files", bytes(folders.bytes), each(folders.bytes, users));
        let watching = Watching::start(self.forklore, &self.host.root, START_TIMEOUT)?;
        let usage = watching.usage()?;
        self.row(
            "first start, everything recorded",
            seconds(watching.start),
            per(watching.start, users),
        );
        self.row("processor for it", seconds(usage.processor), per(usage.processor, users));
        self.row("memory after it", bytes(usage.memory), each(usage.memory, users));
        watching.stop()?;
        settle()?;
        let stored = disk_usage(histories)?;
        self.row("histories", bytes(stored.bytes), each(stored.bytes, users));
        self.row(
            "on disk, in whole blocks",
            bytes(stored.allocated),
            each(stored.allocated, users),
        );
        let files = format!("{} and {} folders", stored.files, stored.inodes - stored.files);
        let of_each = |count: u64| format!("{:.1}", count as f64 / users as f64);
        let per_user =
            format!("{} and {}", of_each(stored.files), of_each(stored.inodes - stored.files));
        self.row("files of the histories", files, per_user);
        Ok(())
    }

    fn live(&mut self, histories: &Path) -> anyhow::Result<()> {
        let users = self.args.users;
        let watching = Watching::start(self.forklore, &self.host.root, START_TIMEOUT)?;
        let idle = watching.usage()?;
        self.row(
            "another start, nothing changed",
            seconds(watching.start),
            per(watching.start, users),
        );
        self.row("processor for it", seconds(idle.processor), per(idle.processor, users));
        self.row("memory, idle", bytes(idle.memory), each(idle.memory, users));
        let limit = fs::read_to_string("/proc/sys/fs/inotify/max_user_watches").unwrap_or_default();
        self.row(
            "watches of the system",
            format!("{} of {}", idle.watches, limit.trim()),
            format!("{:.1}", idle.watches as f64 / users as f64),
        );
        self.row(
            "threads and open files",
            format!("{} and {}", idle.threads, idle.open_files),
            String::new(),
        );

        let before = disk_usage(histories)?;
        let wanted = (self.args.active * self.args.saves) as u64;
        let began = Instant::now();
        let written = self.replay(&watching, 1..=self.args.saves)?;
        let took = began.elapsed();
        let busy = watching.usage()?;
        let recorded = watching.recorded();
        self.row(
            "saves, never too far ahead of the watch",
            format!("{wanted} in {}", seconds(took)),
            format!("{:.0} a second", wanted as f64 / took.as_secs_f64()),
        );
        self.row("said to be recorded meanwhile", recorded.to_string(), String::new());
        self.row("of that time, writing as SillyTavern does", seconds(written), String::new());
        let processor = busy.processor - idle.processor;
        self.row("processor", seconds(processor), per_save(processor, wanted));
        let out = busy.written - idle.written;
        self.row("sent to the disk", bytes(out), each(out, wanted as usize));
        self.row("memory at its highest", bytes(busy.most_memory), String::new());
        self.row("memory after it", bytes(busy.memory), String::new());
        let complaints = watching.complaints();
        self.row("complaints", complaints.to_string(), String::new());

        // A few more saves, to count the syncs.
        let few = self.args.active.min(100);
        let process = watching.id();
        let more = self.args.saves + 1..=self.args.saves + 3;
        let synced = syncs(process, || self.replay_few(&watching, few, more).map(drop))?;
        if let Some(synced) = synced {
            let saves = few * 3;
            self.row(
                &format!("syncs for {saves} more saves of {few} users"),
                synced.to_string(),
                format!("{:.2}", synced as f64 / saves as f64),
            );
        }
        let stopping = watching.stop()?;
        self.row("stopping", seconds(stopping), String::new());
        let after = disk_usage(histories)?;
        let all = wanted + if synced.is_some() { few as u64 * 3 } else { 0 };
        self.grown(before, after, all);
        self.verified(histories, few, synced.is_some())?;
        self.packed(histories)
    }

    /// Measures the same saves in SillyTavern itself.
    fn sillytavern(&mut self) -> anyhow::Result<()> {
        let served = sillytavern::served(&self.host)?;
        let rate = served.saves as f64 / served.took.as_secs_f64();
        self.row(
            "SillyTavern alone, such chats saved through its API",
            format!("{} in {}", served.saves, seconds(served.took)),
            format!("{rate:.0} a second"),
        );
        let processor = per_save(served.processor, served.saves as u64);
        self.row("processor of SillyTavern for it", seconds(served.processor), processor);
        self.row("memory of SillyTavern, one user", bytes(served.memory), String::new());
        Ok(())
    }

    fn grown(&mut self, before: DiskUsage, after: DiskUsage, saves: u64) {
        let grown = after.bytes.saturating_sub(before.bytes);
        let allocated = after.allocated.saturating_sub(before.allocated);
        let each_save = grown as f64 / saves as f64;
        self.row("histories grew by", bytes(grown), format!("{} a save", size(each_save)));
        let day = each_save * SAVES_A_DAY;
        self.row("a day of 150 saves, at that", String::new(), format!("{} a user", size(day)));
        self.row(
            "on disk, in whole blocks",
            bytes(allocated),
            format!("{} a save", size(allocated as f64 / saves as f64)),
        );
        let files = after.files as f64 - before.files as f64;
        self.row(
            "more files",
            format!("{files:.0}"),
            format!("{:.1} an active user", files / self.args.active as f64),
        );
    }

    /// Every active user saves once per round: the worst order for a process that keeps histories
    /// open.
    fn replay(
        &self,
        watching: &Watching,
        saves: std::ops::RangeInclusive<usize>,
    ) -> anyhow::Result<Duration> {
        self.replay_few(watching, self.args.active, saves)
    }

    fn replay_few(
        &self,
        watching: &Watching,
        users: usize,
        saves: std::ops::RangeInclusive<usize>,
    ) -> anyhow::Result<Duration> {
        let mut writing = Duration::ZERO;
        let recorded = watching.recorded();
        let mut sent = 0;
        for save in saves {
            for user in 0..users {
                let began = Instant::now();
                self.host.save(user, 0, save)?;
                writing += began.elapsed();
                sent += 1;
                wait(|| watching.recorded() - recorded + self.args.ahead >= sent);
            }
        }
        wait(|| watching.recorded() - recorded >= sent);
        Ok(writing)
    }

    /// Counts lost saves by the number of messages in each version.
    fn verified(&mut self, histories: &Path, few: usize, has_more: bool) -> anyhow::Result<()> {
        let name = FileName::of_text("chats/Character 0/Story 0.jsonl");
        let (mut lost, mut there) = (0, 0);
        for user in 0..self.args.active {
            let saves = self.args.saves + if has_more && user < few { 3 } else { 0 };
            let repository = place::repository(histories, &handle(user));
            let history = History::open_existing(&RealDisk, &SystemClock, repository)?;
            let lineage = history.lineages().live(&name);
            let lineage = lineage.ok_or_else(|| anyhow::anyhow!("a chat was not recorded"))?;
            let versions = catalog(&history, lineage)?;
            let first = data::MESSAGES as u64 + 1;
            for save in 0..=saves as u64 {
                let found = versions.iter().any(|version| version.count == first + save);
                if found { there += 1 } else { lost += 1 }
            }
            // Compare the content of some users byte for byte.
            if user % 50 == 0 {
                let stored = StoredVersion::read(history.store(), lineage.tip.id)?;
                let is_same = history.content(&stored)? == self.host.saved(user, 0, saves);
                ensure!(is_same, "{} has another version at the end", handle(user));
            }
        }
        self.row("versions found in the histories", there.to_string(), format!("{lost} lost"));
        Ok(())
    }

    fn packed(&mut self, histories: &Path) -> anyhow::Result<()> {
        let users = PACKED.min(self.args.active);
        let size = || {
            (0..users)
                .map(|user| disk_usage(&place::repository(histories, &handle(user))))
                .try_fold((0, 0), |sum, usage| {
                    usage.map(|usage| (sum.0 + usage.bytes, sum.1 + usage.files))
                })
        };
        let before = size()?;
        let began = Instant::now();
        for user in 0..users {
            let done = Command::new(self.forklore)
                .arg("--data")
                .arg(&self.host.root)
                .args(["--user", &handle(user), "history", "pack"])
                .output()?;
            ensure!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        }
        let took = began.elapsed();
        let after = size()?;
        self.row(
            "an active user's history before and after packing",
            format!("{} and {}", each(before.0, users), each(after.0, users)),
            format!("{} and {} files", before.1 / users as u64, after.1 / users as u64),
        );
        self.row("packing it", String::new(), per(took, users));
        Ok(())
    }
}

/// Waits with a timeout, because a lost save never arrives.
fn wait(is_done: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_done() && began.elapsed() < Duration::from_secs(10) {
        std::thread::sleep(Duration::from_micros(200));
    }
}

fn size(bytes: f64) -> String {
    match bytes {
        ..1e3 => format!("{bytes:.0} bytes"),
        ..1e6 => format!("{:.1} KB", bytes / 1e3),
        ..1e9 => format!("{:.1} MB", bytes / 1e6),
        _ => format!("{:.1} GB", bytes / 1e9),
    }
}

fn bytes(bytes: u64) -> String {
    size(bytes as f64)
}

fn each(bytes: u64, count: usize) -> String {
    size(bytes as f64 / count as f64)
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

fn per(time: Duration, count: usize) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1e3 / count as f64)
}

fn per_save(time: Duration, saves: u64) -> String {
    format!("{} a save", per(time, saves as usize))
}
