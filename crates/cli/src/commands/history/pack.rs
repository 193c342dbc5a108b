//! `forklore history pack`

use forklore_history::upkeep::pack::pack;
use forklore_tavern::work::tavern::Tavern;

use super::{Histories, Outcome};
use crate::exit::Exit;
use crate::json::{self, Json};
use crate::text::{bytes, count};
use crate::ui::Ui;

pub(super) fn run(ui: &mut Ui<'_>, tavern: &Tavern<'_>, histories: &Histories) -> Outcome {
    let mut history = histories.open_existing(tavern)?;
    let packing = pack(&mut history)?;
    ui.say(format!(
        "{} in one pack: {} instead of {}.",
        count(packing.objects, "object", "objects"),
        bytes(packing.bytes_after),
        bytes(packing.bytes_before),
    ));
    ui.answer(&json::answer(
        "history pack",
        [
            ("objects", Json::from(packing.objects)),
            ("bytes_before", Json::from(packing.bytes_before as usize)),
            ("bytes_after", Json::from(packing.bytes_after as usize)),
        ],
    ));
    Ok(Exit::Fine)
}
