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
#[derive(Debug)]
struct ServicePlan {
    path: PathBuf,
    text: String,
    install: Vec<Vec<String>>,
    /// Succeeds if it is installed. If empty, the file says so.
    status: Vec<String>,
    /// Fails if it is not running or not installed.
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
    // It can be removed after SillyTavern has been.
    let root = match (find_root(context.disk, &environment), command) {
        (Ok(found), _) => found.root,
        (Err(error), ServiceCommand::Install { .. }) => return Err(error.into()),
        (Err(_), _) => PathBuf::new(),
    };
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
    let plan = plan(system, &home, account().as_deref(), &watch);
    match command {
        ServiceCommand::Install { yes } => {
            if watch.program.components().any(|part| part.as_os_str() == "_npx") {
                ui.note("This forklore was started by npx, and npm may remove it: run `npm install -g forklore` first.");
            }
            // What runs now would continue with the folders that it was started with.
            let earlier = if is_installed(&plan) { plan.remove.as_slice() } else { &[] };
            for command in earlier {
                ui.say(Line::new().plain("Run    ").bold(command.join(" ")));
            }
            show(ui, &plan);
            if !*yes && !confirm(ui)? {
                return Ok(Exit::Failed);
            }
            let _ = call_each(earlier);
            write(context.disk, &plan.path, &bytes_for(system, &plan.text))?;
            if let Err(error) = plan.install.iter().try_for_each(|command| call(command)) {
                // Do not leave anything behind that the system rejected.
                let _ = call_each(&plan.remove);
                let _ = context.disk.remove(&plan.path);
                return Err(error);
            }
            ui.say("Installed. `forklore doctor` shows whether everything is being recorded.");
            if plan.install.is_empty() {
                ui.say("Termux:Boot starts it when the phone starts; until then, run `forklore watch`.");
            }
            answer(ui, &plan, true);
            Ok(Exit::Fine)
        }
        ServiceCommand::Status => {
            let is_there = is_installed(&plan);
            ui.say(if is_there { "It is installed." } else { "It is not installed." });
            answer(ui, &plan, is_there);
            Ok(Exit::found_if(!is_there))
        }
        ServiceCommand::Remove { .. } if !is_installed(&plan) && !is_there(&plan.path) => {
            ui.say("It is not installed.");
            answer(ui, &plan, false);
            Ok(Exit::Fine)
        }
        ServiceCommand::Remove { yes } => {
            for command in &plan.remove {
                ui.say(format!("Run     {}", command.join(" ")));
            }
            ui.say(format!("Remove  {}", plan.path.display()));
            if !*yes && !confirm(ui)? {
                return Ok(Exit::Failed);
            }
            let was_installed = is_installed(&plan);
            let called = call_each(&plan.remove);
            if is_there(&plan.path) {
                let removed = RealDisk.remove(&plan.path);
                removed.map_err(|error| not_written(&plan.path, error))?;
            }
            // Windows also refuses to end what does not run; there it matters whether it is gone.
            if was_installed && (plan.status.is_empty() || is_installed(&plan)) {
                called?;
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

/// Who is logged in, as Windows names accounts.
fn account() -> Option<String> {
    let name = std::env::var("USERNAME").ok()?;
    Some(match std::env::var("USERDOMAIN") {
        Ok(domain) => format!("{domain}\\{name}"),
        Err(_) => name,
    })
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

fn plan(system: System, home: &Path, account: Option<&str>, watch: &WatchCommand) -> ServicePlan {
    let commands = |lines: &[&[&str]]| -> Vec<Vec<String>> {
        lines.iter().map(|line| line.iter().map(|word| (*word).to_owned()).collect()).collect()
    };
    let words = watch.args();
    match system {
        System::Systemd => {
            // Escapes characters that are special in a systemd unit.
            let quote = |word: &str| {
                let word = word.replace('\\', "\\\\").replace('"', "\\\"");
                format!("\"{}\"", word.replace('%', "%%").replace('$', "$$"))
            };
            let mut line: Vec<String> = words.iter().map(|word| quote(word)).collect();
            // It allows them in arguments, but not in the path of the program.
            if words[0].contains(['\\', '"', '\'', '$']) {
                line.splice(0..0, ["/bin/sh", "-c", "exec \"$@\"", "sh"].map(quote));
            }
            let text = format!(
                "[Unit]\nDescription=Forklore: a history of SillyTavern's chats and lorebooks\n\n\
                 [Service]\nExecStart={}\nRestart=on-failure\nRestartSec=10\n\n\
                 [Install]\nWantedBy=default.target\n",
                line.join(" ")
            );
            let ctl = ["systemctl", "--user"];
            ServicePlan {
                path: home.join(".config/systemd/user/forklore.service"),
                text,
                install: commands(&[
                    &[ctl[0], ctl[1], "daemon-reload"],
                    &[ctl[0], ctl[1], "enable", "--now", "forklore.service"],
                ]),
                status: Vec::new(),
                remove: commands(&[&[ctl[0], ctl[1], "disable", "--now", "forklore.service"]]),
            }
        }
        System::Windows => {
            let name = ["/TN", "Forklore"];
            let path = ["AppData", "Local", "Forklore", "task.xml"];
            let path = home.join(path.iter().collect::<PathBuf>());
            let shown = path.display().to_string();
            ServicePlan {
                text: task(account, &words),
                install: commands(&[
                    &["schtasks", "/Create", name[0], name[1], "/XML", &shown, "/F"],
                    &["schtasks", "/Run", name[0], name[1]],
                ]),
                status: commands(&[&["schtasks", "/Query", name[0], name[1]]]).remove(0),
                remove: commands(&[
                    &["schtasks", "/End", name[0], name[1]],
                    &["schtasks", "/Delete", name[0], name[1], "/F"],
                ]),
                path,
            }
        }
        System::Mac => {
            let line: String = words
                .iter()
                .map(|word| format!("        <string>{}</string>\n", escaped(word)))
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
                path,
                text,
            }
        }
        System::Termux => {
            let line: Vec<String> = words.iter().map(|word| quoted(word)).collect();
            let text = format!(
                "#!/data/data/com.termux/files/usr/bin/sh\ntermux-wake-lock\nexec {}\n",
                line.join(" ")
            );
            ServicePlan {
                path: home.join(".termux/boot/forklore.sh"),
                text,
                install: Vec::new(),
                status: Vec::new(),
                remove: Vec::new(),
            }
        }
    }
}

/// A task for Windows' Task Scheduler. Anybody may start one at their own login, but only an
/// administrator at everybody's, which is what `schtasks /SC ONLOGON` asks for. Without these
/// settings, Windows would end it after three days and not start it on batteries.
fn task(account: Option<&str>, words: &[String]) -> String {
    let user = account.map_or_else(String::new, |account| {
        format!("\n      <UserId>{}</UserId>", escaped(account))
    });
    // A backslash before the closing quote would escape it. Names on Windows contain no quotes.
    let quote = |word: &String| match word.ends_with('\\') {
        true => format!("\"{word}\\\""),
        false => format!("\"{word}\""),
    };
    let line: Vec<String> = words.iter().map(quote).collect();
    // Without a console window.
    let line = escaped(&format!("--headless {}", line.join(" ")));
    format!(
        r#"<?xml version="1.0" encoding="UTF-16"?>
<Task version="1.2" xmlns="http://schemas.microsoft.com/windows/2004/02/mit/task">
  <Triggers>
    <LogonTrigger>{user}
    </LogonTrigger>
  </Triggers>
  <Principals>
    <Principal id="Author">{user}
      <LogonType>InteractiveToken</LogonType>
      <RunLevel>LeastPrivilege</RunLevel>
    </Principal>
  </Principals>
  <Settings>
    <MultipleInstancesPolicy>IgnoreNew</MultipleInstancesPolicy>
    <DisallowStartIfOnBatteries>false</DisallowStartIfOnBatteries>
    <StopIfGoingOnBatteries>false</StopIfGoingOnBatteries>
    <ExecutionTimeLimit>PT0S</ExecutionTimeLimit>
    <RestartOnFailure>
      <Interval>PT1M</Interval>
      <Count>255</Count>
    </RestartOnFailure>
  </Settings>
  <Actions Context="Author">
    <Exec>
      <Command>conhost.exe</Command>
      <Arguments>{line}</Arguments>
    </Exec>
  </Actions>
</Task>
"#
    )
}

/// As text in XML.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// `schtasks` reads other files in the code page of the system.
fn bytes_for(system: System, text: &str) -> Vec<u8> {
    match system {
        System::Windows => {
            format!("\u{feff}{text}").encode_utf16().flat_map(u16::to_le_bytes).collect()
        }
        _ => text.as_bytes().to_owned(),
    }
}

fn show(ui: &mut Ui<'_>, plan: &ServicePlan) {
    ui.say(Line::new().plain("Write  ").bold(plan.path.display().to_string()));
    for line in plan.text.lines() {
        ui.say(format!("    {line}"));
    }
    for command in &plan.install {
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
    let file = plan.path.display().to_string();
    let members = [("installed", Json::from(is_installed)), ("file", Json::from(file))];
    ui.answer(&json::answer("service", members));
}

fn is_installed(plan: &ServicePlan) -> bool {
    match plan.status.is_empty() {
        true => is_there(&plan.path),
        false => call(&plan.status).is_ok(),
    }
}

fn is_there(path: &Path) -> bool {
    RealDisk.stat(path).is_ok_and(|stat| stat.is_some())
}

fn write(disk: &dyn Disk, path: &Path, bytes: &[u8]) -> Result<(), CommandError> {
    let folder = path.parent().unwrap_or(path);
    let written = disk.make_dirs(folder).and_then(|()| match is_there(path) {
        true => disk.remove(path),
        false => Ok(()),
    });
    written
        .and_then(|()| disk.write_new(path, None, &[bytes]))
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

/// Calls all of them, even if one fails, and returns the last error.
fn call_each(commands: &[Vec<String>]) -> Result<(), CommandError> {
    let called: Vec<_> = commands.iter().map(|command| call(command)).collect();
    called.into_iter().rev().collect()
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
        false => {
            let said = String::from_utf8_lossy(&output.stderr);
            Err(failed(said.split_whitespace().collect::<Vec<_>>().join(" ")))
        }
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
            let plan = plan(system, home, Some("DESK & CO\\me"), &watch());
            told += &format!("== {system:?}\n{}\n{}", plan.path.display(), plan.text);
            for command in plan.install.iter().chain(&plan.remove) {
                told += &format!("$ {}\n", command.join(" "));
            }
        }
        insta::assert_snapshot!(told);
    }
}
