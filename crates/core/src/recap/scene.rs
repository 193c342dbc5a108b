//! Scene breaks: what the extension stores with the last message of a scene.

use memchr::memmem;

use forklore_json::{Json, JsonKind, Raw};

pub(crate) const MEMORY: &str = "auto_recap_memory";

const BREAK: &str = "scene_break";
const IS_SHOWN: &str = "scene_break_visible";
const NAME: &str = "scene_break_name";
const RECAP: &str = "scene_recap_memory";
const LINK: &str = "bookmark_link";

/// A scene that ends with a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scene {
    /// Its last message.
    pub message: usize,
    pub name: String,
    /// It has its recap, and no checkpoint yet.
    pub is_due: bool,
}

/// The scenes in an array of messages.
pub fn scenes(messages: Raw<'_>) -> Vec<Scene> {
    let scene = |(message, line): (usize, Raw<'_>)| {
        let memory = SceneMemory::of(line).filter(SceneMemory::is_scene_break)?;
        let name = memory.scene_name().filter(|name| !name.is_empty());
        let is_linked = line.at(&["extra", LINK]).is_some_and(|link| link.is_truthy());
        Some(Scene {
            message,
            name: name.unwrap_or_else(|| format!("Message {message}")),
            is_due: memory.has_recap() && !is_linked,
        })
    };
    messages.elements().enumerate().filter_map(scene).collect()
}

/// The parts of a message that [`scenes`] reads, as a shape: `true` stands for a whole value.
pub fn shape() -> Json {
    let memory = [BREAK, IS_SHOWN, NAME, RECAP].map(|key| (key, Json::Bool(true)));
    let extra = Json::object([(MEMORY, Json::object(memory)), (LINK, Json::Bool(true))]);
    Json::object([("extra", extra)])
}

/// The extension's data in one message.
#[derive(Clone, Copy, Debug)]
pub struct SceneMemory<'a>(Raw<'a>);

impl<'a> SceneMemory<'a> {
    /// Reads a message line. Most have no such data, which is detected without parsing.
    pub fn of_line(line: &'a [u8]) -> Option<Self> {
        memmem::find(line, MEMORY.as_bytes())?;
        Self::of(Raw::document(line).ok()?)
    }

    pub fn of(message: Raw<'a>) -> Option<Self> {
        message.at(&["extra", MEMORY]).filter(|memory| memory.kind() == JsonKind::Object).map(Self)
    }

    /// A scene break that was hidden again does not count.
    pub fn is_scene_break(&self) -> bool {
        let is_hidden = self.0.get(IS_SHOWN).is_some_and(|shown| shown.bytes() == b"false");
        !is_hidden && self.0.get(BREAK).is_some_and(|value| value.is_truthy())
    }

    pub fn has_recap(&self) -> bool {
        self.0.get(RECAP).is_some_and(|value| value.is_truthy())
    }

    pub fn scene_name(&self) -> Option<String> {
        self.0.get(NAME)?.text().map(|name| name.into_owned())
    }

    /// The metadata of each version of the scene's recap.
    pub(super) fn versions(&self) -> impl Iterator<Item = Raw<'a>> + use<'a> {
        let metadata = self.0.get("scene_recap_metadata").into_iter();
        metadata.flat_map(|metadata| metadata.members().map(|member| member.value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scene_has_a_recap_and_a_name_where_they_are() {
        let read = |memory: &str| {
            let line = format!(r#"{{"extra":{{"auto_recap_memory":{memory}}}}}"#);
            let memory = SceneMemory::of_line(line.as_bytes()).unwrap();
            (memory.has_recap(), memory.scene_name())
        };
        let whole = r#"{"scene_recap_memory":"They met.","scene_break_name":"The mill"}"#;
        assert_eq!(read(whole), (true, Some("The mill".to_owned())));
        assert_eq!(read(r#"{"scene_recap_memory":""}"#), (false, None));
    }

    #[test]
    fn a_scene_is_due_from_its_recap_until_it_has_a_checkpoint() {
        let messages = r#"[
            {"extra":{"auto_recap_memory":{"scene_break":true,"scene_break_name":"The mill"}}},
            {"extra":{"auto_recap_memory":{"scene_break":true,"scene_break_visible":false}}},
            null, {"extra":null}, {"extra":{"auto_recap_memory":{"scene_recap_memory":"r"}}},
            {"extra":{"auto_recap_memory":{"scene_break":true,"scene_recap_memory":"r"}}},
            {"extra":{"auto_recap_memory":{"scene_break":1,"scene_recap_memory":"r"},"bookmark_link":"C"}}
        ]"#;
        let scene = |message, name: &str, is_due| Scene { message, name: name.into(), is_due };
        assert_eq!(
            scenes(Raw::document(messages.as_bytes()).unwrap()),
            [
                scene(0, "The mill", false),
                scene(5, "Message 5", true),
                scene(6, "Message 6", false)
            ]
        );
    }
}
