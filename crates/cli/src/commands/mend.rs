//! `forklore repair`, `split` and `restore`

use forklore_core::exactness::{Exactness, Part, Source};
use forklore_tavern::mending::{MendOptions, MendSource, Mended};
use forklore_tavern::tavern::Tavern;

use super::check::known;
use super::{Histories, Outcome, history};
use crate::args::{MendArgs, RepairArgs, RestoreArgs, SourceArg, SplitArgs};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::json::{self, Json};
use crate::objection::Objection;
use crate::text::{Line, Style, count};
use crate::ui::Ui;

pub(crate) fn repair(ui: &mut Ui<'_>, tavern: &Tavern<'_>, args: &RepairArgs) -> Outcome {
    let library = tavern.library();
    let chat = library.find(tavern.disk, &args.chat)?;
    let source = match &args.from {
        SourceArg::Journal => MendSource::Journal,
        SourceArg::Recap => MendSource::Recap,
        SourceArg::Empty => MendSource::Empty,
        SourceArg::Detach => MendSource::Detach,
        SourceArg::Book(Some(name)) => MendSource::Copy(name.clone()),
        SourceArg::Book(None) => {
            let parents = tavern.parents_book(&library, chat).ok_or_else(|| {
                CommandError::new(Objection::NoParentsBook(chat.label()))
                    .hinted("Name a lorebook: --from book=NAME.")
            })?;
            MendSource::Copy(parents)
        }
    };
    let mended = tavern.repair(chat, &source, options(args.mend))?;
    say(ui, "Repaired", "Would repair", &mended);
    ui.answer(&answer("repair", [&mended], &[]));
    Ok(Exit::Fine)
}

pub(crate) fn restore(
    ui: &mut Ui<'_>,
    tavern: &Tavern<'_>,
    histories: &Histories,
    args: &RestoreArgs,
) -> Outcome {
    if let Some(version) = args.version {
        return history::restore::run(ui, tavern, histories, args, version);
    }
    let library = tavern.library();
    let chat = library.find(tavern.disk, &args.chat)?;
    let mended = tavern.restore(chat, args.at, args.fill, options(args.mend))?;
    say(ui, "Restored", "Would restore", &mended);
    ui.answer(&answer("restore", [&mended], &[]));
    Ok(Exit::Fine)
}

pub(crate) fn split(ui: &mut Ui<'_>, tavern: &Tavern<'_>, args: &SplitArgs) -> Outcome {
    let library = tavern.library();
    let mut done = Vec::new();
    let mut refused = Vec::new();
    match &args.chat {
        Some(name) => {
            let chat = library.find(tavern.disk, name)?;
            let mended = tavern.split(chat, true, options(args.mend))?;
            say(ui, "Split", "Would split", &mended);
            done.push(mended);
        }
        None => {
            for chat in tavern.to_be_split(&library) {
                match tavern.split(&chat, true, options(args.mend)) {
                    Ok(mended) => {
                        say(ui, "Split", "Would split", &mended);
                        done.push(mended);
                    }
                    Err(error) => refused.push((chat.label(), CommandError::from(error))),
                }
            }
            if done.is_empty() && refused.is_empty() {
                ui.say("No timeline shares its lorebook with another of its family.");
            }
        }
    }
    if !ui.is_json() {
        for (_, error) in &refused {
            error.report(ui);
        }
    }
    ui.answer(&answer("split", &done, &refused));
    Ok(Exit::failed_if(!refused.is_empty()))
}

fn options(args: MendArgs) -> MendOptions {
    MendOptions { is_closed: args.closed, dry_run: args.dry_run }
}

fn say(ui: &mut Ui<'_>, done: &str, would: &str, mended: &Mended) {
    let verb = if mended.operation.is_some() { done } else { would };
    ui.say(Line::new().add(Style::Good, format!("{verb} ")).bold(&mended.chat));
    match &mended.book {
        Some(book) => {
            let entries = count(book.entries, "entry", "entries");
            let mut line =
                Line::new().dim("  lorebook  ").plain(format!("{:?}, {entries}", book.name));
            match mended.part {
                // Nothing was to be known of the past: a copy was asked for, or all there is.
                Some(Part { exactness: Exactness::Live, source }) => {
                    let word =
                        if source == Source::Files { ", a copy of the shared one" } else { "" };
                    line = line.plain(word);
                }
                Some(part) => line = line.plain(format!(", {}", known(part, None))),
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
    if mended.operation.is_some() {
        ui.say(
            Line::new()
                .dim("  page      ")
                .plain("reload SillyTavern's page before you go on with this chat"),
        );
    }
    for remark in &mended.remarks {
        ui.say(Line::new().add(Style::Note, "  - ").plain(remark.to_string()));
    }
}

fn answer<'a>(
    command: &str,
    mended: impl IntoIterator<Item = &'a Mended>,
    refused: &[(String, CommandError)],
) -> Json {
    let timelines = mended.into_iter().map(|mended| {
        Json::object([
            ("chat", Json::from(mended.chat.as_str())),
            ("book", Json::from(mended.book.as_ref().map(|book| book.name.clone()))),
            ("entries", Json::from(mended.book.as_ref().map(|book| book.entries))),
            ("replaced", Json::from(mended.book.as_ref().is_some_and(|book| book.replaced))),
            ("chat_changed", Json::from(mended.chat_changed)),
            ("known", mended.part.map_or(Json::Null, json::part)),
            ("remarks", json::sayings(&mended.remarks)),
            ("operation", Json::from(mended.operation.map(|id| id as usize))),
        ])
    });
    let refused = refused.iter().map(|(chat, error)| {
        Json::object([("chat", Json::from(chat.as_str())), ("error", error.to_json())])
    });
    json::answer(
        command,
        [
            ("timelines", Json::Array(timelines.collect())),
            ("refused", Json::Array(refused.collect())),
        ],
    )
}
