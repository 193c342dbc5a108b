//! Finds SillyTavern's data root.
//!
//! An explicitly given path is binding: if it is wrong, that is an error. Otherwise the search
//! tries the places where SillyTavern itself would look or write.

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
    /// The user, if the given path was a user's folder.
    pub handle: Option<String>,
    pub how: RootSource,
}

/// How a place was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RootSource {
    Flag,
    ForkloreData,
    SillyTavernDataRoot,
    /// A SillyTavern installed in a folder nearby.
    Install,
    /// Where SillyTavern stores its data when it is installed system-wide.
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
    #[error("it does not exist")]
    Absent,
    #[error("it holds no chats or lorebooks of any user")]
    NotADataRoot,
    #[error("its dataRoot could not be understood")]
    ConfigNotUnderstood,
    #[error("{0}")]
    Unreadable(#[from] io::Error),
}

/// Finds the data root.
///
/// A given path may also be SillyTavern's install folder or the folder of one user.
pub fn find_root(disk: &dyn Disk, environment: &Environment) -> Result<FoundRoot, RootError> {
    let mut search = Search { disk, environment, looked: Vec::new() };
    match search.run() {
        Some(found) => Ok(found),
        None => Err(RootError { looked: search.looked }),
    }
}

/// The folders in which a SillyTavern is installed: around the data root `root`, around the
/// working folder, at home, and in the same folder as one of these.
pub fn find_installs(disk: &dyn Disk, environment: &Environment, root: &Path) -> Vec<PathBuf> {
    let near: Vec<PathBuf> =
        root.parent().map(Path::to_owned).into_iter().chain(environment.installs()).collect();
    let beside = near
        .iter()
        .filter(|folder| is_install(disk, folder))
        .filter_map(|install| install.parent());
    let beside = beside.flat_map(|folder| {
        let names = disk.list(folder).unwrap_or_default();
        names.into_iter().map(|name| folder.join(name))
    });
    let mut installs: Vec<PathBuf> = Vec::new();
    for folder in near.iter().cloned().chain(beside) {
        if !installs.contains(&folder) && is_install(disk, &folder) {
            installs.push(folder);
        }
    }
    installs
}

struct Search<'a> {
    disk: &'a dyn Disk,
    environment: &'a Environment,
    looked: Vec<RejectedPlace>,
}

impl Search<'_> {
    fn run(&mut self) -> Option<FoundRoot> {
        let environment = self.environment;
        let given = [
            (&environment.flag, RootSource::Flag),
            (&environment.forklore_data, RootSource::ForkloreData),
        ];
        for (path, how) in given {
            if let Some(path) = path {
                return self.try_place(
                    &environment.working_folder.join(path),
                    how,
                    Search::read_given,
                );
            }
        }
        if let Some(path) = &environment.sillytavern_dataroot {
            return self.try_sillytavern_dataroot(path);
        }
        for install in environment.installs() {
            if !is_install(self.disk, &install) {
                continue;
            }
            if let Some(found) = self.try_place(&install, RootSource::Install, Search::read_install)
            {
                return Some(found);
            }
            // Continuing could lead to the data of another SillyTavern.
            if matches!(self.looked.last()?.why, RejectReason::ConfigNotUnderstood) {
                return None;
            }
        }
        if let Some(path) = environment.global()
            && let Some(found) = self.try_place(&path, RootSource::Global, Search::check_root)
        {
            return Some(found);
        }
        self.try_place(
            &environment.working_folder.join("data"),
            RootSource::WorkingFolder,
            Search::check_root,
        )
    }

    /// SillyTavern resolves a relative path against its own folder, wherever it was started.
    fn try_sillytavern_dataroot(&mut self, path: &Path) -> Option<FoundRoot> {
        let environment = self.environment;
        let installs = environment.installs().filter(|install| is_install(self.disk, install));
        let bases: Vec<_> = installs.chain([environment.working_folder.clone()]).collect();
        let mut places: Vec<_> = bases.iter().map(|base| base.join(path)).collect();
        places.dedup();
        places.iter().find_map(|place| {
            self.try_place(place, RootSource::SillyTavernDataRoot, Search::check_root)
        })
    }

    fn try_place(
        &mut self,
        path: &Path,
        how: RootSource,
        read: fn(&Self, &Path) -> Answer,
    ) -> Option<FoundRoot> {
        match self.normalise(path).and_then(|path| read(self, &path)) {
            Ok((root, handle)) => Some(FoundRoot { root, handle, how }),
            Err((path, why)) => {
                self.looked.push(RejectedPlace { path, how, why });
                None
            }
        }
    }

    /// Removes `..` from a path, so that its parent is the folder that contains it.
    fn normalise(&self, path: &Path) -> Result<PathBuf, (PathBuf, RejectReason)> {
        if path.components().any(|part| part == Component::ParentDir) {
            let real = self.disk.real_path(path).map_err(|error| match error.kind() {
                io::ErrorKind::NotFound => RejectReason::Absent,
                _ => error.into(),
            });
            return real.map_err(|why| (path.to_owned(), why));
        }
        Ok(path.components().collect())
    }

    fn read_given(&self, path: &Path) -> Answer {
        if is_install(self.disk, path) {
            return self.read_install(path);
        }
        if let Some(user) = self.user_at(path).map_err(|error| (path.to_owned(), error.into()))? {
            return Ok(user);
        }
        // The folder of a container's volumes contains `data`, but no server.
        let data = path.join("data");
        match (self.check_root(path), self.check_root(&data)) {
            (Ok(found), _) | (Err(_), Ok(found)) => Ok(found),
            (Err(why), Err(_)) => Err(why),
        }
    }

    fn read_install(&self, install: &Path) -> Answer {
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
        self.normalise(&root).and_then(|root| self.check_root(&root))
    }

    fn check_root(&self, path: &Path) -> Answer {
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

    fn user_at(&self, path: &Path) -> io::Result<Option<RootAndUser>> {
        let has = |name| is_folder(self.disk, &path.join(name));
        let (Some(root), Some(handle)) = (path.parent(), path.file_name().and_then(|n| n.to_str()))
        else {
            return Ok(None);
        };
        let is_user = has("chats")? && has("worlds")?;
        Ok(is_user.then(|| (root.to_owned(), Some(handle.to_owned()))))
    }
}

/// A data root, and a user if the path names one.
type RootAndUser = (PathBuf, Option<String>);
/// Or the rejected place and the reason.
type Answer = Result<RootAndUser, (PathBuf, RejectReason)>;

fn is_install(disk: &dyn Disk, path: &Path) -> bool {
    let server = disk.stat(&path.join("server.js"));
    let public = is_folder(disk, &path.join("public"));
    matches!(server, Ok(Some(stat)) if stat.kind == FileType::File) && matches!(public, Ok(true))
}

fn is_data_root(disk: &dyn Disk, path: &Path) -> io::Result<bool> {
    if is_folder(disk, &path.join("_storage"))? {
        return Ok(true);
    }
    let mut forbidden = None;
    for name in disk.list(path)? {
        let folder = path.join(name);
        match has_chats_or_books(disk, &folder) {
            Ok(true) => return Ok(true),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                forbidden =
                    Some(io::Error::new(error.kind(), format!("{}: {error}", shown(&folder))));
            }
            // Whatever else cannot be read is no evidence of a data root.
            Ok(false) | Err(_) => {}
        }
    }
    // Nobody knows what is in there.
    forbidden.map_or(Ok(false), Err)
}

impl fmt::Display for RootSource {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            RootSource::Flag => "given",
            RootSource::ForkloreData => "FORKLORE_DATA",
            RootSource::SillyTavernDataRoot => "SILLYTAVERN_DATAROOT",
            RootSource::Install => "a SillyTavern installed there",
            RootSource::Global => "SillyTavern's usual place on this system",
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
        environment: Environment,
    }

    /// Folders end with `/`; the content of a file may follow after `=`.
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
        let environment = Environment {
            working_folder: folder.path().join("here"),
            home: Some(folder.path().join("home")),
            ..Environment::new(None, PathBuf::new(), Os::Linux, |_| None)
        };
        Scene { folder, environment }
    }

    impl Scene {
        fn with(mut self, change: impl FnOnce(&mut Environment, &Path)) -> Self {
            change(&mut self.environment, self.folder.path());
            self
        }

        #[track_caller]
        fn check(&self, root: &str, handle: Option<&str>, how: RootSource) {
            let found = find_root(&RealDisk, &self.environment).unwrap();
            let root = self.folder.path().join(root);
            assert_eq!(fs::canonicalize(&found.root).unwrap(), fs::canonicalize(root).unwrap());
            assert_eq!((found.handle.as_deref(), found.how), (handle, how));
        }

        #[track_caller]
        fn check_not_found(&self, places: &[(&str, RootSource)]) {
            let error = find_root(&RealDisk, &self.environment).unwrap_err();
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
        let all = scene(EVERYWHERE).with(|environment, folder| {
            environment.flag = Some(folder.join("flag"));
            environment.forklore_data = Some(folder.join("forklore"));
            environment.sillytavern_dataroot = Some(folder.join("obeyed"));
        });
        all.check("flag", None, RootSource::Flag);
        let all = all.with(|environment, _| environment.flag = None);
        all.check("forklore", None, RootSource::ForkloreData);
        let all = all.with(|environment, _| environment.forklore_data = None);
        all.check("obeyed", None, RootSource::SillyTavernDataRoot);
        let all = all.with(|environment, _| environment.sillytavern_dataroot = None);
        all.check("configured", None, RootSource::Install);
        fs::remove_file(all.folder.path().join("server.js")).unwrap();
        all.check("home/.local/share/SillyTavern/data", None, RootSource::Global);
        let all = all.with(|environment, _| environment.home = None);
        all.check("here/data", None, RootSource::WorkingFolder);
    }

    #[test]
    fn what_was_given_is_not_replaced_by_something_else() {
        for name in ["absent", "empty", "here/../empty"] {
            let wrong = scene(&[EVERYWHERE, &["empty/"]].concat())
                .with(|environment, folder| environment.flag = Some(folder.join(name)));
            let error = find_root(&RealDisk, &wrong.environment).unwrap_err();
            assert_eq!(error.looked.len(), 1);
            assert_eq!(error.looked[0].how, RootSource::Flag);
        }
        scene(EVERYWHERE)
            .with(|environment, _| environment.forklore_data = Some("absent".into()))
            .check_not_found(&[("here/absent", RootSource::ForkloreData)]);
        scene(EVERYWHERE)
            .with(|environment, folder| {
                environment.sillytavern_dataroot = Some(folder.join("absent"))
            })
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
            scene = scene.with(|environment, folder| environment.flag = Some(folder.join(given)));
            scene.check(root, handle, RootSource::Flag);
        }
        // Relative to the working folder.
        scene.with(|environment, _| environment.flag = Some("../kept".into())).check(
            "kept",
            None,
            RootSource::Flag,
        );
    }

    #[test]
    fn sillytavern_takes_a_relative_path_from_its_own_folder() {
        let install = ["server.js", "public/", "mine/_storage/", "here/mine/_storage/"];
        scene(&install)
            .with(|environment, _| environment.sillytavern_dataroot = Some("./mine".into()))
            .check("mine", None, RootSource::SillyTavernDataRoot);
        scene(&["here/mine/_storage/"])
            .with(|environment, _| environment.sillytavern_dataroot = Some("./mine".into()))
            .check("here/mine", None, RootSource::SillyTavernDataRoot);
    }

    #[test]
    fn an_install_is_found_from_inside_it_and_at_home() {
        let st = ["st/server.js", "st/public/", "st/data/me/chats/", "st/data/me/worlds/"];
        for here in ["st", "st/data", "st/data/me", "st/data/me/chats"] {
            scene(&st)
                .with(|environment, folder| environment.working_folder = folder.join(here))
                .check("st/data", None, RootSource::Install);
        }
        scene(&[
            "home/SillyTavern/server.js",
            "home/SillyTavern/public/",
            "home/SillyTavern/data/_storage/",
        ])
        .check("home/SillyTavern/data", None, RootSource::Install);
    }

    #[test]
    fn installs_beside_one_another_are_found() {
        let scene = scene(&[
            "all/st/server.js",
            "all/st/public/",
            "all/st/data/_storage/",
            "all/staging/server.js",
            "all/staging/public/",
            "all/photos/",
            "elsewhere/st/server.js",
            "elsewhere/st/public/",
        ]);
        let folder = scene.folder.path();
        let mut found = find_installs(&RealDisk, &scene.environment, &folder.join("all/st/data"));
        assert_eq!(found[0], folder.join("all/st"));
        found.sort();
        assert_eq!(found, [folder.join("all/st"), folder.join("all/staging")]);
    }

    #[cfg(unix)]
    #[test]
    fn what_may_not_be_read_is_not_called_empty() {
        use std::os::unix::fs::PermissionsExt as _;
        let scene = scene(&["st/me/chats/"])
            .with(|environment, folder| environment.flag = Some(folder.join("st")));
        let user = scene.folder.path().join("st/me");
        fs::set_permissions(&user, fs::Permissions::from_mode(0o000)).unwrap();
        // Root may read everything.
        if fs::read_dir(&user).is_err() {
            let error = find_root(&RealDisk, &scene.environment).unwrap_err();
            assert!(matches!(error.looked[0].why, RejectReason::Unreadable(_)), "{error:?}");
        }
        fs::set_permissions(&user, fs::Permissions::from_mode(0o700)).unwrap();
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
