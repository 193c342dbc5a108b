//! The combined recap: data of old versions, copied where it is not from the future.

use crate::json::Json;

/// Where it is, below the chat's metadata.
pub const PATH: [&str; 2] = ["auto_recap", "combined_recap"];

/// How many messages the recap covers.
pub fn message_count(recap: &Json) -> Option<usize> {
    recap.get("message_count").and_then(Json::as_usize)
}

/// Whether a child cut at `m` may keep it: it covers no message after `m`.
pub fn is_of_the_past(recap: &Json, m: usize) -> bool {
    message_count(recap).is_some_and(|count| count <= m + 1)
}
