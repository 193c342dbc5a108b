//! Field values, and the field names people know.

use forklore_json::{JsText, Json};

use super::words::{Paint, Span};
use crate::text::Style;

/// SillyTavern's internal field names, and what its page calls them.
const NAMES: [(&str, &str); 5] = [
    ("key", "keys"),
    ("keysecondary", "secondary keys"),
    ("comment", "title"),
    ("disable", "disabled"),
    ("displayIndex", "place in the list"),
];

pub(crate) fn field_name(field: &JsText) -> String {
    let field = field.to_string_lossy();
    let known = NAMES.iter().find(|(raw, _)| *raw == field);
    known.map_or_else(|| field.into_owned(), |(_, name)| (*name).to_owned())
}

/// The internal name of a field, given either of its names.
pub(crate) fn field_key(name: &str) -> JsText {
    let known = NAMES.iter().find(|(_, shown)| *shown == name);
    known.map_or(name, |(raw, _)| raw).into()
}

/// Shows how a value changed. `None` means that it was not set.
pub(crate) fn value_diff(paint: Paint, before: Option<&Json>, after: Option<&Json>) -> Vec<Span> {
    match (before, after) {
        (Some(Json::Text(before)), Some(Json::Text(after))) => {
            paint.diff(&before.to_string_lossy(), &after.to_string_lossy())
        }
        (None, Some(Json::Text(text))) => vec![paint.added(&text.to_string_lossy())],
        (Some(Json::Text(text)), None) => vec![paint.removed(&text.to_string_lossy())],
        (Some(Json::Array(before)), Some(Json::Array(after))) if are_items(before, after) => {
            item_diff(paint, before, after)
        }
        _ if before.is_none_or(is_small) && after.is_none_or(is_small) => {
            let word = |style, value: Option<&Json>| match value {
                Some(value) => (style, plain(value)),
                None => (Style::Dim, "not set".to_owned()),
            };
            vec![
                word(Style::Gone, before),
                (Style::Dim, " → ".to_owned()),
                word(Style::Good, after),
            ]
        }
        _ => {
            let text = |value: Option<&Json>| value.map(plain).unwrap_or_default();
            paint.diff(&text(before), &text(after))
        }
    }
}

/// A single value as text.
pub(crate) fn plain(value: &Json) -> String {
    match value {
        Json::Text(text) => text.to_string_lossy().into_owned(),
        Json::Array(items) if items.iter().all(is_item) => {
            items.iter().map(plain).collect::<Vec<_>>().join(", ")
        }
        other => String::from_utf8_lossy(&other.stringify()).into_owned(),
    }
}

fn is_small(value: &Json) -> bool {
    matches!(value, Json::Null | Json::Bool(_) | Json::Number(_))
}

fn is_item(value: &Json) -> bool {
    is_small(value) || matches!(value, Json::Text(_))
}

fn are_items(before: &[Json], after: &[Json]) -> bool {
    before.iter().chain(after).all(is_item)
}

/// Unchanged items first, then removed ones, then added ones.
fn item_diff(paint: Paint, before: &[Json], after: &[Json]) -> Vec<Span> {
    let mut spans = Vec::new();
    let mut push = |span: Span| {
        if !spans.is_empty() {
            spans.push((Style::Plain, ", ".to_owned()));
        }
        spans.push(span);
    };
    for item in before.iter().filter(|item| after.contains(item)) {
        push((Style::Plain, plain(item)));
    }
    let mut has_changed = false;
    for item in before.iter().filter(|item| !after.contains(item)) {
        push(paint.removed(&plain(item)));
        has_changed = true;
    }
    for item in after.iter().filter(|item| !before.contains(item)) {
        push(paint.added(&plain(item)));
        has_changed = true;
    }
    if !has_changed {
        spans.push((Style::Dim, " (reordered, or with duplicates)".to_owned()));
    }
    spans
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(before: Option<&str>, after: Option<&str>, expected: &str) {
        let value = |text: &str| Json::parse(text.as_bytes()).unwrap();
        let (before, after) = (before.map(value), after.map(value));
        let spans = value_diff(Paint { color: false }, before.as_ref(), after.as_ref());
        assert_eq!(spans.into_iter().map(|(_, text)| text).collect::<String>(), expected);
    }

    #[test]
    fn values_are_shown_as_a_person_would_write_them() {
        check(Some("100"), Some("200"), "100 → 200");
        check(None, Some("true"), "not set → true");
        check(Some("\"old\""), None, "[-old-]");
        check(Some(r#"["a","b"]"#), Some(r#"["b","c"]"#), "b, [-a-], {+c+}");
        check(Some(r#"["a","b"]"#), Some(r#"["b","a"]"#), "a, b (reordered, or with duplicates)");
        check(Some(r#"{"a":1}"#), Some(r#"{"a":2}"#), r#"{"a":[-1-]{+2+}}"#);
    }

    #[test]
    fn a_field_is_found_by_either_of_its_names() {
        assert_eq!(field_name(&"key".into()), "keys");
        assert_eq!(field_key("keys"), JsText::from("key"));
        assert_eq!(field_key("key"), JsText::from("key"));
        assert_eq!(field_name(&"sticky".into()), "sticky");
    }
}
