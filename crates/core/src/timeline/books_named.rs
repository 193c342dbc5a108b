//! The books that a chat names, for counting references.

use crate::memory_books;
use crate::recap::{queue, references as recap};
use crate::sillytavern::book::Book;
use crate::sillytavern::names::book_key;
use forklore_json::{Json, sorted};

/// The metadata key of a list of books that the chat's own one replaces in the prompt. They belong to
/// a character, a persona or all chats, and the extension leaves them out of this chat.
pub const REPLACED: &str = "forklore_instead";
/// The metadata key of the lorebook that replaces them.
pub const REPLACING: &str = "forklore_copy";

/// None, if the chat is bound to another lorebook than the one that was to replace them.
pub fn replaced_books(metadata: &Json) -> Vec<String> {
    let mut names = Vec::new();
    let name = |key| {
        let name = metadata.get(key).and_then(Json::as_str)?;
        (!name.is_empty()).then(|| book_key(&name))
    };
    if let (Some(bound), Some(replacing)) = (name("world_info"), name(REPLACING))
        && bound != replacing
    {
        return names;
    }
    for name in metadata.get(REPLACED).and_then(Json::as_array).unwrap_or_default() {
        names.extend(name.as_str().filter(|name| !name.is_empty()).map(|name| name.into_owned()));
    }
    names
}

/// The names of books in a chat, by what names them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BooksNamed {
    /// The book that the chat is bound to, if there is one.
    pub bound: Vec<String>,
    /// Those of Memory Books.
    pub memories: Vec<String>,
    /// Those of ST-Auto-Recap.
    pub recap: Vec<String>,
    /// Whether ST-Auto-Recap was used in the chat, so that its messages and the queue in its book
    /// may name more.
    pub has_recaps: bool,
}

impl BooksNamed {
    pub fn in_metadata(metadata: &Json) -> Self {
        let bound = metadata.get("world_info").and_then(Json::as_str);
        let bound = bound.filter(|name| !name.is_empty()).map(|name| name.into_owned());
        Self {
            bound: bound.into_iter().collect(),
            memories: memory_books::books(metadata),
            recap: recap::noted_book(metadata).into_iter().collect(),
            has_recaps: recap::is_used_in(metadata),
        }
    }

    /// Adds what the messages name, each given as a line.
    pub fn add_messages<'a>(&mut self, lines: impl Iterator<Item = &'a [u8]>) {
        self.add(lines.flat_map(recap::books_named).collect());
    }

    /// Adds what the queue in the chat's book names.
    pub fn add_queue(&mut self, book: Option<&[u8]>) {
        let Some(book) = book.and_then(|bytes| Book::read(bytes).ok()) else { return };
        let queues = book.entries().filter(|entry| entry.comment() == queue::COMMENT);
        self.add(queues.flat_map(|entry| queue::books_named(&entry.content())).collect());
    }

    /// The books that belong to the chat: when it is deleted, they may be removed as well.
    pub fn own(&self) -> Vec<String> {
        [self.bound.as_slice(), &self.memories].concat()
    }

    fn add(&mut self, names: Vec<String>) {
        self.recap.extend(names);
        self.recap = sorted(std::mem::take(&mut self.recap));
        self.recap.dedup();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_book_that_a_chat_names_is_found() {
        let metadata = Json::parse(
            br#"{"world_info":"Lore","auto_lorebooks":{"lorebookName":"Noted"},"STMemoryBooks":{"manualLorebook":"Memories"}}"#,
        );
        let mut named = BooksNamed::in_metadata(&metadata.unwrap());
        assert_eq!(named.own(), ["Lore", "Memories"]);
        assert!(named.has_recaps);
        let message = br#"{"extra":{"auto_recap_memory":{"stage1_lorebook_metadata":{"chatLorebookName":"Scene"}}}}"#;
        named.add_messages([&b"{}"[..], message, message].into_iter());
        named.add_queue(Some(
            br#"{"entries":{"0":{"comment":"__operation_queue","content":"{\"queue\":[{\"params\":{\"lorebookName\":\"Queued\"}}]}"}}}"#,
        ));
        named.add_queue(Some(b"not a book"));
        assert_eq!(named.recap, ["Noted", "Queued", "Scene"]);
        assert_eq!(named.own(), ["Lore", "Memories"], "a recap may be about any book");
    }

    #[test]
    fn a_chat_without_extensions_names_only_its_book() {
        let named = |text: &str| BooksNamed::in_metadata(&Json::parse(text.as_bytes()).unwrap());
        assert_eq!(named(r#"{"world_info":""}"#), BooksNamed::default());
        assert_eq!(named("null"), BooksNamed::default());
        let recap = r#"{"auto_recap_running_scene_recaps":{"versions":[]}}"#;
        assert_eq!(named(recap), BooksNamed { has_recaps: true, ..BooksNamed::default() });
    }
}
