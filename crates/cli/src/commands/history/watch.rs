//! `forklore watch`

use forklore_tavern::tavern::Tavern;

use super::{Histories, Outcome};
use crate::ui::Ui;

pub(crate) fn run(ui: &mut Ui<'_>, taverns: &[Tavern<'_>], histories: &Histories) -> Outcome {
    super::record::run(ui, taverns, histories)
}
