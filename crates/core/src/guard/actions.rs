//! What happens around a save, and what the page has to do about it.

use std::collections::HashMap;

use super::lineage::Text;
use crate::plan::merge::{Conflict, Settlement};
use forklore_json::JsText;

/// Something that happened to a save or a recheck.
#[derive(Clone, Debug)]
pub enum Event {
    /// It is its turn: no other save of this page works on the book, and no other tab does.
    Turn,
    /// The book was read from the server.
    Read(Vec<u8>),
    /// The server's books were listed: is this one among them?
    Listed(bool),
    /// The overwritten versions are in the trash.
    Kept,
    /// The user decided about conflicts, or wants to decide later.
    Answered(Option<HashMap<JsText, Settlement>>),
    /// The server answered: has it accepted the book?
    Sent(bool),
    /// The page could not do what it should.
    Failed,
    /// The guard is switched off.
    SwitchedOff,
}

/// What to do next, in order. Where the answer matters, it is the last action and names the event
/// that follows.
#[derive(Clone, Debug)]
pub enum Action {
    /// Read the book from the server: [`Event::Read`].
    Read,
    /// Look whether the server lists the book: [`Event::Listed`].
    List,
    /// Put versions into the trash before they are overwritten: [`Event::Kept`].
    Keep(Overwritten),
    /// Ask the user, without holding the lock: [`Event::Answered`], then [`Event::Turn`].
    Ask(Vec<Conflict>),
    /// Send the save, with this text unless it goes as it is: [`Event::Sent`].
    Send(Option<Text>),
    /// Write the book with this text: [`Event::Sent`].
    Write(Text),
    /// Report the news in a while.
    Report,
    /// Give this job a turn in a while.
    Recheck(u32),
    /// Give the page the book as it was sent.
    UpdatePage {
        /// Whether the user was just asked: then no field is being edited, and the choice can be
        /// shown at once.
        is_decided: bool,
    },
}

/// Versions of a book that lose against others.
#[derive(Clone, Debug)]
pub struct Overwritten {
    pub versions: Vec<KeptVersion>,
    /// Whether another device has already overwritten them.
    pub is_late: bool,
}

#[derive(Clone, Debug)]
pub struct KeptVersion {
    /// Whether it is from this page.
    pub is_ours: bool,
    pub text: Text,
}

/// What other pages have changed in a book.
#[derive(Clone, Debug, PartialEq)]
pub struct News {
    pub book: String,
    /// Whether the book was deleted.
    pub is_gone: bool,
    pub entries: Vec<EntryNews>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct EntryNews {
    pub key: JsText,
    pub title: String,
    /// The [word](crate::plan::merge::StepKind::word) for what was done.
    pub what: &'static str,
}
