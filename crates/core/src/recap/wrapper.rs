//! The tags that the extension wraps around an entry's text when SillyTavern loads it.
//!
//! They are not in any file, but SillyTavern's timed effects refer to the text including the tags.

use forklore_json::{Json, Object};

const OPEN: &str = "<setting_lore ";
const CLOSE: &str = "</setting_lore>";

/// The entry of `book` as SillyTavern sees it; `None` if its text is not wrapped.
pub fn wrapped(entry: &Json, book: &str) -> Option<Json> {
    let entry = entry.as_object()?;
    let content = entry.get("content")?.as_str()?.replace("\r\n", "\n").replace('\r', "\n");
    let is_decorator = |line: &&str| line.starts_with("@@");
    let head: usize = content.split_inclusive('\n').take_while(is_decorator).map(str::len).sum();
    let (decorators, body) = content.split_at(head);
    let body = body.trim();
    if body.is_empty() || (body.starts_with(OPEN) && body.ends_with(CLOSE)) {
        return None;
    }
    let mut wrapped = entry.clone();
    let tag = format!("{OPEN}{}>", attributes(entry, book).join(" "));
    wrapped.insert("content", format!("{decorators}{tag}\n{body}\n{CLOSE}"));
    Some(wrapped.into())
}

fn attributes(entry: &Object, book: &str) -> Vec<String> {
    let value = |key: &str| entry.get(key).filter(|value| **value != Json::Null);
    let number = |key: &str| value(key).filter(|value| value.as_f64().is_some());
    let name = value("comment").filter(|name| name.is_truthy()).map(text);
    let mut attributes = vec![
        ("name", name.unwrap_or_else(|| "Unnamed Entry".to_owned())),
        ("uid", value("uid").map_or_else(|| "unknown".to_owned(), text)),
        ("world", book.to_owned()),
    ];
    let others = [("position", number("position")), ("order", number("order"))];
    let others = others.into_iter().chain(["depth", "role"].map(|key| (key, value(key))));
    attributes.extend(others.filter_map(|(key, value)| Some((key, text(value?)))));
    let keys = value("key").and_then(Json::as_array).filter(|keys| !keys.is_empty());
    attributes
        .extend(keys.map(|keys| ("keys", keys.iter().map(text).collect::<Vec<_>>().join("|"))));
    attributes.iter().map(|(key, value)| format!("{key}=\"{}\"", escaped(value))).collect()
}

fn text(value: &Json) -> String {
    match value.as_str() {
        Some(text) => text.into_owned(),
        None => String::from_utf8_lossy(&value.stringify()).into_owned(),
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
        .replace('\'', "&apos;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(entry: &str, book: &str, expected: Option<&str>) {
        let entry = Json::parse(entry.as_bytes()).unwrap();
        let found = wrapped(&entry, book);
        let content = found.as_ref().and_then(|entry| entry.get("content")?.as_str());
        assert_eq!(content.as_deref(), expected);
    }

    /// The expected texts are the output of the extension's own function.
    #[test]
    fn the_tags_are_the_extensions_own() {
        check(
            r#"{"uid":7,"comment":"Mara's <ship>","content":"@@activate\r\n  A captain.\n\n","position":4,"order":100,"depth":0,"role":0,"key":["mara","the, captain"]}"#,
            "B & \"C\"",
            Some(
                "@@activate\n<setting_lore name=\"Mara&apos;s &lt;ship&gt;\" uid=\"7\" world=\"B &amp; &quot;C&quot;\" position=\"4\" order=\"100\" depth=\"0\" role=\"0\" keys=\"mara|the, captain\">\nA captain.\n</setting_lore>",
            ),
        );
        check(
            r#"{"uid":1,"comment":"","content":"x","depth":null,"key":[]}"#,
            "B",
            Some("<setting_lore name=\"Unnamed Entry\" uid=\"1\" world=\"B\">\nx\n</setting_lore>"),
        );
        check(r#"{"uid":1,"content":"<setting_lore a>x</setting_lore> "}"#, "B", None);
        check(r#"{"uid":1,"content":"@@a\n \n"}"#, "B", None);
        check(r#"{"uid":1}"#, "B", None);
    }

    #[test]
    fn a_text_that_only_begins_or_ends_like_a_tag_is_wrapped() {
        let wrapped = |content: &str| {
            let entry =
                Json::object([("uid", Json::from(1_usize)), ("content", Json::from(content))]);
            super::wrapped(&entry, "B").is_some()
        };
        assert!(wrapped("<setting_lore a> and then more"));
        assert!(wrapped("more </setting_lore>"));
        assert!(!wrapped("<setting_lore a>x</setting_lore>"));
    }
}
