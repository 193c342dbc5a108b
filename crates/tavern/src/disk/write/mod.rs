//! Creates files, and replaces files that a running SillyTavern may be writing at the same time.
//!
//! Both write the new bytes to a temporary file beside the target, verify them there, and then move
//! them into place atomically. A reader of the target sees either the whole old version or the
//! whole new one.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::disk::describe::shown;
use crate::disk::{Disk, FileType, Stat, parent_of};

/// A file could not be created.
#[derive(Debug, thiserror::Error)]
#[error("could not write `{}`", path.display())]
pub struct WriteError {
    pub path: PathBuf,
    pub source: WriteCause,
}

/// One variant for each way a caller may react.
#[derive(Debug, thiserror::Error)]
pub enum WriteCause {
    /// Choose another name.
    #[error("something is already there")]
    Exists,
    /// The disk cannot be trusted; the target was left alone.
    #[error("the bytes read back differ from those written")]
    Miswritten,
    /// The target was left alone.
    #[error("could not {step}")]
    Io { step: WriteStep, source: io::Error },
    /// The new file is in place and readable; a power cut may still undo that.
    #[error("it is in place, but the disk did not confirm it")]
    Unconfirmed(#[source] io::Error),
}

/// Where in the protocol the disk failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteStep {
    Read,
    WriteBeside,
    ReadBack,
    MoveIntoPlace,
}

/// A file could not be replaced.
#[derive(Debug, thiserror::Error)]
#[error("could not replace `{}`", path.display())]
pub struct ReplaceError {
    pub path: PathBuf,
    pub source: ReplaceCause,
}

/// One variant for each way a caller may react.
#[derive(Debug, thiserror::Error)]
pub enum ReplaceCause {
    /// Read it again and start over. The newest version is in place (or the file is gone, if it was
    /// deleted last). `displaced` holds versions saved by others that are no longer on disk; they
    /// are older than the newest one, and the caller must put them into the trash.
    #[error("it changed in the meantime")]
    ChangedMeanwhile { displaced: Vec<Vec<u8>> },
    /// A folder, a link, or another kind of special file.
    #[error("it is not a regular file")]
    NotAFile,
    /// While a newer version was being put back, the disk failed or others kept saving. `temp` was
    /// left behind and may hold the newest version; `displaced` holds every version that could be
    /// read, newest last.
    #[error("a newer version could not be put back and may be in `{}`", temp.display())]
    Stranded { temp: PathBuf, displaced: Vec<Vec<u8>>, source: io::Error },
    /// The old version is in place, except after [`WriteCause::Unconfirmed`].
    #[error(transparent)]
    Write(#[from] WriteCause),
}

/// Creates `path` with the concatenated `parts`. Never replaces an existing file.
///
/// `tag` names the temporary file and must be unique to the caller during the call. Permissions are
/// copied from `like`: a neighbouring file that SillyTavern can read, or `None` for Forklore's own
/// files.
pub fn create_new(
    disk: &dyn Disk,
    path: &Path,
    tag: &str,
    like: Option<&Path>,
    parts: &[&[u8]],
) -> Result<(), WriteError> {
    return create(disk, path, &temp_beside(path, tag), like, parts)
        .map_err(|source| WriteError { path: path.to_owned(), source });

    fn create(
        disk: &dyn Disk,
        path: &Path,
        temp: &Path,
        like: Option<&Path>,
        parts: &[&[u8]],
    ) -> Result<(), WriteCause> {
        // Publishing would detect this too, but only after writing everything.
        if disk.stat(path).map_err(|source| io_at(WriteStep::Read, source))?.is_some() {
            return Err(WriteCause::Exists);
        }
        write_beside(disk, temp, like, parts)?;
        disk.publish(temp, path).map_err(|source| {
            discard(disk, temp);
            match source.kind() {
                io::ErrorKind::AlreadyExists => WriteCause::Exists,
                _ => io_at(WriteStep::MoveIntoPlace, source),
            }
        })?;
        disk.sync_dir(parent_of(path)).map_err(WriteCause::Unconfirmed)
    }
}

/// Replaces `path` with the concatenated `parts`, provided that it holds `expected` at the very
/// moment of the exchange.
///
/// The caller must have put a copy of `expected` into the trash beforehand.
///
/// # Why nothing is lost
///
/// SillyTavern renames whole new versions over `path` and takes no locks, so any check before a
/// rename comes too early. An exchange hands back the displaced file, so the check can come
/// afterwards:
///
/// 1. The temporary file holds *ours*. Exchange it with `path`. It now holds whatever was at `path`
///    at that instant. If that is `expected`, we are done: later saves by others overwrite ours, as
///    they would overwrite any version.
/// 2. Otherwise another program saved a version that we had not seen. Say we *put* X at `path` and
///    *got* G out of it (at first, X is ours). G belongs at `path` unless something newer is there.
///    So read `path`: if it does not hold the bytes of X, a newer version was saved after G was
///    displaced. The newest version is already in place. Done.
/// 3. Otherwise exchange again: G is now at `path`, and N comes out.
///    - N is the very file X that we put there: there was no save in between, so G is the newest
///      version so far, and it is in place. Done.
///    - N is another file: it was renamed over X after G was displaced, so N is newer than G and
///      must replace it. Continue at 2 with put = G, got = N.
///
/// So whenever the loop ends, the newest version is at `path`. Each further round requires another
/// save by another program exactly between the check and the exchange. Every version that came out
/// and is neither ours, nor `expected`, nor back in place is handed to the caller, even if its
/// owner has since saved over it. If this process is killed in between, the versions are at `path`
/// and in the temporary file, which is never removed unread. A concurrent reader may see ours, or a
/// version one save older than the newest.
///
/// "The very file" means equal inode, size, modification time and bytes. If only the bytes were
/// compared, a version equal to an older one (save, undo, save) would be mistaken for it, and the
/// version in between would be left in place.
///
/// Where the system cannot exchange files, the file is read and compared once more and then renamed
/// over. A version saved between these two steps, microseconds apart, would be lost; on such
/// systems, change a chat or book that may be open through the page's own saves instead.
pub fn replace_checked(
    disk: &dyn Disk,
    path: &Path,
    tag: &str,
    parts: &[&[u8]],
    expected: &[u8],
) -> Result<(), ReplaceError> {
    return replace(disk, path, &temp_beside(path, tag), parts, expected)
        .map_err(|source| ReplaceError { path: path.to_owned(), source });

    fn replace(
        disk: &dyn Disk,
        path: &Path,
        temp: &Path,
        parts: &[&[u8]],
        expected: &[u8],
    ) -> Result<(), ReplaceCause> {
        check_target(disk, path, expected)?;
        let stat = write_beside(disk, temp, Some(path), parts)?;
        let ours = OurFile { stat, parts };
        match disk.exchange(temp, path) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::Unsupported => {
                return rename_over(disk, path, temp, expected);
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                discard(disk, temp);
                return Err(ReplaceCause::ChangedMeanwhile { displaced: Vec::new() });
            }
            Err(error) => {
                discard(disk, temp);
                return Err(io_at(WriteStep::MoveIntoPlace, error).into());
            }
        }

        match ForeignFile::read_unless(disk, temp, |_| disk.matches(temp, &[expected])) {
            Ok(None) => {
                let confirmed = disk.sync_dir(parent_of(path));
                discard(disk, temp);
                confirmed.map_err(|error| WriteCause::Unconfirmed(error).into())
            }
            Ok(Some(displaced)) => Err(put_back(disk, path, temp, ours, displaced, expected)),
            Err(error) => Err(restore_displaced(disk, path, temp, &ours, error)),
        }
    }
}

/// Whether `name` is one of Forklore's temporary files. None should outlive its operation; one that
/// does may hold the only copy of something.
pub fn is_our_temp(name: &str) -> bool {
    name.starts_with(TEMP_START) && name.ends_with(TEMP_END)
}

const TEMP_START: &str = ".forklore-";
/// Not an extension that SillyTavern lists.
const TEMP_END: &str = ".tmp";

/// After this many rounds, another program must be writing without pause.
const MAX_ROUNDS: usize = 100;

/// A writer that never pauses can fall into lockstep with us, each waiting for the other's rename,
/// for hundreds of rounds [measured at 10,000 saves a second]. A pause lets it get ahead, so that
/// its latest save is the newest version.
const ROUNDS_WITHOUT_PAUSE: usize = 4;
const PAUSE: Duration = Duration::from_millis(1);

/// In the same folder, because a rename cannot cross file systems. Does not include the target's
/// name, which may already have the maximum length.
pub(crate) fn temp_beside(path: &Path, tag: &str) -> PathBuf {
    path.with_file_name(format!("{TEMP_START}{}{TEMP_END}", tag.replace(['/', '\\', '\0'], "-")))
}

fn check_target(disk: &dyn Disk, path: &Path, expected: &[u8]) -> Result<(), ReplaceCause> {
    let changed = || ReplaceCause::ChangedMeanwhile { displaced: Vec::new() };
    let at_read = |source| ReplaceCause::from(io_at(WriteStep::Read, source));
    match disk.stat(path).map_err(at_read)? {
        None => return Err(changed()),
        Some(Stat { kind: FileType::File, .. }) => {}
        Some(_) => return Err(ReplaceCause::NotAFile),
    }
    match disk.matches(path, &[expected]) {
        Ok(true) => Ok(()),
        Ok(false) => Err(changed()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(changed()),
        Err(error) => Err(at_read(error)),
    }
}

/// Leaves nothing behind on failure.
fn write_beside(
    disk: &dyn Disk,
    temp: &Path,
    like: Option<&Path>,
    parts: &[&[u8]],
) -> Result<Stat, WriteCause> {
    if let Err(source) = disk.write_new(temp, like, parts) {
        // A file that already exists was left by a crash and may be the only copy of something.
        if source.kind() != io::ErrorKind::AlreadyExists {
            discard(disk, temp);
        }
        return Err(io_at(WriteStep::WriteBeside, source));
    }
    let read_back =
        stat_existing(disk, temp).and_then(|stat| Ok((stat, disk.matches(temp, parts)?)));
    let cause = match read_back {
        Ok((stat, true)) => return Ok(stat),
        Ok((_, false)) => WriteCause::Miswritten,
        Err(source) => io_at(WriteStep::ReadBack, source),
    };
    discard(disk, temp);
    Err(cause)
}

/// Steps 2 and 3 of the argument at [`replace_checked`].
fn put_back(
    disk: &dyn Disk,
    path: &Path,
    temp: &Path,
    ours: OurFile<'_>,
    displaced: ForeignFile,
    expected: &[u8],
) -> ReplaceCause {
    // The last element is what we put at `path`; while this is empty, that is ours.
    let mut seen: Vec<ForeignFile> = Vec::new();
    let mut got = displaced;
    let holds_put = |seen: &[ForeignFile], at: &Path| match seen.last() {
        None => disk.matches(at, ours.parts),
        Some(put) => disk.matches(at, &[&put.bytes]),
    };
    let hand_back = |seen: Vec<ForeignFile>| {
        seen.into_iter().map(|version| version.bytes).filter(|bytes| bytes != expected).collect()
    };
    for round in 0..MAX_ROUNDS {
        if round >= ROUNDS_WITHOUT_PAUSE {
            std::thread::sleep(PAUSE);
        }
        let superseded = match holds_put(&seen, path) {
            Ok(holds_put) => !holds_put,
            // The owner deleted the file: that is the newest state.
            Err(error) => error.kind() == io::ErrorKind::NotFound,
        };
        if superseded {
            seen.push(got);
            discard(disk, temp);
            return ReplaceCause::ChangedMeanwhile { displaced: hand_back(seen) };
        }
        let came_out = disk.exchange(temp, path).and_then(|()| {
            ForeignFile::read_unless(disk, temp, |stat| {
                // Ours is recognised by its bytes alone, since no other program can have written
                // them yet. So the first round, usually the only one, does not depend on inodes,
                // which some file systems make up anew on each call.
                let is_put = seen.last().is_none_or(|put| put.stat == *stat);
                Ok(is_put && holds_put(&seen, temp)?)
            })
        });
        match came_out {
            Ok(None) => {
                // Sync the new name before removing the temporary file. If the sync fails, a power
                // cut may bring back ours and leave G in the temporary file.
                let _ = disk.sync_dir(parent_of(path));
                discard(disk, temp);
                return ReplaceCause::ChangedMeanwhile { displaced: hand_back(seen) };
            }
            Ok(Some(version)) => seen.push(std::mem::replace(&mut got, version)),
            Err(error) => {
                let gone = error.kind() == io::ErrorKind::NotFound
                    && matches!(disk.stat(path), Ok(None))
                    && stat_existing(disk, temp).is_ok_and(|stat| stat == got.stat)
                    && disk.matches(temp, &[&got.bytes]).unwrap_or(false);
                seen.push(got);
                if gone {
                    // The owner deleted the file: that is the newest state.
                    discard(disk, temp);
                    return ReplaceCause::ChangedMeanwhile { displaced: hand_back(seen) };
                }
                return stranded(temp, hand_back(seen), error);
            }
        }
    }
    seen.push(got);
    stranded(temp, hand_back(seen), io::ErrorKind::ResourceBusy.into())
}

/// The displaced version cannot be read; all we know is that it belongs at `path`.
fn restore_displaced(
    disk: &dyn Disk,
    path: &Path,
    temp: &Path,
    ours: &OurFile<'_>,
    unreadable: io::Error,
) -> ReplaceCause {
    let came_out = disk.exchange(temp, path).and_then(|()| {
        ForeignFile::read_unless(disk, temp, |stat| {
            Ok(*stat == ours.stat && disk.matches(temp, ours.parts)?)
        })
    });
    match came_out {
        Ok(None) => {
            discard(disk, temp);
            io_at(WriteStep::Read, unreadable).into()
        }
        Ok(Some(version)) => stranded(temp, vec![version.bytes], unreadable),
        Err(_) => stranded(temp, Vec::new(), unreadable),
    }
}

fn stranded(temp: &Path, displaced: Vec<Vec<u8>>, source: io::Error) -> ReplaceCause {
    ReplaceCause::Stranded { temp: temp.to_owned(), displaced, source }
}

/// Fallback for systems without exchange.
fn rename_over(
    disk: &dyn Disk,
    path: &Path,
    temp: &Path,
    expected: &[u8],
) -> Result<(), ReplaceCause> {
    let moved = check_target(disk, path, expected).and_then(|()| {
        disk.rename(temp, path).map_err(|source| io_at(WriteStep::MoveIntoPlace, source).into())
    });
    if moved.is_err() {
        discard(disk, temp);
    }
    moved?;
    disk.sync_dir(parent_of(path)).map_err(|error| WriteCause::Unconfirmed(error).into())
}

/// Ignores errors: the outcome is already decided, and a leftover file does not change it.
fn discard(disk: &dyn Disk, temp: &Path) {
    let _ = disk.remove(temp);
}

fn io_at(step: WriteStep, source: io::Error) -> WriteCause {
    WriteCause::Io { step, source }
}

impl std::fmt::Display for WriteStep {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(match self {
            WriteStep::Read => "read what is there",
            WriteStep::WriteBeside => "write a file beside it",
            WriteStep::ReadBack => "read back what was written",
            WriteStep::MoveIntoPlace => "move the new file into place",
        })
    }
}

/// Our new file. The caller already holds its bytes, which can be 100 MB for a chat.
struct OurFile<'a> {
    stat: Stat,
    parts: &'a [&'a [u8]],
}

/// A file written by another program: its metadata and its bytes.
struct ForeignFile {
    stat: Stat,
    bytes: Vec<u8>,
}

impl ForeignFile {
    /// Reads the displaced file unless it is known. Only an unknown file is read whole: it may be
    /// the only copy.
    fn read_unless(
        disk: &dyn Disk,
        temp: &Path,
        is_known: impl FnOnce(&Stat) -> io::Result<bool>,
    ) -> io::Result<Option<Self>> {
        let stat = stat_existing(disk, temp)?;
        if is_known(&stat)? {
            return Ok(None);
        }
        Ok(Some(Self { stat, bytes: disk.read(temp)? }))
    }
}

fn stat_existing(disk: &dyn Disk, path: &Path) -> io::Result<Stat> {
    Ok(disk.stat(path)?.ok_or(io::ErrorKind::NotFound)?)
}

forklore_core::diagnostics!(WriteError {
    Self { path, source: WriteCause::Exists } => ("already-there", path: shown(path)),
    Self { path, .. } => ("not-written", path: shown(path)),
});

forklore_core::diagnostics!(ReplaceError {
    Self { path, source: ReplaceCause::ChangedMeanwhile { .. } } => ("changed-meanwhile", path: shown(path)),
    Self { path, .. } => ("not-replaced", path: shown(path)),
});

#[cfg(test)]
mod tests;
