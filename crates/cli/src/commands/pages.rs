//! `forklore completions` and `forklore man`: from the same definitions as the help.

use clap::CommandFactory as _;

use super::Outcome;
use crate::args::Cli;
use crate::error::CommandError;
use crate::ui::Ui;

pub(crate) fn completions(ui: &mut Ui<'_>, shell: clap_complete::Shell) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "forklore", &mut script);
    ui.data(&script);
    Ok(0)
}

pub(crate) fn man(ui: &mut Ui<'_>, command: Option<&str>) -> Outcome {
    let mut forklore = Cli::command();
    forklore.build();
    let page = match command {
        None => forklore,
        Some(name) => {
            let known = forklore.get_subcommands().find(|sub| sub.get_name() == name);
            let known = known.ok_or_else(|| {
                CommandError::new(format!("there is no command {name:?}"))
                    .hinted("`forklore --help` lists them.")
            })?;
            known.clone()
        }
    };
    let mut text = Vec::new();
    clap_mangen::Man::new(page)
        .render(&mut text)
        .map_err(|error| CommandError::new(format!("could not write the page: {error}")))?;
    ui.data(&text);
    Ok(0)
}
