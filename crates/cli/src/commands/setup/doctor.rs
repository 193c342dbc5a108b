//! `forklore doctor`: examines the installation for anything that prevents recording.
//!
//! First the facts are gathered. The checks are then derived from the facts alone.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use forklore_history::record::scan::unrecorded;
use forklore_history::store::place;
use forklore_history::version::history::History;
use forklore_history::watch;
use forklore_json::Object;
use forklore_tavern::disk::Disk;
use forklore_tavern::disk::data_root::EscapesDataRoot;
use forklore_tavern::disk::lock::{LockCause, LockError, UserLock};
use forklore_tavern::disk::volume::{Volume, is_in_container};
use forklore_tavern::folder::layout::UserFolders;
use forklore_tavern::locate::root::{RejectReason, find_installs, find_root};
use forklore_tavern::locate::users::User;

use crate::Context;
use crate::args::Cli;
use crate::commands::shared::place::Place;
use crate::commands::{Histories, Outcome};
use crate::error::{CommandError, folder_gone_hint};
use crate::exit::Exit;
use crate::json::{self, Json};
use crate::text::{Line, Style, bytes, count, quoted};
use crate::ui::Ui;

/// The oldest version of Node that SillyTavern supports.
const MIN_NODE: u32 = 20;
/// How long recording a file may take: longer than `watch` takes where it has to look for changes.
const ON_ITS_WAY: Duration = Duration::from_secs(20);
/// With less free space than this, a save may fail.
const MIN_FREE_BYTES: u64 = 500_000_000;

/// Everything that was found out.
#[derive(Clone, Debug, Default)]
struct Facts {
    /// The places that were searched, if no data folder was found.
    searched: Vec<String>,
    data: Option<PathBuf>,
    /// Whether the data folder was named, so that no other one can be meant.
    is_named: bool,
    /// Other SillyTavern installations nearby.
    others: Vec<PathBuf>,
    sillytavern: Option<String>,
    extension: Option<String>,
    users: Vec<UserHistory>,
    /// Why the data cannot be read or written, if so.
    read_error: Option<String>,
    write_error: Option<String>,
    has_other_owner: bool,
    disk: Option<Volume>,
    histories: PathBuf,
    histories_write_error: Option<String>,
    histories_disk: Option<Volume>,
    is_in_container: bool,
    /// Whether the system reports file changes in the data folder, if that could be tested.
    has_events: Option<bool>,
    node: Option<u32>,
    has_git: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct UserHistory {
    user: String,
    has_history: bool,
    had_history: bool,
    is_watched: bool,
    /// Why an existing history cannot be opened.
    unreadable: Option<String>,
    /// Whether the user's folder is gone.
    is_gone: bool,
    /// How many files have been changed for a while and are not recorded.
    unrecorded: usize,
    /// Folders of the user that lead out of the data folder, and where to.
    outside: Vec<(String, PathBuf)>,
}

/// How much a check matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Fine,
    /// It works, and could do more.
    Advice,
    /// It prevents recording or forking.
    Wrong,
}

/// The verdict on one aspect.
#[derive(Debug, PartialEq, Eq)]
struct Check {
    name: &'static str,
    verdict: Verdict,
    text: String,
    /// How to fix it.
    help: Option<String>,
}

pub(crate) fn run(
    ui: &mut Ui<'_>,
    context: &Context<'_>,
    cli: &Cli,
    histories: &Histories,
) -> Outcome {
    let checks = judge(&gather(context, cli, histories));
    for check in &checks {
        let (style, mark) = match check.verdict {
            Verdict::Fine => (Style::Good, "ok"),
            Verdict::Advice => (Style::Note, "--"),
            Verdict::Wrong => (Style::Bad, "!!"),
        };
        ui.say(Line::new().add(style, mark).plain("  ").plain(&check.text));
        if let Some(help) = &check.help {
            ui.say(format!("      {help}"));
        }
    }
    let is_wrong = checks.iter().any(|check| check.verdict == Verdict::Wrong);
    let objects = checks.iter().map(|check| {
        let mut object = Object::new();
        object.insert("name", check.name);
        object.insert("fine", check.verdict == Verdict::Fine);
        object.insert("wrong", check.verdict == Verdict::Wrong);
        object.insert("text", check.text.as_str());
        object.insert("help", check.help.as_deref());
        Json::from(object)
    });
    ui.answer(&json::answer("doctor", [("checks", Json::Array(objects.collect()))]));
    Ok(Exit::found_if(is_wrong))
}

fn gather(context: &Context<'_>, cli: &Cli, histories: &Histories) -> Facts {
    let disk = context.disk;
    let environment = context.environment.clone().given(cli.data.as_deref());
    let mut facts = Facts {
        is_in_container: is_in_container(),
        node: version_of("node").as_deref().and_then(major),
        has_git: version_of("git").is_some(),
        is_named: environment.flag.is_some() || environment.forklore_data.is_some(),
        ..Facts::default()
    };
    let place = match Place::find(context, cli, histories) {
        Ok(place) => place,
        Err(_) => {
            let looked =
                find_root(disk, &environment).err().map(|it| it.looked).unwrap_or_default();
            facts.searched =
                looked.iter().map(|it| format!("{} ({})", it.path.display(), it.why)).collect();
            facts.read_error = looked.iter().find_map(|it| match &it.why {
                RejectReason::Unreadable(error) => Some(error.to_string()),
                _ => None,
            });
            return facts;
        }
    };
    let root = place.root.clone();
    // Each installation with the data folder it would use.
    let installs = find_installs(disk, &environment, &root).into_iter().filter_map(|install| {
        let environment = environment.clone().given(Some(&install));
        Some((find_root(disk, &environment).ok()?.root, install))
    });
    let (ours, others): (Vec<_>, Vec<_>) = installs.partition(|(data, _)| *data == root);
    let install = ours.into_iter().next().map(|(_, install)| install);
    let install = install.unwrap_or_else(|| root.parent().unwrap_or(&root).to_owned());
    facts.others = others.into_iter().map(|(_, install)| install).collect();
    facts.sillytavern = json_field(disk, &install.join("package.json"), "version");
    facts.extension = extension(disk, &install, &root);
    facts.read_error = disk.list(&root).err().map(|error| error.to_string());
    facts.write_error = write_error(&root);
    facts.disk = Volume::of(&root);
    facts.has_events = facts.write_error.is_none().then(|| watch::receives_events(&root)).flatten();
    facts.histories = histories.folder_for(&root);
    facts.histories_write_error = write_error(&facts.histories);
    facts.histories_disk = Volume::of(&facts.histories);
    for user in place.users.users.iter().filter(|user| user.has_folder || user.has_history) {
        let settings = root.join(&user.handle).join("settings.json");
        if let Err(error) = disk.read(&settings)
            && error.kind() != std::io::ErrorKind::NotFound
        {
            facts.read_error = Some(format!("{}: {error}", settings.display()));
        }
        facts.has_other_owner |= has_other_owner(&settings);
        facts.users.extend(user_history(context, histories, &root, user));
    }
    facts.data = Some(root);
    facts
}

fn user_history(
    context: &Context<'_>,
    histories: &Histories,
    root: &Path,
    user: &User,
) -> Option<UserHistory> {
    let disk = context.disk;
    let folder = histories.folder_for(root);
    let watching = place::watching(&folder, &user.handle);
    let had_history = disk.stat(&watching).is_ok_and(|stat| stat.is_some());
    let folders = UserFolders::new(root, &user.handle).ok()?;
    let repository = place::repository(&folder, &user.handle);
    let opened = History::open_existing(disk, context.clock, repository);
    let (history, unreadable) = match opened {
        Ok(history) => (Some(history), None),
        Err(error) if user.has_history => (None, Some(CommandError::from(error).to_line())),
        Err(_) => (None, None),
    };
    // What was saved just now may still be on its way.
    let before = context.clock.now().checked_sub(ON_ITS_WAY).unwrap_or_else(|| context.clock.now());
    let unrecorded =
        history.as_ref().map_or(0, |history| unrecorded(history, disk, &folders, before).len());
    let below = [
        &folders.chats,
        &folders.group_chats,
        &folders.groups,
        &folders.characters,
        &folders.worlds,
    ];
    let outside =
        below.into_iter().filter_map(|folder| match folders.data_root.resolve(disk, folder) {
            Err(EscapesDataRoot::LeadsOutside { target, .. }) => {
                Some((folder.display().to_string(), target))
            }
            _ => None,
        });
    Some(UserHistory {
        has_history: user.has_history,
        is_watched: had_history && is_locked(disk, &watching),
        had_history,
        is_gone: !user.has_folder && history.is_some_and(|it| it.all_as_gone().is_some()),
        unrecorded,
        unreadable,
        outside: outside.collect(),
        user: user.handle.clone(),
    })
}

fn is_locked(disk: &dyn Disk, path: &Path) -> bool {
    let lock = UserLock::acquire(disk, path, Duration::ZERO, &|_| ());
    matches!(lock, Err(LockError { source: LockCause::Busy { .. }, .. }))
}

/// Why a folder, or its nearest existing ancestor, is not writable.
fn write_error(folder: &Path) -> Option<String> {
    let there = folder.ancestors().find(|folder| folder.is_dir())?;
    let tried = tempfile::Builder::new().prefix("forklore-doctor-").tempfile_in(there);
    tried.err().map(|error| error.to_string())
}

#[cfg(unix)]
fn has_other_owner(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let us = rustix::process::geteuid().as_raw();
    // Even a user with every permission, such as root, could create files that SillyTavern cannot
    // write.
    path.metadata().is_ok_and(|meta| meta.uid() != us)
}

#[cfg(not(unix))]
fn has_other_owner(_: &Path) -> bool {
    false
}

/// The output of `--version`, if the program is installed.
fn version_of(program: &str) -> Option<String> {
    let output = Command::new(program).arg("--version").stdin(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The major version: 20 in `v20.1.0`.
fn major(version: &str) -> Option<u32> {
    version.trim().trim_start_matches('v').split('.').next()?.parse().ok()
}

fn json_field(disk: &dyn Disk, path: &Path, field: &str) -> Option<String> {
    let json = Json::parse(&disk.read(path).ok()?).ok()?;
    json.get(field)?.as_str().map(|text| text.to_string())
}

/// The version of the extension, wherever it is installed.
fn extension(disk: &dyn Disk, install: &Path, root: &Path) -> Option<String> {
    let mut places = vec![install.join("public/scripts/extensions/third-party")];
    let users = disk.list(root).unwrap_or_default();
    places.extend(users.into_iter().map(|user| root.join(user).join("extensions")));
    places.iter().find_map(|place| {
        disk.list(place).unwrap_or_default().into_iter().find_map(|name| {
            let manifest = place.join(name).join("manifest.json");
            let is_ours = json_field(disk, &manifest, "display_name")? == "Forklore";
            is_ours.then(|| json_field(disk, &manifest, "version"))?
        })
    })
}

fn judge(facts: &Facts) -> Vec<Check> {
    let mut checks = Vec::new();
    let fine = |name, text: String| Check { name, verdict: Verdict::Fine, text, help: None };
    let wrong = |name, text: String, help: &str| Check {
        name,
        verdict: Verdict::Wrong,
        text,
        help: Some(help.to_owned()),
    };
    let advice =
        |name, text, help: &str| Check { verdict: Verdict::Advice, ..wrong(name, text, help) };
    let Some(data) = &facts.data else {
        let looked = facts.searched.join("; ");
        checks.push(wrong(
            "sillytavern",
            format!("SillyTavern's data was not found. Looked in: {looked}"),
            "Tell it where to look: forklore --data /path/to/SillyTavern/data doctor",
        ));
        if facts.read_error.is_some() {
            rights(facts, &mut checks, &fine, &wrong);
        }
        programs(facts, &mut checks, &fine, &wrong, &advice);
        return checks;
    };
    let version = facts.sillytavern.as_deref().map_or_else(String::new, |it| format!(" {it}"));
    checks.push(fine("sillytavern", format!("SillyTavern{version}, data in {}", data.display())));
    if !facts.others.is_empty() {
        let others: Vec<String> =
            facts.others.iter().map(|other| other.display().to_string()).collect();
        let text =
            format!("There is more than one SillyTavern here; not checked: {}", others.join(", "));
        checks.push(match facts.is_named {
            true => fine("others", text),
            false => {
                wrong("others", text, "Say which one is meant: --data /its/data, or FORKLORE_DATA")
            }
        });
    }
    match &facts.extension {
        Some(version) if version == env!("CARGO_PKG_VERSION") => {
            checks.push(fine("extension", format!("Extension {version} is installed.")));
        }
        Some(version) => checks.push(wrong(
            "extension",
            format!(
                "The extension is version {version}, this command {}.",
                env!("CARGO_PKG_VERSION")
            ),
            "Update the older of the two: the extension in SillyTavern, the command with `npm install -g forklore`.",
        )),
        None => checks.push(advice(
            "extension",
            "The extension is not installed: branches that are created in SillyTavern share their lorebooks.".to_owned(),
            "In SillyTavern: Extensions, Install extension, then the address from the README.",
        )),
    }
    rights(facts, &mut checks, &fine, &wrong);
    disks(facts, &mut checks, &fine, &wrong);
    history(facts, &mut checks, &fine, &wrong);
    programs(facts, &mut checks, &fine, &wrong, &advice);
    checks
}

type Fine<'a> = &'a dyn Fn(&'static str, String) -> Check;
type Wrong<'a> = &'a dyn Fn(&'static str, String, &str) -> Check;

fn rights(facts: &Facts, checks: &mut Vec<Check>, fine: Fine<'_>, wrong: Wrong<'_>) {
    let is_read_only = facts.disk.as_ref().is_some_and(|disk| disk.is_read_only);
    if let Some(why) = &facts.read_error {
        checks.push(wrong(
            "reading",
            format!("SillyTavern's files cannot be read: {why}"),
            "Run this as the user that SillyTavern runs as.",
        ));
    } else if let Some(why) = &facts.write_error {
        let help = match is_read_only {
            true => {
                "The disk is mounted read-only. Recording works; forking, merging and restoring do not."
            }
            false => "Run this as the user that SillyTavern runs as. Recording only needs to read.",
        };
        checks.push(wrong("writing", format!("The data folder cannot be written to: {why}"), help));
    } else if facts.has_other_owner {
        checks.push(wrong(
            "owner",
            "SillyTavern's files belong to another user. SillyTavern may not be able to open what is written now.".to_owned(),
            "Run this as the user that SillyTavern runs as; in Docker, use --user with the numbers of PUID and PGID.",
        ));
    } else {
        checks.push(fine("rights", "The data can be read and written.".to_owned()));
    }
}

fn disks(facts: &Facts, checks: &mut Vec<Check>, fine: Fine<'_>, wrong: Wrong<'_>) {
    let network = facts.disk.as_ref().filter(|disk| disk.is_network());
    if let Some(disk) = network {
        checks.push(wrong(
            "network",
            format!("The data is on a network disk ({}): what other machines save there is not reported to this one.", disk.kind),
            "Run `forklore watch` on the machine that SillyTavern runs on.",
        ));
    } else if facts.has_events == Some(true) {
        checks.push(fine("events", "The system reports when a file is saved.".to_owned()));
    } else if facts.has_events == Some(false) {
        checks.push(wrong(
            "events",
            "The system does not report when a file is saved here.".to_owned(),
            "`forklore watch` looks every ten seconds here and misses what is saved in between. On the machine that SillyTavern runs on, outside of a container, it misses nothing.",
        ));
    }
    let spaces =
        [("space", "data", &facts.disk), ("history-space", "histories", &facts.histories_disk)];
    for (name, what, disk) in spaces {
        let Some(free) = disk.as_ref().and_then(|disk| disk.free) else { continue };
        if free < MIN_FREE_BYTES {
            checks.push(wrong(
                name,
                format!("The disk of the {what} is nearly full: {} left.", bytes(free)),
                "Make room; SillyTavern itself loses chats on a full disk. `--history DIR` puts histories elsewhere.",
            ));
        }
    }
    let layer = facts.histories_disk.as_ref().filter(|disk| disk.is_container_layer());
    if facts.is_in_container && layer.is_some() {
        checks.push(wrong(
            "container",
            format!(
                "The histories would be inside the container and be lost with it: {}",
                facts.histories.display()
            ),
            "Mount a volume there, or name a folder on one: FORKLORE_HISTORY=/data-history",
        ));
    }
}

fn history(facts: &Facts, checks: &mut Vec<Check>, fine: Fine<'_>, wrong: Wrong<'_>) {
    if let Some(why) = &facts.histories_write_error {
        checks.push(wrong(
            "history-writing",
            format!("Nothing can be recorded in {}: {why}", facts.histories.display()),
            "Make that folder yours (`chown`), or choose another: --history DIR, or FORKLORE_HISTORY",
        ));
        return;
    }
    let are_many = facts.users.len() > 1;
    for found in &facts.users {
        for (folder, target) in &found.outside {
            checks.push(wrong(
                "outside",
                format!(
                    "{folder} leads out of the data folder, to {}: nothing in it is recorded or can be forked.",
                    target.display()
                ),
                "Forklore follows no links out of the data folder. Move the whole data folder there instead, and link or name that one: --data DIR",
            ));
        }
        checks.push(history_of(found, &facts.histories, are_many, fine, wrong));
    }
}

fn history_of(
    found: &UserHistory,
    histories: &Path,
    are_many: bool,
    fine: Fine<'_>,
    wrong: Wrong<'_>,
) -> Check {
    let user = &found.user;
    let files = count(found.unrecorded, "file that has changed is", "files that have changed are");
    if found.is_gone {
        let text = format!("The folder of {user} is gone. Its history is there.");
        return wrong("history", text, &folder_gone_hint(user));
    }
    if let Some(why) = &found.unreadable {
        let text = format!("The history of {user} cannot be read, so nothing is recorded: {why}");
        let repair = format!("`forklore --user {} history repair`", quoted(user));
        return wrong("history", text, &format!("{repair} saves what can be saved."));
    }
    match (found.has_history, found.is_watched) {
        (true, true) if found.unrecorded > 0 => {
            return wrong(
                "history",
                format!("{user} is being watched, but {files} not recorded."),
                &format!(
                    "Look at what it says: the disk of the histories may be full. `forklore --user {} record` tries again.",
                    quoted(user)
                ),
            );
        }
        (true, true) => {
            return fine("history", format!("{user}: everything that is saved is being recorded."));
        }
        _ => {}
    }
    let text = match (found.has_history, found.had_history) {
        (true, _) if found.unrecorded > 0 => {
            format!("{user} has a history, but nothing is recording now: {files} not recorded.")
        }
        (true, _) => format!("{user} has a history, but nothing is recording now."),
        (false, true) => {
            format!("{user} had a history in {}, but it is gone.", histories.display())
        }
        (false, false) => format!("{user} has no history yet."),
    };
    let help = match (found.has_history, found.had_history) {
        (false, true) => {
            "Restore it from a copy if there is one (`forklore history pull REMOTE`). Otherwise recording starts over."
        }
        _ if are_many => {
            "Start SillyTavern with `forklore run -- node server.js`, or run `forklore watch --all-users` beside it."
        }
        _ => {
            "Start SillyTavern with `forklore run -- node server.js`, or run `forklore watch` beside it."
        }
    };
    wrong("history", text, help)
}

fn programs(
    facts: &Facts,
    checks: &mut Vec<Check>,
    fine: Fine<'_>,
    wrong: Wrong<'_>,
    advice: Wrong<'_>,
) {
    match facts.node {
        Some(node) if node < MIN_NODE => checks.push(wrong(
            "node",
            format!("node {node} is too old for SillyTavern."),
            "Install node 20 or newer.",
        )),
        Some(node) => checks.push(fine("node", format!("node {node}"))),
        // SillyTavern may run elsewhere, such as in a container.
        None => {}
    }
    if facts.has_git {
        checks.push(fine("git", "git is installed, for copies elsewhere.".to_owned()));
    } else {
        checks.push(advice(
            "git",
            "git is not installed: `forklore history push` and `pull` do not work, everything else does.".to_owned(),
            "Install git if you want copies elsewhere; `forklore history bundle` does not need it.",
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Facts without any problem.
    fn fine() -> Facts {
        let disk = |kind: &str| {
            Some(Volume { kind: kind.to_owned(), is_read_only: false, free: Some(9_000_000_000) })
        };
        Facts {
            data: Some("/srv/SillyTavern/data".into()),
            sillytavern: Some("1.19.0".to_owned()),
            extension: Some(env!("CARGO_PKG_VERSION").to_owned()),
            users: vec![UserHistory {
                user: "default-user".to_owned(),
                has_history: true,
                had_history: true,
                is_watched: true,
                is_gone: false,
                unrecorded: 0,
                unreadable: None,
                outside: Vec::new(),
            }],
            disk: disk("ext4"),
            histories: "/srv/SillyTavern/data-history".into(),
            histories_disk: disk("ext4"),
            has_events: Some(true),
            node: Some(22),
            has_git: true,
            ..Facts::default()
        }
    }

    fn wrong(change: impl FnOnce(&mut Facts)) -> Vec<&'static str> {
        let mut facts = fine();
        change(&mut facts);
        let checks = judge(&facts);
        let is_fine = |check: &Check| check.verdict == Verdict::Fine;
        assert!(checks.iter().all(|check| is_fine(check) || check.help.is_some()));
        checks.into_iter().filter(|check| !is_fine(check)).map(|check| check.name).collect()
    }

    #[test]
    fn whatever_is_set_up_wrongly_is_named() {
        let nothing: [&str; 0] = [];
        assert_eq!(wrong(|_| ()), nothing);
        assert_eq!(wrong(|it| it.data = None), ["sillytavern"]);
        let forbidden = |it: &mut Facts| {
            it.data = None;
            it.read_error = Some("permission denied".to_owned());
        };
        assert_eq!(wrong(forbidden), ["sillytavern", "reading"]);
        assert_eq!(wrong(|it| it.others = vec!["/home/me/SillyTavern".into()]), ["others"]);
        let named = |it: &mut Facts| {
            it.others = vec!["/home/me/SillyTavern".into()];
            it.is_named = true;
        };
        assert_eq!(wrong(named), nothing);
        assert_eq!(
            wrong(|it| it.write_error = Some("read-only file system".to_owned())),
            ["writing"]
        );
        assert_eq!(wrong(|it| it.read_error = Some("permission denied".to_owned())), ["reading"]);
        assert_eq!(wrong(|it| it.has_other_owner = true), ["owner"]);
        assert_eq!(wrong(|it| it.extension = None), ["extension"]);
        assert_eq!(wrong(|it| it.extension = Some("0.0.1".to_owned())), ["extension"]);
        assert_eq!(wrong(|it| it.node = Some(16)), ["node"]);
        assert_eq!(wrong(|it| it.has_git = false), ["git"]);
        assert_eq!(wrong(|it| it.has_events = Some(false)), ["events"]);
        assert_eq!(
            wrong(|it| it.histories_write_error = Some("no".to_owned())),
            ["history-writing"]
        );
        let on = |disk: &mut Option<Volume>, kind: &str| {
            if let Some(disk) = disk {
                kind.clone_into(&mut disk.kind);
            }
        };
        assert_eq!(wrong(|it| on(&mut it.disk, "nfs4")), ["network"]);
        let full = |it: &mut Facts| {
            if let Some(disk) = &mut it.disk {
                disk.free = Some(1000);
            }
        };
        assert_eq!(wrong(full), ["space"]);
        let in_container = |it: &mut Facts| {
            it.is_in_container = true;
            on(&mut it.histories_disk, "overlay");
        };
        assert_eq!(wrong(in_container), ["container"]);
        assert_eq!(wrong(|it| it.users[0].is_watched = false), ["history"]);
        assert_eq!(wrong(|it| it.users[0].has_history = false), ["history"]);
        assert_eq!(wrong(|it| it.users[0].unrecorded = 1), ["history"]);
        assert_eq!(wrong(|it| it.users[0].is_gone = true), ["history"]);
        assert_eq!(wrong(|it| it.users[0].unreadable = Some("no".to_owned())), ["history"]);
        let elsewhere = ("chats".to_owned(), "/mnt/chats".into());
        assert_eq!(wrong(|it| it.users[0].outside.push(elsewhere)), ["outside"]);
    }

    #[test]
    fn what_prevents_nothing_is_advice() {
        let facts = Facts { extension: None, has_git: false, ..fine() };
        let checks = judge(&facts);
        let advice = checks.iter().filter(|check| check.verdict == Verdict::Advice);
        assert_eq!(advice.map(|check| check.name).collect::<Vec<_>>(), ["extension", "git"]);
        assert!(checks.iter().all(|check| check.verdict != Verdict::Wrong));
    }
}
