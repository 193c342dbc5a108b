//! Values for `--json`. `docs/cli.md` describes every field.

use forklore_core::exactness::{Exactness, Part};
pub(crate) use forklore_core::json::Json;
use forklore_core::json::Object;

/// An answer: what it answers, and then its members.
pub(crate) fn answer(
    command: &str,
    members: impl IntoIterator<Item = (&'static str, Json)>,
) -> Json {
    let mut object = Object::new();
    object.insert("format", 1_i64);
    object.insert("command", command);
    for (key, value) in members {
        object.insert(key, value);
    }
    object.into()
}

pub(crate) fn texts<T: ToString>(items: impl IntoIterator<Item = T>) -> Json {
    Json::Array(items.into_iter().map(|item| Json::from(item.to_string())).collect())
}

pub(crate) fn part(part: Part) -> Json {
    let as_of = match part.exactness {
        Exactness::Snapshot(message) => Some(message),
        Exactness::Exact | Exactness::Live => None,
    };
    Json::object([
        ("exactness", Json::from(part.exactness.word())),
        ("as_of", Json::from(as_of)),
        ("source", Json::from(part.source.word())),
    ])
}
