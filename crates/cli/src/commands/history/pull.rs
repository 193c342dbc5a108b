//! `forklore history pull`

use forklore_history::exchange::join::Joined;
use forklore_history::exchange::remote::{self, Git};
use forklore_history::version::history::History;
use forklore_tavern::work::tavern::Tavern;

use super::push::say_ours_differ;
use super::{Histories, Outcome};
use crate::args::PullArgs;
use crate::commands::shared::gone;
use crate::exit::Exit;
use crate::json::{self, Json};
use crate::text::{Line, Style, count};
use crate::ui::Ui;

pub(super) fn run(
    ui: &mut Ui<'_>,
    tavern: &Tavern<'_>,
    histories: &Histories,
    args: &PullArgs,
) -> Outcome {
    let mut history = histories.open(tavern)?;
    let joined = remote::pull(&mut history, &Git::default(), &args.remote)?;
    Ok(say(ui, tavern, &history, "history pull", &joined))
}

/// Reports what was received and returns the exit code.
pub(super) fn say(
    ui: &mut Ui<'_>,
    tavern: &Tavern<'_>,
    history: &History<'_>,
    command: &'static str,
    joined: &Joined,
) -> Exit {
    for (machine, received) in &joined.machines {
        let versions = count(received.versions, "version", "versions");
        let files = count(received.files, "file", "files");
        ui.say(
            Line::new()
                .plain(format!("Added {versions} of {files} from "))
                .bold(machine)
                .plain("."),
        );
        if received.rewritten > 0 {
            ui.say(format!(
                "  The past of {} was rewritten there. Its old form is kept under refs/old.",
                count(received.rewritten, "file", "files"),
            ));
        }
    }
    if joined.machines.is_empty() {
        ui.say("Nothing new.");
    }
    for (machine, files) in gone::not_here(tavern, history) {
        ui.say(Line::new().dim(gone::not_here_hint(&machine, files)));
    }
    if joined.ours_differ > 0 {
        say_ours_differ(ui, joined.ours_differ);
    }
    for refused in joined.refused.iter().take(20) {
        let why = refused.why.to_string();
        ui.note(
            Line::new()
                .add(Style::Bad, "  ! ")
                .bold(&refused.reference)
                .plain(": not added: ")
                .plain(why),
        );
    }
    let machines = joined.machines.iter().map(|(machine, received)| {
        Json::object([
            ("machine", Json::from(machine.as_str())),
            ("files", Json::from(received.files)),
            ("versions", Json::from(received.versions)),
            ("rewritten", Json::from(received.rewritten)),
        ])
    });
    ui.answer(&json::answer(
        command,
        [
            ("machines", Json::Array(machines.collect())),
            ("ours_differ", Json::from(joined.ours_differ)),
            ("refused", json::texts(joined.refused.iter().map(|refused| &refused.reference))),
        ],
    ));
    Exit::failed_if(!joined.refused.is_empty())
}
