//! Findings: what verification reports about a timeline.

use std::fmt;

use crate::recap::queue::PastTheEnd;
use crate::recap::registry::RegistryFlaw;
use crate::sillytavern::book::BookError;
use crate::sillytavern::chat::Damage;

/// Something found when verifying a timeline: a problem, or a note.
#[derive(Clone, Debug, PartialEq)]
pub enum Finding {
    Damage(Damage),
    BookMissing(String),
    BookUnreadable {
        name: String,
        error: BookError,
    },
    /// SillyTavern cannot read it, although Forklore can.
    BookWithByteOrderMark(String),
    /// Other timelines of the family are bound to the same book.
    BookShared {
        name: String,
        with: Vec<String>,
    },
    /// Chats of other families are bound to the same book, perhaps on purpose.
    BookUsedElsewhere {
        name: String,
        by: Vec<String>,
    },
    /// It has no book, because this one of its parent could not be copied when it was made.
    BookFailed(String),
    /// It has no book, because it was made without a copy of this one.
    BookLeftOut(String),
    /// Memory Books keeps the memories of other timelines of the family in the same book.
    MemoriesShared {
        name: String,
        with: Vec<String>,
    },
    /// Its own book replaces this one, which belongs to a character, a persona or all chats.
    LeavesOut(String),
    /// The same, but it has no book of its own, so nothing is left out.
    LeavesOutNothing(String),
    /// It is bound to a different book than when it was forked.
    AnotherBook {
        sealed: String,
        bound: Option<String>,
    },
    /// It has fewer messages than when it was forked.
    CutShort {
        sealed: usize,
        messages: usize,
    },
    /// The book has changed, although there are no new messages since the fork.
    BookEdited {
        sealed: usize,
        entries: usize,
    },
    RunningVersionMissing(i64),
    /// The version named in the seal is gone, or the whole recap is.
    RunningVersionGone {
        version: i64,
        /// ST-Auto-Recap's own buttons, or playing on, can have removed it.
        is_plausible: bool,
    },
    /// The content of the version named in the seal has changed.
    RunningVersionChanged(i64),
    /// Another version is current, although there are no new messages since the fork.
    AnotherRunningVersion {
        sealed: i64,
        current: Option<i64>,
    },
    /// A version refers to a scene that the chat does not have.
    RunningVersionPastTheEnd {
        version: i64,
        scene: usize,
    },
    CombinedRecapChanged {
        sealed: usize,
        found: Option<usize>,
    },
    Registry(RegistryFlaw),
    QueuePastTheEnd(PastTheEnd),
    ParentMissing(String),
    Cycle(String),
    /// It was made before Forklore, or by hand, so there is nothing to check it against.
    NoSeal,
    /// A group chat that no group lists; SillyTavern does not show it.
    Unlisted,
}

impl Finding {
    /// Whether this is a problem rather than a note.
    pub fn is_problem(&self) -> bool {
        !matches!(
            self,
            Self::AnotherBook { .. }
                | Self::BookUsedElsewhere { .. }
                | Self::BookLeftOut(_)
                | Self::MemoriesShared { .. }
                | Self::LeavesOut(_)
                | Self::BookEdited { .. }
                | Self::RunningVersionGone { is_plausible: true, .. }
                | Self::RunningVersionChanged(_)
                | Self::AnotherRunningVersion { .. }
                | Self::Registry(RegistryFlaw::AnotherName { .. })
                | Self::CombinedRecapChanged { .. }
                | Self::ParentMissing(_)
                | Self::NoSeal
        )
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Damage(damage) => damage.fmt(out),
            Self::BookMissing(name) => write!(out, "its lorebook {name:?} does not exist"),
            Self::BookUnreadable { name, error } => {
                write!(out, "its lorebook {name:?} cannot be read: {error}")
            }
            Self::BookWithByteOrderMark(name) => write!(
                out,
                "its lorebook {name:?} begins with a byte-order mark; SillyTavern cannot read it"
            ),
            Self::BookShared { name, with } => {
                write!(out, "shares its lorebook {name:?} with {}", quoted(with))
            }
            Self::BookUsedElsewhere { name, by } => {
                write!(out, "its lorebook {name:?} is also used by {}", quoted(by))
            }
            Self::BookFailed(name) => write!(
                out,
                "has no lorebook: {name:?} could not be copied for it when it was made"
            ),
            Self::BookLeftOut(name) => {
                write!(out, "has no lorebook: it was made without a copy of {name:?}")
            }
            Self::MemoriesShared { name, with } => {
                write!(out, "shares its memory book {name:?} with {}", quoted(with))
            }
            Self::LeavesOut(name) => {
                write!(out, "leaves out {name:?}, which its own copy replaces")
            }
            Self::LeavesOutNothing(name) => {
                write!(out, "has no lorebook: its own copy of {name:?} is missing, so the shared one is used")
            }
            Self::AnotherBook { sealed, bound: Some(bound) } => {
                write!(out, "was made with the lorebook {sealed:?} but is bound to {bound:?} now")
            }
            Self::AnotherBook { sealed, bound: None } => {
                write!(out, "was made with the lorebook {sealed:?} but is bound to none now")
            }
            Self::CutShort { sealed, messages } => write!(
                out,
                "was made with messages 0 to {sealed} but has only {messages} of them now"
            ),
            Self::BookEdited { sealed, entries } => write!(
                out,
                "its lorebook was edited after the fork, before any new message ({sealed} entries then, {entries} now)"
            ),
            Self::RunningVersionMissing(version) => {
                write!(out, "its running recap has no version {version}, though that one is in use")
            }
            Self::RunningVersionGone { version, .. } => {
                write!(
                    out,
                    "version {version} of its running recap, which it was made with, is gone"
                )
            }
            Self::RunningVersionChanged(version) => {
                write!(
                    out,
                    "version {version} of its running recap is not the one it was made with"
                )
            }
            Self::AnotherRunningVersion { sealed, current: Some(current) } => write!(
                out,
                "version {current} of its running recap is in use; it was made with {sealed}"
            ),
            Self::AnotherRunningVersion { sealed, current: None } => {
                write!(out, "no version of its running recap is in use; it was made with {sealed}")
            }
            Self::RunningVersionPastTheEnd { version, scene } => write!(
                out,
                "version {version} of its running recap is about message {scene}, which it does not have"
            ),
            Self::CombinedRecapChanged { sealed, found } => match found {
                Some(found) => {
                    write!(out, "its combined recap covers {found} messages, not {sealed}")
                }
                None => write!(out, "its combined recap of {sealed} messages is gone"),
            },
            Self::Registry(flaw) => flaw.fmt(out),
            Self::QueuePastTheEnd(found) => write!(
                out,
                "a waiting operation ({}) points at message {}, which the chat does not have",
                found.operation, found.message
            ),
            Self::ParentMissing(name) => write!(out, "its parent {name:?} is missing"),
            Self::Cycle(name) => write!(out, "its parent {name:?} descends from itself"),
            Self::NoSeal => {
                out.write_str(
                    "nothing was recorded when it was made: before Forklore, without it, or by a fork that failed",
                )
            }
            Self::Unlisted => {
                out.write_str("no group lists this chat, so SillyTavern does not show it")
            }
        }
    }
}

fn quoted(names: &[String]) -> String {
    names.iter().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ")
}

crate::diagnostics!(Finding {
    Self::Damage(damage) => [damage: Damage],
    Self::BookMissing(name) => ("book-missing", name: name.as_str()),
    Self::BookUnreadable { name, error } => (
        "book-unreadable",
        name: name.as_str(),
        reason: error.coded().code,
    ),
    Self::BookWithByteOrderMark(name) => ("book-bom", name: name.as_str()),
    Self::BookShared { name, with } => ("book-shared", name: name.as_str(), with: with.clone()),
    Self::BookUsedElsewhere { name, by } => (
        "book-elsewhere",
        name: name.as_str(),
        by: by.clone(),
    ),
    Self::BookFailed(name) => ("book-failed", name: name.as_str()),
    Self::BookLeftOut(name) => ("book-left-out", name: name.as_str()),
    Self::MemoriesShared { name, with } => (
        "memories-shared",
        name: name.as_str(),
        with: with.clone(),
    ),
    Self::LeavesOut(name) => ("leaves-out", name: name.as_str()),
    Self::LeavesOutNothing(name) => ("leaves-out-nothing", name: name.as_str()),
    Self::AnotherBook { sealed, bound } => (
        "another-book",
        sealed: sealed.as_str(),
        bound: bound.clone(),
    ),
    Self::CutShort { sealed, messages } => ("cut-short", sealed: *sealed, messages: *messages),
    Self::BookEdited { sealed, entries } => ("book-edited", sealed: *sealed, entries: *entries),
    Self::RunningVersionMissing(version) => ("running-missing", version: *version),
    Self::RunningVersionGone { version, .. } => ("running-gone", version: *version),
    Self::RunningVersionChanged(version) => ("running-changed", version: *version),
    Self::AnotherRunningVersion { sealed, current } => (
        "running-another",
        sealed: *sealed,
        current: *current,
    ),
    Self::RunningVersionPastTheEnd { version, scene } => (
        "running-past-the-end",
        version: *version,
        message: *scene,
    ),
    Self::CombinedRecapChanged { sealed, found } => (
        "combined-changed",
        sealed: *sealed,
        found: *found,
    ),
    Self::Registry(flaw) => [flaw: RegistryFlaw],
    Self::QueuePastTheEnd(found) => (
        "queue-past-end",
        operation: found.operation.as_str(),
        message: found.message,
    ),
    Self::ParentMissing(name) => ("parent-missing", name: name.as_str()),
    Self::Cycle(name) => ("cycle", name: name.as_str()),
    Self::NoSeal => ("no-seal"),
    Self::Unlisted => ("unlisted"),
});
