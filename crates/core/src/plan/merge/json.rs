//! Steps and conflicts as JSON, for programs and for the page.

use super::{Choice, Conflict, EntryStep, Pick};
use crate::compare::diff::insert_sides;
use forklore_json::{JsText, Json, Object};

impl EntryStep {
    pub fn to_json(&self) -> Json {
        let entry = self.after.as_ref().or(self.before.as_ref());
        let title = entry.and_then(|entry| entry.get("comment")).cloned();
        Json::object([
            ("what", self.what.word().into()),
            ("key", text(&self.key)),
            ("to", text(&self.to)),
            ("title", title.unwrap_or_else(|| "".into())),
            ("fields", self.fields.iter().map(text).collect::<Vec<_>>().into()),
            ("before", self.before.clone().into()),
            ("after", self.after.clone().into()),
            ("chosen", self.is_chosen.into()),
            ("internal", self.is_internal.into()),
        ])
    }
}

impl Conflict {
    pub fn to_json(&self) -> Json {
        let settled = self.settled.as_ref().map(|choice| match choice {
            Choice::Take(Pick::Ours) => "ours",
            Choice::Take(Pick::Theirs) => "theirs",
            Choice::Value(_) => "value",
        });
        let mut json = Object::new();
        json.insert("key", self.key.as_ref().map(text));
        json.insert("title", self.title.as_str());
        json.insert("kind", self.about.word());
        json.insert("field", self.about.field().map(text));
        insert_sides(
            &mut json,
            [("base", &self.base), ("ours", &self.ours), ("theirs", &self.theirs)],
        );
        json.insert("settled", settled.map(str::to_owned));
        json.into()
    }
}

fn text(text: &JsText) -> Json {
    Json::Text(text.clone())
}
