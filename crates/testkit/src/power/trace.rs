//! Records one run of a command.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use super::call;
use super::disk::{Disk, View};
use super::follow::Follower;
use super::op::Op;
use super::snapshot::{Tree, disk_of};
use super::state::{Policy, States};
use crate::tree::temporary_folder;

/// What a command did to a folder.
#[derive(Debug)]
pub struct Trace {
    pub status: ExitStatus,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
    pub(super) start: Disk,
    pub(super) ops: Vec<Op>,
    pub(super) labels: Vec<String>,
}

/// All calls that change a file, a name, a descriptor or a working directory, and some that are
/// refused. Because of the `?`, calls that do not exist on a machine are ignored.
const CALLS: &str = "?open,?openat,?openat2,?creat,?close,?close_range,?dup,?dup2,?dup3,?fcntl,\
?read,?readv,?write,?writev,?pwrite64,?pwritev,?pwritev2,?lseek,?truncate,?ftruncate,?fallocate,\
?rename,?renameat,?renameat2,?link,?linkat,?symlink,?symlinkat,?unlink,?unlinkat,?mkdir,?mkdirat,\
?rmdir,?mknod,?mknodat,?fsync,?fdatasync,?sync,?syncfs,?copy_file_range,?sendfile,?splice,?mmap,\
?ioctl,?io_uring_setup,?chdir,?fchdir,?fork,?vfork,?clone,?clone3,?unshare,?execve,?execveat";

/// Longer writes are an error. strace allocates five times as much.
const LONGEST_WRITE: &str = "67108864";

impl Trace {
    /// Runs a command, including all its child processes, and waits for all of them.
    ///
    /// Standard input is empty. The initial contents of `folder` count as synced. Environment
    /// variables that were set or removed individually are passed on, but [`Command::env_clear`] is
    /// not.
    ///
    /// # Errors
    ///
    /// If strace cannot be run or its output cannot be parsed, or if the command does something
    /// that cannot be followed. A failing command is not an error: see `status`.
    pub fn record(folder: &Path, command: &Command) -> io::Result<Self> {
        let folder = folder.canonicalize()?;
        let start = disk_of(&folder)?;
        let notes = temporary_folder();
        let notes = notes.path().join("strace");
        let mut strace = Command::new("strace");
        strace.args(["-f", "-y", "-xx", "--seccomp-bpf", "-s", LONGEST_WRITE]);
        strace.arg("-e").arg(format!("trace={CALLS}")).args(["-e", "signal=none", "-o"]);
        strace.arg(&notes).arg("--").arg(command.get_program()).args(command.get_args());
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => strace.env(name, value),
                None => strace.env_remove(name),
            };
        }
        let working = match command.get_current_dir() {
            Some(working) => working.canonicalize()?,
            None => std::env::current_dir()?,
        };
        let output = strace.current_dir(&working).stdin(Stdio::null()).output()?;
        let text = fs::read_to_string(&notes).unwrap_or_default();
        if text.is_empty() {
            let why = String::from_utf8_lossy(&output.stderr).into_owned();
            return Err(io::Error::other(format!("strace did not run: {why}")));
        }

        let (calls, events) = call::read(&text)?;
        let (ops, labels) =
            Follower::new(start.clone(), &folder, &working).follow(&calls, &events)?;
        let trace = Self {
            status: output.status,
            stdout: output.stdout,
            stderr: output.stderr,
            start,
            ops,
            labels,
        };
        trace.check(&folder)?;
        Ok(trace)
    }

    pub fn ops(&self) -> &[Op] {
        &self.ops
    }

    /// Descriptions of the operations, for debugging.
    pub fn labels(&self) -> &[String] {
        &self.labels
    }

    /// How often the command waited for the disk.
    pub fn syncs(&self) -> usize {
        self.ops.iter().filter(|op| op.covers().is_some()).count()
    }

    /// The folder before the command.
    pub fn before(&self) -> Tree {
        self.start.tree(&View::default())
    }

    /// Every distinct state that could be found after a power cut. See [`States`].
    pub fn states(&self, policies: &[Policy]) -> States<'_> {
        States::new(self, policies)
    }

    /// Checks that replaying the operations reproduces the final folder and the output.
    fn check(&self, folder: &Path) -> io::Result<()> {
        let mut disk = self.start.clone();
        self.ops.iter().for_each(|op| disk.apply(op));
        let (ours, real) = (disk.tree(&View::default()), disk_of(folder)?.tree(&View::default()));
        let paths = ours.keys().chain(real.keys());
        let wrong: Option<&PathBuf> = paths.into_iter().find(|p| ours.get(*p) != real.get(*p));
        if let Some(path) = wrong {
            let what = format!("the calls do not lead to `{}` as it is", path.display());
            return Err(io::Error::new(io::ErrorKind::InvalidData, what));
        }
        let printed = self.ops.iter().filter_map(|op| match op {
            Op::Print { bytes } => Some(bytes.as_slice()),
            _ => None,
        });
        if printed.collect::<Vec<_>>().concat() != self.stdout {
            let what = "the calls do not lead to what was said";
            return Err(io::Error::new(io::ErrorKind::InvalidData, what));
        }
        Ok(())
    }
}
