//! What a claim about a past state means, and what proves it. All code that reports how exactly a
//! moment is known follows these definitions.
//!
//! **A message arrives** when it is appended to the chat in the page: a user's message before it is
//! saved, a reply at its first word. Swipes, continues, edits, hiding and moves are not arrivals. A
//! message inserted between two others arrives together with the one after it.
//!
//! **The state of message m** is what the page had in memory when m+1 arrived: the chat's metadata,
//! and the page's copy of the bound book, including unsaved edits. For the last message it is the
//! current state: in a page its memory, for a command the files. Messages that are no longer in the
//! chat are not counted.
//!
//! A part of the state (book, metadata) is
//!
//! - **exact at m** if the record of m+1 testifies which state was in effect and which record came
//!   before, by a digest taken at the instant of the arrival, and if some source has content with
//!   that digest: the journal, the history, or today's file. For a book, its file must also have
//!   been read afterwards and found to be what the page had read or written; otherwise there were
//!   two different states. The last message is exact in a page, unless the page's copy of the book
//!   is not what the file holds. In files it is exact if nothing
//!   unreadable follows it and neither its record nor a seal made at it disagrees.
//! - **as of k**, k ≤ m, if the state was in the file, or in a page with the chat open, at some
//!   time
//!   while k was the last message, and contains no change made after k+1 arrived. A record in its
//!   place shows this for its own message, a version in the history for its last message, a recap's
//!   snapshot for its scene.
//! - **live** otherwise: today's state, without any claim about the past.
//!
//! The history alone never proves "exact": it only sees files, and a message arrives in a page
//! before it is saved. A record of format 1 testifies to nothing. The best proof wins, for each
//! part separately: exact first, then the larger k, then journal, history, recap.

use crate::journal::{Folded, RecordedState, Records, StatePart};
use crate::sillytavern::chat::Chat;
use crate::timeline::seal::Seal;

/// Where today's state comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TodaySource {
    /// The files: a page may have newer changes, or the chat's file may have lost some.
    #[default]
    Files,
    /// The memory of the page in which the chat is open.
    Page,
}

/// What a chat itself shows about one of its messages.
pub(crate) struct Evidence {
    pub records: Records,
    /// The newest recorded state at or before the message.
    pub folded: Option<Folded>,
    /// The newest state whose book was observed, if the book in `folded` was only assumed.
    with_book: Option<Option<Folded>>,
    message: usize,
    is_last: bool,
    /// Something unreadable directly follows the message.
    is_torn_after: bool,
    seal: Option<Seal>,
}

impl Evidence {
    pub(crate) fn of(chat: &Chat<'_>, message: usize) -> Self {
        let records = Records::of(chat);
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
            seal: Seal::of(chat).filter(|seal| seal.message == message),
        }
    }

    /// The newest recorded state whose book was observed.
    pub(crate) fn with_book(&self) -> Option<&Folded> {
        self.with_book.as_ref().unwrap_or(&self.folded).as_ref()
    }

    /// The proved digest of a part at the instant when the next message arrived.
    pub(crate) fn proved(&self, part: StatePart) -> Option<&str> {
        if self.is_torn_after {
            return None;
        }
        self.records.testimony(self.message)?.proved(part)
    }

    /// Whether today's state is the state of the message: the message is the last one, and nothing
    /// contradicts it. `today` is called only if needed; it returns `None` if the state cannot be
    /// read.
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

    /// Whether today's book is the one in the message's record under another name.
    fn is_renamed(&self, today: &RecordedState) -> bool {
        let recorded = self.folded.as_ref().filter(|folded| folded.message == self.message);
        let recorded = recorded.and_then(|folded| folded.state.book.as_ref());
        recorded.zip(today.book.as_ref()).is_some_and(|(one, other)| one.has_content_of(other))
    }
}
