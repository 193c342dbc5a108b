//! The difference between two states.

use std::sync::Arc;

use super::members::Members;
use super::state::RecordedState;
use forklore_json::Json;

/// The difference between two states with largely the same book, or both without one.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Delta {
    /// The book's new name. For a child whose book is the parent's under another name, the first
    /// record needs nothing else.
    name: Option<String>,
    entries: Members,
    /// The book's fields other than its entries.
    fields: Members,
    metadata: Members,
}

impl Delta {
    /// `None` if there is no useful difference, and the caller should record the whole state.
    pub(super) fn between(before: &RecordedState, after: &RecordedState) -> Option<Self> {
        let mut delta = Self {
            metadata: Members::between(&before.metadata, &after.metadata),
            ..Self::default()
        };
        match (&before.book, &after.book) {
            (None, None) => {}
            (Some(before), Some(after)) => {
                if !Arc::ptr_eq(&before.lore, &after.lore) {
                    delta.entries = Members::between(before.entries()?, after.entries()?);
                    delta.fields = Members::between(before.lore.fields(), after.lore.fields());
                }
                if before.name != after.name {
                    // A completely different book is better recorded as a whole.
                    if delta.entries.len() * 2 > after.entries()?.len() {
                        return None;
                    }
                    delta.name = Some(after.name.clone());
                }
            }
            _ => return None,
        }
        Some(delta)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.name.is_none()
            && self.entries.is_empty()
            && self.fields.is_empty()
            && self.metadata.is_empty()
    }

    /// `None` if it does not fit `state`.
    pub(super) fn apply(&self, state: &mut RecordedState) -> Option<()> {
        self.metadata.apply(&mut state.metadata)?;
        if let Some(name) = &self.name {
            state.book.as_mut()?.name = name.clone();
        }
        if self.entries.is_empty() && self.fields.is_empty() {
            return Some(());
        }
        let book = state.book.as_mut()?;
        Arc::make_mut(&mut book.lore).change(|fields, entries| {
            self.fields.apply(fields)?;
            self.entries.apply(entries)
        })
    }

    /// Combines this difference with a later one.
    pub(super) fn then(&self, later: &Self) -> Option<Self> {
        Some(Self {
            name: later.name.clone().or_else(|| self.name.clone()),
            entries: self.entries.then(&later.entries)?,
            fields: self.fields.then(&later.fields)?,
            metadata: self.metadata.then(&later.metadata)?,
        })
    }

    pub(super) fn to_json(&self) -> Json {
        let parts =
            [("entries", &self.entries), ("fields", &self.fields), ("metadata", &self.metadata)];
        let name = self.name.iter().map(|name| ("name", Json::from(name.as_str())));
        let members = parts
            .into_iter()
            .filter(|(_, members)| !members.is_empty())
            .map(|(name, members)| (name, members.to_json()));
        Json::object(name.chain(members))
    }

    pub(super) fn from_json(json: &Json) -> Option<Self> {
        json.as_object()?;
        let part = |name: &str| json.get(name).map_or(Some(Members::default()), Members::from_json);
        let name = match json.get("name") {
            None => None,
            Some(name) => Some(name.as_str()?.into_owned()),
        };
        Some(Self {
            name,
            entries: part("entries")?,
            fields: part("fields")?,
            metadata: part("metadata")?,
        })
    }
}
