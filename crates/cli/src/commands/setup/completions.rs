//! `forklore completions`, generated from the same definitions as the help.

use crate::commands::Outcome;
use crate::completing;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::objection::Objection;
use crate::ui::Ui;

pub(crate) fn run(ui: &mut Ui<'_>, shell: clap_complete::Shell) -> Outcome {
    let script = completing::script(shell)
        .map_err(|error| CommandError::new(Objection::PageNotWritten(error)))?;
    ui.data(&script);
    Ok(Exit::Fine)
}
