//! Registries: entries that list other entries by uid and name.

use std::collections::HashMap;
use std::fmt;

use forklore_json::{Json, Object};

pub(crate) const PREFIX: &str = "_registry_";

/// One item of a registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegistryItem {
    pub kind: String,
    pub uid: String,
    pub name: Option<String>,
    pub aliases: Vec<String>,
    pub synopsis: Option<String>,
}

/// The kind of a registry entry, derived from its comment.
pub fn kind_of(comment: &str) -> Option<&str> {
    comment.strip_prefix(PREFIX)
}

/// Parses a registry in any of its formats: `- UID=7 | name: …`, the older `- uid: 7 | name: …`,
/// and the JSON of the original design.
pub fn items(kind: &str, content: &str) -> Vec<RegistryItem> {
    if let Ok(json) = Json::parse(content.as_bytes())
        && let Some(list) = json.get("items").and_then(Json::as_array)
    {
        return list.iter().filter_map(|item| json_item(kind, item)).collect();
    }
    content.lines().filter_map(|line| text_item(kind, line)).collect()
}

fn json_item(kind: &str, item: &Json) -> Option<RegistryItem> {
    let text = |key: &str| match item.get(key)? {
        Json::Text(text) => Some(text.to_string_lossy().into_owned()),
        number => number.as_i64().map(|number| number.to_string()),
    };
    Some(RegistryItem {
        kind: kind.to_owned(),
        uid: text("id").or_else(|| text("uid"))?,
        name: text("name").or_else(|| text("comment")),
        aliases: Vec::new(),
        synopsis: text("synopsis"),
    })
}

/// A raw line of a registry's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegistryLine<'a> {
    pub text: &'a str,
    /// The entry that it lists; `None` for a heading.
    pub uid: Option<&'a str>,
}

pub fn lines(content: &str) -> impl Iterator<Item = RegistryLine<'_>> {
    content.split('\n').map(|text| RegistryLine { text, uid: uid_in(text) })
}

impl RegistryLine<'_> {
    /// The same line, referring to another entry.
    pub fn with_uid(&self, uid: &str) -> String {
        match self.uid {
            Some(old) => self.text.replacen(old, uid, 1),
            None => self.text.to_owned(),
        }
    }
}

fn uid_in(line: &str) -> Option<&str> {
    let first = line.trim().strip_prefix('-')?.split('|').next()?.trim();
    first
        .strip_prefix("UID=")
        .or_else(|| first.strip_prefix("uid:").map(str::trim_start))
        .filter(|uid| !uid.is_empty() && uid.bytes().all(|byte| byte.is_ascii_digit()))
}

fn text_item(kind: &str, line: &str) -> Option<RegistryItem> {
    let uid = uid_in(line)?;
    let field = |name: &str| {
        let fields = line.split('|').skip(1).filter_map(|part| part.split_once(':'));
        let (_, value) = fields.filter(|(key, _)| key.trim() == name).last()?;
        // A missing value is written as a dash.
        Some(value.trim()).filter(|value| !value.is_empty() && *value != "\u{2014}")
    };
    Some(RegistryItem {
        kind: kind.to_owned(),
        uid: uid.to_owned(),
        name: field("name").map(str::to_owned),
        aliases: field("aliases")
            .map(|list| list.split(';').map(|alias| alias.trim().to_owned()).collect())
            .unwrap_or_default(),
        synopsis: field("synopsis").map(str::to_owned),
    })
}

/// An inconsistency between a registry and the book's entries.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RegistryFlaw {
    /// No entry has this uid.
    #[error("{item}, which does not exist")]
    NoSuchEntry { item: RegistryItem },
    /// The entry with this uid is called something else.
    #[error("{item}, which is {comment:?}")]
    AnotherName { item: RegistryItem, comment: String },
}

/// Checks every registry of a book, given as (uid, comment, content) of its entries.
pub fn flaws(entries: &[(String, String, String)]) -> Vec<RegistryFlaw> {
    let comments: HashMap<&str, &str> =
        entries.iter().map(|(uid, comment, _)| (uid.as_str(), comment.as_str())).collect();
    let listed = entries
        .iter()
        .filter_map(|(_, comment, content)| Some(items(kind_of(comment)?, content)))
        .flatten();
    listed
        .filter_map(|item| match comments.get(item.uid.as_str()) {
            None => Some(RegistryFlaw::NoSuchEntry { item }),
            Some(comment) if item.is_called(comment) => None,
            Some(comment) => {
                Some(RegistryFlaw::AnotherName { item, comment: (*comment).to_owned() })
            }
        })
        .collect()
}

impl fmt::Display for RegistryItem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, uid, .. } = self;
        let name = self.name.as_deref().unwrap_or("an entry");
        write!(out, "the {kind} registry lists {name} as entry {uid}")
    }
}

impl RegistryItem {
    /// Entries are called `<kind>-<name>`; older registries list that full name.
    fn is_called(&self, comment: &str) -> bool {
        match &self.name {
            None => true,
            Some(name) => comment == name || comment == format!("{}-{name}", self.kind),
        }
    }

    /// Whether the index describes it identically. A later synopsis or alias must not get into the
    /// child.
    fn is_known_as(&self, known: &Json) -> bool {
        let text = |key: &str| known.get(key).and_then(Json::as_str).filter(|t| !t.is_empty());
        let aliases = known.get("aliases").and_then(Json::as_array).unwrap_or_default();
        text("name").as_deref() == self.name.as_deref()
            && text("synopsis").as_deref() == self.synopsis.as_deref()
            && aliases
                .iter()
                .map(|alias| alias.as_str().unwrap_or_default().into_owned())
                .eq(self.aliases.iter().cloned())
    }
}

/// Rebuilds the index of all registries in the chat's metadata from the registries of the child's
/// book. An item that the old index describes identically keeps its old index entry.
pub fn reindexed(index: &Json, book: &Object) -> Json {
    let mut listed = Vec::new();
    for (_, entry) in book.iter() {
        let comment = entry.get("comment").and_then(Json::as_str).unwrap_or_default();
        if let Some(kind) = kind_of(&comment) {
            let content = entry.get("content").and_then(Json::as_str).unwrap_or_default();
            listed.extend(items(kind, &content));
        }
    }
    let members = listed.into_iter().map(|item| {
        let known = index.get(&item.uid).filter(|known| item.is_known_as(known));
        (item.uid.clone(), known.cloned().unwrap_or_else(|| indexed(item)))
    });
    Json::Object(members.collect())
}

/// An index entry as the extension itself writes it.
fn indexed(item: RegistryItem) -> Json {
    let uid = item.uid.parse::<i64>().map_or_else(|_| Json::from(item.uid.as_str()), Json::from);
    let name = Json::from(item.name.unwrap_or_default());
    Json::object([
        ("uid", uid),
        ("id", Json::from(item.uid)),
        ("type", Json::from(item.kind)),
        ("name", name.clone()),
        ("comment", name),
        ("aliases", Json::from(item.aliases)),
        ("synopsis", Json::from(item.synopsis.unwrap_or_default())),
    ])
}

crate::diagnostics!(RegistryFlaw {
    Self::NoSuchEntry { item } => (
        "registry-without-entry",
        kind: item.kind.as_str(),
        name: item.name.clone(),
        uid: item.uid.as_str(),
    ),
    Self::AnotherName { item, comment } => (
        "registry-of-another",
        kind: item.kind.as_str(),
        name: item.name.clone(),
        uid: item.uid.as_str(),
        comment: comment.as_str(),
    ),
});

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(uid: &str, comment: &str, content: &str) -> (String, String, String) {
        (uid.into(), comment.into(), content.into())
    }

    #[test]
    fn every_form_of_registry_is_read() {
        for content in [
            "[Registry: character]\n- UID=7 | name: Mara | aliases: \u{2014} | synopsis: captain",
            "[Registry: character]\n- uid: 7 | name: Mara",
            r#"{"items":[{"id":7,"name":"Mara"}]}"#,
        ] {
            let items = items("character", content);
            assert_eq!(items.len(), 1, "{content}");
            assert_eq!((items[0].uid.as_str(), items[0].name.as_deref()), ("7", Some("Mara")));
        }
    }

    #[test]
    fn a_uid_that_is_gone_or_another_is_a_flaw() {
        let registry = entry(
            "0",
            "_registry_character",
            "- UID=7 | name: Mara\n- UID=8 | name: Bo\n- UID=9 | name: character-Cy",
        );
        let found =
            flaws(&[registry, entry("7", "character-Mara", ""), entry("9", "character-Cy", "")]);
        assert!(matches!(&found[..], [RegistryFlaw::NoSuchEntry { item }] if item.uid == "8"));
        let registry = entry("0", "_registry_character", "- UID=7 | name: Mara");
        let found = flaws(&[registry, entry("7", "item-Sword", "")]);
        assert!(
            matches!(&found[..], [RegistryFlaw::AnotherName { comment, .. }] if comment == "item-Sword")
        );
    }

    #[test]
    fn the_index_follows_the_childs_book() {
        let index =
            Json::parse(br#"{"7":{"uid":7,"name":"Mara","own":1},"9":{"uid":9,"name":"Late"}}"#)
                .unwrap();
        let book = Json::parse(br#"{"0":{"comment":"_registry_character","content":"- UID=7 | name: Mara\n- UID=8 | name: character-Bo"}}"#).unwrap();
        let reindexed_by = |book: &Json| reindexed(&index, book.as_object().unwrap());
        let new = reindexed_by(&book);
        assert_eq!(new.at(&["7", "own"]), Some(&Json::Number(1.0)));
        assert_eq!(new.at(&["8", "comment"]), Some(&Json::from("character-Bo")));
        assert_eq!(new.at(&["8", "name"]), Some(&Json::from("character-Bo")));
        assert_eq!(new.at(&["8", "id"]), Some(&Json::from("8")));
        assert_eq!(new.get("9"), None);
        let none = Json::object([("1", Json::object([("comment", Json::from("Mara"))]))]);
        assert_eq!(reindexed_by(&none), Object::new().into(), "no registry, no index");
    }

    #[test]
    fn the_index_knows_no_later_synopsis() {
        let index =
            Json::parse(br#"{"7":{"uid":7,"name":"Mara","aliases":["M"],"synopsis":"dead"}}"#)
                .unwrap();
        let book = Json::parse(br#"{"0":{"comment":"_registry_character","content":"- UID=7 | name: Mara | aliases: M | synopsis: captain"}}"#).unwrap();
        let index = reindexed(&index, book.as_object().unwrap());
        assert_eq!(index.at(&["7", "synopsis"]), Some(&Json::from("captain")));
    }

    #[test]
    fn a_line_says_what_it_says_and_a_dash_says_nothing() {
        let item = |content: &str| items("character", content).into_iter().next();
        let whole =
            item("- UID=7 | name: Mara | aliases: M; The captain | synopsis: a: b").unwrap();
        assert_eq!(whole.aliases, ["M", "The captain"]);
        assert_eq!(whole.synopsis.as_deref(), Some("a: b"));
        let bare = item("  -  uid:  7 | name: \u{2014} | aliases: | synopsis: \u{2014}").unwrap();
        assert_eq!(
            (bare.uid.as_str(), bare.name, bare.aliases, bare.synopsis),
            ("7", None, vec![], None)
        );
        for no_item in ["- UID= | name: x", "- UID=7a", "UID=7", "- id=7", ""] {
            assert_eq!(item(no_item), None, "{no_item:?}");
        }
        let json =
            item(r#"{"items":[{"uid":"7","comment":"Mara","synopsis":"s"},{"name":"none"}]}"#)
                .unwrap();
        assert_eq!(
            (json.uid.as_str(), json.name.as_deref(), json.synopsis.as_deref()),
            ("7", Some("Mara"), Some("s"))
        );
    }

    #[test]
    fn a_line_can_be_about_another_entry() {
        let content = "[Registry]\n- UID=7 | name: 7";
        let rewritten: Vec<_> =
            lines(content).map(|line| (line.uid, line.with_uid("12"))).collect();
        assert_eq!(
            rewritten,
            [(None, "[Registry]".to_owned()), (Some("7"), "- UID=12 | name: 7".to_owned())]
        );
    }

    #[test]
    fn a_flaw_is_said_with_its_line() {
        let registry = entry("0", "_registry_character", "- UID=7 | name: Mara\n- UID=8\n- UID=9");
        let found = flaws(&[registry, entry("7", "item-Sword", ""), entry("9", "anything", "")]);
        let sentences: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert_eq!(
            sentences,
            [
                "the character registry lists Mara as entry 7, which is \"item-Sword\"",
                "the character registry lists an entry as entry 8, which does not exist",
            ]
        );
    }

    #[test]
    fn the_index_keeps_what_it_knew_only_of_an_item_that_is_listed_just_so() {
        let known = r#"{"7":{"uid":7,"name":"Mara","aliases":["M"],"synopsis":"captain","own":1}}"#;
        let kept = |line: &str| {
            let index = Json::parse(known.as_bytes()).unwrap();
            let entry = Json::object([
                ("comment", Json::from("_registry_character")),
                ("content", Json::from(line)),
            ]);
            let book = Json::object([("0", entry)]);
            reindexed(&index, book.as_object().unwrap()).at(&["7", "own"]).is_some()
        };
        assert!(kept("- UID=7 | name: Mara | aliases: M | synopsis: captain"));
        assert!(!kept("- UID=7 | name: Bo | aliases: M | synopsis: captain"));
        assert!(!kept("- UID=7 | name: Mara | aliases: N | synopsis: captain"));
        assert!(!kept("- UID=7 | name: Mara | aliases: M | synopsis: dead"));
    }

    #[test]
    fn a_new_item_is_indexed_as_the_extension_does() {
        let entry = Json::object([
            ("comment", Json::from("_registry_item")),
            ("content", Json::from("- UID=4 | name: Sword | aliases: S | synopsis: old")),
        ]);
        let index = reindexed(&Json::Null, Json::object([("0", entry)]).as_object().unwrap());
        let expected = r#"{"4":{"uid":4,"id":"4","type":"item","name":"Sword","comment":"Sword","aliases":["S"],"synopsis":"old"}}"#;
        assert_eq!(index, Json::parse(expected.as_bytes()).unwrap());
    }
}
