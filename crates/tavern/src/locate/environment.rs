//! The inputs of the search for the data root, as plain values, so that tests need no environment
//! variables.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Everything the search depends on, apart from the disk.
#[derive(Clone, Debug)]
pub struct Environment {
    /// The path given on the command line.
    pub flag: Option<PathBuf>,
    /// `FORKLORE_DATA`
    pub forklore_data: Option<PathBuf>,
    /// `FORKLORE_HISTORY`, the folder of all histories.
    pub forklore_history: Option<PathBuf>,
    /// `SILLYTAVERN_DATAROOT`, which SillyTavern itself honours too.
    pub sillytavern_dataroot: Option<PathBuf>,
    pub working_folder: PathBuf,
    pub home: Option<PathBuf>,
    /// `XDG_DATA_HOME`
    pub xdg_data_home: Option<PathBuf>,
    /// `LOCALAPPDATA`
    pub local_app_data: Option<PathBuf>,
    pub os: Os,
    /// The host name of this machine.
    pub host: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Os {
    /// Also stands for every other system.
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
    /// Reads the environment variables through `variable`.
    pub fn new(
        flag: Option<PathBuf>,
        working_folder: PathBuf,
        os: Os,
        variable: impl Fn(&str) -> Option<OsString>,
    ) -> Self {
        // Some shells unset a variable by setting it to nothing.
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
                .or_else(host_name)
                .unwrap_or_else(|| "this-machine".to_owned()),
        }
    }

    /// Overrides the command-line path if `data` is given.
    #[must_use]
    pub fn given(mut self, data: Option<&Path>) -> Self {
        if let Some(data) = data {
            self.flag = Some(data.to_owned());
        }
        self
    }

    /// The folders where SillyTavern may be installed.
    pub(crate) fn installs(&self) -> impl Iterator<Item = PathBuf> {
        let near = self.working_folder.ancestors().take(4).map(Path::to_owned);
        near.chain(self.home.as_ref().map(|home| home.join("SillyTavern")))
    }

    /// Where SillyTavern stores its data when it is installed system-wide.
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
fn host_name() -> Option<String> {
    let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    Some(name).filter(|name| !name.is_empty())
}

#[cfg(not(unix))]
fn host_name() -> Option<String> {
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
            let mut environment = Environment::new(None, "/".into(), os, variables);
            assert_eq!(environment.global().unwrap(), Path::new(expected));
            assert_eq!(environment.forklore_data, None);
            environment.xdg_data_home = Some("/xdg".into());
            if os == Os::Linux {
                assert_eq!(environment.global().unwrap(), Path::new("/xdg/SillyTavern/data"));
            }
        }
    }
}
