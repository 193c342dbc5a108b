//! A timeline's label in its metadata: the title, note, colour and pin that the user gave it.

use forklore_json::{Json, Object};

/// The key of the label in the chat's metadata.
pub const KEY: &str = "forklore_label";

/// The label of a child. It has its parent's colour; the rest was said about the parent.
pub(crate) fn of_child(parent: &Json, title: Option<&str>) -> Option<Json> {
    let mut label = Object::new();
    if let Some(title) = title.filter(|title| !title.is_empty()) {
        label.insert("title", title);
    }
    if let Some(colour @ Json::Text(_)) = parent.get(KEY).and_then(|label| label.get("colour")) {
        label.insert("colour", colour.clone());
    }
    (!label.is_empty()).then(|| label.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn child(label: &str, title: Option<&str>) -> Option<String> {
        let metadata = Json::parse(format!(r#"{{"{KEY}":{label}}}"#).as_bytes()).unwrap();
        of_child(&metadata, title).map(|label| String::from_utf8(label.stringify()).unwrap())
    }

    #[test]
    fn a_child_inherits_only_the_colour() {
        let label = r#"{"title":"Main","note":"Read first.","colour":"red","pin":true,"x":1}"#;
        assert_eq!(child(label, None).unwrap(), r#"{"colour":"red"}"#);
        assert_eq!(child(label, Some("5: Rain")).unwrap(), r#"{"title":"5: Rain","colour":"red"}"#);
        assert_eq!(child(r#"{"title":"Main","pin":true}"#, Some("")), None);
        assert_eq!(child(r#"{"colour":["red"]}"#, None), None);
        for damaged in ["null", "7", "[]", r#""red""#] {
            assert_eq!(child(damaged, None), None, "{damaged}");
        }
        assert_eq!(of_child(&Json::Null, None), None);
    }
}
