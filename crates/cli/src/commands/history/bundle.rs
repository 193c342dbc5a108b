//! `forklore history bundle`

use forklore_history::exchange::bundle::{self, Bundle, BundleHeader};
use forklore_tavern::work::tavern::Tavern;

use super::{Histories, Outcome};
use crate::args::BundleArgs;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::file::{self, is_standard_stream};
use crate::json::{self, Json};
use crate::objection::Objection;
use crate::text::{Line, Style, bytes, count};
use crate::ui::Ui;

pub(super) fn run(
    ui: &mut Ui<'_>,
    tavern: &Tavern<'_>,
    histories: &Histories,
    args: &BundleArgs,
) -> Outcome {
    let is_piped = is_standard_stream(&args.file);
    if is_piped {
        check_output(ui)?;
    }
    let mut history = histories.open_existing(tavern)?;
    let since = match &args.since {
        Some(last) => Some(BundleHeader::read(&file::read(last)?)?.0),
        None => None,
    };
    let Some(made) = bundle::make(&mut history, since.as_ref())? else {
        let nothing = "There is nothing new to bundle.";
        if is_piped {
            ui.note(nothing);
        } else {
            ui.say(nothing);
        }
        ui.answer(&json::answer("history bundle", [("file", Json::from(None::<String>))]));
        return Ok(Exit::Fine);
    };
    if is_piped {
        ui.data(&made.bytes);
        ui.note(Line::new().dim(format!("A bundle of {}.", size(&made))));
        warn(ui, "Anyone who has it can read it, unless the next program encrypts it.");
        return Ok(Exit::Fine);
    }
    file::write(tavern.disk, &args.file, &made.bytes)?;
    let name = args.file.display().to_string();
    ui.say(Line::new().plain("Wrote ").bold(&name).plain(format!(": {}.", size(&made))));
    warn(ui, "Anyone with this file can read it.");
    ui.hint("`forklore history bundle - | age --passphrase > stories.age` makes an encrypted one.");
    ui.answer(&json::answer(
        "history bundle",
        [
            ("file", Json::from(name)),
            ("files", Json::from(made.files)),
            ("objects", Json::from(made.objects)),
            ("bytes", Json::from(made.bytes.len())),
        ],
    ));
    Ok(Exit::Fine)
}

/// Whether standard output is free for a bundle.
fn check_output(ui: &Ui<'_>) -> Result<(), CommandError> {
    if ui.is_json() {
        return Err(
            CommandError::new(Objection::OutputIsJson).hinted("Name a file, or leave out --json.")
        );
    }
    if ui.is_terminal() {
        return Err(CommandError::new(Objection::OutputIsATerminal)
            .hinted("Name a file, or pipe it into another program."));
    }
    Ok(())
}

fn size(made: &Bundle) -> String {
    format!("{}, {}", count(made.files, "file", "files"), bytes(made.bytes.len() as u64))
}

fn warn(ui: &mut Ui<'_>, text: &str) {
    ui.note(Line::new().add(Style::Note, "  ! ").plain(text));
}
