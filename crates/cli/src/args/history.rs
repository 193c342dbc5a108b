//! The arguments of the commands that record and read a history.

use std::ffi::OsString;
use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, Subcommand};

use crate::when::TypedTime;

/// Record every chat, lorebook, card and group that has changed
///
/// The history is kept next to SillyTavern's data folder, as one git repository per user. Nothing that
/// SillyTavern does can change it.
#[derive(Args, Debug)]
pub struct RecordArgs {
    /// Record for every user of SillyTavern
    #[arg(long, conflicts_with = "user")]
    pub all_users: bool,
}

/// Keep running and record every version as it is saved
///
/// Ctrl-C stops it. Changes made before it started are recorded first.
#[derive(Args, Debug)]
pub struct WatchArgs {
    /// Watch the folders of every user of SillyTavern
    #[arg(long, conflicts_with = "user")]
    pub all_users: bool,

    /// Report only apparent losses and errors
    #[arg(long, short)]
    pub quiet: bool,

    /// Stop when the input is closed, not at Ctrl-C
    #[arg(long, hide = true)]
    pub until_closed: bool,

    /// Stop recording for a user whose history has reached this size: 500MB, 2GB
    #[arg(long, value_name = "SIZE")]
    pub max_size: Option<Size>,
}

/// Start SillyTavern and record for as long as it runs
///
/// Put it in front of the command that starts SillyTavern, for example in `Start.bat` or `start.sh`. Ctrl-C and the
/// exit code are SillyTavern's own. If nothing can be recorded, it says so, and SillyTavern runs anyway.
#[derive(Args, Debug)]
pub struct RunArgs {
    /// Command that starts SillyTavern
    #[arg(
        value_name = "COMMAND",
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    pub command: Vec<OsString>,
}

/// Start `forklore watch` automatically
#[derive(Args, Debug)]
pub struct ServiceArgs {
    #[command(subcommand)]
    pub command: ServiceCommand,
}

#[derive(Debug, Subcommand)]
pub enum ServiceCommand {
    /// Record from now on, and whenever you log in
    ///
    /// Shows what it will write and run, and asks first: a systemd unit on Linux, a scheduled task on Windows, a launch
    /// agent on a Mac, a Termux:Boot script on Android.
    Install {
        /// Do not ask for confirmation
        #[arg(long, short)]
        yes: bool,
    },
    /// Show whether it is installed
    Status,
    /// Remove it; the history stays
    Remove {
        /// Do not ask for confirmation
        #[arg(long, short)]
        yes: bool,
    },
}

/// A number of bytes, as people type it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Size(pub u64);

impl FromStr for Size {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const WRONG: &str = "write it like 500MB or 2GB";
        let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
        let factor = match text[digits.len()..].to_ascii_uppercase().as_str() {
            "MB" => 1_000_000,
            "GB" => 1_000_000_000,
            _ => return Err(WRONG),
        };
        let number: u64 = digits.trim_end().parse().map_err(|_| WRONG)?;
        number.checked_mul(factor).map(Self).ok_or(WRONG)
    }
}

/// Show what happened to a file, or to all of them, newest first
///
/// Times are local; `TZ=UTC forklore log` shows them in UTC.
///
/// `!` marks an apparent loss. The number in a line is the version, for use with `show`, `diff` and `restore`.
/// When all files are shown, versions saved in one go share a line.
#[derive(Args, Debug)]
pub struct LogArgs {
    /// Chat, lorebook, card, group, or a character for all its chats (default: everything)
    #[arg(value_name = "FILE")]
    pub file: Option<String>,

    /// How many lines to show
    #[arg(long, short = 'n', value_name = "N", default_value_t = 20)]
    pub count: usize,

    /// Show all lines
    #[arg(long, conflicts_with = "count")]
    pub all: bool,

    /// Only changes at or after this time: yesterday, "yesterday 21:00", 2026-11-15, 12h
    #[arg(long, value_name = "TIME", value_parser = TypedTime::parse)]
    pub since: Option<TypedTime>,

    /// Only changes before this time
    #[arg(long, value_name = "TIME", value_parser = TypedTime::parse)]
    pub before: Option<TypedTime>,
}

/// Bring back deleted chats and lorebooks
///
/// They come back under their own names, as they last were, and never overwrite anything.
#[derive(Args, Debug)]
pub struct UndeleteArgs {
    /// Chat, lorebook, card or group, or a character for all its chats (default: list what was deleted)
    #[arg(value_name = "FILE")]
    pub file: Option<String>,

    /// Bring back everything that `status` reports as gone, or the part of it that belongs to FILE
    #[arg(long)]
    pub lost: bool,

    /// Only show what would be done
    #[arg(long)]
    pub dry_run: bool,
}

/// Find and bring back what is lost, damaged or deleted
///
/// Without a name it lists what the history knows to be lost, newest first. `!` marks what looks like an accident.
/// With numbers from that list, names, a character or --all it shows what would be done, and asks.
///
/// A deleted file comes back under its own name. A chat that lost messages comes back as a new chat beside the old
/// one, and a lorebook in its own place; what is there now is kept.
#[derive(Args, Debug)]
pub struct RescueArgs {
    /// Numbers from the list, names, or a character for all its chats (default: show the list)
    #[arg(value_name = "WHAT")]
    pub what: Vec<String>,

    /// Bring back everything in the list
    #[arg(long, conflicts_with = "what")]
    pub all: bool,

    /// Bring back what another machine recorded, after `history pull` or `unbundle`
    #[arg(long, value_name = "MACHINE")]
    pub from: Option<String>,

    /// Only what was lost at or after this time: yesterday, "yesterday 21:00", 2026-11-15, 12h
    #[arg(long, value_name = "TIME", value_parser = TypedTime::parse)]
    pub since: Option<TypedTime>,

    /// Only what was lost before this time
    #[arg(long, value_name = "TIME", value_parser = TypedTime::parse)]
    pub before: Option<TypedTime>,

    /// Bring files back to how they were at this time, whether or not they look lost
    #[arg(long, value_name = "TIME", value_parser = TypedTime::parse, conflicts_with_all = ["since", "before"])]
    pub as_of: Option<TypedTime>,

    /// Restore chats in place, not as new ones beside the old
    #[arg(long)]
    pub in_place: bool,

    /// Promise that no browser tab has SillyTavern open
    #[arg(long)]
    pub closed: bool,

    /// Only show what would be done
    #[arg(long)]
    pub dry_run: bool,

    /// Do not ask for confirmation
    #[arg(long, short)]
    pub yes: bool,
}

/// Maintain the history: check, pack, purge, copy elsewhere
#[derive(Args, Debug)]
pub struct HistoryArgs {
    #[command(subcommand)]
    pub command: HistoryCommand,
}

#[derive(Debug, Subcommand)]
pub enum HistoryCommand {
    /// Put everything into one small pack
    Pack,
    /// Read every byte of the history and report any damage, down to the message
    ///
    /// Changes nothing. Exits with 1 if anything is damaged.
    Verify,
    Repair(RepairHistoryArgs),
    Purge(PurgeArgs),
    Dismiss(DismissArgs),
    Push(PushArgs),
    Pull(PullArgs),
    Bundle(BundleArgs),
    Unbundle(UnbundleArgs),
    /// Import SillyTavern's own backups as additional history
    ///
    /// Each is matched to its chat by its content. What was recorded does not change, and importing again
    /// adds only what is new.
    Import,
}

/// Repair a damaged history as far as possible, and delete nothing
///
/// Whatever can still be read of damaged files is kept, whatever SillyTavern's files still have is taken
/// from them, and the damaged files themselves are set aside inside the history's folder.
#[derive(Args, Debug)]
pub struct RepairHistoryArgs {
    /// Name under which this machine records: one that recorded something, or `new` for a new one
    #[arg(long, value_name = "NAME")]
    pub machine: Option<String>,
}

/// Send the history to a git remote
///
/// A remote can read everything: chats, lorebooks, cards, settings. For one that you do not trust,
/// encrypt a `forklore history bundle` instead.
#[derive(Args, Debug)]
pub struct PushArgs {
    /// Folder, or any address that git accepts
    #[arg(value_name = "REMOTE")]
    pub remote: String,

    /// Create an empty repository in the folder first
    #[arg(long)]
    pub create: bool,

    /// Remove from the remote what was purged on this machine
    #[arg(long)]
    pub prune: bool,
}

/// Fetch what other machines recorded from a git remote
///
/// What this machine recorded itself never changes.
#[derive(Args, Debug)]
pub struct PullArgs {
    /// Folder, or any address that git accepts
    #[arg(value_name = "REMOTE")]
    pub remote: String,
}

/// Write the history to one file
///
/// The file is a git bundle, and anyone who has it can read it. To encrypt it, pipe it through a program such as age
/// (age-encryption.org).
#[derive(Args, Debug)]
pub struct BundleArgs {
    /// File to make, or `-` for standard output
    pub file: PathBuf,

    /// Leave out what an earlier bundle contains
    #[arg(long, value_name = "LAST")]
    pub since: Option<PathBuf>,
}

/// Add what other machines recorded, from a bundle
#[derive(Args, Debug)]
pub struct UnbundleArgs {
    /// File that `forklore history bundle` made, or `-` for standard input
    pub file: PathBuf,
}

/// Remove a chat or lorebook from the history for good
///
/// All its versions are removed, which cannot be undone. The file itself stays where it is, and so do
/// copies elsewhere; those that are known are listed.
#[derive(Args, Debug)]
pub struct PurgeArgs {
    /// Chat, lorebook, card or group
    #[arg(value_name = "FILE")]
    pub file: String,

    /// Only show what would be removed
    #[arg(long)]
    pub dry_run: bool,

    /// Do not ask for confirmation
    #[arg(long, short)]
    pub yes: bool,
}

/// Mark an apparent loss as intended
///
/// It is not reported again. Every earlier version stays in the history.
#[derive(Args, Debug)]
pub struct DismissArgs {
    /// Chat, lorebook, card or group, or a character for all its chats
    #[arg(value_name = "FILE", required_unless_present_any = ["gone", "damage"])]
    pub file: Option<String>,

    /// Everything in the history that is damaged and that `history repair` could not repair
    #[arg(long, conflicts_with_all = ["file", "gone"])]
    pub damage: bool,

    /// Everything that is reported as gone
    #[arg(long, conflicts_with = "file")]
    pub gone: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_has_a_unit() {
        assert_eq!("500MB".parse(), Ok(Size(500_000_000)));
        assert_eq!("2 gb".parse(), Ok(Size(2_000_000_000)));
        for wrong in ["", "500", "MB", "-1MB", "1.5GB", "99999999999999GB", "5 parsecs"] {
            assert!(wrong.parse::<Size>().is_err(), "{wrong}");
        }
    }
}
