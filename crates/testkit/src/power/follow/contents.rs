//! Calls that change or sync the content of a file.

use std::fs;
use std::io;
use std::os::unix::fs::FileExt;

use super::Follower;
use crate::power::call::{Call, Descriptor};
use crate::power::disk::Node;
use crate::power::op::{Inode, Op};
use crate::power::process::{OpenFile, OpenTarget};

impl Follower<'_> {
    pub(super) fn open(&mut self, call: &Call<'_>, flags: usize) -> io::Result<()> {
        let Descriptor { number, path, is_nameless } = call.returned_descriptor()?;
        let Some(path) = path else { return Ok(()) };
        // The flags of `openat2` are inside a struct.
        let flags = call.arg(flags).trim_start_matches("{flags=");
        let flags = flags.split(',').next().unwrap_or_default();
        let has = |flag| flags.split('|').any(|found| found == flag);
        let target =
            match path.strip_prefix(self.root).ok().map(|relative| self.disk.find(relative)) {
                None => OpenTarget::Outside(path),
                Some(_) if has("O_TMPFILE") => {
                    let inode = self.disk.next();
                    self.emit(Op::CreateNameless { inode }, format!("open {}", self.shown(&path)))?;
                    OpenTarget::Inside(inode)
                }
                Some(_) if is_nameless => {
                    return Err(call.unsupported("it was gone before we could look"));
                }
                Some(Some(inode)) => {
                    let is_emptied = has("O_TRUNC") || call.name == "creat";
                    if is_emptied && self.disk.file(inode).is_some_and(|file| !file.now.is_empty())
                    {
                        let label = format!("empty {}", self.shown(&path));
                        self.emit(Op::Truncate { inode, len: 0 }, label)?;
                    }
                    OpenTarget::Inside(inode)
                }
                Some(None) => {
                    let at = self.place_of(&path).ok_or_else(|| call.misread())?;
                    let inode = self.disk.next();
                    self.emit(Op::Create { at, inode }, format!("create {}", self.shown(&path)))?;
                    OpenTarget::Inside(inode)
                }
            };
        let opened = OpenFile { target, offset: 0, appends: has("O_APPEND") };
        self.processes.open(call.pid, number, opened, has("O_CLOEXEC"));
        Ok(())
    }

    pub(super) fn read(&mut self, call: &Call<'_>) -> io::Result<()> {
        let len = len(call);
        if let Some(opened) = self.opened(call, 0)? {
            opened.offset += len;
        }
        Ok(())
    }

    pub(super) fn write(&mut self, call: &Call<'_>, offset: Option<usize>) -> io::Result<()> {
        match self.opened(call, 0)?.map(|opened| opened.target.clone()) {
            Some(OpenTarget::Inside(_) | OpenTarget::StandardOutput) => {
                self.put(call, (0, offset), call.written(1)?)
            }
            Some(OpenTarget::Outside(_)) => self.read(call),
            None => Ok(()),
        }
    }

    pub(super) fn put(
        &mut self,
        call: &Call<'_>,
        (to, offset): (usize, Option<usize>),
        bytes: Vec<u8>,
    ) -> io::Result<()> {
        let Some(OpenFile { target, offset: own, appends }) = self.opened(call, to)?.cloned()
        else {
            return Ok(());
        };
        if bytes.is_empty() {
            return Ok(());
        }
        let inode = match target {
            OpenTarget::StandardOutput => {
                let label = format!("say {:?}", String::from_utf8_lossy(&bytes));
                return self.emit(Op::Print { bytes }, label);
            }
            OpenTarget::Outside(_) => return Ok(()),
            OpenTarget::Inside(inode) => inode,
        };
        let end = self.disk.file(inode).map_or(0, |file| file.now.len());
        let start = if appends { end } else { offset.unwrap_or(own) };
        if offset.is_none()
            && let Some(opened) = self.opened(call, to)?
        {
            opened.offset = start + bytes.len();
        }
        let label = format!("write {} at {start} of {}", bytes.len(), self.shown_arg(call, to));
        self.emit(Op::Write { inode, offset: start, bytes: bytes.into() }, label)
    }

    /// The kernel copied the data, so the bytes are not in the call but in the source file.
    pub(super) fn copy(
        &mut self,
        call: &Call<'_>,
        (from, from_offset): (usize, Option<usize>),
        to: (usize, Option<usize>),
    ) -> io::Result<()> {
        let len = len(call);
        let target = self.opened(call, to.0)?.map(|opened| opened.target.clone());
        let is_of_interest =
            matches!(target, Some(OpenTarget::Inside(_) | OpenTarget::StandardOutput));
        let Some(source) = self.opened(call, from)? else {
            return match is_of_interest {
                true => Err(call.unsupported("it came out of nowhere")),
                false => Ok(()),
            };
        };
        let start = from_offset.unwrap_or(source.offset);
        if from_offset.is_none() {
            source.offset += len;
        }
        if !is_of_interest {
            return Ok(());
        }
        let bytes = match source.target.clone() {
            OpenTarget::Inside(inode) => {
                let file = self.disk.file(inode).ok_or_else(|| call.misread())?;
                file.now.get(start..start + len).ok_or_else(|| call.misread())?.to_vec()
            }
            OpenTarget::Outside(path) => {
                let mut bytes = vec![0; len];
                fs::File::open(path)?.read_exact_at(&mut bytes, start as u64)?;
                bytes
            }
            OpenTarget::StandardOutput => return Err(call.misread()),
        };
        self.put(call, to, bytes)
    }

    pub(super) fn seek(&mut self, call: &Call<'_>) -> io::Result<()> {
        let to = len(call);
        if let Some(opened) = self.opened(call, 0)? {
            opened.offset = to;
        }
        Ok(())
    }

    pub(super) fn truncate(&mut self, call: &Call<'_>, inode: Inode) -> io::Result<()> {
        let len = call.size(1)?;
        if self.disk.file(inode).is_some_and(|file| file.now.len() == len) {
            return Ok(());
        }
        self.emit(Op::Truncate { inode, len }, format!("truncate to {len}"))
    }

    pub(super) fn allocate(&mut self, call: &Call<'_>) -> io::Result<()> {
        let Some(inode) = self.inode_inside(call, 0)? else { return Ok(()) };
        let (offset, count) = (call.size(2)?, call.size(3)?);
        let len = self.disk.file(inode).map_or(0, |file| file.now.len());
        match call.arg(1) {
            "FALLOC_FL_KEEP_SIZE" => Ok(()),
            "0" if offset + count <= len => Ok(()),
            "0" => {
                let len = offset + count;
                let label = format!("allocate {len} for {}", self.shown_arg(call, 0));
                self.emit(Op::Truncate { inode, len }, label)
            }
            _ => Err(call.unsupported("this cannot be followed")),
        }
    }

    pub(super) fn sync(&mut self, call: &Call<'_>, covers: usize) -> io::Result<()> {
        let Some(inode) = self.inode_inside(call, 0)? else { return Ok(()) };
        let label = format!("{} {}", call.name, self.shown_arg(call, 0));
        match self.disk.node(inode) {
            Node::Dir { .. } => self.emit(Op::SyncDir { dir: inode, covers }, label),
            Node::File(_) | Node::Symlink(_) => self.emit(Op::SyncFile { inode, covers }, label),
        }
    }
}

fn len(call: &Call<'_>) -> usize {
    call.returned().and_then(|len| usize::try_from(len).ok()).unwrap_or(0)
}
