//! What each system does in its own way. `std` for most of it; `rustix` and `tempfile` for the
//! two renames that `std` does not have.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::Path;
use std::sync::LazyLock;

#[cfg(not(unix))]
pub(super) use other::*;
#[cfg(unix)]
pub(super) use unix::*;

/// Whether this is Android, where what is built for Linux runs in Termux.
pub fn is_android() -> bool {
    static IS_ANDROID: LazyLock<bool> =
        LazyLock::new(|| std::env::var_os("ANDROID_ROOT").is_some() || has_androids_kernel());
    *IS_ANDROID
}

#[cfg(unix)]
fn has_androids_kernel() -> bool {
    rustix::system::uname().release().to_string_lossy().contains("android")
}

#[cfg(not(unix))]
fn has_androids_kernel() -> bool {
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

    /// Does not wait for the other end of a pipe that lies about in a folder.
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
                // Only root may give files away. The file is ours then, and as
                // open to others as its model.
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {}
                other => other?,
            }
        }
        // After the owner, because giving a file away can clear bits. Never the
        // bits that make a file run as somebody.
        file.set_permissions(fs::Permissions::from_mode(like.mode() & 0o777))
    }

    pub(crate) fn sync_dir(folder: &Path) -> io::Result<()> {
        match File::open(folder)?.sync_all() {
            // Some network and FUSE file systems cannot; they promise nothing.
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
            // Android kills a program for such a call.
            if is_android() {
                return Err(io::ErrorKind::Unsupported.into());
            }
            renameat_with(CWD, from, CWD, to, flags).map_err(|error| match error {
                // A file system that does not know the flag says one of these.
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

    /// Without the flag that `std` always sets, Windows replaces nothing.
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

    /// There is no number of the file without opening it. When it was made tells files apart that took
    /// each other's place, but where Windows hands that down to the next one of the same name.
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

    /// Files take the folder's rights here, as SillyTavern's own do.
    pub(crate) fn make_like(_: &File, _: &fs::Metadata) -> io::Result<()> {
        Ok(())
    }

    /// A folder cannot be opened for this here.
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
