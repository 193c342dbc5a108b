//! `forklore check`

use forklore_core::plan::fork::{Readiness, check, resolve_message};
use forklore_core::timeline::moment::BookThen;
use forklore_core::timeline::moment::BoundChat;
use forklore_tavern::work::tavern::Tavern;

use crate::args::CheckArgs;
use crate::commands::Outcome;
use crate::commands::shared::exactness::describe;
use crate::commands::shared::policy::policy;
use crate::error::{CommandError, hint_for};
use crate::exit::Exit;
use crate::json::{self, Json};
use crate::objection::Objection;
use crate::text::{Line, Style};
use crate::ui::Ui;

pub(crate) fn run(ui: &mut Ui<'_>, tavern: &Tavern<'_>, args: &CheckArgs) -> Outcome {
    let library = tavern.library();
    let chat = library.find(tavern.disk, &args.chat)?;
    let loaded = tavern.load(&library, chat)?;
    let (parsed, bound) = (loaded.chat(), loaded.bound());
    let message = resolve_message(args.at, parsed.len()).map_err(|obstacle| {
        CommandError::new(Objection::Message { chat: chat.label(), obstacle })
    })?;
    let past = tavern.past(&loaded, message);
    let past = past.as_ref();
    let parent = BoundChat { name: &chat.name, chat: &parsed, bound: &bound, past };
    let readiness = check(parent, message, policy(&args.policy));

    let label = chat.label();
    if readiness.obstacles.is_empty() {
        ui.say(
            Line::new()
                .add(Style::Good, "Ready: ")
                .bold(&label)
                .plain(format!(" can be forked at message {message}")),
        );
    } else {
        ui.say(
            Line::new()
                .add(Style::Bad, "Not ready: ")
                .bold(&label)
                .plain(format!(" cannot be forked at message {message}")),
        );
    }
    say_moment(ui, &readiness);
    for obstacle in &readiness.obstacles {
        ui.say(Line::new().add(Style::Bad, "  ! ").plain(obstacle.to_string()));
    }
    for remark in &readiness.remarks {
        ui.say(Line::new().add(Style::Note, "  - ").plain(remark.to_string()));
    }
    let mut hints: Vec<String> = readiness.obstacles.iter().filter_map(hint_for).collect();
    hints.dedup();
    for hint in &hints {
        ui.say(Line::new().dim(hint));
    }
    ui.answer(&answer(&label, message, &readiness, hints));
    Ok(Exit::found_if(!readiness.obstacles.is_empty()))
}

fn say_moment(ui: &mut Ui<'_>, readiness: &Readiness<'_>) {
    let Some(moment) = &readiness.moment else { return };
    let book = match &moment.book {
        BookThen::None(part) => format!("none, {}", describe(*part, moment.message)),
        BookThen::Unknown => "not known".to_owned(),
        BookThen::Known { part, name, .. } => {
            format!("{name:?}, {}", describe(*part, moment.message))
        }
    };
    ui.say(Line::new().dim("  lorebook  ").plain(book));
    let metadata = &moment.metadata;
    let known = describe(metadata.part, moment.message);
    let is_whole = metadata.claim() == metadata.part;
    let known = if is_whole { known } else { format!("{known}, except what is named below") };
    ui.say(Line::new().dim("  metadata  ").plain(known));
}

fn answer(label: &str, message: usize, readiness: &Readiness<'_>, hints: Vec<String>) -> Json {
    let moment = readiness.moment.as_ref();
    let (book, name) = match moment.map(|moment| &moment.book) {
        Some(BookThen::Known { part, name, .. }) => {
            (json::knowledge(*part), Json::from(name.as_str()))
        }
        Some(BookThen::None(part)) => (json::knowledge(*part), Json::Null),
        Some(BookThen::Unknown) | None => (Json::Null, Json::Null),
    };
    json::answer(
        "check",
        [
            ("chat", Json::from(label)),
            ("message", Json::from(message)),
            ("ready", Json::from(readiness.obstacles.is_empty())),
            ("book", name),
            ("book_known", book),
            (
                "metadata_known",
                moment.map_or(Json::Null, |moment| json::knowledge(moment.metadata.claim())),
            ),
            ("obstacles", json::diagnostics(&readiness.obstacles)),
            ("remarks", json::diagnostics(&readiness.remarks)),
            ("hints", json::texts(hints)),
        ],
    )
}
