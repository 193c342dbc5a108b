//! How a file comes into being, and how one is replaced that a running
//! SillyTavern may be writing too.
//!
//! Both put the new bytes beside the target first, check them there, and move
//! them in one step, so that whoever reads the target sees all of the old or
//! all of the new.

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

/// One variant for each thing a caller may do about it.
#[derive(Debug, thiserror::Error)]
pub enum WriteCause {
    /// Choose another name.
    #[error("something is already there")]
    Exists,
    /// The disk cannot be trusted; the target was left alone.
    #[error("the bytes read back are not those written")]
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

/// One variant for each thing a caller may do about it.
#[derive(Debug, thiserror::Error)]
pub enum ReplaceCause {
    /// Read it again and start anew. The newest version is in place (or the
    /// file is gone, if that is the newest). `displaced` are versions by others
    /// that are no longer on disk: older than that one, and the caller's to put
    /// into the trash.
    #[error("it was changed meanwhile")]
    ChangedMeanwhile { displaced: Vec<Vec<u8>> },
    /// A folder, a link, or something stranger.
    #[error("it is not a regular file")]
    NotAFile,
    /// The disk failed, or others wrote without end, half-way through putting a
    /// newer version back. `temp` was left where it is and may hold the newest
    /// version; `displaced` are all that could be read, the newest last.
    #[error("a newer version could not be put back and may be in `{}`", temp.display())]
    Stranded { temp: PathBuf, displaced: Vec<Vec<u8>>, source: io::Error },
    /// The old version is in place, except after [`WriteCause::Unconfirmed`].
    #[error(transparent)]
    Write(#[from] WriteCause),
}

/// Creates `path` with the bytes of `parts`, one after the other, and never
/// over something that is there.
///
/// `tag` names the temporary file, and must be the caller's alone while the
/// call lasts. `like` is a file to take permissions from: a neighbour that
/// SillyTavern can read, or nothing for files that are only ours.
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
        // Publishing would find out too, but only after writing it all.
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

/// Replaces `path` by the bytes of `parts`, provided that it holds `expected`
/// at the very moment of the exchange.
///
/// The caller has put a copy of `expected` into the trash beforehand.
///
/// # Why nothing is lost
///
/// SillyTavern renames whole new versions over `path` and takes no locks, so
/// any check before a rename is too early. Exchanging hands back what was
/// displaced, so the check comes after:
///
/// 1. The temporary file holds *ours*. Exchange. It now holds what was at
///    `path` at that instant. If that is `expected`, we are done: what others
///    write from here on, they write over ours, as they would over any version.
/// 2. Otherwise somebody saved a version that we had not seen. Say we *put* X
///    at `path` and *got* G out of it (first X is ours). G belongs at `path`
///    unless something newer is there. So look: if other bytes than X are at
///    `path`, they were saved after G had been displaced. The newest version is
///    in place already. Done.
/// 3. Otherwise exchange again: G is now at `path`, and out comes N.
///    - N is the very file X that we had put there: nobody wrote in between, so
///      G is the newest version up to now, and it is in place. Done.
///    - N is another file: it was renamed over X after G had been displaced, so
///      N is newer than G, and must go back in G's stead. Go on at 2 with
///      put = G, got = N.
///
/// So whenever the loop ends, the newest version is at `path`. Each round more
/// needs one more save by somebody else just between looking and exchanging.
/// Every version that came out and is neither ours, nor `expected`, nor back in
/// place is handed to the caller, even where its owner has since saved over it.
/// If we are killed in between, the versions are at `path` and in the temporary
/// file, which nobody removes unread. Whoever reads in between may be given ours,
/// or a version one save older than the newest.
///
/// "The very file" is told by number, size, time and bytes. By bytes alone, a
/// version that equals an older one (save, undo, save) would pass for it, and
/// the version in between would be left in place.
///
/// Where the system cannot exchange, the file is read and compared once more and
/// then renamed over. A version saved between these two steps, microseconds
/// apart, would be lost; on such systems the page's own saves are the way to
/// change a chat or book that may be open.
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
        let look = write_beside(disk, temp, Some(path), parts)?;
        let ours = Ours { look, parts };
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

        match ForeignFile::unless(disk, temp, |_| disk.matches(temp, &[expected])) {
            Ok(None) => {
                let confirmed = disk.sync_dir(parent_of(path));
                discard(disk, temp);
                confirmed.map_err(|error| WriteCause::Unconfirmed(error).into())
            }
            Ok(Some(displaced)) => Err(put_back(disk, path, temp, ours, displaced, expected)),
            Err(error) => Err(take_back(disk, path, temp, &ours, error)),
        }
    }
}

/// Tells whether a file name is one of our temporary files. None should
/// outlive its operation; one that does may hold the only copy of something.
pub fn is_our_temp(name: &str) -> bool {
    name.starts_with(TEMP_START) && name.ends_with(TEMP_END)
}

const TEMP_START: &str = ".forklore-";
/// Not an extension that SillyTavern lists.
const TEMP_END: &str = ".tmp";

/// After so many rounds somebody is writing without end.
const MOST_ROUNDS: usize = 100;

/// A writer that never rests can fall into step with us, each waiting for the
/// other's rename, for hundreds of rounds [measured at 10,000 saves a second]. A
/// pause lets it get ahead, and what it saves meanwhile is the newest.
const QUICK_ROUNDS: usize = 4;
const PAUSE: Duration = Duration::from_millis(1);

/// In the same folder, because renaming works within one file system only.
/// Without the target's name, which may be as long as a name can be.
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

/// Leaves nothing behind when it fails.
fn write_beside(
    disk: &dyn Disk,
    temp: &Path,
    like: Option<&Path>,
    parts: &[&[u8]],
) -> Result<Stat, WriteCause> {
    if let Err(source) = disk.write_new(temp, like, parts) {
        // One that is there already was left by a crash, and is perhaps the
        // only copy of something.
        if source.kind() != io::ErrorKind::AlreadyExists {
            discard(disk, temp);
        }
        return Err(io_at(WriteStep::WriteBeside, source));
    }
    let read_back = look_at(disk, temp).and_then(|look| Ok((look, disk.matches(temp, parts)?)));
    let cause = match read_back {
        Ok((look, true)) => return Ok(look),
        Ok((_, false)) => WriteCause::Miswritten,
        Err(source) => io_at(WriteStep::ReadBack, source),
    };
    discard(disk, temp);
    Err(cause)
}

/// The second half of the argument at [`replace_checked`].
fn put_back(
    disk: &dyn Disk,
    path: &Path,
    temp: &Path,
    ours: Ours<'_>,
    displaced: ForeignFile,
    expected: &[u8],
) -> ReplaceCause {
    // The last of them is what we put at `path`; as long as there is none, ours is.
    let mut seen: Vec<ForeignFile> = Vec::new();
    let mut got = displaced;
    let holds_put = |seen: &[ForeignFile], at: &Path| match seen.last() {
        None => disk.matches(at, ours.parts),
        Some(put) => disk.matches(at, &[&put.bytes]),
    };
    let hand_back = |seen: Vec<ForeignFile>| {
        seen.into_iter().map(|version| version.bytes).filter(|bytes| bytes != expected).collect()
    };
    for round in 0..MOST_ROUNDS {
        if round >= QUICK_ROUNDS {
            std::thread::sleep(PAUSE);
        }
        let superseded = match holds_put(&seen, path) {
            Ok(holds_put) => !holds_put,
            // Its owner removed the file: that is the newest state.
            Err(error) => error.kind() == io::ErrorKind::NotFound,
        };
        if superseded {
            seen.push(got);
            discard(disk, temp);
            return ReplaceCause::ChangedMeanwhile { displaced: hand_back(seen) };
        }
        let came_out = disk.exchange(temp, path).and_then(|()| {
            ForeignFile::unless(disk, temp, |look| {
                // Ours are told by their bytes, which nobody else could have
                // written yet: so the first round, mostly the only one, needs no
                // file numbers, which a few file systems make up anew each time.
                let is_put = seen.last().is_none_or(|put| put.look == *look);
                Ok(is_put && holds_put(&seen, temp)?)
            })
        });
        match came_out {
            Ok(None) => {
                // First what is in place, then the removal. If this fails, a power
                // cut may bring back ours and leave G in the temporary file.
                let _ = disk.sync_dir(parent_of(path));
                discard(disk, temp);
                return ReplaceCause::ChangedMeanwhile { displaced: hand_back(seen) };
            }
            Ok(Some(version)) => seen.push(std::mem::replace(&mut got, version)),
            Err(error) => {
                let gone = error.kind() == io::ErrorKind::NotFound
                    && matches!(disk.stat(path), Ok(None))
                    && look_at(disk, temp).is_ok_and(|look| look == got.look)
                    && disk.matches(temp, &[&got.bytes]).unwrap_or(false);
                seen.push(got);
                if gone {
                    // Its owner removed the file: that is the newest state.
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

/// The displaced version cannot be read, so nothing is known of it but that it
/// belongs where it was.
fn take_back(
    disk: &dyn Disk,
    path: &Path,
    temp: &Path,
    ours: &Ours<'_>,
    unreadable: io::Error,
) -> ReplaceCause {
    let came_out = disk.exchange(temp, path).and_then(|()| {
        ForeignFile::unless(disk, temp, |look| {
            Ok(*look == ours.look && disk.matches(temp, ours.parts)?)
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

/// For systems that cannot exchange.
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

/// The outcome is decided already; a file left behind changes nothing about it.
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

/// The file of ours. The caller has its bytes already, and a chat can have 100 MB of them.
struct Ours<'a> {
    look: Stat,
    parts: &'a [&'a [u8]],
}

/// A file of somebody else's, not merely its bytes.
struct ForeignFile {
    look: Stat,
    bytes: Vec<u8>,
}

impl ForeignFile {
    /// The file in our hands, unless it is one that we know. Only what we do not know is read
    /// whole: it may be the only copy.
    fn unless(
        disk: &dyn Disk,
        temp: &Path,
        is_known: impl FnOnce(&Stat) -> io::Result<bool>,
    ) -> io::Result<Option<Self>> {
        let look = look_at(disk, temp)?;
        if is_known(&look)? {
            return Ok(None);
        }
        Ok(Some(Self { look, bytes: disk.read(temp)? }))
    }
}

fn look_at(disk: &dyn Disk, path: &Path) -> io::Result<Stat> {
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
