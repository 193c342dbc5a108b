//! Platform-specific operations. Mostly `std`; `rustix` and `tempfile` provide the two kinds of
//! rename that `std` lacks.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::Path;
use std::sync::LazyLock;

#[cfg(not(unix))]
pub(super) use other::*;
#[cfg(unix)]
pub(super) use unix::*;

/// Whether this is Android, where Linux builds run in Termux.
pub fn is_android() -> bool {
    static IS_ANDROID: LazyLock<bool> =
        LazyLock::new(|| std::env::var_os("ANDROID_ROOT").is_some() || has_android_kernel());
    *IS_ANDROID
}

#[cfg(unix)]
fn has_android_kernel() -> bool {
    rustix::system::uname().release().to_string_lossy().contains("android")
}

#[cfg(not(unix))]
fn has_android_kernel() -> bool {
    false
}

#[cfg(unix)]
mod unix {
    use super::*;
    use rustix::fs::OFlags;
    use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt, fchown};

    pub(crate) fn inode(meta: &fs::Metadata) -> u64 {
        meta.ino()
    }

    /// `NONBLOCK`, so that opening a stray pipe does not wait for its other end.
    pub(crate) fn open_for_reading(path: &Path) -> io::Result<File> {
        OpenOptions::new().read(true).custom_flags(flag(OFlags::NONBLOCK)).open(path)
    }

    pub(crate) fn make_dir(path: &Path) -> io::Result<()> {
        fs::DirBuilder::new().mode(0o700).create(path)
    }

    pub(crate) fn create_new(path: &Path) -> io::Result<File> {
        OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .custom_flags(flag(OFlags::NOFOLLOW))
            .open(path)
    }

    pub(crate) fn open_lock(path: &Path) -> io::Result<File> {
        OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .custom_flags(flag(OFlags::NOFOLLOW | OFlags::NONBLOCK))
            .open(path)
    }

    pub(crate) fn make_like(file: &File, like: &fs::Metadata) -> io::Result<()> {
        let ours = file.metadata()?;
        if (ours.uid(), ours.gid()) != (like.uid(), like.gid()) {
            match fchown(file, Some(like.uid()), Some(like.gid())) {
                // Only root may change a file's owner. The file stays ours then, with the same
                // permission bits as its model.
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {}
                other => other?,
            }
        }
        // Set after the owner, because changing the owner can clear bits. Never copies setuid or
        // setgid.
        file.set_permissions(fs::Permissions::from_mode(like.mode() & 0o777))
    }

    pub(crate) fn sync_dir(folder: &Path) -> io::Result<()> {
        match File::open(folder)?.sync_all() {
            // Some network and FUSE file systems cannot sync a folder; they guarantee nothing.
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported
                ) =>
            {
                Ok(())
            }
            other => other,
        }
    }

    fn flag(flags: OFlags) -> i32 {
        flags.bits() as i32
    }

    #[cfg(any(target_os = "linux", target_os = "macos"))]
    pub(crate) use renaming::{exchange, rename_no_replace};

    #[cfg(any(target_os = "linux", target_os = "macos"))]
    mod renaming {
        use super::*;
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        use rustix::io::Errno;

        pub(crate) fn rename_no_replace(from: &Path, to: &Path) -> io::Result<()> {
            rename_with(from, to, RenameFlags::NOREPLACE)
        }

        pub(crate) fn exchange(a: &Path, b: &Path) -> io::Result<()> {
            rename_with(a, b, RenameFlags::EXCHANGE)
        }

        fn rename_with(from: &Path, to: &Path, flags: RenameFlags) -> io::Result<()> {
            // Android kills a process that makes this system call.
            if is_android() {
                return Err(io::ErrorKind::Unsupported.into());
            }
            renameat_with(CWD, from, CWD, to, flags).map_err(|error| match error {
                // File systems that do not know the flag return one of these.
                Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP => {
                    io::Error::new(io::ErrorKind::Unsupported, error)
                }
                other => other.into(),
            })
        }
    }

    #[cfg(not(any(target_os = "linux", target_os = "macos")))]
    pub(crate) use super::no_exchange::exchange;

    #[cfg(not(any(target_os = "linux", target_os = "macos")))]
    pub(crate) fn rename_no_replace(_: &Path, _: &Path) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

#[cfg(not(unix))]
mod other {
    use super::*;

    pub(crate) use super::no_exchange::exchange;

    /// `std` always sets the flag that makes Windows replace the target; this does not.
    #[cfg(windows)]
    pub(crate) fn rename_no_replace(from: &Path, to: &Path) -> io::Result<()> {
        tempfile::TempPath::try_from_path(from)?.persist_noclobber(to).map_err(|error| {
            let kept = error.path.keep();
            kept.err().map_or(error.error, |error| error.error)
        })
    }

    #[cfg(not(windows))]
    pub(crate) fn rename_no_replace(_: &Path, _: &Path) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Getting the file index would require opening the file. The creation time distinguishes files
    /// that replaced one another, except where Windows passes it on to the next file of the same
    /// name.
    #[cfg(windows)]
    pub(crate) fn inode(meta: &fs::Metadata) -> u64 {
        std::os::windows::fs::MetadataExt::creation_time(meta)
    }

    #[cfg(not(windows))]
    pub(crate) fn inode(_: &fs::Metadata) -> u64 {
        0
    }

    pub(crate) fn open_for_reading(path: &Path) -> io::Result<File> {
        File::open(path)
    }

    pub(crate) fn make_dir(path: &Path) -> io::Result<()> {
        fs::create_dir(path)
    }

    pub(crate) fn create_new(path: &Path) -> io::Result<File> {
        OpenOptions::new().write(true).create_new(true).open(path)
    }

    pub(crate) fn open_lock(path: &Path) -> io::Result<File> {
        OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)
    }

    /// Files inherit the folder's permissions here, as SillyTavern's own do.
    pub(crate) fn make_like(_: &File, _: &fs::Metadata) -> io::Result<()> {
        Ok(())
    }

    /// Folders cannot be opened for syncing here.
    pub(crate) fn sync_dir(_: &Path) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
mod no_exchange {
    use super::*;

    pub(crate) fn exchange(_: &Path, _: &Path) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}
