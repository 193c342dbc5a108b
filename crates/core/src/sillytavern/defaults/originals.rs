//! The card's original form of an imported book, which SillyTavern stores next to the entries as
//! `originalData`.
//!
//! Whatever the editor writes to an entry, it also writes there, even if it only shows the entry.
//! So a difference there that merely repeats one of the entries is ignored.

use forklore_json::{JsText, Json, Object};

pub(crate) const NAME: &str = "originalData";

/// The fields that SillyTavern copies from an entry, by their names in `originalData`
/// (`originalWIDataKeyMap`, and what the editor writes in addition).
const COPIED: [&str; 13] = [
    "keys",
    "secondary_keys",
    "comment",
    "content",
    "constant",
    "selective",
    "selectiveLogic",
    "insertion_order",
    "order",
    "enabled",
    "position",
    "character_filter",
    "extensions",
];

/// The copied fields within `extensions`, which may also contain others.
const COPIED_EXTENSIONS: [&str; 29] = [
    "display_index",
    "exclude_recursion",
    "prevent_recursion",
    "delay_until_recursion",
    "depth",
    "probability",
    "position",
    "role",
    "match_whole_words",
    "use_group_scoring",
    "case_sensitive",
    "match_persona_description",
    "match_character_description",
    "match_character_personality",
    "match_character_depth_prompt",
    "match_scenario",
    "match_creator_notes",
    "scan_depth",
    "automation_id",
    "vectorized",
    "group",
    "group_override",
    "group_weight",
    "sticky",
    "cooldown",
    "delay",
    "triggers",
    "ignore_budget",
    "outlet_name",
];

/// Whether two values of a book's top-level field differ only in copies of entries.
pub(crate) fn follows_the_entries(name: &JsText, one: Option<&Json>, other: Option<&Json>) -> bool {
    let (Some(one), Some(other)) = (one, other) else { return false };
    *name == *NAME && without_copies(one) == without_copies(other)
}

/// `originalData` without the fields that are copied from entries.
pub(super) fn without_copies(form: &Json) -> Json {
    let mut form = form.clone();
    let entries = form.as_object_mut().and_then(|form| form.get_mut("entries"));
    if let Some(Json::Array(entries)) = entries {
        entries.iter_mut().filter_map(Json::as_object_mut).for_each(remove_copies);
    }
    form
}

fn remove_copies(entry: &mut Object) {
    // SillyTavern finds the original of an entry by its uid alone.
    if !entry.contains("uid") {
        return;
    }
    if let Some(extensions) = entry.get_mut("extensions").and_then(Json::as_object_mut) {
        for name in COPIED_EXTENSIONS {
            extensions.remove(name);
        }
    }
    let is_emptied = |extensions: &Json| extensions.as_object().is_none_or(Object::is_empty);
    let keeps_extensions = entry.get("extensions").is_some_and(|value| !is_emptied(value));
    for name in COPIED.iter().filter(|name| **name != "extensions" || !keeps_extensions) {
        entry.remove(name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_same(one: &str, other: &str) -> bool {
        let [one, other] = [one, other].map(|text| Json::parse(text.as_bytes()).unwrap());
        follows_the_entries(&NAME.into(), Some(&one), Some(&other))
    }

    #[test]
    fn copies_of_entries_are_left_to_the_entries() {
        let before = r#"{"name":"Card","entries":[{"uid":0,"keys":["a"],"content":"x"}]}"#;
        let shown = r#"{"name":"Card","entries":[{"uid":0,"keys":["a"],"content":"x",
            "extensions":{"role":null,"depth":4},"enabled":true,"position":"before_char"}]}"#;
        assert!(is_same(before, shown));
        assert!(!is_same(before, &shown.replace("Card", "Other")));
        assert!(!is_same(before, &shown.replace("role", "foreign")));
    }

    #[test]
    fn a_form_without_a_number_is_nobodys_copy() {
        assert!(!is_same(r#"{"entries":[{"content":"x"}]}"#, r#"{"entries":[{"content":"y"}]}"#));
        assert!(!is_same("null", "3"));
    }
}
