//! `forklore history push`

use forklore_history::exchange::remote::{self, Git};
use forklore_tavern::work::tavern::Tavern;

use super::{Histories, Outcome};
use crate::args::PushArgs;
use crate::exit::Exit;
use crate::json::{self, Json};
use crate::text::{Line, Style, count};
use crate::ui::Ui;

pub(super) fn run(
    ui: &mut Ui<'_>,
    tavern: &Tavern<'_>,
    histories: &Histories,
    args: &PushArgs,
) -> Outcome {
    let mut history = histories.open_existing(tavern)?;
    let git = Git::default();
    if args.create {
        remote::create(&history, &git, &args.remote)?;
    }
    let pushed = remote::push(&mut history, &git, &args.remote, args.prune)?;
    let own = history.machine();
    let sent: Vec<String> = pushed
        .files
        .iter()
        .map(|(machine, files)| {
            let whose = if machine == own { "this machine" } else { machine };
            format!("{} of {whose}", count(*files, "file", "files"))
        })
        .collect();
    if !sent.is_empty() {
        ui.say(format!("Sent {}.", sent.join(", ")));
    } else if pushed.ours_differ == 0 {
        ui.say("Everything is already there.");
    }
    if pushed.removed > 0 {
        ui.say(format!("Removed {} from the remote.", count(pushed.removed, "ref", "refs")));
    }
    if pushed.newer_there > 0 {
        let newer = count(pushed.newer_there, "file", "files");
        ui.say(format!(
            "The remote has more of {newer} of other machines. `forklore history pull REMOTE` fetches it.",
        ));
    }
    if pushed.ours_differ > 0 {
        say_ours_differ(ui, pushed.ours_differ);
        ui.hint(
            "If they were purged here, `forklore history push REMOTE --prune` makes the remote match.",
        );
    }
    for (reference, why) in &pushed.refused {
        ui.note(
            Line::new()
                .add(Style::Bad, "  ! ")
                .bold(reference)
                .plain(": rejected by the remote: ")
                .plain(why),
        );
    }
    let files = pushed.files.iter().map(|(machine, files)| {
        Json::object([("machine", Json::from(machine.as_str())), ("files", Json::from(*files))])
    });
    ui.answer(&json::answer(
        "history push",
        [
            ("sent", Json::Array(files.collect())),
            ("newer_there", Json::from(pushed.newer_there)),
            ("ours_differ", Json::from(pushed.ours_differ)),
            ("removed", Json::from(pushed.removed)),
            ("refused", json::texts(pushed.refused.iter().map(|(reference, _)| reference))),
        ],
    ));
    Ok(Exit::failed_if(!pushed.refused.is_empty()).max(Exit::found_if(pushed.ours_differ > 0)))
}

/// Reports that the remote has versions under this machine's name that are not here.
pub(super) fn say_ours_differ(ui: &mut Ui<'_>, files: usize) {
    let files = count(files, "file", "files");
    ui.note(Line::new().add(Style::Note, "  ! ").plain(format!(
        "The remote has versions of {files} of this machine that are not here. They were left alone.",
    )));
    ui.hint(
        "If this history is a copy of another machine's, `forklore history repair --machine new` lets it record under its own name.",
    );
}
