//! `forklore branch`

use forklore_core::sillytavern::names::ForkKind;
use forklore_tavern::work::fork::ForkOptions;
use forklore_tavern::work::tavern::Tavern;

use crate::args::BranchArgs;
use crate::commands::Outcome;
use crate::commands::shared::policy::policy;
use crate::ui::Ui;

pub(crate) fn run(ui: &mut Ui<'_>, tavern: &Tavern<'_>, args: &BranchArgs) -> Outcome {
    let options = ForkOptions {
        kind: ForkKind::Branch,
        at: args.at,
        name: None,
        policy: policy(&args.policy),
        parent_is_closed: false,
        dry_run: args.dry_run,
    };
    super::run(ui, tavern, &args.chat, &options, args.policy.queue)
}
