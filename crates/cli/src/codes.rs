//! Every code that can appear in `--json` output.

use forklore_core::diagnostic::{Code, Diagnostic as _};
use forklore_core::finding::Finding;
use forklore_core::finding::Obstacle;
use forklore_core::finding::Remark;
use forklore_core::plan::cleanup::KeepReason;
use forklore_core::plan::fork::Refusal;
use forklore_history::exchange::bundle::BundleError;
use forklore_history::exchange::remote::RemoteError;
use forklore_history::query::versions::LookupError;
use forklore_history::restore::RestoreError;
use forklore_tavern::folder::library::FindError;
use forklore_tavern::locate::root::RootError;
use forklore_tavern::locate::users::{ChooseError, UsersError};
use forklore_tavern::work::fork::ForkError;
use forklore_tavern::work::merge::MergeError;
use forklore_tavern::work::trash::TrashError;

use crate::commands::recover::restore::version::BookRemark;
use crate::commands::shared::damage::PastUnread;
use crate::commands::tidy::clean::ChatsDeletedRecently;
use crate::objection::Objection;

/// The codes, keyed by the member of an answer they appear in.
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
        LookupError::codes(),
        RestoreError::codes(),
        RemoteError::codes(),
        BundleError::codes(),
    ];
    let remarks = [Remark::codes(), BookRemark::codes(), PastUnread::codes()];
    vec![
        ("obstacles", Obstacle::codes()),
        ("remarks", remarks.concat()),
        ("findings", Finding::codes()),
        ("why", [KeepReason::codes(), ChatsDeletedRecently::codes()].concat()),
        ("error", errors.concat()),
    ]
}
