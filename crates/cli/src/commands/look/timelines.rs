//! Timelines and unreadable files, for `--json`.

use forklore_core::diagnostic::Diagnostic as _;
use forklore_core::finding::Finding;
use forklore_tavern::work::verify::Verified;

use crate::json::{self, Json};
use crate::ui::Ui;

/// Answers with every timeline, if an answer is wanted: putting many together takes a while.
pub(crate) fn answer(ui: &mut Ui<'_>, command: &str, verified: &Verified) {
    if ui.is_json() {
        ui.answer(&json::answer(
            command,
            [
                ("problems", Json::from(verified.problems())),
                ("timelines", timelines(verified)),
                ("unread", unread(verified)),
            ],
        ));
    }
}

pub(crate) fn timelines(verified: &Verified) -> Json {
    let timelines = verified.checked.iter().map(|checked| {
        Json::object([
            ("chat", Json::from(checked.chat.label())),
            ("kind", Json::from(checked.node.kind.word())),
            ("messages", Json::from(checked.messages)),
            ("parent", Json::from(checked.timeline.main_chat.clone())),
            ("fork_point", Json::from(checked.node.fork_point)),
            ("family", Json::from(checked.node.family)),
            ("book", Json::from(checked.timeline.book.clone())),
            ("entries", Json::from(checked.entries)),
            ("book_known", checked.book_known().map_or(Json::Null, json::knowledge)),
            ("findings", Json::Array(checked.findings.iter().map(finding).collect())),
        ])
    });
    Json::Array(timelines.collect())
}

fn finding(finding: &Finding) -> Json {
    let mut json = finding.to_json();
    if let Some(object) = json.as_object_mut() {
        object.insert("problem", finding.is_problem());
    }
    json
}

pub(crate) fn unread(verified: &Verified) -> Json {
    let unread = verified.unread.iter().map(|unread| {
        Json::object([
            ("path", Json::from(unread.path.display().to_string())),
            ("why", Json::from(unread.why.as_str())),
        ])
    });
    Json::Array(unread.collect())
}
