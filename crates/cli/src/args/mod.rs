//! The arguments. Their doc comments are the help text.

mod history;
mod lore;

use std::path::PathBuf;

use clap::{ArgGroup, Args, Parser, Subcommand, ValueEnum};

use crate::text::quoted;

pub(crate) use history::{
    BundleArgs, DismissArgs, HistoryArgs, HistoryCommand, LogArgs, PullArgs, PurgeArgs, PushArgs,
    RecordArgs, RepairHistoryArgs, RescueArgs, RunArgs, ServiceArgs, ServiceCommand, UnbundleArgs,
    UndeleteArgs, WatchArgs,
};
pub(crate) use lore::{CombineArgs, DiffArgs, MergeArgs, PickArgs};

/// Fork the story, and its lore comes along
///
/// Forklore gives every checkpoint and branch of a SillyTavern chat its own lorebook and memory, as
/// they were at the message where it begins, and keeps them apart from then on.
///
/// It works on SillyTavern's data folder, whether SillyTavern runs or not.
#[derive(Debug, Parser)]
#[command(name = "forklore", version, max_term_width = 100, after_help = AFTER_HELP)]
pub struct Cli {
    /// SillyTavern's data folder (default: found automatically)
    #[arg(long, global = true, help_heading = GLOBAL_OPTIONS, value_name = "DIR")]
    pub data: Option<PathBuf>,

    /// User to work on (default: the only one)
    #[arg(long, global = true, help_heading = GLOBAL_OPTIONS, value_name = "HANDLE")]
    pub user: Option<String>,

    /// Folder for all histories (default: `data-history` next to `data`)
    #[arg(long, global = true, help_heading = GLOBAL_OPTIONS, value_name = "DIR")]
    pub history: Option<PathBuf>,

    /// Print JSON
    #[arg(long, global = true, help_heading = GLOBAL_OPTIONS)]
    pub json: bool,

    /// When to use colours
    #[arg(long, global = true, help_heading = GLOBAL_OPTIONS, value_name = "WHEN", default_value = "auto")]
    pub color: Color,

    #[command(subcommand)]
    pub command: Command,
}

impl Cli {
    /// The folders that were named, as they would be typed before a command.
    pub(crate) fn folder_options(&self) -> String {
        let folder = |folder: &Option<PathBuf>| {
            let folder = folder.as_ref()?;
            // Absolute, because the command may be pasted in another folder.
            let whole = std::path::absolute(folder).unwrap_or_else(|_| folder.clone());
            Some(quoted(&whole.to_string_lossy()))
        };
        let options = [
            folder(&self.data).map(|data| format!("--data {data}")),
            folder(&self.history).map(|history| format!("--history {history}")),
        ];
        options.into_iter().flatten().collect::<Vec<_>>().join(" ")
    }
}

/// The heading above the global options.
pub(crate) const GLOBAL_OPTIONS: &str = "Global options";

const AFTER_HELP: &str = "\
CHAT is `Character/chat name`, `group:chat id`, a path to the file, or just its name if that is unique.
Messages are numbered from 0, as in SillyTavern; -1 is the last one.

Try `forklore status` first. If something is lost: `forklore rescue`.
`forklore undo` reverts what a command changed in SillyTavern's files.
`forklore COMMAND --help` explains a command, with examples.";

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Color {
    #[default]
    Auto,
    Always,
    Never,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Show an overview of all stories, and any problems
    Status,
    Tree(TreeArgs),
    Check(CheckArgs),
    Checkpoint(CheckpointArgs),
    Branch(BranchArgs),
    Show(ShowArgs),
    Diff(DiffArgs),
    Merge(MergeArgs),
    Pick(PickArgs),
    Verify(VerifyArgs),
    Repair(RepairArgs),
    Split(SplitArgs),
    Restore(RestoreArgs),
    Clean(CleanArgs),
    Trash(TrashArgs),
    Undo(UndoArgs),
    Strip(StripArgs),
    Record(RecordArgs),
    Watch(WatchArgs),
    Run(RunArgs),
    Log(LogArgs),
    Undelete(UndeleteArgs),
    Rescue(RescueArgs),
    History(HistoryArgs),
    /// Check the setup, and explain how to fix what is wrong
    ///
    /// Writes a small test file to the data folder and the folder of histories, and removes it at once.
    Doctor,
    Service(ServiceArgs),
    /// Print a completion script for a shell
    Completions {
        /// Shell the script is for
        shell: clap_complete::Shell,
    },
    /// Print a manual page
    Man {
        /// Command the page is about, such as `log` or `history verify` (default: forklore itself)
        command: Vec<String>,
    },
}

/// Show chats with their checkpoints and branches as trees
#[derive(Args, Debug)]
pub struct TreeArgs {
    /// Character or group to show (default: all)
    pub character: Option<String>,
}

/// What is good enough for a fork, and what to do about work in progress
#[derive(Args, Clone, Debug)]
pub struct PolicyArgs {
    /// How well the lorebook must be known
    ///
    /// `exact` accepts only the state at that very message, of the lorebook and of the chat's variables
    /// and notes. `snapshot` also accepts the newest state proven for an earlier message. `live` also
    /// accepts the lorebook as it is today.
    #[arg(long, value_name = "LEVEL", default_value = "snapshot")]
    pub allow: AllowArg,

    /// What to do while ST-Auto-Recap has work in its queue
    ///
    /// `refuse` does not fork. `drain` leaves waiting operations out of the child's copy. `wait` waits
    /// until they are done, for up to ten minutes.
    #[arg(long, value_name = "WHAT", default_value = "refuse")]
    pub queue: QueueArg,

    /// Fork only at a scene break
    #[arg(long)]
    pub require_scene: bool,

    /// Use today's values for fields that a recap snapshot does not keep
    #[arg(long)]
    pub fill: bool,

    /// Fork without a lorebook if it cannot be brought along
    #[arg(long)]
    pub without_book: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum AllowArg {
    Exact,
    Snapshot,
    Live,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum QueueArg {
    Refuse,
    Drain,
    Wait,
}

/// Check whether a chat can be forked at a message, and how exactly
///
/// Lists every obstacle and everything worth knowing. Changes nothing.
#[derive(Args, Debug)]
pub struct CheckArgs {
    /// Chat to check
    pub chat: String,

    /// Message to fork at (default: the last one)
    #[arg(long, value_name = "M", allow_negative_numbers = true)]
    pub at: Option<i64>,

    #[command(flatten)]
    pub policy: PolicyArgs,
}

/// Fork a chat into a checkpoint
///
/// The checkpoint has the messages up to the chosen one, and its own lorebook and memory as they were
/// then. The chat itself does not change, except for the link to the checkpoint, which is written only
/// if the chat does not seem to be open in a page.
#[derive(Args, Debug)]
pub struct CheckpointArgs {
    /// Chat to fork
    pub chat: String,

    /// Message to fork at (default: the last one)
    #[arg(long, value_name = "M", allow_negative_numbers = true)]
    pub at: Option<i64>,

    /// Name of the checkpoint (default: as SillyTavern would name it)
    #[arg(long)]
    pub name: Option<String>,

    #[command(flatten)]
    pub policy: PolicyArgs,

    /// Promise that no browser tab has the chat open, so that the link can be written
    #[arg(long)]
    pub closed: bool,

    /// Only show what would be made
    #[arg(long)]
    pub dry_run: bool,
}

/// Fork a chat into a branch
///
/// The branch has the messages up to the chosen one, and its own lorebook and memory as they were then.
/// The chat itself does not change.
#[derive(Args, Debug)]
pub struct BranchArgs {
    /// Chat to fork
    pub chat: String,

    /// Message to fork at (default: the last one)
    #[arg(long, value_name = "M", allow_negative_numbers = true)]
    pub at: Option<i64>,

    #[command(flatten)]
    pub policy: PolicyArgs,

    /// Only show what would be made
    #[arg(long)]
    pub dry_run: bool,
}

/// Print the lorebook at a message, or any version of a file
///
/// With --at, prints the chat's lorebook to standard output, and how well it is known to standard error.
/// With --version, prints the file itself, byte for byte as the history has it.
#[derive(Args, Debug)]
#[command(group(ArgGroup::new("when").required(true)))]
pub struct ShowArgs {
    /// Chat whose lorebook to print; with --version, any file with a history
    pub chat: String,

    /// Message to show
    #[arg(long, value_name = "M", allow_negative_numbers = true, group = "when")]
    pub at: Option<i64>,

    /// Version to print, by its number in `forklore log`
    #[arg(long, value_name = "N", group = "when", conflicts_with = "fill")]
    pub version: Option<u64>,

    /// Use today's values for fields that a recap snapshot does not keep
    #[arg(long)]
    pub fill: bool,

    /// Write it to this file, all or nothing, and never overwrite one
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// Check seals, lorebooks, registries and sharing
///
/// Exits with 1 if anything is wrong.
#[derive(Args, Debug)]
pub struct VerifyArgs {
    /// Chats to check (default: every chat)
    #[arg(value_name = "CHAT")]
    pub chats: Vec<String>,

    /// Check every chat (the default)
    #[arg(long, conflicts_with = "chats")]
    pub all: bool,

    /// Also show notes, which are not problems, when checking every chat
    #[arg(long)]
    pub notes: bool,
}

/// Give a chat its lorebook back
///
/// An existing lorebook of that name goes to the trash first. A missing one comes back under its own name,
/// so that the chat does not have to change.
#[derive(Args, Debug)]
pub struct RepairArgs {
    /// Chat whose lorebook is lost
    pub chat: String,

    /// Where the lorebook comes from
    ///
    /// `journal`: what the chat's own messages recorded. `recap`: the newest copy that ST-Auto-Recap
    /// keeps in a scene break. `book=NAME`: a copy of that lorebook; `book` alone copies the parent's.
    /// `empty`: a lorebook without entries. `detach`: none.
    #[arg(long, value_name = "SOURCE", value_parser = parse_source)]
    pub from: SourceArg,

    #[command(flatten)]
    pub change: ChangeArgs,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SourceArg {
    Journal,
    Recap,
    Book(Option<String>),
    Empty,
    Detach,
}

fn parse_source(text: &str) -> Result<SourceArg, String> {
    match text {
        "journal" => Ok(SourceArg::Journal),
        "recap" => Ok(SourceArg::Recap),
        "book" => Ok(SourceArg::Book(None)),
        "empty" => Ok(SourceArg::Empty),
        "detach" => Ok(SourceArg::Detach),
        other => match other.strip_prefix("book=") {
            Some(name) if !name.is_empty() => Ok(SourceArg::Book(Some(name.to_owned()))),
            _ => Err("use one of journal, recap, book, book=NAME, empty, detach".to_owned()),
        },
    }
}

/// What goes with a change to files that exist
#[derive(Args, Clone, Copy, Debug)]
pub struct ChangeArgs {
    /// Promise that no browser tab has the chat or its lorebook open
    #[arg(long)]
    pub closed: bool,

    /// Only show what would be done
    #[arg(long)]
    pub dry_run: bool,
}

/// Give a timeline that shares its lorebook one of its own
///
/// The new lorebook is what the chat's journal recorded, or else a copy of the shared one as it is today.
#[derive(Args, Debug)]
pub struct SplitArgs {
    /// Timeline to split (default: all that share; each lorebook stays with the one closest to the main chat)
    pub chat: Option<String>,

    /// Split every timeline that shares (the default)
    #[arg(long, conflicts_with = "chat")]
    pub all: bool,

    #[command(flatten)]
    pub change: ChangeArgs,
}

/// Return a lorebook to an earlier message, or a file to a version
///
/// With --at, today's lorebook goes to the trash, and the chat's messages stay as they are. With --version, a
/// chat comes back as a new chat beside the old one, and anything else in its place; what was there is kept.
#[derive(Args, Debug)]
#[command(group(ArgGroup::new("when").required(true)))]
pub struct RestoreArgs {
    /// Chat whose lorebook to restore; with --version, any file with a history
    pub chat: String,

    /// Message to go back to
    #[arg(long, value_name = "M", allow_negative_numbers = true, group = "when")]
    pub at: Option<i64>,

    /// Version to go back to, by its number in `forklore log`
    #[arg(long, value_name = "N", group = "when", conflicts_with = "fill")]
    pub version: Option<u64>,

    /// Restore the chat in place, not as a new one beside it
    #[arg(long, requires = "version")]
    pub in_place: bool,

    /// Use today's values for fields that a recap snapshot does not keep
    #[arg(long)]
    pub fill: bool,

    #[command(flatten)]
    pub change: ChangeArgs,
}

/// Move lorebooks that Forklore made and nothing uses to the trash
///
/// Chats, groups, backups, settings, personas, cards and recap data are all read first; anything that cannot
/// be read counts as a reference. Lorebooks that Forklore did not make are never touched, and those of chats
/// that the history knows were deleted recently stay, in case you want them back.
#[derive(Args, Debug)]
pub struct CleanArgs {
    /// Only show what would be moved
    #[arg(long)]
    pub dry_run: bool,

    /// Also move lorebooks that only SillyTavern's chat backups refer to
    #[arg(long)]
    pub despite_backups: bool,

    /// Also move lorebooks of chats that were deleted in the last 30 days
    #[arg(long)]
    pub despite_deleted: bool,

    /// Do not ask for confirmation
    #[arg(long, short)]
    pub yes: bool,
}

/// List the trash, put something back, or empty it
#[derive(Args, Debug)]
pub struct TrashArgs {
    #[command(subcommand)]
    pub command: Option<TrashCommand>,
}

#[derive(Debug, Subcommand)]
pub enum TrashCommand {
    /// List what is in the trash, newest first
    List,
    /// Put something back where it was
    Restore {
        /// Number in the list
        id: String,
    },
    /// Remove everything in the trash for good
    Empty {
        /// Do not ask for confirmation
        #[arg(long, short)]
        yes: bool,
    },
}

/// Undo the last operation, whatever it was
///
/// Puts every file back byte for byte. Refuses if any of them has changed since.
#[derive(Args, Debug)]
pub struct UndoArgs {
    /// Number of the operation, as messages about it name it (default: the last one)
    #[arg(value_name = "NUMBER")]
    pub operation: Option<u64>,

    /// Only show what would be undone
    #[arg(long)]
    pub dry_run: bool,
}

/// Remove the journal from a chat
///
/// The journal records, inside the messages, how the lorebook and the chat's variables changed. Remove it
/// before you share a chat whose lore is private.
#[derive(Args, Debug)]
pub struct StripArgs {
    /// Chat to remove the journal from
    pub chat: String,

    #[command(flatten)]
    pub change: ChangeArgs,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_understood() {
        assert_eq!(parse_source("book=a=b"), Ok(SourceArg::Book(Some("a=b".into()))));
        assert_eq!(parse_source("book"), Ok(SourceArg::Book(None)));
        assert!(parse_source("book=").is_err());
        assert!(parse_source("git").is_err());
    }

    #[test]
    fn the_definitions_are_consistent() {
        use clap::CommandFactory as _;
        Cli::command().debug_assert();
    }
}
