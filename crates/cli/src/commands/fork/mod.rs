//! Forking: what `branch` and `checkpoint` have in common.

pub(super) mod branch;
pub(super) mod checkpoint;

use std::time::Duration;

use forklore_core::diagnostic::Diagnostic;
use forklore_core::finding::Obstacle;
use forklore_tavern::folder::library::ChatFile;
use forklore_tavern::work::fork::{CheckpointLink, ForkError, ForkOptions, Forked};
use forklore_tavern::work::tavern::Tavern;

use super::Outcome;
use super::shared::damage::PastUnread;
use super::shared::exactness::describe;
use crate::args::QueueArg;
use crate::exit::Exit;
use crate::json::{self, Json};
use crate::text::{Line, Style, count};
use crate::ui::Ui;

const LONGEST_WAIT: Duration = Duration::from_secs(600);
const BETWEEN_LOOKS: Duration = Duration::from_millis(500);

fn run(
    ui: &mut Ui<'_>,
    tavern: &Tavern<'_>,
    chat: &str,
    options: &ForkOptions,
    queue: QueueArg,
) -> Outcome {
    let library = tavern.library();
    let chat = library.find(tavern.disk, chat)?;
    let forked = match queue {
        QueueArg::Wait => wait_and_fork(ui, tavern, chat, options)?,
        QueueArg::Refuse | QueueArg::Drain => tavern.fork(chat, options)?,
    };
    say(ui, &forked);
    let unread = tavern.pasts.is_some_and(|pasts| pasts.is_damaged()).then_some(PastUnread);
    ui.answer(&answer(&forked, unread.as_ref()));
    Ok(Exit::Fine)
}

fn wait_and_fork(
    ui: &mut Ui<'_>,
    tavern: &Tavern<'_>,
    chat: &ChatFile,
    options: &ForkOptions,
) -> Result<Forked, ForkError> {
    let mut waited = Duration::ZERO;
    loop {
        match tavern.fork(chat, options) {
            Err(ForkError::Refused(refusal))
                if waited < LONGEST_WAIT
                    && refusal.obstacles.iter().all(|o| matches!(o, Obstacle::QueueBusy(_))) =>
            {
                if waited.is_zero() {
                    ui.note(Line::new().dim("Waiting for ST-Auto-Recap to finish."));
                }
                tavern.clock.sleep(BETWEEN_LOOKS);
                waited += BETWEEN_LOOKS;
            }
            other => return other,
        }
    }
}

fn say(ui: &mut Ui<'_>, forked: &Forked) {
    let verb = if forked.operation.is_some() { "Made" } else { "Would make" };
    ui.say(
        Line::new()
            .add(Style::Good, format!("{verb} the {} ", forked.kind.word()))
            .bold(&forked.label)
            .plain(format!(" of {} at message {}", forked.parent, forked.message)),
    );
    match &forked.seal.book {
        Some(book) => ui.say(
            Line::new()
                .dim("  lorebook  ")
                .plain(format!("{:?}, {}, ", book.name, count(book.entries, "entry", "entries")))
                .plain(describe(book.part, forked.message)),
        ),
        None => {
            let known = forked.seal.no_book.map(|part| describe(part, forked.message));
            let none = known.map_or("none".to_owned(), |known| format!("none, {known}"));
            ui.say(Line::new().dim("  lorebook  ").plain(none));
        }
    }
    if let Some(recap) = &forked.seal.running_recap {
        let recap = match recap.version {
            Some(version) => {
                let versions = count(recap.count, "version", "versions");
                let scenes = count(recap.scenes.unwrap_or_default(), "scene", "scenes");
                format!("version {version}, {versions}, {scenes}")
            }
            None => "empty".to_owned(),
        };
        ui.say(Line::new().dim("  recap     ").plain(recap));
    }
    if let Some(combined) = &forked.seal.combined_recap {
        let messages = count(combined.messages, "message", "messages");
        ui.say(Line::new().dim("  combined  ").plain(format!("recap of {messages}")));
    }
    match &forked.link {
        CheckpointLink::NotWanted => {}
        CheckpointLink::Written => ui
            .say(Line::new().dim("  link      ").plain(format!("from message {}", forked.message))),
        CheckpointLink::Taken(name) => ui.say(
            Line::new()
                .dim("  link      ")
                .plain(format!("none: the message already links to {name:?}")),
        ),
        CheckpointLink::ParentMayBeOpen(why) => {
            ui.say(Line::new().dim("  link      ").plain(format!(
                "none: the chat may be open in SillyTavern ({why}); if it is not, add --closed"
            )))
        }
        CheckpointLink::ParentIsBusy => {
            ui.say(Line::new().dim("  link      ").plain("none: the chat is being written"));
        }
        CheckpointLink::NoPlace => {
            ui.say(Line::new().dim("  link      ").plain("none: the message has no place for one"))
        }
    }
    if let Some(group) = &forked.group {
        ui.say(
            Line::new()
                .dim("  group     ")
                .plain(format!("{group} lists it; reload the page if the group is open")),
        );
    }
    for remark in &forked.remarks {
        ui.say(Line::new().add(Style::Note, "  - ").plain(remark.to_string()));
    }
}

fn answer(forked: &Forked, unread: Option<&PastUnread>) -> Json {
    let remarks = forked.remarks.iter().map(Diagnostic::to_json);
    let remarks = remarks.chain(unread.map(Diagnostic::to_json)).collect();
    let book = forked.seal.book.as_ref().map_or(Json::Null, |book| {
        Json::object([
            ("name", Json::from(book.name.as_str())),
            ("from", Json::from(book.from.as_str())),
            ("entries", Json::from(book.entries)),
            ("digest", Json::from(book.digest.to_string())),
            ("known", json::knowledge(book.part)),
        ])
    });
    let known = forked.seal.book.as_ref().map(|book| book.part).or(forked.seal.no_book);
    let recap = forked.seal.running_recap.as_ref().map(|recap| {
        Json::object([
            ("version", Json::from(recap.version)),
            ("versions", Json::from(recap.count)),
            ("scenes", Json::from(recap.scenes)),
        ])
    });
    let combined = forked.seal.combined_recap.as_ref().map(|combined| combined.messages);
    let link = match &forked.link {
        CheckpointLink::NotWanted => "not wanted".to_owned(),
        CheckpointLink::Written => "written".to_owned(),
        CheckpointLink::Taken(name) => format!("taken by {name}"),
        CheckpointLink::ParentMayBeOpen(why) => format!("not written: {why}"),
        CheckpointLink::ParentIsBusy => "not written: busy".to_owned(),
        CheckpointLink::NoPlace => "not written: no place".to_owned(),
    };
    json::answer(
        forked.kind.word(),
        [
            ("parent", Json::from(forked.parent.as_str())),
            ("message", Json::from(forked.message)),
            ("child", Json::from(forked.label.as_str())),
            ("bytes", Json::from(forked.bytes)),
            ("book", book),
            ("book_known", known.map_or(Json::Null, json::knowledge)),
            ("metadata_known", json::knowledge(forked.seal.metadata)),
            ("recap", Json::from(recap)),
            ("combined", Json::from(combined)),
            ("link", Json::from(link)),
            ("group", Json::from(forked.group.clone())),
            ("remarks", Json::Array(remarks)),
            ("operation", Json::from(forked.operation.map(|id| id as usize))),
        ],
    )
}
