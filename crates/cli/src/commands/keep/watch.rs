//! `forklore watch`

use std::collections::BTreeMap;
use std::error::Error;
use std::time::Duration;

use forklore_core::diagnostic::Diagnostic as _;
use forklore_history::HistoryError;
use forklore_history::record::recorder::Recorded;
use forklore_history::watch::{ARE_EXACT, Stopper, Watch, WatchReport, WatchSettings, WatchedUser};
use forklore_tavern::disk::is_android;
use forklore_tavern::disk::lock::{LockCause, LockError, UserLock};
use forklore_tavern::folder::layout::UserFolders;
use forklore_tavern::locate::users::Users;
use forklore_tavern::work::tavern::Tavern;

use super::record::{line_of, members_of};
use crate::args::WatchArgs;
use crate::commands::shared::alarm::{Alarm, alarms};
use crate::commands::{Histories, Outcome};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::json::{self, Json};
use crate::objection::Objection;
use crate::text::{Line, Style, count};
use crate::ui::Ui;
use forklore_history::store::place;

pub(crate) fn run(
    ui: &mut Ui<'_>,
    taverns: &[Tavern<'_>],
    histories: &Histories,
    args: &WatchArgs,
) -> Outcome {
    let Some(first) = taverns.first() else {
        return Err(CommandError::new(Objection::NobodyToWatch));
    };
    place::make(first.disk, &histories.folder(first))?;
    let _alone = match alone(taverns, histories) {
        Ok(locks) => locks,
        Err(objection) if args.until_closed => {
            // Whoever started this one need not start it again.
            ui.note(objection.to_string());
            return Ok(Exit::Fine);
        }
        Err(objection) => return Err(CommandError::new(objection)),
    };
    let users: Vec<WatchedUser> = taverns.iter().map(|tavern| user(tavern, histories)).collect();
    let settings = WatchSettings {
        disk: first.disk,
        clock: first.clock,
        host: &histories.host,
        most_bytes: args.max_size.map(|size| size.0),
        are_exact: ARE_EXACT,
    };
    let root = first.folders.data_root.root();
    let mut watch = Watch::new(settings, users).map_err(cannot_watch)?;
    if args.all_users {
        watch
            .follow_users(root, || {
                let users = Users::find(first.disk, root).map(|users| users.users);
                let folders = users.unwrap_or_default().into_iter().filter_map(|user| {
                    UserFolders::new(root, &user.handle).ok().filter(|_| user.has_folder)
                });
                folders
                    .map(|folders| {
                        let tavern =
                            Tavern { disk: first.disk, clock: first.clock, folders, pasts: None };
                        user(&tavern, histories)
                    })
                    .collect()
            })
            .map_err(cannot_watch)?;
    }
    stop_at_end(watch.stopper(), args.until_closed);
    let mut said = Coded {
        several: args.all_users,
        quiet: args.quiet,
        is_alone: !args.until_closed,
        behind: BTreeMap::new(),
    };
    watch.run(&mut |news| {
        said.hear(&news);
        let tavern = |folders: &UserFolders| Tavern {
            disk: first.disk,
            clock: first.clock,
            folders: folders.clone(),
            pasts: None,
        };
        if ui.is_json() {
            said.tell(ui, &news, tavern);
        } else {
            said.say(ui, &news, tavern);
        }
    });
    Ok(said.end(ui))
}

/// What was said so far, as far as it matters later.
struct Coded {
    several: bool,
    /// Whether nobody else says when it ends.
    is_alone: bool,
    quiet: bool,
    /// What is not recorded, and why, by the user's handle.
    behind: BTreeMap<String, Behind>,
}

#[derive(Default)]
struct Behind {
    /// Why nothing could be recorded when it was last tried.
    failed: Option<String>,
    /// Files that could not be read when they were last looked at.
    unread: Vec<String>,
    is_full: bool,
}

impl Behind {
    fn is_nothing(&self) -> bool {
        self.failed.is_none() && self.unread.is_empty() && !self.is_full
    }
}

fn user(tavern: &Tavern<'_>, histories: &Histories) -> WatchedUser {
    WatchedUser { folders: tavern.folders.clone(), repository: histories.repository(tavern) }
}

/// Somebody may only have looked whether it is held.
const PATIENCE: Duration = Duration::from_secs(1);

/// Two that watch the same files do no harm, but every loss is told twice. Where there can be no lock,
/// nobody is stopped.
fn alone(taverns: &[Tavern<'_>], histories: &Histories) -> Result<Vec<UserLock>, Objection> {
    let mut locks = Vec::new();
    for tavern in taverns {
        let handle = &tavern.folders.handle;
        let path = place::watching(&histories.folder(tavern), handle);
        match UserLock::acquire(tavern.disk, &path, PATIENCE, &|time| tavern.clock.sleep(time)) {
            Ok(lock) => locks.push(lock),
            Err(LockError { source: LockCause::Busy { .. }, .. }) => {
                return Err(Objection::AlreadyWatched(handle.clone()));
            }
            Err(_) => {}
        }
    }
    Ok(locks)
}

fn cannot_watch(error: impl std::fmt::Display) -> CommandError {
    CommandError::new(Objection::NotWatched(error.to_string()))
        .hinted("`forklore record`, run now and then, needs no watching.")
}

/// Whoever asks for it decides when it ends, and Ctrl-C is meant for them.
fn stop_at_end(stopper: Stopper, when_closed: bool) {
    if when_closed {
        let stopper = stopper.clone();
        std::thread::spawn(move || {
            let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
            stopper.stop();
        });
    }
    stop_at_signals(stopper, when_closed);
}

/// Ctrl-C, and what a system says to a service that it stops.
#[cfg(unix)]
fn stop_at_signals(stopper: Stopper, but_ctrl_c: bool) {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    // A terminal that is closed says so to everybody in it. Who is alone goes on if `nohup` wants it so.
    let heard: &[i32] = if but_ctrl_c { &[SIGINT, SIGTERM, SIGHUP] } else { &[SIGINT, SIGTERM] };
    if let Ok(mut signals) = signal_hook::iterator::Signals::new(heard) {
        std::thread::spawn(move || {
            if signals.forever().any(|signal| signal == SIGTERM || !but_ctrl_c) {
                stopper.stop();
            }
        });
    }
}

#[cfg(not(unix))]
fn stop_at_signals(stopper: Stopper, but_ctrl_c: bool) {
    let _ = ctrlc::set_handler(move || {
        if !but_ctrl_c {
            stopper.stop();
        }
    });
}

/// More changes than this at once are not told one by one.
const FEW: usize = 12;

impl Coded {
    /// Remembers what is not recorded.
    fn hear(&mut self, news: &WatchReport<'_>) {
        let (WatchReport::Failed { user, .. }
        | WatchReport::Full { user, .. }
        | WatchReport::Scanned { user, .. }) = news
        else {
            return;
        };
        let behind = self.behind.entry(user.folders.handle.clone()).or_default();
        match news {
            WatchReport::Failed { error, .. } => behind.failed = Some(with_causes(*error)),
            WatchReport::Full { .. } => behind.is_full = true,
            WatchReport::Scanned { scan, .. } => {
                // Whatever had failed before was looked at again.
                behind.failed = None;
                let unread = scan.unread.iter();
                let said = unread.map(|it| format!("{}: {}", it.path.display(), it.why));
                behind.unread = said.collect();
            }
            _ => {}
        }
    }

    /// The last words, and the exit code.
    fn end(&self, ui: &mut Ui<'_>) -> Exit {
        let is_recorded = self.behind.values().all(Behind::is_nothing);
        if ui.is_json() {
            ui.tell(&event("stopped", [("recorded", Json::from(is_recorded))]));
        }
        if is_recorded {
            ui.say("Stopped. Everything seen so far is recorded.");
            return Exit::Fine;
        }
        ui.note(Line::new().add(Style::Bad, "Stopped. Not everything is recorded:"));
        for (handle, behind) in &self.behind {
            let whose = if self.several { format!("{handle}: ") } else { String::new() };
            let full = behind.is_full.then(|| "the history is as large as it may be".to_owned());
            for why in behind.failed.iter().chain(&behind.unread).chain(&full) {
                ui.note(Line::new().add(Style::Bad, "  ! ").plain(format!("{whose}{why}")));
            }
        }
        Exit::Failed
    }

    fn whose(&self, user: &WatchedUser) -> String {
        match self.several {
            true => format!("{}: ", user.folders.handle),
            false => String::new(),
        }
    }

    /// Tells a program: an object a line.
    fn tell<'d>(
        &self,
        ui: &mut Ui<'_>,
        news: &WatchReport<'_>,
        tavern: impl FnOnce(&UserFolders) -> Tavern<'d>,
    ) {
        let of = |user: &WatchedUser| [("user", Json::from(user.folders.handle.as_str()))];
        match news {
            WatchReport::Watching { users } => {
                ui.tell(&event("watching", [("users", Json::from(*users))]));
            }
            WatchReport::Scanned { user, scan } => {
                for recorded in scan.recorded.iter().filter(|_| !self.quiet) {
                    let members = of(user).into_iter().chain(members_of(recorded));
                    ui.tell(&event("recorded", members));
                }
                for unread in &scan.unread {
                    let path = Json::from(unread.path.display().to_string());
                    let members = [("path", path), ("why", Json::from(unread.why.as_str()))];
                    ui.tell(&event("unread", of(user).into_iter().chain(members)));
                }
            }
            WatchReport::Recorded { user, recorded } => {
                if self.quiet {
                    return;
                }
                ui.tell(&event("recorded", of(user).into_iter().chain(members_of(recorded))));
            }
            WatchReport::Kept { user, history, recorded } => {
                match alarms(&tavern(&user.folders), history, recorded) {
                    Ok(alarms) => {
                        for alarm in &alarms {
                            ui.tell(&event("loss", of(user).into_iter().chain(alarm.members())));
                        }
                    }
                    Err(error) => ui.tell(&failed(user, &error)),
                }
            }
            WatchReport::Failed { user, error } => {
                ui.tell(&failed(user, error));
            }
            WatchReport::NotWatched { user, why } => {
                let members = [("why", Json::from(why.as_str()))];
                ui.tell(&event("not-watched", of(user).into_iter().chain(members)));
            }
            WatchReport::Full { user, bytes } => {
                let members = [("bytes", Json::from(*bytes))];
                ui.tell(&event("full", of(user).into_iter().chain(members)));
            }
        }
    }

    fn say<'d>(
        &self,
        ui: &mut Ui<'_>,
        news: &WatchReport<'_>,
        tavern: impl FnOnce(&UserFolders) -> Tavern<'d>,
    ) {
        match news {
            WatchReport::Watching { users } => {
                let of = match self.several {
                    true => format!(" of {}", count(*users, "user", "users")),
                    false => String::new(),
                };
                let failing = self.behind.values().filter(|behind| behind.failed.is_some()).count();
                let (style, but) = match failing {
                    0 => (Style::Good, String::new()),
                    _ if failing < *users => {
                        let users = count(failing, "user", "users");
                        (Style::Bad, format!(", but nothing can be recorded yet for {users}"))
                    }
                    _ => (Style::Bad, ", but nothing can be recorded yet".to_owned()),
                };
                let end = if self.is_alone { " Ctrl-C ends it." } else { "" };
                let line = Line::new().add(style, format!("Watching the stories{of}{but}."));
                ui.say(line.dim(end));
            }
            WatchReport::Scanned { user, scan } => {
                let whose = self.whose(user);
                if !self.quiet && scan.recorded.len() > FEW {
                    let changes = count(scan.recorded.len(), "change", "changes");
                    ui.say(format!("{whose}recorded {changes} that nobody watched."));
                } else if !self.quiet {
                    for recorded in scan.recorded.iter().filter(|it| is_no_loss(it)) {
                        ui.say(Line::from(&whose).followed_by(line_of(recorded)));
                    }
                }
                for unread in &scan.unread {
                    let path = unread.path.display().to_string();
                    let line = Line::new().add(Style::Bad, "  ! ").bold(path);
                    ui.note(line.plain(": ").plain(&unread.why));
                }
            }
            WatchReport::Recorded { user, recorded } => {
                if !self.quiet && is_no_loss(recorded) {
                    ui.say(Line::from(self.whose(user)).followed_by(line_of(recorded)));
                }
            }
            WatchReport::Kept { user, history, recorded } => {
                let tavern = tavern(&user.folders);
                match alarms(&tavern, history, recorded) {
                    Ok(alarms) => alarms.iter().for_each(|alarm| sound(ui, alarm)),
                    Err(error) => {
                        let why = with_causes(&error);
                        ui.note(Line::new().add(Style::Bad, "  ! ").plain(format!(
                            "{}could not tell whether this looks like a loss: {why}",
                            self.whose(user)
                        )));
                    }
                }
            }
            WatchReport::Failed { user, error } => {
                let (whose, why) = (self.whose(user), with_causes(*error));
                let words = format!("{whose}not recorded, and tried again soon: {why}");
                ui.note(Line::new().add(Style::Bad, "  ! ").plain(words));
            }
            WatchReport::NotWatched { user, why } => {
                ui.note(Line::new().add(Style::Note, "  ! ").plain(format!(
                    "{}cannot be watched ({why}); looked at every ten seconds instead.",
                    match self.several {
                        true => user.folders.handle.clone() + " ",
                        false => "The folder ".to_owned(),
                    },
                )));
                if cfg!(target_os = "linux") {
                    ui.note(Line::new().add(Style::Good, "    Hint: ").plain(
                        "a larger fs.inotify.max_user_watches lets the system watch more folders.",
                    ));
                }
            }
            WatchReport::Full { user, bytes } => {
                ui.note(Line::new().add(Style::Bad, "  ! ").plain(format!(
                    "{}the history has reached {} and is not added to any more.",
                    self.whose(user),
                    crate::text::bytes(*bytes),
                )));
            }
        }
    }
}

fn event(name: &str, members: impl IntoIterator<Item = (&'static str, Json)>) -> Json {
    let event = [("event", Json::from(name))];
    json::answer("watch", event.into_iter().chain(members))
}

fn failed(user: &WatchedUser, error: &HistoryError) -> Json {
    let members = [
        ("user", Json::from(user.folders.handle.as_str())),
        ("code", Json::from(error.coded().code)),
        ("text", Json::from(with_causes(error))),
    ];
    event("failed", members)
}

fn is_no_loss(recorded: &Recorded) -> bool {
    recorded.kept.version.collapse.is_none()
}

fn with_causes(error: &dyn Error) -> String {
    let mut words = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        words += &format!(": {cause}");
        source = cause.source();
    }
    words
}

/// A loss is said here and, where there is a desktop, there.
fn sound(ui: &mut Ui<'_>, alarm: &Alarm) {
    alarm.say(ui);
    let (title, body) = alarm.notice();
    notify_desktop(&title, &body);
}

/// Says it with the desktop's own program, and goes on whatever becomes of it.
fn notify_desktop(title: &str, body: &str) {
    let Some(mut program) = notifier(title, body) else { return };
    let notice = program
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn();
    if let Ok(mut child) = notice {
        std::thread::spawn(move || child.wait());
    }
}

/// What shows a notice here. The words are never a part of a program.
fn notifier(title: &str, body: &str) -> Option<std::process::Command> {
    let is_set = |name: &&str| std::env::var_os(name).is_some();
    if is_android() {
        let mut program = std::process::Command::new("termux-notification");
        program.args(["--title", title, "--content", body]);
        return Some(program);
    }
    if cfg!(windows) {
        let mut program = std::process::Command::new("powershell");
        program.args([
            "-NoProfile",
            "-NonInteractive",
            "-WindowStyle",
            "Hidden",
            "-Command",
            BALLOON,
        ]);
        program.env("FORKLORE_TITLE", title).env("FORKLORE_BODY", body);
        return Some(program);
    }
    if cfg!(target_os = "macos") {
        let mut program = std::process::Command::new("osascript");
        let script = "on run argv\ndisplay notification (item 2 of argv) with title (item 1 of argv)\nend run";
        program.args(["-e", script, title, body]);
        return Some(program);
    }
    let has_desktop = ["DISPLAY", "WAYLAND_DISPLAY", "DBUS_SESSION_BUS_ADDRESS"].iter().any(is_set);
    let mut program = std::process::Command::new("notify-send");
    program.args(["--app-name=Forklore", "--urgency=critical", "--", title, body]);
    has_desktop.then_some(program)
}

/// Shows a notice on Windows, for as long as it stays.
const BALLOON: &str = "Add-Type -AssemblyName System.Windows.Forms, System.Drawing; \
    $icon = New-Object System.Windows.Forms.NotifyIcon; $icon.Icon = [System.Drawing.SystemIcons]::Warning; \
    $icon.Visible = $true; $icon.ShowBalloonTip(20000, $env:FORKLORE_TITLE, $env:FORKLORE_BODY, 'Warning'); \
    Start-Sleep -Seconds 20; $icon.Dispose()";
