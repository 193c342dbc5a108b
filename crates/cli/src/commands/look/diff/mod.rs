//! `forklore diff`

mod chats;
mod entries;
mod messages;
mod say;
mod stat;
mod versions;

use forklore_core::compare::diff::{Difference, EntryDifference, LoreDiff};
use forklore_tavern::work::compare::{ChatPoint, Comparison, LoreAt, LoreOf};
use forklore_tavern::work::tavern::Tavern;

use crate::args::DiffArgs;
use crate::commands::{Histories, Outcome};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::json::{self, Json};
use crate::lore::base_json;
use crate::objection::Objection;
use crate::ui::Ui;

pub(crate) fn run(
    ui: &mut Ui<'_>,
    tavern: &Tavern<'_>,
    histories: &Histories,
    args: &DiffArgs,
) -> Outcome {
    if let Some(version) = args.version {
        return versions::run(ui, tavern, histories, args, version);
    }
    let (left, right) = sides(tavern, args)?;
    let comparison = tavern.compare(&left, &right)?;
    let compared = comparison.compared(args.internal);
    if args.stat {
        stat::say(ui, &comparison, &compared);
    } else {
        say::say(ui, &comparison, &compared);
    }
    if ui.is_json() {
        ui.answer(&answer(&comparison, &compared));
    }
    Ok(Exit::found_if(!compared.is_empty()))
}

/// The two sides to compare.
fn sides(tavern: &Tavern<'_>, args: &DiffArgs) -> Result<(LoreOf, LoreOf), CommandError> {
    let library = tavern.library();
    let named = |wanted: &str| {
        let lore = library.find_lore(tavern.disk, wanted)?;
        match (lore, args.at) {
            (LoreOf::Timeline(ChatPoint { at: Some(_), .. }), Some(_)) => {
                Err(CommandError::new(Objection::MessageTwice)
                    .hinted("Use either --at M or CHAT@M."))
            }
            (LoreOf::Timeline(ChatPoint { chat, at: None }), at) => {
                Ok(LoreOf::Timeline(ChatPoint { chat, at }))
            }
            (lore, _) => Ok(lore),
        }
    };
    let left = named(&args.left)?;
    if let Some(right) = &args.right {
        return Ok((left, named(right)?));
    }
    let label = match &left {
        LoreOf::Timeline(ChatPoint { chat, at: Some(_) }) => {
            let now = ChatPoint { chat: chat.clone(), at: None };
            return Ok((left, LoreOf::Timeline(now)));
        }
        LoreOf::Timeline(point) => point.chat.label(),
        LoreOf::Book(name) => name.clone(),
    };
    Err(CommandError::new(Objection::NothingToCompare(label))
        .hinted("Name another chat or lorebook, or a message of this chat with --at M."))
}

fn answer(comparison: &Comparison, compared: &LoreDiff) -> Json {
    let list = |found: &[Difference]| Json::Array(found.iter().map(Difference::to_json).collect());
    json::answer(
        "diff",
        [
            ("left", side(&comparison.left)),
            ("right", side(&comparison.right)),
            ("base", base_json(&comparison.base.known)),
            ("same", Json::from(compared.is_empty())),
            (
                "entries",
                Json::Array(compared.entries.iter().map(EntryDifference::to_json).collect()),
            ),
            ("book", list(&compared.book)),
            ("recap", list(&compared.recap)),
            ("variables", list(&compared.variables)),
            ("other", list(&compared.other)),
        ],
    )
}

pub(crate) fn side(lore: &LoreAt) -> Json {
    Json::object([
        ("chat", Json::from(lore.label.as_str())),
        ("message", Json::from(lore.message)),
        ("book", Json::from(lore.book_name.clone())),
        ("known", json::knowledge(lore.known)),
    ])
}
