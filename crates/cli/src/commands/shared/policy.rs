//! The fork policy given by the options.

use forklore_core::plan::fork::{Policy, QueuePolicy};
use forklore_core::timeline::claim::TodaySource;
use forklore_core::timeline::exactness::Allow;

use crate::args::{AllowArg, PolicyArgs, QueueArg};

pub(crate) fn policy(args: &PolicyArgs) -> Policy {
    Policy {
        allow: match args.allow {
            AllowArg::Exact => Allow::Exact,
            AllowArg::Snapshot => Allow::Snapshot,
            AllowArg::Live => Allow::Live,
        },
        queue: match args.queue {
            QueueArg::Refuse | QueueArg::Wait => QueuePolicy::Refuse,
            QueueArg::Drain => QueuePolicy::Drain,
        },
        require_scene: args.require_scene,
        fill: args.fill,
        without_book: args.without_book,
        leave_book: None,
        is_behind: false,
        today: TodaySource::Files,
        under_way: 0,
        is_recap_gone: false,
    }
}
