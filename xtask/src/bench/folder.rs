//! One user with a very large data folder: times the first `record` against `git add`, and `status`
//! against `verify`.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::ensure;

use super::history::stories::{Lore, Story};
use super::measure::{Measured, median_of, settle, timed};
use super::{forklore_binary, milliseconds};

#[derive(clap::Args)]
pub(crate) struct FolderArgs {
    /// How many chats there are
    #[arg(long, default_value_t = 1_570)]
    chats: usize,

    /// How many messages each has, of about two kilobytes each
    #[arg(long, default_value_t = 620)]
    messages: usize,

    /// How many lorebooks there are, of a hundred entries each
    #[arg(long, default_value_t = 200)]
    books: usize,
}

/// The number of chats of each character.
const CHATS_PER_CHARACTER: usize = 40;

pub(crate) fn run(args: &FolderArgs) -> anyhow::Result<Vec<Measured>> {
    let forklore = forklore_binary()?;
    let folder = tempfile::tempdir()?;
    let data = folder.path().join("data");
    let bytes = make(&data.join("default-user"), args)?;
    println!("{} files, {} MB", args.chats + args.books, bytes / 1_000_000);
    settle()?;

    let run = |command: &mut Command| -> anyhow::Result<Duration> {
        timed(|| {
            let code = command.stdout(Stdio::null()).status()?.code();
            // The exit code is 1 if the folder has findings.
            ensure!(matches!(code, Some(0 | 1)), "{command:?} ended with {code:?}");
            Ok(())
        })
    };
    let ours = |args: &[&str]| run(Command::new(&forklore).arg("--data").arg(&data).args(args));
    let git = |args: &[&str]| {
        let mut command = Command::new("git");
        command.arg("--git-dir").arg(folder.path().join("rival.git"));
        run(command.arg("--work-tree").arg(&data).args(args))
    };
    git(&["init", "--quiet"])?;
    // Warms the file cache, so that the first one measured does not read from disk for the other.
    let first = ours(&["verify"])?;
    println!("the first look at it: {}", milliseconds(first));
    let added = git(&["add", "--all"])?;
    settle()?;
    let recorded = ours(&["record"])?;
    let again = ours(&["record"])?;
    println!("another record, nothing changed: {}", milliseconds(again));
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..3 {
        times[0].push(ours(&["status"])?);
        times[1].push(ours(&["verify"])?);
    }
    let [status, verified] = times.map(median_of);
    let what = format!("first record of {} MB", bytes / 1_000_000);
    Ok(vec![
        Measured::slower(what, recorded, "git add", added, 1.3),
        Measured::slower("status of it".to_owned(), status, "verify", verified, 1.0),
    ])
}

/// Writes unrelated chats and the lorebooks they use, and returns their total size.
fn make(home: &Path, args: &FolderArgs) -> anyhow::Result<u64> {
    fs::create_dir_all(home.join("worlds"))?;
    let mut bytes = 0;
    for at in 0..args.books {
        let lore = Lore::new(1_000_000 + at as u64, 100).bytes();
        bytes += lore.len() as u64;
        fs::write(home.join(format!("worlds/Lore {at}.json")), lore)?;
    }
    for at in 0..args.chats {
        let character = home.join(format!("chats/Character {}", at / CHATS_PER_CHARACTER));
        fs::create_dir_all(&character)?;
        let book = format!("Lore {}", at % args.books.max(1));
        let story = Story::of(at as u64, &book, args.messages).bytes;
        bytes += story.len() as u64;
        fs::write(character.join(format!("Story {at}.jsonl")), story)?;
    }
    Ok(bytes)
}
