//! Remarks: what the user should know about a fork or a repair.

use std::fmt;

use crate::timeline::references::ReferencePlace;

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
    /// The messages have data of other extensions under these keys, which is copied as it is today.
    MessagesAreLive(Vec<String>),
    RecapLostFields(usize),
    FieldsFilled(usize),
    SnapshotOfAnotherBook(String),
    BookIsLive,
    /// The separate book of Memory Books was copied as it is today.
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
    /// Other chats are bound to the book that was written to.
    AlsoUsedBy(Vec<String>),
    /// The book is also selected elsewhere; SillyTavern does not scan such a book as the chat's
    /// own.
    AlsoSelected(ReferencePlace),
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
    Self::AlsoSelected(place) => ("also-selected", place: place.coded().to_json()),
});
