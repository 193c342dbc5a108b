//! A merge for programs.

use forklore_core::json::{JsText, Object};
use forklore_core::merge::{Choice, Conflict, MergePlan, Pick, Step};
use forklore_tavern::mending::Mended;
use forklore_tavern::merging::Prepared;

use crate::commands::diff;
use crate::json::{self, Json};
use crate::lore::base_json;

pub(super) fn answer(
    command: &str,
    prepared: &Prepared,
    plan: &MergePlan,
    merged: Option<&Mended>,
) -> Json {
    let kept = plan.kept.iter().map(|kept| {
        Json::object([("key", text(&kept.key)), ("field", kept.field.as_ref().map(text).into())])
    });
    let namesakes = plan.namesakes.iter().map(|pair| {
        Json::object([
            ("title", pair.title.as_str().into()),
            ("ours", text(&pair.ours)),
            ("theirs", text(&pair.theirs)),
        ])
    });
    let moved =
        plan.moved.iter().map(|(from, to)| Json::object([("key", text(from)), ("to", text(to))]));
    let fields = plan
        .fields
        .iter()
        .map(|(name, value)| Json::object([("name", text(name)), ("after", value.clone().into())]));
    json::answer(
        command,
        [
            ("from", diff::side(&prepared.theirs)),
            ("into", prepared.label().into()),
            ("book", prepared.book_name().into()),
            ("base", base_json(&prepared.base.known)),
            ("also_used_by", json::texts(&prepared.also_used_by)),
            ("steps", plan.steps.iter().map(step).collect::<Vec<_>>().into()),
            ("fields", fields.collect::<Vec<_>>().into()),
            ("conflicts", plan.conflicts.iter().map(conflict).collect::<Vec<_>>().into()),
            ("open", plan.open_conflicts().count().into()),
            ("kept", kept.collect::<Vec<_>>().into()),
            ("namesakes", namesakes.collect::<Vec<_>>().into()),
            ("moved", moved.collect::<Vec<_>>().into()),
            ("chat_changed", merged.is_some_and(|merged| merged.chat_changed).into()),
            ("operation", merged.and_then(|merged| merged.operation).map(|id| id as usize).into()),
        ],
    )
}

fn text(text: &JsText) -> Json {
    Json::Text(text.clone())
}

fn step(step: &Step) -> Json {
    let entry = step.after.as_ref().or(step.before.as_ref());
    let title = entry.and_then(|entry| entry.get("comment")).cloned();
    Json::object([
        ("what", step.what.word().into()),
        ("key", text(&step.key)),
        ("to", text(&step.to)),
        ("title", title.into()),
        ("fields", step.fields.iter().map(text).collect::<Vec<_>>().into()),
        ("before", step.before.clone().into()),
        ("after", step.after.clone().into()),
        ("chosen", step.is_chosen.into()),
        ("internal", step.is_internal.into()),
    ])
}

fn conflict(conflict: &Conflict) -> Json {
    let settled = conflict.settled.as_ref().map(|choice| match choice {
        Choice::Take(Pick::Ours) => "ours",
        Choice::Take(Pick::Theirs) => "theirs",
        Choice::Value(_) => "value",
    });
    let mut json = Object::new();
    json.insert("key", conflict.key.as_ref().map(text));
    json.insert("title", conflict.title.as_str());
    json.insert("about", conflict.about.word());
    json.insert("field", conflict.about.field().map(text));
    // A value that is not there is left out: `null` is a value.
    let sides = [("base", &conflict.base), ("ours", &conflict.ours), ("theirs", &conflict.theirs)];
    for (side, value) in sides {
        if let Some(value) = value {
            json.insert(side, value.clone());
        }
    }
    json.insert("settled", settled.map(str::to_owned));
    json.into()
}
