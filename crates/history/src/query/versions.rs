//! The versions of a file, and the lorebook that belongs to a version of a chat.

use std::collections::BTreeSet;

use forklore_core::sillytavern::chat::{Chat, ChatKind};
use forklore_core::sillytavern::names::book_key;

use crate::error::{HistoryError, IfReadable as _, Result};
use crate::file::FileKind;
use crate::git::object;
use crate::version::commit::{Origin, StoredVersion, Version};
use crate::version::history::History;
use crate::version::lineage::{Lineage, lineage_of};
use crate::version::tracked::Tracked;

/// A name matches no file or several, or the file has no such version.
#[derive(Debug, thiserror::Error)]
pub enum LookupError {
    #[error("nothing in the history is called {wanted:?}")]
    Unknown { wanted: String, like: Vec<String> },
    #[error("{wanted:?} matches several files")]
    Ambiguous { wanted: String, found: Vec<String> },
    #[error("there is no version {wanted} of {file:?}")]
    NoVersion { file: String, wanted: u64, newest: u64 },
    #[error("version {wanted} of {file:?} cannot be read: the history is damaged there")]
    Lost { file: String, wanted: u64 },
    #[error(transparent)]
    History(#[from] HistoryError),
}

impl History<'_> {
    /// The versions that were recorded for a file under all of its names, newest first; without
    /// those of the file that it is a copy of.
    pub fn own_versions(&self, lineage: &Lineage) -> impl Iterator<Item = StoredVersion> {
        let own = lineage_of(&lineage.reference).to_owned();
        self.versions(&lineage.tip).take_while(move |stored| stored.version.lineage == own)
    }

    /// The version with this number: the file's own or, failing that, of the file that it is a copy
    /// of.
    pub fn version(&self, lineage: &Lineage, number: u64) -> Result<StoredVersion, LookupError> {
        for stored in self.versions(&lineage.tip) {
            if stored.version.number == number {
                return Ok(stored);
            }
        }
        if self.is_lost(lineage_of(&lineage.reference), number) {
            return Err(LookupError::Lost { file: lineage.file().label(), wanted: number });
        }
        Err(LookupError::NoVersion {
            file: lineage.file().label(),
            wanted: number,
            newest: lineage.tip.version.number,
        })
    }

    /// The numbers of a file's pinned versions.
    pub fn pins(&self, lineage: &Lineage) -> BTreeSet<u64> {
        let below = self.numbered_below("pins", lineage_of(&lineage.reference));
        below.map(|(number, _)| number).collect()
    }

    /// The name of the lorebook that a version of a chat is bound to. Only the first line of the
    /// chat is read.
    pub(crate) fn bound_book(&self, stored: &StoredVersion) -> Result<Option<String>> {
        let Some(head) = Tracked::read(self.store(), stored.tree)?.head else { return Ok(None) };
        let bytes = self.store().read(&head.id, object::Kind::Blob)?;
        let is_group = stored.version.file.as_str().starts_with("group chats/");
        let place = if is_group { ChatKind::Group } else { ChatKind::Solo };
        let chat = Chat::read_header(&bytes, place);
        let name = chat.metadata().and_then(|metadata| metadata.get("world_info")?.text());
        Ok(name.map(|name| name.into_owned()).filter(|name| !name.is_empty()))
    }

    /// The lorebook that a version of a chat is bound to, in its last version before the chat's
    /// next one.
    pub fn book_at(
        &self,
        chat: &Lineage,
        version: &StoredVersion,
    ) -> Result<Option<(&Lineage, StoredVersion)>> {
        let Some(Some(name)) = self.bound_book(version).if_readable()? else { return Ok(None) };
        let key = book_key(&name);
        let mut next = None;
        for stored in self.versions(&chat.tip) {
            if stored.id == version.id {
                break;
            }
            next = Some(stored.version);
        }
        let is_before = |book: &Version| {
            next.as_ref().is_none_or(|next| {
                // The order in which a scan records files says nothing.
                let is_older = book.why != Origin::Found || book.written <= next.written;
                book.order < next.order && is_older
            })
        };
        let book = self.lineages().iter().find(|other| {
            other.machine == chat.machine
                && other.kind == FileKind::Book
                && book_key(&other.file().bare_label()) == key
        });
        let Some(book) = book else { return Ok(None) };
        for stored in self.own_versions(book) {
            if is_before(&stored.version) && stored.version.why != Origin::Deleted {
                return Ok(Some((book, stored)));
            }
        }
        Ok(None)
    }

    /// The chats of this machine that are bound to a lorebook now.
    pub fn chats_of(&self, book: &Lineage) -> Result<Vec<&Lineage>> {
        let key = book_key(&book.file().bare_label());
        let mut found = Vec::new();
        for lineage in self.lineages().own(self.machine()) {
            if lineage.kind == FileKind::Chat
                && let Some(Some(name)) = self.bound_book(&lineage.tip).if_readable()?
                && book_key(&name) == key
            {
                found.push(lineage);
            }
        }
        Ok(found)
    }
}

forklore_core::diagnostics!(LookupError {
    Self::Unknown { wanted, like } => (
        "unknown-file",
        wanted: wanted.as_str(),
        like: like.clone(),
    ),
    Self::Ambiguous { wanted, found } => (
        "ambiguous-file",
        wanted: wanted.as_str(),
        found: found.clone(),
    ),
    Self::NoVersion { file, wanted, newest } => (
        "no-version",
        file: file.as_str(),
        wanted: *wanted,
        newest: *newest,
    ),
    Self::Lost { file, wanted } => ("version-lost", file: file.as_str(), wanted: *wanted),
    Self::History(error) => [error: HistoryError],
});
