//! What the search for the data root depends on, as values: a test needs no
//! environment.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// All that the answer depends on, apart from the disk.
#[derive(Clone, Debug)]
pub struct Environment {
    /// What the command line says.
    pub flag: Option<PathBuf>,
    /// `FORKLORE_DATA`
    pub forklore_data: Option<PathBuf>,
    /// `FORKLORE_HISTORY`, the folder of all histories.
    pub forklore_history: Option<PathBuf>,
    /// `SILLYTAVERN_DATAROOT`, which SillyTavern obeys too.
    pub sillytavern_dataroot: Option<PathBuf>,
    pub working_folder: PathBuf,
    pub home: Option<PathBuf>,
    /// `XDG_DATA_HOME`
    pub xdg_data_home: Option<PathBuf>,
    /// `LOCALAPPDATA`
    pub local_app_data: Option<PathBuf>,
    pub os: Os,
    /// What people call this machine.
    pub host: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Os {
    /// And whatever else is not one of the others.
    Linux,
    MacOs,
    Windows,
}

impl Os {
    pub const CURRENT: Self = if cfg!(windows) {
        Self::Windows
    } else if cfg!(target_os = "macos") {
        Self::MacOs
    } else {
        Self::Linux
    };
}

impl Environment {
    /// Gathers them from a look-up of environment variables.
    pub fn new(
        flag: Option<PathBuf>,
        working_folder: PathBuf,
        os: Os,
        variable: impl Fn(&str) -> Option<OsString>,
    ) -> Self {
        // Set to nothing is how some shells unset.
        let path = |name| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        Self {
            flag,
            forklore_data: path("FORKLORE_DATA"),
            forklore_history: path("FORKLORE_HISTORY"),
            sillytavern_dataroot: path("SILLYTAVERN_DATAROOT"),
            working_folder,
            home: path(if os == Os::Windows { "USERPROFILE" } else { "HOME" }),
            xdg_data_home: path("XDG_DATA_HOME"),
            local_app_data: path("LOCALAPPDATA"),
            os,
            host: variable("COMPUTERNAME")
                .or_else(|| variable("HOSTNAME"))
                .map(|name| name.to_string_lossy().into_owned())
                .or_else(host)
                .unwrap_or_else(|| "this-machine".to_owned()),
        }
    }

    /// The same with a data folder that somebody typed, if anybody did.
    #[must_use]
    pub fn given(mut self, data: Option<&Path>) -> Self {
        if let Some(data) = data {
            self.flag = Some(data.to_owned());
        }
        self
    }

    /// Returns the folders that SillyTavern may be installed in.
    pub(crate) fn installs(&self) -> impl Iterator<Item = PathBuf> {
        let near = self.working_folder.ancestors().take(4).map(Path::to_owned);
        near.chain(self.home.as_ref().map(|home| home.join("SillyTavern")))
    }

    /// Returns where SillyTavern keeps its data when it is installed for the whole
    /// system.
    pub(crate) fn global(&self) -> Option<PathBuf> {
        let base = match self.os {
            Os::Linux => self
                .xdg_data_home
                .clone()
                .or_else(|| Some(self.home.as_ref()?.join(".local/share")))?
                .join("SillyTavern"),
            Os::MacOs => self.home.as_ref()?.join("Library/Application Support/SillyTavern"),
            Os::Windows => self.local_app_data.as_ref()?.join("SillyTavern").join("Data"),
        };
        Some(base.join("data"))
    }
}

#[cfg(unix)]
fn host() -> Option<String> {
    let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    Some(name).filter(|name| !name.is_empty())
}

#[cfg(not(unix))]
fn host() -> Option<String> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_system_has_its_own_place() {
        let variables = |name: &str| {
            let value = match name {
                "HOME" | "USERPROFILE" => "/home/me",
                "LOCALAPPDATA" => "/local",
                "FORKLORE_DATA" => "",
                _ => return None,
            };
            Some(OsString::from(value))
        };
        for (os, expected) in [
            (Os::Linux, "/home/me/.local/share/SillyTavern/data"),
            (Os::MacOs, "/home/me/Library/Application Support/SillyTavern/data"),
            (Os::Windows, "/local/SillyTavern/Data/data"),
        ] {
            let mut around = Environment::new(None, "/".into(), os, variables);
            assert_eq!(around.global().unwrap(), Path::new(expected));
            assert_eq!(around.forklore_data, None);
            around.xdg_data_home = Some("/xdg".into());
            if os == Os::Linux {
                assert_eq!(around.global().unwrap(), Path::new("/xdg/SillyTavern/data"));
            }
        }
    }
}
