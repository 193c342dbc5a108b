//! Every code that `--json` can give.

use forklore_core::cleanup::Reason;
use forklore_core::fork::{Obstacle, Refusal, Remark};
use forklore_core::saying::{Code, Saying as _};
use forklore_core::verify::Finding;
use forklore_history::bundle::BundleError;
use forklore_history::looking::LookError;
use forklore_history::remote::RemoteError;
use forklore_history::restoring::RestoreError;
use forklore_history::sealing::SealError;
use forklore_tavern::forking::ForkError;
use forklore_tavern::library::FindError;
use forklore_tavern::merging::MergeError;
use forklore_tavern::root::RootError;
use forklore_tavern::trash::TrashError;
use forklore_tavern::users::{ChooseError, UsersError};

use crate::commands::clean::Waiting;
use crate::commands::history::restore::BookRemark;
use crate::objection::Objection;

/// The codes, by where they stand in an answer.
pub fn codes() -> Vec<(&'static str, Vec<Code>)> {
    let errors = [
        Objection::codes(),
        Refusal::codes(),
        RootError::codes(),
        UsersError::codes(),
        ChooseError::codes(),
        FindError::codes(),
        ForkError::codes(),
        MergeError::codes(),
        TrashError::codes(),
        LookError::codes(),
        RestoreError::codes(),
        RemoteError::codes(),
        BundleError::codes(),
        SealError::codes(),
    ];
    let remarks = [Remark::codes(), BookRemark::codes()];
    vec![
        ("obstacles", Obstacle::codes()),
        ("remarks", remarks.concat()),
        ("findings", Finding::codes()),
        ("why", [Reason::codes(), Waiting::codes()].concat()),
        ("error", errors.concat()),
    ]
}
