//! Differences as JSON, for programs and for the page.

use super::{Difference, EntryDifference, EntrySide};
use crate::recap::is_internal;
use forklore_json::{Json, Object};

impl EntryDifference {
    pub fn to_json(&self) -> Json {
        let side = |side: &EntrySide| {
            Json::object([("did", side.did.word().into()), ("entry", side.entry.clone().into())])
        };
        let title = self.title();
        Json::object([
            ("key", Json::Text(self.key.clone())),
            ("uid", self.entry().and_then(|entry| entry.get("uid")).cloned().into()),
            ("internal", is_internal(&title).into()),
            ("title", title.into()),
            ("left", side(&self.left)),
            ("right", side(&self.right)),
            ("fields", self.fields.iter().map(Difference::to_json).collect::<Vec<_>>().into()),
        ])
    }
}

impl Difference {
    pub fn to_json(&self) -> Json {
        let mut json = Object::new();
        json.insert("name", Json::Text(self.name.clone()));
        json.insert("by", self.by.word());
        insert_sides(
            &mut json,
            [("base", &self.base), ("left", &self.left), ("right", &self.right)],
        );
        json.into()
    }
}

/// A missing value is left out, because `null` is a value.
pub(crate) fn insert_sides(json: &mut Object, sides: [(&str, &Option<Json>); 3]) {
    for (side, value) in sides {
        if let Some(value) = value {
            json.insert(side, value.clone());
        }
    }
}
