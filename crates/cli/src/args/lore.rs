//! The arguments of `diff`, `merge` and `pick`.

use clap::Args;

use super::ChangeArgs;

/// Show what differs between timelines, messages or versions
///
/// Two timelines are compared with their base, what both started from, to show which of them changed
/// something. One chat is compared with itself: `forklore diff CHAT --at 50` shows what changed since
/// message 50, `forklore diff CHAT@50 CHAT@100` what changed between the two.
///
/// With --version, a file is compared with itself: `forklore diff FILE --version 3` shows what changed since
/// its version 3, by message, entry or setting.
#[derive(Args, Debug)]
pub struct DiffArgs {
    /// Chat or lorebook to compare; `CHAT@M` is the chat at message M; `book=NAME` is a lorebook; with --version, any file with a history
    #[arg(value_name = "CHAT")]
    pub left: String,

    /// Chat or lorebook to compare it with (default: the first one, as it is now)
    #[arg(value_name = "OTHER")]
    pub right: Option<String>,

    /// Message to compare at, in both chats
    #[arg(long, value_name = "M", allow_negative_numbers = true)]
    pub at: Option<i64>,

    /// Version to compare, by its number in `forklore log`
    #[arg(long, value_name = "N", conflicts_with_all = ["right", "at"])]
    pub version: Option<u64>,

    /// Version to compare it with (default: the file as it is now)
    #[arg(long, value_name = "K", requires = "version")]
    pub with: Option<u64>,

    /// Print one line for each entry or message
    #[arg(long)]
    pub stat: bool,

    /// Show registries and the queue of ST-Auto-Recap too
    #[arg(long)]
    pub internal: bool,
}

/// Merge the lore of another timeline into a chat's lorebook
///
/// Anything that only one of the two changed since the fork point is merged, as are different fields of one
/// entry. Anything that both changed in different ways is a conflict: nothing is written until each is
/// resolved with --ours, --theirs or --edit.
#[derive(Args, Debug)]
pub struct MergeArgs {
    /// Timeline to merge from: CHAT, CHAT@M, or `book=NAME` for a lorebook
    #[arg(value_name = "FROM")]
    pub from: String,

    /// Merge only these entries, by title or uid; `ENTRY.FIELD` is a single field
    #[arg(long, value_name = "ENTRY", num_args = 1..)]
    pub entries: Vec<String>,

    #[command(flatten)]
    pub how: CombineArgs,
}

/// Merge single entries from another timeline into a chat's lorebook
///
/// An entry from an earlier message of the same chat comes back as it was then.
#[derive(Args, Debug)]
pub struct PickArgs {
    /// Timeline to merge from: CHAT, CHAT@M, or `book=NAME` for a lorebook
    #[arg(value_name = "FROM")]
    pub from: String,

    /// Entries to merge, by title or uid; `ENTRY.FIELD` is a single field
    #[arg(value_name = "ENTRY", required = true)]
    pub entries: Vec<String>,

    #[command(flatten)]
    pub how: CombineArgs,
}

/// How two lorebooks are merged
#[derive(Args, Debug)]
pub struct CombineArgs {
    /// Chat whose lorebook changes
    #[arg(long, value_name = "CHAT")]
    pub into: String,

    /// What both started from
    ///
    /// `auto`: what the timelines themselves recorded. `none`: unknown, so every difference is a conflict.
    /// `empty`: nothing. `CHAT` or `CHAT@M`: the lorebook of that chat.
    #[arg(long, value_name = "BASE", default_value = "auto")]
    pub base: String,

    /// Resolve conflicts with what CHAT has: all of them, or those of one ENTRY[.FIELD] (can be repeated)
    #[arg(long, value_name = "ENTRY", num_args = 0..=1, default_missing_value = "")]
    pub ours: Vec<String>,

    /// Resolve conflicts with what FROM has: all of them, or those of one ENTRY[.FIELD] (can be repeated)
    #[arg(long, value_name = "ENTRY", num_args = 0..=1, default_missing_value = "")]
    pub theirs: Vec<String>,

    /// Resolve the remaining conflicts in $VISUAL or $EDITOR
    #[arg(long)]
    pub edit: bool,

    #[command(flatten)]
    pub change: ChangeArgs,
}
