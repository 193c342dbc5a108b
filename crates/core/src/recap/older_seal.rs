//! `auto_recap_checkpoint_state`, version 2: the original design's counterpart of Forklore's seal.
//! Read, never written.

use forklore_json::Json;

pub const KEY: &str = "auto_recap_checkpoint_state";

/// The fields of an older seal that can be verified.
#[derive(Clone, Debug, PartialEq)]
pub struct OlderSeal {
    pub message: Option<usize>,
    pub book: Option<String>,
    pub running_version: Option<i64>,
    pub running_count: usize,
    pub combined_messages: usize,
}

pub fn read(metadata: &Json) -> Option<OlderSeal> {
    let state = metadata.get(KEY).filter(|state| state.as_object().is_some())?;
    let count = |key: &str| state.get(key).and_then(Json::as_usize).unwrap_or(0);
    let running_count = count("running_recap_scene_count");
    // It also wrote null for version 0; the count distinguishes the two.
    let running_version = state.get("running_recap_version").and_then(Json::as_i64);
    Some(OlderSeal {
        message: state.get("message_id").and_then(Json::as_usize),
        book: state
            .get("cloned_lorebook_name")
            .and_then(Json::as_str)
            .map(|name| name.into_owned()),
        running_version: running_version.or((running_count > 0).then_some(0)),
        running_count,
        combined_messages: count("combined_recap_message_count"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_zero_survives_being_written_as_null() {
        let metadata = Json::parse(
            br#"{"auto_recap_checkpoint_state":{"version":2,"message_id":14,"cloned_lorebook_name":"B","running_recap_version":null,"running_recap_scene_count":1}}"#,
        )
        .unwrap();
        let seal = read(&metadata).unwrap();
        assert_eq!((seal.running_version, seal.message), (Some(0), Some(14)));
        assert_eq!(read(&Json::object([("x", Json::Null)])), None);
    }

    #[test]
    fn what_it_says_can_be_checked() {
        let metadata = Json::parse(
            br#"{"auto_recap_checkpoint_state":{"message_id":3,"cloned_lorebook_name":"B","running_recap_version":2,"running_recap_scene_count":4,"combined_recap_message_count":5}}"#,
        )
        .unwrap();
        let expected = OlderSeal {
            message: Some(3),
            book: Some("B".into()),
            running_version: Some(2),
            running_count: 4,
            combined_messages: 5,
        };
        assert_eq!(read(&metadata), Some(expected));
        let empty = Json::object([(KEY, Json::object([("message_id", Json::from(3_usize))]))]);
        assert_eq!(read(&empty).unwrap().running_version, None);
    }
}
