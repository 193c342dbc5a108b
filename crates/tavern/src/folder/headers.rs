//! Chat headers, read without reading whole chats.

use std::io;

use forklore_core::sillytavern::chat::{Chat, Damage};
use forklore_core::timeline::family::{self, Node, Timeline};
use forklore_json::Json;

use crate::disk::Disk;
use crate::folder::library::{ChatFile, Library, UnreadFile};

/// Every timeline of a user, with its place in its family.
#[derive(Debug, Default)]
pub struct Headers {
    /// In the order of [`Library::chats`].
    pub timelines: Vec<Timeline>,
    pub nodes: Vec<Node>,
    /// Chats whose header could not be read; they may name any book.
    pub unread: Vec<UnreadFile>,
}

impl Headers {
    pub fn read(disk: &dyn Disk, library: &Library) -> Self {
        let mut headers = Self::default();
        for chat in &library.chats {
            let (timeline, why) = match read_header(disk, chat) {
                Ok((timeline, damage)) => (timeline, damage),
                Err(error) => (blank(chat), Some(error.to_string())),
            };
            if let Some(why) = why {
                headers.unread.push(UnreadFile { path: chat.path.clone(), why });
            }
            headers.timelines.push(timeline);
        }
        headers.nodes = family::families(&headers.timelines);
        headers
    }
}

/// The header of one chat, and the reason why the real header may be hidden, if any.
pub(crate) fn read_header(
    disk: &dyn Disk,
    file: &ChatFile,
) -> io::Result<(Timeline, Option<String>)> {
    let start = disk.read_start(&file.path, b'\n')?;
    let first = Chat::read(&start.bytes, file.place());
    if first.damage().is_empty() && first.header().is_some() {
        return Ok((timeline_of(file, &first.metadata_value(), None), None));
    }
    // The first line is not a valid header. How SillyTavern interprets the file depends on all of
    // it.
    let bytes = disk.read(&file.path)?;
    let chat = Chat::read(&bytes, file.place());
    Ok((timeline(file, &chat), hidden_header(&chat)))
}

/// Why the chat's real header may be one that neither SillyTavern nor Forklore can see.
pub fn hidden_header(chat: &Chat<'_>) -> Option<String> {
    let has = |wanted: &Damage| chat.damage().contains(wanted);
    if has(&Damage::ByteOrderMark) {
        return Some("it begins with a byte-order mark".into());
    }
    if has(&Damage::UnreadableLine(1)) || has(&Damage::TornLine(1)) {
        return Some("its first line is not JSON".into());
    }
    None
}

pub fn timeline(file: &ChatFile, chat: &Chat<'_>) -> Timeline {
    timeline_of(file, &chat.metadata_value(), Some(chat.len()))
}

/// Same as [`timeline`], from metadata that has already been read. `messages`: how many there are, if
/// known.
pub fn timeline_of(file: &ChatFile, metadata: &Json, messages: Option<usize>) -> Timeline {
    Timeline::of(file.home.clone(), file.name.clone(), metadata, messages)
}

fn blank(file: &ChatFile) -> Timeline {
    timeline_of(file, &Json::Null, None)
}
