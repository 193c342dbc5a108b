//! Output shared by the commands that change a chat's lorebook: `repair`, `split` and `restore`.

use forklore_core::timeline::exactness::{Exactness, Knowledge, Source};
use forklore_tavern::work::change::{ChangeOptions, ChangedChat};

use super::exactness::describe;
use crate::args::ChangeArgs;
use crate::error::CommandError;
use crate::json::{self, Json};
use crate::text::{Line, Style, count};
use crate::ui::Ui;

pub(crate) fn options(args: ChangeArgs) -> ChangeOptions {
    ChangeOptions { is_closed: args.closed, dry_run: args.dry_run }
}

pub(crate) fn say(ui: &mut Ui<'_>, done: &str, would: &str, changed: &ChangedChat) {
    let verb = if changed.operation.is_some() { done } else { would };
    ui.say(Line::new().add(Style::Good, format!("{verb} ")).bold(&changed.chat));
    match &changed.book {
        Some(book) => {
            let entries = count(book.entries, "entry", "entries");
            let mut line =
                Line::new().dim("  lorebook  ").plain(format!("{:?}, {entries}", book.name));
            match changed.part {
                // The lorebook was not taken from the past, so there is no exactness to show.
                Some(Knowledge { exactness: Exactness::Live, source }) => {
                    let word =
                        if source == Source::Files { ", a copy of the shared one" } else { "" };
                    line = line.plain(word);
                }
                Some(part) => line = line.plain(format!(", {}", describe(part, None))),
                None => {}
            }
            ui.say(line);
            if book.replaced {
                ui.say(
                    Line::new()
                        .dim("  before    ")
                        .plain("in the trash; `forklore undo` brings it back"),
                );
            }
        }
        None => ui.say(Line::new().dim("  lorebook  ").plain("none now")),
    }
    if changed.operation.is_some() {
        ui.say(
            Line::new()
                .dim("  page      ")
                .plain("reload SillyTavern's page before you continue this chat"),
        );
    }
    for remark in &changed.remarks {
        ui.say(Line::new().add(Style::Note, "  - ").plain(remark.to_string()));
    }
}

pub(crate) fn answer<'a>(
    ui: &Ui<'_>,
    command: &str,
    changed: impl IntoIterator<Item = &'a ChangedChat>,
    refused: &[(String, CommandError)],
) -> Json {
    let timelines = changed.into_iter().map(|changed| {
        Json::object([
            ("chat", Json::from(changed.chat.as_str())),
            ("book", Json::from(changed.book.as_ref().map(|book| book.name.clone()))),
            ("entries", Json::from(changed.book.as_ref().map(|book| book.entries))),
            ("replaced", Json::from(changed.book.as_ref().is_some_and(|book| book.replaced))),
            ("chat_changed", Json::from(changed.chat_changed)),
            ("known", changed.part.map_or(Json::Null, json::knowledge)),
            ("remarks", json::diagnostics(&changed.remarks)),
            ("operation", Json::from(changed.operation.map(|id| id as usize))),
        ])
    });
    let refused = refused.iter().map(|(chat, error)| {
        Json::object([("chat", Json::from(chat.as_str())), ("error", error.to_json(ui))])
    });
    json::answer(
        command,
        [
            ("timelines", Json::Array(timelines.collect())),
            ("refused", Json::Array(refused.collect())),
        ],
    )
}
