//! Errors as shown to people: what failed, why, and what to do about it.

use std::error::Error;
use std::io;

use forklore_core::diagnostic::{Coded, Diagnostic};
use forklore_core::finding::Obstacle;
use forklore_core::plan::fork::Refusal;
use forklore_core::plan::repair::CannotRepair;
use forklore_core::sillytavern::names::NameError;
use forklore_core::timeline::exactness::{Allow, Exactness};
use forklore_history::HistoryError;
use forklore_history::exchange::bundle::BundleError;
use forklore_history::exchange::remote::RemoteError;
use forklore_history::query::versions::LookupError;
use forklore_history::restore::RestoreError;
use forklore_tavern::disk::data_root::EscapesDataRoot;
use forklore_tavern::disk::lock::{LockCause, LockError};
use forklore_tavern::folder::layout::UserFolders;
use forklore_tavern::folder::library::FindError;
use forklore_tavern::locate::root::{RootError, RootSource};
use forklore_tavern::locate::users::{ChooseError, UsersError};
use forklore_tavern::transaction::CommitError;
use forklore_tavern::work::change::ChangeError;
use forklore_tavern::work::compare::CompareError;
use forklore_tavern::work::fork::ForkError;
use forklore_tavern::work::merge::MergeError;
use forklore_tavern::work::tavern::ReadError;
use forklore_tavern::work::trash::TrashError;

use crate::exit::Exit;
use crate::json::{self, Json};
use crate::objection::Objection;
use crate::text::{Line, Style, command, quoted};
use crate::ui::Ui;

/// The hint for an operating system error, wherever it occurred.
fn os_hint(kind: io::ErrorKind) -> Option<&'static str> {
    match kind {
        io::ErrorKind::PermissionDenied => {
            Some("Run it as the user that SillyTavern runs as, or get read and write access there.")
        }
        io::ErrorKind::ReadOnlyFilesystem => {
            Some("That disk is read-only: Forklore can read it, but change nothing.")
        }
        io::ErrorKind::StorageFull => Some("Make room on that disk and try again."),
        _ => None,
    }
}

/// Why a command failed.
#[derive(Debug)]
pub(crate) struct CommandError {
    coded: Box<Coded>,
    message: String,
    causes: Vec<String>,
    hints: Vec<String>,
    /// Shown if there is no more specific hint.
    default_hint: Option<&'static str>,
}

impl CommandError {
    pub(crate) fn new(objection: Objection) -> Self {
        let (coded, message) = (Box::new(objection.coded()), objection.to_string());
        Self { coded, message, causes: Vec::new(), hints: Vec::new(), default_hint: None }
    }

    fn of(error: &(impl Error + Diagnostic)) -> Self {
        let mut causes = Vec::new();
        let mut default_hint = None;
        let mut source = error.source();
        while let Some(cause) = source {
            causes.push(cause.to_string());
            default_hint =
                default_hint.or_else(|| os_hint(cause.downcast_ref::<io::Error>()?.kind()));
            source = cause.source();
        }
        let (coded, message) = (Box::new(error.coded()), error.to_string());
        Self { coded, message, causes, hints: Vec::new(), default_hint }
    }

    fn hints(&self) -> impl Iterator<Item = &str> {
        let default_hint = self.default_hint.filter(|_| self.hints.is_empty());
        self.hints.iter().map(String::as_str).chain(default_hint)
    }

    pub(crate) fn hinted(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Makes this error the cause of a larger one.
    pub(crate) fn while_doing(mut self, message: impl Into<String>) -> Self {
        self.causes.insert(0, std::mem::replace(&mut self.message, message.into()));
        self
    }

    fn because(mut self, causes: impl IntoIterator<Item = String>) -> Self {
        self.causes.extend(causes);
        self
    }

    /// The message and its causes on one line.
    pub(crate) fn to_line(&self) -> String {
        let parts: Vec<&str> =
            [&self.message].into_iter().chain(&self.causes).map(String::as_str).collect();
        parts.join(": ")
    }

    pub(crate) fn to_json(&self, ui: &Ui<'_>) -> Json {
        Json::object([
            ("code", Json::from(self.coded.code)),
            ("values", Json::from(self.coded.values.clone())),
            ("message", Json::from(self.message.as_str())),
            ("causes", json::texts(&self.causes)),
            ("hints", json::texts(self.hints().map(|hint| ui.pasteable(hint)))),
        ])
    }

    /// Reports the error as the outcome of `command` and returns the exit code.
    pub(crate) fn finish(&self, ui: &mut Ui<'_>, command: &str) -> Exit {
        ui.answer(&json::answer(command, [("error", self.to_json(ui))]));
        self.report(ui);
        Exit::Failed
    }

    /// Prints the error for people.
    pub(crate) fn report(&self, ui: &mut Ui<'_>) {
        if ui.is_json() {
            return;
        }
        ui.note(Line::new().add(Style::Bad, "Error: ").plain(&self.message));
        for cause in &self.causes {
            ui.note(Line::new().dim("  because ").plain(cause));
        }
        for hint in self.hints() {
            ui.hint(hint);
        }
    }
}

impl From<RootError> for CommandError {
    fn from(error: RootError) -> Self {
        let looked = error
            .looked
            .iter()
            .map(|looked| format!("`{}` ({}): {}", looked.path.display(), looked.how, looked.why));
        // Folders without a SillyTavern are not places of their own.
        let is_given = error
            .looked
            .iter()
            .any(|place| matches!(place.how, RootSource::Flag | RootSource::ForkloreData));
        let searched = if is_given {
            ""
        } else {
            " No SillyTavern is in this folder, in the three above it, or in `~/SillyTavern`."
        };
        Self::of(&error).because(looked.collect::<Vec<_>>()).hinted(format!(
            "Use --data DIR, or set FORKLORE_DATA. It is the folder that contains `default-user`.{searched}",
        ))
    }
}

impl From<UsersError> for CommandError {
    fn from(error: UsersError) -> Self {
        Self::of(&error)
    }
}

impl From<ChooseError> for CommandError {
    fn from(error: ChooseError) -> Self {
        let hint = match &error {
            ChooseError::Nobody => {
                "Is this SillyTavern's data folder? Choose another with --data DIR.".to_owned()
            }
            ChooseError::FolderGone { handle } => folder_gone_hint(handle),
            ChooseError::Unknown { .. } | ChooseError::Several { .. } => {
                "Choose one with --user HANDLE.".to_owned()
            }
        };
        let gone = match &error {
            ChooseError::Several { gone, .. } => gone.as_slice(),
            _ => &[],
        };
        let gone = gone
            .iter()
            .map(|handle| format!("The folder of {handle} is gone; {}", folder_gone_hint(handle)));
        gone.fold(Self::of(&error).hinted(hint), Self::hinted)
    }
}

/// How to bring back what was recorded of a user whose folder is gone.
pub(crate) fn folder_gone_hint(handle: &str) -> String {
    let user = quoted(handle);
    format!("`forklore --user {user} rescue --all` brings back what was recorded.")
}

impl From<EscapesDataRoot> for CommandError {
    fn from(error: EscapesDataRoot) -> Self {
        Self::of(&error).hinted("Forklore never follows links out of SillyTavern's data folder.")
    }
}

impl From<FindError> for CommandError {
    fn from(error: FindError) -> Self {
        let (found, none) = match &error {
            FindError::Unknown { like, .. } => (like, "`forklore tree` lists every chat."),
            FindError::Ambiguous { found, .. } => (found, ""),
        };
        let hint = if found.is_empty() { none.to_owned() } else { did_you_mean(found) };
        Self::of(&error).hinted(hint)
    }
}

pub(crate) fn did_you_mean(names: &[String]) -> String {
    let names: Vec<String> = names.iter().map(|name| quoted(name)).collect();
    format!("Did you mean: {}?", names.join(", or "))
}

impl From<ReadError> for CommandError {
    fn from(error: ReadError) -> Self {
        Self::of(&error)
    }
}

impl From<Refusal> for CommandError {
    fn from(refusal: Refusal) -> Self {
        let mut error =
            Self::of(&refusal).because(refusal.obstacles.iter().map(ToString::to_string));
        for obstacle in &refusal.obstacles {
            error.hints.extend(hint_for(obstacle));
        }
        error.hints.dedup();
        error
    }
}

/// How to get past an obstacle.
pub(crate) fn hint_for(obstacle: &Obstacle) -> Option<String> {
    let hint = match obstacle {
        Obstacle::QueueBusy(_) => {
            "Wait until ST-Auto-Recap is done, or use --queue wait, or --queue drain to leave waiting work out of the child."
        }
        Obstacle::NotKnownWellEnough { found: Exactness::Live, .. } => {
            "--allow live accepts the lorebook as it is today."
        }
        Obstacle::NotKnownWellEnough { allowed: Allow::Exact, .. }
        | Obstacle::MetadataNotExact(_) => {
            "--allow snapshot accepts what is known, and says how well."
        }
        Obstacle::NotKnownWellEnough { .. } => return None,
        Obstacle::BookMissing(_) | Obstacle::BookUnreadable { .. } => {
            "`forklore repair CHAT --from ...` gives the chat its lorebook back; --without-book forks without one."
        }
        Obstacle::NotASceneBreak(_) => "Leave out --require-scene, or choose a scene break.",
        Obstacle::Damaged(_) => {
            "Save the file without the byte-order mark, or with its header, and try again. Forklore does not rewrite damaged chats."
        }
        Obstacle::NoMessages | Obstacle::NoSuchMessage { .. } | Obstacle::MetadataTooDeep(_) => {
            return None;
        }
    };
    Some(hint.to_owned())
}

impl From<ForkError> for CommandError {
    fn from(error: ForkError) -> Self {
        match error {
            ForkError::Read(error) => error.into(),
            ForkError::Refused(refusal) => refusal.into(),
            ForkError::CarryOut(error) => error.into(),
            ForkError::Name { source: NameError::WouldChange(ref stem), .. } => {
                let hint = format!("Use {stem:?} instead.");
                Self::of(&error).hinted(hint)
            }
            error => Self::of(&error),
        }
    }
}

impl From<ChangeError> for CommandError {
    fn from(error: ChangeError) -> Self {
        let hint = match &error {
            ChangeError::MayBeOpen { .. } => {
                "Open another chat in SillyTavern first, or close it. If no page has it open, add --closed."
            }
            ChangeError::Busy(_) => {
                "Let it finish in SillyTavern. With no page open, --closed goes on without it."
            }
            ChangeError::Cannot(CannotRepair::NoJournal(_) | CannotRepair::NoBookInJournal(_)) => {
                "Other sources: --from recap, --from book, --from empty, --from detach."
            }
            ChangeError::Cannot(CannotRepair::NoSnapshot(_)) => {
                "Other sources: --from journal, --from book, --from empty, --from detach."
            }
            ChangeError::Cannot(CannotRepair::NotRecorded { .. }) => {
                "Only what was recorded at the time can be brought back."
            }
            ChangeError::CarryOut(_) => match error {
                ChangeError::CarryOut(error) => return error.into(),
                other => return Self::of(&other),
            },
            _ => "",
        };
        let hint = hint.to_owned();
        let error = Self::of(&error);
        if hint.is_empty() { error } else { error.hinted(hint) }
    }
}

impl From<CompareError> for CommandError {
    fn from(error: CompareError) -> Self {
        match error {
            CompareError::Read(error) => error.into(),
            CompareError::BookMissing { .. }
            | CompareError::BookUnreadable { .. }
            | CompareError::NotKnown { .. } => Self::of(&error)
                .hinted("`forklore repair CHAT --from ...` gives the chat its lorebook back."),
            CompareError::NoSuchBook { ref like, .. } if !like.is_empty() => {
                let hint = did_you_mean(like);
                Self::of(&error).hinted(hint)
            }
            error @ (CompareError::Message { .. }
            | CompareError::NoSuchBook { .. }
            | CompareError::Unreadable { .. }) => Self::of(&error),
        }
    }
}

impl From<MergeError> for CommandError {
    fn from(error: MergeError) -> Self {
        let hint = match &error {
            MergeError::NoBook(chat) => format!(
                "Give it one first: {}, or --from book=NAME for a copy.",
                command("repair", chat, "--from empty")
            ),
            MergeError::OneBook { into, .. } => {
                let split = command("split", into, "");
                format!("There is nothing to merge. {split} gives it its own.")
            }
            MergeError::NothingThere(_) => return Self::of(&error),
            MergeError::Compare(_) | MergeError::Change(_) => match error {
                MergeError::Compare(error) => return error.into(),
                MergeError::Change(error) => return error.into(),
                other => return Self::of(&other),
            },
        };
        Self::of(&error).hinted(hint)
    }
}

impl From<CommitError> for CommandError {
    fn from(error: CommitError) -> Self {
        let hint = match &error {
            CommitError::Lock(LockError { source: LockCause::Busy { .. }, .. }) => {
                "Another forklore is running. Try again when it is done; there is never anything to unlock."
            }
            CommitError::ChangedMeanwhile { .. } | CommitError::PlanOutdated => {
                "SillyTavern is writing these files. Try again in a moment."
            }
            CommitError::RollbackFailed { .. } => "`forklore undo` reverts what had been done.",
            CommitError::LaterWork { .. } => {
                "Undoing would destroy that change, so nothing was done. `forklore trash` lists what was replaced or removed, and brings single files back."
            }
            _ => "",
        };
        let hint = hint.to_owned();
        let error = Self::of(&error);
        if hint.is_empty() { error } else { error.hinted(hint) }
    }
}

impl From<TrashError> for CommandError {
    fn from(error: TrashError) -> Self {
        match error {
            TrashError::CarryOut(error) => error.into(),
            TrashError::NoOrigin(_) => Self::of(&error).hinted(
                "It is a plain file below `_forklore` in the data folder; copy it from there.",
            ),
            TrashError::Unknown(_) => {
                Self::of(&error).hinted("`forklore trash` lists everything in it, with numbers.")
            }
            TrashError::InTheWay(_) => Self::of(&error)
                .hinted("Rename or remove that file first; the one in the trash is kept."),
        }
    }
}

const HISTORY_DAMAGED: &str = "`forklore history verify` shows what is damaged.";

const WHICH_MACHINE: &str = "The files that say so are damaged. `forklore history repair --machine NAME` goes on under one of these names, and `forklore history repair --machine new` under a new one.";

/// The path of the data folder, for messages.
pub(crate) fn data_folder(folders: &UserFolders) -> String {
    folders.data_root.root().display().to_string()
}

impl From<LookupError> for CommandError {
    fn from(error: LookupError) -> Self {
        let hint = match &error {
            LookupError::Unknown { like, .. } if like.is_empty() => {
                "`forklore log` shows what there is; `forklore record` adds what is new.".to_owned()
            }
            LookupError::Unknown { like: found, .. } | LookupError::Ambiguous { found, .. } => {
                did_you_mean(found)
            }
            LookupError::Lost { .. } => HISTORY_DAMAGED.to_owned(),
            LookupError::NoVersion { newest: 1, file, .. } => {
                format!("Version 1 is the only one; {} shows it.", command("log", file, ""))
            }
            LookupError::NoVersion { newest, file, .. } => {
                format!("{newest} is the newest; {} lists them.", command("log", file, ""))
            }
            LookupError::History(_) => match error {
                LookupError::History(error) => return error.into(),
                other => return Self::of(&other),
            },
        };
        Self::of(&error).hinted(hint)
    }
}

impl From<RestoreError> for CommandError {
    fn from(error: RestoreError) -> Self {
        let hint = match &error {
            RestoreError::InEveryPage { .. } => {
                "Close every page of SillyTavern first, then add --closed.".to_owned()
            }
            RestoreError::NotDeleted { file } => format!(
                "{} lists its versions, and {} brings one back.",
                command("log", file, ""),
                command("restore", file, "--version N")
            ),
            RestoreError::AlreadySo { .. } | RestoreError::Io { .. } => return Self::of(&error),
            RestoreError::History(_)
            | RestoreError::Mend(_)
            | RestoreError::CarryOut(_)
            | RestoreError::Outside(_) => match error {
                RestoreError::History(error) => return error.into(),
                RestoreError::Mend(error) => return error.into(),
                RestoreError::CarryOut(error) => return error.into(),
                RestoreError::Outside(error) => return error.into(),
                other => return Self::of(&other),
            },
        };
        Self::of(&error).hinted(hint)
    }
}

impl From<HistoryError> for CommandError {
    fn from(error: HistoryError) -> Self {
        let hint = match &error {
            HistoryError::NoHistory(_) => {
                "`forklore record` starts one, and `forklore watch` keeps it up to date."
            }
            HistoryError::WhichMachine(_) => WHICH_MACHINE,
            HistoryError::Lock(LockError { source: LockCause::Busy { .. }, .. }) => {
                "Another forklore is running. Try again when it is done; there is never anything to unlock."
            }
            HistoryError::Pack(_)
            | HistoryError::Missing(_)
            | HistoryError::Misshapen { .. }
            | HistoryError::LostRef(_)
            | HistoryError::Damaged(_)
            | HistoryError::NotOurs(_) => HISTORY_DAMAGED,
            HistoryError::Io { doing: "make", source, .. }
                if matches!(
                    source.kind(),
                    io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem
                ) =>
            {
                "The history is kept next to SillyTavern's data folder; --history DIR puts it elsewhere."
            }
            // The disk is full only where something is written, and only the history is written to.
            HistoryError::Io { source, .. } if source.kind() == io::ErrorKind::StorageFull => {
                "Make room there, or move the history to another disk and use --history DIR."
            }
            HistoryError::Io { .. } | HistoryError::Lock(_) | HistoryError::Collision(_) => "",
        };
        let hint = hint.to_owned();
        let error = Self::of(&error);
        if hint.is_empty() { error } else { error.hinted(hint) }
    }
}

impl From<RemoteError> for CommandError {
    fn from(error: RemoteError) -> Self {
        let hint = match &error {
            RemoteError::History(_) => "",
            RemoteError::NoGit => {
                "Install git, or copy the history with `forklore history bundle FILE` and `unbundle`, which do not need it."
            }
            RemoteError::NotARemote(_) => {
                "A remote is a folder, or any address that git accepts: git@host:stories.git"
            }
            RemoteError::NothingThere(_) => {
                "`forklore history push REMOTE --create` creates a repository there."
            }
            RemoteError::SomethingThere(_) => {
                "Leave out --create if it is a repository, or choose another folder."
            }
            RemoteError::Git { .. } => {
                "`git ls-remote` with the same address shows whether git can reach it."
            }
        };
        match error {
            RemoteError::History(error) => error.into(),
            error => Self::of(&error).hinted(hint),
        }
    }
}

impl From<BundleError> for CommandError {
    fn from(error: BundleError) -> Self {
        let hint = match &error {
            BundleError::History(_) => "",
            BundleError::NotABundle => "`forklore history bundle FILE` makes one.",
            BundleError::Needs(_) => {
                "Add the earlier bundles first, in the order in which they were made."
            }
            BundleError::Header | BundleError::Pack(_) | BundleError::Unsound(_) => {
                "Nothing was added. Copy the file again, or make a new bundle."
            }
        };
        match error {
            BundleError::History(error) => error.into(),
            error => Self::of(&error).hinted(hint),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forklore_tavern::locate::root::{RejectReason, RejectedPlace, RootSource};

    #[test]
    fn every_place_looked_at_is_told() {
        let looked = ["/here", "/there"].map(|path| RejectedPlace {
            path: path.into(),
            how: RootSource::Global,
            why: RejectReason::Absent,
        });
        let error = CommandError::from(RootError { looked: looked.into() });
        assert_eq!(error.causes.len(), 2);
        assert!(error.causes[0].contains("`/here`") && error.causes[1].contains("`/there`"));
    }

    #[test]
    fn a_history_that_cannot_be_written_says_what_helps() {
        let hints = |doing, kind: io::ErrorKind| {
            let path = "/data-history".into();
            let error = CommandError::from(HistoryError::Io { doing, path, source: kind.into() });
            error.hints().map(str::to_owned).collect::<Vec<_>>()
        };
        assert!(hints("make", io::ErrorKind::PermissionDenied)[0].contains("--history DIR"));
        assert!(hints("make", io::ErrorKind::ReadOnlyFilesystem)[0].contains("--history DIR"));
        assert!(hints("write to", io::ErrorKind::StorageFull)[0].contains("Make room"));
        // The path may be one of SillyTavern's files.
        assert!(hints("read", io::ErrorKind::PermissionDenied)[0].contains("as the user"));
    }
}
