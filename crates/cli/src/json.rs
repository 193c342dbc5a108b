//! Values for `--json`. `docs/reference/cli.md` describes every field.

use forklore_core::diagnostic::Diagnostic;
use forklore_core::timeline::exactness::{Exactness, Knowledge};
pub(crate) use forklore_json::Json;
use forklore_json::Object;

/// A `--json` answer: the format version, the command's name, then its members.
pub(crate) fn answer(
    command: &str,
    members: impl IntoIterator<Item = (&'static str, Json)>,
) -> Json {
    let mut object = Object::new();
    object.insert("format", 2_i64);
    object.insert("command", command);
    for (key, value) in members {
        object.insert(key, value);
    }
    object.into()
}

pub(crate) fn texts<T: ToString>(items: impl IntoIterator<Item = T>) -> Json {
    Json::Array(items.into_iter().map(|item| Json::from(item.to_string())).collect())
}

pub(crate) fn diagnostics<'a, T: Diagnostic + 'a>(
    diagnostics: impl IntoIterator<Item = &'a T>,
) -> Json {
    Json::Array(diagnostics.into_iter().map(Diagnostic::to_json).collect())
}

pub(crate) fn knowledge(knowledge: Knowledge) -> Json {
    let settled_at = match knowledge.exactness {
        Exactness::Settled(message) => Some(message),
        Exactness::Exact | Exactness::Snapshot(_) | Exactness::Live => None,
    };
    let mut json = Object::new();
    json.insert("exactness", knowledge.exactness.word());
    json.insert("as_of", knowledge.exactness.as_of());
    if let Some(message) = settled_at {
        json.insert("settled_at", message);
    }
    json.insert("source", knowledge.source.word());
    json.into()
}
