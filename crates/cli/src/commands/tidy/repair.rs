//! `forklore repair`

use forklore_tavern::work::repair::WantedSource;
use forklore_tavern::work::tavern::Tavern;

use crate::args::{RepairArgs, SourceArg};
use crate::commands::Outcome;
use crate::commands::shared::change::{answer, options, say};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::objection::Objection;
use crate::ui::Ui;

pub(crate) fn run(ui: &mut Ui<'_>, tavern: &Tavern<'_>, args: &RepairArgs) -> Outcome {
    let library = tavern.library();
    let chat = library.find(tavern.disk, &args.chat)?;
    let source = match &args.from {
        SourceArg::Journal => WantedSource::Journal,
        SourceArg::Recap => WantedSource::Recap,
        SourceArg::Empty => WantedSource::Empty,
        SourceArg::Detach => WantedSource::Detach,
        SourceArg::Book(Some(name)) => WantedSource::Copy(name.clone()),
        SourceArg::Book(None) => {
            let parents = tavern.parents_book(&library, chat).ok_or_else(|| {
                CommandError::new(Objection::NoParentsBook(chat.label()))
                    .hinted("Name a lorebook: --from book=NAME.")
            })?;
            WantedSource::Copy(parents)
        }
    };
    let changed = tavern.repair(chat, &source, options(args.change))?;
    say(ui, "Repaired", "Would repair", &changed);
    ui.answer(&answer(ui, "repair", [&changed], &[]));
    Ok(Exit::Fine)
}
