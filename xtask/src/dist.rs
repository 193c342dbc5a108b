//! Builds npm packages of the command for every system that this machine can build for, with
//! checksums.
//!
//! There is a small main package with a launcher, and one package for each system. npm installs the
//! one that fits. The packages have no install scripts.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use clap::Args;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

#[derive(Args)]
pub(crate) struct DistArgs {
    /// Only for these; of what Rust calls them (default: all that this machine can build for)
    #[arg(long, value_name = "TARGET")]
    target: Vec<String>,

    /// Take commands that were built elsewhere, from folders named after the targets
    #[arg(long, value_name = "DIR")]
    built: Option<PathBuf>,

    /// Where the sources are, for npm to show
    #[arg(long, value_name = "URL")]
    repository: Option<String>,

    #[arg(long, value_name = "DIR", default_value = "target/dist-packages")]
    folder: PathBuf,
}

struct System {
    target: &'static str,
    /// As npm and node call them.
    os: &'static [&'static str],
    cpu: &'static str,
    /// The linker, if it is not the default one.
    linker: Option<&'static str>,
}

/// The musl builds run on every Linux, and on Android under Termux.
const SYSTEMS: [System; 5] = [
    System {
        target: "x86_64-unknown-linux-musl",
        os: &["linux", "android"],
        cpu: "x64",
        linker: Some("rust-lld"),
    },
    System {
        target: "aarch64-unknown-linux-musl",
        os: &["linux", "android"],
        cpu: "arm64",
        linker: Some("rust-lld"),
    },
    System { target: "x86_64-pc-windows-gnu", os: &["win32"], cpu: "x64", linker: None },
    System { target: "aarch64-apple-darwin", os: &["darwin"], cpu: "arm64", linker: None },
    System { target: "x86_64-apple-darwin", os: &["darwin"], cpu: "x64", linker: None },
];

const LAUNCHER: &str = include_str!("../npm/launcher.js");
const VERSION: &str = env!("CARGO_PKG_VERSION");

impl System {
    fn package(&self) -> String {
        format!("@forklore/{}-{}", self.os[0], self.cpu)
    }

    fn program(&self) -> &'static str {
        if self.os[0] == "win32" { "forklore.exe" } else { "forklore" }
    }

    /// Only a Mac can build for macOS, and it builds for nothing else.
    fn can_be_built_here(&self) -> bool {
        cfg!(target_os = "macos") == (self.os[0] == "darwin")
    }

    fn build(&self) -> Result<PathBuf> {
        let mut cargo = Command::new("cargo");
        cargo.args(["build", "--profile", "dist", "--locked", "--package", "forklore"]);
        cargo.args(["--target", self.target]);
        if let Some(linker) = self.linker {
            let name = self.target.to_uppercase().replace('-', "_");
            cargo.env(format!("CARGO_TARGET_{name}_LINKER"), linker);
        }
        ensure!(cargo.status()?.success(), "could not build for {}", self.target);
        Ok(PathBuf::from("target").join(self.target).join("dist").join(self.program()))
    }
}

pub(crate) fn run(args: &DistArgs) -> Result<()> {
    let is_wanted = |system: &&System| match (&args.built, args.target.is_empty()) {
        (Some(built), _) => built.join(system.target).is_dir(),
        (None, true) => system.can_be_built_here(),
        (None, false) => args.target.iter().any(|target| target == system.target),
    };
    let systems: Vec<&System> = SYSTEMS.iter().filter(is_wanted).collect();
    ensure!(!systems.is_empty(), "there is nothing to build");
    let folder = &args.folder;
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    fs::create_dir_all(folder)?;
    let mut sums = String::new();
    for system in &systems {
        let program = match &args.built {
            Some(built) => built.join(system.target).join(system.program()),
            None => system.build()?,
        };
        let bytes = fs::read(&program).with_context(|| program.display().to_string())?;
        let package = folder.join(system.package());
        fs::create_dir_all(&package)?;
        let place = package.join(system.program());
        fs::copy(&program, &place)?;
        make_executable(&place)?;
        write_json(&package, package_json(system), args)?;
        fs::copy("LICENSE", package.join("LICENSE"))?;
        println!("{}: {} KB", system.target, bytes.len() / 1000);
    }
    let main = folder.join("forklore");
    fs::create_dir_all(&main)?;
    fs::write(main.join("launcher.js"), LAUNCHER)?;
    write_json(&main, main_json(), args)?;
    for document in ["LICENSE", "README.md"] {
        fs::copy(document, main.join(document))?;
    }
    let packages = systems.iter().map(|system| system.package());
    for package in packages.chain(["forklore".to_owned()]) {
        let tarball = pack(folder, &package)?;
        let bytes = fs::read(folder.join(&tarball))?;
        writeln!(sums, "{:x}  {tarball}", Sha256::digest(&bytes))?;
        println!("{tarball}: {} KB", bytes.len() / 1000);
    }
    fs::write(folder.join("SHA256SUMS"), sums)?;
    Ok(())
}

/// Packs a package and returns the file name that npm gives it.
fn pack(folder: &Path, package: &str) -> Result<String> {
    let output = Command::new("npm")
        .args(["pack", "--ignore-scripts", "--pack-destination", "."])
        .arg(format!("./{package}"))
        .current_dir(folder)
        .output()
        .context("npm is needed")?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(format!("{}-{VERSION}.tgz", package.trim_start_matches('@').replace('/', "-")))
}

fn common(name: &str, description: &str) -> Value {
    json!({
        "name": name,
        "version": VERSION,
        "description": description,
        "license": "AGPL-3.0-only",
        "keywords": ["sillytavern", "lorebook", "branch", "checkpoint", "history", "backup"],
    })
}

fn main_json() -> Value {
    let mut json = common(
        "forklore",
        "Fork the story, and its lore comes along: timelines and a history for SillyTavern",
    );
    let all = SYSTEMS.iter().map(|system| (system.package(), Value::from(VERSION)));
    json["bin"] = json!({ "forklore": "launcher.js" });
    json["files"] = json!(["launcher.js"]);
    json["engines"] = json!({ "node": ">=18" });
    json["optionalDependencies"] = Value::Object(all.collect());
    json
}

fn package_json(system: &System) -> Value {
    let mut json =
        common(&system.package(), &format!("The command forklore for {}", system.target));
    json["os"] = json!(system.os);
    json["cpu"] = json!([system.cpu]);
    json["files"] = json!([system.program()]);
    json["preferUnplugged"] = Value::Bool(true);
    json
}

fn write_json(folder: &Path, mut value: Value, args: &DistArgs) -> Result<()> {
    if let Some(url) = &args.repository {
        value["repository"] = json!({ "type": "git", "url": url });
    }
    let text = serde_json::to_string_pretty(&value)? + "\n";
    Ok(fs::write(folder.join("package.json"), text)?)
}

#[cfg(unix)]
fn make_executable(path: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    Ok(fs::set_permissions(path, fs::Permissions::from_mode(0o755))?)
}

#[cfg(not(unix))]
fn make_executable(_: &Path) -> Result<()> {
    Ok(())
}
