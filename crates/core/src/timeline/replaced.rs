//! Books that a chat's own one replaces in the prompt. They belong to a character, a persona or all
//! chats, and the extension leaves them out of this chat.

use forklore_json::Json;

/// The metadata key: a list of names.
pub const KEY: &str = "forklore_instead";

pub fn replaced_books(metadata: &Json) -> Vec<String> {
    let Some(Json::Array(names)) = metadata.get(KEY) else { return Vec::new() };
    let names = names.iter().filter_map(Json::as_str).filter(|name| !name.is_empty());
    names.map(|name| name.into_owned()).collect()
}
