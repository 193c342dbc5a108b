//! The arguments of `diff`, `merge` and `pick`.

use clap::Args;

use super::ChangeArgs;

/// Show what differs between timelines, messages or versions
///
/// Two timelines are compared against what both began as, so that it can be said which of them changed
/// something. One chat is compared with itself: `forklore diff CHAT --at 50` shows what came since
/// message 50, `forklore diff CHAT@50 CHAT@100` what came between the two.
///
/// With --version, a file is compared with itself: `forklore diff FILE --version 3` shows what came since
/// version 3 of it, in messages, entries or settings.
#[derive(Args, Debug)]
pub struct DiffArgs {
    /// Chat or lorebook to compare; `CHAT@M` is the chat at message M; `book=NAME` is a lorebook; with --version, any file that has a history
    #[arg(value_name = "CHAT")]
    pub left: String,

    /// Chat or lorebook to compare it with (default: the first one, as it is now)
    #[arg(value_name = "OTHER")]
    pub right: Option<String>,

    /// Message to look at, in both chats
    #[arg(long, value_name = "M", allow_negative_numbers = true)]
    pub at: Option<i64>,

    /// Version to look at, by its number in `forklore log`
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

/// Bring the lore of another timeline into a chat's lorebook
///
/// What only one of the two changed since they part comes over or stays; different fields of one entry
/// combine. What both changed in different ways is a conflict: nothing is written until each is settled
/// with --ours, --theirs or --edit.
#[derive(Args, Debug)]
pub struct MergeArgs {
    /// Timeline that lore comes from: CHAT, CHAT@M, or `book=NAME` for a lorebook
    #[arg(value_name = "FROM")]
    pub from: String,

    /// Bring only these entries, by title or uid; `ENTRY.FIELD` is one field of it
    #[arg(long, value_name = "ENTRY", num_args = 1..)]
    pub entries: Vec<String>,

    #[command(flatten)]
    pub how: CombineArgs,
}

/// Bring single entries from another timeline into a chat's lorebook
///
/// An entry of an earlier message of the same chat comes back as it was then.
#[derive(Args, Debug)]
pub struct PickArgs {
    /// Timeline that the entries come from: CHAT, CHAT@M, or `book=NAME` for a lorebook
    #[arg(value_name = "FROM")]
    pub from: String,

    /// Entries to bring, by title or uid; `ENTRY.FIELD` is one field of it
    #[arg(value_name = "ENTRY", required = true)]
    pub entries: Vec<String>,

    #[command(flatten)]
    pub how: CombineArgs,
}

/// How two lorebooks are combined
#[derive(Args, Debug)]
pub struct CombineArgs {
    /// Chat whose lorebook changes
    #[arg(long, value_name = "CHAT")]
    pub into: String,

    /// What both began as
    ///
    /// `auto`: what the timelines themselves recorded. `none`: nobody knows, so that every difference is a
    /// conflict. `empty`: there was nothing. `CHAT` or `CHAT@M`: the lorebook of that chat.
    #[arg(long, value_name = "BASE", default_value = "auto")]
    pub base: String,

    /// Settle conflicts with what CHAT has: all of them, or of one ENTRY[.FIELD] (can be repeated)
    #[arg(long, value_name = "ENTRY", num_args = 0..=1, default_missing_value = "")]
    pub ours: Vec<String>,

    /// Settle conflicts with what FROM has: all of them, or of one ENTRY[.FIELD] (can be repeated)
    #[arg(long, value_name = "ENTRY", num_args = 0..=1, default_missing_value = "")]
    pub theirs: Vec<String>,

    /// Settle the other conflicts in $VISUAL or $EDITOR
    #[arg(long)]
    pub edit: bool,

    #[command(flatten)]
    pub change: ChangeArgs,
}
