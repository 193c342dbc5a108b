//! Errors raised by the command itself.

use std::io;
use std::path::PathBuf;

use forklore_core::diagnostics;
use forklore_core::finding::Obstacle;
use forklore_tavern::disk::describe::{kind, shown};

use crate::text::count;

#[derive(Debug, thiserror::Error)]
pub(crate) enum Objection {
    #[error("there is no command {0:?}")]
    UnknownCommand(String),
    #[error("there is no character or group {0:?} with chats")]
    UnknownOwner(String),
    #[error("{wanted:?} matches several {among}")]
    Ambiguous { wanted: String, among: String },
    #[error("none of the {among} is called {wanted:?}")]
    Unknown { wanted: String, among: String },
    #[error("{chat}: {obstacle}")]
    Message { chat: String, obstacle: Obstacle },
    /// `undone` names the step that was skipped.
    #[error("{undone}: confirmation needs a terminal")]
    NobodyToAsk { undone: &'static str },

    #[error("{chat} has no lorebook at message {message}")]
    NoBookThen { chat: String, message: usize },
    #[error(
        "{chat} has no lorebook {when}, and nothing recorded whether it had one at message {message}"
    )]
    NoBookNow { chat: String, message: usize, when: String },
    #[error("nothing recorded the lorebook of {chat} at message {message}")]
    BookNotRecorded { chat: String, message: usize },
    #[error("{0} has no parent with a lorebook to copy")]
    NoParentsBook(String),
    #[error("{0:?} is a picture")]
    Picture(String),

    #[error("the message is given twice")]
    MessageTwice,
    #[error("nothing to compare {0} with")]
    NothingToCompare(String),

    #[error("nothing was written: {}", count(*.0, "unresolved conflict", "unresolved conflicts"))]
    NotSettled(usize),
    #[error("conflicts cannot all be resolved both ways")]
    BothWays,
    #[error("there is no conflict in {0:?}")]
    NoConflict(String),
    #[error("{0}, so nothing was written")]
    EditedWrongly(String),
    #[error("no editor is set")]
    NoEditor,
    #[error("could not {doing}: {error}; nothing was changed")]
    NotEdited { doing: String, error: io::Error },
    #[error("{0:?} exited with {1}; nothing was changed")]
    EditorFailed(String, String),

    #[error("the data folder `{}` itself is missing", .0.display())]
    DataFolderGone(PathBuf),
    #[error("the history has nothing of a machine {wanted:?}, only of: {}", machines.join(", "))]
    UnknownMachine { wanted: String, machines: Vec<String> },
    #[error("that time is in the future")]
    InTheFuture,
    #[error("nothing is known from before {0}")]
    BeforeTheHistory(String),
    #[error("number {0} is not in the list")]
    NotInTheList(u64),
    #[error("there is nothing to undo")]
    NothingToUndo,
    #[error("there is no operation {0} that is not undone yet")]
    NoOperation(u64),
    #[error("there is no history to repair")]
    NothingToRepair,
    #[error("the history has not been repaired yet")]
    NotRepaired,
    #[error("there is no user to watch")]
    NobodyToWatch,
    #[error("`{command}` failed: {said}")]
    SystemRefused { command: String, said: String },
    #[error("could not start {program:?}: {error}")]
    NotStarted { program: String, error: io::Error },
    #[error("another `forklore watch` is already recording the files of {0}")]
    AlreadyWatched(String),
    #[error("could not watch the files: {0}")]
    NotWatched(String),

    #[error("`{}` already exists", .0.display())]
    AlreadyThere(PathBuf),
    #[error("could not write `{}`: {error}", path.display())]
    NotWritten { path: PathBuf, error: io::Error },
    #[error("could not read `{}`: {error}", path.display())]
    NotRead { path: PathBuf, error: io::Error },
    #[error("a bundle cannot be written to a terminal")]
    OutputIsATerminal,
    #[error("with --json, standard output is for the answer")]
    OutputIsJson,
    #[error("a bundle cannot be read from a terminal")]
    InputIsATerminal,
    #[error("could not write the page: {0}")]
    PageNotWritten(io::Error),
}

diagnostics!(Objection {
    Self::UnknownCommand(wanted) => ("unknown-command", wanted: wanted.as_str()),
    Self::UnknownOwner(wanted) => ("unknown-owner", wanted: wanted.as_str()),
    Self::Ambiguous { wanted, among } => ("ambiguous", wanted: wanted.as_str(), among: among.as_str()),
    Self::Unknown { wanted, among } => ("unknown", wanted: wanted.as_str(), among: among.as_str()),
    Self::Message { obstacle, .. } => [obstacle: Obstacle],
    Self::NobodyToAsk { .. } => ("nobody-to-ask"),
    Self::NoBookThen { chat, message } => ("no-book", chat: chat.as_str(), message: *message),
    Self::NoBookNow { chat, message, .. } | Self::BookNotRecorded { chat, message } => (
        "book-not-recorded",
        chat: chat.as_str(),
        message: *message,
    ),
    Self::NoParentsBook(chat) => ("no-parents-book", chat: chat.as_str()),
    Self::Picture(name) => ("picture", name: name.as_str()),
    Self::MessageTwice => ("message-twice"),
    Self::NothingToCompare(chat) => ("nothing-to-compare", chat: chat.as_str()),
    Self::NotSettled(open) => ("not-settled", count: *open),
    Self::BothWays => ("both-ways"),
    Self::NoConflict(name) => ("no-conflict", name: name.as_str()),
    Self::EditedWrongly(_) => ("edited-wrongly"),
    Self::NoEditor => ("no-editor"),
    Self::NotEdited { error, .. } => ("not-edited", kind: kind(error)),
    Self::EditorFailed(editor, _) => ("editor-failed", editor: editor.as_str()),
    Self::DataFolderGone(path) => ("data-folder-gone", path: shown(path)),
    Self::UnknownMachine { wanted, machines } => (
        "unknown-machine",
        wanted: wanted.as_str(),
        machines: machines.clone(),
    ),
    Self::InTheFuture => ("in-the-future"),
    Self::BeforeTheHistory(began) => ("before-the-history", began: began.as_str()),
    Self::NotInTheList(number) => ("not-in-the-list", number: *number),
    Self::NothingToUndo => ("nothing-to-undo"),
    Self::NoOperation(id) => ("no-operation", operation: *id),
    Self::NothingToRepair => ("nothing-to-repair"),
    Self::NotRepaired => ("not-repaired"),
    Self::NobodyToWatch => ("no-user"),
    Self::SystemRefused { command, .. } => ("system-refused", command: command.as_str()),
    Self::NotStarted { program, error } => (
        "not-started",
        kind: kind(error),
        program: program.as_str(),
    ),
    Self::AlreadyWatched(user) => ("already-watched", user: user.as_str()),
    Self::NotWatched(_) => ("not-watched"),
    Self::AlreadyThere(path) => ("already-there", path: shown(path)),
    Self::NotWritten { path, error } => ("not-written", path: shown(path), kind: kind(error)),
    Self::NotRead { path, error } => ("not-read", path: shown(path), kind: kind(error)),
    Self::OutputIsATerminal => ("output-is-a-terminal"),
    Self::OutputIsJson => ("output-is-json"),
    Self::InputIsATerminal => ("input-is-a-terminal"),
    Self::PageNotWritten(error) => ("page-not-written", kind: kind(error)),
});
