//! `forklore restore`

pub(crate) mod version;

use forklore_tavern::work::tavern::Tavern;

use crate::args::RestoreArgs;
use crate::commands::shared::change::{answer, options, say};
use crate::commands::{Histories, Outcome};
use crate::exit::Exit;
use crate::ui::Ui;

pub(crate) fn run(
    ui: &mut Ui<'_>,
    tavern: &Tavern<'_>,
    histories: &Histories,
    args: &RestoreArgs,
) -> Outcome {
    if let Some(version) = args.version {
        return version::run(ui, tavern, histories, args, version);
    }
    let library = tavern.library();
    let chat = library.find(tavern.disk, &args.chat)?;
    let changed = tavern.restore(chat, args.at, args.fill, options(args.change))?;
    say(ui, "Restored", "Would restore", &changed);
    ui.answer(&answer(ui, "restore", [&changed], &[]));
    Ok(Exit::Fine)
}
