//! Calls that change names.

use std::io;

use super::Follower;
use super::paths::{At, Last, Resolved};
use crate::power::call::Call;
use crate::power::op::{Inode, Op};
use crate::power::process::{OpenFile, OpenTarget};

impl Follower<'_> {
    pub(super) fn rename(
        &mut self,
        call: &Call<'_>,
        from: At,
        to: At,
        flags: Option<usize>,
    ) -> io::Result<()> {
        let has = |flag| flags.is_some_and(|flags| call.has_flag(flags, flag));
        let label = self.arrow(&call.path(from.1)?, &call.path(to.1)?);
        match (self.place(call, from)?, self.place(call, to)?) {
            (None, None) => Ok(()),
            (Some(a), Some(b)) if has("RENAME_EXCHANGE") => {
                self.emit(Op::Exchange { a, b }, format!("exchange {label}"))
            }
            (Some(from), Some(to)) if !has("RENAME_WHITEOUT") => {
                self.emit(Op::Rename { from, to }, format!("rename {label}"))
            }
            _ => Err(call.unsupported("moving in or out cannot be followed")),
        }
    }

    pub(super) fn link(&mut self, call: &Call<'_>, from: At, to: At) -> io::Result<()> {
        let Some(at) = self.place(call, to)? else { return Ok(()) };
        let inode = self.linked(call, from)?.ok_or_else(|| call.unsupported("it is not known"))?;
        let label = format!("link {}", self.arrow(&call.path(from.1)?, &call.path(to.1)?));
        self.emit(Op::Link { inode, at }, label)
    }

    /// A file without a name is linked through its descriptor.
    pub(super) fn linked(&mut self, call: &Call<'_>, (dir, path): At) -> io::Result<Option<Inode>> {
        let given = call.path(path)?;
        if given.as_os_str().is_empty() {
            return self.inode_inside(call, dir.unwrap_or(0));
        }
        if let Ok(number) = given.strip_prefix("/proc/self/fd")
            && let Some(number) = number.to_str().and_then(|number| number.parse().ok())
        {
            return Ok(match self.processes.opened(call.pid, number) {
                Some(OpenFile { target: OpenTarget::Inside(inode), .. }) => Some(*inode),
                _ => None,
            });
        }
        let last =
            if call.has_flag(4, "AT_SYMLINK_FOLLOW") { Last::Followed } else { Last::AsItIs };
        Ok(match self.resolve(call, dir, path, last)? {
            Resolved::Inside(inode, _) => inode,
            Resolved::Outside(_) => None,
        })
    }

    pub(super) fn symlink(&mut self, call: &Call<'_>, at: At) -> io::Result<()> {
        let target = call.path(0)?;
        let label = format!("symlink {}", self.arrow(&call.path(at.1)?, &target));
        match self.place(call, at)? {
            Some(at) => {
                let inode = self.disk.next();
                self.emit(Op::Symlink { at, inode, target }, label)
            }
            None => Ok(()),
        }
    }

    pub(super) fn mkdir(&mut self, call: &Call<'_>, at: At) -> io::Result<()> {
        let label = format!("mkdir {}", self.shown(&call.path(at.1)?));
        match self.place(call, at)? {
            Some(at) => {
                let inode = self.disk.next();
                self.emit(Op::Mkdir { at, inode }, label)
            }
            None => Ok(()),
        }
    }

    pub(super) fn remove(&mut self, call: &Call<'_>, at: At, is_folder: bool) -> io::Result<()> {
        let path = self.shown(&call.path(at.1)?);
        match self.place(call, at)? {
            Some(at) if is_folder => self.emit(Op::Rmdir { at }, format!("rmdir {path}")),
            Some(at) => self.emit(Op::Unlink { at }, format!("unlink {path}")),
            None => Ok(()),
        }
    }
}
