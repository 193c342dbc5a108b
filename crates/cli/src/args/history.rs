//! The arguments of the commands that record and read a history.

use std::ffi::OsString;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::{Args, Subcommand};

use crate::when::{TypedTime, parse_age};

/// Record every chat, lorebook, card and group that has changed
///
/// The history lies beside SillyTavern's data folder, as a git repository for each user. Nothing that
/// SillyTavern does can change what is in it.
#[derive(Args, Debug)]
pub struct RecordArgs {
    /// Record for every user of SillyTavern
    #[arg(long, conflicts_with = "user")]
    pub all_users: bool,
}

/// Keep running, and record every version as it is saved
///
/// Ends with Ctrl-C. What changed before it began is recorded first.
#[derive(Args, Debug)]
pub struct WatchArgs {
    /// Watch the folders of every user of SillyTavern
    #[arg(long, conflicts_with = "user")]
    pub all_users: bool,

    /// Say only what looks like a loss or goes wrong
    #[arg(long, short)]
    pub quiet: bool,

    /// End when the input is closed, and not at Ctrl-C
    #[arg(long, hide = true)]
    pub until_closed: bool,

    /// Stop recording for a user whose history has reached this size: 500MB, 2GB
    #[arg(long, value_name = "SIZE")]
    pub max_size: Option<Size>,
}

/// Start SillyTavern, and record as long as it runs
///
/// Write it in front of whatever starts SillyTavern, such as in `Start.bat` or `start.sh`. Ctrl-C and the exit code
/// are SillyTavern's own. If nothing can be recorded, that is said, and SillyTavern runs all the same.
#[derive(Args, Debug)]
pub struct RunArgs {
    /// What starts SillyTavern
    #[arg(
        value_name = "COMMAND",
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    pub command: Vec<OsString>,
}

/// Let the system start `forklore watch` by itself
#[derive(Args, Debug)]
pub struct ServiceArgs {
    #[command(subcommand)]
    pub command: ServiceCommand,
}

#[derive(Debug, Subcommand)]
pub enum ServiceCommand {
    /// Record from now on, and whenever you log in
    ///
    /// Shows what it will write and run, and asks. A unit of systemd on Linux, a task on Windows, a launch agent on a Mac,
    /// a script for Termux:Boot on Android.
    Install {
        /// Do it without asking
        #[arg(long, short)]
        yes: bool,
    },
    /// Say whether it is installed
    Status,
    /// Take it away again; the history stays
    Remove {
        /// Do it without asking
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
        const WRONG: &str = "say it like 500MB or 2GB";
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

/// Show what happened to a chat or lorebook, or to all, newest first
///
/// Times are local; `TZ=UTC forklore log` shows them in UTC.
///
/// `!` stands before what looks like a loss. The number in a line is that of the version, which `show`, `diff`
/// and `restore` take. Where all are shown, what was saved in one go is one line.
#[derive(Args, Debug)]
pub struct LogArgs {
    /// Chat, lorebook, card, group, or a character for all of its chats (default: everything)
    #[arg(value_name = "FILE")]
    pub file: Option<String>,

    /// How many lines to show
    #[arg(long, short = 'n', value_name = "N", default_value_t = 20)]
    pub count: usize,

    /// Show all of them
    #[arg(long, conflicts_with = "count")]
    pub all: bool,

    /// Only what came at this time or later: yesterday, "yesterday 21:00", 2026-11-15, 12h
    #[arg(long, value_name = "TIME", value_parser = TypedTime::parse)]
    pub since: Option<TypedTime>,

    /// Only what came before this time
    #[arg(long, value_name = "TIME", value_parser = TypedTime::parse)]
    pub before: Option<TypedTime>,
}

/// Bring back a chat or lorebook that was deleted, or many
///
/// It comes back under its own name, as it last was, and never over anything.
#[derive(Args, Debug)]
pub struct UndeleteArgs {
    /// Chat, lorebook, card or group, or a character for all of its chats (default: list what was deleted)
    #[arg(value_name = "FILE")]
    pub file: Option<String>,

    /// Bring back everything that `status` reports as gone, or what of it belongs to FILE
    #[arg(long)]
    pub lost: bool,

    /// Only show what would be done
    #[arg(long)]
    pub dry_run: bool,
}

/// Find and bring back what is lost, damaged or deleted
///
/// Without a name it lists what the history knows to be lost, newest first. `!` stands before what looks like an
/// accident. With numbers of that list, names, a character or --all it shows what would be done, and asks.
///
/// What is deleted comes back under its own name. A chat that lost messages comes back as a new chat beside it, and
/// a lorebook in its own place; what is there now is kept.
#[derive(Args, Debug)]
pub struct RescueArgs {
    /// Numbers of the list, names, or a character for all of its chats (default: show the list)
    #[arg(value_name = "WHAT")]
    pub what: Vec<String>,

    /// Bring back everything in the list
    #[arg(long, conflicts_with = "what")]
    pub all: bool,

    /// Only what was lost at this time or later: yesterday, "yesterday 21:00", 2026-11-15, 12h
    #[arg(long, value_name = "TIME", value_parser = TypedTime::parse)]
    pub since: Option<TypedTime>,

    /// Only what was lost before this time
    #[arg(long, value_name = "TIME", value_parser = TypedTime::parse)]
    pub before: Option<TypedTime>,

    /// Bring files back to how they were at this time, whether or not they look lost
    #[arg(long, value_name = "TIME", value_parser = TypedTime::parse, conflicts_with_all = ["since", "before"])]
    pub as_of: Option<TypedTime>,

    /// Put chats back in their own place, rather than beside what is there
    #[arg(long)]
    pub in_place: bool,

    /// Promise that no browser tab has SillyTavern open
    #[arg(long)]
    pub closed: bool,

    /// Only show what would be done
    #[arg(long)]
    pub dry_run: bool,

    /// Do not ask
    #[arg(long, short)]
    pub yes: bool,
}

/// Look after the history: check, pack, thin, carry elsewhere
#[derive(Args, Debug)]
pub struct HistoryArgs {
    #[command(subcommand)]
    pub command: HistoryCommand,
}

#[derive(Debug, Subcommand)]
pub enum HistoryCommand {
    /// Put everything into one small pack
    Pack,
    /// Read every byte of the history and say what of it is damaged, down to the message
    ///
    /// Nothing is changed. Exit code 1 if anything is damaged.
    Verify,
    /// Put a damaged history right, as far as possible, and delete nothing
    ///
    /// What can be read of damaged files is kept again, what the files on the disk still have is taken
    /// from them, and the damaged files themselves are put aside inside the history's folder.
    Repair,
    Thin(ThinArgs),
    Purge(PurgeArgs),
    Dismiss(DismissArgs),
    Push(PushArgs),
    Pull(PullArgs),
    Bundle(BundleArgs),
    Unbundle(UnbundleArgs),
    /// Take in SillyTavern's own backups, as extra past
    ///
    /// Each is matched to its chat by what is in it. What was recorded is not changed, and importing
    /// again adds only what is new.
    Import,
}

/// Send the history to a git remote
///
/// A remote can read everything: chats, lorebooks, cards, settings. For one that you do not trust,
/// there is `forklore history bundle`.
#[derive(Args, Debug)]
pub struct PushArgs {
    /// Folder, or address as git takes it
    #[arg(value_name = "REMOTE")]
    pub remote: String,

    /// Make an empty repository in the folder first
    #[arg(long)]
    pub create: bool,

    /// Remove there what this machine has no more, because it was thinned or purged
    #[arg(long)]
    pub prune: bool,
}

/// Fetch what other machines recorded from a git remote
///
/// What this machine recorded itself is never changed by it.
#[derive(Args, Debug)]
pub struct PullArgs {
    /// Folder, or address as git takes it
    #[arg(value_name = "REMOTE")]
    pub remote: String,
}

/// Write the history into one file, sealed if you like
///
/// The file is a git bundle; sealed, it is one that only age opens (age-encryption.org).
#[derive(Args, Debug)]
pub struct BundleArgs {
    /// File to make
    pub file: PathBuf,

    /// Leave out what an earlier bundle has
    #[arg(long, value_name = "LAST")]
    pub since: Option<PathBuf>,

    /// Seal it with the passphrase in a file
    #[arg(long, value_name = "FILE", conflicts_with = "recipient")]
    pub passphrase_file: Option<PathBuf>,

    /// Seal it for the owner of a key, age1... (can be repeated)
    #[arg(long, value_name = "KEY")]
    pub recipient: Vec<String>,

    /// Key that opens LAST, where that is sealed
    #[arg(long, value_name = "FILE", requires = "since")]
    pub identity: Option<PathBuf>,
}

/// Take in what other machines recorded, from a bundle
#[derive(Args, Debug)]
pub struct UnbundleArgs {
    /// File that `forklore history bundle` made
    pub file: PathBuf,

    /// Open it with the passphrase in a file
    #[arg(long, value_name = "FILE", conflicts_with = "identity")]
    pub passphrase_file: Option<PathBuf>,

    /// Open it with the key in a file
    #[arg(long, value_name = "FILE")]
    pub identity: Option<PathBuf>,
}

/// Thin out old versions
///
/// Nothing is ever thinned unless you ask. The first and the last version of each file always stay, and
/// so do pinned versions, what was there before a loss, and versions where a file was renamed, copied,
/// deleted or brought back. What is older than all the ages given is kept once a week.
#[derive(Args, Debug)]
pub struct ThinArgs {
    /// Keep every version younger than this: 30d, 12h, 1y
    #[arg(long, value_name = "AGE", default_value = "30d", value_parser = parse_age)]
    pub keep_all_for: Duration,

    /// Then keep the last version of each hour, up to this age
    #[arg(long, value_name = "AGE", default_value = "0d", value_parser = parse_age)]
    pub hourly_for: Duration,

    /// Then keep the last version of each day, up to this age
    #[arg(long, value_name = "AGE", default_value = "1y", value_parser = parse_age)]
    pub daily_for: Duration,

    /// Only show what would go
    #[arg(long)]
    pub dry_run: bool,

    /// Do not ask
    #[arg(long, short)]
    pub yes: bool,
}

/// Remove a chat or lorebook from the history for good
///
/// All its versions go, and this cannot be undone. The file itself stays where it is, and so do copies
/// elsewhere: those that are known are named.
#[derive(Args, Debug)]
pub struct PurgeArgs {
    /// Chat, lorebook, card or group
    #[arg(value_name = "FILE")]
    pub file: String,

    /// Only show what would go
    #[arg(long)]
    pub dry_run: bool,

    /// Do not ask
    #[arg(long, short)]
    pub yes: bool,
}

/// Mark an apparent loss as intended
///
/// It is not reported again. Every version from before it stays in the history.
#[derive(Args, Debug)]
pub struct DismissArgs {
    /// Chat, lorebook, card or group, or a character for all of its chats
    #[arg(value_name = "FILE", required_unless_present = "gone")]
    pub file: Option<String>,

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
