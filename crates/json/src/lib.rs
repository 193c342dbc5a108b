//! JSON that preserves the exact text of a document.
//!
//! SillyTavern's files contain things that ordinary JSON value types lose: lone surrogates,
//! duplicate keys, numbers beyond `f64`, invalid UTF-8. So a document is kept as bytes: [`Raw`]
//! points into it, [`Edits`] splices it, and everything outside an edit keeps its bytes. [`Json`]
//! is for values that Forklore builds or interprets; it behaves like a JavaScript value, and
//! [`Json::stringify`] writes what `JSON.stringify` would.

#![cfg_attr(not(test), no_std)]

extern crate alloc;

mod edit;
mod parse;
mod raw;
pub mod scan;
mod text;
mod value;
mod write;

pub use edit::{Edit, Edits};
pub use raw::{JsonKind, Member, Raw};
pub use scan::{SyntaxError, is_whitespace, line_end};
pub use text::JsText;
pub use value::{Json, Object, array_index, sorted};
pub use write::Indent;
