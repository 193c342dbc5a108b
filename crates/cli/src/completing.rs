//! Shell completion: options from their definitions, chats and lorebooks from the data folder.

use std::ffi::OsStr;
use std::io;

use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};
use clap_complete::env::Shells;
use clap_complete::{CompleteEnv, Shell};
use forklore_core::sillytavern::names::folded;
use forklore_tavern::disk::RealDisk;
use forklore_tavern::folder::layout::UserFolders;
use forklore_tavern::folder::library::{ChatFile, Library};
use forklore_tavern::locate::root::find_root;
use forklore_tavern::locate::users::{Needs, Users};

use crate::{environment, help};

/// The variable a shell sets to request completions.
const REQUEST_VAR: &str = "FORKLORE_COMPLETE";

/// If a shell is asking for completions, prints them and exits.
pub(crate) fn respond() {
    CompleteEnv::with_factory(help::command).var(REQUEST_VAR).complete();
}

/// The script that registers completion with a shell.
pub(crate) fn script(shell: Shell) -> io::Result<Vec<u8>> {
    let mut script = Vec::new();
    let shells = Shells::builtins();
    let known = shells.completer(&shell.to_string()).ok_or(io::ErrorKind::Unsupported)?;
    known.write_registration(REQUEST_VAR, "forklore", "forklore", "forklore", &mut script)?;
    // bash quotes completions only if they are declared to be file names.
    let script = String::from_utf8_lossy(&script);
    Ok(script.replace("complete -o nospace", "complete -o filenames -o nospace").into_bytes())
}

/// The arguments that name a chat or a lorebook.
pub(crate) const NAME_ARGS: [&str; 7] = ["chat", "chats", "left", "right", "from", "into", "file"];

pub(crate) fn completer() -> ArgValueCompleter {
    ArgValueCompleter::new(complete_name)
}

/// Chats and lorebooks that start with the typed text. A chat also matches by its name alone,
/// without its character.
fn complete_name(current: &OsStr) -> Vec<CompletionCandidate> {
    let typed = current.to_string_lossy();
    // Old versions of bash pass the opening quote along.
    let prefix = folded(typed.trim_start_matches(['"', '\'']));
    let is_match = |label: &str| {
        let label = folded(label);
        let own = label.split_once('/').map_or(&*label, |(_, own)| own);
        label.starts_with(&prefix) || own.starts_with(&prefix)
    };
    let Some(library) = library() else { return Vec::new() };
    let chats = library.chats.iter().map(ChatFile::label);
    let books = library.books.iter().map(|book| book.stem.clone());
    let matches = chats.chain(books).filter(|label| is_match(label));
    matches.map(CompletionCandidate::new).collect()
}

/// The files of the only user, or of the user whose folder is the data folder. `--user` is not
/// visible here.
fn library() -> Option<Library> {
    let found = find_root(&RealDisk, &environment()).ok()?;
    let users = Users::find(&RealDisk, &found.root).ok()?;
    let handle = users.choose(found.handle.as_deref(), Needs::Folder).ok()?;
    let folders = UserFolders::new(&found.root, &handle).ok()?;
    Some(Library::list(&RealDisk, &folders))
}
