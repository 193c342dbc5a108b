//! `forklore diff`

mod entries;
mod say;
mod stat;

use forklore_core::diff::{Compared, Difference, EntryDifference, EntrySide};
use forklore_core::json::Object;
use forklore_core::recap::is_internal;
use forklore_tavern::comparing::{Comparison, Lore, Point};
use forklore_tavern::tavern::Tavern;

use super::Outcome;
use crate::args::DiffArgs;
use crate::error::CommandError;
use crate::json::{self, Json};
use crate::lore::base_json;
use crate::ui::Ui;

pub(crate) fn run(ui: &mut Ui<'_>, tavern: &Tavern<'_>, args: &DiffArgs) -> Outcome {
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
    let list = |found: &[Difference]| Json::Array(found.iter().map(difference).collect::<Vec<_>>());
    json::answer(
        "diff",
        [
            ("left", side(&comparison.left)),
            ("right", side(&comparison.right)),
            ("base", base_json(&comparison.base.known)),
            ("same", Json::from(compared.is_empty())),
            ("entries", Json::Array(compared.entries.iter().map(entry).collect())),
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

fn entry(entry: &EntryDifference) -> Json {
    let side = |side: &EntrySide| {
        Json::object([("did", side.did.word().into()), ("entry", side.entry.clone().into())])
    };
    let title = entry.title();
    Json::object([
        ("key", Json::Text(entry.key.clone())),
        ("uid", entry.entry().and_then(|entry| entry.get("uid")).cloned().into()),
        ("internal", is_internal(&title).into()),
        ("title", title.into()),
        ("left", side(&entry.left)),
        ("right", side(&entry.right)),
        ("fields", entry.fields.iter().map(difference).collect::<Vec<_>>().into()),
    ])
}

fn difference(difference: &Difference) -> Json {
    let mut json = Object::new();
    json.insert("name", Json::Text(difference.name.clone()));
    json.insert("by", difference.by.word());
    // A value that is not there is left out: `null` is a value.
    let sides =
        [("base", &difference.base), ("left", &difference.left), ("right", &difference.right)];
    for (side, value) in sides {
        if let Some(value) = value {
            json.insert(side, value.clone());
        }
    }
    json.into()
}
