//! Keeps every path inside the data root.
//!
//! Names come from files that anyone may have written (a card's chat, a group's members, a user
//! record), and there may be symbolic links anywhere in the folder. Both are checked here and
//! nowhere else.

use std::io;
use std::path::{Component, Path, PathBuf};

use crate::disk::describe::{kind, shown};
use crate::disk::{Disk, FileType};

/// The data root, which no path may leave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataRoot {
    root: PathBuf,
}

/// A path leads out of the data root, or may do so.
#[derive(Debug, thiserror::Error)]
pub enum EscapesDataRoot {
    /// Not a single path component: it names another folder, or a path through several.
    #[error("{part:?} is not the name of a file or folder")]
    NotAName { part: String },
    #[error("`{}` is not inside `{}`", path.display(), root.display())]
    Elsewhere { path: PathBuf, root: PathBuf },
    #[error("`{}` leads outside, to `{}`", path.display(), target.display())]
    LeadsOutside { path: PathBuf, target: PathBuf },
    /// Includes dangling and circular links.
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

    /// Joins `parts` to the root. Each part must be a single file or folder name.
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

    /// Returns `path` with its links resolved, after checking that none of them leads out of the
    /// root. Components that do not exist count as plain names.
    ///
    /// Write to the returned path: renaming over a link would replace the link itself, while
    /// SillyTavern writes to its target.
    ///
    /// This does not defend against a folder being swapped for a link before the path is used:
    /// anyone who can do that can already write to the user's folder.
    pub fn resolve(&self, disk: &dyn Disk, path: &Path) -> Result<PathBuf, EscapesDataRoot> {
        let unreadable =
            |path: &Path, source| EscapesDataRoot::Unreadable { path: path.to_owned(), source };
        let below = path.strip_prefix(&self.root).map_err(|_| EscapesDataRoot::Elsewhere {
            path: path.to_owned(),
            root: self.root.clone(),
        })?;

        // The root itself may be a link: the user chose it.
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
            let stat = disk.stat(&walked).map_err(|source| unreadable(&walked, source))?;
            if !stat.is_some_and(|stat| stat.kind == FileType::Link) {
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
            // Spelled with the root as given, so that the next round can check it again.
            walked = self.root.join(below);
        }
        Ok(walked)
    }
}

/// Whether `part` is a single file or folder name on this system.
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
            let result = data_root.resolve(&RealDisk, Path::new(path));
            assert!(matches!(result, Err(EscapesDataRoot::Elsewhere { .. })), "{path}");
        }
    }

    #[cfg(unix)]
    mod links {
        use super::*;
        use std::fs;
        use std::os::unix::fs::symlink;

        /// A `data/` folder containing `user`, with `elsewhere/` beside it.
        fn scene() -> (tempfile::TempDir, PathBuf, PathBuf) {
            let folder = tempfile::tempdir().unwrap();
            let (data, elsewhere) = (folder.path().join("data"), folder.path().join("elsewhere"));
            fs::create_dir_all(data.join("user/chats")).unwrap();
            fs::create_dir(&elsewhere).unwrap();
            (folder, data, elsewhere)
        }

        #[track_caller]
        fn check(data: &Path, path: &str, expected: Result<&str, &str>) {
            let result = DataRoot::new(data).resolve(&RealDisk, &data.join(path));
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
