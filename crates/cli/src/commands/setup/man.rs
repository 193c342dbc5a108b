//! `forklore man`, generated from the same definitions as the help.

use crate::commands::Outcome;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::help;
use crate::objection::Objection;
use crate::ui::Ui;

pub(crate) fn run(ui: &mut Ui<'_>, command: &[String]) -> Outcome {
    let mut page = help::command();
    page.build();
    // `history verify` may be given as two arguments or as one.
    for name in command.iter().flat_map(|words| words.split_whitespace()) {
        page = page.find_subcommand(name).cloned().ok_or_else(|| {
            CommandError::new(Objection::UnknownCommand(command.join(" ")))
                .hinted("`forklore --help` lists them.")
        })?;
    }
    let mut text = Vec::new();
    clap_mangen::Man::new(page)
        .render(&mut text)
        .map_err(|error| CommandError::new(Objection::PageNotWritten(error)))?;
    ui.data(&text);
    Ok(Exit::Fine)
}
