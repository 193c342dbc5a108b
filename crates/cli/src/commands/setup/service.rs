//! `forklore service`: has the system start `forklore watch` automatically.

use std::path::{Path, PathBuf};
use std::process::Command;

use forklore_tavern::disk::is_android;
use forklore_tavern::disk::{Disk, RealDisk};
use forklore_tavern::locate::root::find_root;

use crate::Context;
use crate::args::{Cli, ServiceCommand};
use crate::commands::{Histories, Outcome};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::json::{self, Json};
use crate::objection::Objection;
use crate::text::{Line, quoted};
use crate::ui::Ui;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum System {
    Systemd,
    Windows,
    Mac,
    Termux,
}

/// The command to start.
struct WatchCommand {
    program: PathBuf,
    data: PathBuf,
    histories: PathBuf,
    user: Option<String>,
}

/// The file to write and the commands to run.
#[derive(Debug, Default)]
struct ServicePlan {
    file: Option<(PathBuf, String)>,
    install: Vec<Vec<String>>,
    status: Vec<String>,
    remove: Vec<Vec<String>>,
}

pub(crate) fn run(
    ui: &mut Ui<'_>,
    context: &Context<'_>,
    cli: &Cli,
    histories: &Histories,
    command: &ServiceCommand,
) -> Outcome {
    let environment = context.environment.clone().given(cli.data.as_deref());
    let root = find_root(context.disk, &environment)?.root;
    let program = std::env::current_exe().map_err(|error| {
        let path = PathBuf::from("forklore");
        CommandError::new(Objection::NotRead { path, error })
    })?;
    let watch = WatchCommand {
        histories: histories.folder_for(&root),
        data: root,
        user: cli.user.clone(),
        program,
    };
    let home = environment.home.clone().unwrap_or_default();
    let system = System::here();
    let plan = plan(system, &home, &watch);
    match command {
        ServiceCommand::Install { yes } => {
            if watch.program.components().any(|part| part.as_os_str() == "_npx") {
                ui.note("This forklore was started by npx, and npm may remove it: run `npm install -g forklore` first.");
            }
            show(ui, &plan.file, &plan.install);
            if !*yes && !confirm(ui)? {
                return Ok(Exit::Failed);
            }
            if let Some((path, text)) = &plan.file {
                write(context.disk, path, text)?;
            }
            if let Err(error) = call_all(&plan.install) {
                // Do not leave a file behind that the system rejected.
                if let Some((path, _)) = &plan.file {
                    let _ = context.disk.remove(path);
                }
                return Err(error);
            }
            ui.say("Installed. `forklore doctor` shows whether everything is being recorded.");
            answer(ui, &plan, true);
            Ok(Exit::Fine)
        }
        ServiceCommand::Status => {
            let is_there = is_installed(&plan);
            ui.say(if is_there { "It is installed." } else { "It is not installed." });
            answer(ui, &plan, is_there);
            Ok(Exit::found_if(!is_there))
        }
        ServiceCommand::Remove { yes } => {
            for command in &plan.remove {
                ui.say(format!("Run     {}", command.join(" ")));
            }
            if let Some((path, _)) = &plan.file {
                ui.say(format!("Remove  {}", path.display()));
            }
            if !*yes && !confirm(ui)? {
                return Ok(Exit::Failed);
            }
            // Stopping fails if it is not running, which is fine.
            let _ = call_all(&plan.remove);
            if let Some((path, _)) = &plan.file
                && RealDisk.stat(path).is_ok_and(|stat| stat.is_some())
            {
                let removed = RealDisk.remove(path);
                removed.map_err(|error| not_written(path, error))?;
            }
            ui.say("Removed. The history stays as it is.");
            answer(ui, &plan, false);
            Ok(Exit::Fine)
        }
    }
}

impl System {
    fn here() -> Self {
        match std::env::consts::OS {
            "windows" => Self::Windows,
            "macos" => Self::Mac,
            _ if is_android() => Self::Termux,
            _ => Self::Systemd,
        }
    }
}

impl WatchCommand {
    fn args(&self) -> Vec<String> {
        let path = |path: &Path| path.display().to_string();
        let mut words = vec![path(&self.program), "--data".to_owned(), path(&self.data)];
        words.extend(["--history".to_owned(), path(&self.histories)]);
        match &self.user {
            Some(user) => words.extend(["--user", user, "watch", "--quiet"].map(str::to_owned)),
            None => words.extend(["watch", "--quiet", "--all-users"].map(str::to_owned)),
        }
        words
    }
}

fn plan(system: System, home: &Path, watch: &WatchCommand) -> ServicePlan {
    let commands = |lines: &[&[&str]]| -> Vec<Vec<String>> {
        lines.iter().map(|line| line.iter().map(|word| (*word).to_owned()).collect()).collect()
    };
    let words = watch.args();
    match system {
        System::Systemd => {
            // Escapes characters that are special in a systemd unit.
            let quote = |word: &String| {
                format!(
                    "\"{}\"",
                    word.replace('\\', "\\\\")
                        .replace('"', "\\\"")
                        .replace('%', "%%")
                        .replace('$', "$$")
                )
            };
            let line: Vec<String> = words.iter().map(quote).collect();
            let text = format!(
                "[Unit]\nDescription=Forklore: a history of SillyTavern's chats and lorebooks\n\n\
                 [Service]\nExecStart={}\nRestart=on-failure\nRestartSec=10\n\n\
                 [Install]\nWantedBy=default.target\n",
                line.join(" ")
            );
            let ctl = ["systemctl", "--user"];
            ServicePlan {
                file: Some((home.join(".config/systemd/user/forklore.service"), text)),
                install: commands(&[
                    &[ctl[0], ctl[1], "daemon-reload"],
                    &[ctl[0], ctl[1], "enable", "--now", "forklore.service"],
                ]),
                status: Vec::new(),
                remove: commands(&[&[ctl[0], ctl[1], "disable", "--now", "forklore.service"]]),
            }
        }
        System::Windows => {
            // Runs without a console window.
            let line: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
            let line = format!("conhost.exe --headless {}", line.join(" "));
            let name = ["/TN", "Forklore"];
            ServicePlan {
                file: None,
                install: commands(&[
                    &[
                        "schtasks", "/Create", name[0], name[1], "/SC", "ONLOGON", "/TR", &line,
                        "/F",
                    ],
                    &["schtasks", "/Run", name[0], name[1]],
                ]),
                status: commands(&[&["schtasks", "/Query", name[0], name[1]]]).remove(0),
                remove: commands(&[
                    &["schtasks", "/End", name[0], name[1]],
                    &["schtasks", "/Delete", name[0], name[1], "/F"],
                ]),
            }
        }
        System::Mac => {
            let escape = |word: &String| {
                word.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
            };
            let line: String = words
                .iter()
                .map(|word| format!("        <string>{}</string>\n", escape(word)))
                .collect();
            let text = format!(
                "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
                 <!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">\n\
                 <plist version=\"1.0\">\n<dict>\n    <key>Label</key>\n    <string>forklore</string>\n    \
                 <key>ProgramArguments</key>\n    <array>\n{line}    </array>\n    <key>RunAtLoad</key>\n    <true/>\n    \
                 <key>KeepAlive</key>\n    <dict>\n        <key>SuccessfulExit</key>\n        <false/>\n    </dict>\n</dict>\n</plist>\n"
            );
            let path = home.join("Library/LaunchAgents/forklore.plist");
            let shown = path.display().to_string();
            ServicePlan {
                install: commands(&[&["launchctl", "load", "-w", &shown]]),
                status: Vec::new(),
                remove: commands(&[&["launchctl", "unload", "-w", &shown]]),
                file: Some((path, text)),
            }
        }
        System::Termux => {
            let line: Vec<String> = words.iter().map(|word| quoted(word)).collect();
            let text = format!(
                "#!/data/data/com.termux/files/usr/bin/sh\ntermux-wake-lock\nexec {}\n",
                line.join(" ")
            );
            ServicePlan {
                file: Some((home.join(".termux/boot/forklore.sh"), text)),
                ..ServicePlan::default()
            }
        }
    }
}

fn show(ui: &mut Ui<'_>, file: &Option<(PathBuf, String)>, commands: &[Vec<String>]) {
    if let Some((path, text)) = file {
        ui.say(Line::new().plain("Write  ").bold(path.display().to_string()));
        for line in text.lines() {
            ui.say(format!("    {line}"));
        }
    }
    for command in commands {
        ui.say(Line::new().plain("Run    ").bold(command.join(" ")));
    }
}

fn confirm(ui: &mut Ui<'_>) -> Result<bool, CommandError> {
    if !ui.can_ask() {
        let undone = "nothing was changed";
        return Err(
            CommandError::new(Objection::NobodyToAsk { undone }).hinted("Use --yes to confirm.")
        );
    }
    Ok(ui.confirm("Continue?"))
}

fn answer(ui: &mut Ui<'_>, plan: &ServicePlan, is_installed: bool) {
    let file = plan.file.as_ref().map(|(path, _)| path.display().to_string());
    let members =
        [("installed", Json::from(is_installed)), ("file", file.map_or(Json::Null, Json::from))];
    ui.answer(&json::answer("service", members));
}

fn is_installed(plan: &ServicePlan) -> bool {
    match &plan.file {
        Some((path, _)) => RealDisk.stat(path).is_ok_and(|stat| stat.is_some()),
        None => call(&plan.status).is_ok(),
    }
}

fn write(disk: &dyn Disk, path: &Path, text: &str) -> Result<(), CommandError> {
    let folder = path.parent().unwrap_or(path);
    let is_there = disk.stat(path).is_ok_and(|stat| stat.is_some());
    let written = disk.make_dirs(folder).and_then(|()| match is_there {
        true => disk.remove(path),
        false => Ok(()),
    });
    written
        .and_then(|()| disk.write_new(path, None, &[text.as_bytes()]))
        .and_then(|()| make_executable(path))
        .map_err(|error| not_written(path, error))
}

fn not_written(path: &Path, error: std::io::Error) -> CommandError {
    CommandError::new(Objection::NotWritten { path: path.to_owned(), error })
}

/// Termux:Boot executes the file directly.
#[cfg(unix)]
fn make_executable(path: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o700))
}

#[cfg(not(unix))]
fn make_executable(_: &Path) -> std::io::Result<()> {
    Ok(())
}

fn call_all(commands: &[Vec<String>]) -> Result<(), CommandError> {
    commands.iter().try_for_each(|command| call(command))
}

fn call(command: &[String]) -> Result<(), CommandError> {
    let failed = |said: String| {
        CommandError::new(Objection::SystemRefused { command: command.join(" "), said })
            .hinted("Instead, you can start SillyTavern with `forklore run -- node server.js`.")
    };
    let output = Command::new(&command[0]).args(&command[1..]).output();
    let output = output.map_err(|error| failed(error.to_string()))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(failed(String::from_utf8_lossy(&output.stderr).trim().to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watch() -> WatchCommand {
        WatchCommand {
            program: "/opt/fork lore/forklore".into(),
            data: "/srv/50% \"odd\" & <data>".into(),
            histories: "/srv/data-history".into(),
            user: None,
        }
    }

    #[test]
    fn each_system_is_told_in_its_own_way() {
        let home = Path::new("/home/me");
        let mut told = String::new();
        for system in [System::Systemd, System::Windows, System::Mac, System::Termux] {
            let plan = plan(system, home, &watch());
            told += &format!("== {system:?}\n");
            if let Some((path, text)) = &plan.file {
                told += &format!("{}\n{text}", path.display());
            }
            for command in plan.install.iter().chain(&plan.remove) {
                told += &format!("$ {}\n", command.join(" "));
            }
        }
        insta::assert_snapshot!(told);
    }
}
