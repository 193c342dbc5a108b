//! Man pages and completions, from the command's own definitions.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, ensure};

use crate::bench::forklore_binary;

pub(crate) fn write(folder: &Path) -> anyhow::Result<()> {
    let forklore = forklore_binary()?;
    fs::create_dir_all(folder)?;
    let page = |args: &[&str], name: &str| -> anyhow::Result<()> {
        let output =
            Command::new(&forklore).args(args).output().context("could not run forklore")?;
        ensure!(output.status.success(), "forklore {args:?} failed");
        Ok(fs::write(folder.join(name), output.stdout)?)
    };
    page(&["man"], "forklore.1")?;
    for command in <forklore::Cli as clap::CommandFactory>::command().get_subcommands() {
        let name = command.get_name();
        page(&["man", name], &format!("forklore-{name}.1"))?;
    }
    for (shell, name) in [
        ("bash", "forklore.bash"),
        ("zsh", "_forklore"),
        ("fish", "forklore.fish"),
        ("powershell", "_forklore.ps1"),
    ] {
        page(&["completions", shell], name)?;
    }
    println!("wrote pages to {}", folder.display());
    Ok(())
}
