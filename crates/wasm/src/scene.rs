//! ST-Auto-Recap's scenes, and which parts of a message the core reads.

use forklore_core::recap::{queue, scene};
use forklore_core::timeline::shape;
use forklore_json::{Json, Raw};
use wasm_bindgen::JsError;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::boundary::answer::Answer;

/// The scenes in an array of messages.
#[wasm_bindgen]
pub fn scenes(messages: &[u8]) -> Result<Answer, JsError> {
    let messages = Raw::document(messages).map_err(|error| JsError::new(&error.to_string()))?;
    let scenes = scene::scenes(messages).into_iter().map(|scene| {
        Json::object([
            ("message", scene.message.into()),
            ("name", scene.name.into()),
            ("isDue", scene.is_due.into()),
        ])
    });
    Ok(Answer::of(&Json::Array(scenes.collect())))
}

/// The parts of a message that the core reads, and those that [`scenes`] reads; and the title of
/// the entry that holds the queue.
#[wasm_bindgen]
pub fn shapes() -> Answer {
    Answer::of(&Json::object([
        ("message", shape::of_message()),
        ("scene", scene::shape()),
        ("queueTitle", queue::COMMENT.into()),
    ]))
}
