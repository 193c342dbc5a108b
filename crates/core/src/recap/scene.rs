//! Scene breaks: what the extension stores with the last message of a scene.

use memchr::memmem;

use forklore_json::{JsonKind, Raw};

pub(crate) const MEMORY: &str = "auto_recap_memory";

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
        let is_hidden =
            self.0.get("scene_break_visible").is_some_and(|shown| shown.bytes() == b"false");
        !is_hidden && self.0.get("scene_break").is_some_and(|value| value.is_truthy())
    }

    pub fn has_recap(&self) -> bool {
        self.0.get("scene_recap_memory").is_some_and(|value| value.is_truthy())
    }

    pub fn scene_name(&self) -> Option<String> {
        self.0.get("scene_break_name")?.text().map(|name| name.into_owned())
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
}
