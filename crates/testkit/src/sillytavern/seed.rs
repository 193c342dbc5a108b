//! Files that must be on disk before SillyTavern starts.

use std::fs;
use std::io;
use std::path::Path;

use serde_json::Value;

use super::install::Install;

/// Deviations from the default server of [`Server::start`](super::Server::start).
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    pub backups: Backups,
}

/// Whether every chat save also stores a copy in `backups/`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Backups {
    On,
    #[default]
    Off,
}

/// Prevents all traffic beyond loopback: no browser, no updates, no model downloads.
pub(super) fn config(port: u16, options: Options) -> String {
    let backups = options.backups == Backups::On;
    format!(
        "port: {port}
listen: false
browserLaunch: {{ enabled: false }}
whitelistDockerHosts: false
extensions: {{ enabled: true, autoUpdate: false, models: {{ autoDownload: false }} }}
enableDownloadableTokenizers: false
enableServerPluginsAutoUpdate: false
backups: {{ chat: {{ enabled: {backups} }} }}
logging: {{ enableAccessLog: false }}
skipContentCheck: true
"
    )
}

/// Adds the files that a first start would have copied and the API needs.
pub(super) fn data_root(data_root: &Path, install: &Install) -> io::Result<()> {
    let user = data_root.join("default-user");
    fs::create_dir_all(&user)?;
    if !user.join("settings.json").exists() {
        fs::write(user.join("settings.json"), settings(install)?)?;
    }
    share_webpack_cache(data_root, install)
}

/// The default settings, without the welcome dialog and without a backend that is contacted on
/// loading.
fn settings(install: &Install) -> io::Result<String> {
    let default = fs::read_to_string(install.folder.join("default/content/settings.json"))?;
    let mut settings: Value = serde_json::from_str(&default)?;
    settings["firstRun"] = Value::from(false);
    settings["main_api"] = Value::from("textgenerationwebui");
    settings["currentVersion"] = Value::from("SillyTavern:1.19.0:Cohee#1207");
    Ok(format!("{settings:#}"))
}

/// Outside a container, SillyTavern compiles into the data root, which takes half a minute for each
/// new one. Inside a container, it uses one folder of its install; this link does the same
/// everywhere.
fn share_webpack_cache(data_root: &Path, install: &Install) -> io::Result<()> {
    let link = data_root.join("_webpack");
    if link.symlink_metadata().is_ok() {
        return Ok(());
    }
    fs::create_dir_all(install.webpack_cache())?;
    std::os::unix::fs::symlink(install.webpack_cache(), link)
}
