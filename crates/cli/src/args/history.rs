//! The arguments of the commands that keep and read a history.

use clap::{Args, Subcommand};

/// Record every chat, lorebook, card and group that changed since the last time
///
/// The history lies beside SillyTavern's data folder, as a git repository for each user. Nothing that
/// SillyTavern does can change what is in it.
#[derive(Args, Debug)]
pub struct RecordArgs {
    /// Record for every user of SillyTavern
    #[arg(long, conflicts_with = "user")]
    pub all_users: bool,
}

/// Stay, and record every version as it is saved
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

    /// Add nothing to a user's history that has reached this size
    #[arg(long, value_name = "MB")]
    pub most_mb: Option<u64>,
}

/// Show what happened to a chat or lorebook, or to all of them, newest first
#[derive(Args, Debug)]
pub struct LogArgs {
    /// Chat or lorebook (default: everything)
    #[arg(value_name = "FILE")]
    pub file: Option<String>,
}

/// Bring back a chat or lorebook that was deleted
#[derive(Args, Debug)]
pub struct UndeleteArgs {
    /// Chat or lorebook (default: list what was deleted)
    #[arg(value_name = "FILE")]
    pub file: Option<String>,
}

/// Look after the history: check it, pack it, thin it, carry it elsewhere
#[derive(Args, Debug)]
pub struct HistoryArgs {
    #[command(subcommand)]
    pub command: HistoryCommand,
}

#[derive(Debug, Subcommand)]
pub enum HistoryCommand {
    /// Put everything into one small pack
    Pack,
}
