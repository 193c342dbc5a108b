//! `forklore verify`

use std::collections::BTreeSet;
use std::path::PathBuf;

use forklore_core::verify::Finding;
use forklore_tavern::tavern::Tavern;
use forklore_tavern::verifying::{Checked, Verified};

use super::Outcome;
use crate::args::VerifyArgs;
use crate::json::{self, Json};
use crate::text::{Line, Style, count};
use crate::ui::Ui;

pub(crate) fn run(ui: &mut Ui<'_>, tavern: &Tavern<'_>, args: &VerifyArgs) -> Outcome {
    let library = tavern.library();
    let wanted: BTreeSet<PathBuf> = args
        .chats
        .iter()
        .map(|name| Ok(library.find(tavern.disk, name)?.path.clone()))
        .collect::<Result<_, crate::error::CommandError>>()?;
    let mut verified = {
        let progress = ui.progress(library.chats.len(), "Verifying");
        tavern.verify(&library, |chat| args.all || wanted.contains(&chat.path), &|| progress.tick())
    };
    if !args.all {
        // Other files are not what was asked about.
        verified.unread.retain(|unread| wanted.contains(&unread.path));
    }
    for unread in &verified.unread {
        ui.say(
            Line::new()
                .add(Style::Bad, "! ")
                .bold(unread.path.display().to_string())
                .plain(format!(": {}", unread.why)),
        );
    }
    for checked in &verified.checked {
        say(ui, checked, !args.all);
    }
    let notes =
        verified.checked.iter().flat_map(|c| &c.findings).filter(|f| !f.is_problem()).count();
    let problems = verified.problems();
    ui.say(
        Line::new()
            .plain(format!("{} verified: ", count(verified.checked.len(), "timeline", "timelines")))
            .add(
                if problems == 0 { Style::Good } else { Style::Bad },
                count(problems, "problem", "problems"),
            )
            .dim(format!(", {}", count(notes, "note", "notes"))),
    );
    ui.answer(&json::answer(
        "verify",
        [
            ("problems", Json::from(problems)),
            ("timelines", timelines(&verified)),
            ("unread", unread(&verified)),
        ],
    ));
    Ok(u8::from(problems > 0))
}

fn say(ui: &mut Ui<'_>, checked: &Checked, even_if_well: bool) {
    if checked.findings.is_empty() {
        if even_if_well {
            ui.say(Line::new().add(Style::Good, "ok ").bold(checked.chat.label()));
        }
        return;
    }
    ui.say(Line::new().bold(checked.chat.label()));
    for finding in &checked.findings {
        let (style, sign) =
            if finding.is_problem() { (Style::Bad, "  ! ") } else { (Style::Note, "  - ") };
        ui.say(Line::new().add(style, sign).plain(finding.to_string()));
    }
}

/// Timelines for `--json`.
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
            ("book_known", checked.book_known().map_or(Json::Null, json::part)),
            ("findings", Json::Array(checked.findings.iter().map(finding).collect())),
        ])
    });
    Json::Array(timelines.collect())
}

fn finding(finding: &Finding) -> Json {
    Json::object([
        ("problem", Json::from(finding.is_problem())),
        ("text", Json::from(finding.to_string())),
    ])
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
