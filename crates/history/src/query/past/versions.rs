//! The versions of a chat that belong to today's file.

use forklore_core::sillytavern::chat::{Chat, ChatKind};
use forklore_json::Json;

use crate::error::{IfReadable as _, Result};
use crate::git::object::{self, Id};
use crate::query::catalog::{CatalogLine, catalog};
use crate::version::body::Body;
use crate::version::commit::StoredVersion;
use crate::version::history::History;
use crate::version::lineage::Lineage;
use crate::version::split::Numbering;
use crate::version::tracked::Tracked;

/// Versions of one chat, the oldest first.
pub(super) struct ChatVersions {
    pub(super) lines: Vec<CatalogLine>,
}

impl ChatVersions {
    /// Leaves out the versions of an earlier file with this name that was deleted, unless it came back.
    pub(super) fn read(history: &History<'_>, lineage: &Lineage) -> Result<Self> {
        let mut lines = catalog(history, lineage)?;
        let mut first = 0;
        for (at, deleted) in lines.iter().enumerate().rev().filter(|(_, line)| line.is_deleted) {
            let Some(next) = lines.get(at + 1) else { continue };
            if !came_back(history, deleted.id, next.id).if_readable()?.unwrap_or(false) {
                first = at + 1;
                break;
            }
        }
        lines.drain(..first);
        Ok(Self { lines })
    }

    /// The metadata in a version's header.
    pub(super) fn metadata(
        &self,
        history: &History<'_>,
        version: usize,
        place: ChatKind,
    ) -> Result<Option<Json>> {
        let kept = StoredVersion::read(history.store(), self.lines[version].id)?;
        let Some((head, _)) = parts(history, &kept)? else { return Ok(None) };
        let header = history.store().read(&head, object::Kind::Blob)?;
        let header = Chat::read_header(&header, place);
        Ok(header.metadata().and_then(|metadata| metadata.json().ok()))
    }
}

/// The header of a version of a chat, and the tree of its messages.
pub(super) fn parts(history: &History<'_>, kept: &StoredVersion) -> Result<Option<(Id, Id)>> {
    let parts = Tracked::parts(history.store(), kept.tree)?;
    Ok(match (parts.head, parts.body) {
        (Some(head), Some((Numbering::Messages, body))) => Some((head, body)),
        _ => None,
    })
}

/// Whether the file after a deletion is the deleted one: it starts with all of its messages, and there
/// is more than the greeting.
fn came_back(history: &History<'_>, deleted: Id, next: Id) -> Result<bool> {
    let store = history.store();
    let (deleted, next) = (StoredVersion::read(store, deleted)?, StoredVersion::read(store, next)?);
    if deleted.tree == next.tree {
        return Ok(true);
    }
    let (Some((_, before)), Some((_, after))) = (parts(history, &deleted)?, parts(history, &next)?)
    else {
        return Ok(false);
    };
    let (before, after) = (Body::read(store, before)?, Body::read(store, after)?);
    let (before, after) = (before.pieces(), after.pieces());
    Ok(before.len() > 1 && after.starts_with(before))
}
