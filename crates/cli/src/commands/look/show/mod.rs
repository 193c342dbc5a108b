//! `forklore show`

mod version;

use forklore_core::plan::fork::resolve_message;
use forklore_core::timeline::exactness::Exactness;
use forklore_core::timeline::moment::{BookContent, BookThen, MomentOptions, moment};
use forklore_json::Indent;
use forklore_tavern::disk::describe::shown;
use forklore_tavern::work::tavern::Tavern;

use crate::args::ShowArgs;
use crate::commands::shared::exactness::describe;
use crate::commands::{Histories, Outcome};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::file;
use crate::json::{self, Json};
use crate::objection::Objection;
use crate::text::{Line, command};
use crate::ui::Ui;

pub(crate) fn run(
    ui: &mut Ui<'_>,
    tavern: &Tavern<'_>,
    histories: &Histories,
    args: &ShowArgs,
) -> Outcome {
    if let Some(version) = args.version {
        return version::run(ui, tavern, histories, args, version);
    }
    let library = tavern.library();
    let chat = library.find(tavern.disk, &args.chat)?;
    let loaded = tavern.load(&library, chat)?;
    let (parsed, bound) = (loaded.chat(), loaded.bound());
    let message = resolve_message(args.at, parsed.len()).map_err(|obstacle| {
        CommandError::new(Objection::Message { chat: chat.label(), obstacle })
    })?;
    let past = tavern.past(&loaded, message);
    let terms = MomentOptions { fill: args.fill, settled: true, ..MomentOptions::default() };
    let moment = moment(&parsed, &bound, past.as_ref(), message, terms);
    let (part, name, content) = match &moment.book {
        BookThen::Known { part, name, content } => (*part, name, content),
        BookThen::None(part) => {
            let when = match part.exactness {
                Exactness::Exact => None,
                Exactness::Live => Some("today".to_owned()),
                other => Some(other.words(message)),
            };
            let chat = chat.label();
            return Err(CommandError::new(match when {
                None => Objection::NoBookThen { chat, message },
                Some(when) => Objection::NoBookNow { chat, message, when },
            }));
        }
        BookThen::Unknown => {
            return Err(CommandError::new(Objection::BookNotRecorded {
                chat: chat.label(),
                message,
            })
            .hinted(format!(
                "{} shows what is wrong with it now.",
                command("verify", &chat.label(), "")
            )));
        }
    };
    let value = match content {
        BookContent::Bytes(book) => book.root().json().unwrap_or(Json::Null),
        BookContent::Journal(book) => book.clone().into(),
        BookContent::Rebuilt(rebuilt) => rebuilt.book.clone(),
    };
    let text = || match content {
        // The current lorebook is shown byte for byte.
        BookContent::Bytes(book) => book.root().bytes().to_vec(),
        BookContent::Journal(_) | BookContent::Rebuilt(_) => value.stringify_with(Indent::BOOK),
    };
    if let Some(output) = &args.output {
        file::write(tavern.disk, output, &text())?;
    }
    if ui.is_json() {
        let content = if args.output.is_none() { value } else { Json::Null };
        ui.answer(&json::answer(
            "show",
            [
                ("chat", Json::from(chat.label())),
                ("message", Json::from(message)),
                ("book", Json::from(name.as_str())),
                ("known", json::knowledge(part)),
                ("output", Json::from(args.output.as_deref().map(shown))),
                ("content", content),
            ],
        ));
        return Ok(Exit::Fine);
    }
    if args.output.is_none() {
        ui.data(&text());
    }
    ui.note(Line::new().dim(format!("{name:?} at message {message}: {}", describe(part, message))));
    Ok(Exit::Fine)
}
