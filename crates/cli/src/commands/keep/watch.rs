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
use crate::commands::shared::gone::GoneUser;
use crate::commands::{Histories, Outcome};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::json::{self, Json};
use crate::objection::Objection;
use crate::text::{Line, Style, count};
use crate::ui::Ui;
use crate::when;
use forklore_history::store::place;

/// Why a folder is polled of which the system reported nothing.
const SILENT: &str = "something was saved in it, and the system did not report it";

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
    let (_locks, busy) = lock_users(taverns, histories);
    if let Some(one) = busy.first() {
        let is_everyone = busy.len() == taverns.len();
        if is_everyone && !args.until_closed {
            return Err(CommandError::new(Objection::AlreadyWatched(one.clone()))
                .hinted("One is enough. To start this one instead, stop the other."));
        }
        let are_many = busy.len() > MAX_LISTED;
        let who = if are_many { count(busy.len(), "user", "users") } else { busy.join(", ") };
        ui.note(Objection::AlreadyWatched(who).to_string());
        if is_everyone {
            // Exit successfully, so that `forklore run` does not start it again.
            return Ok(Exit::Fine);
        }
    }
    let users: Vec<WatchedUser> =
        taverns.iter().map(|tavern| watched_user(tavern, histories)).collect();
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
                        watched_user(&tavern, histories)
                    })
                    .collect()
            })
            .map_err(cannot_watch)?;
    } else {
        // Where it cannot be watched, a folder that is gone is noticed a little later.
        let _ = watch.watch_root(root);
    }
    install_stop_handlers(watch.stopper(), args.until_closed);
    let mut reporter = Reporter {
        names_users: args.all_users,
        quiet: args.quiet,
        is_standalone: !args.until_closed,
        unrecorded: BTreeMap::new(),
    };
    watch.run(&mut |report| {
        if ui.is_terminal() {
            ui.set_stamp(when::clock(first.clock.now(), ui.zone()));
        }
        let is_news = reporter.track(&report);
        if !is_news {
            return;
        }
        if let (true, Some(user)) = (reporter.names_users, user_of(&report)) {
            ui.set_user(Some(&user.folders.handle));
        }
        let tavern = |folders: &UserFolders| Tavern {
            disk: first.disk,
            clock: first.clock,
            folders: folders.clone(),
            pasts: None,
        };
        if ui.is_json() {
            reporter.report_json(ui, &report, tavern);
        } else {
            reporter.report_text(ui, &report, tavern);
        }
    });
    ui.set_stamp(String::new());
    Ok(reporter.finish(ui))
}

/// Reports events, and remembers what is not recorded yet.
struct Reporter {
    names_users: bool,
    /// Whether Ctrl-C ends it, rather than the process that started it.
    is_standalone: bool,
    quiet: bool,
    /// What is not recorded, and why, by user handle.
    unrecorded: BTreeMap<String, Unrecorded>,
}

#[derive(Default)]
struct Unrecorded {
    /// Why the last attempt to record failed.
    failed: Option<String>,
    /// Files that the last scan could not read.
    unread: Vec<String>,
    is_full: bool,
}

impl Unrecorded {
    fn is_empty(&self) -> bool {
        self.failed.is_none() && self.unread.is_empty() && !self.is_full
    }
}

fn watched_user(tavern: &Tavern<'_>, histories: &Histories) -> WatchedUser {
    WatchedUser { folders: tavern.folders.clone(), repository: histories.repository(tavern) }
}

/// The user that a report is about.
fn user_of<'a>(report: &WatchReport<'a>) -> Option<&'a WatchedUser> {
    match report {
        WatchReport::Watching { .. } => None,
        WatchReport::Scanned { user, .. }
        | WatchReport::Recorded { user, .. }
        | WatchReport::Persisted { user, .. }
        | WatchReport::Failed { user, .. }
        | WatchReport::Gone { user, .. }
        | WatchReport::Back { user }
        | WatchReport::NotWatched { user, .. }
        | WatchReport::Silent { user }
        | WatchReport::Full { user, .. } => Some(user),
    }
}

/// Long enough to outlast a process that only checks whether the lock is held.
const LOCK_TIMEOUT: Duration = Duration::from_secs(1);

/// Locks every user's history for watching, and names the users who are watched already. Two
/// watchers do no harm, but report every loss twice. Where locking is not possible, watching goes
/// ahead without.
fn lock_users(taverns: &[Tavern<'_>], histories: &Histories) -> (Vec<UserLock>, Vec<String>) {
    let (mut locks, mut busy) = (Vec::new(), Vec::new());
    for tavern in taverns {
        let handle = &tavern.folders.handle;
        let path = place::watching(&histories.folder(tavern), handle);
        // Waits only once: another watch may hold the locks of ten thousand users.
        let timeout = if busy.is_empty() { LOCK_TIMEOUT } else { Duration::ZERO };
        match UserLock::acquire(tavern.disk, &path, timeout, &|time| tavern.clock.sleep(time)) {
            Ok(lock) => locks.push(lock),
            Err(LockError { source: LockCause::Busy { .. }, .. }) => {
                busy.push(handle.clone());
            }
            Err(_) => {}
        }
    }
    (locks, busy)
}

fn cannot_watch(error: impl std::fmt::Display) -> CommandError {
    CommandError::new(Objection::NotWatched(error.to_string()))
        .hinted("`forklore record`, run now and then, works without watching.")
}

/// With `--until-closed`, the process that started this one decides when it ends, and Ctrl-C is
/// meant for that process.
fn install_stop_handlers(stopper: Stopper, when_closed: bool) {
    if when_closed {
        let stopper = stopper.clone();
        std::thread::spawn(move || {
            let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
            stopper.stop();
        });
    }
    install_signal_handlers(stopper, when_closed);
}

/// Stops at Ctrl-C and at the signal that service managers send.
#[cfg(unix)]
fn install_signal_handlers(stopper: Stopper, ignores_ctrl_c: bool) {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    // Closing a terminal sends SIGHUP to every process in it. A standalone watcher does not handle
    // it, so that `nohup` works.
    let handled: &[i32] =
        if ignores_ctrl_c { &[SIGINT, SIGTERM, SIGHUP] } else { &[SIGINT, SIGTERM] };
    if let Ok(mut signals) = signal_hook::iterator::Signals::new(handled) {
        std::thread::spawn(move || {
            if signals.forever().any(|signal| signal == SIGTERM || !ignores_ctrl_c) {
                stopper.stop();
            }
        });
    }
}

#[cfg(not(unix))]
fn install_signal_handlers(stopper: Stopper, ignores_ctrl_c: bool) {
    let _ = ctrlc::set_handler(move || {
        if !ignores_ctrl_c {
            stopper.stop();
        }
    });
}

/// More changes or users than this at once are summarised.
const MAX_LISTED: usize = 12;

impl Reporter {
    /// Keeps track of what is not recorded. Returns whether the report is news: what fails again
    /// in the same way was said before.
    fn track(&mut self, report: &WatchReport<'_>) -> bool {
        let (WatchReport::Failed { user, .. }
        | WatchReport::Full { user, .. }
        | WatchReport::Gone { user, .. }
        | WatchReport::Scanned { user, .. }) = report
        else {
            return true;
        };
        let unrecorded = self.unrecorded.entry(user.folders.handle.clone()).or_default();
        match report {
            WatchReport::Failed { error, .. } => {
                let failed = Some(with_causes(*error));
                std::mem::replace(&mut unrecorded.failed, failed.clone()) != failed
            }
            WatchReport::Full { .. } => {
                unrecorded.is_full = true;
                true
            }
            WatchReport::Gone { .. } => {
                // There is nothing left to record.
                *unrecorded = Unrecorded::default();
                true
            }
            WatchReport::Scanned { scan, .. } => {
                // A scan covers everything that failed before.
                unrecorded.failed = None;
                let unread = scan.unread.iter();
                let said: Vec<String> =
                    unread.map(|it| format!("{}: {}", it.path.display(), it.why)).collect();
                let before = std::mem::replace(&mut unrecorded.unread, said);
                !scan.recorded.is_empty() || before != unrecorded.unread
            }
            _ => true,
        }
    }

    /// Prints the summary and returns the exit code.
    fn finish(&self, ui: &mut Ui<'_>) -> Exit {
        let is_recorded = self.unrecorded.values().all(Unrecorded::is_empty);
        if ui.is_json() {
            ui.emit(&event("stopped", [("recorded", Json::from(is_recorded))]));
        }
        if is_recorded {
            ui.say("Stopped. Everything seen so far is recorded.");
            return Exit::Fine;
        }
        ui.note(Line::new().add(Style::Bad, "Stopped. Not everything is recorded:"));
        for (handle, unrecorded) in &self.unrecorded {
            let whose = if self.names_users { format!("{handle}: ") } else { String::new() };
            let full =
                unrecorded.is_full.then(|| "the history has reached its maximum size".to_owned());
            for why in unrecorded.failed.iter().chain(&unrecorded.unread).chain(&full) {
                ui.note(Line::new().add(Style::Bad, "  ! ").plain(format!("{whose}{why}")));
            }
        }
        Exit::Failed
    }

    fn note_polled(&self, ui: &mut Ui<'_>, user: &WatchedUser, why: &str) {
        let folder = match self.names_users {
            true => user.folders.handle.clone() + " ",
            false => "The folder ".to_owned(),
        };
        ui.note(Line::new().add(Style::Note, "  ! ").plain(format!(
            "{folder}cannot be watched ({why}); it is checked every ten seconds instead.",
        )));
    }

    fn whose(&self, user: &WatchedUser) -> String {
        match self.names_users {
            true => format!("{}: ", user.folders.handle),
            false => String::new(),
        }
    }

    /// Reports an event as one JSON object per line.
    fn report_json<'d>(
        &self,
        ui: &mut Ui<'_>,
        report: &WatchReport<'_>,
        tavern: impl FnOnce(&UserFolders) -> Tavern<'d>,
    ) {
        let of = |user: &WatchedUser| [("user", Json::from(user.folders.handle.as_str()))];
        match report {
            WatchReport::Watching { users } => {
                ui.emit(&event("watching", [("users", Json::from(*users))]));
            }
            WatchReport::Scanned { user, scan } => {
                for recorded in scan.recorded.iter().filter(|_| !self.quiet) {
                    let members = of(user).into_iter().chain(members_of(recorded));
                    ui.emit(&event("recorded", members));
                }
                for unread in &scan.unread {
                    let path = Json::from(unread.path.display().to_string());
                    let members = [("path", path), ("why", Json::from(unread.why.as_str()))];
                    ui.emit(&event("unread", of(user).into_iter().chain(members)));
                }
            }
            WatchReport::Recorded { user, recorded } => {
                if self.quiet {
                    return;
                }
                ui.emit(&event("recorded", of(user).into_iter().chain(members_of(recorded))));
            }
            WatchReport::Persisted { user, history, recorded } => {
                match alarms(&tavern(&user.folders), history, recorded) {
                    Ok(alarms) => {
                        for alarm in &alarms {
                            let members = of(user).into_iter().chain(alarm.members(ui));
                            ui.emit(&event("loss", members));
                        }
                    }
                    Err(error) => ui.emit(&failed_event(user, &error)),
                }
            }
            WatchReport::Failed { user, error } => {
                ui.emit(&failed_event(user, error));
            }
            WatchReport::Gone { user, history } => {
                if let Some(gone) = GoneUser::of(&user.folders, history) {
                    let alarm = Alarm::of_user(&gone);
                    ui.emit(&event("gone", of(user).into_iter().chain(alarm.members(ui))));
                }
            }
            WatchReport::Back { user } => ui.emit(&event("back", of(user))),
            WatchReport::NotWatched { user, why } => {
                let members = [("why", Json::from(why.as_str()))];
                ui.emit(&event("not-watched", of(user).into_iter().chain(members)));
            }
            WatchReport::Silent { user } => {
                let members = [("why", Json::from(SILENT))];
                ui.emit(&event("not-watched", of(user).into_iter().chain(members)));
            }
            WatchReport::Full { user, bytes } => {
                let members = [("bytes", Json::from(*bytes))];
                ui.emit(&event("full", of(user).into_iter().chain(members)));
            }
        }
    }

    fn report_text<'d>(
        &self,
        ui: &mut Ui<'_>,
        report: &WatchReport<'_>,
        tavern: impl FnOnce(&UserFolders) -> Tavern<'d>,
    ) {
        match report {
            WatchReport::Watching { users } => {
                let of = match self.names_users {
                    true => format!(" of {}", count(*users, "user", "users")),
                    false => String::new(),
                };
                let failing = self
                    .unrecorded
                    .values()
                    .filter(|unrecorded| unrecorded.failed.is_some())
                    .count();
                let (style, but) = match failing {
                    0 => (Style::Good, String::new()),
                    _ if failing < *users => {
                        let users = count(failing, "user", "users");
                        (Style::Bad, format!(", but nothing can be recorded yet for {users}"))
                    }
                    _ => (Style::Bad, ", but nothing can be recorded yet".to_owned()),
                };
                let end = if self.is_standalone { " Ctrl-C stops it." } else { "" };
                let line = Line::new().add(style, format!("Watching the stories{of}{but}."));
                ui.say(line.dim(end));
            }
            WatchReport::Scanned { user, scan } => {
                let whose = self.whose(user);
                if !self.quiet && scan.recorded.len() > MAX_LISTED {
                    let changes = count(scan.recorded.len(), "change", "changes");
                    ui.say(format!(
                        "{whose}recorded {changes} made while Forklore was not watching."
                    ));
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
            WatchReport::Persisted { user, history, recorded } => {
                let tavern = tavern(&user.folders);
                match alarms(&tavern, history, recorded) {
                    Ok(alarms) => {
                        let whose = self.whose(user);
                        alarms.iter().for_each(|alarm| raise_alarm(ui, alarm, &whose));
                    }
                    Err(error) => {
                        let why = with_causes(&error);
                        ui.note(Line::new().add(Style::Bad, "  ! ").plain(format!(
                            "{}could not tell whether this looks like a loss: {why}",
                            self.whose(user)
                        )));
                    }
                }
            }
            WatchReport::Gone { user, history } => {
                if let Some(gone) = GoneUser::of(&user.folders, history) {
                    raise_alarm(ui, &Alarm::of_user(&gone), "");
                }
            }
            WatchReport::Back { user } => {
                let words = format!("  the folder of {} is back.", user.folders.handle);
                ui.say(Line::new().add(Style::Good, words));
            }
            WatchReport::Failed { user, error } => {
                let (whose, why) = (self.whose(user), with_causes(*error));
                let words = format!("{whose}not recorded, will try again soon: {why}");
                ui.note(Line::new().add(Style::Bad, "  ! ").plain(words));
            }
            WatchReport::NotWatched { user, why } => {
                self.note_polled(ui, user, why);
                if cfg!(target_os = "linux") {
                    ui.note(Line::new().add(Style::Good, "    Hint: ").plain(
                        "a larger fs.inotify.max_user_watches lets the system watch more folders.",
                    ));
                }
            }
            WatchReport::Silent { user } => self.note_polled(ui, user, SILENT),
            WatchReport::Full { user, bytes } => {
                ui.note(Line::new().add(Style::Bad, "  ! ").plain(format!(
                    "{}the history has reached {}; nothing more is recorded.",
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

fn failed_event(user: &WatchedUser, error: &HistoryError) -> Json {
    let members = [
        ("user", Json::from(user.folders.handle.as_str())),
        ("code", Json::from(error.coded().code)),
        ("text", Json::from(with_causes(error))),
    ];
    event("failed", members)
}

fn is_no_loss(recorded: &Recorded) -> bool {
    recorded.stored.version.collapse.is_none()
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

/// Reports a loss on the terminal and as a desktop notification.
fn raise_alarm(ui: &mut Ui<'_>, alarm: &Alarm, whose: &str) {
    alarm.say(ui, whose);
    let (title, body) = alarm.notice(whose);
    notify_desktop(&title, &body);
}

/// Sends a desktop notification and does not wait for the result.
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

/// The program that shows a notification on this system. The text is passed as data, never as code.
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

/// Shows a notification on Windows and waits until it has disappeared.
const BALLOON: &str = "Add-Type -AssemblyName System.Windows.Forms, System.Drawing; \
    $icon = New-Object System.Windows.Forms.NotifyIcon; $icon.Icon = [System.Drawing.SystemIcons]::Warning; \
    $icon.Visible = $true; $icon.ShowBalloonTip(20000, $env:FORKLORE_TITLE, $env:FORKLORE_BODY, 'Warning'); \
    Start-Sleep -Seconds 20; $icon.Dispose()";
