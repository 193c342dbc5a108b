//! Compares the data that a chat stores outside its book.

use super::{Difference, difference, members};
use crate::journal::RECORDED_METADATA;
use crate::recap::{combined, running};
use forklore_json::{JsText, Json, Object};

const VARIABLES: &str = "variables";

/// Compares the texts of ST-Auto-Recap's recaps.
pub(super) fn recap(base: Option<&Json>, left: &Json, right: &Json) -> Vec<Difference> {
    let mut found = Vec::new();
    for (name, text) in
        [("running", running_text as fn(&Json) -> Option<Json>), ("combined", combined_text)]
    {
        let base = base.map(text);
        let (left, right) = (text(left), text(right));
        if left != right {
            let base = base.as_ref().map(Option::as_ref);
            found.push(difference(name.into(), base, left.as_ref(), right.as_ref()));
        }
    }
    found
}

fn running_text(metadata: &Json) -> Option<Json> {
    running::text(metadata.get(running::KEY)?).map(Json::Text)
}

fn combined_text(metadata: &Json) -> Option<Json> {
    metadata.at(&combined::PATH)?.get("content").cloned()
}

pub(super) fn variables(base: Option<&Json>, left: &Json, right: &Json) -> Vec<Difference> {
    members(base.map(|base| base.get(VARIABLES)), left.get(VARIABLES), right.get(VARIABLES))
}

/// Compares the other recorded metadata of a chat.
pub(super) fn other(base: Option<&Json>, left: &Json, right: &Json) -> Vec<Difference> {
    let recorded = |metadata: &Json| -> Json {
        let keys = RECORDED_METADATA.iter().filter(|key| **key != VARIABLES);
        let recorded: Object =
            keys.filter_map(|key| Some((JsText::from(*key), metadata.get(key)?.clone()))).collect();
        recorded.into()
    };
    members(base.map(recorded).as_ref().map(Some), Some(&recorded(left)), Some(&recorded(right)))
}
