//! `forklore split`

use forklore_tavern::work::tavern::Tavern;

use crate::args::SplitArgs;
use crate::commands::Outcome;
use crate::commands::shared::change::{answer, options, say};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::ui::Ui;

pub(crate) fn run(ui: &mut Ui<'_>, tavern: &Tavern<'_>, args: &SplitArgs) -> Outcome {
    let library = tavern.library();
    let mut done = Vec::new();
    let mut refused = Vec::new();
    match &args.chat {
        Some(name) => {
            let chat = library.find(tavern.disk, name)?;
            let changed = tavern.split(chat, true, options(args.change))?;
            say(ui, "Split", "Would split", &changed);
            done.push(changed);
        }
        None => {
            for chat in tavern.needing_split(&library) {
                match tavern.split(&chat, true, options(args.change)) {
                    Ok(changed) => {
                        say(ui, "Split", "Would split", &changed);
                        done.push(changed);
                    }
                    Err(error) => refused.push((chat.label(), CommandError::from(error))),
                }
            }
            if done.is_empty() && refused.is_empty() {
                ui.say("No timeline shares its lorebook with another of its family.");
            }
        }
    }
    if !ui.is_json() {
        for (_, error) in &refused {
            error.report(ui);
        }
    }
    ui.answer(&answer(ui, "split", &done, &refused));
    Ok(Exit::failed_if(!refused.is_empty()))
}
