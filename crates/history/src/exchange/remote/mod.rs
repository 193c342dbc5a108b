//! Pushes to and pulls from a git remote: a bare repository on a disk, behind ssh, or at a hosting
//! service.
//!
//! This runs the installed git, because users set up their keys, agents and proxies for git. It is
//! started without a shell, and writes neither to the store nor to its refs: it puts a pack beside
//! them, and [`crate::exchange::join`] decides what to accept.

mod incoming;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::error::{Doing, HistoryError};
use crate::exchange::join::{self, Joined, RefName, Unsound};
use crate::git::object::Id;
use crate::git::refs::Refs;
use crate::store::files::Files as _;
use crate::version::history::History;

use forklore_tavern::disk::describe::shown;
use incoming::Incoming;

/// A push or pull failed.
#[derive(Debug, thiserror::Error)]
pub enum RemoteError {
    #[error("there is no git on this machine")]
    NoGit,
    #[error("{0:?} is not the address of a remote")]
    NotARemote(String),
    #[error("`{}` does not exist", .0.display())]
    NothingThere(PathBuf),
    #[error("`{}` already exists", .0.display())]
    SomethingThere(PathBuf),
    #[error("git could not {doing} {remote:?}")]
    Git { doing: &'static str, remote: String, source: GitOutput },
    #[error(transparent)]
    History(#[from] HistoryError),
}

/// What git reported.
#[derive(Clone, Debug, thiserror::Error)]
#[error("git says: {0}")]
pub struct GitOutput(String);

/// What a push did.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Pushed {
    /// Files that are new on the remote or have new versions there, by machine.
    pub files: BTreeMap<String, usize>,
    /// Files of other machines of which the remote has newer versions.
    pub newer_there: usize,
    /// Files of this machine of which the remote has versions that are missing here: they were
    /// purged, or another machine uses our name.
    pub ours_differ: usize,
    /// Refs that no longer exist here and were removed there.
    pub removed: usize,
    /// Refs that the remote rejected, and why.
    pub refused: Vec<(String, String)>,
}

/// The git program to run.
#[derive(Clone, Debug)]
pub struct Git {
    pub program: OsString,
}

impl Default for Git {
    fn default() -> Self {
        Self { program: "git".into() }
    }
}

/// The folders of refs that are exchanged with a remote.
const FOLDERS: [&str; 3] = ["heads", "pins", "dismissed"];

/// How often to retry if a remote changes while it is being read.
const TRIES: usize = 3;

/// Overrides the user's settings: no hooks, no maintenance, no refs beyond those requested, and no
/// addresses that run a command.
const SETTINGS: [&str; 12] = [
    "core.hooksPath=/dev/null",
    "core.fsync=all",
    "core.fsyncMethod=fsync",
    "protocol.ext.allow=never",
    "transfer.fsckObjects=true",
    "transfer.unpackLimit=1",
    "fetch.unpackLimit=1",
    "fetch.writeCommitGraph=false",
    "pack.writeReverseIndex=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "push.gpgSign=false",
];

/// How a repository on this machine receives a push: without running anything that is configured
/// there.
const RECEIVE_PACK: &str = "--receive-pack=git -c core.hooksPath=/dev/null \
     -c core.alternateRefsCommand=true -c receive.autogc=false receive-pack";

/// Variables that would lead git to another repository.
const ENVIRONMENT: [&str; 8] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_NAMESPACE",
    "GIT_PREFIX",
];

/// Sends everything to a remote. By default this only adds to what is there. With `prune`, the refs
/// under this machine's name are made the same as here, which removes what this machine no longer
/// has.
pub fn push(
    history: &mut History<'_>,
    git: &Git,
    remote: &str,
    prune: bool,
) -> Result<Pushed, RemoteError> {
    check(remote)?;
    check_folder(history, remote)?;
    history.record()?.flush()?;
    let own = history.machine().to_owned();
    let store = history.store();
    let repository = &store.layout().repository;
    let mut all: BTreeSet<String> = BTreeSet::new();
    for name in store.refs().keys() {
        let (Some(reference), Some(folder)) = (RefName::parse(name), name.split('/').nth(1)) else {
            continue;
        };
        // With `prune`, this machine's refs are sent separately.
        if !prune || reference.machine != own {
            all.insert(format!("refs/{folder}/{0}/*:refs/{folder}/{0}/*", reference.machine));
        }
    }
    let mut pushed = Pushed::default();
    if prune {
        let mine = FOLDERS.map(|folder| format!("+refs/{folder}/{own}/*:refs/{folder}/{own}/*"));
        send(git, repository, remote, &["--prune"], &mine, &own, &mut pushed)?;
    }
    let all: Vec<String> = all.into_iter().collect();
    if !all.is_empty() {
        send(git, repository, remote, &[], &all, &own, &mut pushed)?;
    }
    Ok(pushed)
}

fn send(
    git: &Git,
    repository: &Path,
    remote: &str,
    options: &[&str],
    all: &[String],
    own: &str,
    pushed: &mut Pushed,
) -> Result<(), RemoteError> {
    let mut command = git.command(repository);
    command.args(["push", "--porcelain", "--no-verify", "--no-follow-tags"]).args(options);
    if local(remote).is_some() {
        // The receiving side runs on this machine, and the folder may contain hooks that someone
        // else prepared.
        command.arg(RECEIVE_PACK);
    }
    command.arg("--").arg(remote).args(all);
    let output = git.run(command, b"")?;
    let mut lines = 0;
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let mut parts = line.split('\t');
        let (Some(flag), Some(names), Some(summary)) = (parts.next(), parts.next(), parts.next())
        else {
            continue;
        };
        lines += 1;
        let name = names.rsplit(':').next().unwrap_or_default();
        let Some(reference) = RefName::parse(name) else { continue };
        let is_file = name.starts_with("refs/heads/");
        match flag {
            "!" if summary.starts_with("[rejected]") => {
                let is_own = reference.machine == own;
                let left = if is_own { &mut pushed.ours_differ } else { &mut pushed.newer_there };
                *left += usize::from(is_file);
            }
            "!" => pushed.refused.push((name.to_owned(), printable(summary))),
            "-" => pushed.removed += 1,
            "=" => {}
            _ if is_file => {
                *pushed.files.entry(reference.machine.to_owned()).or_default() += 1;
            }
            _ => {}
        }
    }
    if !output.status.success() && lines == 0 {
        return Err(git_error("push to", remote, &output));
    }
    Ok(())
}

/// Imports what a remote has of other machines.
pub fn pull(history: &mut History<'_>, git: &Git, remote: &str) -> Result<Joined, RemoteError> {
    check(remote)?;
    check_folder(history, remote)?;
    // Git reads the local objects to find out what is missing.
    history.record()?.flush()?;
    let own = history.machine().to_owned();
    let repository = history.store().layout().repository.clone();
    let incoming = Incoming::open(history)?;
    let mut tries = 0;
    loop {
        tries += 1;
        let offered = list(git, &repository, remote)?;
        let known = history.store().refs();
        let wanted: String = offered
            .iter()
            .filter(|(name, id)| known.get(*name) != Some(*id))
            .filter(|(name, _)| RefName::parse(name).is_some_and(|it| it.machine != own))
            .map(|(name, _)| format!("{name}\n"))
            .collect();
        if !wanted.is_empty() {
            fetch(git, &repository, &incoming.folder, remote, &wanted)?;
        }
        let store = history.store_mut();
        store.refresh()?;
        let mut writing = store.write()?;
        let fetched = incoming.packs()?;
        let plan = join::plan(writing.store(), &fetched, &own, &offered)?;
        // A ref moved after it was listed.
        let has_moved = plan.joined.refused.iter().any(|refused| refused.why == Unsound::Missing);
        if has_moved && tries < TRIES {
            continue;
        }
        join::apply(&mut writing, &fetched, &plan)?;
        drop((writing, fetched));
        incoming.clear()?;
        history.refresh()?;
        return Ok(plan.joined);
    }
}

/// All refs of a remote in the folders that are exchanged.
fn list(git: &Git, repository: &Path, remote: &str) -> Result<Refs, RemoteError> {
    let mut command = git.command(repository);
    command.args(["ls-remote", "--refs", "--quiet", "--"]).arg(remote);
    let output = git.run(command, b"")?;
    if !output.status.success() {
        return Err(git_error("read", remote, &output));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let refs = text.lines().filter_map(|line| {
        let (id, name) = line.split_once('\t')?;
        let folder = name.strip_prefix("refs/")?.split('/').next()?;
        let id = Id::from_hex(id.as_bytes()).ok()?;
        FOLDERS.contains(&folder).then(|| (name.to_owned(), id))
    });
    Ok(refs.collect())
}

fn fetch(
    git: &Git,
    repository: &Path,
    incoming: &Path,
    remote: &str,
    wanted: &str,
) -> Result<(), RemoteError> {
    let mut command = git.command(repository);
    command.env("GIT_OBJECT_DIRECTORY", incoming);
    command.env("GIT_ALTERNATE_OBJECT_DIRECTORIES", quoted(&repository.join("objects")));
    command
        .args(["fetch", "--quiet", "--stdin", "--no-write-fetch-head", "--no-auto-maintenance"])
        .args(["--no-tags", "--no-prune", "--no-recurse-submodules", "--"])
        .arg(remote);
    let output = git.run(command, wanted.as_bytes())?;
    if output.status.success() { Ok(()) } else { Err(git_error("fetch from", remote, &output)) }
}

/// Quotes a path for a list of paths as git reads it, whatever the separator.
fn quoted(path: &Path) -> OsString {
    match path.to_str() {
        Some(text) => format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"")).into(),
        None => path.into(),
    }
}

/// Creates an empty repository to push to.
pub fn create(history: &History<'_>, git: &Git, remote: &str) -> Result<(), RemoteError> {
    check(remote)?;
    let path = local(remote).ok_or_else(|| RemoteError::NotARemote(remote.to_owned()))?;
    let disk = history.store().disk;
    // Readable only by its owner, whatever git would do.
    disk.make_dirs(path).doing("make", path)?;
    if !disk.paths_in(path)?.is_empty() {
        return Err(RemoteError::SomethingThere(path.to_owned()));
    }
    let mut command = git.bare_command();
    command.args(["init", "--quiet", "--bare", "--template=", "--"]).arg(path);
    let output = git.run(command, b"")?;
    if output.status.success() { Ok(()) } else { Err(git_error("make", remote, &output)) }
}

/// Rejects anything that git would take for an option.
fn check(remote: &str) -> Result<(), RemoteError> {
    let is_address = !remote.is_empty() && !remote.starts_with('-');
    if !is_address || remote.chars().any(char::is_control) {
        return Err(RemoteError::NotARemote(remote.to_owned()));
    }
    Ok(())
}

fn check_folder(history: &History<'_>, remote: &str) -> Result<(), RemoteError> {
    let Some(path) = local(remote) else { return Ok(()) };
    match history.store().disk.exists(path)? {
        true => Ok(()),
        false => Err(RemoteError::NothingThere(path.to_owned())),
    }
}

/// The path of a local remote: not `https://host/x`, not `host:x`.
pub fn local(remote: &str) -> Option<&Path> {
    if let Some(path) = remote.strip_prefix("file://") {
        return Some(Path::new(path));
    }
    let before = remote.split(':').next().unwrap_or_default();
    let is_drive = cfg!(windows) && before.len() == 1;
    let is_host = remote.contains(':') && !before.contains('/') && !is_drive;
    (!is_host).then(|| Path::new(remote))
}

fn git_error(doing: &'static str, remote: &str, output: &Output) -> RemoteError {
    let text = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let shown = &lines[..lines.len().min(4)];
    let said = if shown.is_empty() { "nothing".to_owned() } else { printable(&shown.join("; ")) };
    RemoteError::Git { doing, remote: remote.to_owned(), source: GitOutput(said) }
}

/// Removes control characters, because a remote's messages are printed in a terminal.
fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(600).collect()
}

impl Git {
    fn command(&self, repository: &Path) -> Command {
        let mut command = self.bare_command();
        let mut place = OsString::from("--git-dir=");
        place.push(repository);
        command.arg(place);
        command
    }

    fn bare_command(&self) -> Command {
        let mut command = Command::new(&self.program);
        for setting in SETTINGS {
            command.args(["-c", setting]);
        }
        for name in ENVIRONMENT {
            command.env_remove(name);
        }
        command
    }

    fn run(&self, mut command: Command, input: &[u8]) -> Result<Output, RemoteError> {
        let failed = |error: io::Error| match error.kind() {
            io::ErrorKind::NotFound => RemoteError::NoGit,
            _ => RemoteError::History(HistoryError::Io {
                doing: "run",
                path: PathBuf::from(&self.program),
                source: error,
            }),
        };
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(failed)?;
        if let Some(mut stdin) = child.stdin.take() {
            // If git exits before it has read everything, it reports why.
            let _ = stdin.write_all(input);
        }
        child.wait_with_output().map_err(failed)
    }
}

forklore_core::diagnostics!(RemoteError {
    Self::NoGit => ("no-git"),
    Self::NotARemote(remote) => ("not-a-remote", remote: remote.as_str()),
    Self::NothingThere(path) => ("nothing-there", path: shown(path)),
    Self::SomethingThere(path) => ("already-there", path: shown(path)),
    Self::Git { doing, remote, .. } => ("git-failed", doing: *doing, remote: remote.as_str()),
    Self::History(error) => [error: HistoryError],
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_not_an_option() {
        for remote in ["", "-x", "--upload-pack=touch /tmp/x", "a\nb"] {
            assert!(matches!(check(remote), Err(RemoteError::NotARemote(_))), "{remote}");
        }
        assert!(check("git@host:stories.git").is_ok());
    }

    #[test]
    fn a_folder_is_told_from_a_host() {
        for (remote, expected) in [
            ("/media/stick/stories.git", Some("/media/stick/stories.git")),
            ("stories.git", Some("stories.git")),
            ("./a:b", Some("./a:b")),
            ("file:///srv/x.git", Some("/srv/x.git")),
            ("git@host:stories.git", None),
            ("host:stories.git", None),
            ("ssh://host/x.git", None),
            ("https://host/x.git", None),
            ("ext::sh -c x", None),
        ] {
            assert_eq!(local(remote), expected.map(Path::new), "{remote}");
        }
    }
}
