//! Finds the users of a data root and chooses one.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use forklore_json::Json;

use crate::disk::data_root::{DataRoot, EscapesDataRoot};
use crate::disk::describe::{kind, shown};
use crate::disk::{Disk, FileType};

/// The user handle when SillyTavern has no accounts.
pub const DEFAULT_USER: &str = "default-user";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    pub handle: String,
    /// Whether SillyTavern has a record of the user. A folder without a record is still a user's:
    /// left behind, or copied here.
    pub recorded: bool,
    /// Whether the user has a folder with chats or books.
    pub has_folder: bool,
    /// Whether versions of the user's files were recorded, as far as [`Users::add_recorded`] was
    /// told.
    pub has_history: bool,
}

/// What has to be there of a user for a command to work on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// The user's folder.
    Folder,
    /// The folder, or a history of it.
    FolderOrHistory,
    /// Nothing: if there is no user yet, there is one now.
    Nothing,
}

/// All users found, sorted by handle.
#[derive(Debug, Default)]
pub struct Users {
    pub users: Vec<User>,
    /// Records and folders that could not be read and may belong to a user.
    pub unread: Vec<PathBuf>,
}

/// The users could not be listed.
#[derive(Debug, thiserror::Error)]
#[error("could not list the users in `{}`", root.display())]
pub struct UsersError {
    pub root: PathBuf,
    pub source: io::Error,
}

/// It is unclear which user is meant.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChooseError {
    #[error("there is no user with chats or lorebooks")]
    Nobody,
    #[error("the folder of {handle} is gone; only its history is left")]
    FolderGone { handle: String },
    #[error("there is no user {wanted:?}, only: {}", handles.join(", "))]
    Unknown { wanted: String, handles: Vec<String> },
    /// Of some, only a history may be left.
    #[error("there are several users: {}", handles.join(", "))]
    Several { handles: Vec<String>, gone: Vec<String> },
}

impl Users {
    /// Finds the users of a data root: those with a SillyTavern record, and folders that look like
    /// a user's.
    pub fn find(disk: &dyn Disk, root: &Path) -> Result<Self, UsersError> {
        return find(disk, root).map_err(|source| UsersError { root: root.to_owned(), source });

        fn find(disk: &dyn Disk, root: &Path) -> io::Result<Users> {
            let data_root = DataRoot::new(root);
            let mut unread = Vec::new();
            let mut users = BTreeMap::new();
            for handle in recorded_handles(disk, &data_root, &mut unread)? {
                let has_folder = match data_root.join(&[&handle]) {
                    Ok(folder) => looks_like_user(disk, &data_root, &folder, &mut unread),
                    // A record that names a path elsewhere belongs to no user.
                    Err(_) => continue,
                };
                let user =
                    User { handle: handle.clone(), recorded: true, has_folder, has_history: false };
                users.insert(handle, user);
            }
            for name in disk.list(root)? {
                let folder = root.join(&name);
                let Some(handle) = name.to_str() else {
                    unread.push(folder);
                    continue;
                };
                // Folders of SillyTavern itself or of Forklore.
                if handle.starts_with('_') || users.contains_key(handle) {
                    continue;
                }
                if looks_like_user(disk, &data_root, &folder, &mut unread) {
                    let handle = handle.to_owned();
                    let user = User {
                        handle: handle.clone(),
                        recorded: false,
                        has_folder: true,
                        has_history: false,
                    };
                    users.insert(handle, user);
                }
            }
            Ok(Users { users: users.into_values().collect(), unread })
        }
    }

    /// Adds the users of whom a history is kept: they are users even if their folder is gone.
    pub fn add_recorded(&mut self, handles: impl IntoIterator<Item = String>) {
        for handle in handles {
            match self.users.binary_search_by(|user| user.handle.cmp(&handle)) {
                Ok(at) => self.users[at].has_history = true,
                Err(at) => self.users.insert(
                    at,
                    User { handle, recorded: false, has_folder: false, has_history: true },
                ),
            }
        }
    }

    /// Users with a history and without a folder.
    pub fn without_folder(&self) -> impl Iterator<Item = &User> {
        self.users.iter().filter(|user| user.has_history && !user.has_folder)
    }

    /// Returns the user called `wanted`, or the only one if none is wanted.
    pub fn choose(&self, wanted: Option<&str>, needs: Needs) -> Result<String, ChooseError> {
        let is_there = |user: &&User| user.has_folder || needs != Needs::Folder && user.has_history;
        let present: Vec<&str> =
            self.users.iter().filter(is_there).map(|user| &*user.handle).collect();
        let gone: Vec<&str> = self.without_folder().map(|user| &*user.handle).collect();
        let handles = |handles: &[&str]| handles.iter().map(|&handle| handle.into()).collect();
        match (wanted, &present[..], &gone[..]) {
            (Some(wanted), _, _) if present.contains(&wanted) => Ok(wanted.to_owned()),
            (Some(wanted), _, _) if gone.contains(&wanted) => {
                Err(ChooseError::FolderGone { handle: wanted.to_owned() })
            }
            (None, [only], _) => Ok((*only).to_owned()),
            (wanted, [], _) if needs == Needs::Nothing => {
                Ok(wanted.unwrap_or(DEFAULT_USER).to_owned())
            }
            (None, [], [only]) => Err(ChooseError::FolderGone { handle: (*only).to_owned() }),
            (_, [], []) => Err(ChooseError::Nobody),
            (Some(wanted), _, _) => {
                let handles = handles(if present.is_empty() { &gone } else { &present });
                Err(ChooseError::Unknown { wanted: wanted.to_owned(), handles })
            }
            (None, [], _) => {
                Err(ChooseError::Several { handles: handles(&gone), gone: handles(&gone) })
            }
            (None, _, _) => {
                Err(ChooseError::Several { handles: handles(&present), gone: handles(&gone) })
            }
        }
    }
}

/// Whether `folder` looks like a user's folder.
pub(crate) fn has_chats_or_books(disk: &dyn Disk, folder: &Path) -> io::Result<bool> {
    for name in ["chats", "worlds"] {
        if is_folder(disk, &folder.join(name))? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Follows links: their targets are checked before anything is read.
pub(crate) fn is_folder(disk: &dyn Disk, path: &Path) -> io::Result<bool> {
    match disk.stat(path)? {
        Some(stat) if stat.kind == FileType::Link => match disk.real_path(path) {
            Ok(target) => Ok(disk.stat(&target)?.is_some_and(|stat| stat.kind == FileType::Dir)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        },
        stat => Ok(stat.is_some_and(|stat| stat.kind == FileType::Dir)),
    }
}

fn looks_like_user(
    disk: &dyn Disk,
    data_root: &DataRoot,
    folder: &Path,
    unread: &mut Vec<PathBuf>,
) -> bool {
    let found = match data_root.resolve(disk, folder) {
        Ok(folder) => has_chats_or_books(disk, &folder),
        Err(EscapesDataRoot::Unreadable { source, .. }) => Err(source),
        Err(_) => Err(io::ErrorKind::PermissionDenied.into()),
    };
    found.unwrap_or_else(|_| {
        unread.push(folder.to_owned());
        false
    })
}

/// Reads `_storage`, which has one file per key, named after a digest of the key.
fn recorded_handles(
    disk: &dyn Disk,
    data_root: &DataRoot,
    unread: &mut Vec<PathBuf>,
) -> io::Result<Vec<String>> {
    let storage = data_root.root().join("_storage");
    let mut handles = Vec::new();
    for name in disk.list(&storage)? {
        let path = storage.join(name);
        let bytes = match data_root.resolve(disk, &path).map(|path| disk.read(&path)) {
            Ok(Ok(bytes)) => bytes,
            _ => {
                unread.push(path);
                continue;
            }
        };
        let Ok(record) = Json::parse(&bytes) else {
            unread.push(path);
            continue;
        };
        // Other keys hold avatars and the like.
        let key = record.get("key").and_then(Json::as_str).unwrap_or_default();
        handles.extend(key.strip_prefix("user:").map(str::to_owned));
    }
    Ok(handles)
}

forklore_core::diagnostics!(UsersError {
    Self { root, source } => ("users-not-listed", path: shown(root), kind: kind(source)),
});

forklore_core::diagnostics!(ChooseError {
    Self::Nobody => ("no-user"),
    Self::FolderGone { handle } => ("folder-gone", user: handle.as_str()),
    Self::Unknown { wanted, handles } => (
        "unknown-user",
        wanted: wanted.as_str(),
        handles: handles.clone(),
    ),
    Self::Several { handles, .. } => ("several-users", handles: handles.clone()),
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::RealDisk;
    use std::fs;

    fn root(folders: &[&str], records: &[&str]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("_storage")).unwrap();
        for folder in folders {
            fs::create_dir_all(root.path().join(folder)).unwrap();
        }
        for (number, record) in records.iter().enumerate() {
            fs::write(root.path().join(format!("_storage/{number:064x}")), record).unwrap();
        }
        root
    }

    fn record(handle: &str) -> String {
        format!(r#"{{"key":"user:{handle}","value":{{"handle":"{handle}","enabled":true}}}}"#)
    }

    #[track_caller]
    fn check(folders: &[&str], records: &[&str], expected: &[(&str, bool, bool)], unread: usize) {
        let root = root(folders, records);
        let found = Users::find(&RealDisk, root.path()).unwrap();
        let users: Vec<_> = found
            .users
            .iter()
            .map(|user| (&*user.handle, user.recorded, user.has_folder))
            .collect();
        assert_eq!(users, expected);
        assert_eq!(found.unread.len(), unread, "{:?}", found.unread);
    }

    #[test]
    fn users_are_found_by_record_and_by_folder() {
        check(
            &["default-user/chats", "anna/worlds", "old/chats", "_cache/chats", "misc/x"],
            &[&record("default-user"), &record("anna"), &record("new")],
            &[
                ("anna", true, true),
                ("default-user", true, true),
                ("new", true, false),
                ("old", false, true),
            ],
            0,
        );
    }

    #[test]
    fn records_of_other_things_are_passed_over_and_broken_ones_reported() {
        check(
            &["a/chats"],
            &[r#"{"key":"avatar:b","value":"x"}"#, r#"{"key":7}"#, "[]", "{", &record("a")],
            &[("a", true, true)],
            1,
        );
    }

    #[test]
    fn a_record_cannot_name_another_place() {
        check(
            &["a/chats"],
            &[&record("../a"), &record(".."), &record("")],
            &[("a", false, true)],
            0,
        );
    }

    #[test]
    fn a_root_without_records_is_a_root() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("default-user/chats")).unwrap();
        let found = Users::find(&RealDisk, root.path()).unwrap();
        assert_eq!(found.choose(None, Needs::Folder).unwrap(), DEFAULT_USER);
    }

    #[cfg(unix)]
    #[test]
    fn a_folder_that_leads_outside_is_reported() {
        let elsewhere = root(&["chats"], &[]);
        let root = root(&["a/chats"], &[]);
        std::os::unix::fs::symlink(elsewhere.path(), root.path().join("b")).unwrap();
        let found = Users::find(&RealDisk, root.path()).unwrap();
        assert_eq!(found.users.len(), 1);
        assert_eq!(found.unread, [root.path().join("b")]);
    }

    #[track_caller]
    fn check_choice(folders: &[&str], wanted: Option<&str>, expected: Result<&str, ChooseError>) {
        let root = root(folders, &[&record("ghost")]);
        let users = Users::find(&RealDisk, root.path()).unwrap();
        let chosen = users.choose(wanted, Needs::Folder);
        assert_eq!(chosen, expected.map(str::to_owned));
    }

    #[test]
    fn whoever_has_a_history_is_a_user() {
        let root = root(&["a/chats"], &[]);
        let mut users = Users::find(&RealDisk, root.path()).unwrap();
        users.add_recorded(["a".to_owned(), "b".to_owned()]);
        let gone = || ChooseError::FolderGone { handle: "b".to_owned() };
        let several = || ChooseError::Several {
            handles: vec!["a".to_owned(), "b".to_owned()],
            gone: vec!["b".to_owned()],
        };
        let read = Needs::FolderOrHistory;
        assert_eq!(users.choose(Some("b"), read), Ok("b".to_owned()));
        assert_eq!(users.choose(Some("b"), Needs::Folder), Err(gone()));
        assert_eq!(users.choose(None, Needs::Folder), Ok("a".to_owned()));
        // Whose past is meant is not guessed.
        assert_eq!(users.choose(None, read), Err(several()));

        let mut nobody = Users::default();
        assert_eq!(nobody.choose(None, read), Err(ChooseError::Nobody));
        assert_eq!(nobody.choose(None, Needs::Nothing), Ok(DEFAULT_USER.to_owned()));
        assert_eq!(nobody.choose(Some("x"), Needs::Nothing), Ok("x".to_owned()));
        nobody.add_recorded(["b".to_owned()]);
        assert_eq!(nobody.choose(None, read), Ok("b".to_owned()));
        assert_eq!(nobody.choose(None, Needs::Folder), Err(gone()));
    }

    #[test]
    fn the_only_user_need_not_be_named() {
        let both = || vec!["a".to_owned(), "b".to_owned()];
        let two = &["a/chats", "b/chats"];
        check_choice(&["a/chats"], None, Ok("a"));
        check_choice(two, Some("b"), Ok("b"));
        check_choice(two, None, Err(ChooseError::Several { handles: both(), gone: Vec::new() }));
        for wanted in ["c", "ghost"] {
            let unknown = ChooseError::Unknown { wanted: wanted.into(), handles: both() };
            check_choice(two, Some(wanted), Err(unknown));
        }
        check_choice(&[], None, Err(ChooseError::Nobody));
    }
}
