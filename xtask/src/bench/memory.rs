//! Peak memory of an operation on a large chat. Each operation runs in its own process, which
//! reports it.

use std::env;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, ensure};
use forklore_core::plan::fork::Policy;
use forklore_core::sillytavern::names::ForkKind;
use forklore_tavern::disk::RealDisk;
use forklore_tavern::disk::clock::SystemClock;
use forklore_tavern::folder::layout::UserFolders;
use forklore_tavern::work::change::ChangeOptions;
use forklore_tavern::work::fork::ForkOptions;
use forklore_tavern::work::tavern::Tavern;

use super::data::Folder;
use super::measure::Measured;

#[derive(clap::Args)]
pub(crate) struct MemoryArgs {
    root: PathBuf,
    operation: Operation,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Operation {
    Fork,
    Split,
    Verify,
}

pub(crate) fn run(args: &MemoryArgs) -> anyhow::Result<()> {
    let folders = UserFolders::new(&args.root, "default-user")?;
    let tavern = Tavern { disk: &RealDisk, clock: &SystemClock, folders, pasts: None };
    let library = tavern.library();
    let chat = library.chats.first().context("there is no chat")?;
    match args.operation {
        Operation::Fork => {
            let options = ForkOptions {
                kind: ForkKind::Branch,
                at: None,
                name: None,
                policy: Policy::default(),
                parent_is_closed: true,
                dry_run: false,
            };
            tavern.fork(chat, &options)?;
        }
        Operation::Split => {
            tavern.split(chat, false, ChangeOptions { is_closed: true, dry_run: false })?;
        }
        Operation::Verify => {
            let verified = tavern.verify(&library, |_| true, &|| {});
            ensure!(verified.problems() == 0, "the generated chat has problems");
        }
    }
    let status = fs::read_to_string("/proc/self/status").context("this needs Linux")?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    println!("{}", peak.context("the kernel does not say")?.trim().trim_end_matches(" kB"));
    Ok(())
}

pub(crate) fn figures() -> anyhow::Result<Vec<Measured>> {
    [("fork", 100), ("split", 100), ("verify", 100)]
        .into_iter()
        .map(|(operation, megabytes)| {
            let folder = Folder::new()?;
            folder.chat("Ada", "Huge story", megabytes * 250, 4_000, Some("Lore"))?;
            folder.book("Lore", 100)?;
            let largest = fs::metadata(folder.chat_path("Ada", "Huge story"))?.len();
            let output = Command::new(env::current_exe()?)
                .arg("memory")
                .arg(folder.root())
                .arg(operation)
                .output()?;
            let errors = String::from_utf8_lossy(&output.stderr);
            ensure!(output.status.success(), "{operation} failed: {errors}");
            let kilobytes: u64 = String::from_utf8(output.stdout)?.trim().parse()?;
            let what = format!("peak memory of {operation}");
            Ok(Measured::memory(what, kilobytes * 1024, "the chat", largest, 3.0))
        })
        .collect()
}
