//! The combined recap: data of older versions of the extension. A fork copies it if it covers no
//! later message.

use forklore_json::Json;

/// Its path in the chat's metadata.
pub const PATH: [&str; 2] = ["auto_recap", "combined_recap"];

/// How many messages the recap covers.
pub fn message_count(recap: &Json) -> Option<usize> {
    recap.get("message_count").and_then(Json::as_usize)
}

/// Whether a child forked at `m` may keep it, because it covers no message after `m`.
pub fn is_of_the_past(recap: &Json, m: usize) -> bool {
    message_count(recap).is_some_and(|count| count <= m + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_of_the_past_where_it_covers_no_later_message() {
        let recap = Json::object([("message_count", Json::from(6_usize))]);
        assert_eq!(message_count(&recap), Some(6));
        assert_eq!([4, 5, 6].map(|m| is_of_the_past(&recap, m)), [false, true, true]);
        assert!(!is_of_the_past(&Json::Null, 9));
    }
}
