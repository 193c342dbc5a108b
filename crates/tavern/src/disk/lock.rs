//! Allows one Forklore process at a time per user.
//!
//! Uses an operating-system lock on a file that Forklore owns. The lock ends with the process that
//! holds it, however that ends, so there is never a stale lock to clean up. It only separates
//! Forklore processes: SillyTavern takes no locks, and [`crate::disk::write::replace_checked`]
//! protects against its writes instead.

use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::disk::describe::{kind, shown};
use crate::disk::{Disk, parent_of};

/// Held while any of a user's files are changed; released on drop.
///
/// The lock file is never removed. Otherwise one process could hold the old file while another
/// locks a new one of the same name.
#[derive(Debug)]
pub struct UserLock {
    _file: File,
}

/// The lock could not be acquired.
#[derive(Debug, thiserror::Error)]
#[error("could not lock `{}`", path.display())]
pub struct LockError {
    pub path: PathBuf,
    pub source: LockCause,
}

/// One variant for each way a caller may react.
#[derive(Debug, thiserror::Error)]
pub enum LockCause {
    /// Try later: another command is running.
    #[error("it was still locked after {} s", waited.as_secs_f32())]
    Busy { waited: Duration },
    /// Work on a copy, or on another disk.
    #[error("its file system does not support locks")]
    Unsupported(#[source] io::Error),
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl LockError {
    /// Whether locking failed because the location is not writable or does not support locks.
    /// Read-only callers can continue without the lock.
    pub fn is_unlockable(&self) -> bool {
        use io::ErrorKind::{PermissionDenied, ReadOnlyFilesystem};
        match &self.source {
            LockCause::Busy { .. } => false,
            LockCause::Unsupported(_) => true,
            LockCause::Io(error) => matches!(error.kind(), PermissionDenied | ReadOnlyFilesystem),
        }
    }
}

/// Delay between two attempts.
const STEP: Duration = Duration::from_millis(50);

impl UserLock {
    /// Waits until the lock at `path` is free, for at most `patience`. The wait is the sum of the
    /// durations passed to `sleep`.
    pub fn acquire(
        disk: &dyn Disk,
        path: &Path,
        patience: Duration,
        sleep: &dyn Fn(Duration),
    ) -> Result<Self, LockError> {
        return acquire(disk, path, patience, sleep)
            .map_err(|source| LockError { path: path.to_owned(), source });

        fn acquire(
            disk: &dyn Disk,
            path: &Path,
            patience: Duration,
            sleep: &dyn Fn(Duration),
        ) -> Result<UserLock, LockCause> {
            disk.make_dirs(parent_of(path))?;
            let file = disk.open_lock(path)?;
            let mut waited = Duration::ZERO;
            loop {
                match file.try_lock() {
                    Ok(()) => return Ok(UserLock { _file: file }),
                    Err(TryLockError::WouldBlock) if waited < patience => {
                        let step = STEP.min(patience - waited);
                        sleep(step);
                        waited += step;
                    }
                    Err(TryLockError::WouldBlock) => return Err(LockCause::Busy { waited }),
                    Err(TryLockError::Error(error)) => return Err(cause_of(error)),
                }
            }
        }
    }
}

fn cause_of(error: io::Error) -> LockCause {
    // Returned by NFS when its lock service is not running.
    #[cfg(unix)]
    let no_locks = error.raw_os_error() == Some(rustix::io::Errno::NOLCK.raw_os_error());
    #[cfg(not(unix))]
    let no_locks = false;

    if no_locks || error.kind() == io::ErrorKind::Unsupported {
        LockCause::Unsupported(error)
    } else {
        LockCause::Io(error)
    }
}

forklore_core::diagnostics!(LockError {
    Self { path, source: LockCause::Busy { .. } } => ("busy", path: shown(path)),
    Self { path, source: LockCause::Unsupported(_) } => ("no-locks", path: shown(path)),
    Self { path, source: LockCause::Io(error) } => (
        "not-locked",
        path: shown(path),
        kind: kind(error),
    ),
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::RealDisk;
    use std::cell::{Cell, RefCell};

    fn path_in(folder: &tempfile::TempDir) -> PathBuf {
        folder.path().join("_forklore/default-user/lock")
    }

    fn never(_: Duration) {
        panic!("there was nothing to wait for");
    }

    #[test]
    fn a_free_lock_is_had_at_once_and_again_after_it_was_let_go() {
        let folder = tempfile::tempdir().unwrap();
        let path = path_in(&folder);
        for _ in 0..2 {
            let lock = UserLock::acquire(&RealDisk, &path, Duration::ZERO, &never).unwrap();
            assert!(path.exists());
            drop(lock);
        }
    }

    #[test]
    fn patience_ends() {
        let folder = tempfile::tempdir().unwrap();
        let path = path_in(&folder);
        let _held = UserLock::acquire(&RealDisk, &path, Duration::ZERO, &never).unwrap();

        let slept = Cell::new(Duration::ZERO);
        let patience = Duration::from_millis(120);
        let sleep = |step| slept.set(slept.get() + step);
        let error = UserLock::acquire(&RealDisk, &path, patience, &sleep).unwrap_err();
        assert!(matches!(error.source, LockCause::Busy { waited } if waited == patience));
        assert_eq!(slept.get(), patience);

        let error = UserLock::acquire(&RealDisk, &path, Duration::ZERO, &never).unwrap_err();
        assert!(matches!(error.source, LockCause::Busy { .. }));
    }

    #[test]
    fn a_lock_let_go_meanwhile_is_had() {
        let folder = tempfile::tempdir().unwrap();
        let path = path_in(&folder);
        let held = UserLock::acquire(&RealDisk, &path, Duration::ZERO, &never).unwrap();
        let held = RefCell::new(Some(held));
        let sleep = |_| drop(held.borrow_mut().take());
        UserLock::acquire(&RealDisk, &path, Duration::from_secs(1), &sleep).unwrap();
    }

    #[test]
    fn a_file_system_without_locks_is_told_from_one_that_fails() {
        let unsupported = cause_of(io::ErrorKind::Unsupported.into());
        assert!(matches!(unsupported, LockCause::Unsupported(_)));
        #[cfg(unix)]
        {
            let no_locks = cause_of(rustix::io::Errno::NOLCK.into());
            assert!(matches!(no_locks, LockCause::Unsupported(_)));
        }
        assert!(matches!(cause_of(io::Error::other("x")), LockCause::Io(_)));
    }

    #[cfg(unix)]
    #[test]
    fn the_lock_is_private() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = path_in(&folder);
        let _held = UserLock::acquire(&RealDisk, &path, Duration::ZERO, &never).unwrap();
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&path), 0o600);
        assert_eq!(mode(path.parent().unwrap()), 0o700);
    }
}
