//! The parts of a message that the core reads apart from its text, so that callers need not copy the
//! rest.

use crate::journal;
use crate::recap::scene::MEMORY;
use forklore_json::Json;

/// As a shape: `true` stands for a whole value, a list of one shape for every element of a list.
pub fn of_message() -> Json {
    let extra = || Json::object([(MEMORY, Json::Bool(true))]);
    Json::object([
        (journal::FIELD, Json::Bool(true)),
        ("extra", extra()),
        ("swipe_info", Json::Array(vec![Json::object([("extra", extra())])])),
    ])
}
