//! What has to be updated when a chat or a book is renamed. SillyTavern itself only moves the file.

use crate::recap::running;
use crate::sillytavern::chat::Chat;
use crate::timeline::family::Timeline;
use crate::timeline::seal;
use forklore_json::{Json, Raw};

/// Where a chat's metadata names chats: its parent, its parent in the seal, and the chat that its
/// running recap belongs to. ST-Auto-Recap clears the recap of a main chat that has another name.
const IN_METADATA: [&[&str]; 3] =
    [&["main_chat"], &[seal::KEY, "parent", "chat"], &[running::KEY, "chat_id"]];

/// Where a message names the checkpoint that was made of it.
const IN_MESSAGE: &[&str] = &["extra", "bookmark_link"];

/// A place in a chat that names another chat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NamePlace {
    /// The message; `None` for the metadata.
    pub message: Option<usize>,
    /// The keys that lead to the name.
    pub path: &'static [&'static str],
}

/// All places in `chat` that name the chat `name`: the ones to be updated when that is renamed.
pub fn places_naming(chat: &Chat<'_>, name: &str) -> Vec<NamePlace> {
    let names = |root: Option<Raw<'_>>, path: &[&str]| {
        root.and_then(|root| root.at(path)).is_some_and(|value| value.is_text(name))
    };
    let mut places = Vec::new();
    for path in IN_METADATA {
        if names(chat.metadata(), path) {
            places.push(NamePlace { message: None, path });
        }
    }
    for index in chat.messages_with("bookmark_link") {
        if names(chat.message(index), IN_MESSAGE) {
            places.push(NamePlace { message: Some(index), path: IN_MESSAGE });
        }
    }
    places
}

/// The chats that may name a renamed chat, apart from itself: its children, and its parent, whose
/// messages link to it. `from` is its old name and `metadata` its own; `others` are the chats of
/// the same character or group.
pub fn chats_naming<'a>(from: &str, metadata: &Json, others: &'a [Timeline]) -> Vec<&'a str> {
    let parent = metadata.get("main_chat").and_then(Json::as_str);
    let is_child = |other: &Timeline| {
        let sealed = other.seal.as_ref().map(|seal| seal.parent.as_str());
        other.main_chat.as_deref() == Some(from) || sealed == Some(from)
    };
    let is_parent = |other: &Timeline| parent.as_deref() == Some(&other.name);
    let named = others.iter().filter(|other| is_child(other) || is_parent(other));
    named.map(|other| other.name.as_str()).collect()
}

/// Whether two texts are the same book, so that one is the other's new name. SillyTavern's editor
/// normalizes all other fields as soon as it shows an entry.
pub fn is_same_lore(one: &[u8], other: &[u8]) -> bool {
    one == other || lore(one).is_some_and(|lore_of_one| lore(other) == Some(lore_of_one))
}

/// The keys of a book's entries, with what the entries say.
fn lore(book: &[u8]) -> Option<Json> {
    let book = Json::parse(book).ok()?;
    let mut lore = Vec::new();
    for (key, entry) in book.get("entries")?.as_object()?.iter() {
        let entry = entry.as_object()?;
        lore.push(Json::Text(key.clone()));
        for field in ["uid", "key", "comment", "content"] {
            lore.push(entry.get(field).cloned().unwrap_or(Json::Null));
        }
    }
    Some(Json::Array(lore))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sillytavern::chat::ChatKind;
    use crate::timeline::family::Home;
    use forklore_json::Edits;
    use proptest::collection::vec;
    use proptest::option;
    use proptest::prelude::*;
    use proptest::sample::select;
    use proptest::test_runner::RngSeed;

    const NAMES: [&str; 4] = ["Old", "old", "Old - Branch #1", "Other"];

    /// What the places of a chat name, and for each message whether only a swipe names it.
    #[derive(Clone, Debug)]
    struct Named {
        metadata: [Option<&'static str>; 3],
        messages: Vec<(Option<&'static str>, bool)>,
    }

    impl Named {
        /// The chat's file, with details that must not change.
        fn file(&self) -> String {
            let [parent, sealed, recap] = self
                .metadata
                .map(|name| name.map_or("null".to_owned(), |name| format!("{name:?}")));
            let header = format!(
                r#"{{"chat_metadata":{{"note":"Old","main_chat":{parent},"forklore":{{"parent":{{"chat":{sealed},"message":1e0}}}},"auto_recap_running_scene_recaps":{{"chat_id":{recap},"versions":["Old"]}}}},"x":1.50}}"#
            );
            let message = |(link, is_swipe): &(Option<&str>, bool)| match (link, is_swipe) {
                (None, _) => r#"{"mes":"Old","extra":{"bookmark_link":1.0}}"#.to_owned(),
                (Some(link), false) => format!(
                    r#"{{ "mes":"\ud800","extra":{{"bookmark_link": "Old","bookmark_link": "{link}"}} }}"#
                ),
                (Some(link), true) => {
                    format!(
                        r#"{{"mes":"","swipe_info":[{{"extra":{{"bookmark_link":"{link}"}}}}]}}"#
                    )
                }
            };
            let lines = std::iter::once(header).chain(self.messages.iter().map(message));
            lines.collect::<Vec<_>>().join("\n")
        }

        fn after_renaming(&self) -> Self {
            let new = |name: Option<&'static str>| match name {
                Some("Old") => Some("New"),
                other => other,
            };
            let message = |&(link, is_swipe): &(Option<&'static str>, bool)| match is_swipe {
                true => (link, is_swipe),
                false => (new(link), is_swipe),
            };
            Self {
                metadata: self.metadata.map(new),
                messages: self.messages.iter().map(message).collect(),
            }
        }
    }

    fn chats() -> impl Strategy<Value = Named> {
        let name = || option::of(select(NAMES.to_vec()));
        let messages = vec((name(), any::<bool>()), 0..4);
        ([name(), name(), name()], messages)
            .prop_map(|(metadata, messages)| Named { metadata, messages })
    }

    fn renamed(file: &str, from: &str, to: &str) -> String {
        let chat = Chat::read(file.as_bytes(), ChatKind::Solo);
        let places = places_naming(&chat, from);
        let lines = file.split('\n').enumerate().map(|(at, line)| {
            let root = Raw::document(line.as_bytes()).unwrap();
            let mut edits = Edits::of(root);
            for place in places.iter().filter(|place| place.message.map_or(0, |m| m + 1) == at) {
                let holder = if at == 0 { root.get("chat_metadata") } else { Some(root) };
                edits.replace(holder.unwrap().at(place.path).unwrap(), &Json::from(to));
            }
            String::from_utf8(edits.apply()).unwrap()
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, rng_seed: RngSeed::Fixed(0x0f0e_4b22), ..ProptestConfig::default() })]

        #[test]
        fn no_reference_to_the_old_name_is_left_and_nothing_else_changes(chat in chats()) {
            let after = renamed(&chat.file(), "Old", "New");
            prop_assert_eq!(&after, &chat.after_renaming().file());
            prop_assert_eq!(renamed(&after, "New", "Old"), chat.file(), "and back again");
        }
    }

    #[test]
    fn every_place_that_can_name_a_chat_is_found() {
        let file = r#"{"chat_metadata":{"main_chat":"A","forklore":{"parent":{"chat":"A"}},"auto_recap_running_scene_recaps":{"chat_id":"A"}}}
{"mes":"A"}
{"mes":"","extra":{"bookmark_link":"A"}}"#;
        let chat = Chat::read(file.as_bytes(), ChatKind::Solo);
        let found = places_naming(&chat, "A");
        let messages: Vec<Option<usize>> = found.iter().map(|place| place.message).collect();
        assert_eq!(messages, [None, None, None, Some(1)]);
        assert_eq!(places_naming(&chat, "a"), []);
    }

    #[test]
    fn the_children_and_the_parent_name_a_chat() {
        let timeline = |(name, metadata): (&str, &str)| {
            let metadata = Json::parse(metadata.as_bytes()).unwrap();
            Timeline::of(Home::Loose, name.into(), &metadata, None)
        };
        let seal = r#"{"forklore":{"kind":"branch","parent":{"chat":"Old","message":1}}}"#;
        let others = [
            ("Parent", "{}"),
            ("Child", r#"{"main_chat":"Old"}"#),
            ("Sealed", seal),
            ("Sibling", r#"{"main_chat":"Parent"}"#),
        ]
        .map(timeline);
        let metadata = Json::object([("main_chat", Json::from("Parent"))]);
        assert_eq!(chats_naming("Old", &metadata, &others), ["Parent", "Child", "Sealed"]);
        assert_eq!(chats_naming("Older", &Json::Null, &others), [""; 0]);
    }

    #[test]
    fn a_book_is_the_same_while_nothing_but_the_editors_defaults_changed() {
        let is_same = |one: &str, other: &str| is_same_lore(one.as_bytes(), other.as_bytes());
        let book = r#"{"entries":{"1":{"uid":1,"key":["k"],"content":"x"},"0":{"uid":0}}}"#;
        let shown = r#"{"entries":{"0":{"uid":0,"comment":null,"role":0},"1":{"content":"x","uid":1,"key":["k"],"depth":4}},"name":"n"}"#;
        assert!(is_same(book, shown));
        for (from, to) in [("\"x\"", "\"y\""), ("[\"k\"]", "[]"), ("\"1\":", "\"2\":")] {
            assert!(!is_same(book, &shown.replace(from, to)), "{from}");
        }
        for odd in ["", "null", "{}", r#"{"entries":{"0":null}}"#, r#"{"entries":7}"#] {
            assert!(!is_same(book, odd) && !is_same(odd, "[]"), "{odd}");
        }
        assert!(is_same("{", "{"), "byte for byte");
    }
}
