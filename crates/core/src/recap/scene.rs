//! Scene breaks: what a message carries at the end of a scene.

use memchr::memmem;

use forklore_json::{JsonKind, Raw};

pub(crate) const MEMORY: &str = "auto_recap_memory";

/// What the extension stored with one message.
#[derive(Clone, Copy, Debug)]
pub struct SceneMemory<'a>(Raw<'a>);

impl<'a> SceneMemory<'a> {
    /// Reads a message's line; most lines have none, and that is found out without parsing.
    pub fn of_line(line: &'a [u8]) -> Option<Self> {
        memmem::find(line, MEMORY.as_bytes())?;
        Self::of(Raw::document(line).ok()?)
    }

    pub fn of(message: Raw<'a>) -> Option<Self> {
        message.at(&["extra", MEMORY]).filter(|memory| memory.kind() == JsonKind::Object).map(Self)
    }

    /// One that was hidden again is none.
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

    /// What is kept about each version of the scene's recap.
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
        let told = |memory: &str| {
            let line = format!(r#"{{"extra":{{"auto_recap_memory":{memory}}}}}"#);
            let memory = SceneMemory::of_line(line.as_bytes()).unwrap();
            (memory.has_recap(), memory.scene_name())
        };
        let whole = r#"{"scene_recap_memory":"They met.","scene_break_name":"The mill"}"#;
        assert_eq!(told(whole), (true, Some("The mill".to_owned())));
        assert_eq!(told(r#"{"scene_recap_memory":""}"#), (false, None));
    }
}
