//! Translates system calls to operations on the folder.

mod paths;
mod contents;
mod names;

use std::io;
use std::path::Path;

use super::call::{Call, Descriptor, Event};
use super::disk::Disk;
use super::op::Op;
use super::process::Processes;
use paths::{Last, Resolved};

pub(super) struct Follower<'f> {
    root: &'f Path,
    working: &'f Path,
    disk: Disk,
    processes: Processes,
    ops: Vec<Op>,
    labels: Vec<String>,
}

impl<'f> Follower<'f> {
    pub(super) fn new(disk: Disk, root: &'f Path, working: &'f Path) -> Self {
        let processes = Processes::default();
        Self { root, working, disk, processes, ops: Vec::new(), labels: Vec::new() }
    }

    pub(super) fn follow(
        mut self,
        calls: &[Call<'_>],
        events: &[Event],
    ) -> io::Result<(Vec<Op>, Vec<String>)> {
        // The number of operations when each call began.
        let mut begun = vec![0; calls.len()];
        for (number, event) in events.iter().enumerate() {
            match *event {
                Event::Begin(at) => {
                    if number == 0 {
                        self.processes.start(calls[at].pid, self.working);
                    }
                    begun[at] = self.ops.len();
                    self.begin(&calls[at])?;
                }
                Event::End(at) if calls[at].returned().is_some() => {
                    self.end(&calls[at], begun[at])?;
                }
                Event::End(_) => {}
            }
        }
        Ok((self.ops, self.labels))
    }

    /// Effects visible to others before the call returns: a free descriptor number, a running
    /// child.
    fn begin(&mut self, call: &Call<'_>) -> io::Result<()> {
        match (call.name, call.returned()) {
            ("close", Some(_)) => {
                if let Some(descriptor) = call.descriptor(0)? {
                    self.processes.close(call.pid, descriptor.number);
                }
            }
            ("fork" | "vfork" | "clone" | "clone3", Some(child)) => {
                let child = u32::try_from(child).map_err(|_| call.misread())?;
                let shares = |flag| call.args.iter().any(|arg| arg.contains(flag));
                let (table, fs) = (shares("CLONE_FILES"), shares("CLONE_FS"));
                self.processes.fork(call.pid, child, table, fs);
            }
            _ => {}
        }
        Ok(())
    }

    fn end(&mut self, call: &Call<'_>, covers: usize) -> io::Result<()> {
        match call.name {
            "open" | "creat" => self.open(call, 1),
            "openat" | "openat2" => self.open(call, 2),
            "read" | "readv" => self.read(call),
            "write" | "writev" => self.write(call, None),
            "pwrite64" => self.write(call, Some(call.size(3)?)),
            // -1 means the descriptor's own offset.
            "pwritev" | "pwritev2" => self.write(call, usize::try_from(call.number(3)?).ok()),
            "sendfile" => self.copy(call, (1, call.offset(2)?), (0, None)),
            "copy_file_range" => self.copy(call, (0, call.offset(1)?), (2, call.offset(3)?)),
            "lseek" => self.seek(call),
            "ftruncate" => match self.inode_inside(call, 0)? {
                Some(inode) => self.truncate(call, inode),
                None => Ok(()),
            },
            "truncate" => match self.resolve(call, None, 0, Last::Followed)? {
                Resolved::Inside(Some(inode), _) => self.truncate(call, inode),
                _ => Ok(()),
            },
            "fallocate" => self.allocate(call),
            "rename" => self.rename(call, (None, 0), (None, 1), None),
            "renameat" => self.rename(call, (Some(0), 1), (Some(2), 3), None),
            "renameat2" => self.rename(call, (Some(0), 1), (Some(2), 3), Some(4)),
            "link" => self.link(call, (None, 0), (None, 1)),
            "linkat" => self.link(call, (Some(0), 1), (Some(2), 3)),
            "symlink" => self.symlink(call, (None, 1)),
            "symlinkat" => self.symlink(call, (Some(1), 2)),
            "unlink" => self.remove(call, (None, 0), false),
            "unlinkat" => self.remove(call, (Some(0), 1), call.has_flag(2, "AT_REMOVEDIR")),
            "rmdir" => self.remove(call, (None, 0), true),
            "mkdir" => self.mkdir(call, (None, 0)),
            "mkdirat" => self.mkdir(call, (Some(0), 1)),
            "mknod" | "mknodat" => self.refuse_inside(call),
            "fsync" | "fdatasync" => self.sync(call, covers),
            "sync" => self.emit(Op::SyncAll { covers }, "sync".into()),
            "syncfs" => match self.inode_inside(call, 0)? {
                Some(_) => self.emit(Op::SyncAll { covers }, "syncfs".into()),
                None => Ok(()),
            },
            "splice" => self.refuse_inside(call),
            "ioctl" if call.arg(1).contains("CLONE") => self.refuse_inside(call),
            "mmap" if call.arg(2).contains("PROT_WRITE") && call.arg(3).contains("MAP_SHARED") => {
                self.refuse_inside(call)
            }
            "io_uring_setup" => Err(call.unsupported("io_uring cannot be seen")),
            "unshare" if call.arg(0).contains("CLONE_F") => {
                let flags = call.arg(0);
                let (files, fs) = (flags.contains("CLONE_FILES"), flags.contains("CLONE_FS"));
                self.processes.fork(call.pid, call.pid, !files, !fs);
                Ok(())
            }
            "execve" | "execveat" => {
                self.processes.execute(call.pid);
                Ok(())
            }
            "chdir" => {
                let path = match self.resolve(call, None, 0, Last::Followed)? {
                    Resolved::Inside(_, path) => path,
                    Resolved::Outside(path) => path,
                };
                *self.processes.folder(call.pid) = path;
                Ok(())
            }
            "fchdir" => {
                if let Some(Descriptor { path: Some(path), .. }) = call.descriptor(0)? {
                    *self.processes.folder(call.pid) = path;
                }
                Ok(())
            }
            _ => self.descriptors(call),
        }
    }

    /// Calls that only change the descriptor table.
    fn descriptors(&mut self, call: &Call<'_>) -> io::Result<()> {
        let pid = call.pid;
        let is_duplicated = match call.name {
            "dup" | "dup2" | "dup3" => true,
            "fcntl" => call.arg(1).starts_with("F_DUPFD"),
            _ => false,
        };
        if is_duplicated {
            let (from, to) = (call.descriptor(0)?, call.returned_descriptor()?);
            let from = from.ok_or_else(|| call.misread())?;
            let closes = call.arg(1) == "F_DUPFD_CLOEXEC" || call.has_flag(2, "O_CLOEXEC");
            // `dup2` of a number onto itself does nothing.
            if from.number != to.number {
                self.processes.duplicate(pid, from.number, to.number, closes);
            }
        } else if call.name == "fcntl" && call.arg(1) == "F_SETFD" {
            if let Some(descriptor) = call.descriptor(0)? {
                let closes = call.arg(2).contains("FD_CLOEXEC");
                self.processes.set_closes_on_exec(pid, descriptor.number, closes);
            }
        } else if call.name == "fcntl" && call.arg(1) == "F_SETFL" {
            if let Some(opened) = self.opened(call, 0)? {
                opened.appends = call.arg(2).contains("O_APPEND");
            }
        } else if call.name == "close_range" {
            let only_on_exec = call.arg(2).contains("CLOEXEC");
            self.processes.close_range(pid, call.number(0)?, call.number(1)?, only_on_exec);
        }
        Ok(())
    }

    fn emit(&mut self, op: Op, label: String) -> io::Result<()> {
        self.disk.apply(&op);
        self.ops.push(op);
        self.labels.push(label);
        Ok(())
    }
}
