//! `forklore watch`

use forklore_history::history::Recorded;
use forklore_history::watching::{News, Settings, Stopper, User, Watch};
use forklore_tavern::folders::UserFolders;
use forklore_tavern::tavern::Tavern;
use forklore_tavern::users::Users;

use super::record::{line_of, losses, say_loss};
use super::{Histories, Outcome, place};
use crate::args::WatchArgs;
use crate::error::CommandError;
use crate::text::{Line, Style, count};
use crate::ui::Ui;

pub(crate) fn run(
    ui: &mut Ui<'_>,
    taverns: &[Tavern<'_>],
    histories: &Histories,
    args: &WatchArgs,
) -> Outcome {
    let Some(first) = taverns.first() else {
        return Err(CommandError::new("there is no user to watch"));
    };
    place::make(first.disk, &histories.folder(first))?;
    let users: Vec<User> = taverns.iter().map(|tavern| user(tavern, histories)).collect();
    let settings = Settings {
        disk: first.disk,
        chance: first.chance,
        host: &histories.host,
        most_bytes: args.most_mb.map(|most| most * 1_000_000),
    };
    let root = first.folders.inside.root();
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
                            Tavern { disk: first.disk, chance: first.chance, folders, pasts: None };
                        user(&tavern, histories)
                    })
                    .collect()
            })
            .map_err(cannot_watch)?;
    }
    stop_at_signals(watch.stopper());
    let several = args.all_users;
    watch.run(&mut |news| say(ui, &news, several, args.quiet));
    ui.say("Stopped. Everything seen so far is recorded.");
    Ok(0)
}

fn user(tavern: &Tavern<'_>, histories: &Histories) -> User {
    User { folders: tavern.folders.clone(), repository: histories.repository(tavern) }
}

fn cannot_watch(error: impl std::fmt::Display) -> CommandError {
    CommandError::new(format!("could not watch the files: {error}"))
        .hinted("`forklore record`, run now and then, needs no watching.")
}

/// Ctrl-C, and what a system says to a service that it stops.
#[cfg(unix)]
fn stop_at_signals(stopper: Stopper) {
    use signal_hook::consts::{SIGINT, SIGTERM};
    if let Ok(mut signals) = signal_hook::iterator::Signals::new([SIGINT, SIGTERM]) {
        std::thread::spawn(move || {
            if signals.forever().next().is_some() {
                stopper.stop();
            }
        });
    }
}

/// Everything that was said to be recorded is on disk; there is nothing to tidy up.
#[cfg(not(unix))]
fn stop_at_signals(_: Stopper) {}

/// More changes than this at once are not told one by one.
const FEW: usize = 12;

fn say(ui: &mut Ui<'_>, news: &News<'_>, several: bool, quiet: bool) {
    let whose = |user: &User| match several {
        true => format!("{}: ", user.folders.handle),
        false => String::new(),
    };
    match news {
        News::Watching { users } => {
            let of = if several {
                format!(" of {}", count(*users, "user", "users"))
            } else {
                String::new()
            };
            ui.say(
                Line::new()
                    .add(Style::Good, format!("Watching the stories{of}."))
                    .dim(" Ctrl-C ends it."),
            );
        }
        News::Scanned { user, scan } => {
            if !quiet && scan.recorded.len() > FEW {
                let changes = count(scan.recorded.len(), "change", "changes");
                ui.say(format!("{}recorded {changes} that nobody watched.", whose(user)));
            } else if !quiet {
                for recorded in scan.recorded.iter().filter(|r| r.kept.version.collapse.is_none()) {
                    ui.say(Line::from(whose(user)).followed_by(line_of(recorded)));
                }
            }
            for loss in losses(&scan.recorded) {
                alarm(ui, loss);
            }
            for unread in &scan.unread {
                let path = unread.path.display().to_string();
                ui.note(
                    Line::new().add(Style::Bad, "  ! ").bold(path).plain(": ").plain(&unread.why),
                );
            }
        }
        News::Recorded { user, recorded } => {
            if recorded.kept.version.collapse.is_some() {
                alarm(ui, recorded);
            } else if !quiet {
                ui.say(Line::from(whose(user)).followed_by(line_of(recorded)));
            }
        }
        News::Failed { user, error } => {
            let error: &dyn std::error::Error = *error;
            let mut line = Line::new()
                .add(Style::Bad, "  ! ")
                .plain(format!("{}not recorded, and tried again soon: {error}", whose(user)));
            let mut source = error.source();
            while let Some(cause) = source {
                line = line.plain(format!(": {cause}"));
                source = cause.source();
            }
            ui.note(line);
        }
        News::NotWatched { user, why } => {
            ui.note(Line::new().add(Style::Note, "  ! ").plain(format!(
                "{}cannot be watched ({why}); looked at every ten seconds instead.",
                if several { user.folders.handle.clone() + " " } else { "The folder ".to_owned() },
            )));
            if cfg!(target_os = "linux") {
                ui.note(Line::new().add(Style::Good, "    Hint: ").plain(
                    "a larger fs.inotify.max_user_watches lets the system watch more folders.",
                ));
            }
        }
        News::Full { user, bytes } => {
            ui.note(Line::new().add(Style::Bad, "  ! ").plain(format!(
                "{}the history has reached {} and is not added to any more.",
                whose(user),
                super::pack::bytes(*bytes),
            )));
        }
    }
}

/// A loss is said here and, where there is a desktop, there.
fn alarm(ui: &mut Ui<'_>, loss: &Recorded) {
    say_loss(ui, loss);
    let version = &loss.kept.version;
    notify_desktop(&version.file.label(), &version.words);
}

/// Says it with the desktop's own program, and goes on whatever becomes of it.
fn notify_desktop(file: &str, words: &str) {
    let has_desktop = ["DISPLAY", "WAYLAND_DISPLAY", "DBUS_SESSION_BUS_ADDRESS"]
        .iter()
        .any(|name| std::env::var_os(name).is_some());
    if !cfg!(target_os = "linux") || !has_desktop {
        return;
    }
    let title = format!("This looks like a loss: {file}");
    let body = format!("{words}. The version before it is kept.");
    let notice = std::process::Command::new("notify-send")
        .args(["--app-name=Forklore", "--urgency=critical", "--", &title, &body])
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn();
    if let Ok(mut child) = notice {
        std::thread::spawn(move || child.wait());
    }
}
