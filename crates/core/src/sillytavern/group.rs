//! A group file, and the list of chats in it.

use forklore_json::{Edit, Edits, Json, JsonKind, Raw, SyntaxError};

/// The group file with `chat` added to its list; `None` if it is already listed, or if the file
/// does not hold a group.
pub fn listed(group: &[u8], chat: &str) -> Result<Option<Vec<u8>>, SyntaxError> {
    let root = Raw::document(group)?;
    let mut edits = Edits::of(root);
    match root.get("chats").filter(|chats| chats.kind() == JsonKind::Array) {
        Some(chats) if chats.elements().any(|name| name.is_text(chat)) => return Ok(None),
        Some(chats) => edits.append(chats, 1, &Json::from(chat)),
        None if root.kind() != JsonKind::Object => return Ok(None),
        None => edits.change(root, 0, &[("chats", Edit::Set(Json::from(vec![chat])))]),
    }
    Ok(Some(edits.apply()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chat_is_listed_once_and_nothing_else_changes() {
        let group =
            b"{\n    \"id\": \"1\",\n    \"chats\": [\n        \"a\"\n    ],\n    \"n\": 1.0\n}";
        let listed_once = listed(group, "b").unwrap().unwrap();
        let expected = String::from_utf8_lossy(group).replace("\"a\"", "\"a\",\n        \"b\"");
        assert_eq!(String::from_utf8_lossy(&listed_once), expected);
        assert_eq!(listed(&listed_once, "b"), Ok(None));
    }

    #[test]
    fn a_file_that_holds_no_group_stays_as_it_is() {
        assert_eq!(listed(b"[]", "a"), Ok(None));
        assert_eq!(listed(b"5", "a"), Ok(None));
    }
}
