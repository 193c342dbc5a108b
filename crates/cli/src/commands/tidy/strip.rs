//! `forklore strip`

use forklore_tavern::work::change::ChangeOptions;
use forklore_tavern::work::tavern::Tavern;

use crate::args::StripArgs;
use crate::commands::Outcome;
use crate::exit::Exit;
use crate::json::{self, Json};
use crate::text::{Line, Style, count};
use crate::ui::Ui;

pub(crate) fn run(ui: &mut Ui<'_>, tavern: &Tavern<'_>, args: &StripArgs) -> Outcome {
    let library = tavern.library();
    let chat = library.find(tavern.disk, &args.chat)?;
    let options = ChangeOptions { is_closed: args.change.closed, dry_run: args.change.dry_run };
    let (records, operation) = tavern.strip(chat, options)?;
    let verb = if operation.is_some() { "Removed" } else { "Would remove" };
    ui.say(
        Line::new()
            .add(
                Style::Good,
                format!("{verb} {} ", count(records, "journal record", "journal records")),
            )
            .plain("from ")
            .bold(chat.label()),
    );
    ui.answer(&json::answer(
        "strip",
        [
            ("chat", Json::from(chat.label())),
            ("records", Json::from(records)),
            ("operation", Json::from(operation.map(|id| id as usize))),
        ],
    ));
    Ok(Exit::Fine)
}
