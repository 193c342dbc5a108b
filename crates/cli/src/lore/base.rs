//! What both sides began as, in words and for programs.

use forklore_core::timeline::merge_base::BaseEvidence;
use forklore_tavern::work::compare::BaseKnown;

use crate::json::Json;

/// `None` where there is nothing worth saying.
pub(crate) fn base_words(known: &BaseKnown, left: &str, right: &str) -> Option<String> {
    Some(match known {
        BaseKnown::Left => format!("{left}, which the other came from"),
        BaseKnown::Right => format!("{right}, which the other came from"),
        BaseKnown::Beginning { how: BaseEvidence::Sealed, message, .. } => {
            format!("both were at message {message}, where they part (proved by the seal)")
        }
        BaseKnown::Beginning { how: BaseEvidence::Recorded, message, .. } => {
            format!("both were at message {message}, where they part (both recorded it)")
        }
        BaseKnown::Beginning { how: BaseEvidence::Earlier, message, parting } => format!(
            "both were at message {message}; what they were at {parting}, where they part, is not proved"
        ),
        BaseKnown::Chosen(label) => format!("{label}, as chosen"),
        BaseKnown::Empty => "nothing, as chosen".to_owned(),
        BaseKnown::Unknown { .. } => {
            "not known, so it cannot be said which of the two changed something".to_owned()
        }
    })
}

pub(crate) fn base_json(known: &BaseKnown) -> Json {
    let (word, message, parting) = match known {
        BaseKnown::Left => ("left", None, None),
        BaseKnown::Right => ("right", None, None),
        BaseKnown::Beginning { how, message, parting } => {
            (how.word(), Some(*message), Some(*parting))
        }
        BaseKnown::Chosen(_) => ("chosen", None, None),
        BaseKnown::Empty => ("empty", None, None),
        BaseKnown::Unknown { parting } => ("unknown", None, *parting),
    };
    Json::object([
        ("known", Json::from(word)),
        ("message", Json::from(message)),
        ("parting", Json::from(parting)),
    ])
}
