//! The result of a call: a JSON value, and files that are too large to wrap in it.

use std::collections::VecDeque;

use forklore_json::Json;
use wasm_bindgen::prelude::wasm_bindgen;

#[wasm_bindgen]
pub struct Answer {
    value: Vec<u8>,
    body: Option<Vec<u8>>,
    book: Option<Vec<u8>>,
    memories: VecDeque<Vec<u8>>,
}

#[wasm_bindgen]
impl Answer {
    /// The value as JSON text.
    pub fn value(&self) -> Vec<u8> {
        self.value.clone()
    }

    /// The request body to send instead of the original one. Can be taken once.
    pub fn take_body(&mut self) -> Option<Vec<u8>> {
        self.body.take()
    }

    /// The book to write. Can be taken once.
    pub fn take_book(&mut self) -> Option<Vec<u8>> {
        self.book.take()
    }

    /// The next copy of a book of Memory Books to write.
    pub fn take_memories(&mut self) -> Option<Vec<u8>> {
        self.memories.pop_front()
    }
}

impl Answer {
    pub(crate) fn of(value: &Json) -> Self {
        Self { value: value.stringify(), body: None, book: None, memories: VecDeque::new() }
    }

    pub(crate) fn with_body(self, body: Vec<u8>) -> Self {
        Self { body: Some(body), ..self }
    }

    pub(crate) fn with_memories(self, memories: VecDeque<Vec<u8>>) -> Self {
        Self { memories, ..self }
    }

    pub(crate) fn with_book(self, book: Option<Vec<u8>>) -> Self {
        Self { book, ..self }
    }
}
