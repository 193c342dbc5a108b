//! Metadata of extensions that Forklore does not know: recorded verbatim, and restored in children.

use crate::digest::Digest;
use crate::sillytavern::chat::Chat;
use forklore_json::{JsText, Json, Object, Raw};

use super::state::RECORDED_METADATA;

/// The marker of a state in which these keys were recorded: an object with the digest of each value
/// that was too large to store. Older versions did not write it.
pub const OTHERS: &str = "forklore_others";

/// The largest value that is stored, in bytes.
const LARGEST_OTHER: usize = 32 * 1024;

/// SillyTavern's own keys that do not belong to a moment of the story: identity and caches.
const IDENTITY_AND_CACHES: [&str; 6] =
    ["integrity", "main_chat", "world_info", "tainted", "chat_id_hash", "lastInContextMessageId"];

/// The prefixes of keys that Forklore or one of its adapters handles.
const HANDLED_PREFIXES: [&str; 4] = ["forklore", "auto_recap", "auto_lorebooks", "autoLorebooks"];

/// Whether this metadata key belongs to an extension that Forklore does not know.
pub fn is_foreign_key(key: &str) -> bool {
    !IDENTITY_AND_CACHES.contains(&key)
        && !RECORDED_METADATA.contains(&key)
        && !HANDLED_PREFIXES.iter().any(|start| key.starts_with(start))
}

/// The metadata of unknown extensions, sorted by key.
pub fn others(metadata: &Json) -> Vec<(&JsText, &Json)> {
    let mut members = metadata.as_object().map(Object::sorted).unwrap_or_default();
    members.retain(|(key, _)| is_foreign_key(&key.to_string_lossy()));
    members
}

/// Adds the metadata of unknown extensions, and the marker, to the recorded metadata.
pub(super) fn add(metadata: &Json, recorded: &mut Object) {
    let mut large = Object::new();
    for (key, value) in others(metadata) {
        let text = value.stringify();
        if text.len() > LARGEST_OTHER {
            large.insert(key.clone(), digest_of_text(&text));
        } else {
            recorded.insert(key.clone(), value.clone());
        }
    }
    recorded.insert(OTHERS, large);
}

/// Whether the marker lists no large values. Such a marker is left out of digests, so that they
/// match those that older versions computed.
pub(super) fn is_empty_marker(marker: &Json) -> bool {
    marker.as_object().is_some_and(Object::is_empty)
}

/// The keys of unknown extensions whose value at a moment is not known, where `then` is the
/// metadata recorded at that moment: values that were too large and have changed since. If `then`
/// has no marker, all of today's keys.
pub fn unknown_keys(then: &Object, today: &Json) -> Vec<String> {
    let changed = |(key, digest): (&JsText, &Json)| {
        let today = today.as_object().and_then(|today| today.get_text(key));
        let is_same = today.is_some_and(|today| *digest == digest_of_text(&today.stringify()));
        (!is_same).then(|| key.to_string_lossy().into_owned())
    };
    match then.get(OTHERS).and_then(Json::as_object) {
        Some(large) => large.iter().filter_map(changed).collect(),
        None => names(today),
    }
}

/// The keys under which unknown extensions have a non-empty value today.
pub fn names(today: &Json) -> Vec<String> {
    let is_something = |value: &Json| match value {
        Json::Null => false,
        Json::Object(object) => !object.is_empty(),
        Json::Array(list) => !list.is_empty(),
        _ => true,
    };
    let kept = others(today).into_iter().filter(|(_, value)| is_something(value));
    kept.map(|(key, _)| key.to_string_lossy().into_owned()).collect()
}

/// SillyTavern's own keys of a message.
const SILLYTAVERN_MESSAGE: [&str; 16] = [
    "extra",
    "force_avatar",
    "gen_finished",
    "gen_id",
    "gen_started",
    "is_name",
    "is_system",
    "is_user",
    "mes",
    "name",
    "original_avatar",
    "send_date",
    "swipe_id",
    "swipe_info",
    "swipes",
    "title",
];

/// SillyTavern's own keys in a message's `extra`.
const SILLYTAVERN_EXTRA: [&str; 29] = [
    "api",
    "append_title",
    "bias",
    "bookmark_link",
    "branches",
    "display_text",
    "fileLength",
    "files",
    "gen_id",
    "generationType",
    "image",
    "image_swipes",
    "inline_image",
    "isSmallSys",
    "media",
    "media_display",
    "media_index",
    "memory",
    "model",
    "negative",
    "overswipe_behavior",
    "swipeable",
    "time_to_first_token",
    "title",
    "token_count",
    "tool_invocations",
    "type",
    "uses_system_ui",
    "video",
];

/// The keys of unknown extensions on the messages up to `last`, and in their `extra`. These values
/// are copied with their message, as they are today.
pub fn keys_on_messages(chat: &Chat<'_>, last: usize) -> Vec<String> {
    let is_handled = |key: &str| HANDLED_PREFIXES.iter().any(|start| key.starts_with(start));
    let is_of_message = |key: &str| SILLYTAVERN_MESSAGE.contains(&key);
    let is_in_extra = |key: &str| SILLYTAVERN_EXTRA.contains(&key) || key.starts_with("reasoning");
    let mut found: Vec<String> = Vec::new();
    let mut add = |holder: Raw<'_>, is_own: &dyn Fn(&str) -> bool| {
        for key in holder.members().filter_map(|member| member.key.text()) {
            if !is_own(&key) && !is_handled(&key) && !found.iter().any(|other| *other == *key) {
                found.push(key.into_owned());
            }
        }
    };
    for message in (0..=last).filter_map(|index| chat.message(index)) {
        add(message, &is_of_message);
        if let Some(extra) = message.get("extra") {
            add(extra, &is_in_extra);
        }
    }
    found
}

fn digest_of_text(text: &[u8]) -> Json {
    Json::from(Digest::of(text).short(16))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::{RecordedState, StatePart};

    fn json(text: &str) -> Json {
        Json::parse(text.as_bytes()).unwrap()
    }

    #[test]
    fn what_nobody_else_looks_after_is_recorded_as_it_is() {
        let metadata = json(
            r#"{"zeta":{"n":1},"integrity":"i","world_info":"B","variables":{"a":1},"alpha":[1],"forklore":{},"auto_recap_x":1}"#,
        );
        let recorded = Json::Object(RecordedState::of(&metadata, None).metadata);
        let expected = r#"{"variables":{"a":1},"alpha":[1],"zeta":{"n":1},"forklore_others":{}}"#;
        assert_eq!(recorded, json(expected));
    }

    #[test]
    fn of_a_large_value_the_digest_tells_whether_it_has_changed() {
        let with = |length: usize| Json::object([("big", Json::from("x".repeat(length)))]);
        let (fits, large) = (with(LARGEST_OTHER - 2), with(LARGEST_OTHER - 1));
        assert_eq!(RecordedState::of(&fits, None).metadata.get("big"), fits.get("big"));
        let then = RecordedState::of(&large, None).metadata;
        assert_eq!(then.get("big"), None);
        assert_eq!(unknown_keys(&then, &large), [""; 0]);
        assert_eq!(unknown_keys(&then, &with(LARGEST_OTHER)), ["big"]);
        assert_eq!(unknown_keys(&then, &json("{}")), ["big"]);
        assert_ne!(
            RecordedState::of(&large, None).digest(StatePart::Metadata),
            RecordedState::of(&with(LARGEST_OTHER), None).digest(StatePart::Metadata)
        );
    }

    #[test]
    fn what_others_keep_on_messages_is_named_once() {
        let text = br#"{"chat_metadata":{}}
{"mes":"a","extra":{"api":"x","reasoning_type":"y","qvink_memory":{},"auto_recap_memory":{}}}
{"mes":"b"}
{"mes":"c","horae_meta":{"hp":1},"gen_started":1,"forklore":{},"swipe_info":[],"extra":{"qvink_memory":{},"cnz":1}}"#;
        let chat = Chat::read(text, crate::sillytavern::chat::ChatKind::Solo);
        assert_eq!(keys_on_messages(&chat, 1), ["qvink_memory"]);
        assert_eq!(keys_on_messages(&chat, 2), ["qvink_memory", "horae_meta", "cnz"]);
    }

    #[test]
    fn older_records_say_nothing_of_others_and_keep_their_digest() {
        let metadata = json(r#"{"variables":{"a":1}}"#);
        let now = RecordedState::of(&metadata, None);
        let mut older = now.clone();
        older.metadata.remove(OTHERS);
        assert_eq!(older.id(), now.id());
        let today = json(r#"{"variables":{"a":1},"counter":3,"empty":{}}"#);
        assert_eq!(unknown_keys(&older.metadata, &today), ["counter"]);
        assert_eq!(unknown_keys(&now.metadata, &today), [""; 0]);
    }
}
