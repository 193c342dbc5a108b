//! Resolves descriptors and paths to files.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use super::Follower;
use crate::power::call::Call;
use crate::power::disk::Node;
use crate::power::op::{Inode, Place};
use crate::power::process::{OpenFile, OpenTarget};

/// The indexes of the arguments with the folder (if the call has one) and the path.
pub(super) type At = (Option<usize>, usize);

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Last {
    Followed,
    AsItIs,
}

/// A path with its links resolved.
pub(super) enum Resolved {
    /// In the traced folder, with the inode at the path, if any.
    Inside(Option<Inode>, PathBuf),
    Outside(PathBuf),
}

/// The same limit as in Linux.
const MOST_LINKS: usize = 40;

impl Follower<'_> {
    /// The open file description of the descriptor in argument `at`.
    pub(super) fn opened(
        &mut self,
        call: &Call<'_>,
        at: usize,
    ) -> io::Result<Option<&mut OpenFile>> {
        let Some(descriptor) = call.descriptor(at)? else { return Ok(None) };
        let is_inside = descriptor.path.as_ref().is_some_and(|path| path.starts_with(self.root));
        match self.processes.opened(call.pid, descriptor.number) {
            None if is_inside => Err(call.unsupported("nobody was seen to open it")),
            opened => Ok(opened),
        }
    }

    pub(super) fn inode_inside(&mut self, call: &Call<'_>, at: usize) -> io::Result<Option<Inode>> {
        Ok(match self.opened(call, at)? {
            Some(OpenFile { target: OpenTarget::Inside(inode), .. }) => Some(*inode),
            _ => None,
        })
    }

    pub(super) fn refuse_inside(&mut self, call: &Call<'_>) -> io::Result<()> {
        let root = self.root.to_owned();
        for (at, arg) in call.args.iter().enumerate() {
            let is_path = arg.starts_with('"');
            let is_inside = if is_path {
                let dir = at.checked_sub(1).filter(|&dir| !call.arg(dir).starts_with('"'));
                matches!(self.resolve(call, dir, at, Last::AsItIs)?, Resolved::Inside(..))
            } else {
                let descriptor = call.descriptor(at).ok().flatten();
                let path = descriptor.and_then(|descriptor| descriptor.path);
                path.is_some_and(|path| path.starts_with(&root))
            };
            if is_inside {
                return Err(call.unsupported("this cannot be followed"));
            }
        }
        Ok(())
    }

    /// Resolves the path in argument `path`, relative to the descriptor in argument `dir`.
    pub(super) fn resolve(
        &mut self,
        call: &Call<'_>,
        dir: Option<usize>,
        path: usize,
        last: Last,
    ) -> io::Result<Resolved> {
        let given = call.path(path)?;
        let base = match dir {
            Some(dir) => call.descriptor(dir)?.and_then(|descriptor| descriptor.path),
            None => None,
        };
        let base = base.unwrap_or_else(|| self.processes.folder(call.pid).clone());
        // Component by component, because a link may lead anywhere.
        let mut todo: Vec<PathBuf> = vec![given];
        let mut reached = base;
        let mut links = 0;
        while let Some(path) = todo.pop() {
            let mut parts = path.components();
            let Some(part) = parts.next() else { continue };
            let rest = parts.as_path().to_owned();
            let is_last = rest.as_os_str().is_empty() && todo.is_empty();
            if !rest.as_os_str().is_empty() {
                todo.push(rest);
            }
            match part {
                Component::RootDir | Component::Prefix(_) => reached = PathBuf::from("/"),
                Component::CurDir => {}
                Component::ParentDir => {
                    reached.pop();
                }
                Component::Normal(name) => {
                    reached.push(name);
                    let is_followed = !is_last || last == Last::Followed;
                    if let Some(target) = self.link_at(&reached).filter(|_| is_followed) {
                        links += 1;
                        if links > MOST_LINKS {
                            return Err(call.misread());
                        }
                        reached.pop();
                        todo.push(target);
                    }
                }
            }
        }
        Ok(match reached.strip_prefix(self.root) {
            Ok(relative) => Resolved::Inside(self.disk.find(relative), reached),
            Err(_) => Resolved::Outside(reached),
        })
    }

    pub(super) fn link_at(&self, path: &Path) -> Option<PathBuf> {
        match path.strip_prefix(self.root) {
            Ok(relative) => match self.disk.node(self.disk.find(relative)?) {
                Node::Symlink(target) => Some(target.clone()),
                Node::File(_) | Node::Dir { .. } => None,
            },
            Err(_) => fs::read_link(path).ok(),
        }
    }

    /// The folder and name that a path refers to; `None` outside the traced folder.
    pub(super) fn place(&mut self, call: &Call<'_>, (dir, path): At) -> io::Result<Option<Place>> {
        match self.resolve(call, dir, path, Last::AsItIs)? {
            Resolved::Outside(_) => Ok(None),
            Resolved::Inside(_, path) => self.place_of(&path).map(Some).ok_or_else(|| {
                call.unsupported("its folder is not known, or it is the folder that is watched")
            }),
        }
    }

    pub(super) fn place_of(&self, path: &Path) -> Option<Place> {
        let relative = path.strip_prefix(self.root).ok()?;
        let dir = self.disk.find(relative.parent()?)?;
        Some(Place { dir, name: relative.file_name()?.to_owned() })
    }

    pub(super) fn shown(&self, path: &Path) -> String {
        path.strip_prefix(self.root).unwrap_or(path).display().to_string()
    }

    pub(super) fn arrow(&self, from: &Path, to: &Path) -> String {
        format!("{} -> {}", self.shown(from), self.shown(to))
    }

    pub(super) fn shown_arg(&self, call: &Call<'_>, at: usize) -> String {
        let descriptor = call.descriptor(at).ok().flatten();
        match descriptor.and_then(|descriptor| descriptor.path) {
            Some(path) => self.shown(&path),
            None => "?".into(),
        }
    }
}
