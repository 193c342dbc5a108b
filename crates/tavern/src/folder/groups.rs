//! Group files: which chats belong to a group, and which one opens.

use forklore_json::{Json, SyntaxError};

/// A group file's references to chats and books.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Group {
    pub id: String,
    pub name: String,
    /// File names of cards.
    pub members: Vec<String>,
    /// The chat that opens with the group.
    pub chat_id: Option<String>,
    /// Raw names: SillyTavern sanitises them to get file names.
    pub chats: Vec<String>,
    /// Books named in chat metadata that older SillyTavern versions stored in the group file. Newer
    /// ones move it into the chats at startup.
    pub worlds: Vec<String>,
    /// Fields with an unexpected shape, which may name a chat or a book.
    pub odd: Vec<String>,
}

/// A group file could not be read.
#[derive(Debug, thiserror::Error)]
pub enum GroupError {
    #[error("it is not JSON")]
    NotJson(#[from] SyntaxError),
    #[error("it is not a JSON object")]
    NotAnObject,
}

pub fn read_group(bytes: &[u8]) -> Result<Group, GroupError> {
    let json = Json::parse(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes))?;
    if json.as_object().is_none() {
        return Err(GroupError::NotAnObject);
    }
    let mut odd = Vec::new();
    let id = text(&json, "id", &mut odd).unwrap_or_default();
    let name = text(&json, "name", &mut odd).unwrap_or_default();
    let members = texts(&json, "members", &mut odd);
    let chat_id = text(&json, "chat_id", &mut odd);
    let chats = texts(&json, "chats", &mut odd);
    let worlds = old_worlds(&json, &mut odd);
    Ok(Group { id, name, members, chat_id, chats, worlds, odd })
}

fn text(json: &Json, key: &str, odd: &mut Vec<String>) -> Option<String> {
    match json.get(key)? {
        Json::Null => None,
        value => {
            let found = scalar(value);
            if found.is_none() {
                odd.push(key.to_owned());
            }
            found
        }
    }
}

fn texts(json: &Json, key: &str, odd: &mut Vec<String>) -> Vec<String> {
    let Some(elements) = json.get(key).and_then(Json::as_array) else {
        if !matches!(json.get(key), None | Some(Json::Null)) {
            odd.push(key.to_owned());
        }
        return Vec::new();
    };
    let found: Vec<_> = elements.iter().filter_map(scalar).collect();
    if found.len() < elements.len() {
        odd.push(key.to_owned());
    }
    found
}

/// Ids are timestamps in milliseconds, which some tools write as numbers.
fn scalar(value: &Json) -> Option<String> {
    let text = value.as_str().map(|text| text.into_owned());
    text.or_else(|| value.as_i64().map(|number| number.to_string()))
}

fn old_worlds(json: &Json, odd: &mut Vec<String>) -> Vec<String> {
    for key in ["chat_metadata", "past_metadata"] {
        if !matches!(json.get(key), None | Some(Json::Null | Json::Object(_))) {
            odd.push(key.to_owned());
        }
    }
    let current = json.get("chat_metadata").into_iter();
    let past = json.get("past_metadata").into_iter().flat_map(Json::members).map(|(_, past)| past);
    current
        .chain(past)
        .filter_map(|metadata| text(metadata, "world_info", odd))
        .filter(|world| !world.is_empty())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(json: &str, expected: &Group) {
        assert_eq!(read_group(json.as_bytes()).unwrap(), *expected);
    }

    fn strings(texts: &[&str]) -> Vec<String> {
        texts.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn names_of_chats_are_as_raw_as_they_stand() {
        check(
            r#"{"id":"1700","name":"Tea","members":["Alice.png","Bob.png"],"chat_id":"GCP: a/b",
                "chats":["1700","GCP: a/b"],"fav":false}"#,
            &Group {
                id: "1700".into(),
                name: "Tea".into(),
                members: strings(&["Alice.png", "Bob.png"]),
                chat_id: Some("GCP: a/b".into()),
                chats: strings(&["1700", "GCP: a/b"]),
                ..Group::default()
            },
        );
    }

    #[test]
    fn an_empty_group_is_a_group() {
        check("{}", &Group::default());
        check("\u{feff}{\"chats\":null,\"chat_id\":null}", &Group::default());
    }

    #[test]
    fn ids_may_be_numbers() {
        check(
            r#"{"id":1700000000000,"chats":[1700000000000,"x"]}"#,
            &Group {
                id: "1700000000000".into(),
                chats: strings(&["1700000000000", "x"]),
                ..Group::default()
            },
        );
    }

    #[test]
    fn books_of_metadata_not_yet_moved_are_found() {
        check(
            r#"{"chat_metadata":{"world_info":"Now"},
                "past_metadata":{"a":{"world_info":"Then"},"b":{},"c":{"world_info":""}}}"#,
            &Group { worlds: strings(&["Now", "Then"]), ..Group::default() },
        );
    }

    #[test]
    fn what_has_another_shape_is_named() {
        check(
            r#"{"chat_id":{},"chats":"all","members":["A.png",null],"chat_metadata":{"world_info":[1]}}"#,
            &Group {
                members: strings(&["A.png"]),
                odd: strings(&["members", "chat_id", "chats", "world_info"]),
                ..Group::default()
            },
        );
    }

    #[test]
    fn metadata_of_another_shape_is_named() {
        check(
            r#"{"chat_metadata":"x","past_metadata":[]}"#,
            &Group { odd: strings(&["chat_metadata", "past_metadata"]), ..Group::default() },
        );
    }

    #[test]
    fn what_is_no_group_is_refused() {
        assert!(matches!(read_group(b"{\"id\":"), Err(GroupError::NotJson(_))));
        assert!(matches!(read_group(b"[]"), Err(GroupError::NotAnObject)));
    }
}
