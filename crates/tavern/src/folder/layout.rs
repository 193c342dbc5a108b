//! Locates and lists a user's chats, groups, cards and books.

use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::disk::data_root::{DataRoot, EscapesDataRoot};
use crate::disk::parallel::in_parallel;
use crate::disk::{Disk, FileType, Stat};

/// The folders of one user. SillyTavern's layout below the data root is fixed, so these are the
/// only places.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserFolders {
    pub data_root: DataRoot,
    pub handle: String,
    pub chats: PathBuf,
    pub group_chats: PathBuf,
    pub groups: PathBuf,
    pub characters: PathBuf,
    pub worlds: PathBuf,
    pub settings: PathBuf,
    pub backups: PathBuf,
    /// Forklore's own folder, with the lock and the trash. It is beside the users' folders, where
    /// SillyTavern neither lists nor cleans up anything.
    pub ours: PathBuf,
}

#[derive(Debug, Default)]
pub struct FileListing {
    pub files: Vec<ListedFile>,
    /// Entries that could not be read. Each may be a chat that names a book, so it counts as a
    /// reference to every book.
    pub skipped: Vec<SkippedFile>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedFile {
    /// The file name without its extension.
    pub stem: String,
    /// With links resolved.
    pub path: PathBuf,
    pub len: u64,
    pub modified: SystemTime,
}

#[derive(Debug)]
pub struct SkippedFile {
    pub path: PathBuf,
    pub why: SkipReason,
}

#[derive(Debug, thiserror::Error)]
pub enum SkipReason {
    #[error("its name is not Unicode")]
    NotUnicode,
    /// A folder or pipe with the extension of a file.
    #[error("it is not a regular file")]
    NotAFile,
    #[error(transparent)]
    Outside(#[from] EscapesDataRoot),
    #[error("it cannot be examined")]
    Unreadable(#[from] io::Error),
}

/// The chats of one character.
#[derive(Debug)]
pub struct CharacterChats {
    /// The folder name, which is the stem of the card's file name.
    pub character: String,
    pub chats: FileListing,
}

impl UserFolders {
    pub fn new(root: impl Into<PathBuf>, handle: &str) -> Result<Self, EscapesDataRoot> {
        let data_root = DataRoot::new(root);
        let below = |name| data_root.join(&[handle, name]);
        Ok(Self {
            chats: below("chats")?,
            group_chats: below("group chats")?,
            groups: below("groups")?,
            characters: below("characters")?,
            worlds: below("worlds")?,
            settings: below("settings.json")?,
            backups: below("backups")?,
            ours: data_root.join(&["_forklore", handle])?,
            handle: handle.to_owned(),
            data_root,
        })
    }

    pub fn lock(&self) -> PathBuf {
        self.ours.join("lock")
    }

    /// Returns the solo chats by character, and the entries skipped beside their folders.
    pub fn solo_chats(&self, disk: &dyn Disk) -> (Vec<CharacterChats>, Vec<SkippedFile>) {
        let entries = self.entries(disk, &self.chats, |_| true);
        let mut skipped = entries.skipped;
        let folders: Vec<_> =
            entries.found.into_iter().filter(|(_, _, stat)| stat.kind == FileType::Dir).collect();
        // There may be thousands of chats, and each needs a stat.
        let listings =
            in_parallel(&folders, &|| {}, |(_, path, _), _| self.files_in(disk, path, is_chat));
        let characters = folders
            .into_iter()
            .zip(listings)
            .filter(|(_, chats)| !chats.files.is_empty() || !chats.skipped.is_empty())
            .map(|((character, _, _), chats)| CharacterChats { character, chats })
            .collect();
        skipped.retain(|skipped| !has_extension(&skipped.path.to_string_lossy(), CHAT));
        (characters, skipped)
    }

    /// Returns the chats beside the characters' folders. SillyTavern lists them among the recent
    /// chats.
    pub fn loose_chats(&self, disk: &dyn Disk) -> FileListing {
        let mut listing = self.files_in(disk, &self.chats, is_chat);
        // A folder here is a character's, which may have any name, even `x.jsonl`.
        listing.skipped.retain(|skipped| !matches!(skipped.why, SkipReason::NotAFile));
        listing
    }

    /// Returns the chats of all groups, including those that no group lists.
    pub fn group_chats(&self, disk: &dyn Disk) -> FileListing {
        self.files_in(disk, &self.group_chats, is_chat)
    }

    pub fn groups(&self, disk: &dyn Disk) -> FileListing {
        self.files_in(disk, &self.groups, |name| has_extension(name, "json"))
    }

    pub fn books(&self, disk: &dyn Disk) -> FileListing {
        self.files_in(disk, &self.worlds, |name| has_extension(name, "json"))
    }

    pub fn cards(&self, disk: &dyn Disk) -> FileListing {
        self.files_in(disk, &self.characters, |name| has_extension(name, "png"))
    }

    /// Returns SillyTavern's own backups of chats, which a user can restore.
    pub fn chat_backups(&self, disk: &dyn Disk) -> FileListing {
        self.files_in(disk, &self.backups, |name| name.starts_with("chat_") && is_chat(name))
    }

    fn files_in(&self, disk: &dyn Disk, folder: &Path, wanted: fn(&str) -> bool) -> FileListing {
        let entries = self.entries(disk, folder, wanted);
        let mut listing = FileListing { files: Vec::new(), skipped: entries.skipped };
        for (name, path, stat) in entries.found {
            if stat.kind == FileType::File {
                let stem = name.rsplit_once('.').map_or(&*name, |(stem, _)| stem).to_owned();
                let Stat { len, modified, .. } = stat;
                listing.files.push(ListedFile { stem, path, len, modified });
            } else {
                listing.skipped.push(SkippedFile { path, why: SkipReason::NotAFile });
            }
        }
        listing
    }

    fn entries(&self, disk: &dyn Disk, folder: &Path, wanted: fn(&str) -> bool) -> Entries {
        let mut entries = Entries::default();
        let names = match self.data_root.resolve(disk, folder) {
            Ok(folder) => disk.list(&folder).map(|names| (folder, names)).map_err(Into::into),
            Err(error) => Err(SkipReason::from(error)),
        };
        let (folder, names) = match names {
            Ok(found) => found,
            Err(why) => {
                entries.skipped.push(SkippedFile { path: folder.to_owned(), why });
                return entries;
            }
        };
        for name in names {
            if !wanted(&name.to_string_lossy()) {
                continue;
            }
            let path = folder.join(&name);
            let Some(name) = name.to_str() else {
                entries.skipped.push(SkippedFile { path, why: SkipReason::NotUnicode });
                continue;
            };
            match self.stat_through_links(disk, &path) {
                Ok(Some((path, stat))) => entries.found.push((name.to_owned(), path, stat)),
                // Deleted since it was listed.
                Ok(None) => {}
                Err(why) => entries.skipped.push(SkippedFile { path, why }),
            }
        }
        entries
    }

    fn stat_through_links(
        &self,
        disk: &dyn Disk,
        path: &Path,
    ) -> Result<Option<(PathBuf, Stat)>, SkipReason> {
        match disk.stat(path)? {
            Some(stat) if stat.kind == FileType::Link => {
                let path = self.data_root.resolve(disk, path)?;
                Ok(disk.stat(&path)?.map(|stat| (path, stat)))
            }
            other => Ok(other.map(|stat| (path.to_owned(), stat))),
        }
    }
}

#[derive(Default)]
struct Entries {
    found: Vec<(String, PathBuf, Stat)>,
    skipped: Vec<SkippedFile>,
}

/// Whether `name` is a temporary file of SillyTavern: the target's name, a dot and up to ten
/// digits. SillyTavern writes to it before renaming; a crash leaves it behind.
pub fn is_sillytavern_temp(name: &str) -> bool {
    let Some((target, number)) = name.rsplit_once('.') else { return false };
    (1..=10).contains(&number.len())
        && number.bytes().all(|byte| byte.is_ascii_digit())
        && (target.ends_with(".json") || target.ends_with(".jsonl"))
}

const CHAT: &str = "jsonl";

fn is_chat(name: &str) -> bool {
    has_extension(name, CHAT)
}

/// Ignores case: the file system may do so too, and finding one file too many only makes us more
/// careful.
fn has_extension(name: &str, extension: &str) -> bool {
    name.rsplit_once('.').is_some_and(|(_, found)| found.eq_ignore_ascii_case(extension))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::RealDisk;
    use std::fs;

    struct Scene {
        _folder: tempfile::TempDir,
        folders: UserFolders,
    }

    fn scene(files: &[&str]) -> Scene {
        let folder = tempfile::tempdir().unwrap();
        let folders = UserFolders::new(folder.path(), "default-user").unwrap();
        for file in files {
            let path = folder.path().join("default-user").join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, b"12345").unwrap();
        }
        Scene { _folder: folder, folders }
    }

    #[track_caller]
    fn check(listing: &FileListing, stems: &[&str]) {
        let found: Vec<_> = listing.files.iter().map(|file| &*file.stem).collect();
        assert_eq!(found, stems);
        assert!(listing.skipped.is_empty(), "{:?}", listing.skipped);
        assert!(listing.files.iter().all(|file| file.len == 5 && file.path.exists()));
    }

    #[test]
    fn every_kind_is_found_in_its_place() {
        let Scene { folders, .. } = &scene(&[
            "chats/Alice/A - 1.jsonl",
            "chats/Alice/.hidden.jsonl",
            "chats/Alice/A - 1.jsonl.123456",
            "chats/Alice/notes.txt",
            "chats/Bob.v2/B. 1.jsonl",
            "chats/Empty/x.txt",
            "chats/loose.jsonl",
            "group chats/1700.jsonl",
            "groups/1700.json",
            "groups/1700.json.99",
            "worlds/Lore.json",
            "worlds/Loud.JSON",
            "worlds/v1.2.json",
            "worlds/Lore.json.123456789",
            "worlds/.forklore-1-1.tmp",
            "characters/Alice.png",
            "characters/Alice/happy.webp",
            "backups/chat_alice_20260101-101010.jsonl",
            "backups/settings_default-user_20260101-101010.json",
        ]);
        let disk = &RealDisk;
        let (solo, skipped) = folders.solo_chats(disk);
        assert!(skipped.is_empty());
        assert_eq!(
            solo.iter().map(|each| &*each.character).collect::<Vec<_>>(),
            ["Alice", "Bob.v2"]
        );
        check(&solo[0].chats, &[".hidden", "A - 1"]);
        check(&solo[1].chats, &["B. 1"]);
        check(&folders.loose_chats(disk), &["loose"]);
        check(&folders.group_chats(disk), &["1700"]);
        check(&folders.groups(disk), &["1700"]);
        check(&folders.books(disk), &["Lore", "Loud", "v1.2"]);
        check(&folders.cards(disk), &["Alice"]);
        check(&folders.chat_backups(disk), &["chat_alice_20260101-101010"]);
    }

    #[test]
    fn a_user_without_folders_has_nothing() {
        let Scene { folders, .. } = &scene(&[]);
        check(&folders.books(&RealDisk), &[]);
        assert!(folders.solo_chats(&RealDisk).0.is_empty());
    }

    #[test]
    fn a_character_called_like_a_file_is_still_a_character() {
        let Scene { folders, .. } = &scene(&["chats/x.jsonl/1.jsonl"]);
        let (solo, skipped) = folders.solo_chats(&RealDisk);
        assert_eq!(solo[0].character, "x.jsonl");
        assert!(skipped.is_empty());
        check(&folders.loose_chats(&RealDisk), &[]);
    }

    #[test]
    fn a_handle_cannot_lead_elsewhere() {
        for handle in ["", "..", "a/b"] {
            assert!(UserFolders::new("/data", handle).is_err());
        }
        let folders = UserFolders::new("/data", "me").unwrap();
        assert_eq!(folders.ours, Path::new("/data/_forklore/me"));
        assert_eq!(folders.lock(), Path::new("/data/_forklore/me/lock"));
    }

    #[test]
    fn temporary_files_of_sillytavern_are_known() {
        for name in ["a.json.1", "a.jsonl.4294967295", ".json.12"] {
            assert!(is_sillytavern_temp(name), "{name}");
        }
        for name in ["a.json", "a.json.", "a.json.12345678901", "a.png.12", "a.json.1x", "json"] {
            assert!(!is_sillytavern_temp(name), "{name}");
        }
    }

    #[cfg(unix)]
    mod oddities {
        use super::*;
        use std::ffi::OsStr;
        use std::os::unix::ffi::OsStrExt;
        use std::os::unix::fs::symlink;

        fn whys(skipped: &[SkippedFile]) -> Vec<&'static str> {
            let why = |skipped: &SkippedFile| match skipped.why {
                SkipReason::NotUnicode => "not unicode",
                SkipReason::NotAFile => "not a file",
                SkipReason::Outside(_) => "outside",
                SkipReason::Unreadable(_) => "unreadable",
            };
            skipped.iter().map(why).collect()
        }

        #[test]
        fn what_cannot_be_taken_into_account_is_reported() {
            let Scene { folders, .. } = &scene(&["worlds/A.json", "worlds/folder.json/x"]);
            symlink("A.json", folders.worlds.join("B.json")).unwrap();
            symlink("/etc/passwd", folders.worlds.join("C.json")).unwrap();
            symlink("nowhere", folders.worlds.join("D.json")).unwrap();
            for name in [&b"\xff.json"[..], b"\xff.txt"] {
                fs::write(folders.worlds.join(OsStr::from_bytes(name)), b"").unwrap();
            }

            let listing = folders.books(&RealDisk);
            let stems: Vec<_> = listing.files.iter().map(|file| &*file.stem).collect();
            assert_eq!(stems, ["A", "B"]);
            assert_eq!(listing.files[1].path, folders.worlds.join("A.json"));
            assert_eq!(whys(&listing.skipped), ["outside", "outside", "not unicode", "not a file"]);
        }

        #[test]
        fn a_loose_chat_that_is_skipped_is_reported_once() {
            let Scene { folders, .. } = &scene(&["chats/Alice/1.jsonl"]);
            symlink("/etc/passwd", folders.chats.join("loose.jsonl")).unwrap();
            assert_eq!(whys(&folders.solo_chats(&RealDisk).1), [""; 0]);
            assert_eq!(whys(&folders.loose_chats(&RealDisk).skipped), ["outside"]);
        }

        #[test]
        fn a_folder_of_chats_that_leads_outside_is_reported_and_not_read() {
            let elsewhere = tempfile::tempdir().unwrap();
            fs::write(elsewhere.path().join("secret.jsonl"), b"").unwrap();
            let Scene { folders, .. } = &scene(&["chats/Alice/1.jsonl"]);
            symlink(elsewhere.path(), folders.chats.join("Mallory")).unwrap();
            symlink(elsewhere.path(), &folders.group_chats).unwrap();

            let (solo, skipped) = folders.solo_chats(&RealDisk);
            assert_eq!(solo.len(), 1);
            assert_eq!(whys(&skipped), ["outside"]);
            let listing = folders.group_chats(&RealDisk);
            assert!(listing.files.is_empty());
            assert_eq!(whys(&listing.skipped), ["outside"]);
        }
    }
}
