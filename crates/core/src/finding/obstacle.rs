//! Obstacles: why a fork is not possible.

use crate::recap::queue::PendingWork;
use crate::sillytavern::book::BookError;
use crate::sillytavern::chat::Damage;
use crate::timeline::exactness::{Allow, Exactness};

/// Why a fork is not possible, at least not under the given policy.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Obstacle {
    #[error("the chat has no messages")]
    NoMessages,
    #[error("there is no message {asked}; the last one is {last}")]
    NoSuchMessage { asked: i64, last: usize },
    #[error("{0}")]
    Damaged(Damage),
    /// These metadata keys, which a fork has to read, are nested too deeply.
    #[error("its metadata is nested too deeply to be read: {}", .0.join(", "))]
    MetadataTooDeep(Vec<String>),
    #[error("{}", work_words(.0))]
    QueueBusy(PendingWork),
    #[error("message {0} is not a scene break")]
    NotASceneBreak(usize),
    #[error("its lorebook {0:?} does not exist")]
    BookMissing(String),
    #[error("its lorebook {name:?} cannot be read: {error}")]
    BookUnreadable { name: String, error: BookError },
    #[error("{}", unknown_words(*.found))]
    NotKnownWellEnough { found: Exactness, allowed: Allow },
    #[error("the metadata is only known {0}")]
    MetadataNotExact(Exactness),
}

/// Something in the page that makes a message not final yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unfinished {
    #[error("the message is still being written")]
    Writing,
    /// A reply after the message, which SillyTavern drops when the child is opened.
    #[error("a reply is being written, and is lost if another chat is opened")]
    ReplyAfter,
    /// An earlier message is being edited, or the message itself.
    #[error("{}", match .0 {
        Some(earlier) => format!("message {earlier} is being edited"),
        None => "the message is being edited".to_owned(),
    })]
    BeingEdited(Option<usize>),
}

impl Unfinished {
    /// What is unfinished about `message`. `edited` is the first message up to it that is being
    /// edited; only the last message can still be written. `opens`: the child is opened at once.
    pub fn of(
        message: usize,
        last: usize,
        is_writing: bool,
        edited: Option<usize>,
        opens: bool,
    ) -> Vec<Self> {
        let writing = match is_writing {
            true if message == last => Some(Self::Writing),
            true if opens => Some(Self::ReplyAfter),
            _ => None,
        };
        let edited = edited.map(|edited| Self::BeingEdited((edited != message).then_some(edited)));
        writing.into_iter().chain(edited).collect()
    }
}

crate::diagnostics!(Unfinished {
    Self::Writing => ("still-writing"),
    Self::ReplyAfter => ("reply-being-written"),
    Self::BeingEdited(earlier) => ("being-edited", message: *earlier),
});

fn unknown_words(found: Exactness) -> String {
    match found {
        Exactness::Live => {
            "nothing recorded the lorebook at that message; it is only known as it is today".into()
        }
        other => format!("the lorebook is only known {other}"),
    }
}

fn work_words(work: &PendingWork) -> String {
    let mut parts: Vec<String> = work
        .runnable
        .iter()
        .map(|(status, count)| format!("{count} {}", status.replace('_', " ")))
        .collect();
    if work.pending_entries > 0 {
        parts.push(match work.pending_entries {
            1 => "1 lorebook entry under way".to_owned(),
            many => format!("{many} lorebook entries under way"),
        });
    }
    if parts.is_empty() {
        return "ST-Auto-Recap is working on an operation".into();
    }
    let queue = if work.is_paused {
        "the queue of ST-Auto-Recap is paused"
    } else {
        "ST-Auto-Recap has work in its queue"
    };
    format!("{queue}: {}", parts.join(", "))
}

crate::diagnostics!(Obstacle {
    Self::NoMessages => ("no-messages"),
    Self::NoSuchMessage { asked, last } => ("no-such-message", asked: *asked, last: *last),
    Self::Damaged(damage) => [damage: Damage],
    Self::MetadataTooDeep(keys) => ("metadata-too-deep", keys: keys.clone()),
    Self::QueueBusy(work) if work.is_paused => ("queue-paused", count: work.operations()),
    Self::QueueBusy(work) => ("queue-busy", count: work.operations()),
    Self::NotASceneBreak(message) => ("not-a-scene-break", message: *message),
    Self::BookMissing(name) => ("book-missing", name: name.as_str()),
    Self::BookUnreadable { name, error } => (
        "book-unreadable",
        name: name.as_str(),
        reason: error.coded().code,
    ),
    Self::NotKnownWellEnough { found, .. } => ("book-not-known", as_of: found.as_of()),
    Self::MetadataNotExact(found) => ("metadata-not-exact", as_of: found.as_of()),
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_messages_that_may_still_change_are_unfinished() {
        assert_eq!(Unfinished::of(3, 3, true, None, false), [Unfinished::Writing]);
        assert_eq!(Unfinished::of(2, 3, true, None, false), []);
        assert_eq!(Unfinished::of(2, 3, false, Some(2), false), [Unfinished::BeingEdited(None)]);
        assert_eq!(Unfinished::of(2, 3, true, Some(1), false), [Unfinished::BeingEdited(Some(1))]);
    }

    #[test]
    fn a_child_that_opens_costs_the_reply_that_is_being_written() {
        assert_eq!(Unfinished::of(2, 3, true, None, true), [Unfinished::ReplyAfter]);
        assert_eq!(Unfinished::of(3, 3, true, None, true), [Unfinished::Writing]);
        assert_eq!(Unfinished::of(2, 3, false, None, true), []);
    }
}
