//! Guesses from files whether a chat may be open in a SillyTavern page.
//!
//! A page holds its chat in memory and writes all of it on every save, overwriting changes made in
//! the meantime. Nothing on disk records which chats are open. The only evidence is which chat a
//! character or group opens with, and when a file was last written.

use std::fmt;
use std::time::{Duration, SystemTime};

use forklore_core::sillytavern::names::{self, NamedFile};
use forklore_core::timeline::family::Home;

use crate::disk::Disk;
use crate::folder::cards::read_card;
use crate::folder::layout::UserFolders;
use crate::folder::library::{ChatFile, Library};

/// A file written this recently may be about to be written again.
const RECENTLY: Duration = Duration::from_secs(120);

/// Why a chat may be open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MayBeOpen {
    /// It is the chat that this character opens with.
    CurrentOf(String),
    CurrentOfGroup(String),
    WrittenRecently(Duration),
    /// A book selected for all chats, a character or a persona is loaded in every page.
    SelectedElsewhere,
    /// The card or group that would show this cannot be read.
    CannotTell(String),
}

impl fmt::Display for MayBeOpen {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CurrentOf(character) => write!(out, "it is the chat that {character} opens with"),
            Self::CurrentOfGroup(group) => {
                write!(out, "it is the chat that the group {group} opens with")
            }
            Self::WrittenRecently(ago) => write!(out, "it was written {} s ago", ago.as_secs()),
            Self::SelectedElsewhere => {
                out.write_str("it is also selected for all chats, a character or a persona")
            }
            Self::CannotTell(file) => write!(out, "{file}, which would tell, cannot be read"),
        }
    }
}

pub fn may_be_open(
    disk: &dyn Disk,
    folders: &UserFolders,
    library: &Library,
    chat: &ChatFile,
    now: SystemTime,
) -> Option<MayBeOpen> {
    let is_this =
        |name: &str| names::stem(name, NamedFile::Chat).is_some_and(|stem| stem == chat.name);
    if let Some(ago) = written_recently(chat.modified, now) {
        return Some(MayBeOpen::WrittenRecently(ago));
    }
    match &chat.home {
        Home::Character(character) => {
            let card = folders.characters.join(format!("{character}.png"));
            match disk.read(&card) {
                Ok(png) => match read_card(&png) {
                    Ok(card) if card.chat.as_deref().is_some_and(is_this) => {
                        Some(MayBeOpen::CurrentOf(character.clone()))
                    }
                    Ok(_) => None,
                    Err(_) => Some(MayBeOpen::CannotTell(format!("{character}.png"))),
                },
                // Without a card, SillyTavern cannot open the chat at all.
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
                Err(_) => Some(MayBeOpen::CannotTell(format!("{character}.png"))),
            }
        }
        Home::Group(Some(id)) => {
            let group = &library.group(id)?.group;
            group
                .chat_id
                .as_deref()
                .is_some_and(is_this)
                .then(|| MayBeOpen::CurrentOfGroup(group.name.clone()))
        }
        Home::Group(None) | Home::Loose => None,
    }
}

pub fn written_recently(modified: SystemTime, now: SystemTime) -> Option<Duration> {
    // A modification time in the future means that a clock is wrong; the file may be recent.
    let ago = now.duration_since(modified).unwrap_or_default();
    (ago < RECENTLY).then_some(ago)
}

forklore_core::diagnostics!(MayBeOpen {
    Self::CurrentOf(character) => ("current-chat", of: character.as_str()),
    Self::CurrentOfGroup(group) => ("current-group-chat", of: group.as_str()),
    Self::WrittenRecently(ago) => ("written-recently", seconds: ago.as_secs()),
    Self::SelectedElsewhere => ("selected-elsewhere"),
    Self::CannotTell(_) => ("cannot-tell"),
});
