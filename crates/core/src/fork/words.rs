//! What stands in the way of a fork, and what is worth saying about one.

use std::fmt;

use crate::book::BookError;
use crate::chat::Damage;
use crate::exactness::{Allow, Exactness};
use crate::recap::queue::Work;
use crate::references::Place;

/// Why a fork cannot be made, or not under this policy.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Obstacle {
    #[error("the chat has no messages")]
    NoMessages,
    #[error("there is no message {asked}; the last one is {last}")]
    NoSuchMessage { asked: i64, last: usize },
    #[error("{0}")]
    Damaged(Damage),
    /// These keys of the metadata, which a fork has to read, are nested too deep for it.
    #[error("its metadata cannot be read, because it is nested too deep: {}", .0.join(", "))]
    MetadataTooDeep(Vec<String>),
    #[error("{}", work_words(.0))]
    QueueBusy(Work),
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

fn unknown_words(found: Exactness) -> String {
    match found {
        Exactness::Live => {
            "nothing recorded the lorebook at that message; it is only known as it is today".into()
        }
        other => format!("the lorebook is only known {other}"),
    }
}

fn work_words(work: &Work) -> String {
    if work.unreadable {
        return "the queue of ST-Auto-Recap cannot be read".into();
    }
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
    format!("ST-Auto-Recap has work in its queue: {}", parts.join(", "))
}

/// Something about a fork that its owner should know.
#[derive(Clone, Debug, PartialEq)]
pub enum Remark {
    NoSceneRecap,
    NoRunningRecap,
    /// The running recap ends before this message.
    NotInRunningRecap,
    NotASceneBreak,
    /// These keys hold today's values.
    MetadataIsLive(Vec<String>),
    /// Other extensions keep these keys, which hold today's values.
    OthersAreLive(Vec<String>),
    /// Other extensions keep these on the messages, which are copied as they are today.
    MessagesAreLive(Vec<String>),
    RecapLostFields(usize),
    FieldsFilled(usize),
    SnapshotOfAnotherBook(String),
    BookIsLive,
    /// The copy of the book that Memory Books keeps beside the chat's own is of today.
    MemoriesAreLive(String),
    WithoutBook(String),
    ByteOrderMarkDropped,
    RunningVersionsDropped(usize),
    CombinedRecapDropped,
    QueueDrained,
    PastQueueDrained,
    FailedOperations(usize),
    StaleEntries(usize),
    DamagedLines(Vec<usize>),
    /// Other chats are bound to the book that was written.
    AlsoUsedBy(Vec<String>),
    /// SillyTavern does not scan a chat's book that is also selected elsewhere.
    AlsoSelected(Place),
}

impl fmt::Display for Remark {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSceneRecap => out.write_str("this message has no scene recap"),
            Self::NoRunningRecap => out.write_str("there is no running recap"),
            Self::NotInRunningRecap => out.write_str("the running recap ends before this message"),
            Self::NotASceneBreak => out.write_str("this message is not a scene break"),
            Self::MetadataIsLive(keys) => write!(
                out,
                "could not be brought back in time, so as it is today: {}",
                in_sillytaverns_words(keys).join(", ")
            ),
            Self::OthersAreLive(keys) => write!(
                out,
                "not recorded for this message, so as it is today: what other extensions keep ({})",
                keys.join(", ")
            ),
            Self::MessagesAreLive(keys) => write!(
                out,
                "as it is today: what other extensions keep on the messages ({})",
                keys.join(", ")
            ),
            Self::RecapLostFields(entries) => write!(
                out,
                "{} from a recap snapshot, which does not keep secondary keys, filters, delays and other settings",
                entries_come(*entries)
            ),
            Self::FieldsFilled(entries) => write!(
                out,
                "{} from a recap snapshot; what it does not keep was taken from today's lorebook",
                entries_come(*entries)
            ),
            Self::SnapshotOfAnotherBook(name) => {
                write!(out, "the recap snapshot was taken of another lorebook, {name:?}")
            }
            Self::BookIsLive => out.write_str("the lorebook is as it is today, not as it was then"),
            Self::MemoriesAreLive(name) => write!(
                out,
                "the memory book {name:?} was copied as it is today, without memories of later messages"
            ),
            Self::WithoutBook(name) => {
                write!(out, "its lorebook {name:?} could not be brought along: it has none now")
            }
            Self::ByteOrderMarkDropped => {
                out.write_str("the lorebook began with a byte-order mark, which SillyTavern cannot read; the copy has none")
            }
            Self::RunningVersionsDropped(1) => {
                out.write_str("a later version of the running recap was left out")
            }
            Self::RunningVersionsDropped(count) => {
                write!(out, "{count} later versions of the running recap were left out")
            }
            Self::CombinedRecapDropped => {
                out.write_str("the combined recap covers later messages and was left out")
            }
            Self::QueueDrained => out.write_str("waiting operations were left out of its queue"),
            Self::PastQueueDrained => {
                out.write_str("operations that were waiting at that time were left out of its queue")
            }
            Self::FailedOperations(1) => out.write_str("an operation in the queue has failed"),
            Self::FailedOperations(count) => {
                write!(out, "{count} operations in the queue have failed")
            }
            Self::StaleEntries(1) => {
                out.write_str("ST-Auto-Recap has left over a lorebook entry that it is not working on")
            }
            Self::StaleEntries(count) => {
                write!(out, "ST-Auto-Recap has left over {count} lorebook entries that it is not working on")
            }
            Self::DamagedLines(lines) => {
                let lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
                write!(out, "lines that SillyTavern cannot read were copied as they are: {}", lines.join(", "))
            }
            Self::AlsoUsedBy(chats) => {
                write!(out, "other chats use this lorebook too: {}", chats.join(", "))
            }
            Self::AlsoSelected(place) => {
                out.write_str("the lorebook is also selected ")?;
                match place {
                    Place::Persona(_) => out.write_str("for a persona")?,
                    Place::CharacterLore(name) => write!(out, "for the character {name:?}")?,
                    Place::Card(name) => write!(out, "on the card of {name:?}")?,
                    _ => out.write_str("for all chats")?,
                }
                out.write_str(", so both copies can be active in the child")
            }
        }
    }
}

/// Keys of the metadata as SillyTavern's pages call them.
fn in_sillytaverns_words(keys: &[String]) -> Vec<&str> {
    let mut words: Vec<&str> = Vec::new();
    for key in keys {
        let word = match key.as_str() {
            "variables" => "chat variables",
            "timedWorldInfo" => "running lorebook effects",
            "scenario" | "mes_example" | "system_prompt" => "the chat's own scenario and prompts",
            "persona" => "the persona locked to the chat",
            "pick_reroll_seed" => "the seed of the pick macro",
            "custom_background" | "chat_backgrounds" => "backgrounds",
            "script_injects" => "injected prompts",
            "attachments" => "attachments",
            "quickReply" => "quick replies",
            "narrator_name" => "the narrator's name",
            note if note.starts_with("note_") => "the author's note",
            cfg if cfg.starts_with("cfg_") => "CFG settings",
            other => other,
        };
        if !words.contains(&word) {
            words.push(word);
        }
    }
    words
}

fn entries_come(entries: usize) -> String {
    match entries {
        1 => "an entry comes".to_owned(),
        many => format!("{many} entries come"),
    }
}

crate::sayings!(Obstacle {
    Self::NoMessages => ("no-messages"),
    Self::NoSuchMessage { asked, last } => ("no-such-message", asked: *asked, last: *last),
    Self::Damaged(damage) => [damage: Damage],
    Self::MetadataTooDeep(keys) => ("metadata-too-deep", keys: keys.clone()),
    Self::QueueBusy(work) if work.unreadable => ("queue-unreadable"),
    Self::QueueBusy(work) => ("queue-busy", count: work.operations().max(1)),
    Self::NotASceneBreak(message) => ("not-a-scene-break", message: *message),
    Self::BookMissing(name) => ("book-missing", name: name.as_str()),
    Self::BookUnreadable { name, error } => (
        "book-unreadable",
        name: name.as_str(),
        reason: error.said().code,
    ),
    Self::NotKnownWellEnough { found, .. } => ("book-not-known", as_of: found.as_of()),
    Self::MetadataNotExact(found) => ("metadata-not-exact", as_of: found.as_of()),
});

crate::sayings!(Remark {
    Self::NoSceneRecap => ("no-scene-recap"),
    Self::NoRunningRecap => ("no-running-recap"),
    Self::NotInRunningRecap => ("not-in-running-recap"),
    Self::NotASceneBreak => ("not-scene-break"),
    Self::MetadataIsLive(keys) => ("metadata-live", keys: keys.clone()),
    Self::OthersAreLive(keys) => ("others-live", keys: keys.clone()),
    Self::MessagesAreLive(keys) => ("messages-live", keys: keys.clone()),
    Self::RecapLostFields(entries) => ("recap-lost-fields", count: *entries),
    Self::FieldsFilled(entries) => ("fields-filled", count: *entries),
    Self::SnapshotOfAnotherBook(name) => ("snapshot-of-another", name: name.as_str()),
    Self::BookIsLive => ("book-live"),
    Self::MemoriesAreLive(name) => ("memories-live", name: name.as_str()),
    Self::WithoutBook(name) => ("without-book", name: name.as_str()),
    Self::ByteOrderMarkDropped => ("bom-dropped"),
    Self::RunningVersionsDropped(versions) => ("running-dropped", count: *versions),
    Self::CombinedRecapDropped => ("combined-dropped"),
    Self::QueueDrained => ("queue-drained"),
    Self::PastQueueDrained => ("past-queue-drained"),
    Self::FailedOperations(operations) => ("failed-operations", count: *operations),
    Self::StaleEntries(entries) => ("stale-entries", count: *entries),
    Self::DamagedLines(lines) => ("damaged-lines", lines: lines.clone()),
    Self::AlsoUsedBy(chats) => ("also-used", chats: chats.clone()),
    Self::AlsoSelected(place) => ("also-selected", place: place.said().to_json()),
});
