//! Benchmarks. Each figure is a ratio to something measured in the same run on the same disk.

pub(crate) mod data;
mod folder;
mod history;
mod host;
mod measure;
pub(crate) mod memory;
mod rebuild;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, ensure};

use data::Folder;
use measure::{Measured, durable_copy, median_of, settle, timed};

#[derive(clap::Args)]
pub(crate) struct BenchArgs {
    #[command(subcommand)]
    what: Option<What>,

    /// How often each thing is measured; the median counts
    #[arg(long, default_value_t = 7)]
    rounds: usize,

    /// Leave out the comparison that needs a running SillyTavern
    #[arg(long)]
    without_sillytavern: bool,

    /// Fail if a ratio misses its bound
    #[arg(long)]
    check: bool,
}

#[derive(clap::Subcommand)]
enum What {
    /// Measure what keeping every version costs, beside what else could keep them
    History(history::HistoryArgs),
    /// Measure the first `record` and `status` of a folder of two gigabytes
    Folder(folder::FolderArgs),
    /// Measure `forklore watch` on a generated host with many users
    Host(host::HostArgs),
}

pub(crate) fn run(args: &BenchArgs) -> anyhow::Result<()> {
    let figures = match &args.what {
        Some(What::History(args)) => return history::run(args),
        Some(What::Host(args)) => return host::run(args),
        Some(What::Folder(args)) => folder::run(args)?,
        None => default_figures(args)?,
    };
    println!("| what | measured | against | ratio | bound |");
    println!("|---|---|---|---|---|");
    for figure in &figures {
        println!("{figure}");
    }
    let missed: Vec<&str> = figures
        .iter()
        .filter(|figure| !figure.holds())
        .map(|figure| figure.what.as_str())
        .collect();
    ensure!(!args.check || missed.is_empty(), "missed: {}", missed.join(", "));
    Ok(())
}

fn default_figures(args: &BenchArgs) -> anyhow::Result<Vec<Measured>> {
    let forklore = forklore_binary()?;
    let mut figures = vec![fork(&forklore, args.rounds)?, verify(&forklore, args.rounds)?];
    figures.extend(memory::figures()?);
    if !args.without_sillytavern {
        figures.push(rebuild::figure(&forklore)?);
    }
    Ok(figures)
}

/// Builds the release binary from the current sources and returns its path.
pub(crate) fn forklore_binary() -> anyhow::Result<PathBuf> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let built = Command::new(cargo)
        .args(["build", "--quiet", "--release", "--package", "forklore"])
        .status()?;
    ensure!(built.success(), "forklore does not build");
    let this = env::current_exe()?;
    Ok(this.with_file_name(format!("forklore{}", env::consts::EXE_SUFFIX)))
}

/// A fork of a 5,000-message, 20 MB chat with a 1,000-entry book, against a durable copy of the two
/// files: written to a temporary file, synced, renamed, and the folder synced.
fn fork(forklore: &Path, rounds: usize) -> anyhow::Result<Measured> {
    let folder = Folder::new()?;
    folder.chat("Ada", "Long story", 5_000, 4_000, Some("Long lore"))?;
    folder.book("Long lore", 1_000)?;
    settle()?;
    let chat = folder.chat_path("Ada", "Long story");
    let book = folder.book_path("Long lore");
    let (mut ours, mut copies) = (Vec::new(), Vec::new());
    for round in 0..rounds {
        copies.push(timed(|| {
            durable_copy(&chat, &chat.with_extension(format!("copy{round}")))?;
            durable_copy(&book, &book.with_extension(format!("copy{round}")))
        })?);
        ours.push(timed(|| run_quietly(forklore, folder.root(), &["branch", "Ada/Long story"]))?);
    }
    Ok(Measured::slower(
        format!(
            "fork of {} messages, {}, 1,000 entries",
            5_000,
            megabytes(fs::metadata(&chat)?.len())
        ),
        median_of(ours),
        "a durable copy of the two files",
        median_of(copies),
        3.0,
    ))
}

/// `verify --all` over 5,000 chats and 500 books, against reading all their bytes.
fn verify(forklore: &Path, rounds: usize) -> anyhow::Result<Measured> {
    let folder = Folder::new()?;
    for number in 0..500 {
        let lore = format!("Lore {number}");
        folder.book(&lore, 60)?;
        for part in 0..10 {
            let book = (part == 0).then_some(lore.as_str());
            folder.chat(
                &format!("Character {}", number % 50),
                &format!("Story {number}-{part}"),
                40,
                2_500,
                book,
            )?;
        }
    }
    settle()?;
    let files = folder.files()?;
    let bytes: u64 = files.iter().map(|file| fs::metadata(file).map_or(0, |file| file.len())).sum();
    let (mut ours, mut reads) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        reads.push(timed(|| {
            for file in &files {
                std::hint::black_box(fs::read(file)?);
            }
            Ok(())
        })?);
        ours.push(timed(|| run_quietly(forklore, folder.root(), &["verify", "--all"]))?);
    }
    Ok(Measured::slower(
        format!("verify of 5,000 chats and 500 books, {}", megabytes(bytes)),
        median_of(ours),
        "reading those files",
        median_of(reads),
        2.0,
    ))
}

pub(crate) fn run_quietly(forklore: &Path, root: &Path, args: &[&str]) -> anyhow::Result<()> {
    let output = Command::new(forklore)
        .arg("--data")
        .arg(root)
        .args(args)
        .output()
        .with_context(|| format!("could not run {}", forklore.display()))?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "forklore {args:?} failed: {errors}");
    Ok(())
}

fn megabytes(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}

fn milliseconds(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1e3)
}
