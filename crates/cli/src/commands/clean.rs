//! `forklore clean`

use forklore_core::cleanup::Reason;
use forklore_core::references::Place;
use forklore_tavern::cleaning::{CleanOptions, Cleanup};
use forklore_tavern::tavern::Tavern;

use super::Outcome;
use crate::args::CleanArgs;
use crate::error::CommandError;
use crate::json::{self, Json};
use crate::text::{Line, Style, count};
use crate::ui::Ui;

pub(crate) fn run(ui: &mut Ui<'_>, tavern: &Tavern<'_>, args: &CleanArgs) -> Outcome {
    let options = CleanOptions {
        despite_backups: args.despite_backups,
        despite_deleted: args.despite_deleted,
    };
    let cleanup = {
        let progress = ui.progress(tavern.library().chats.len(), "Reading");
        tavern.plan_cleanup(options, &|| progress.tick())
    };
    say(ui, &cleanup);
    if args.dry_run || cleanup.plan.remove.is_empty() {
        ui.answer(&answer(&cleanup, None));
        return Ok(u8::from(!cleanup.plan.unread.is_empty()));
    }
    if !args.yes {
        if !ui.can_ask() {
            return Err(CommandError::new("nothing was moved, because nobody can be asked")
                .hinted("Say --yes to move them, or --dry-run to only look."));
        }
        if !ui.asks("Move them to the trash?") {
            return Ok(1);
        }
    }
    let cleaned = tavern.clean(options, &|| {})?;
    let moved = count(cleaned.cleanup.plan.remove.len(), "lorebook", "lorebooks");
    ui.say(
        Line::new()
            .add(Style::Good, format!("Moved {moved} to the trash."))
            .dim(" `forklore undo` brings them back."),
    );
    ui.answer(&answer(&cleaned.cleanup, cleaned.operation));
    Ok(0)
}

fn say(ui: &mut Ui<'_>, cleanup: &Cleanup) {
    let Cleanup { plan, of_gone_chats } = cleanup;
    if plan.remove.is_empty() && plan.keep.is_empty() && of_gone_chats.is_empty() {
        ui.say("There are no lorebooks made by Forklore.");
    } else if plan.remove.is_empty() {
        ui.say("Nothing to clean.");
    } else {
        ui.say(Line::new().bold("Nothing refers to:"));
    }
    for book in &plan.remove {
        ui.say(
            Line::new()
                .plain(format!("  {:?}", book.name))
                .dim(format!("  made for {:?}, {} bytes", book.made_for, book.bytes)),
        );
    }
    for (book, reason) in &plan.keep {
        let why = match reason {
            // The ordinary case; saying it for each would drown the rest.
            Reason::ReferredToBy(places)
                if places.iter().any(|p| matches!(p, Place::Chat { .. })) =>
            {
                continue;
            }
            Reason::ReferredToBy(places) => {
                format!("in use: {}", places.iter().map(words).collect::<Vec<_>>().join(", "))
            }
            Reason::OnlyBackups(number) => {
                format!(
                    "named by {}; --despite-backups moves it too",
                    count(*number, "backup", "backups")
                )
            }
            Reason::Unread => "kept, because something could not be read".to_owned(),
        };
        ui.say(Line::new().add(Style::Note, "  - ").plain(format!("{:?}: {why}", book.name)));
    }
    for (book, chats) in of_gone_chats {
        let was = if chats.len() == 1 { "was" } else { "were" };
        ui.say(Line::new().add(Style::Note, "  - ").plain(format!(
            "{:?}: kept, because {} {was} deleted recently; --despite-deleted moves it too",
            book.name,
            chats.join(", ")
        )));
    }
    for unread in &plan.unread {
        ui.say(
            Line::new()
                .add(Style::Bad, "  ! ")
                .plain(unread)
                .plain(" could not be read, and may refer to anything"),
        );
    }
}

fn words(place: &Place) -> String {
    match place {
        Place::Chat { name, .. } => format!("bound to {name:?}"),
        Place::Backup(name) => format!("named by the backup {name:?}"),
        Place::Global => "selected for all chats".to_owned(),
        Place::CharacterLore(name) => format!("an extra lorebook of {name:?}"),
        Place::Persona(name) => format!("the lorebook of a persona ({name:?})"),
        Place::Card(name) => format!("the lorebook of the character {name:?}"),
        Place::Recap { name, .. } => format!("named by the recaps of {name:?}"),
        Place::Queue { book } => format!("named by the queue in {book:?}"),
    }
}

fn answer(cleanup: &Cleanup, operation: Option<u64>) -> Json {
    let Cleanup { plan, of_gone_chats } = cleanup;
    let removed = plan.remove.iter().map(|book| Json::from(book.name.as_str())).collect();
    let kept = plan.keep.iter().map(|(book, reason)| {
        let why = match reason {
            Reason::ReferredToBy(places) => places.iter().map(words).collect::<Vec<_>>().join(", "),
            Reason::OnlyBackups(_) => "named by backups only".to_owned(),
            Reason::Unread => "something could not be read".to_owned(),
        };
        (book, why)
    });
    let waiting = of_gone_chats
        .iter()
        .map(|(book, chats)| (book, format!("deleted recently: {}", chats.join(", "))));
    let kept = kept.chain(waiting).map(|(book, why)| {
        Json::object([("book", Json::from(book.name.as_str())), ("why", Json::from(why))])
    });
    json::answer(
        "clean",
        [
            ("removed", Json::Array(removed)),
            ("kept", Json::Array(kept.collect())),
            ("unread", json::texts(&plan.unread)),
            ("operation", Json::from(operation.map(|id| id as usize))),
        ],
    )
}
