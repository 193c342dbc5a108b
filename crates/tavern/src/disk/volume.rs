//! The volume that a folder is on, as far as the system reports it.

use std::path::{Path, PathBuf};

/// A mounted file system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Volume {
    /// File system type, as named by the system.
    pub kind: String,
    pub is_read_only: bool,
    /// Free bytes, if known.
    pub free: Option<u64>,
}

/// Network file systems: changes made by another machine raise no events on this one.
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
/// Container layers, which are deleted with the container.
const LAYERS: [&str; 3] = ["overlay", "aufs", "fuse.fuse-overlayfs"];

impl Volume {
    /// `None` where the system does not report mounts.
    pub fn of(path: &Path) -> Option<Self> {
        let mounts = std::fs::read_to_string("/proc/self/mountinfo").ok()?;
        let real = nearest_existing(path);
        let mut volume = volume_at(&mounts, &real)?;
        volume.free = free(&real);
        Some(volume)
    }

    pub fn is_network(&self) -> bool {
        NETWORK.contains(&self.kind.as_str())
    }

    pub fn is_container_layer(&self) -> bool {
        LAYERS.contains(&self.kind.as_str())
    }
}

/// Whether this process runs inside a container.
pub fn is_in_container() -> bool {
    ["/.dockerenv", "/run/.containerenv"].iter().any(|mark| Path::new(mark).exists())
}

/// The folder itself, or its nearest existing ancestor.
fn nearest_existing(path: &Path) -> PathBuf {
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

/// The innermost mount containing `path`, from the text of Linux's `mountinfo`. Of several mounts
/// on one point, the last counts: it covers the others.
fn volume_at(mounts: &str, path: &Path) -> Option<Volume> {
    let mut best: Option<(usize, Volume)> = None;
    for line in mounts.lines() {
        let Some((about, source)) = line.split_once(" - ") else { continue };
        let about: Vec<&str> = about.split(' ').collect();
        let (Some(point), Some(options)) = (about.get(4), about.get(5)) else { continue };
        let point = PathBuf::from(unescape(point));
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

/// Decodes the octal escapes for whitespace and backslashes.
fn unescape(text: &str) -> String {
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
        let of = |path: &str| volume_at(MOUNTS, Path::new(path)).unwrap();
        assert_eq!(of("/home/node/app/data-history").kind, "overlay");
        assert!(of("/home/node/app/data-history").is_container_layer());
        assert_eq!(of("/home/node/app/data/x").kind, "ext4");
        assert!(!of("/home/node/app/data/x").is_network());
        assert!(of("/home/node/app/data/default-user/chats").is_network());
        assert!(of("/mnt/my disk/data").is_read_only && of("/mnt/my disk/data").is_network());
        assert_eq!(volume_at("nonsense\n1 2 3 - x\n", Path::new("/")), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_machine_says_something() {
        let volume = Volume::of(Path::new("/tmp/not/there/yet")).unwrap();
        assert!(!volume.kind.is_empty() && volume.free.is_some());
    }
}
