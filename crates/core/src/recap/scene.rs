//! Scene breaks: what a message carries at the end of a scene.

use memchr::memmem;

use crate::json::{Kind, Raw};

pub(crate) const MEMORY: &str = "auto_recap_memory";

/// What the extension stored with one message.
#[derive(Clone, Copy, Debug)]
pub struct Memory<'a>(Raw<'a>);

impl<'a> Memory<'a> {
    /// Reads a message's line; most lines have none, and that is found out without parsing.
    pub fn of_line(line: &'a [u8]) -> Option<Self> {
        memmem::find(line, MEMORY.as_bytes())?;
        Self::of(Raw::document(line).ok()?)
    }

    pub fn of(message: Raw<'a>) -> Option<Self> {
        message.at(&["extra", MEMORY]).filter(|memory| memory.kind() == Kind::Object).map(Self)
    }

    pub fn is_scene_break(&self) -> bool {
        self.0.get("scene_break").is_some_and(|value| value.is_truthy())
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
