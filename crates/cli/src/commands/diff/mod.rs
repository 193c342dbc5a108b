//! `forklore diff`

mod chats;
mod entries;
mod messages;
mod say;
mod stat;
mod versions;

use forklore_core::diff::{Compared, Difference, EntryDifference};
use forklore_tavern::comparing::{Comparison, Lore, Point};
use forklore_tavern::tavern::Tavern;

use super::{Histories, Outcome};
use crate::args::DiffArgs;
use crate::error::CommandError;
use crate::json::{self, Json};
use crate::lore::base_json;
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
    let (left, right) = points(tavern, args)?;
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
    Ok(0)
}

/// The two moments that are meant.
fn points(tavern: &Tavern<'_>, args: &DiffArgs) -> Result<(Point, Point), CommandError> {
    let library = tavern.library();
    let mut left = library.find_point(tavern.disk, &args.left)?;
    let right = args.right.as_deref();
    let mut right = right.map(|right| library.find_point(tavern.disk, right)).transpose()?;
    if let Some(at) = args.at {
        let is_said = |point: &Point| point.at.is_some();
        if is_said(&left) || right.as_ref().is_some_and(is_said) {
            return Err(CommandError::new("the message is named twice")
                .hinted("Use either --at M or CHAT@M."));
        }
        left.at = Some(at);
        if let Some(right) = &mut right {
            right.at = Some(at);
        }
    }
    match right {
        Some(right) => Ok((left, right)),
        None if left.at.is_some() => {
            let now = Point { chat: left.chat.clone(), at: None };
            Ok((left, now))
        }
        None => Err(CommandError::new(format!("nothing to compare {} with", left.chat.label()))
            .hinted("Name another chat, or a message of this one with --at M.")),
    }
}

fn answer(comparison: &Comparison, compared: &Compared) -> Json {
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

pub(super) fn side(lore: &Lore) -> Json {
    Json::object([
        ("chat", Json::from(lore.label.as_str())),
        ("message", Json::from(lore.message)),
        ("book", Json::from(lore.book_name.clone())),
        ("known", json::part(lore.known)),
    ])
}
