//! What changed between two states.

use super::state::{BookState, State};
use crate::json::{JsText, Json, Object};

/// Members to take away, then members to set: applied in that order, so that a member in both
/// moves to the end, as it does in JavaScript.
#[derive(Clone, Debug, Default, PartialEq)]
struct Members {
    removed: Vec<JsText>,
    set: Object,
}

/// The difference between two states that are bound to the same book, or to none.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Delta {
    entries: Members,
    /// The book's fields other than its entries.
    fields: Members,
    metadata: Members,
}

impl Delta {
    /// The difference, where it can be said; otherwise the caller records the whole state.
    pub(super) fn between(before: &State, after: &State) -> Option<Self> {
        let mut delta = Self {
            metadata: Members::between(&before.metadata, &after.metadata),
            ..Self::default()
        };
        match (&before.book, &after.book) {
            (None, None) => {}
            (Some(before), Some(after)) if before.name == after.name => {
                delta.entries = Members::between(before.entries()?, after.entries()?);
                delta.fields = Members::between(&without_entries(before), &without_entries(after));
            }
            _ => return None,
        }
        let mut applied = before.clone();
        delta.apply(&mut applied)?;
        (applied == *after).then_some(delta)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.fields.is_empty() && self.metadata.is_empty()
    }

    pub(super) fn apply(&self, state: &mut State) -> Option<()> {
        self.metadata.apply(&mut state.metadata);
        if let Some(book) = &mut state.book {
            self.fields.apply(&mut book.content);
            let entries = book.content.get_mut("entries")?.as_object_mut()?;
            self.entries.apply(entries);
        }
        Some(())
    }

    /// This difference and then another, as one.
    pub(super) fn then(&self, later: &Self) -> Self {
        Self {
            entries: self.entries.then(&later.entries),
            fields: self.fields.then(&later.fields),
            metadata: self.metadata.then(&later.metadata),
        }
    }

    pub(super) fn to_json(&self) -> Json {
        let parts =
            [("entries", &self.entries), ("fields", &self.fields), ("metadata", &self.metadata)];
        Json::object(
            parts
                .into_iter()
                .filter(|(_, members)| !members.is_empty())
                .map(|(name, members)| (name, members.to_json())),
        )
    }

    pub(super) fn from_json(json: &Json) -> Option<Self> {
        json.as_object()?;
        let part = |name: &str| json.get(name).map_or(Some(Members::default()), Members::from_json);
        Some(Self {
            entries: part("entries")?,
            fields: part("fields")?,
            metadata: part("metadata")?,
        })
    }
}

/// The book's own fields, with a placeholder that keeps the place of its entries.
fn without_entries(book: &BookState) -> Object {
    let mut fields = book.content.clone();
    if fields.contains("entries") {
        fields.insert("entries", Json::Null);
    }
    fields
}

impl Members {
    fn between(before: &Object, after: &Object) -> Self {
        let removed: Vec<JsText> =
            before.keys().filter(|key| after.get_text(key).is_none()).cloned().collect();
        let set: Object = after
            .iter()
            .filter(|(key, value)| before.get_text(key) != Some(value))
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        let members = Self { removed, set };
        let mut applied = before.clone();
        members.apply(&mut applied);
        if applied.keys().eq(after.keys()) {
            return members;
        }
        // The order changed. Only members that are no array index have one of their own; taking
        // them all away and setting them again restores it.
        let mut removed = members.removed;
        let mut set = Object::new();
        for (key, value) in after.iter() {
            let is_index =
                key.as_bytes().iter().all(u8::is_ascii_digit) && key.as_bytes().len() < 10;
            if !is_index && before.get_text(key).is_some() {
                removed.push(key.clone());
            }
            if !is_index || before.get_text(key) != Some(value) {
                set.insert(key.clone(), value.clone());
            }
        }
        Self { removed, set }
    }

    fn is_empty(&self) -> bool {
        self.removed.is_empty() && self.set.is_empty()
    }

    fn apply(&self, object: &mut Object) {
        for key in &self.removed {
            object.remove_text(key);
        }
        for (key, value) in self.set.iter() {
            object.insert(key.clone(), value.clone());
        }
    }

    fn then(&self, later: &Self) -> Self {
        let mut removed = self.removed.clone();
        let mut set = self.set.clone();
        for key in &later.removed {
            set.remove_text(key);
            if !removed.contains(key) {
                removed.push(key.clone());
            }
        }
        for (key, value) in later.set.iter() {
            set.insert(key.clone(), value.clone());
        }
        Self { removed, set }
    }

    fn to_json(&self) -> Json {
        let mut json = Object::new();
        if !self.removed.is_empty() {
            json.insert(
                "removed",
                Json::Array(self.removed.iter().cloned().map(Json::Text).collect()),
            );
        }
        if !self.set.is_empty() {
            json.insert("set", self.set.clone());
        }
        json.into()
    }

    fn from_json(json: &Json) -> Option<Self> {
        let removed = match json.get("removed") {
            None => Vec::new(),
            Some(list) => list
                .as_array()?
                .iter()
                .map(|key| match key {
                    Json::Text(text) => Some(text.clone()),
                    _ => None,
                })
                .collect::<Option<_>>()?,
        };
        let set = match json.get("set") {
            None => Object::new(),
            Some(set) => set.as_object()?.clone(),
        };
        Some(Self { removed, set })
    }
}
