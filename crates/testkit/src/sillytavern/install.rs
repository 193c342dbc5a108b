use std::path::{Path, PathBuf};

/// The folder that contains `server.js`.
pub(super) struct Install {
    pub(super) folder: PathBuf,
}

impl Install {
    /// Finds the SillyTavern to test against. Without one the test fails: skipped tests look green.
    pub(super) fn locate() -> Self {
        let folder = match std::env::var_os("FORKLORE_SILLYTAVERN") {
            Some(folder) => PathBuf::from(folder),
            None => workspace().join("target/sillytavern"),
        };
        let Ok(folder) = folder.canonicalize().and_then(|folder| {
            folder.join("server.js").metadata()?;
            folder.join("node_modules").metadata()?;
            Ok(folder)
        }) else {
            panic!(
                "no SillyTavern in {}: run `.ci/install-sillytavern`, or name a folder with its \
                 dependencies installed in FORKLORE_SILLYTAVERN",
                folder.display()
            );
        };
        Self { folder }
    }

    /// Where SillyTavern stores its compiled page libraries when it runs in a container.
    pub(super) fn webpack_cache(&self) -> PathBuf {
        self.folder.join("dist/_webpack")
    }
}

fn workspace() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .expect("the crate is two folders below the workspace")
}
