//! Remarks: what the user should know about a fork or a repair.

use std::fmt;

use crate::finding::Obstacle;
use crate::timeline::references::ReferencePlace;

/// Why a child has no copy of its parent's lorebook. Of several reasons, the first counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum WithoutBook {
    /// ST-Auto-Recap had this many operations left.
    Busy(usize),
    /// The same, and the user had paused its queue.
    Paused(usize),
    NotASceneBreak,
    Missing,
    Unreadable,
    /// The book was not recorded well enough.
    NotKnown,
    /// The metadata was not recorded well enough.
    MetadataNotKnown,
    /// The user was asked, and gave no answer.
    NotAnswered,
    Chosen,
}

impl WithoutBook {
    /// `None` if even a child without a book has this obstacle.
    pub fn of(obstacle: &Obstacle) -> Option<Self> {
        match obstacle {
            Obstacle::QueueBusy(work) if work.is_paused => Some(Self::Paused(work.operations())),
            Obstacle::QueueBusy(work) => Some(Self::Busy(work.operations())),
            Obstacle::NotASceneBreak(_) => Some(Self::NotASceneBreak),
            Obstacle::BookMissing(_) => Some(Self::Missing),
            Obstacle::BookUnreadable { .. } => Some(Self::Unreadable),
            Obstacle::NotKnownWellEnough { .. } => Some(Self::NotKnown),
            Obstacle::MetadataNotExact(_) => Some(Self::MetadataNotKnown),
            Obstacle::NoMessages
            | Obstacle::NoSuchMessage { .. }
            | Obstacle::Damaged(_)
            | Obstacle::MetadataTooDeep(_) => None,
        }
    }

    pub fn word(self) -> &'static str {
        match self {
            Self::Busy(_) => "busy",
            Self::Paused(_) => "paused",
            Self::NotASceneBreak => "not-scene-break",
            Self::Missing => "missing",
            Self::Unreadable => "unreadable",
            Self::NotKnown => "not-known",
            Self::MetadataNotKnown => "metadata-not-known",
            Self::NotAnswered => "not-answered",
            Self::Chosen => "chosen",
        }
    }

    /// The inverse of [`word`](Self::word) and [`operations`](Self::operations).
    pub fn from_words(word: &str, operations: usize) -> Option<Self> {
        [
            Self::Busy(operations),
            Self::Paused(operations),
            Self::NotASceneBreak,
            Self::Missing,
            Self::Unreadable,
            Self::NotKnown,
            Self::MetadataNotKnown,
            Self::NotAnswered,
            Self::Chosen,
        ]
        .into_iter()
        .find(|why| why.word() == word)
    }

    /// How many operations were left, if that was the reason.
    pub fn operations(self) -> Option<usize> {
        match self {
            Self::Busy(operations) | Self::Paused(operations) => Some(operations),
            _ => None,
        }
    }
}

impl fmt::Display for WithoutBook {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let left = |operations: &usize| match operations {
            1 => "1 operation left".to_owned(),
            many => format!("{many} operations left"),
        };
        match self {
            Self::Busy(operations) => {
                write!(out, ": ST-Auto-Recap was still working, with {}", left(operations))
            }
            Self::Paused(operations) => {
                write!(out, ": the queue of ST-Auto-Recap is paused, with {}", left(operations))
            }
            Self::NotASceneBreak => out.write_str(": the message is not a scene break"),
            Self::Missing => out.write_str(": it does not exist"),
            Self::Unreadable => out.write_str(": it cannot be read"),
            Self::NotKnown => out.write_str(": it was not recorded at that message"),
            Self::MetadataNotKnown => {
                out.write_str(": the rest of the metadata was not recorded at that message")
            }
            Self::NotAnswered => out.write_str(": the question about it was not answered"),
            Self::Chosen => out.write_str(", as you chose"),
        }
    }
}

/// Something that the user should know about a fork.
#[derive(Clone, Debug, PartialEq)]
pub enum Remark {
    NoSceneRecap,
    NoRunningRecap,
    /// The running recap ends before this message.
    NotInRunningRecap,
    NotASceneBreak,
    /// These keys have today's values.
    MetadataIsLive(Vec<String>),
    /// These keys of other extensions have today's values.
    OthersAreLive(Vec<String>),
    /// These keys of other extensions had values that were too large to record, and are gone today.
    OthersAreLost(Vec<String>),
    /// The messages have data of other extensions under these keys, which is copied as it is today.
    MessagesAreLive(Vec<String>),
    RecapLostFields(usize),
    FieldsFilled(usize),
    SnapshotOfAnotherBook(String),
    BookIsLive,
    /// The page's copy of this book was not what its file holds, or was made from something else.
    PageIsBehind(String),
    /// There was no book, as of this message.
    NoBookAsOf {
        message: usize,
        /// Whether that is the message of the fork.
        here: bool,
    },
    /// The child has its own copy of this book of the character.
    OwnCopy(String),
    /// The child shares this book with all chats of the character.
    SharesBook(String),
    /// A book that Memory Books names was copied as it is today.
    MemoriesAreLive(String),
    /// A book that Memory Books names was not copied.
    MemoriesLeft(String),
    WithoutBook(String, WithoutBook),
    ByteOrderMarkDropped,
    RunningVersionsDropped(usize),
    CombinedRecapDropped,
    QueueDrained,
    PastQueueDrained,
    FailedOperations(usize),
    StaleEntries(usize),
    DamagedLines(Vec<usize>),
    /// Other chats are bound to the book that was written to.
    AlsoUsedBy(Vec<String>),
    /// The book is also selected elsewhere; SillyTavern does not scan such a book as the chat's
    /// own.
    AlsoSelected(ReferencePlace),
}

impl Remark {
    /// Whether it means nothing to someone who does not use ST-Auto-Recap.
    pub fn is_about_recaps(&self) -> bool {
        matches!(
            self,
            Self::RunningVersionsDropped(_)
                | Self::CombinedRecapDropped
                | Self::QueueDrained
                | Self::PastQueueDrained
        )
    }
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
                "could not be restored to this message, so as it is today: {}",
                in_sillytaverns_words(keys).join(", ")
            ),
            Self::OthersAreLive(keys) => write!(
                out,
                "not recorded for this message, so as it is today: what other extensions keep ({})",
                keys.join(", ")
            ),
            Self::OthersAreLost(keys) => write!(
                out,
                "too large to be recorded for this message, and gone today: what other extensions keep ({})",
                keys.join(", ")
            ),
            Self::MessagesAreLive(keys) => write!(
                out,
                "as it is today: what other extensions keep on the messages ({})",
                keys.join(", ")
            ),
            Self::RecapLostFields(entries) => write!(
                out,
                "{} from a recap snapshot, which does not keep secondary keys, filters, delays or other settings",
                entries_come(*entries)
            ),
            Self::FieldsFilled(entries) => write!(
                out,
                "{} from a recap snapshot; what it does not keep was taken from today's lorebook",
                entries_come(*entries)
            ),
            Self::SnapshotOfAnotherBook(name) => {
                write!(out, "the recap snapshot is of another lorebook, {name:?}")
            }
            Self::BookIsLive => out.write_str("the lorebook is as it is today, not as it was then"),
            Self::PageIsBehind(name) => write!(
                out,
                "this page and the file did not hold the same version of the lorebook {name:?}: another tab or device may have changed it"
            ),
            Self::NoBookAsOf { here: true, .. } => {
                out.write_str("there was no lorebook, as last seen at this message")
            }
            Self::NoBookAsOf { message, here: false } => {
                write!(out, "there was no lorebook, as of message {message}")
            }
            Self::OwnCopy(name) => write!(
                out,
                "it has its own copy of the lorebook {name:?}, as that is today"
            ),
            Self::SharesBook(name) => {
                write!(out, "it shares the lorebook {name:?} with all chats of its character")
            }
            Self::MemoriesAreLive(name) => write!(
                out,
                "the memory book {name:?} was copied as it is today, without memories of later messages"
            ),
            Self::MemoriesLeft(name) => {
                write!(out, "the memory book {name:?} could not be copied, so it does not use one in its place")
            }
            Self::WithoutBook(name, why) => {
                write!(out, "the lorebook {name:?} was not copied{why}")
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
                out.write_str("ST-Auto-Recap left behind a lorebook entry that it is not working on")
            }
            Self::StaleEntries(count) => {
                write!(out, "ST-Auto-Recap left behind {count} lorebook entries that it is not working on")
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
                    ReferencePlace::Persona(_) => out.write_str("for a persona")?,
                    ReferencePlace::CharacterLore(name) => write!(out, "for the character {name:?}")?,
                    ReferencePlace::Card(name) => write!(out, "on the card of {name:?}")?,
                    _ => out.write_str("for all chats")?,
                }
                out.write_str(", so both copies can be active in the child")
            }
        }
    }
}

/// Metadata keys in the words of SillyTavern's user interface.
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

crate::diagnostics!(Remark {
    Self::NoSceneRecap => ("no-scene-recap"),
    Self::NoRunningRecap => ("no-running-recap"),
    Self::NotInRunningRecap => ("not-in-running-recap"),
    Self::NotASceneBreak => ("not-scene-break"),
    Self::MetadataIsLive(keys) => ("metadata-live", keys: keys.clone()),
    Self::OthersAreLive(keys) => ("others-live", keys: keys.clone()),
    Self::OthersAreLost(keys) => ("others-lost", keys: keys.clone()),
    Self::MessagesAreLive(keys) => ("messages-live", keys: keys.clone()),
    Self::RecapLostFields(entries) => ("recap-lost-fields", count: *entries),
    Self::FieldsFilled(entries) => ("fields-filled", count: *entries),
    Self::SnapshotOfAnotherBook(name) => ("snapshot-of-another", name: name.as_str()),
    Self::BookIsLive => ("book-live"),
    Self::PageIsBehind(name) => ("page-behind", name: name.as_str()),
    Self::NoBookAsOf { message, here } => ("no-book-as-of", as_of: *message, here: *here),
    Self::OwnCopy(name) => ("own-copy", name: name.as_str()),
    Self::SharesBook(name) => ("shares-book", name: name.as_str()),
    Self::MemoriesAreLive(name) => ("memories-live", name: name.as_str()),
    Self::MemoriesLeft(name) => ("memories-left", name: name.as_str()),
    Self::WithoutBook(name, why) => (
        "without-book",
        name: name.as_str(),
        why: why.word(),
        count: why.operations(),
    ),
    Self::ByteOrderMarkDropped => ("bom-dropped"),
    Self::RunningVersionsDropped(versions) => ("running-dropped", count: *versions),
    Self::CombinedRecapDropped => ("combined-dropped"),
    Self::QueueDrained => ("queue-drained"),
    Self::PastQueueDrained => ("past-queue-drained"),
    Self::FailedOperations(operations) => ("failed-operations", count: *operations),
    Self::StaleEntries(entries) => ("stale-entries", count: *entries),
    Self::DamagedLines(lines) => ("damaged-lines", lines: lines.clone()),
    Self::AlsoUsedBy(chats) => ("also-used", chats: chats.clone()),
    Self::AlsoSelected(place) => ("also-selected", place: place.coded().to_json()),
});
