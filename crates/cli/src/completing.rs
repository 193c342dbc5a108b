//! What a shell offers after a tab: options by their definitions, and chats and lorebooks as they are.

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
use forklore_tavern::locate::users::Users;

use crate::{environment, help};

/// The variable that a shell sets when it asks.
const ASKS: &str = "FORKLORE_COMPLETE";

/// Answers a shell that asks what could come next, and ends there.
pub(crate) fn answer() {
    CompleteEnv::with_factory(help::command).var(ASKS).complete();
}

/// What tells a shell to ask.
pub(crate) fn script(shell: Shell) -> io::Result<Vec<u8>> {
    let mut script = Vec::new();
    let shells = Shells::builtins();
    let known = shells.completer(&shell.to_string()).ok_or(io::ErrorKind::Unsupported)?;
    known.write_registration(ASKS, "forklore", "forklore", "forklore", &mut script)?;
    // bash quotes what it completes only if that is a file's name.
    let script = String::from_utf8_lossy(&script);
    Ok(script.replace("complete -o nospace", "complete -o filenames -o nospace").into_bytes())
}

/// The arguments that name a chat or a lorebook.
pub(crate) const NAMES: [&str; 7] = ["chat", "chats", "left", "right", "from", "into", "file"];

pub(crate) fn completer() -> ArgValueCompleter {
    ArgValueCompleter::new(names)
}

/// Chats and lorebooks that begin so, or whose chats' own names do.
fn names(current: &OsStr) -> Vec<CompletionCandidate> {
    let typed = current.to_string_lossy();
    // An old bash passes the quote along.
    let begun = folded(typed.trim_start_matches(['"', '\'']));
    let is_meant = |label: &str| {
        let label = folded(label);
        let own = label.split_once('/').map_or(&*label, |(_, own)| own);
        label.starts_with(&begun) || own.starts_with(&begun)
    };
    let Some(library) = library() else { return Vec::new() };
    let chats = library.chats.iter().map(ChatFile::label);
    let books = library.books.iter().map(|book| book.stem.clone());
    let meant = chats.chain(books).filter(|label| is_meant(label));
    meant.map(CompletionCandidate::new).collect()
}

/// The stories of the only user there is. Which other is meant cannot be known here.
fn library() -> Option<Library> {
    let found = find_root(&RealDisk, &environment()).ok()?;
    let users = Users::find(&RealDisk, &found.root).ok()?;
    let user = users.choose(found.handle.as_deref()).ok()?;
    let folders = UserFolders::new(&found.root, &user.handle).ok()?;
    Some(Library::list(&RealDisk, &folders))
}
