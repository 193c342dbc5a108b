//! Registries: entries that list other entries by uid and name.

use std::collections::BTreeMap;

use crate::json::{Json, Object};

pub(crate) const PREFIX: &str = "_registry_";

/// One line of a registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    pub kind: String,
    pub uid: String,
    pub name: Option<String>,
    pub aliases: Vec<String>,
    pub synopsis: Option<String>,
}

/// The kind of registry an entry is, by its comment.
pub fn kind_of(comment: &str) -> Option<&str> {
    comment.strip_prefix(PREFIX)
}

/// Reads a registry in any of its forms: `- UID=7 | name: …`, the older `- uid: 7 | name: …`,
/// and the JSON of the original design.
pub fn items(kind: &str, content: &str) -> Vec<Item> {
    if let Ok(json) = Json::parse(content.as_bytes())
        && let Some(list) = json.get("items").and_then(Json::as_array)
    {
        return list.iter().filter_map(|item| json_item(kind, item)).collect();
    }
    content.lines().filter_map(|line| text_item(kind, line)).collect()
}

fn json_item(kind: &str, item: &Json) -> Option<Item> {
    let text = |key: &str| match item.get(key)? {
        Json::Text(text) => Some(text.to_string_lossy().into_owned()),
        number => number.as_i64().map(|number| number.to_string()),
    };
    Some(Item {
        kind: kind.to_owned(),
        uid: text("id").or_else(|| text("uid"))?,
        name: text("name").or_else(|| text("comment")),
        aliases: Vec::new(),
        synopsis: text("synopsis"),
    })
}

/// A line of a registry's text, as it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line<'a> {
    pub text: &'a str,
    /// The entry that it lists; none for a heading.
    pub uid: Option<&'a str>,
}

pub fn lines(content: &str) -> impl Iterator<Item = Line<'_>> {
    content.split('\n').map(|text| Line { text, uid: uid_in(text) })
}

impl Line<'_> {
    /// The same line about another entry.
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

fn text_item(kind: &str, line: &str) -> Option<Item> {
    let uid = uid_in(line)?;
    let parts = line.trim().split('|').map(str::trim).skip(1);
    let mut fields: BTreeMap<&str, &str> =
        parts.filter_map(|part| part.split_once(':')).map(|(k, v)| (k.trim(), v.trim())).collect();
    // A missing value is written as a dash.
    fields.retain(|_, value| !value.is_empty() && *value != "\u{2014}");
    Some(Item {
        kind: kind.to_owned(),
        uid: uid.to_owned(),
        name: fields.get("name").map(|name| (*name).to_owned()),
        aliases: fields
            .get("aliases")
            .map(|list| list.split(';').map(|alias| alias.trim().to_owned()).collect())
            .unwrap_or_default(),
        synopsis: fields.get("synopsis").map(|text| (*text).to_owned()),
    })
}

/// What is wrong with a line of a registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// No entry has this uid.
    NoSuchEntry { item: Item },
    /// The entry with this uid is called something else.
    AnotherName { item: Item, comment: String },
}

/// Checks every registry of a book, given as (uid, comment, content) of its entries.
pub fn flaws(entries: &[(String, String, String)]) -> Vec<Flaw> {
    let comments: BTreeMap<&str, &str> =
        entries.iter().map(|(uid, comment, _)| (uid.as_str(), comment.as_str())).collect();
    let listed = entries
        .iter()
        .filter_map(|(_, comment, content)| Some(items(kind_of(comment)?, content)))
        .flatten();
    listed
        .filter_map(|item| match comments.get(item.uid.as_str()) {
            None => Some(Flaw::NoSuchEntry { item }),
            Some(comment) if item.is_called(comment) => None,
            Some(comment) => Some(Flaw::AnotherName { item, comment: (*comment).to_owned() }),
        })
        .collect()
}

impl Item {
    /// Entries are called `<kind>-<name>`; older registries give that whole name.
    fn is_called(&self, comment: &str) -> bool {
        match &self.name {
            None => true,
            Some(name) => comment == name || comment == format!("{}-{name}", self.kind),
        }
    }

    /// Whether the index says the same of it. Of a later synopsis or alias the child's past knows
    /// nothing.
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

/// The index that the chat's metadata keeps of all registries, made anew from the registries of
/// the child's book. What the old index knew of an item that is listed just so stays as it is.
pub fn reindexed(index: &Json, book: &Object) -> Json {
    let mut listed = Vec::new();
    let mut has_registry = false;
    for (_, entry) in book.iter() {
        let comment = entry.get("comment").and_then(Json::as_str).unwrap_or_default();
        if let Some(kind) = kind_of(&comment) {
            has_registry = true;
            let content = entry.get("content").and_then(Json::as_str).unwrap_or_default();
            listed.extend(items(kind, &content));
        }
    }
    if !has_registry {
        return index.clone();
    }
    let members = listed.into_iter().map(|item| {
        let known = index.get(&item.uid).filter(|known| item.is_known_as(known));
        (item.uid.clone(), known.cloned().unwrap_or_else(|| indexed(item)))
    });
    Json::Object(members.collect())
}

fn indexed(item: Item) -> Json {
    let uid = item.uid.parse::<i64>().map_or_else(|_| Json::from(item.uid.as_str()), Json::from);
    let name = item.name.unwrap_or_default();
    Json::object([
        ("uid", uid.clone()),
        ("id", uid),
        ("type", Json::from(item.kind.as_str())),
        ("comment", Json::from(format!("{}-{name}", item.kind))),
        ("name", Json::from(name)),
        ("aliases", Json::from(item.aliases)),
        ("synopsis", Json::from(item.synopsis.unwrap_or_default())),
    ])
}

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
        assert!(matches!(&found[..], [Flaw::NoSuchEntry { item }] if item.uid == "8"));
        let registry = entry("0", "_registry_character", "- UID=7 | name: Mara");
        let found = flaws(&[registry, entry("7", "item-Sword", "")]);
        assert!(
            matches!(&found[..], [Flaw::AnotherName { comment, .. }] if comment == "item-Sword")
        );
    }

    #[test]
    fn the_index_follows_the_childs_book() {
        let index =
            Json::parse(br#"{"7":{"uid":7,"name":"Mara","own":1},"9":{"uid":9,"name":"Late"}}"#)
                .unwrap();
        let book = Json::parse(br#"{"0":{"comment":"_registry_character","content":"- UID=7 | name: Mara\n- UID=8 | name: Bo"}}"#).unwrap();
        let index = reindexed(&index, book.as_object().unwrap());
        assert_eq!(index.at(&["7", "own"]), Some(&Json::Number(1.0)));
        assert_eq!(index.at(&["8", "comment"]), Some(&Json::from("character-Bo")));
        assert_eq!(index.get("9"), None);
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
}
