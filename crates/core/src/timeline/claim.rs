//! What a claim about the past means, and what proves it. Everything that says how well a moment is
//! known goes by what is written here.
//!
//! **A message arrives** when it is put at the end of the page's chat: a user's message before it is
//! saved, a reply at its first word. Swipes, continues, edits, hiding and moves are no arrival. A
//! message that is put between two others arrives together with the one after it.
//!
//! **The state of message m** is what the page held when m+1 arrived: the chat's metadata, and the
//! page's copy of the bound book, unsaved edits included. For the last message it is what holds now:
//! in a page its memory, for a command the files. Messages that are no longer in the chat are left
//! out of the count.
//!
//! A part of it (book, metadata) is
//!
//! - **exact at m** if the record of m+1 testifies by a digest, taken at the instant of the arrival,
//!   which state held and after which record, and if some source yields content with that digest:
//!   the journal, the history, today's file. A book needs one thing more: its file was read
//!   afterwards, and was what the page had read or written; otherwise two states held. The last
//!   message is exact in a page; in files it is if nothing unreadable follows it and neither its
//!   record nor a seal made at it disagrees.
//! - **as of k**, k ≤ m, if this was in the file, or in a page with the chat open, at some time while
//!   k was the last message, and no change made after k+1 arrived is in it. A record in its place
//!   says so about its own message, a version in the history about the last message it holds, a
//!   recap's snapshot about its scene.
//! - **live** otherwise: today's state, and nothing is said about then.
//!
//! The history alone never proves "exact": it sees files, and a message arrives in a page before its
//! file does. A record of format 1 testifies to nothing. The best proof wins, for each part by
//! itself: exact, then the larger k, then journal, history, recap.

use crate::journal::{Folded, RecordedState, Records, StatePart};
use crate::sillytavern::chat::Chat;
use crate::timeline::seal::Seal;
use forklore_json::Json;

/// Where today's state was taken from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TodaySource {
    /// From files: a page may know more, or the chat's file less than there was.
    #[default]
    Files,
    /// From the memory of the page in which the chat is open.
    Page,
}

/// What a chat itself says about one of its messages.
pub(crate) struct Evidence {
    pub records: Records,
    /// The newest state that its records hold at or before the message.
    pub folded: Option<Folded>,
    /// The same with a book that somebody has seen, where that is another.
    with_book: Option<Option<Folded>>,
    message: usize,
    is_last: bool,
    /// Something that cannot be read stands directly after the message.
    is_torn_after: bool,
    seal: Option<Seal>,
}

impl Evidence {
    pub(crate) fn of(chat: &Chat<'_>, message: usize) -> Self {
        let records = Records::of(chat);
        let metadata =
            chat.metadata().and_then(|metadata| metadata.get(crate::timeline::seal::KEY));
        let seal = metadata
            .and_then(|seal| seal.json().ok())
            .and_then(|seal| Seal::read(&Json::object([(crate::timeline::seal::KEY, seal)])));
        let folded = records.newest(message);
        let assumed = |folded: &&Folded| records.get(folded.message).is_some_and(|r| r.assumed);
        let with_book = folded.as_ref().filter(assumed).map(|_| records.newest_with_book(message));
        Self {
            folded,
            with_book,
            records,
            message,
            is_last: message + 1 == chat.len(),
            is_torn_after: chat.is_torn_after(message),
            seal: seal.filter(|seal| seal.message == message),
        }
    }

    /// The newest state whose book its records hold.
    pub(crate) fn with_book(&self) -> Option<&Folded> {
        self.with_book.as_ref().unwrap_or(&self.folded).as_ref()
    }

    /// The digest that is proved for a part at the instant when the next message arrived.
    pub(crate) fn proved(&self, part: StatePart) -> Option<&str> {
        if self.is_torn_after {
            return None;
        }
        self.records.testimony(self.message)?.proved(part)
    }

    /// Whether today's state is the state of the message: it is the last one, and nothing says
    /// otherwise. `today` is looked at only where it has to be; `None` if it cannot be.
    pub(crate) fn is_today(
        &self,
        part: StatePart,
        from: TodaySource,
        today: impl FnOnce() -> Option<RecordedState>,
    ) -> bool {
        if !self.is_last || self.is_torn_after {
            return false;
        }
        let record = self.records.get(self.message);
        let sealed = self.seal.as_ref().and_then(|seal| seal.state(part));
        if from == TodaySource::Page || (record.is_none() && sealed.is_none()) {
            return true;
        }
        let Some(today) = today() else { return false };
        sealed.is_some_and(|digest| digest == today.digest(part))
            || record.is_some_and(|record| record.agrees(&today, part))
            || (part == StatePart::Book && self.is_renamed(&today))
    }

    /// Whether today's book is the one that the message's record holds, under another name.
    fn is_renamed(&self, today: &RecordedState) -> bool {
        let recorded = self.folded.as_ref().filter(|folded| folded.message == self.message);
        let recorded = recorded.and_then(|folded| folded.state.book.as_ref());
        recorded.zip(today.book.as_ref()).is_some_and(|(one, other)| one.has_content_of(other))
    }
}
