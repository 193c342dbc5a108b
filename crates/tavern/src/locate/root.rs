//! Where SillyTavern keeps its data.
//!
//! What the user says holds, and if it is wrong that is an error; otherwise the
//! places are tried in which SillyTavern itself would look or write.

use std::fmt;
use std::io;
use std::path::{Component, Path, PathBuf};

use crate::disk::describe::shown;
use crate::disk::{Disk, FileType};
use crate::locate::config::{ConfiguredRoot, data_root_in};
use crate::locate::environment::Environment;
use crate::locate::users::{has_chats_or_books, is_folder};

/// The data root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundRoot {
    pub root: PathBuf,
    /// The user, if the path given was a user's folder.
    pub handle: Option<String>,
    pub how: RootSource,
}

/// What led to a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RootSource {
    Flag,
    ForkloreData,
    SillyTavernDataRoot,
    /// A SillyTavern installed in a folder nearby.
    Install,
    /// Where SillyTavern keeps its data when it is installed for the whole system.
    Global,
    WorkingFolder,
}

/// No data root was found.
#[derive(Debug, thiserror::Error)]
#[error("could not find SillyTavern's data folder")]
pub struct RootError {
    pub looked: Vec<RejectedPlace>,
}

/// A place that is not the data root.
#[derive(Debug)]
pub struct RejectedPlace {
    pub path: PathBuf,
    pub how: RootSource,
    pub why: RejectReason,
}

#[derive(Debug, thiserror::Error)]
pub enum RejectReason {
    #[error("it is not there")]
    Absent,
    #[error("it holds no user's chats or lorebooks")]
    NotADataRoot,
    #[error("its dataRoot could not be understood")]
    ConfigNotUnderstood,
    #[error("{0}")]
    Unreadable(#[from] io::Error),
}

/// Finds the data root.
///
/// A path that is given may also be the folder SillyTavern is installed in, or
/// the folder of one user.
pub fn find_root(disk: &dyn Disk, around: &Environment) -> Result<FoundRoot, RootError> {
    let mut search = Search { disk, around, looked: Vec::new() };
    match search.run() {
        Some(found) => Ok(found),
        None => Err(RootError { looked: search.looked }),
    }
}

/// The folders nearby that a SillyTavern is installed in, the one that is taken first.
pub fn find_installs(disk: &dyn Disk, around: &Environment) -> Vec<PathBuf> {
    let mut installs: Vec<PathBuf> =
        around.installs().filter(|install| is_install(disk, install)).collect();
    installs.dedup();
    installs
}

struct Search<'a> {
    disk: &'a dyn Disk,
    around: &'a Environment,
    looked: Vec<RejectedPlace>,
}

impl Search<'_> {
    fn run(&mut self) -> Option<FoundRoot> {
        let around = self.around;
        let given =
            [(&around.flag, RootSource::Flag), (&around.forklore_data, RootSource::ForkloreData)];
        for (path, how) in given {
            if let Some(path) = path {
                return self.take(&around.working_folder.join(path), how, Search::given);
            }
        }
        if let Some(path) = &around.sillytavern_dataroot {
            return self.obeyed(path);
        }
        for install in around.installs() {
            if !is_install(self.disk, &install) {
                continue;
            }
            if let Some(found) = self.take(&install, RootSource::Install, Search::install) {
                return Some(found);
            }
            // Going on would be to work in another SillyTavern's data.
            if matches!(self.looked.last()?.why, RejectReason::ConfigNotUnderstood) {
                return None;
            }
        }
        if let Some(path) = around.global()
            && let Some(found) = self.take(&path, RootSource::Global, Search::root)
        {
            return Some(found);
        }
        self.take(&around.working_folder.join("data"), RootSource::WorkingFolder, Search::root)
    }

    /// SillyTavern takes a relative path from its own folder, wherever it was
    /// started.
    fn obeyed(&mut self, path: &Path) -> Option<FoundRoot> {
        let around = self.around;
        let installs = around.installs().filter(|install| is_install(self.disk, install));
        let bases: Vec<_> = installs.chain([around.working_folder.clone()]).collect();
        let mut places: Vec<_> = bases.iter().map(|base| base.join(path)).collect();
        places.dedup();
        places
            .iter()
            .find_map(|place| self.take(place, RootSource::SillyTavernDataRoot, Search::root))
    }

    fn take(
        &mut self,
        path: &Path,
        how: RootSource,
        read: fn(&Self, &Path) -> Answer,
    ) -> Option<FoundRoot> {
        match self.settle(path).and_then(|path| read(self, &path)) {
            Ok((root, handle)) => Some(FoundRoot { root, handle, how }),
            Err((path, why)) => {
                self.looked.push(RejectedPlace { path, how, why });
                None
            }
        }
    }

    /// A path that `..` is no part of, so that its parent is the folder it is in.
    fn settle(&self, path: &Path) -> Result<PathBuf, (PathBuf, RejectReason)> {
        if path.components().any(|part| part == Component::ParentDir) {
            let real = self.disk.real_path(path).map_err(|error| match error.kind() {
                io::ErrorKind::NotFound => RejectReason::Absent,
                _ => error.into(),
            });
            return real.map_err(|why| (path.to_owned(), why));
        }
        Ok(path.components().collect())
    }

    fn given(&self, path: &Path) -> Answer {
        if is_install(self.disk, path) {
            return self.install(path);
        }
        if let Some(user) = self.user(path).map_err(|error| (path.to_owned(), error.into()))? {
            return Ok(user);
        }
        // The folder of a container's volumes has `data` in it, and no server.
        let data = path.join("data");
        match (self.root(path), self.root(&data)) {
            (Ok(found), _) | (Err(_), Ok(found)) => Ok(found),
            (Err(why), Err(_)) => Err(why),
        }
    }

    fn install(&self, install: &Path) -> Answer {
        let config = install.join("config.yaml");
        let root = match self.disk.read(&config) {
            Ok(bytes) => data_root_in(&String::from_utf8_lossy(&bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => ConfiguredRoot::Unset,
            Err(error) => return Err((config, error.into())),
        };
        let root = match root {
            ConfiguredRoot::Path(path) => install.join(path),
            ConfiguredRoot::Unset => install.join("data"),
            ConfiguredRoot::NotUnderstood => {
                return Err((config, RejectReason::ConfigNotUnderstood));
            }
        };
        self.settle(&root).and_then(|root| self.root(&root))
    }

    fn root(&self, path: &Path) -> Answer {
        let checked = is_folder(self.disk, path).and_then(|is_folder| {
            Ok(if !is_folder {
                Some(RejectReason::Absent)
            } else if !is_data_root(self.disk, path)? {
                Some(RejectReason::NotADataRoot)
            } else {
                None
            })
        });
        match checked {
            Ok(None) => Ok((path.to_owned(), None)),
            Ok(Some(why)) => Err((path.to_owned(), why)),
            Err(error) => Err((path.to_owned(), error.into())),
        }
    }

    fn user(&self, path: &Path) -> io::Result<Option<RootAndUser>> {
        let has = |name| is_folder(self.disk, &path.join(name));
        let (Some(root), Some(handle)) = (path.parent(), path.file_name().and_then(|n| n.to_str()))
        else {
            return Ok(None);
        };
        let is_user = has("chats")? && has("worlds")?;
        Ok(is_user.then(|| (root.to_owned(), Some(handle.to_owned()))))
    }
}

/// A data root, and a user if one is meant.
type RootAndUser = (PathBuf, Option<String>);
/// Or the place that is none.
type Answer = Result<RootAndUser, (PathBuf, RejectReason)>;

fn is_install(disk: &dyn Disk, path: &Path) -> bool {
    let server = disk.stat(&path.join("server.js"));
    let public = is_folder(disk, &path.join("public"));
    matches!(server, Ok(Some(look)) if look.kind == FileType::File) && matches!(public, Ok(true))
}

fn is_data_root(disk: &dyn Disk, path: &Path) -> io::Result<bool> {
    if is_folder(disk, &path.join("_storage"))? {
        return Ok(true);
    }
    for name in disk.list(path)? {
        // What cannot be looked at is not what makes this a data root.
        if has_chats_or_books(disk, &path.join(name)).unwrap_or(false) {
            return Ok(true);
        }
    }
    Ok(false)
}

impl fmt::Display for RootSource {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            RootSource::Flag => "given",
            RootSource::ForkloreData => "FORKLORE_DATA",
            RootSource::SillyTavernDataRoot => "SILLYTAVERN_DATAROOT",
            RootSource::Install => "a SillyTavern installed there",
            RootSource::Global => "SillyTavern's place on this system",
            RootSource::WorkingFolder => "the working folder",
        })
    }
}

forklore_core::diagnostics!(RootError {
    Self { looked } => (
        "no-data-folder",
        looked: looked.iter().map(|looked| shown(&looked.path)).collect::<Vec<_>>(),
    ),
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::RealDisk;
    use crate::locate::environment::Os;
    use std::fs;

    struct Scene {
        folder: tempfile::TempDir,
        around: Environment,
    }

    /// Folders end with `/`; a file may say what is in it after `=`.
    fn scene(paths: &[&str]) -> Scene {
        let folder = tempfile::tempdir().unwrap();
        for path in paths {
            let (path, content) = path.split_once('=').unwrap_or((path, ""));
            let full = folder.path().join(path);
            if path.ends_with('/') {
                fs::create_dir_all(full).unwrap();
            } else {
                fs::create_dir_all(full.parent().unwrap()).unwrap();
                fs::write(full, content).unwrap();
            }
        }
        fs::create_dir_all(folder.path().join("here")).unwrap();
        let around = Environment {
            working_folder: folder.path().join("here"),
            home: Some(folder.path().join("home")),
            ..Environment::new(None, PathBuf::new(), Os::Linux, |_| None)
        };
        Scene { folder, around }
    }

    impl Scene {
        fn with(mut self, change: impl FnOnce(&mut Environment, &Path)) -> Self {
            change(&mut self.around, self.folder.path());
            self
        }

        #[track_caller]
        fn check(&self, root: &str, handle: Option<&str>, how: RootSource) {
            let found = find_root(&RealDisk, &self.around).unwrap();
            let root = self.folder.path().join(root);
            assert_eq!(fs::canonicalize(&found.root).unwrap(), fs::canonicalize(root).unwrap());
            assert_eq!((found.handle.as_deref(), found.how), (handle, how));
        }

        #[track_caller]
        fn check_not_found(&self, places: &[(&str, RootSource)]) {
            let error = find_root(&RealDisk, &self.around).unwrap_err();
            let looked: Vec<_> = error.looked.iter().map(|each| (&*each.path, each.how)).collect();
            let places: Vec<_> =
                places.iter().map(|(path, how)| (self.folder.path().join(path), *how)).collect();
            assert_eq!(
                looked,
                places.iter().map(|(path, how)| (&**path, *how)).collect::<Vec<_>>()
            );
        }
    }

    const EVERYWHERE: &[&str] = &[
        "flag/default-user/chats/",
        "forklore/default-user/chats/",
        "obeyed/default-user/chats/",
        "server.js",
        "public/",
        "config.yaml=dataRoot: ./configured",
        "configured/default-user/chats/",
        "home/.local/share/SillyTavern/data/_storage/",
        "here/data/default-user/chats/",
    ];

    #[test]
    fn places_have_an_order() {
        let all = scene(EVERYWHERE).with(|around, folder| {
            around.flag = Some(folder.join("flag"));
            around.forklore_data = Some(folder.join("forklore"));
            around.sillytavern_dataroot = Some(folder.join("obeyed"));
        });
        all.check("flag", None, RootSource::Flag);
        let all = all.with(|around, _| around.flag = None);
        all.check("forklore", None, RootSource::ForkloreData);
        let all = all.with(|around, _| around.forklore_data = None);
        all.check("obeyed", None, RootSource::SillyTavernDataRoot);
        let all = all.with(|around, _| around.sillytavern_dataroot = None);
        all.check("configured", None, RootSource::Install);
        fs::remove_file(all.folder.path().join("server.js")).unwrap();
        all.check("home/.local/share/SillyTavern/data", None, RootSource::Global);
        let all = all.with(|around, _| around.home = None);
        all.check("here/data", None, RootSource::WorkingFolder);
    }

    #[test]
    fn what_was_given_is_not_replaced_by_something_else() {
        for name in ["absent", "empty", "here/../empty"] {
            let wrong = scene(&[EVERYWHERE, &["empty/"]].concat())
                .with(|around, folder| around.flag = Some(folder.join(name)));
            let error = find_root(&RealDisk, &wrong.around).unwrap_err();
            assert_eq!(error.looked.len(), 1);
            assert_eq!(error.looked[0].how, RootSource::Flag);
        }
        scene(EVERYWHERE)
            .with(|around, _| around.forklore_data = Some("absent".into()))
            .check_not_found(&[("here/absent", RootSource::ForkloreData)]);
        scene(EVERYWHERE)
            .with(|around, folder| around.sillytavern_dataroot = Some(folder.join("absent")))
            .check_not_found(&[("absent", RootSource::SillyTavernDataRoot)]);
    }

    #[test]
    fn a_path_given_may_be_an_install_or_a_user() {
        let scene = scene(&[
            "st/server.js",
            "st/public/",
            "st/config.yaml=dataRoot: \"../kept\"",
            "kept/anna/chats/",
            "kept/anna/worlds/",
            "plain/server.js",
            "plain/public/",
            "plain/data/_storage/",
            "volumes/data/_storage/",
            "volumes/config/config.yaml",
            "odd/chats/chats/",
        ]);
        let cases = [
            ("st", "kept", None),
            ("kept", "kept", None),
            ("kept/anna", "kept", Some("anna")),
            ("kept/anna/.", "kept", Some("anna")),
            ("kept/anna/chats/..", "kept", Some("anna")),
            ("plain", "plain/data", None),
            ("volumes", "volumes/data", None),
            // A user may be called `chats`.
            ("odd", "odd", None),
        ];
        let mut scene = scene;
        for (given, root, handle) in cases {
            scene = scene.with(|around, folder| around.flag = Some(folder.join(given)));
            scene.check(root, handle, RootSource::Flag);
        }
        // Relative to where the user is.
        scene.with(|around, _| around.flag = Some("../kept".into())).check(
            "kept",
            None,
            RootSource::Flag,
        );
    }

    #[test]
    fn sillytavern_takes_a_relative_path_from_its_own_folder() {
        let install = ["server.js", "public/", "mine/_storage/", "here/mine/_storage/"];
        scene(&install)
            .with(|around, _| around.sillytavern_dataroot = Some("./mine".into()))
            .check("mine", None, RootSource::SillyTavernDataRoot);
        scene(&["here/mine/_storage/"])
            .with(|around, _| around.sillytavern_dataroot = Some("./mine".into()))
            .check("here/mine", None, RootSource::SillyTavernDataRoot);
    }

    #[test]
    fn an_install_is_found_from_inside_it_and_at_home() {
        let st = ["st/server.js", "st/public/", "st/data/me/chats/", "st/data/me/worlds/"];
        for here in ["st", "st/data", "st/data/me", "st/data/me/chats"] {
            scene(&st).with(|around, folder| around.working_folder = folder.join(here)).check(
                "st/data",
                None,
                RootSource::Install,
            );
        }
        scene(&[
            "home/SillyTavern/server.js",
            "home/SillyTavern/public/",
            "home/SillyTavern/data/_storage/",
        ])
        .check("home/SillyTavern/data", None, RootSource::Install);
    }

    #[test]
    fn a_config_that_is_not_understood_ends_the_search() {
        let paths = [EVERYWHERE, &["config.yaml=dataRoot: *elsewhere"]].concat();
        scene(&paths).check_not_found(&[("config.yaml", RootSource::Install)]);
    }

    #[test]
    fn every_place_looked_at_is_told() {
        scene(&["server.js", "public/", "data/"]).check_not_found(&[
            ("data", RootSource::Install),
            ("home/.local/share/SillyTavern/data", RootSource::Global),
            ("here/data", RootSource::WorkingFolder),
        ]);
    }
}
