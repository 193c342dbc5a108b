//! The base of a comparison or merge, as text and as JSON.

use forklore_core::timeline::merge_base::BaseEvidence;
use forklore_tavern::work::compare::BaseKnown;

use crate::json::Json;

/// `None` if there is nothing worth showing.
pub(crate) fn describe_base(known: &BaseKnown, left: &str, right: &str) -> Option<String> {
    Some(match known {
        BaseKnown::Left => format!("{left}, which the other descends from"),
        BaseKnown::Right => format!("{right}, which the other descends from"),
        BaseKnown::Found { how: BaseEvidence::Sealed, message, .. } => {
            format!("message {message}, the fork point (verified by its seal)")
        }
        BaseKnown::Found { how: BaseEvidence::Recorded, message, .. } => {
            format!("message {message}, the fork point (recorded by both)")
        }
        BaseKnown::Found { how: BaseEvidence::Earlier, message, fork_point } => {
            format!("message {message}; not proven for the fork point, message {fork_point}")
        }
        BaseKnown::Chosen(label) => format!("{label}, as chosen"),
        BaseKnown::Empty => "empty, as chosen".to_owned(),
        BaseKnown::Unknown { .. } => {
            "unknown, so it is unclear which of the two changed what".to_owned()
        }
    })
}

pub(crate) fn base_json(known: &BaseKnown) -> Json {
    let (word, message, fork_point) = match known {
        BaseKnown::Left => ("left", None, None),
        BaseKnown::Right => ("right", None, None),
        BaseKnown::Found { how, message, fork_point } => {
            (how.word(), Some(*message), Some(*fork_point))
        }
        BaseKnown::Chosen(_) => ("chosen", None, None),
        BaseKnown::Empty => ("empty", None, None),
        BaseKnown::Unknown { fork_point } => ("unknown", None, *fork_point),
    };
    Json::object([
        ("known", Json::from(word)),
        ("message", Json::from(message)),
        ("parting", Json::from(fork_point)),
    ])
}
