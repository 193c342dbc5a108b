//! `forklore clean`

use forklore_core::diagnostic::Diagnostic as _;
use forklore_core::diagnostics;
use forklore_core::plan::cleanup::KeepReason;
use forklore_core::timeline::references::ReferencePlace;
use forklore_tavern::work::cleanup::{CleanOptions, Cleanup};
use forklore_tavern::work::tavern::Tavern;

use crate::args::CleanArgs;
use crate::commands::Outcome;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::json::{self, Json};
use crate::objection::Objection;
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
        return Ok(Exit::found_if(!cleanup.plan.unread.is_empty()));
    }
    if !args.yes {
        if !ui.can_ask() {
            return Err(CommandError::new(Objection::NobodyToAsk { undone: "nothing was moved" })
                .hinted("Use --yes to move them, or --dry-run to only look."));
        }
        if !ui.confirm("Move them to the trash?") {
            return Ok(Exit::Failed);
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
    Ok(Exit::Fine)
}

fn say(ui: &mut Ui<'_>, cleanup: &Cleanup) {
    let Cleanup { plan, of_deleted_chats } = cleanup;
    if plan.remove.is_empty() && plan.keep.is_empty() && of_deleted_chats.is_empty() {
        ui.say("There are no lorebooks made by Forklore.");
    } else if plan.remove.is_empty() {
        ui.say("Nothing to clean.");
    } else {
        ui.say(Line::new().bold("Unused:"));
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
            // The usual case. Listing each of them would hide the rest.
            KeepReason::ReferredToBy(places)
                if places.iter().any(|p| matches!(p, ReferencePlace::Chat { .. })) =>
            {
                continue;
            }
            KeepReason::OnlyBackups(_) => format!("{reason}; --despite-backups moves it too"),
            KeepReason::ReferredToBy(_) | KeepReason::Unread => reason.to_string(),
        };
        ui.say(Line::new().add(Style::Note, "  - ").plain(format!("{:?}: {why}", book.name)));
    }
    for (book, chats) in of_deleted_chats {
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

/// Why a lorebook stays: its chats were deleted recently and may yet be restored.
#[derive(Debug, thiserror::Error)]
#[error("deleted recently: {}", chats.join(", "))]
pub(crate) struct ChatsDeletedRecently {
    chats: Vec<String>,
}

diagnostics!(ChatsDeletedRecently {
    Self { chats } => ("chats-deleted-recently", chats: chats.clone()),
});

fn answer(cleanup: &Cleanup, operation: Option<u64>) -> Json {
    let Cleanup { plan, of_deleted_chats } = cleanup;
    let removed = plan.remove.iter().map(|book| Json::from(book.name.as_str())).collect();
    let kept = plan.keep.iter().map(|(book, reason)| (book, reason.to_json()));
    let waiting = of_deleted_chats.iter().map(|(book, chats)| {
        let reason = ChatsDeletedRecently { chats: chats.clone() };
        (book, reason.to_json())
    });
    let kept = kept
        .chain(waiting)
        .map(|(book, why)| Json::object([("book", Json::from(book.name.as_str())), ("why", why)]));
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
