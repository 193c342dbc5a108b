//! Paths never leave the data root.
//!
//! Names come out of files that anybody may have written: a card's chat, a
//! group's members, a record of a user. And a link may lie anywhere in the
//! folder. Both are looked at here, and nowhere else.

use std::io;
use std::path::{Component, Path, PathBuf};

use crate::disk::describe::{kind, shown};
use crate::disk::{Disk, FileType};

/// The data root, as the wall that paths stay behind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataRoot {
    root: PathBuf,
}

/// A path would lead out of the data root, or cannot be told not to.
#[derive(Debug, thiserror::Error)]
pub enum EscapesDataRoot {
    /// Not one name: it would stand for another folder, or for several.
    #[error("{part:?} is not a name of a file or folder")]
    NotAName { part: String },
    #[error("`{}` is not under `{}`", path.display(), root.display())]
    Elsewhere { path: PathBuf, root: PathBuf },
    #[error("`{}` leads outside, to `{}`", path.display(), target.display())]
    LeadsOutside { path: PathBuf, target: PathBuf },
    /// Links that lead nowhere or in circles among them.
    #[error("could not follow `{}`", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
}

impl DataRoot {
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the path of `parts` under the root, each of them one name.
    pub fn join(&self, parts: &[&str]) -> Result<PathBuf, EscapesDataRoot> {
        let mut path = self.root.clone();
        for part in parts {
            if !is_name(part) {
                return Err(EscapesDataRoot::NotAName { part: (*part).to_owned() });
            }
            path.push(part);
        }
        Ok(path)
    }

    /// Returns `path` with the links in it followed, having made sure that none
    /// of them leads out of the root. What is absent is no link.
    ///
    /// Write to the path returned: renaming over a link would cut it, while
    /// SillyTavern writes to where it leads.
    ///
    /// Whoever can swap a folder for a link between this and the use of the path
    /// can write to the user's folder already; that is not defended against.
    pub fn check_no_link(&self, disk: &dyn Disk, path: &Path) -> Result<PathBuf, EscapesDataRoot> {
        let unreadable =
            |path: &Path, source| EscapesDataRoot::Unreadable { path: path.to_owned(), source };
        let below = path.strip_prefix(&self.root).map_err(|_| EscapesDataRoot::Elsewhere {
            path: path.to_owned(),
            root: self.root.clone(),
        })?;

        // The root itself may be reached by a link: it is where the user says.
        let mut walked = self.root.clone();
        let mut real_root = None;
        for component in below.components() {
            let Component::Normal(name) = component else {
                return Err(EscapesDataRoot::Elsewhere {
                    path: path.to_owned(),
                    root: self.root.clone(),
                });
            };
            walked.push(name);
            let look = disk.stat(&walked).map_err(|source| unreadable(&walked, source))?;
            if !look.is_some_and(|look| look.kind == FileType::Link) {
                continue;
            }
            let real_root = match &mut real_root {
                Some(known) => known,
                unknown => unknown.insert(
                    disk.real_path(&self.root).map_err(|source| unreadable(&self.root, source))?,
                ),
            };
            let target = disk.real_path(&walked).map_err(|source| unreadable(&walked, source))?;
            let Ok(below) = target.strip_prefix(&*real_root) else {
                return Err(EscapesDataRoot::LeadsOutside { path: walked, target });
            };
            // In the root's own spelling, so that it can be checked again.
            walked = self.root.join(below);
        }
        Ok(walked)
    }
}

/// Tells whether a text is one name of a file or folder on this system.
pub fn is_name(part: &str) -> bool {
    let forbidden: &[char] = if cfg!(windows) { &['/', '\0', '\\', ':'] } else { &['/', '\0'] };
    !matches!(part, "" | "." | "..") && !part.contains(forbidden)
}

forklore_core::diagnostics!(EscapesDataRoot {
    Self::NotAName { part } => ("not-a-name", name: part.as_str()),
    Self::Elsewhere { path, .. } => ("outside", path: shown(path)),
    Self::LeadsOutside { path, target } => (
        "leads-outside",
        path: shown(path),
        target: shown(target),
    ),
    Self::Unreadable { path, source } => ("not-read", path: shown(path), kind: kind(source)),
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::RealDisk;

    #[track_caller]
    fn check_join(parts: &[&str], expected: Option<&str>) {
        let joined = DataRoot::new("/data").join(parts).ok();
        assert_eq!(joined.as_deref(), expected.map(Path::new));
    }

    #[test]
    fn a_part_is_one_name() {
        check_join(
            &["default-user", "chats", "Alice. B", "…"],
            Some("/data/default-user/chats/Alice. B/…"),
        );
        check_join(&["...", ".hidden", " "], Some("/data/.../.hidden/ "));
        for part in ["", ".", "..", "a/b", "/etc", "../x", "a\0b"] {
            check_join(&["chats", part], None);
        }
        if cfg!(windows) {
            check_join(&["a\\b"], None);
            check_join(&["C:"], None);
        }
    }

    #[test]
    fn a_path_elsewhere_is_refused() {
        let data_root = DataRoot::new("/data");
        for path in ["/etc/passwd", "/data/../etc", "/data/a/../../etc", "chats"] {
            let result = data_root.check_no_link(&RealDisk, Path::new(path));
            assert!(matches!(result, Err(EscapesDataRoot::Elsewhere { .. })), "{path}");
        }
    }

    #[cfg(unix)]
    mod links {
        use super::*;
        use std::fs;
        use std::os::unix::fs::symlink;

        /// `data/` with a folder `user`, `elsewhere/` beside it.
        fn scene() -> (tempfile::TempDir, PathBuf, PathBuf) {
            let folder = tempfile::tempdir().unwrap();
            let (data, elsewhere) = (folder.path().join("data"), folder.path().join("elsewhere"));
            fs::create_dir_all(data.join("user/chats")).unwrap();
            fs::create_dir(&elsewhere).unwrap();
            (folder, data, elsewhere)
        }

        #[track_caller]
        fn check(data: &Path, path: &str, expected: Result<&str, &str>) {
            let result = DataRoot::new(data).check_no_link(&RealDisk, &data.join(path));
            match (result, expected) {
                (Ok(found), Ok(expected)) => assert_eq!(found, data.join(expected)),
                (Err(EscapesDataRoot::LeadsOutside { path, .. }), Err(expected)) => {
                    assert_eq!(path, data.join(expected));
                }
                (Err(EscapesDataRoot::Unreadable { path, .. }), Err(expected)) => {
                    assert_eq!(path, data.join(expected));
                }
                (result, _) => panic!("{result:?}"),
            }
        }

        #[test]
        fn paths_without_links_are_left_as_they_are() {
            let (_folder, data, _) = scene();
            check(&data, "user/chats", Ok("user/chats"));
            check(&data, "user/absent/x.jsonl", Ok("user/absent/x.jsonl"));
        }

        #[test]
        fn a_link_that_stays_inside_is_followed() {
            let (_folder, data, _) = scene();
            symlink("chats", data.join("user/also")).unwrap();
            symlink(data.join("user/also"), data.join("twice")).unwrap();
            check(&data, "user/also/x.jsonl", Ok("user/chats/x.jsonl"));
            check(&data, "twice/x.jsonl", Ok("user/chats/x.jsonl"));
        }

        #[test]
        fn a_link_that_leads_outside_is_refused_wherever_it_stands() {
            let (_folder, data, elsewhere) = scene();
            symlink(&elsewhere, data.join("user/worlds")).unwrap();
            symlink("../../elsewhere/book.json", data.join("user/book.json")).unwrap();
            fs::write(elsewhere.join("book.json"), b"{}").unwrap();
            symlink("user/worlds", data.join("by way of another")).unwrap();
            check(&data, "user/worlds", Err("user/worlds"));
            check(&data, "user/worlds/x/y.json", Err("user/worlds"));
            check(&data, "user/book.json", Err("user/book.json"));
            check(&data, "by way of another/y.json", Err("by way of another"));
        }

        #[test]
        fn a_folder_whose_name_only_begins_alike_is_outside() {
            let (folder, data, _) = scene();
            fs::create_dir(folder.path().join("data2")).unwrap();
            symlink("../data2", data.join("link")).unwrap();
            check(&data, "link", Err("link"));
        }

        #[test]
        fn a_link_to_nowhere_or_in_circles_is_refused() {
            let (_folder, data, _) = scene();
            symlink("absent", data.join("nowhere")).unwrap();
            symlink("circle", data.join("circle")).unwrap();
            check(&data, "nowhere", Err("nowhere"));
            check(&data, "circle/x", Err("circle"));
        }

        #[test]
        fn the_root_may_itself_be_a_link() {
            let (folder, data, elsewhere) = scene();
            let root = folder.path().join("root");
            symlink(&data, &root).unwrap();
            symlink("chats", data.join("user/also")).unwrap();
            symlink(&elsewhere, data.join("user/out")).unwrap();
            check(&root, "user/also/x", Ok("user/chats/x"));
            check(&root, "user/out/x", Err("user/out"));
        }
    }
}
