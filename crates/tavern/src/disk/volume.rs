//! The disk that a folder lies on, as far as the system tells.

use std::path::{Path, PathBuf};

/// A disk, or what stands for one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Volume {
    /// Its file system, as the system calls it.
    pub kind: String,
    pub is_read_only: bool,
    /// In bytes, for who asks.
    pub free: Option<u64>,
}

/// File systems of other machines: what is written there by another machine is told to nobody here.
const NETWORK: [&str; 12] = [
    "nfs",
    "nfs4",
    "cifs",
    "smb3",
    "smbfs",
    "9p",
    "afs",
    "ceph",
    "fuse.sshfs",
    "fuse.rclone",
    "fuse.davfs",
    "fuse.glusterfs",
];
/// The layers of a container, which go with it.
const LAYERS: [&str; 3] = ["overlay", "aufs", "fuse.fuse-overlayfs"];

impl Volume {
    /// `None` where the system says nothing of it.
    pub fn of(path: &Path) -> Option<Self> {
        let mounts = std::fs::read_to_string("/proc/self/mountinfo").ok()?;
        let real = existing(path);
        let mut volume = mounted(&mounts, &real)?;
        volume.free = free(&real);
        Some(volume)
    }

    pub fn is_network(&self) -> bool {
        NETWORK.contains(&self.kind.as_str())
    }

    pub fn goes_with_the_container(&self) -> bool {
        LAYERS.contains(&self.kind.as_str())
    }
}

/// Whether this is inside of a container.
pub fn is_in_container() -> bool {
    ["/.dockerenv", "/run/.containerenv"].iter().any(|mark| Path::new(mark).exists())
}

/// The folder itself, or the nearest one above it that is there.
fn existing(path: &Path) -> PathBuf {
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    whole.ancestors().find_map(|folder| folder.canonicalize().ok()).unwrap_or(whole)
}

#[cfg(unix)]
fn free(path: &Path) -> Option<u64> {
    let disk = rustix::fs::statvfs(path).ok()?;
    Some(disk.f_bavail.saturating_mul(disk.f_frsize))
}

#[cfg(not(unix))]
fn free(_: &Path) -> Option<u64> {
    None
}

/// The last of the mounts that a path lies below and that nothing covers, of what Linux lists.
fn mounted(mounts: &str, path: &Path) -> Option<Volume> {
    let mut best: Option<(usize, Volume)> = None;
    for line in mounts.lines() {
        let Some((about, source)) = line.split_once(" - ") else { continue };
        let about: Vec<&str> = about.split(' ').collect();
        let (Some(point), Some(options)) = (about.get(4), about.get(5)) else { continue };
        let point = PathBuf::from(unescaped(point));
        let length = point.components().count();
        if !path.starts_with(&point) || best.as_ref().is_some_and(|(longest, _)| length < *longest)
        {
            continue;
        }
        let kind = source.split(' ').next().unwrap_or_default().to_owned();
        let is_read_only = options.split(',').any(|option| option == "ro");
        best = Some((length, Volume { kind, is_read_only, free: None }));
    }
    best.map(|(_, volume)| volume)
}

/// Blanks and the like are written as octal numbers.
fn unescaped(text: &str) -> String {
    let blanks = [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")];
    blanks.iter().fold(text.to_owned(), |text, (code, letter)| text.replace(code, letter))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
22 1 0:20 / / rw,relatime - overlay overlay rw,lowerdir=/a
23 22 8:1 /data /home/node/app/data rw,noatime shared:1 - ext4 /dev/sda1 rw
24 22 0:40 / /mnt/my\\040disk ro - nfs4 server:/x ro,vers=4.2
25 23 0:41 / /home/node/app/data/default-user rw - fuse.sshfs me@there: rw
";

    #[test]
    fn the_nearest_mount_counts() {
        let of = |path: &str| mounted(MOUNTS, Path::new(path)).unwrap();
        assert_eq!(of("/home/node/app/data-history").kind, "overlay");
        assert!(of("/home/node/app/data-history").goes_with_the_container());
        assert_eq!(of("/home/node/app/data/x").kind, "ext4");
        assert!(!of("/home/node/app/data/x").is_network());
        assert!(of("/home/node/app/data/default-user/chats").is_network());
        assert!(of("/mnt/my disk/data").is_read_only && of("/mnt/my disk/data").is_network());
        assert_eq!(mounted("nonsense\n1 2 3 - x\n", Path::new("/")), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_machine_says_something() {
        let volume = Volume::of(Path::new("/tmp/not/there/yet")).unwrap();
        assert!(!volume.kind.is_empty() && volume.free.is_some());
    }
}
