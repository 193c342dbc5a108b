//! The books that a user's `settings.json` refers to.

use forklore_json::{Json, SyntaxError};

/// The books named in the settings, as file stems.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SettingsBooks {
    /// Active in every chat.
    pub global: Vec<String>,
    /// Active with a character, in addition to the card's own book.
    pub characters: Vec<ExtraBooks>,
    /// Active with a persona.
    pub personas: Vec<String>,
    /// Places with an unexpected shape, which may name a book.
    pub odd: Vec<String>,
}

/// Extra books of one character.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExtraBooks {
    /// The card's file name without its extension.
    pub character: String,
    pub books: Vec<String>,
}

/// The settings could not be read.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    #[error("they are not JSON")]
    NotJson(#[from] SyntaxError),
    #[error("they are not a JSON object")]
    NotAnObject,
}

impl SettingsBooks {
    /// Returns every book name, including duplicates.
    pub fn all(&self) -> impl Iterator<Item = &str> {
        let extra = self.characters.iter().flat_map(|extra| &extra.books);
        self.global.iter().chain(extra).chain(&self.personas).map(String::as_str)
    }
}

pub fn read_settings(bytes: &[u8]) -> Result<SettingsBooks, SettingsError> {
    let json = Json::parse(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes))?;
    if json.as_object().is_none() {
        return Err(SettingsError::NotAnObject);
    }
    let mut books = SettingsBooks::default();
    // Older versions stored this at the top level, first as one name, then as a list.
    if let Some(value) = json.get("world_info") {
        read_world_info(value, "world_info", &mut books);
    }
    if let Some(settings) = object_at(&json, "world_info_settings", &mut books.odd)
        && let Some(value) = settings.get("world_info")
    {
        read_world_info(value, "world_info_settings.world_info", &mut books);
    }
    if let Some(user) = object_at(&json, "power_user", &mut books.odd) {
        read_personas(user, &mut books);
    }
    Ok(books)
}

fn object_at<'a>(json: &'a Json, key: &str, odd: &mut Vec<String>) -> Option<&'a Json> {
    match json.get(key)? {
        found @ Json::Object(_) => Some(found),
        Json::Null => None,
        _ => {
            odd.push(key.to_owned());
            None
        }
    }
}

fn read_world_info(value: &Json, place: &str, books: &mut SettingsBooks) {
    if value.as_object().is_none() {
        let mut global = names(value, place, &mut books.odd);
        books.global.append(&mut global);
        return;
    }
    if let Some(value) = value.get("globalSelect") {
        let mut global = names(value, &format!("{place}.globalSelect"), &mut books.odd);
        books.global.append(&mut global);
    }
    let place = format!("{place}.charLore");
    match value.get("charLore") {
        None | Some(Json::Null) => {}
        Some(Json::Array(entries)) => {
            for entry in entries {
                if !matches!(entry, Json::Object(_) | Json::Null) {
                    books.odd.push(place.clone());
                }
                let Some(extra) = entry.get("extraBooks") else { continue };
                let character = entry.get("name").and_then(Json::as_str).unwrap_or_default();
                books.characters.push(ExtraBooks {
                    character: character.into_owned(),
                    books: names(extra, &place, &mut books.odd),
                });
            }
        }
        Some(_) => books.odd.push(place),
    }
}

fn read_personas(user: &Json, books: &mut SettingsBooks) {
    let current = user.get("persona_description_lorebook");
    let described = object_at(user, "persona_descriptions", &mut books.odd);
    let of_each =
        described.into_iter().flat_map(Json::members).filter_map(|(_, each)| each.get("lorebook"));
    for value in current.into_iter().chain(of_each) {
        let mut found = names(value, "power_user.persona_descriptions", &mut books.odd);
        books.personas.append(&mut found);
    }
}

/// Accepts one name or a list of names. Null and empty names are ignored.
fn names(value: &Json, place: &str, odd: &mut Vec<String>) -> Vec<String> {
    let elements = match value {
        Json::Null => &[],
        Json::Array(elements) => &elements[..],
        other => std::slice::from_ref(other),
    };
    let mut found = Vec::new();
    for element in elements {
        match element.as_str() {
            Some(name) if name.is_empty() => {}
            Some(name) => found.push(name.into_owned()),
            None if matches!(element, Json::Null) => {}
            None => odd.push(place.to_owned()),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(json: &str, expected: &[&str], odd: &[&str]) {
        let books = read_settings(json.as_bytes()).unwrap();
        assert_eq!(books.all().collect::<Vec<_>>(), expected);
        assert_eq!(books.odd, odd);
    }

    #[test]
    fn global_books_are_found_in_every_form_they_ever_had() {
        check(
            r#"{"world_info_settings":{"world_info":{"globalSelect":["A","B"]}}}"#,
            &["A", "B"],
            &[],
        );
        check(r#"{"world_info":"A"}"#, &["A"], &[]);
        check(r#"{"world_info":["A","B"]}"#, &["A", "B"], &[]);
        check(r#"{"world_info":{"globalSelect":["A"]}}"#, &["A"], &[]);
        check(r#"{"world_info_settings":{"world_info":"A"}}"#, &["A"], &[]);
        check(
            r#"{"world_info":"","world_info_settings":{"world_info":{"globalSelect":[]}}}"#,
            &[],
            &[],
        );
        check(
            r#"{"world_info":null,"world_info_settings":{"world_info":{"globalSelect":null}}}"#,
            &[],
            &[],
        );
    }

    #[test]
    fn extra_books_are_kept_with_their_character() {
        let json = r#"{"world_info_settings":{"world_info":{"charLore":[
            {"name":"Alice","extraBooks":["A","B"]},{"name":"Bob"},{"extraBooks":["C"]}]}}}"#;
        check(json, &["A", "B", "C"], &[]);
        let books = read_settings(json.as_bytes()).unwrap();
        assert_eq!(books.characters[0].character, "Alice");
        assert_eq!(books.characters[1].character, "");
    }

    #[test]
    fn books_of_personas_are_found() {
        check(
            r#"{"power_user":{"persona_description_lorebook":"A","persona_descriptions":{
                "me.png":{"description":"","lorebook":"B"},"you.png":{"lorebook":""},"it.png":{}}}}"#,
            &["A", "B"],
            &[],
        );
    }

    #[test]
    fn what_has_another_shape_is_named() {
        check(
            r#"{"world_info":7,"world_info_settings":{"world_info":{"globalSelect":["A",{}],"charLore":"x"}},
                "power_user":{"persona_descriptions":{"me.png":{"lorebook":true}}}}"#,
            &["A"],
            &[
                "world_info",
                "world_info_settings.world_info.globalSelect",
                "world_info_settings.world_info.charLore",
                "power_user.persona_descriptions",
            ],
        );
    }

    #[test]
    fn what_should_hold_places_and_does_not_is_named() {
        check(
            r#"{"world_info":{"charLore":["A"]},"world_info_settings":"A","power_user":["A"]}"#,
            &[],
            &["world_info.charLore", "world_info_settings", "power_user"],
        );
        check(r#"{"power_user":{"persona_descriptions":[]}}"#, &[], &["persona_descriptions"]);
        check(r#"{"world_info_settings":null,"power_user":null}"#, &[], &[]);
    }

    #[test]
    fn what_is_no_settings_file_is_refused() {
        assert!(matches!(read_settings(b""), Err(SettingsError::NotJson(_))));
        assert!(matches!(read_settings(b"[]"), Err(SettingsError::NotAnObject)));
        check("{}", &[], &[]);
    }
}
