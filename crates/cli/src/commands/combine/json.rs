//! A merge as JSON.

use forklore_core::plan::merge::{Conflict, EntryStep, MergePlan};
use forklore_json::JsText;
use forklore_tavern::work::change::ChangedChat;
use forklore_tavern::work::merge::PreparedMerge;

use crate::commands::look::diff;
use crate::json::{self, Json};
use crate::lore::base_json;

pub(super) fn answer(
    command: &str,
    prepared: &PreparedMerge,
    plan: &MergePlan,
    merged: Option<&ChangedChat>,
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
            ("steps", plan.steps.iter().map(EntryStep::to_json).collect::<Vec<_>>().into()),
            ("fields", fields.collect::<Vec<_>>().into()),
            ("conflicts", plan.conflicts.iter().map(Conflict::to_json).collect::<Vec<_>>().into()),
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
